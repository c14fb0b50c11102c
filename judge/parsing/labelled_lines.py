"""Answers without an object: the bare value, and labelled lines ("Reason: …", "Grade: 2")."""

from __future__ import annotations

import re
from functools import cache

from judge.errors import ReplyParseError
from judge.parsing.attribution import is_attributed, is_disowned
from judge.parsing.contradictions import (
    contradicts,
    find_stated_relevance,
    find_stated_values,
    has_correction,
)
from judge.parsing.tolerant_json import flatten
from judge.parsing.vocabulary import (
    AROUND,
    LABEL_LEAD,
    REASON_LABELS,
    build_label_pattern,
    find_value,
    parse_value,
)
from judge.records import Scale, ScaleName

_FENCE = re.compile(r"(?:```|~~~)[A-Za-z]{0,10}[ \t]{0,40}\r?\n")
#: "<grade>2</grade>" says the same as "grade: 2".
_TAG = re.compile(r"<([A-Za-z_\u4e00-\u9fff]{1,20})>([^<>]{0,4000})</\1>")
#: A quoted line ("> Grade: 2") is no bullet: it may be the text of another.
_BULLET = re.compile(r"\s*(?:[-*•+]\s|#{1,6}\s|[0-9]{1,2}[.)、]\s?(?=[^\s0-9]))?\s*")
_REASON = re.compile(rf"(?:{REASON_LABELS})\s{{0,4}}(?:[:=]|\s[-–—]\s)", re.IGNORECASE)
#: What separates a value from a comment on it.
_COMMENT = re.compile(
    r"\s?[(;]|\s[-–—]+\s|\.\s(?![0-9])|。|\s(?=because|since|as\b)"
    r"|,\s?(?=[^\s0-9])(?!(?:but|or|and|though|although|however|maybe|perhaps|not|yes|"
    r"no|only if|但|不过|可|或|是|否|也)(?![A-Za-z]))",
    re.IGNORECASE,
)
_ROW = re.compile(r"^\|\s{0,8}([^|\n]{1,40}?)\s{0,8}\|\s{0,8}([^|\n]{1,400}?)\s{0,8}\|\s*$", re.MULTILINE)
#: A sentence in which the assessor grades.
_I_GRADE = re.compile(
    r"(?:(?:so|therefore|thus|hence|overall|因此|所以|综上|故)[, ]{0,2})?(?:(?:i|we)(?:['’]d|"
    r" would| will)? (?:give|assign|rate|grade|score|award)\b"
    r"|我?(?:给出|给|评为|判为|评定为|打|判定为)(?!予))",
    re.IGNORECASE,
)


def parse_labelled_lines(answer: str, scale: Scale) -> tuple[int, str]:
    """Return the grade and the reason of an answer that holds no object.

    Raise ReplyParseError: `malformed` for prose without a statement, `not_integer` or `not_a_grade` for a
    value that is not on the scale, `ambiguous` when the rest of the answer contradicts the value.
    """
    text = _TAG.sub(r"\n\1: \2\n", _unfence(answer)).strip()
    flat = flatten(text)
    lines = _join_headings(_split_lines(text), scale)
    statements = [_find_labelled_value(flatten(line), scale) for line in lines]
    places = [index for index, value in enumerate(statements) if value is not None]
    lead = trail = reason = ""
    if places:
        grade = {parse_value(value, scale) for value in statements if value is not None}
        if len(grade) > 1:
            raise ReplyParseError("ambiguous", f"{len(places)} lines state values that differ")
        lead = "\n".join(lines[: places[0]])
        trail = "\n".join((_find_comment(flatten(lines[places[-1]]), scale), *lines[places[-1] + 1 :]))
        reason = _find_reason(lines, places)
    else:
        grade, lead, trail = _parse_sentence(flat, scale)
        reason = trail.strip(AROUND + ".;,。()")
    value = grade.pop()
    prose = (
        "\n".join(line for index, line in enumerate(lines) if index not in places)
        if places
        else lead + "\n" + trail
    )
    if (
        is_disowned(trail)
        or has_correction(trail)
        or contradicts(flat, value, scale)
        or (not _is_reason(lead) and is_attributed(lead))
        or (scale.name == "binary" and find_stated_relevance(flatten(prose)) - {value})
    ):
        raise ReplyParseError("ambiguous", "the text around the value contradicts it")
    return value, reason


def _unfence(text: str) -> str:
    fence = _FENCE.match(text)
    if fence is None:
        return text
    return text[fence.end() :].rstrip().removesuffix("```").removesuffix("~~~")


def _split_lines(text: str) -> list[str]:
    """Return the lines that hold text, without bullets and emphasis around labels."""
    text = _ROW.sub(r"\1: \2", text)
    lines = (_BULLET.sub("", line.replace("**", "").replace("__", ""), count=1) for line in text.splitlines())
    return [line.strip() for line in lines if line.strip(AROUND + "-=#")]


def _join_headings(lines: list[str], scale: Scale) -> list[str]:
    """Return the lines with each label that stands alone joined with the line behind it."""
    joined: list[str] = []
    for line in lines:
        if joined and _heading_pattern(scale.name).fullmatch(flatten(joined[-1])):
            joined[-1] = joined[-1].rstrip(" :：") + ": " + line
        else:
            joined.append(line)
    return joined


@cache
def _heading_pattern(scale_name: ScaleName) -> re.Pattern[str]:
    return re.compile(
        rf"[\[【]?(?:{LABEL_LEAD}{build_label_pattern(scale_name)})[\]】]?\s{{0,4}}:?", re.IGNORECASE
    )


def _find_labelled_value(line: str, scale: Scale) -> str | None:
    """Return what stands behind the label that begins a line, None when no label does."""
    match = _label_pattern(scale.name).match(line)
    return None if match is None else _COMMENT.split(line[match.end() :], maxsplit=1)[0]


def _find_comment(line: str, scale: Scale) -> str:
    match = _label_pattern(scale.name).match(line)
    parts = _COMMENT.split(line[match.end() :], maxsplit=1) if match else []
    return parts[1] if len(parts) > 1 else ""


@cache
def _sentence_pattern(scale_name: ScaleName) -> re.Pattern[str]:
    """Return the pattern of the places between sentences, or in front of a label within one."""
    return re.compile(
        rf"(?<=[。!?])|(?<=[.;])(?=\s)|(?<=[,;])\s{{0,2}}(?=(?:{LABEL_LEAD}{build_label_pattern(scale_name)})\s?[:=])",
        re.IGNORECASE,
    )


@cache
def _label_pattern(scale_name: ScaleName) -> re.Pattern[str]:
    return re.compile(
        rf"[\[【\"'“”「*`_#\s]{{0,4}}{LABEL_LEAD}{build_label_pattern(scale_name)}[\]】\"'“”」*`_]{{0,4}}\s{{0,4}}"
        r"(?:[:=→]|(?<=[\]】])\s?(?=\S)|\s[-–—]{1,2}\s|(?:is|为|是(?!\s?[否=]))(?:\s?[:=])?(?=[\s*`_\"“0-9是否相不无yYnN]))\s{0,8}",
        re.IGNORECASE,
    )


def _parse_sentence(flat: str, scale: Scale) -> tuple[set[int], str, str]:
    """Return the value of an answer that is one, or that begins or ends with a sentence that states one."""
    bare = flat.strip(AROUND + "#") if not re.match(r"#\s{0,4}[0-9]", flat) else flat
    short = re.sub(
        rf"\A(?:{LABEL_LEAD}{build_label_pattern(scale.name)})\s(?=\S{{1,4}}\Z)",
        "",
        bare,
        flags=re.IGNORECASE,
    )
    head, _, comment = short.partition("\n") if _is_reason(short.partition("\n")[2]) else (short, "", "")
    direct = find_value(head, scale)
    if direct is None and (
        match := re.match(rf"(.{{1,12}}?)\s?[.。,;]\s{{0,4}}(?={REASON_LABELS})", head, re.IGNORECASE)
    ):
        direct, comment = find_value(match[1], scale), head[match.end() :]
    if direct is not None:
        return {direct}, "", comment
    sentences = [part for part in _sentence_pattern(scale.name).split(flat) if part.strip(AROUND)]
    for index in dict.fromkeys((len(sentences) - 1, 0)):
        value = (
            _find_labelled_value(_BULLET.sub("", sentences[index].strip(), count=1), scale)
            if sentences
            else None
        )
        if value is None and sentences and _I_GRADE.match(sentences[index].strip()):
            values = find_stated_values(sentences[index], scale)
            value = str(values.pop()) if len(values) == 1 and None not in values else None
        if value is not None:
            rest = _find_comment(sentences[index].strip(), scale)
            return (
                {parse_value(value, scale)},
                "".join(sentences[:index]),
                rest + "".join(sentences[index + 1 :]),
            )
    if len(bare) > 24 or re.search(r"[。!,;?\n]|\.\s|\w\s+\w+\s+\w", bare):
        raise ReplyParseError("malformed", f"prose without a verdict: {flat[:80]!r}")
    return {parse_value(bare, scale)}, "", ""


def _is_reason(text: str) -> bool:
    return _REASON.match(flatten(text).lstrip(AROUND)) is not None


def _find_reason(lines: list[str], places: list[int]) -> str:
    """Return the text of the line that is labelled as the reason, else the lines that state no value."""
    rest = [line for index, line in enumerate(lines) if index not in places]
    for index, line in enumerate(rest):
        if match := _REASON.match(flatten(line)):
            return "\n".join((line[match.end() :].strip(), *rest[index + 1 :])).strip()
    return "\n".join(rest)
