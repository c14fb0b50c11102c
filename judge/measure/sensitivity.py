"""Owns why engines must not be divided by their own lists: shows it when it would name another winner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.formulas import Floats
from judge.measure.measures import Measure
from judge.measure.score import Scores, nan_mean


@dataclass(frozen=True, slots=True)
class OwnListCheck:
    """Two engines that stand the other way round when each is divided by its own list alone.

    By `measure` engine `better` is ahead, by `own` (the same, own-list) engine `worse`. `pooled` and
    `alone` hold both engines' means by the two, `relevant` how many relevant results down to the cutoff
    each shows a query; all three are of (better, worse), over the queries where both have a value.
    """

    measure: str
    own: str
    better: str
    worse: str
    pooled: tuple[float, float]
    alone: tuple[float, float]
    relevant: tuple[float, float]
    n: int


#: Means that are closer than this are no order worth a warning.
_MIN_DIFFERENCE = 0.02


def list_needed_measures(measures: Sequence[Measure], depth: int) -> tuple[Measure, ...]:
    """What must be scored as well: nDCG and AP within the list, and P at the same cutoff."""
    pooled = [measure for measure in measures if _is_pooled(measure)]
    needed = [
        each
        for measure in pooled
        for each in (replace(measure, own=True), _precision_measure(measure, depth))
    ]
    return tuple(dict.fromkeys(needed))


def check_own_lists(scores: Scores, depth: int) -> OwnListCheck | None:
    """The first measure by which own lists would name another best engine than the pool does, if any.

    Measures whose `counterparts` are not among those of `scores` are passed over.
    """
    values, _, _ = scores.average_repeats()
    for measure in filter(_is_pooled, scores.measures):
        needed = (measure, *list_needed_measures([measure], depth))
        if set(needed) <= set(scores.measures):
            pooled, alone, relevant = (values[..., scores.measures.index(each)] for each in needed)
            best, first = _find_best(pooled), _find_best(alone)
            if best is not None and first is not None and best != first:
                shown = np.stack([pooled, alone, relevant])[:, [best, first]]
                found = _make_check(needed, (scores.engines[best], scores.engines[first]), shown, depth)
                if found is not None:
                    return found
    return None


def _make_check(
    measures: Sequence[Measure], names: tuple[str, str], shown: Floats, depth: int
) -> OwnListCheck | None:
    """The record of a swap, if the two engines swap on the queries where both have all three values."""
    shared = ~np.isnan(shown).any(axis=(0, 1))
    if not shared.any():
        return None
    pooled, alone, relevant = shown[..., shared].mean(-1)
    # An engine that shows more of what is relevant is the one that own lists wrong, and by how much counts.
    clear = pooled[0] - pooled[1] >= _MIN_DIFFERENCE and alone[1] - alone[0] >= _MIN_DIFFERENCE
    if not clear or relevant[0] <= relevant[1]:
        return None
    return OwnListCheck(
        measure=str(measures[0]),
        own=str(measures[1]),
        better=names[0],
        worse=names[1],
        pooled=_as_pair(pooled),
        alone=_as_pair(alone),
        relevant=_as_pair(relevant * measures[0].effective_cutoff(depth)),
        n=int(shared.sum()),
    )


def _as_pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _is_pooled(measure: Measure) -> bool:
    return measure.name in ("nDCG", "AP") and not measure.own


def _precision_measure(measure: Measure, depth: int) -> Measure:
    """P at the measure's cutoff: how many relevant results a list shows."""
    return Measure("P", measure.effective_cutoff(depth), rel=measure.rel)


def _find_best(values: Floats) -> int | None:
    """The place of the engine with the highest mean over queries, the first by name among equals."""
    means = nan_mean(values, axis=1)
    return None if np.isnan(means).all() else int(np.nanargmax(means))
