"""Whether the prose around an object leaves it standing as the answer of the reply."""

from __future__ import annotations

from collections.abc import Sequence

from judge.parsing.attribution import MAX_LEAD, is_attributed, is_disowned, is_embedded
from judge.parsing.contradictions import contradicts
from judge.parsing.remarks import has_correction
from judge.parsing.stated_scale import names_other_scale
from judge.records import Scale


def find_doubt(lead: str, trail: str, grade: int, scale: Scale, *, nearest: Sequence[str]) -> str:
    """Return why the prose in front of an answer and behind it leaves doubt about the answer, or "".

    `nearest` are the stretches that may lead to the answer, the likeliest first.
    """
    if is_disowned(trail) or has_correction(trail, grade, scale):
        return "the text behind the answer corrects it, or attributes it to another"
    if (
        any(contradicts(text, grade, scale) for text in (lead, trail))
        or names_other_scale(trail, scale)
        or names_other_scale(lead[-MAX_LEAD:], scale, alone=True)
    ):
        return "the text around the answer states another value"
    if any(map(is_attributed, nearest)) or is_embedded(nearest[0], trail):
        return "the answer may be an example, or that of another"
    return ""
