"""Owns the words of a verdict: the keys and labels that announce it, and the values it may have."""

from __future__ import annotations

import re

from judge.assess.lenient_json import flatten
from judge.errors import Unreadable
from judge.records import Scale

#: Keys of the verdict in an object, by scale; the first is what the prompts ask for.
KEYS = {"binary": ("verdict", "判定", "结论"), "graded": ("grade", "等级", "评分", "分数")}
REASON_KEYS = ("reason", "理由", "原因")

_LABELS = {
    "binary": r"verdict|answer|judge?ment|relevant|判定|结论|判断|答案|结果|是否相关",
    "graded": r"grade|score|rating|answer|等级|评分|分数|得分|评级|答案|结果",
}
_YES = ("yes", "是", "是的", "相关", "相關", "relevant")
_NO = ("no", "否", "不是", "不相关", "不相關", "无关", "無關", "irrelevant", "not relevant")
_WORDS = dict.fromkeys(_YES, 1) | dict.fromkeys(_NO, 0)

_AROUND = " \t\r\n\u3000\xa0\u200b\u200c\u200d\u2060\ufeff*_`\"'“”„‘’「」『』＂＇"
_GRADE = re.compile(r"([0-9])(?:\.0{1,9})?\s?[分级]?")
_FRACTION = re.compile(r"[-+]?[0-9]{0,20}\.[0-9]{1,20}")
_FENCE = re.compile(r"\A(?:```|~~~)[A-Za-z]{0,10}[ \t]*\r?\n(.*?)\s*(?:```|~~~)?\s*\Z", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"<.*>|\.{2,4}|…{1,2}|int(?:eger)?|str(?:ing)?|0\s?[-~–—/|到至]\s?3|0([|/,])\s?1\1\s?2\1\s?3"
    r"|\"?yes\"?\s?(?:[|/]|or)\s?\"?no\"?|是\s?[|/或]\s?否",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?(?:sorry|afraid)\b"
    r"|(?:unfortunately,? )?(?:i|we) (?:cannot|can['’]?t|can not|won['’]?t|will not|must decline|am unable)"
    r"|i['’]m unable|i decline|as an? (?:ai|language model)|i apologi[sz]e|my apologies"
    r"|(?:很|非常)?(?:抱歉|对不起|不好意思)|(?:我|本模型)?(?:无法|不能|没办法|拒绝)"
    r"|作为(?:一个|一名)?\s?(?:ai|人工智能|大?语言模型|大模型)",
    re.IGNORECASE,
)
_REVISION = re.compile(
    r"\b(?:actually|correction|wait|on second thought|on reflection|should be|i mean|instead)\b"
    r"|更正|修正|纠正|应为|应该是|应当是|改为|改成|不对|其实",
    re.IGNORECASE,
)
_REASON_LABEL = re.compile(
    r"\s*[\n.。,;]\s*[*_\"]{0,3}(?:reason(?:ing)?|explanation|理由|原因|解释)[*_\"]{0,3}\s?:", re.IGNORECASE
)
_SENTENCE = re.compile(r"[。!,;?\n]|\.\s|\w\s+\w+\s+\w")
_EXAMPLE = re.compile(r"example|sample|e\.g\.|for instance|示例|例如|样例|例子|比如", re.IGNORECASE)
_GRADE_TOKEN = re.compile(r"(?<![0-9A-Za-z.])[0-9](?![0-9A-Za-z]|\.[0-9])")
_WORD_TOKEN = re.compile(
    r"(?<![A-Za-z])(?:yes|no|not relevant|irrelevant|relevant)(?![A-Za-z])"
    r"|(?<![\u4e00-\u9fff])[是否](?![\u4e00-\u9fff])|不?相关(?![性度])|无关",
    re.IGNORECASE,
)


def read_value(text: str, scale: Scale) -> int:
    """The grade that a value says, for `binary` 1 or 0.

    A value is one word or number; case, full-width forms, quotes, emphasis and one closing mark do
    not matter. Raises Unreadable: `not_integer` for a fraction, `not_a_grade` for all else.
    """
    word = flatten(text[:64]).strip(_AROUND)
    if word[-1:] in ("。", ".", "!"):
        word = word[:-1].strip(_AROUND)
    if len(text) <= 64:
        if scale.name == "binary" and word.casefold() in _WORDS:
            return _WORDS[word.casefold()]
        digit = _GRADE.fullmatch(word)
        if scale.name == "graded" and digit and int(digit[1]) <= scale.top:
            return int(digit[1])
    fraction = scale.name == "graded" and _FRACTION.fullmatch(word)
    raise Unreadable("not_integer" if fraction else "not_a_grade", f"{text[:64]!r} is not on the scale")


def says(text: str, scale: Scale) -> int | None:
    """The grade that a value says, None when it says none."""
    try:
        return read_value(text, scale)
    except Unreadable:
        return None


def is_placeholder(text: str) -> bool:
    """True for what an echoed format has in place of a value, such as `0-3` or `yes|no`."""
    return _PLACEHOLDER.fullmatch(text.strip(_AROUND)) is not None


def read_bare(text: str, scale: Scale) -> tuple[int, str]:
    """Grade and reason of an answer that is a value and nothing else.

    A fence, one label in front ("Grade: 2") and a labelled reason behind may be there too. Raises
    Unreadable: `refusal`, `malformed` for prose, `not_integer` or `not_a_grade` for a value that is
    not on the scale.
    """
    if is_refusal(text):
        raise Unreadable("refusal", f"the reply declines: {text[:80]!r}")
    fenced = _FENCE.match(text) if len(text) < 2_000 else None
    answer = fenced[1] if fenced else text
    head = flatten(answer[:300])
    mark = _REASON_LABEL.search(head)
    if not mark and len(answer) > 300:
        raise Unreadable("malformed", f"prose without a verdict: {text[:80]!r}")
    words = head[: mark.start()] if mark else head
    reason = answer[mark.end() :].strip() if mark else ""
    words = words.translate({ord("*"): "", ord("`"): ""}).strip().lstrip("#").strip()
    if label := _label(scale).match(words):
        words = words[label.end() :]
    grade = says(words, scale)
    if grade is None and (len(words) > 24 or _SENTENCE.search(words)):
        raise Unreadable("malformed", f"prose without a verdict: {text[:80]!r}")
    grade = read_value(words, scale)
    if prose_says(reason, scale) - {grade} or _REVISION.search(reason):
        raise Unreadable("ambiguous", "the reason behind the value says something else")
    return grade, reason


def _label(scale: Scale) -> re.Pattern[str]:
    return re.compile(
        rf"[\"'“”]?(?:(?:my|the|final|relevance|overall|最终|我的|相关性|相关)\s?){{0,3}}(?:{_LABELS[scale.name]})"
        rf"\s?(?:\(0\s?[-~–]\s?3\))?[\"'“”]?\s{{0,4}}(?:is|是|为)?\s{{0,4}}[:=]\s{{0,8}}",
        re.IGNORECASE,
    )


def prose_says(text: str, scale: Scale) -> set[int]:
    """The grades that prose states outright: by label ("Grade: 2", "结论是否") or alone on a line."""
    flat = flatten(text)
    value = r"[0-9](?![0-9A-Za-z]|\.[0-9])" if scale.name == "graded" else _WORD_TOKEN.pattern
    stated = re.compile(
        rf"(?<![A-Za-z])(?:{_LABELS[scale.name]})[\"'“”*_\s]{{0,4}}(?:[:=]|\bis\b|是|为)[\"'“”*_\s]{{0,4}}({value})",
        re.IGNORECASE,
    )
    alone = (line for line in flat.split("\n")[:200] if len(line) <= 40)
    words = [match[1] for match in stated.finditer(flat)] + [line.strip(_AROUND + "#") for line in alone]
    return {grade for word in words if (grade := says(word, scale)) is not None}


def takes_back(text: str, grade: int, scale: Scale) -> bool:
    """True when prose behind a verdict may change it: a correction, another value, an open colon."""
    flat = flatten(text)
    token = _GRADE_TOKEN if scale.name == "graded" else _WORD_TOKEN
    others = any(says(match[0], scale) != grade for match in token.finditer(flat))
    return others or bool(_REVISION.search(flat)) or flat.rstrip(_AROUND).endswith(":")


def is_example(text: str) -> bool:
    """True when the prose in front of an object announces an example of one."""
    return _EXAMPLE.search(text[-40:]) is not None


def is_refusal(text: str) -> bool:
    """True when prose begins by declining to judge."""
    return _REFUSAL.match(text.lstrip(_AROUND)) is not None
