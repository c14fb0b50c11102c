"""What changed from night to night: the assessor, the queries, the settings of engines, the baseline."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from judge.config.option_types import is_day
from judge.files.json_text import dump_json
from judge.messages import Bilingual, make_text
from judge.nightly.record import BaselineReference, NightRecord

Change = Literal[
    "model",
    "prompt",
    "scale",
    "assessor",
    "assessor again",
    "baseline",
    "queries",
    "engine settings",
]
#: The letter and the text of each change from one night to the next.
CHANGE_TEXTS: Mapping[Change, tuple[str, Bilingual]] = {
    "model": ("M", make_text("another model")),
    "prompt": ("P", make_text("another prompt")),
    "scale": ("S", make_text("another scale, depth or number of repeats")),
    "assessor": ("A", make_text("another assessor")),
    "assessor again": ("R", make_text("the baseline's assessor again")),
    "baseline": ("B", make_text("first night compared with a new baseline")),
    "queries": ("Q", make_text("other queries than the night before")),
    "engine settings": ("E", make_text("other engine settings than the night before")),
}
#: Changes of the assessor that have a letter of their own, so that the letter of "assessor" is not shown.
_OF_ASSESSOR: frozenset[Change] = frozenset({"model", "prompt", "scale"})
#: "mean": of a night alone, by a measure that is independent of the pool. "change": from the baseline, on
#: the pool of both.
Kind = Literal["mean", "change"]
#: Changes over which values of a kind mean different things.
_BREAKING_MEANS: frozenset[Change] = _OF_ASSESSOR | {"assessor", "assessor again", "engine settings"}
_BREAKING: Mapping[Kind, frozenset[Change]] = {
    "mean": _BREAKING_MEANS,
    "change": _BREAKING_MEANS | {"baseline"},
}


def find_changes(nights: Sequence[NightRecord]) -> tuple[tuple[Change, ...], ...]:
    """Return what differs on each night from the last night that has the fact: nothing on the first.

    A night without drift is of its baseline's assessor, also after nights of drift. A night without a
    baseline is compared with nothing, so it has no change of the baseline.
    """
    changes, last = list[tuple[Change, ...]](), dict[tuple[Change, str], object]()
    seen: set[str] = set()
    served: tuple[str, ...] = ()
    has_drifted = False
    for night, assessor in zip(nights, list_night_assessors(nights), strict=True):
        facts: dict[tuple[Change, str], object] = dict(_iter_facts(night))
        if last and not night.baseline:
            del facts["baseline", ""]
        is_drift = night.status == "assessor drift"
        is_known = is_drift or night.judgments is not None  # no canary shows another one
        if is_known:
            facts["assessor", ""] = assessor
        changed = dict.fromkeys(key[0] for key, value in facts.items() if key in last and last[key] != value)
        # Verdicts of earlier nights have the model names of these nights. So a change is a name that is new,
        # and a night without any name of the night before.
        if served and night.served and not (seen.issuperset(night.served) and {*served} & {*night.served}):
            changed["model"] = None
        seen |= {*night.served}
        served = night.served or served
        if has_drifted and is_known and not is_drift and night.baseline and "baseline" not in changed:
            changed["assessor again"] = None
            causes: tuple[Change, ...] = ("model", "prompt", "assessor")
            for change in causes:
                changed.pop(change, None)
        elif not _OF_ASSESSOR.isdisjoint(changed):
            changed.pop("assessor", None)
        has_drifted = is_drift if is_known else has_drifted
        changes.append(tuple(changed))
        last |= facts
    return tuple(changes)


def find_breaks(
    nights: Sequence[NightRecord], changes: Sequence[Sequence[Change]], kind: Kind
) -> frozenset[int]:
    """Return the positions of the nights whose values are not comparable with those of the night before.

    Other queries count where a night has too few of the baseline's queries; some new ones do not.
    """
    return frozenset(
        at
        for at, (changed, two_nights) in enumerate(zip(changes[1:], pairwise(nights), strict=True), 1)
        if not _BREAKING[kind].isdisjoint(changed)
        or ("queries" in changed and any(night.status == "queries changed" for night in two_nights))
    )


def _iter_facts(night: NightRecord) -> Iterator[tuple[tuple[Change, str], object]]:
    """Yield the facts whose changes are shown; unknown ones are left out."""
    baseline, drift = night.baseline, night.query_drift
    # The name of an assessor holds its model and its scale, which is a fact of its own.
    yield ("model", "assessor"), night.assessor.replace(f"/{night.scale}", "")
    yield ("prompt", ""), night.prompts
    yield ("scale", ""), (night.scale, night.relevant_from, night.depth, night.repeats)
    yield ("baseline", ""), baseline and baseline.id
    if night.queries:
        yield ("queries", "count"), night.queries
    if drift and baseline:
        # With another baseline other queries are new.
        yield ("queries", baseline.id), (drift.new, drift.gone)
    if settings := night.engine_settings:
        yield ("engine settings", ""), (settings.depth, settings.lang, settings.country)
        for engine, source in settings.engines.items():
            yield ("engine settings", engine), source


def list_night_assessors(nights: Sequence[NightRecord]) -> list[str]:
    """Return the assessor of each night's grades; only equal ones are the same.

    It is that of the night that became the baseline, and another one on a night of assessor drift. So it is
    another one from the night on whose drift was accepted, which makes that night the baseline. Where the
    record of that night is missing, the assessor counts as another one, and so it does after drift where
    nothing is compared. Consecutive nights of drift have one assessor unless their verdicts are in different
    stores. A baseline that is no night is of the last assessor with its name and prompts. So is a night that
    is compared with itself, and one that is configured differently than its baseline.
    """
    accepted = {night.baseline.name for night in nights if night.baseline}
    assessor, is_unknown, assessors, assessor_of = "", False, list[str](), dict[str, str]()
    last_of: dict[str, str] = {}
    stores: list[str] = []
    for night in nights:
        day, is_drift = night.date.isoformat(), night.status == "assessor drift"
        if not is_drift:
            stores.clear()
        if baseline := night.baseline:
            key = baseline.name if is_day(baseline.name) else baseline.id
            of_baseline = _describe_configuration(baseline)
            is_other_night = is_day(baseline.name) and baseline.name != day
            same_assessor = key if is_other_night else last_of.get(of_baseline, key)
            assessor = assessor_of.setdefault(key, same_assessor)
            if is_drift:
                if (store := night.quarantined_store) and store not in stores:
                    stores.append(store)
                number = stores.index(store) if store else max(0, len(stores) - 1)
                assessor = day if day in accepted else f"drifted from {baseline.id}, {number}"
                if (own := _describe_configuration(night)) != of_baseline:
                    assessor = last_of.get(own, assessor)
        elif is_unknown:
            assessor = f"unknown from {day}"
        is_unknown = is_drift and day not in accepted
        assessor_of[day] = last_of[_describe_configuration(night)] = assessor
        assessors.append(assessor)
    return assessors


def _describe_configuration(judged: NightRecord | BaselineReference) -> str:
    """Return the name and the prompts of the assessor of a night or of a baseline."""
    return dump_json([judged.assessor, judged.prompts])
