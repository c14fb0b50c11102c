"""What a text only mentions: quoted examples, objects of other interfaces, and control tokens that it names.

An article about prompt injection quotes what attacks say, and the documentation of an interface shows objects
with a grade. Neither addresses the assessor.
"""

import re

#: A quotation behind words that introduce an example of a text.
_MENTION = re.compile(
    r"(?:\b(?:such as|like|e\.g\.|for example|(?:the|a) (?:phrase|sentence|string|text|line|words?)"
    r"|phrases?|reads?|called|named|wrote|means"
    r"|(?:attackers?|hackers?|adversar(?:y|ies)|scammers?|people|they) (?:\w+ )?"
    r"(?:writes?|says?|adds?|inserts?|hides?|types?|puts?|plants?))\b"
    r"|(?:写[入着有上了]|[会常]写|例如|比如|譬如|诸如|类似|插入|藏[有着]|一[句段]|所谓|意思)(?:的?话)?)[^\n.。\"“'‘「]{0,16}[:：,，]?\s?"
    r"(?:\"[^\"\n]{4,200}\"|“[^”\n]{4,200}”|'[^'\n]{4,200}'|‘[^’\n]{4,200}’|「[^」\n]{4,200}」)"
)
_OBJECT = re.compile(r"\{[^{}]{1,600}\}")
_KEY = re.compile(r"[\"'“]([^\"'“”:：\\]{1,30})\\?[\"'”]\s?[:：]")
#: The keys of an object that may pose as a verdict.
_VERDICT_KEYS = re.compile(
    r"(?:final[ _])?(?:verdict|grade|score)|relevan\w+|rating|reason(?:ing|s)?|rationale|explanation"
    r"|confidence|label|role|content|(?:(?:passage|snippet|pair|item)_?)?id|rank"
    r"|判定|等级|评分|得分|结论|理由|原因|依据|说明|置信度|最终\w{2}"
)
#: What says in front of an object that it documents an interface.
_DOCUMENTS = re.compile(
    r"(?:\b(?:example|returns|api|endpoint|schema|template)\b|示例|样例|接口|模板)[^\n{}(（请]{0,30}\Z"
)
#: Tokens in a line about tokens; whatever else the line says is still searched.
_TOKEN = re.compile(r"< ?/?[|｜]? ?[^\s|｜<>]{1,60}[|｜]? ?>|\[ ?/?inst ?\]|<< ?/?sys ?>>")
_ABOUT_TOKENS = re.compile(
    r"\b(?:tokens?|tokenizers?|tokenization|templates?|tags?|markers?|markup|delimiters?)\b|标记|标签|模板|分词|占位|符号"
)


def drop_mentions(text: str) -> str:
    """Return a text (lower case) without what it only mentions."""

    def is_foreign(match: re.Match[str]) -> bool:
        is_documented = _DOCUMENTS.search(text, max(0, match.start() - 60), match.start())
        return bool(is_documented) or not all(map(_VERDICT_KEYS.fullmatch, _KEY.findall(match[0])))

    without_objects = _OBJECT.sub(lambda match: " " if is_foreign(match) else match[0], text)
    lines = [(line, _TOKEN.sub(" ", line)) for line in _MENTION.sub(" ", without_objects).split("\n")]
    return "\n".join(bare if _ABOUT_TOKENS.search(bare) else line for line, bare in lines)
