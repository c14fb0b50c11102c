"""Owns how alike two orders of engines are: overall, at the top, and which pairs are swapped.

Engines stand by their scores, highest first; nothing depends on the order in which they are handed over.
Scores have no NaN: engines that lack one are the caller's to leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.measure.formulas import Bools, Floats
from judge.measure.resampling import IntervalEstimate
from judge.measure.score import Scores, nan_mean

#: Scores that are less than this apart are equal but for rounding.
_TIE = 1e-12


def tau(first: Floats, second: Floats) -> float | None:
    """Kendall's tau-b (1945): agreeing less reversed pairs of engines, ties corrected for.

    None for fewer than 2 engines and where either side holds all engines equal.
    """
    ahead, behind = _compare_pairs(first), _compare_pairs(second)
    untied = float(np.square(ahead).sum() * np.square(behind).sum())
    return float((ahead * behind).sum() / np.sqrt(untied)) if untied else None


def tau_ap(truth: Floats, estimate: Floats) -> float | None:
    """AP correlation (Yilmaz, Aslam, Robertson 2008): like tau, but swaps near the estimate's top weigh more.

    At each rank but the first it looks at the share of the engines above that truly belong above. Ties,
    in either order, count with the mean over all ways to break them (tau_ap,a of Urbano & Marrero 2017).
    None for fewer than 2 engines and where either side holds all engines equal.
    """
    ahead, above = _compare_pairs(truth), _compare_pairs(estimate)
    if not (ahead.any() and above.any()):
        return None
    # A tied pair comes out in each of its two orders equally often, which adds nothing. What is left is
    # the strictly higher engines, and a rank that is anywhere among those tied with.
    better = (above > 0).sum(0)
    tied = (above == 0).sum(0)
    inverse = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, len(truth)))])
    weight = np.where(better, inverse[better + tied - 1] - inverse[np.maximum(better, 1) - 1], 0.0) / tied
    return float((np.where(above > 0, ahead, 0.0).sum(0) * weight).sum() / (len(truth) - 1))


def rbo(first: Sequence[str], second: Sequence[str], p: float = 0.9) -> float:
    """Rank-biased overlap of two orders, best first, extrapolated (RBO_ext of Webber et al. 2010, eq. 30).

    The share in common of the top 1, 2, 3, …, depth d weighted by p^(d-1); beyond the end it is taken
    to stay as it is there. 1 for equal orders, 0 for disjoint ones. Raises `ValueError` unless both
    have the same length, at least 1, and no name twice.
    """
    length = len(first)
    if not length or {len(second), len(set(first)), len(set(second))} != {length}:
        raise ValueError("RBO compares two orders of the same length, at least 1, without repeated names")
    shared = [len({*first[:depth]} & {*second[:depth]}) / depth for depth in range(1, length + 1)]
    seen = (1 - p) * sum(share * p**before for before, share in enumerate(shared))
    return seen + shared[-1] * p**length


def find_swaps(names: Sequence[str], truth: Floats, estimate: Floats) -> tuple[tuple[str, str], ...]:
    """The pairs of engines that the two sides order the other way round, none tied on either side.

    Each pair names the truly better engine first; pairs stand in the true order, best first.
    """
    reversed_pairs = _compare_pairs(truth) * _compare_pairs(estimate) < 0
    order = sorted(range(len(names)), key=lambda at: (-truth[at], names[at]))
    return tuple(
        (names[better], names[worse])
        for better, worse in combinations(order, 2)
        if reversed_pairs[better, worse]
    )


def _compare_pairs(scores: Floats) -> Floats:
    """(engines, engines): 1 where the row's engine has the higher score, -1 the lower, 0 the same."""
    apart = np.subtract.outer(scores, scores)
    return np.where(np.abs(apart) > _TIE, np.sign(apart), 0.0)


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """The engines' orders by one measure with people's grades and with the assessor's.

    Both are over the same `queries` queries. `people` and `assessor` hold the means of `engines`, which
    stand best first by people. `left_out` are the engines with values on fewer than half of the
    queries where any has one. `tau` has no interval: over resampled queries orders are coarser, and
    the jackknife's range missed the truth in one world of five. `swapped` pairs are in people's order.
    """

    measure: str
    queries: int
    engines: tuple[str, ...]
    people: tuple[float, ...]
    assessor: tuple[float, ...]
    left_out: tuple[str, ...]
    tau: IntervalEstimate
    tau_ap: float | None
    rbo: float | None
    swapped: tuple[tuple[str, str], ...]


def compare_rankings(people: Scores, assessor: Scores) -> tuple[RankingAgreement, ...]:
    """How the engines stand by each measure that compares, over the queries where both sides have values.

    An engine that has them on fewer than half of those queries is left out. The others meet on the
    queries where all of them have values, or on each engine's own where there is no such query. The
    two scores have the same engines, queries and measures.
    """
    theirs, ours = people.by_query()[0], assessor.by_query()[0]
    return tuple(
        _compare_ranking(str(measure), people.engines, theirs[..., at], ours[..., at])
        for at, measure in enumerate(people.measures)
        if measure.compares
    )


def _compare_ranking(
    measure: str, engines: Sequence[str], people: Floats, assessor: Floats
) -> RankingAgreement:
    both: Bools = ~(np.isnan(people) | np.isnan(assessor))
    often: Bools = both.any(1) & (2 * both.sum(1) >= both.any(0).sum())
    both &= often[:, None]
    everywhere: Bools = np.all(both[often], axis=0)
    if everywhere.any():  # engines meet on the same queries, as long as there are such
        both &= everywhere
    sides = np.stack([np.where(both, side, np.nan) for side in (people, assessor)])
    means = nan_mean(sides, axis=-1)
    ranked = np.flatnonzero(often).tolist()
    ranked.sort(key=lambda at: (-means[0, at], engines[at]))
    names = tuple(engines[at] for at in ranked)
    truth, estimate = means[:, ranked]
    by_assessor = [names[at] for at in sorted(range(len(names)), key=lambda at: (-estimate[at], names[at]))]
    return RankingAgreement(
        measure=measure,
        queries=int(both.any(0).sum()),
        engines=names,
        people=tuple(truth.tolist()),
        assessor=tuple(estimate.tolist()),
        left_out=tuple(engine for engine, ranks in zip(engines, often, strict=True) if not ranks),
        tau=_estimate_tau(truth, estimate),
        tau_ap=tau_ap(truth, estimate),
        rbo=rbo(names, by_assessor) if names else None,
        swapped=find_swaps(names, truth, estimate),
    )


def _estimate_tau(people: Floats, assessor: Floats) -> IntervalEstimate:
    value = tau(people, assessor)
    if value is None:
        return IntervalEstimate(None, why="fewer than 2 engines, or one side holds all engines equal")
    return IntervalEstimate(value)
