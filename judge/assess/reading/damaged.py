"""Owns reading a verdict from a damaged object: only when its place in the text leaves no doubt.

The trap is a reason that quotes a verdict: {"reason": "it says "grade": 3 here", "grade": 0}. So every
mention of the key must agree, and one of them must stand where no reason can be: as the first
member, or as the last ones up to the end of the object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from judge.assess.reading import prose, wording
from judge.assess.reading.lenient_json import Scan, flatten, rest_of_object, unescape, without_prose_braces
from judge.assess.reading.ownership import is_led_to, is_left_standing, may_wrap
from judge.errors import Unreadable
from judge.records import Scale, Verdict

_CURLY = "“”„‘’＂＇"
_QUOTES = "\"'" + _CURLY
_VALUE = (
    rf"\"[^\"]{{0,40}}\"|'[^']{{0,40}}'|[{_CURLY}][^{_CURLY}]{{0,40}}[{_CURLY}]"
    rf"|[^\s,{{}}\[\]{_QUOTES}]{{0,40}}"
)
#: What may follow a comma: a comment, then a closer or another member.
_MEMBER = (
    rf"(?:\s{{0,8}}(?://|#)[^\n]{{0,200}}\n)?\s{{0,64}}(?:[{_QUOTES}}}]|[^\s,:：={_QUOTES}]{{1,20}}\s?[:：=])"
)
#: What may follow a complete value: a closer, a comma with more of the object behind it, or the next key.
_DELIMITER = re.compile(rf"\s{{0,64}}(?:,(?={_MEMBER})|\}}|[{_QUOTES}](?:{wording.ANY_KEY})[{_QUOTES}])")
_REASON = re.compile(
    rf"[{_QUOTES}]?(?:{'|'.join(wording.REASON_KEYS)})[{_QUOTES}]?\s{{0,8}}:\s{{0,8}}[{_QUOTES}]?",
    re.IGNORECASE,
)
#: In front of the first key: prose without an object, a fence, the brace, at most one wrapper.
_HEAD = re.compile(
    rf"(?P<prose>[^{{}}\"]*)\{{\s*(?:\{{\s*|[{_QUOTES}]?(?!reason)(?P<wrapper>[A-Za-z_]{{1,20}})[{_QUOTES}]?\s*:\s*\{{\s*)?"
)
#: In front of a later key: a string's closing quote or a bracket, then a comma, which may be missing.
_BEHIND_MEMBER = re.compile(rf"(?:[{_QUOTES}\]}}]\s*,\s*|[{_QUOTES}]\s+(?P<no_comma>))\Z")
_OPENING = re.compile(
    rf"(?P<prose>[^{{}}]*)\{{\s*(?:[{_QUOTES}]?(?P<wrapper>[A-Za-z_]{{1,20}})[{_QUOTES}]?\s*:\s*\{{)?"
)
_OPENING_QUOTE = re.compile(rf":\s*[{_QUOTES}]\s*,?\s*\Z")
#: Each mention is weighed against the whole text.
_MAX_MENTIONS = 40
#: "2 | 3", "2-3", "2,5": alternatives, ranges and fractions.
_GOES_ON = re.compile(r"\s{0,8}(?:,\s{0,8}[0-9]|[|/~+*^%→–—-]|or\b|或)")
_SAME_QUESTION = re.compile(
    rf"[{_QUOTES}](?:{wording.SAME_QUESTION})[{_QUOTES}]\s{{0,8}}:\s{{0,8}}(?P<value>{_VALUE})", re.IGNORECASE
)
_NEW_OBJECT = re.compile(rf"\{{\s{{0,64}}[{_QUOTES}]")


@dataclass(frozen=True, slots=True)
class _Mention:
    """One place where the scale's key is followed by a value; `complete`: the value can't go on."""

    start: int
    end: int
    quoted: bool
    value: str
    complete: bool


def is_damaged(answer: str, found: Scan) -> bool:
    """True when an answer holds JSON, or remains of it, outside the objects that could be read."""
    if found.broken is not None:
        return True
    gaps = [without_prose_braces(flatten(answer[start:end])) for start, end in found.gaps(len(answer))]
    if found.objects:
        # A brace too many right at the object changes nothing.
        gaps[-1] = gaps[-1].lstrip("}] \r\n")
        gaps[0] = gaps[0].rstrip().removesuffix("{")
    return any("{" in gap or "}" in gap or wording.QUOTED_KEY.search(gap) for gap in gaps)


def read(answer: str, found: Scan, scale: Scale, *, cut: bool) -> Verdict:
    """The verdict of a damaged answer; raises Unreadable when the value or its place is not certain."""
    flat = flatten(answer)
    mentions = _mentions(flat, scale)
    if len(mentions) > _MAX_MENTIONS:
        raise Unreadable("malformed", f"the value is stated {len(mentions)} times")
    unclosed = cut or flat.count("{") > flat.count("}")
    if not mentions:
        raise Unreadable("truncated" if unclosed else "malformed", f"no verdict in {answer[:80]!r}")
    if unclosed and not any(mention.complete for mention in mentions):
        raise Unreadable("truncated", f"the reply ends within the value: {answer[-80:]!r}")
    grade = _agreed(flat, mentions, scale)
    if any(wording.opposes(member["value"], grade, scale) for member in _SAME_QUESTION.finditer(flat)):
        raise Unreadable("ambiguous", "another member of a damaged object says something else")
    if found.objects:
        raise Unreadable("truncated" if unclosed else "ambiguous", "an object and the remains of another")
    for mention in mentions:
        # A mention that states nothing may stand where the verdict should be: it vouches for no other.
        if not mention.complete or wording.says(mention.value, scale) != grade:
            continue
        if _is_first(flat, mention, grade, scale, cut=cut) or (
            not cut and _is_last(answer, flat, mention, grade, scale)
        ):
            return _verdict(answer, flat, mention, grade)
    raise Unreadable("truncated" if unclosed else "malformed", "the value may be part of the reason")


def _mentions(flat: str, scale: Scale) -> list[_Mention]:
    pattern = re.compile(
        rf"(?P<open>[{_QUOTES}]\s?)?(?<![A-Za-z_])(?:{'|'.join(wording.KEYS[scale.name])})"
        rf"\s{{0,4}}(?P<close>\\{{0,3}}[{_QUOTES}*`]{{0,3}})\s{{0,8}}[:=]\s{{0,64}}(?P<value>{_VALUE})",
        re.IGNORECASE,
    )
    return [
        _Mention(
            match.start(),
            match.end(),
            quoted=bool(match["open"] and match["close"]),
            value=match["value"],
            complete=not match["value"].endswith(".") and _DELIMITER.match(flat, match.end()) is not None,
        )
        for match in pattern.finditer(flat)
    ]


def _agreed(flat: str, mentions: list[_Mention], scale: Scale) -> int:
    """The one grade that all mentions state; bare words behind a bare key may be plain prose."""
    grades = {grade for mention in mentions if (grade := wording.says(mention.value, scale)) is not None}
    if any(_GOES_ON.match(flat, mention.end) for mention in mentions):
        raise Unreadable("malformed", "a value goes on behind what could be one")
    unreadable = [mention for mention in mentions if wording.says(mention.value, scale) is None]
    if not grades:
        wording.read_value(unreadable[0].value, scale)
    if len(grades) > 1 or any(mention.quoted or not mention.value.isalpha() for mention in unreadable):
        raise Unreadable("ambiguous", f"{len(mentions)} values in a damaged object do not agree")
    return grades.pop()


def _is_first(flat: str, mention: _Mention, grade: int, scale: Scale, *, cut: bool) -> bool:
    """True when the value is the first member of the only object, whatever follows."""
    before, after = flat[: mention.start], flat[mention.end :]
    head = _HEAD.fullmatch(before)
    if not head:
        return False
    if prose.is_turned(after, grade, scale) or not may_wrap(head["wrapper"] or "result"):
        return False  # where the reason ends is unknown: a correction may follow it
    last = max(after.rfind(mark) for mark in _QUOTES)
    behind = after[last + 1 :]
    if "}" not in after and (cut or after[: max(last, 0)].rstrip().endswith(":")):
        behind = behind.partition("\n")[2]  # the line is the rest of a reason that was cut
    return not _NEW_OBJECT.search(after) and _stands_alone(head["prose"], behind, grade, scale)


def _is_last(answer: str, flat: str, mention: _Mention, grade: int, scale: Scale) -> bool:
    """True when the value ends the only object: a closed string before it, clean members behind it."""
    before = flat[: mention.start]
    rest = rest_of_object(answer, mention.start)
    opening = _OPENING.match(before)
    if rest is None or opening is None or not may_wrap(opening["wrapper"] or "result"):
        return False
    if not flat.endswith("}", 0, rest.end):
        return False
    if flat.count("{") != flat.count("}") or _NEW_OBJECT.search(before, opening.end()):
        return False
    # An object begins with a key: a bare value right behind its brace is another verdict.
    first_line = flat[opening.end() :].lstrip().partition("\n")[0]
    if wording.says(first_line.strip(" ,"), scale) is not None:
        return False
    member = _BEHIND_MEMBER.search(before, max(0, len(before) - 80))
    if member is None or _OPENING_QUOTE.search(before, max(0, len(before) - 80)):
        return False
    if member["no_comma"] is not None and not mention.quoted:
        return False
    behind = flat[rest.end :]
    return not any(quote in behind for quote in _QUOTES) and _stands_alone(
        opening["prose"], behind, grade, scale
    )


def _stands_alone(before: str, behind: str, grade: int, scale: Scale) -> bool:
    """True when the prose around the object makes it the answer, and says nothing else."""
    return (
        is_led_to([before])
        and is_left_standing(behind, grade, scale)
        and not prose.is_structured(before)
        and not prose.is_refusal(before)
        and not prose.contradicts(before, grade, scale)
        and not prose.changes(behind, grade, scale)
    )


def _verdict(answer: str, flat: str, mention: _Mention, grade: int) -> Verdict:
    """The verdict with what can be told of its reason."""
    found = _REASON.search(flat)
    if not found:
        return Verdict(grade, "", ("repaired", "no_reason"))
    if found.start() < mention.start:
        raw, closed = answer[found.end() : mention.start], True
    else:
        end = flat.rfind("}")
        closed = end > found.end()
        raw = answer[found.end() : end if closed else None]
    raw = raw.rstrip(" \t\r\n,，")
    if raw[-1:] in tuple(_QUOTES):
        raw, closed = raw[:-1], True
    return Verdict(grade, unescape(raw), ("repaired",) if closed else ("repaired", "reason_truncated"))
