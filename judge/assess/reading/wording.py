"""Owns the words of a verdict: the keys and labels that announce it, and the values it may have."""

from __future__ import annotations

import re
from functools import cache

from judge.assess.reading.lenient_json import flatten
from judge.errors import Unreadable
from judge.records import Scale

#: Keys of the verdict in an object, by scale; the first is what the prompts ask for.
KEYS = {"binary": ("verdict", "判定", "结论"), "graded": ("grade", "等级", "评分", "分数")}
REASON_KEYS = ("reason", "理由", "原因")
ANY_KEY = "|".join((*KEYS["binary"], *KEYS["graded"], *REASON_KEYS))
#: A known key in quotes of any kind, with its colon.
QUOTED_KEY = re.compile(
    rf"[\"'“”„‘’＂＇]\s{{0,4}}(?:{ANY_KEY})\s{{0,4}}[\"'“”„‘’＂＇]\s{{0,4}}[:：]", re.IGNORECASE
)

#: Words that announce a value in prose, by scale, as alternatives of a regular expression.
LABELS = {
    "binary": r"verdict|answer|judge?ment|relevant|判定|结论|判断(?:结果)?|答案|结果|是否相关",
    "graded": r"grade|score|rating|answer|等级|评分|分数|得分|评级|答案|结果",
}
_YES = ("yes", "是", "是的", "相关", "相關", "relevant")
_NO = ("no", "否", "不是", "不相关", "不相關", "无关", "無關", "irrelevant", "not relevant")
_WORDS = dict.fromkeys(_YES, 1) | dict.fromkeys(_NO, 0)
#: The key of a member that answers the question of the verdict once more, on whatever scale.
SAME_QUESTION = (
    r"(?:(?:is|final|overall|relevance|是否|最终)[ _]?){0,3}"
    r"(?:relevan(?:t|ce|cy)|verdict|grade|label|score|rating|answer|judge?ment|decision"
    r"|相关[性度]?|判定|结论|判断|结果|答案|等级|评分|分数|得分|评级|标签)"
)

#: Characters around a value that do not belong to it.
AROUND = " \t\r\n\u3000\xa0\u200b\u200c\u200d\u2060\ufeff*_`\"'“”„‘’「」『』＂＇"
_GRADE = re.compile(r"([0-9])(?:\.0{1,9})?\s?[分级]?")
_FRACTION = re.compile(r"[-+]?[0-9]{0,20}\.[0-9]{1,20}")
#: The mark of a heading, but not of a number: "#3" is the third of something.
_HEADING = re.compile(r"\A#{1,6}\s{0,8}(?![\s0-9#])")
_FENCE = re.compile(r"(?:```|~~~)[A-Za-z]{0,10}[ \t]{0,40}\r?\n")
_PLACEHOLDER = re.compile(
    r"<.*>|\.{2,4}|…{1,2}|int(?:eger)?|str(?:ing)?|0\s?[-~–—/|到至]\s?3|0([|/,])\s?1\1\s?2\1\s?3"
    r"|\"?yes\"?\s?(?:[|/]|or)\s?\"?no\"?|是\s?[|/或]\s?否",
    re.IGNORECASE,
)
_REASON_LABEL = re.compile(
    r"\s{0,8}[\n.。,;]\s{0,8}[*_\"]{0,3}(?:reason(?:ing)?|explanation|理由|原因|解释)[*_\"]{0,3}\s?:",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[。!,;?\n]|\.\s|\w\s+\w+\s+\w")


def read_value(text: str, scale: Scale) -> int:
    """The grade that a value says, for `binary` 1 or 0.

    A value is one word or number; case, full-width forms, quotes, emphasis and one closing mark do
    not matter. Raises Unreadable: `not_integer` for a fraction, `not_a_grade` for all else.
    """
    word = flatten(text[:64]).strip(AROUND)
    if word[-1:] in ("。", ".", "!"):
        word = word[:-1].strip(AROUND)
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


def opposes(text: str, grade: int, scale: Scale) -> bool:
    """True when a value for the same question, be it of the other scale, can't stand beside `grade`.

    "No" stands beside any grade that isn't relevant, "yes" beside any but 0; words that are no value
    stand beside all.
    """
    word = flatten(text[:64]).strip(f"{AROUND}。.!").casefold()
    if word in _WORDS or word in ("true", "false"):
        return grade == 0 if _WORDS.get(word, word == "true") else grade >= scale.relevant_from
    digit = _GRADE.fullmatch(word)
    if digit and scale.name == "binary":
        return (int(digit[1]) > 0) != (grade == 1)
    return digit is not None and grade != int(digit[1]) <= scale.top


def is_placeholder(text: str) -> bool:
    """True for what an echoed format has in place of a value, such as `0-3` or `yes|no`."""
    return _PLACEHOLDER.fullmatch(text.strip(AROUND)) is not None


def read_bare(text: str, scale: Scale) -> tuple[int, str]:
    """Grade and reason of an answer that is a value and nothing else.

    A fence, one label in front ("Grade: 2") and a labelled reason behind may be there too. Raises
    Unreadable: `malformed` for prose, `not_integer` or `not_a_grade` for a value off the scale.
    """
    answer = _unfenced(text)
    head = flatten(answer[:300])
    mark = _REASON_LABEL.search(head)
    words = head[: mark.start()] if mark else head
    words = _HEADING.sub("", words.translate({ord("*"): "", ord("`"): ""}).strip())
    if label := label_of(scale).match(words):
        words = words[label.end() :]
    prose = says(words, scale) is None and (len(words) > 24 or _SENTENCE.search(words))
    if prose or (not mark and len(answer) > 300):
        raise Unreadable("malformed", f"prose without a verdict: {text[:80]!r}")
    return read_value(words, scale), answer[mark.end() :].strip() if mark else ""


def _unfenced(text: str) -> str:
    fence = _FENCE.match(text)
    return text[fence.end() :].rstrip().removesuffix("```").removesuffix("~~~").rstrip() if fence else text


@cache
def label_of(scale: Scale) -> re.Pattern[str]:
    """Matches a label with its colon, as in "Final grade (0-3): 2" or "最终判定：是"."""
    return re.compile(
        rf"[\"'“”]?(?:(?:my|the|final|relevance|overall|最终|我的|相关性?) ?){{0,3}}(?:{LABELS[scale.name]})"
        rf"\s?(?:\(0\s?[-~–]\s?3\))?[\"'“”]?\s{{0,4}}(?:is|是|为)?\s{{0,4}}[:=]\s{{0,8}}",
        re.IGNORECASE,
    )
