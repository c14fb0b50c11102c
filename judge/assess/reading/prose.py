"""Owns what the prose around a value says itself: another value, a correction, or that there will be none."""

from __future__ import annotations

import re
from functools import cache

from judge.assess.reading.lenient_json import flatten
from judge.assess.reading.wording import AROUND, KEYS, LABELS, REASON_KEYS, opposes, says
from judge.records import Scale

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
_TOKENS = {
    "graded": r"(?<![0-9A-Za-z.])(?P<value>[-+]?[0-9]{1,9}(?:\.[0-9]{1,9})?[分级]?)(?![0-9A-Za-z])",
    "binary": r"(?P<value>(?<![A-Za-z])(?:yes|no|not relevant|irrelevant|relevant)(?![A-Za-z])"
    r"|(?<![\u4e00-\u9fff])[是否](?![\u4e00-\u9fff])|(?<!否)不?相关(?![性度])|无关)",
}
_STRUCTURE = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(REASON_KEYS)})[{re.escape(AROUND)}]{{0,4}}[:=]|^[ \t]{{0,8}}\||\\boxed"
    rf"|</?(?:{'|'.join((*REASON_KEYS, *KEYS['binary'], *KEYS['graded']))})>",
    re.IGNORECASE | re.MULTILINE,
)
_SPELLED = re.compile(
    r"\b(?:a|grade|score|rating|be|is|to) (?:zero|one|two|three)\b|[零〇一二两三][级分](?!钟)", re.IGNORECASE
)
_OTHERWISE = re.compile(r"^\s*(?:or\b|或)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{2}")
_RELEVANCE = re.compile(r"\b(?:not relevant|irrelevant|relevant)\b|不?相关(?![性度])|无关", re.IGNORECASE)
#: How an answer is taken back in the midst of a reason, where no object's end tells the two apart.
_DISOWNED = re.compile(
    r"\b(?:inject\w*|ignore|disregard|void|retract\w*|scratch that|just kidding|my mind|(?:told|asked) me)\b"
    r"|\bi (?:cannot|can['’]?t|refuse|decline|won['’]?t|will not)\b"
    r"|作废|撤回|收回|不算数|注入|照做|只是(?:示例|例子|样例)|有误",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{1,30}>")
#: How a sentence begins that concludes, be it without a full stop in front.
_SO = r"(?:\b(?:so|thus|hence|therefore)\b|所以|因此),?\s?(?:it is\b|it['’]s\b|是|为)?"
_BLANKS = re.compile(r"[^\S\n]{3,}")
_BLANK_LINES = re.compile(r"\n\s+")
_CLASS = re.escape(AROUND)


def is_refusal(text: str) -> bool:
    """True when prose begins by declining to judge."""
    return _REFUSAL.match(text.lstrip(AROUND)) is not None


def is_revised(text: str) -> bool:
    """True when text has the words of someone who corrects himself."""
    return _REVISION.search(text) is not None


def is_structured(text: str) -> bool:
    """True when prose has a form of its own ("Reason: …", a table): it may quote the object."""
    return _STRUCTURE.search(flatten(text)) is not None


def states(text: str, scale: Scale) -> set[int | None]:
    """The values that prose states outright; None stands for a value that is not on the scale.

    Stated is what has a label ("Grade: 2", "结论是否"), begins a line or fills it, or stands in a
    table's cell or in braces.
    """
    flat = _tight(text)
    return {says(match["value"], scale) for form in _statements(scale) for match in form.finditer(flat)}


def is_turned(reason: str, grade: int, scale: Scale) -> bool:
    """True when a reason whose end is not certain may go over into prose that says something else."""
    *_, first, last = ("", *reason.rsplit("\n", 1))
    # Behind the last quotation mark nothing is the reason's any more.
    rest = flatten(reason)[max(map(flatten(reason).rfind, "\"'")) + 1 :]
    more = (first and changes(last, grade, scale)) or ("\n" in rest and changes(rest, grade, scale))
    return bool(more or is_revised(reason) or _DISOWNED.search(reason) or states(reason, scale) - {grade})


def is_opposed(reason: str, grade: int, scale: Scale) -> bool:
    """True when a reason says outright that the snippet is relevant, or is not, against the grade."""
    return any(opposes(found[0], grade, scale) for found in _RELEVANCE.finditer(reason))


def contradicts(before: str, grade: int, scale: Scale) -> bool:
    """True when prose in front of an object states another value, or ends a line with one."""
    flat = _TAG.sub("\n", _tight(before))
    ends = {says(match["value"], scale) for match in _line_end(scale).finditer(flat)}
    return bool((states(before, scale) | ends) - {grade})


def changes(behind: str, grade: int, scale: Scale) -> bool:
    """True when prose behind an object has another value, a correction, or an alternative ("or")."""
    found = (match["value"] for match in re.finditer(_TOKENS[scale.name], flatten(behind), re.IGNORECASE))
    # Years and counts are on no scale.
    values = {says(value, scale) for value in found if not _COUNT.match(value)}
    spelled = scale.name == "graded" and _SPELLED.search(behind)
    return bool(values - {grade} or spelled or _OTHERWISE.search(behind)) or is_revised(behind)


def _tight(text: str) -> str:
    """The text flat, long blanks as one and empty lines left out, for marks that look a few places far."""
    return _BLANK_LINES.sub("\n", _BLANKS.sub(" ", flatten(text)))


@cache
def _statements(scale: Scale) -> tuple[re.Pattern[str], ...]:
    value, around = _TOKENS[scale.name], f"[{_CLASS}]{{0,4}}"
    forms = (
        rf"(?<![A-Za-z])(?:{LABELS[scale.name]}|correction|更正){around}(?:[:=>]|\bis\b|是|为){around}{value}",
        rf"(?:^|[:=]|{_SO}){around}(?:or\s|或者?\s?)?{around}{value}{around}[。.!]{{0,3}}{around}(?:[-–—,:;]|[)\]}}]?$)",
        rf"[|{{]{around}{value}[。.!]?{around}[|}}]",
    )
    return tuple(re.compile(form, re.IGNORECASE | re.MULTILINE) for form in forms)


@cache
def _line_end(scale: Scale) -> re.Pattern[str]:
    return re.compile(rf"{_TOKENS[scale.name]}[{_CLASS},;:.!。)\]]{{0,6}}$", re.IGNORECASE | re.MULTILINE)
