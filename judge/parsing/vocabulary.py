"""The keys, labels and words of a verdict in Chinese and English, and the values that they may have."""

from __future__ import annotations

import re
from functools import cache

from judge.errors import ReplyParseError
from judge.parsing.tolerant_json import flatten
from judge.records import Scale, ScaleName

#: Keys of the verdict in an object, by scale; the first is what the prompts ask for.
KEYS: dict[ScaleName, tuple[str, ...]] = {
    "binary": ("verdict", "判定", "结论"),
    "graded": ("grade", "等级", "评分", "分数"),
}
#: Keys that count on either scale when an object has none of its own keys.
OTHER_KEYS = ("score", "relevance", "rating", "label", "相关性", "相关度", "评级", "得分", "标签", "判断")
REASON_KEYS = ("reason", "理由", "原因")
#: The first keys of a reply, as alternatives of a regular expression.
ANY_KEY = "|".join((*KEYS["binary"], *KEYS["graded"], *OTHER_KEYS, *REASON_KEYS))
QUOTES = "\"'“”„‘’＂＇"
#: A key in quotation marks, with its colon.
QUOTED_KEY = re.compile(rf"[{QUOTES}]\s{{0,4}}(?:{ANY_KEY})\s{{0,4}}[{QUOTES}]\s{{0,4}}[:：]", re.IGNORECASE)
#: The key of a member that answers the question of the verdict once more, on whatever scale.
SAME_QUESTION = (
    r"(?:(?:is|final|overall|relevance|是否|最终)[ _]?){0,3}"
    r"(?:relevan(?:t|ce|cy)|verdict|grade|label|score|rating|answer|judge?ment|decision"
    r"|相关[性度]?|判定|结论|判断|结果|答案|等级|评分|分数|得分|评级|标签)"
)
#: Words in a key beside the verdict's own that make its value a later one.
LATER_WORDS = "final|correct|revis|updat|actual|instead|最终|更正|修正|修订|实际"
#: Words that announce a value in prose, by scale, as alternatives of a regular expression.
LABELS: dict[ScaleName, str] = {
    "binary": r"verdict|answer|judge?ment|decision|conclusion|relevan(?:t|ce)|label"
    r"|判定|结论|判断|判决|答案|结果|是否相关|相关性|标签",
    "graded": r"grade|score|rating|answer|relevance|label"
    r"|等级|评分|分数|得分|评级|打分|级别|分值|答案|结果|相关[性度]|标签",
}
#: Words that announce a reason in prose.
REASON_LABELS = (
    r"reason(?:ing|s)?|rationale|explanation|justification|analysis|why"
    r"|(?:评分|判断|判定)?(?:理由|原因|依据)|解释|说明|分析"
)
#: Characters around a value that do not belong to it.
AROUND = " \t\r\n\u3000\xa0\u200b\u200c\u200d\u2060\ufeff*_`\"'“”„‘’「」『』＂＇"
#: Values that stand for none.
NO_VALUE = ("", "null", "None", "none", "无")

_YES = ("yes", "是", "是的", "相关", "相關", "relevant", "true")
_NO = ("no", "否", "不是", "不相关", "不相關", "无关", "無關", "irrelevant", "not relevant", "false")
_WORDS = dict.fromkeys(_YES, 1) | dict.fromkeys(_NO, 0)
_GRADE = re.compile(r"([0-9])(?:\.0{1,9})?\s?[分级]?")
_FRACTION = re.compile(r"[-+]?[0-9]{0,20}\.[0-9]{1,20}")
#: "yes(相关)" and "Yes, relevant": a word and another one for the same.
_TWICE = re.compile(r"([^(),0-9]{1,12}?)\s?(?:\(([^(),0-9]{1,12})\)|,\s?([^(),0-9]{1,12}))")
#: "等级为1": a label and its value in one string.
_LABELLED = re.compile(
    r"(?:等级|评分|分数|得分|判定|结论|grade|score|verdict)\s?(?:为|是(?!否)|is|[:=])\s?(.{1,12})",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"<.*>|\.{2,4}|…{1,2}|int(?:eger)?|str(?:ing)?|0\s?[-~–—/|到至]\s?3|0([|/,])\s?1\1\s?2\1\s?3"
    r"|\"?yes\"?\s?(?:[|/]|or)\s?\"?no\"?|是\s?[|/或]\s?否",
    re.IGNORECASE,
)  # fmt: skip


def parse_value(text: str, scale: Scale) -> int:
    """Return the grade that a value states, 1 or 0 on the binary scale.

    A value is one word or number. Case, full-width forms, quotes, emphasis and one closing mark do
    not matter. Raises Unreadable: `not_integer` for a fraction, `not_a_grade` for all else.
    """
    word = _strip_value(text)
    if len(text) <= 64:
        value = _parse_word(word, scale)
        if value is None and (match := _LABELLED.fullmatch(word)):
            value = _parse_word(_strip_value(match[1]), scale)
        if value is None and (match := _TWICE.fullmatch(word)):
            value, second = _parse_word(match[1].strip(), scale), _strip_value(match[2] or match[3])
            value = value if value == _parse_word(second, scale) else None
        if value is not None:
            return value
    fraction = scale.name == "graded" and _FRACTION.fullmatch(word)
    raise ReplyParseError("not_integer" if fraction else "not_a_grade", f"{text[:64]!r} is not on the scale")


def _strip_value(text: str) -> str:
    word = flatten(text[:64]).strip(AROUND)
    return word[:-1].strip(AROUND) if word[-1:] in ("。", ".", "!") else word


def _parse_word(word: str, scale: Scale) -> int | None:
    if scale.name == "binary":
        return _WORDS.get(word.casefold(), {"1": 1, "0": 0}.get(word))
    digit = _GRADE.fullmatch(word)
    return int(digit[1]) if digit and int(digit[1]) <= scale.top else None


def find_value(text: str, scale: Scale) -> int | None:
    """Return the grade that a value states, None when it states none."""
    try:
        return parse_value(text, scale)
    except ReplyParseError:
        return None


def is_contrary(text: str, grade: int, scale: Scale) -> bool:
    """Return True when a value for the same question, on either scale, contradicts `grade`.

    "No" agrees with any grade that is not relevant, "yes" with any but 0. Words that are no value
    contradict nothing.
    """
    word = _strip_value(text).casefold()
    if word in _WORDS:
        return grade == 0 if _WORDS[word] else grade >= scale.relevant_from
    digit = _GRADE.fullmatch(word)
    if digit and scale.name == "binary":
        return (int(digit[1]) > 0) != (grade == 1)
    return digit is not None and grade != int(digit[1]) <= scale.top


def is_placeholder(text: str) -> bool:
    """Return True for what an echoed format has in place of a value, such as `0-3` or `yes|no`."""
    return _PLACEHOLDER.fullmatch(text.strip(AROUND)) is not None


@cache
def build_label_pattern(scale: Scale | None) -> str:
    """Return a regular expression for a label without its value, as in "Final grade (0-3):" or "最终判定：".

    None stands for the labels of both scales.
    """
    labels = LABELS[scale.name] if scale else "|".join(LABELS.values())
    return (
        r"(?:(?:so|thus|therefore|hence|and|my|the|your|final|overall|relevance|snippet's|assigned"
        r"|因此|所以|综上|故|最终的?|最后的?|我的|我给出的|综合|该摘要的?|此摘要的?|"
        r"这条摘要的?|摘要的?|相关性?的?)[ ,]{0,3}){0,4}"
        rf"(?:{labels})(?: (?:score|grade|rating|level|label|verdict)|等级|评分|分数|得分|级别|结果)?"
        r"\s{0,2}(?:\((?:0\s?[-~–到至]\s?3|yes\s?/\s?no|是\s?/\s?否)\))?"
    )
