"""Parse a reply in any form into a verdict, or refuse it; the package says in which steps.

An answer whose objects can all be read is parsed here, any other in `repair` or `labelled_lines`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from judge.errors import ReplyParseError
from judge.parsing.attribution import is_disowned, may_wrap
from judge.parsing.contradictions import contradicts, find_doubt
from judge.parsing.final_answer import extract_final_answer, strip_fence
from judge.parsing.labelled_lines import parse_labelled_lines
from judge.parsing.remarks import has_correction, is_refusal
from judge.parsing.repair import is_damaged, parse_damaged
from judge.parsing.stated_scale import is_other_scale
from judge.parsing.tolerant_json import (
    FENCE,
    JsonObject,
    JsonText,
    Node,
    Scan,
    is_strict,
    scan_objects,
)
from judge.parsing.verdict import MAX_REASON
from judge.parsing.vocabulary import (
    KEYS,
    QUOTED_KEY,
    QUOTES,
    REASON_KEYS,
    SAME_QUESTION,
    agree_on_grade,
    flatten,
    fold_key,
    is_placeholder,
    states_another,
)
from judge.records import Scale, Verdict, is_complete_reply

#: A line of sources, which models with web search write behind their answer.
_CITATION = re.compile(
    r"(?i)[\s*>-]{0,8}(?:\[[0-9]{1,2}\]:?\s{0,3}https?://\S{1,500}|(?:references?|sources?|citations?|rubric|来源|引用"
    r"|参考(?:资料|文献|链接)?)\s?[:：]\s?(?:(?:\[[0-9]{1,2}\]|https?://\S{1,500})[\s,，]{0,3}){1,20})\s{0,8}"
)
_OBJECT_FIRST = re.compile(rf"(?:{FENCE}\s{{0,8}})?[\[［]?\s{{0,8}}[{{｛]")
_SCHEMA_KEYS = frozenset(("type", "enum", "description", "anyOf", "$ref"))
#: Between two objects of a list, or two members of an object whose brace is lost.
_LIST_GAP = re.compile(rf"\s*,\s*(?:[{QUOTES}][^{QUOTES}]{{1,30}}[{QUOTES}]\s*:\s*)?")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One value that an object states for the scale's key; `depth` counts the objects around it."""

    value: Node
    owner: JsonObject
    depth: int


def parse_any(text: str, scale: Scale, finish_reason: str | None) -> Verdict:
    """Return the verdict of a reply as `parse_verdict` does."""
    cut = not is_complete_reply(finish_reason)
    answer = extract_final_answer(text, cut=cut)
    members = strip_fence(answer)
    if not cut and QUOTED_KEY.match(members) and not re.search("[{}｛｝]", members):
        answer = f"{{{members},}}"  # the comma is no strict JSON, so the verdict counts as repaired
    scan = scan_objects(answer)
    if cut and "{" in flatten(answer) and not _OBJECT_FIRST.match(answer):
        raise ReplyParseError("truncated", "the reply was cut off, perhaps before its own object")
    if is_damaged(answer, scan):
        verdict = parse_damaged(answer, scale, cut=cut)
    elif scan.objects:
        verdict = _parse_objects(answer, scan, scale, cut=cut)
    else:
        verdict = parse_labelled_lines(answer, scale, cut=cut)
    if len(verdict.reason) <= MAX_REASON:
        return verdict
    return Verdict(verdict.grade, verdict.reason[:MAX_REASON], (*verdict.flags, "reason_capped"))


def _parse_objects(answer: str, scan: Scan, scale: Scale, *, cut: bool) -> Verdict:
    """Return the verdict of an answer whose objects could all be read."""
    statements, echoes = _collect_statements(answer, scan.objects, scale)
    texts = [
        statement.value.value if isinstance(statement.value, JsonText) else "" for statement in statements
    ]
    grade = agree_on_grade(texts, scale)
    # A comma may become a decimal one.
    if (cut or answer.endswith((",", "，"))) and any(
        statement.owner.unended and statement.value is statement.owner.pairs[-1][1]
        for statement in statements
    ):
        raise ReplyParseError("truncated", "the reply was cut off right behind the value")
    if min(statement.depth for statement in statements) > 1:
        raise ReplyParseError("missing_key", "the verdict is nested too deep in other objects")
    if any(_contradicts_itself(each, grade, scale) for each in scan.objects):
        raise ReplyParseError("ambiguous", "another member of the object may hold the final value")
    gaps = [answer[start:end] for start, end in scan.list_gaps(len(answer))]
    gaps[-1] = "\n".join(line for line in gaps[-1].split("\n") if not _CITATION.fullmatch(flatten(line)))
    _check_prose(gaps[echoes:], grade, scale, cut=cut)
    reason, flags = _find_reason(statements)
    strict = all(is_strict(answer[each.start : each.end]) for each in scan.objects)
    return Verdict(grade, reason, flags if strict else (*flags, "repaired"))


def _collect_statements(
    answer: str, objects: Sequence[JsonObject], scale: Scale
) -> tuple[list[_Statement], int]:
    """Return what the objects state, without the first ones that echo the asked format, and their number.

    Raise ReplyParseError when the objects state nothing.
    """
    for before, after in pairwise(objects):
        if _LIST_GAP.fullmatch(flatten(answer[before.end : after.start])):
            raise ReplyParseError("ambiguous", "a list has several verdicts for one snippet")
    per_object = [list(_find_statements(each, KEYS[scale.name])) for each in objects]
    echoes = list(takewhile(lambda group: group and all(map(_is_echo, group)), per_object))
    real = [statement for group in per_object[len(echoes) :] for statement in group]
    statements = [statement for group in per_object for statement in group]
    if not statements or not (real or any(isinstance(statement.value, JsonText) for statement in statements)):
        raise ReplyParseError("missing_key", f"no object has the key {KEYS[scale.name][0]!r}")
    first = next(index for index, group in enumerate(per_object) if group)
    for index, (each, group) in enumerate(zip(objects, per_object, strict=True)):
        if not group and each.pairs and (index > first or _resembles_verdict(each)):
            raise ReplyParseError("ambiguous", "one object has a verdict, another may replace it")
    return (real, len(echoes)) if real else (statements, 0)


def _resembles_verdict(node: JsonObject) -> bool:
    """Return True when an object without the scale's key may be a part of the answer: by another key of it."""
    return any(
        fold_key(key) in REASON_KEYS or SAME_QUESTION.fullmatch(fold_key(key))
        for key, _ in _iter_members(node)
    )


def _find_statements(node: Node, keys: Sequence[str], depth: int = 0) -> Iterator[_Statement]:
    """Yield every value stated for one of the keys at any depth; the JSON reader limits the depth."""
    if isinstance(node, list):
        statements = [statement for item in node for statement in _find_statements(item, keys, depth)]
        if statements and len(node) > 1:
            raise ReplyParseError("ambiguous", "a list has several verdicts for one snippet")
        yield from statements
    elif isinstance(node, JsonObject):
        for key, value in node.pairs:
            if fold_key(key) in keys:
                yield _Statement(value, node, depth)
                continue
            inner = list(_find_statements(value, keys, depth + 1))
            if inner and not may_wrap(key):
                raise ReplyParseError("ambiguous", f"a verdict under {key!r} may not be the answer")
            yield from inner


def _is_echo(statement: _Statement) -> bool:
    """Return True for a placeholder or a schema where the value should be."""
    if isinstance(statement.value, JsonObject):
        return any(key in _SCHEMA_KEYS for key, _ in statement.value.pairs)
    return isinstance(statement.value, JsonText) and is_placeholder(statement.value.value)


def _iter_members(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the members of an object, and of all objects within it."""
    if isinstance(node, list):
        for item in node:
            yield from _iter_members(item)
    elif isinstance(node, JsonObject):
        for key, value in node.pairs:
            yield key, value
            yield from _iter_members(value)


def _contradicts_itself(node: JsonObject, grade: int, scale: Scale) -> bool:
    """Return True when another member of an object, at any depth, states another value than `grade`."""
    for key, value in _iter_members(node):
        holds_grade = any(fold_key(inner) in KEYS[scale.name] for inner, _ in _iter_members(value))
        text = value.value if isinstance(value, JsonText) else "" if holds_grade else "…"
        items = value if isinstance(value, list) else [value]
        listed = ", ".join(item.value for item in items if isinstance(item, JsonText))
        if states_another(key, text, grade, scale) or is_other_scale(key, listed, grade, scale):
            return True
    return False


def _check_prose(gaps: Sequence[str], grade: int, scale: Scale, *, cut: bool) -> None:
    """Raise ReplyParseError unless the prose around the objects makes them the answer, and states no other.

    `gaps` are the stretches before, between and behind the objects.
    """
    lead, *between, trail = gaps
    if is_refusal(lead, is_lead=True):
        raise ReplyParseError("refusal", f"the reply declines before it answers: {lead[:80]!r}")
    # What leads to the first of two objects with nothing between them leads to both.
    nearest = next(
        (gap for gap in reversed(gaps[:-1]) if any(map(str.isalnum, re.sub(FENCE, "", gap)))), gaps[-2]
    )
    if any(
        is_disowned(gap, is_last=False) or has_correction(gap, grade, scale) or contradicts(gap, grade, scale)
        for gap in between
    ):
        raise ReplyParseError("ambiguous", "the text between two objects leaves doubt about them")
    if doubt := find_doubt(lead, trail, grade, scale, nearest=[nearest]):
        raise ReplyParseError("ambiguous", doubt)
    if cut and any(map(str.isalnum, trail)):
        raise ReplyParseError("truncated", "the reply was cut off behind the object")


def _find_reason(statements: Sequence[_Statement]) -> tuple[str, tuple[str, ...]]:
    """Return the first reason beside the statements, and the flags for it."""
    for statement in statements:
        for key, value in statement.owner.pairs:
            if fold_key(key) in REASON_KEYS and isinstance(value, JsonText) and value.quoted:
                return value.value, () if value.value else ("no_reason",)
    return "", ("no_reason",)
