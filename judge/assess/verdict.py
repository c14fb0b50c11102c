"""Owns what a reply says: `read` gives its verdict, or refuses; it never guesses.

    reply ─► final answer ─┬─ objects ──────────► every value they and the prose state agrees ─► Verdict
                           ├─ a damaged object ─► the value's place is certain all the same  ─► Verdict
                           └─ no object ────────► the answer is a value and nothing else     ─► Verdict

An unreadable reply costs one re-ask, a wrong value costs the result: when in doubt, refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from judge.assess.reading import damaged, prose, wording
from judge.assess.reading.final_answer import final_answer
from judge.assess.reading.lenient_json import Node, Object, Scan, Text, flatten, is_strict, scan, unescape
from judge.assess.reading.ownership import is_led_to, is_left_standing, may_wrap
from judge.errors import Unreadable
from judge.models.replies import is_whole
from judge.records import Scale, Verdict

#: Longer reasons are capped: a report has to stay readable.
MAX_REASON = 4_000

_ESCAPED_OBJECT = re.compile(r"\{(?:\\[nrt]|\s){0,20}\\\"")
#: The place where the opening brace is missing: a known key begins the answer.
_BRACELESS = re.compile(
    rf"\A((?:(?:```|~~~)\w{{0,10}}\s{{0,8}})?)(?={wording.QUOTED_KEY.pattern})", re.IGNORECASE
)
_JSON_FIRST = re.compile(r"(?:(?:```|~~~)\w{0,10}\s{0,8})?[\[［]?\s{0,8}[{｛]")
#: A key beside the verdict's own that may have the last word.
_LAST_WORD = re.compile(r"final|correct|revis|updat|actual|instead|最终|更正|修正|修订|实际", re.IGNORECASE)
_NOTHING = ("", "null", "None", "none", "无")
_SAME_QUESTION = re.compile(wording.SAME_QUESTION, re.IGNORECASE)
_SCHEMA_KEYS = frozenset(("type", "enum", "description", "anyOf", "$ref"))


@dataclass(frozen=True, slots=True)
class _Claim:
    """One value that an object states for the scale's key; `depth` counts the wrappers around it."""

    value: Node
    owner: Object
    depth: int


def read(text: str, scale: Scale, finish_reason: str | None = "stop") -> Verdict:
    """The verdict of a reply; `finish_reason` is the server's word for how it ended, None if it said none.

    Only the final answer counts, never thinking: one object with the scale's key, or several that
    agree, or the bare value. Flags: `repaired` (the JSON was damaged), `reason_truncated`,
    `reason_capped`, `no_reason`. Raises Unreadable when the value is not certain.
    """
    cut = not is_whole(finish_reason)
    whole = final_answer(text, cut=cut)
    answer = _with_brace(_unwrapped(whole))
    verdict = _read_answer(answer, scan(answer), scale, cut=cut)
    flags = [*verdict.flags, *(["repaired"] if answer != whole else [])]
    if len(verdict.reason) > MAX_REASON:
        flags.append("reason_capped")
    return Verdict(verdict.grade, verdict.reason[:MAX_REASON], tuple(dict.fromkeys(flags)))


def _unwrapped(answer: str) -> str:
    """An answer that was encoded as a JSON string once too often, decoded; any other as it is."""
    if _ESCAPED_OBJECT.match(answer) and answer.endswith("}"):
        return unescape(answer)
    if _ESCAPED_OBJECT.match(answer, 1) and answer[0] == '"' and is_strict(answer):
        return unescape(answer[1:-1])
    return answer


def _with_brace(answer: str) -> str:
    """An answer that lacks no more than its first brace, with it; any other as it is."""
    completed, lacked = _BRACELESS.subn(r"\1{", answer)
    return completed if lacked and scan(completed).broken is None else answer


def _read_answer(answer: str, found: Scan, scale: Scale, *, cut: bool) -> Verdict:
    if cut and "{" in flatten(answer) and not _JSON_FIRST.match(answer):
        raise Unreadable("truncated", "the reply was cut off, perhaps before its own object")
    if damaged.is_damaged(answer, found):
        return damaged.read(answer, found, scale, cut=cut)
    if found.objects:
        return _read_objects(answer, found, scale, cut=cut)
    if prose.is_refusal(answer):
        raise Unreadable("refusal", f"the reply declines: {answer[:80]!r}")
    if cut:
        raise Unreadable("truncated", f"the reply was cut off: {answer[-80:]!r}")
    grade, reason = wording.read_bare(answer, scale)
    more = reason.partition("\n")[2]
    if (
        prose.is_turned(reason, grade, scale)
        or prose.is_opposed(reason, grade, scale)
        or not is_left_standing(more, grade, scale)
    ):
        raise Unreadable("ambiguous", "the reason behind the value says something else")
    return Verdict(grade, reason, () if reason else ("no_reason",))


def _read_objects(answer: str, found: Scan, scale: Scale, *, cut: bool) -> Verdict:
    """The verdict of an answer whose objects could all be read."""
    claims, echoes = _claims_of_answer(answer, found, scale)
    grade = _agreed(claims, scale)
    if cut and any(claim.owner.unended and claim.value is claim.owner.pairs[-1][1] for claim in claims):
        raise Unreadable("truncated", "the reply was cut off right behind the value")
    if min(claim.depth for claim in claims) > 1:
        raise Unreadable("missing_key", "the verdict lies too deep inside other objects")
    if any(
        _says_otherwise(*member, grade, scale) for each in found.objects for member in _members(each.object)
    ):
        raise Unreadable("ambiguous", "another member of the object may have the last word")
    _check_prose([answer[start:end] for start, end in found.gaps(len(answer))], echoes, grade, scale, cut=cut)
    reason, flags = _reason(claims)
    strict = all(is_strict(answer[each.start : each.end]) for each in found.objects)
    return Verdict(grade, reason, flags if strict else (*flags, "repaired"))


def _claims_of_answer(answer: str, found: Scan, scale: Scale) -> tuple[list[_Claim], int]:
    """What the objects state, less the first ones that echo the asked format, and how many those are.

    Raises Unreadable when nothing is stated.
    """
    for before, after in pairwise(found.objects):
        if flatten(answer[before.end : after.start]).strip() == ",":
            raise Unreadable("ambiguous", "a list of several verdicts answers for one snippet")
    per_object = [list(_claims(each.object, scale)) for each in found.objects]
    claims = [claim for group in per_object for claim in group]
    echoes = list(takewhile(lambda group: group and all(map(_is_echo, group)), per_object))
    real = [claim for group in per_object[len(echoes) :] for claim in group]
    if not claims or not (real or any(isinstance(claim.value, Text) for claim in claims)):
        raise Unreadable("missing_key", f"no object has the key {wording.KEYS[scale.name][0]!r}")
    for each, group in zip(found.objects, per_object, strict=True):
        if not group and each.object.pairs:
            raise Unreadable("ambiguous", "one object has a verdict, another may take its place")
    return (real, len(echoes)) if real else (claims, 0)


def _claims(node: Node, scale: Scale, depth: int = 0) -> Iterator[_Claim]:
    """Every value stated for the scale's key at any depth; the reader bounds how deep objects go."""
    if isinstance(node, list):
        claims = [claim for item in node for claim in _claims(item, scale, depth)]
        if claims and len(node) > 1:
            raise Unreadable("ambiguous", "a list of several verdicts answers for one snippet")
        yield from claims
    elif isinstance(node, Object):
        for key, value in node.pairs:
            if _plain(key) in wording.KEYS[scale.name]:
                yield _Claim(value, node, depth)
            else:
                within = _claims(value, scale, depth + 1)
                yield from within if may_wrap(key) else _refuse_any(within, key)


def _refuse_any(claims: Iterator[_Claim], key: str) -> Iterator[_Claim]:
    """No claim, or Unreadable when there is one: under such a `key` it may not be the answer."""
    if any(True for _ in claims):
        raise Unreadable("ambiguous", f"a verdict under {key!r} may not be the answer")
    yield from ()


def _is_echo(claim: _Claim) -> bool:
    """True for a placeholder or a schema where the value should be."""
    if isinstance(claim.value, Object):
        return any(key in _SCHEMA_KEYS for key, _ in claim.value.pairs)
    return isinstance(claim.value, Text) and wording.is_placeholder(claim.value.value)


def _agreed(claims: list[_Claim], scale: Scale) -> int:
    """The one grade that all claims state."""
    grades: set[int] = set()
    failures: list[Unreadable] = []
    for claim in claims:
        try:
            grades.add(wording.read_value(claim.value.value if isinstance(claim.value, Text) else "", scale))
        except Unreadable as failure:
            failures.append(failure)
    if failures and not grades:
        raise failures[0]
    if failures or len(grades) > 1:
        raise Unreadable("ambiguous", f"{len(claims)} values that do not agree")
    return grades.pop()


def _members(node: Node) -> Iterator[tuple[str, Node]]:
    """The members of an object, and of all within it."""
    if isinstance(node, list):
        for item in node:
            yield from _members(item)
    elif isinstance(node, Object):
        for key, value in node.pairs:
            yield key, value
            yield from _members(value)


def _says_otherwise(key: str, value: Node, grade: int, scale: Scale) -> bool:
    """True for a member such as `final_grade` that is not `grade`, or such as `relevant` that opposes it."""
    words = value.value if isinstance(value, Text) else "…"
    if _SAME_QUESTION.fullmatch(_plain(key)) and wording.opposes(words, grade, scale):
        return True
    holds_it = any(_plain(inner) in wording.KEYS[scale.name] for inner, _ in _members(value))
    may_decide = _LAST_WORD.search(key) and not _is_known(key) and not holds_it
    return bool(may_decide and words not in _NOTHING and wording.says(words, scale) != grade)


def _is_known(key: str) -> bool:
    return _plain(key) in (*wording.KEYS["binary"], *wording.KEYS["graded"], *wording.REASON_KEYS)


def _check_prose(gaps: list[str], echoes: int, grade: int, scale: Scale, *, cut: bool) -> None:
    """Refuses an object unless the prose around it makes it the answer, and says nothing else.

    `gaps` are the stretches before, between and behind the objects, of which the first `echoes` are none.
    """
    if prose.is_refusal(gaps[0]):
        raise Unreadable("refusal", f"the reply declines before it answers: {gaps[0][:80]!r}")
    if prose.contradicts(gaps[0], grade, scale) or any(prose.changes(gap, grade, scale) for gap in gaps[1:]):
        raise Unreadable("ambiguous", "the prose around the object says something else")
    if not is_led_to(gaps[echoes:-1]) or any(map(prose.is_structured, gaps)):
        raise Unreadable("ambiguous", "the object may be an example, or someone else's")
    if cut and any(map(str.isalnum, gaps[-1])):
        raise Unreadable("truncated", "the reply was cut off while it went on")
    if not is_left_standing(gaps[-1], grade, scale):
        raise Unreadable("ambiguous", "the prose behind the object may take it back")


def _reason(claims: list[_Claim]) -> tuple[str, tuple[str, ...]]:
    reasons = [_value(claim.owner, wording.REASON_KEYS) for claim in claims]
    texts = [reason.value for reason in reasons if isinstance(reason, Text) and reason.quoted]
    return (texts[0], ()) if texts else ("", ("no_reason",))


def _value(node: Object, keys: tuple[str, ...]) -> Node | None:
    return next((value for key, value in node.pairs if _plain(key) in keys), None)


def _plain(key: str) -> str:
    return flatten(key).strip().casefold()
