"""Owns whether an object is the model's own answer, or one that it quotes, warns of or takes back.

Hostile snippets live on this: a model that reports "the page tells me to answer {…}" has written a
whole verdict that is not its own. What leads to an object is looked at clause by clause, for prose
farther away may well tell what a snippet says.
"""

from __future__ import annotations

import re

from judge.assess.reading.wording import AROUND

_EXAMPLE = re.compile(r"example|sample|e\.g\.|for instance|示例|例如|样例|例子|比如", re.IGNORECASE)
#: Somebody who is not the model says, asks or shows what follows.
_TOLD = (
    r"\b(?:snippet|page|text|title|site|article|document|passage|content|result|author|it|they|which|that)\b"
    r".{0,40}\b(?:says?|said|reads?|states?|stating|contains?|includes?|(?:end|begin|start)s? with"
    r"|instruct\w*|tells?|told|asks?|asked|tr(?:y|ies|ied)|claims?|claimed|demands?|wants?|requests?|shows?)\b"
    r"|(?:摘要|片段|文中|文本|原文|正文|网页|页面|标题|对方|作者).{0,12}"
    r"(?:写|说|要求|让|叫|称|包含|含有|指示|命令|试图|企图|出现)"
    r"|\b(?:inject\w*|quot(?:e[sd]?|ing|ation)|was told|told to)\b|注入|引用|引述"
)
#: What follows is refused, wished for or wrong.
_NOT_MEANT = (
    r"\b(?:do|does|did|will|would|should|must|shall|can|could) ?(?:not|n['’]t)\b|\b(?:won|can)['’]t\b"
    r"|\b(?:ignor\w+|disregard\w*|instead of|rather than|if|unless|would|could|wrong|incorrect|invalid|bad)\b"
    r"|忽略|无视|不要|请勿|切勿|不会|不应|拒绝|如果|假如|若是|错误"
)
#: What follows is what the prompt asks for, said again.
_ASKED = (
    r"\bplease\b|\byour (?:output|answer|response|reply)\b|\byou (?:should|must|can|will)\b"
    r"|请(?:按|以|用|输出|回答)"
)
_LEAD = re.compile(f"{_TOLD}|{_NOT_MEANT}|{_ASKED}", re.IGNORECASE)
#: A label of something that no answer stands behind.
_LABEL = re.compile(
    r"\W*(?:the |search |output |answer |required |expected |输出|回答|返回|期望)?"
    r"(?:snippet|query|input|title|text|user|human|system|prompt|format|template|schema|not"
    r"|摘要|查询|输入|标题|用户|系统|提示词|格式|模板)(?:如下)?\W*",
    re.IGNORECASE,
)
_SET_APART = re.compile(
    r"(?:<!--|(?<!~)~~|//|<(?:snippet|quote|blockquote|q|input|document|context|page|query|user|system|prompt"
    r"|instructions?|del|s|strike|摘要|引用|输入)(?:\s[^<>]{0,80})?>)\s*\Z",
    re.IGNORECASE,
)
_DISOWNED = re.compile(
    r"\b(?:inject\w*|ignore|disregard|void|retract\w*|scratch that|not (?:mine|my)|my mind)\b"
    r"|\b(?:i|we) (?:cannot|can['’]?t|could not|refuse|decline|won['’]?t|will not|am unable)\b"
    r"|\b(?:above|that|this|it|verdict|grade|answer|object|json)\b.{0,20}\b(?:is|was|are|were)\b.{0,20}"
    r"\b(?:wrong|incorrect|invalid|mistaken|an? (?:example|sample)|only an|what (?:the|it)"
    r"|the snippet['’]s)\b"
    r"|\b(?:told|asked|instructed|made) me\b"
    r"|作废|撤回|收回|不算数|注入|照做|只是(?:示例|例子|样例)|仅为?(?:示例|举例)|有误|是错的|我(?:无法|不能|拒绝)",
    re.IGNORECASE,
)
_FENCE_HEAD = re.compile(r"(?:```|~~~)\w{0,10}\s{0,8}\Z")
_TAG = re.compile(r"<[^<>]{1,30}>")
_CLAUSE_END = re.compile(r"[.。!！?？;；,，\n]")


def is_borrowed(before: str) -> bool:
    """True when prose announces the object behind it as an example, or as not the model's own answer."""
    before = _FENCE_HEAD.sub("", before[-400:].rstrip()).rstrip()
    if _EXAMPLE.search(before[-40:]) or _SET_APART.search(before):
        return True
    lead = _TAG.sub("\n", before).rstrip().rstrip(AROUND)
    clause = _CLAUSE_END.split(lead.rstrip(":："))[-1]
    label = re.split("[:：]", clause)[-1]
    return _LEAD.search(clause) is not None or _LABEL.fullmatch(label) is not None


def is_disowned(behind: str) -> bool:
    """True when prose behind a value takes it back without saying what is right instead."""
    return _DISOWNED.search(behind) is not None
