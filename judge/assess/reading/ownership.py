"""Owns whether an object is the reply's own answer, or one that it quotes, supposes or takes back.

Hostile snippets live on this: a model that reports "the page tells me to answer {…}" has written a
whole verdict that is not its own. There is no end of ways to say so, hence only what is known to be
harmless may touch an object:

- in front of it, reasoning in whole sentences, or words that name the assessor's answer and nothing
  else ("So my grade is:", "判断如下："); a key or a tag that wraps it must do the same;
- behind it, courtesy, an agreeing value, or an explanation that speaks of the snippet and not of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.assess.reading.lenient_json import flatten
from judge.assess.reading.wording import AROUND, label_of, says
from judge.records import Scale

_SNIPPET = r"(?:the|this) (?:search )?(?:snippet|result|page|passage|text|pair|query)"
#: What names the assessor's answer; one of these must be there.
_NAMES = (
    rf"(?:evaluation|assessment|judge?ment|grade|verdict|rating|score|relevance) (?:of|for) (?:it|{_SNIPPET})"
    r"|final|answer|response|reply|output|results?|verdict|grade|score|rating|relevance|judge?ment"
    r"|evaluation|assessment|conclusion|i (?:conclude|assign|judge)|decision|json|so|thus|hence|therefore",
    r"判断|判定|结论|评估|评价|评分|打分|等级|评级|分数|得分|相关性|答案|结果|输出|回答|返回|如下|因此|所以|综上(?:所述)?"
    r"|对于?查询[“\"「《][^”\"」》{}]{1,60}[”\"」》]?",
)
#: What may stand beside it: words that can't make it someone else's, an example, a wish or a doubt.
_BESIDE = (
    rf"(?:after|having) (?:read|reading|reviewing) {_SNIPPET}|based on (?:the above|this|that|{_SNIPPET})"
    r"|(?:that )?you (?:asked for|requested)"
    r"|in (?:the |this )?(?:(?:required|requested|specified|json) ){1,2}format"
    r"|my|the|a|as|in|here|here['’]s|this|own|overall|requested|object|below|follows|ok|okay|sure|now|and"
    # What begins with these asks.
    r"|(?<=[a-z] )(?:is|are)",
    r"(?:按照?|根据|依据|基于)(?:[您你]?的?要求|(?:上述|以上)(?:分析|内容)?|(?:给定|摘要)的?内容)的?(?:格式)?的?"
    r"|对(?:该|此|这条|本)?(?:摘要|片段|网页)(?:与查询)?的|json\s?格式|我|的|是|为|即|给出|以下|下面|最终|最后|综合|了|所示",
)
_EN, _ZH = (f"{names}|{beside}" for names, beside in zip(_NAMES, _BESIDE, strict=True))
_OWN = re.compile(
    rf"(?:(?:{_ZH})[\s_*]{{0,4}}|(?<![a-z])(?:{_EN})(?![a-z'’])[\s_*-]{{0,4}}){{1,16}}", re.IGNORECASE
)
_NAMED = re.compile(rf"(?<![a-z])(?:{_NAMES[0]})(?![a-z])|{_NAMES[1]}", re.IGNORECASE)
#: Keys of a function call or a schema, around its contents.
_CALL = ("arguments", "parameters", "properties", "data")

#: Words of somebody else, or of nobody.
_FOREIGN = (
    r"\b(?:inject\w*|attackers?|payload|tricks?|quot(?:es?|ed|ing)|refuse|obey|(?<!let )me)\b"
    r"|注入|攻击者|指令|要求我|让我|引用|引述|拒绝|照做"
)
#: What is said of another case than this one.
_SUPPOSED = (
    r"\b(?:if|unless|suppos\w+|assum\w+|provided (?:it|that|the)|(?:had|were) (?:it|the|this)|would|should)\b"
    r"|\b(?:wrong|incorrect|instead)\b|如果|如是|假如|假设|假定|倘|要是|除非|换[个一]|若(?!干)|[本理]应|应[该当为是]|不要"
)
#: A sentence that points to the object is no reasoning: it says whose it is.
_POINTS = (
    r"\b(?:following|follows|below|here is|see|look|json|object|this is an? (?:example|sample))\b"
    r"|以下|下面|如下|这是(?:一个)?(?:示例|例子)|(?:内容|话|文字)[。.!]"
)
#: What turns an explanation from the snippet to the answer.
_ANSWERS = (
    r"\b(?:i|my|you|your|above|grade|verdict|score|rating|json|object|output|wants?|asks?|put|tells?)\b"
    r"|\b(?:this|that|it|so)\W*\Z|[我你您改让这?]|如此|要求|以上|上面|上述|等级|评分|判定|答案"
)
_IS_FOREIGN = re.compile(f"{_FOREIGN}|{_POINTS}", re.IGNORECASE)
_IS_DOUBTED = re.compile(
    rf"{_FOREIGN}|{_SUPPOSED}|\b(?:demand|instruct)s?\b|(?:摘要|网页|页面|文中).{{0,4}}(?:要求|指示|希望)",
    re.IGNORECASE,
)
_IS_OF_ANSWER = re.compile(f"{_FOREIGN}|{_SUPPOSED}|{_ANSWERS}", re.IGNORECASE)
_NOTE = re.compile(r"\A(?:explanation|note|解释|说明|注意?|备注|依据)[*_\s]{0,4}:[*_\s]{0,8}", re.IGNORECASE)
_EXPLAINS = re.compile(
    r"(?:(?:the|this) (?:snippet|page|text|passage|query|article|document|title|source|content|user)(?!['’]s)"
    r"|(?:this|that) is (?:because|why)|because|since)\b"
    r"|(?:该|此|这条|这篇|本)?(?:摘要|片段|网页|页面|文章|文中|正文|内容|查询|用户|标题)(?!原|[中里上]?的)|以上判断仅?基于|因为|由于|这是因为|原因是",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"done|end|that(?: i|['’])s (?:all|it)|(?:i )?hope (?:this|that|it) helps|thank(?:s| you)"
    r"|(?:please )?(?:let me know|feel free|if you (?:need|have)) .{0,80}"
    r"|以上(?:就?[是为]我?的?(?:判断|评估|回答|评分)(?:结果)?)?|完毕?"
    r"|希望.{0,12}帮[助到].{0,4}|(?:谢谢|感谢).{0,10}|如果?[您你]?还?[有需]要?(?:其他|任何|更多|疑问|问题|进一步|帮助).{0,20}",
    re.IGNORECASE,
)
_FENCE_HEAD = re.compile(
    r"(?:```|~~~)(?:json\w{0,2}|text|plaintext|python|javascript|js)?\s{0,8}\Z", re.IGNORECASE
)
_FENCE_END = re.compile(r"\A(?:[\s,]*[}\]])*(?:\s{0,8}(?:```|~~~))?")
_TAG = re.compile(r"</?([^<>/]{1,30})>")
_SENTENCE_END = re.compile(r"(?<=[。!?\n])(?![\s\"”』」)]{0,4}\Z)|(?<=[.;])(?=\s)")
_BULLET = " -•0123456789.)"
_WHOLE_SENTENCE = re.compile(
    r"(?<![.…])[.。!][\"”』」)）]?\Z|(?:\A|\n)\s{0,8}(?:[-*•]|[0-9]{1,2}[.)])\s[^\n]*[^\s:]\Z"
)
#: Prose farther away than this leads to no object, and a longer one behind it is no explanation.
_NEAR, _LONGEST = 400, 4_000


def names_answer(words: str) -> bool:
    """True when words name the assessor's answer, and hold nothing else but words that belong to that."""
    words = flatten(words).strip(f"{AROUND}#:.。!=()")
    return len(words) <= 120 and bool(_OWN.fullmatch(words) and _NAMED.search(words))


def may_wrap(key: str) -> bool:
    """True when what stands under `key` is the answer, as under "result" or "final_answer"."""
    return names_answer(key) or key.casefold() in _CALL


def is_led_to(gaps: Sequence[str]) -> bool:
    """True when the prose before the objects leaves no doubt that the last of them is the reply's own answer.

    `gaps` has the prose before each; where nothing stands between two, what leads to the first leads to both.
    """
    leads = [_FENCE_HEAD.sub("", flatten(gap[-_NEAR:]).rstrip()) for gap in gaps]
    before = next((lead for lead in reversed(leads) if any(map(str.isalnum, lead))), leads[-1])
    if any(not may_wrap(tag[1]) for tag in _TAG.finditer(before[-40:])):
        return False
    lead = _TAG.sub("\n", before).rstrip(f"{AROUND}[{{(")
    if not lead:
        return True
    *earlier, last = _SENTENCE_END.split(lead)
    if _WHOLE_SENTENCE.search(lead):
        return names_answer(last) or not _IS_FOREIGN.search(last)
    *reasoning, announcement = re.split("[,;]", last.rstrip(" ,"))
    if not names_answer(announcement.lstrip(_BULLET)) or _IS_DOUBTED.search(",".join(reasoning)):
        return False
    # "The page says:\nAnswer:" is one announcement.
    above = "".join(earlier).rstrip(AROUND)
    return not above.endswith(":") or is_led_to([above])


def is_left_standing(behind: str, grade: int, scale: Scale) -> bool:
    """True when nothing in the prose behind an object can take it back, or hand it to someone else."""
    if len(behind.strip()) > _LONGEST:
        return False
    rest = _FENCE_END.sub("", flatten(behind)).rstrip()
    if any(not may_wrap(tag[1]) for tag in _TAG.finditer(rest)):
        return False
    # On the object's own line, more than courtesy may make one sentence with it.
    line, _, lines = _TAG.sub("\n", rest).partition("\n")
    return all(_is_courtesy(each, grade, scale) for each in _sentences(line)) and all(
        _is_courtesy(each, grade, scale) or _is_explanation(each) for each in _sentences(lines)
    )


def _sentences(text: str) -> list[str]:
    return [each.strip(f"{AROUND}#(){{}}[]-~") for each in _SENTENCE_END.split(text.strip())]


def _is_courtesy(sentence: str, grade: int, scale: Scale) -> bool:
    """True for the same value once more, and for what ends a reply and says nothing."""
    if label := label_of(scale).match(sentence):
        return says(sentence[label.end() :], scale) == grade
    words = sentence.rstrip(".。!")
    return not words or _COURTESY.fullmatch(words) is not None


def _is_explanation(sentence: str) -> bool:
    """True for a sentence that speaks of the snippet, and not of the answer."""
    sentence = _NOTE.sub("", sentence, count=1)
    subject = _EXPLAINS.match(sentence)
    return subject is not None and _IS_OF_ANSWER.search(sentence, subject.end()) is None
