"""Answers without an object: the bare value, and labelled lines ("Reason: …", "Grade: 2")."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from judge.errors import ReplyParseError
from judge.parsing.attribution import MAX_TRAIL, is_attributed, is_disowned, repeats_order
from judge.parsing.contradictions import contradicts
from judge.parsing.final_answer import strip_fence
from judge.parsing.remarks import has_correction, is_offset, is_refusal, is_rounded
from judge.parsing.stated_scale import drop_own_scale, names_other_scale
from judge.parsing.vocabulary import (
    AROUND,
    LABEL_LEAD,
    REASON_LABELS,
    SOURCE_WORDS,
    build_label_pattern,
    find_value,
    flatten,
    is_contrary,
    parse_value,
)
from judge.records import Scale, ScaleName, Verdict

_AROUND_REASON = AROUND + ".;,。()"
#: "<grade>2</grade>" says the same as "grade: 2".
_TAGGED_VALUE = re.compile(r"<([A-Za-z_\u4e00-\u9fff]{1,20})>([^<>]{0,4000})</\1>")
#: A quoted line ("> Grade: 2") is not a bullet: it may be the text of another.
_BULLET = re.compile(r"\s*(?:[-*•+]\s|#{1,6}\s|[0-9]{1,2}[.)、]\s?(?=[^\s0-9]))?\s*")
_REASON_LABEL = re.compile(rf"(?i)(?:{REASON_LABELS})\s{{0,4}}(?:[:=]|\s[-–—]\s)")
#: A comma with an explanation behind it, not with another value.
_COMMA = (
    r",\s?(?=[^\s0-9])(?!(?:but|or|and|though|although|however|maybe|perhaps|not(?! (?:an? )?[0-3]\b)|yes|no|only if|但|不过|可|或|是|否"
    r"|也)(?![A-Za-z]))"
)
#: What separates a value from a comment on it.
_COMMENT_START = re.compile(
    rf"(?i)\s?[(;]|\s[-–—]+\s|\s?(?<![-–—])[-–—]{{2,}}+\s?(?=[^\W0-9])|\.\s(?!\s{{0,4}}[0-9])|。|\s(?=because|since|as\b)|{_COMMA}"
)
_REASON_ON_LINE = re.compile(
    rf"(?im)(?<=[0-3０-３分级是否so])(?!(?<=^[0-3]) reasons)[^\S\n]+(?=(?:{REASON_LABELS})\s?[:：=])"
)
#: An answer that begins with a word that is not a value of a scale, and continues in the same line.
_NO_VALUE_FIRST = re.compile(
    r"(?i)\W{0,8}(?:null|none|nil|n/?a|nope|unknown|unclear|unsure|uncertain|undecided|partly|partially|maybe|无|未知|不详|不确定|不一定"
    r"|不好说)\W{0,4}(?:[,.;:]|\s[-–—]{1,2}\s)"
)
#: "Answer: No, you cannot": the answer to a question of the query, unless it speaks of the snippet.
_ANSWERS_QUERY = re.compile(
    r"(?is)\W{0,8}(?:the )?(?:answer|答案)\s?(?:[:=]|is|是|为)\s{0,3}(?:yes|no|是的?|不是|否)(?:\s?[,(]"
    rf"|\s(?=because))(?!.*(?:{SOURCE_WORDS}|{REASON_LABELS}))"
)
#: "Relevance: The snippet is on topic." is a sentence, not a value.
_DESCRIBED = re.compile(
    r"(?i)\W{0,4}(?:relevance|相关[性度])\W{0,4}:(?!.*\b(?:zero|one|two|three)\b)(?:[^\d:]{12,}|[\u4e00-\u9fff,。]{6,})"
)
#: Brackets around the value of a label, in front of a comment on it: "[2] (partly)", not of a list: "(1), (2)".
_IN_BRACKETS = re.compile(
    r"\A[(\[【]\s?([^\s()\[\]【】]{1,8})\s?[)\]】](?=\W|\Z)(?!.*[(\[【]\s?[0-9]{1,2}\s?[)\]】])"
)
#: What explains a value that is alone in the line above: "The snippet covers part of the answer."
_EXPLANATION = re.compile(
    r"(?i)\s*(?=[^\W\d_])[^.。\n\d]{0,60}(?:\b(?:snippet|page|query|answer|relevant|topic|useful|partial|help)\w*\b"
    r"|摘要|网页|页面|查询|答案|部分|相关|切题|有用|帮助|回答)[^\d]*\Z"
)
#: A second grade with its own remark: "3 (snippet A), 1 (snippet B)".
_SECOND_GRADE = re.compile(r"\)?\s?[,;/、]\s?[0-3]\s?[分级]?\s?[(（]")


@dataclass(frozen=True, slots=True)
class _StatedGrade:
    """The grade that an answer states, the text in front of it and behind it, and the reason (None: behind it)."""

    grade: int
    lead: str = ""
    trail: str = ""
    reason: str | None = None


def parse_labelled_lines(answer: str, scale: Scale, *, cut: bool) -> Verdict:
    """Return the verdict of an answer that holds no object.

    Raise ReplyParseError: `refusal` when the answer declines, `truncated` when it was `cut`, and `malformed`
    for prose without a statement. Other kinds are `not_integer` or `not_a_grade` for a value that is not on
    the scale, and `ambiguous` when the rest of the answer contradicts the value.
    """
    if is_refusal(answer):
        raise ReplyParseError("refusal", f"the reply declines: {answer[:80]!r}")
    if cut:
        raise ReplyParseError("truncated", f"the reply was cut off: {answer[-80:]!r}")
    text = _TAGGED_VALUE.sub(r"\n\1: \2\n", strip_fence(answer)).strip()
    text = _REASON_ON_LINE.sub("\n", text)
    flat = flatten(text)
    if _NO_VALUE_FIRST.match(flat):
        raise ReplyParseError(
            "ambiguous", "the answer begins with no value of the scale, and states one later"
        )
    if scale.name == "binary" and _ANSWERS_QUERY.match(flat):
        raise ReplyParseError("ambiguous", "the answer may be one to the query, not about the snippet")
    stated = _parse_lines(text, scale) or _parse_sentences(flat, scale)
    if _is_contradicted(stated, flat, scale):
        raise ReplyParseError("ambiguous", "the text around the value contradicts it")
    reason = stated.trail.strip(_AROUND_REASON) if stated.reason is None else stated.reason
    return Verdict(stated.grade, reason, () if reason else ("no_reason",))


def _is_contradicted(stated: _StatedGrade, flat: str, scale: Scale) -> bool:
    """Return True when the text around a grade corrects it, takes it back or states another value."""
    lead, trail = (
        "\n".join(takewhile(lambda line: not _is_reason(line), stated_text.split("\n")))
        for stated_text in (stated.lead, stated.trail)
    )
    parts = re.sub(r"[,;()]", "\n", trail.partition("\n")[0])
    first_clause = re.split(r"[,;。\n]", trail.lstrip(), maxsplit=1)[0]
    return (
        len(stated.trail) > MAX_TRAIL
        or _SECOND_GRADE.search(trail) is not None
        or is_contrary(first_clause.strip(_AROUND_REASON), stated.grade, scale)
        or is_offset(parts)
        or (scale.name == "graded" and is_rounded(parts))
        or is_disowned("\n".join(line for line in stated.trail.split("\n") if not _is_reason(line)))
        or has_correction(stated.trail, stated.grade, scale)
        or contradicts(flat, stated.grade, scale)
        or names_other_scale(lead, scale)
        or names_other_scale(trail, scale)
        or repeats_order(lead)
        or is_attributed(lead + "\n\n")
        or is_refusal(lead, is_lead=True)
    )


def _parse_lines(text: str, scale: Scale) -> _StatedGrade | None:
    """Return what the lines that begin with a label state, None when there is none."""
    lines = _list_lines(text, scale)
    labelled = {
        place: parts
        for place, line in enumerate(lines)
        if (parts := _split_label(drop_own_scale(flatten(line), scale), scale))
    }
    stated = {parse_value(value, scale) for value, _ in labelled.values()}
    if len(stated) > 1:
        raise ReplyParseError("ambiguous", f"{len(labelled)} lines state values that differ")
    if not labelled:
        return None
    first, last = min(labelled), max(labelled)
    trail = "\n".join((labelled[last][1], *lines[last + 1 :]))
    reason = _find_reason([line for place, line in enumerate(lines) if place not in labelled])
    return _StatedGrade(stated.pop(), "\n".join(lines[:first]), trail, reason)


def _list_lines(text: str, scale: Scale) -> list[str]:
    """Return the lines with text, without bullets; a label that is alone has the line behind it."""
    alone = re.compile(rf"(?i)[\[【]?(?:{LABEL_LEAD}{build_label_pattern(scale.name)})[\]】]?\s{{0,4}}:?")
    lines: list[str] = []
    for raw_line in text.splitlines():
        line = _BULLET.sub("", raw_line.replace("**", "").replace("__", ""), count=1).strip()
        if not line.strip(AROUND + "-=#"):
            continue
        if lines and alone.fullmatch(flatten(lines[-1])):
            lines[-1] = lines[-1].rstrip(" :：") + ": " + line
        else:
            lines.append(line)
    return lines


def _split_label(line: str, scale: Scale) -> tuple[str, str] | None:
    """Return the value and the comment behind the label that begins a line, None when no label does."""
    match = _compile_label_pattern(scale.name).match(line)
    if match is None or _DESCRIBED.fullmatch(line):
        return None
    value, *comment = _COMMENT_START.split(_IN_BRACKETS.sub(r"\1", line[match.end() :]), maxsplit=1)
    return value, "".join(comment)


@cache
def _compile_sentence_pattern(scale_name: ScaleName) -> re.Pattern[str]:
    """Return the pattern of the places between sentences, and in front of a label."""
    return re.compile(
        r"(?i)(?<=[。!?])|(?<=[.;])(?=\s)"
        rf"|(?<=[,;])\s{{0,2}}(?=(?:{LABEL_LEAD}{build_label_pattern(scale_name)})\s?[:=为])"
    )


@cache
def _compile_label_pattern(scale_name: ScaleName) -> re.Pattern[str]:
    return re.compile(
        rf"(?i)[\[【\"'“”「*`_#\s]{{0,4}}{LABEL_LEAD}{build_label_pattern(scale_name)}[\]】\"'“”」*`_]{{0,4}}\s{{0,4}}(?:[:=→]|\?(?=\s?(?:yes|no|[是否])[.。!*]{{0,3}}\Z)|(?<=[\]】])\s?(?=\S)"
        r"|(?<=[\u4e00-\u9fff])(?=[0-9]\s?[分级]?\s?(?:\Z|[。.;,(]))|\s[-–—]{1,2}\s|(?:is|为"
        r"|是(?!\s?[否=]))(?:\s?[:=])?(?=[\s*`_\"“0-9是否相不无yYnN]))\s{0,8}"
    )


def _parse_sentences(flat: str, scale: Scale) -> _StatedGrade:
    """Return the value of an answer that is one, or that ends with a sentence that states one."""
    own = drop_own_scale(flat, scale)
    bare = own.strip(AROUND + "#") if not re.match(r"#\s{0,4}[0-9]", flat) else flat
    bare = re.sub(r"\A\(\s?([^()]{1,8})\)(?=[.。!]?\Z)", r"\1", bare)
    label = (
        rf"\A{LABEL_LEAD}(?:{build_label_pattern(scale.name)}\s|(?<=[a-z因此所以综上故]):\s?)(?=\S{{1,4}}\Z)"
    )
    short = re.sub(label, "", bare, flags=re.IGNORECASE)
    first, _, rest = short.partition("\n")
    head, comment = (first, rest) if _is_reason(rest) or _EXPLANATION.match(rest) else (short, "")
    direct = find_value(head, scale)
    if direct is not None:
        return _StatedGrade(direct, trail=comment)
    sentences = [part for part in _compile_sentence_pattern(scale.name).split(flat) if part.strip(AROUND)]
    lead = "".join(sentences[:-1])
    stated = _split_label(_BULLET.sub("", sentences[-1].strip(), count=1), scale) if sentences else None
    if stated and lead.count('"') % 2 == 0:  # else the sentence is quoted
        return _StatedGrade(parse_value(stated[0], scale), lead, stated[1])
    if len(bare) > 24 or re.search(r"[。!,;?\n]|\.\s|\w\s+\w+\s+\w", bare):
        raise ReplyParseError("malformed", f"prose without a verdict: {flat[:80]!r}")
    return _StatedGrade(parse_value(bare, scale))


def _is_reason(text: str) -> bool:
    return _REASON_LABEL.match(flatten(text).lstrip(AROUND)) is not None


def _find_reason(lines: Sequence[str]) -> str:
    """Return the text from the line on that is labelled as the reason, else all lines."""
    for index, line in enumerate(lines):
        if match := _REASON_LABEL.match(flatten(line)):
            return "\n".join((line[match.end() :].strip(), *lines[index + 1 :])).strip()
    return "\n".join(lines)
