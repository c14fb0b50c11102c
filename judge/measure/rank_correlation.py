"""Rank correlation of two orders of engines: tau, tau-AP, RBO, swapped pairs.

Engines are ranked by their scores, highest first; their order in the input has no influence. Scores have
no NaN: callers leave out engines without a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.measure.formulas import TIE, Bools, Floats
from judge.measure.resampling import StatisticValue
from judge.measure.score import Scores, compute_nan_mean
from judge.messages import Message

_NO_TAU = Message("fewer than 2 engines, or one side holds all engines equal")


def tau(first: Floats, second: Floats) -> float | None:
    """Return Kendall's tau-b (1945): concordant minus discordant pairs, corrected for ties.

    None for fewer than 2 engines and where one side ties all engines.
    """
    ahead, behind = _compare_pairs(first), _compare_pairs(second)
    untied = float(np.square(ahead).sum() * np.square(behind).sum())
    return float((ahead * behind).sum() / np.sqrt(untied)) if untied else None


def tau_ap(truth: Floats, estimate: Floats) -> float | None:
    """Return the AP correlation (Yilmaz, Aslam, Robertson 2008): like tau, but swaps at the top weigh more.

    It averages, over all ranks of `estimate` but the first, the share of the engines above that are truly
    better. Ties in either order count with the mean over all ways to break them (tau_ap,a of Urbano &
    Marrero 2017). None for fewer than 2 engines and where one side ties all engines.
    """
    ahead, above = _compare_pairs(truth), _compare_pairs(estimate)
    if not (ahead.any() and above.any()):
        return None
    # Over all ways to break ties, a tied pair adds 0. The strictly higher engines remain, and a rank that
    # is uniform among the tied ones.
    better = (above > 0).sum(0)
    tied = (above == 0).sum(0)
    inverse = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, len(truth)))])
    weight = np.where(better, inverse[better + tied - 1] - inverse[np.maximum(better, 1) - 1], 0.0) / tied
    return float((np.where(above > 0, ahead, 0.0).sum(0) * weight).sum() / (len(truth) - 1))


def rbo(first: Sequence[str], second: Sequence[str], p: float = 0.9) -> float:
    """Return the extrapolated rank-biased overlap (RBO_ext, Webber et al. 2010, eq. 32) of two orders.

    It is the overlap of the top d, weighted by p^(d-1); beyond the end of an order the overlap is taken to
    stay the same. 1 for equal orders, 0 for disjoint ones. No order is empty or has a name twice.
    """
    short, long = sorted((first, second), key=len)

    def count_shared(depth: int) -> int:
        return len({*short[:depth]} & {*long[:depth]})

    end = count_shared(len(short)) / len(short)
    depths = range(1, len(long) + 1)
    shares = [count_shared(depth) / depth + max(0.0, 1 - len(short) / depth) * end for depth in depths]
    last = shares[-1] * p ** len(long)
    return (1 - p) * sum(share * p**before for before, share in enumerate(shares)) + last


def find_swaps(names: Sequence[str], truth: Floats, estimate: Floats) -> tuple[tuple[str, str], ...]:
    """Return the pairs of engines that the two sides order differently, without ties.

    The truly better engine comes first in a pair; pairs are in the true order, best first.
    """
    reversed_pairs = _compare_pairs(truth) * _compare_pairs(estimate) < 0
    order = sorted(range(len(names)), key=lambda index: (-truth[index], names[index]))
    return tuple(
        (names[better], names[worse])
        for better, worse in combinations(order, 2)
        if reversed_pairs[better, worse]
    )


def _compare_pairs(scores: Floats) -> Floats:
    """Return (engines, engines): 1 where the row has the higher score, -1 the lower, 0 for a tie."""
    difference = np.subtract.outer(scores, scores)
    return np.where(np.abs(difference) > TIE, np.sign(difference), 0.0)


@dataclass(frozen=True, slots=True)
class EngineOrders:
    """The engines' means by one measure, by people's grades and by the assessor's, over `queries` queries.

    `people` and `assessor` hold the means by engine, the best by people first. `left_out` engines have
    values on fewer than half of the queries where any engine has one. `tau` has no interval: resampled
    queries have more ties, and a jackknife interval missed the true value in one of five simulations.
    `swapped` pairs are in people's order.
    """

    queries: int
    partly_labelled: bool
    people: Mapping[str, float]
    assessor: Mapping[str, float]
    left_out: tuple[str, ...]
    tau: StatisticValue
    tau_ap: float | None
    rbo: float | None
    swapped: tuple[tuple[str, str], ...]


def compare_rankings(people: Scores, assessor: Scores, *, partly_labelled: bool) -> dict[str, EngineOrders]:
    """Return the agreement of both rankings by each measure that compares engines.

    Queries count where both sides have a value. An engine with values on fewer than half of those queries
    is left out. The others are compared on the queries where all of them have values, or on each
    engine's own if there is no such query. Both scores have the same engines, queries and measures.
    """
    theirs, ours = people.average_repeats()[0], assessor.average_repeats()[0]
    return {
        str(measure): _compare_ranking(
            people.engines, theirs[..., at], ours[..., at], partly_labelled=partly_labelled
        )
        for at, measure in enumerate(people.measures)
        if measure.compares_engines
    }


def _compare_ranking(
    engines: Sequence[str], people: Floats, assessor: Floats, *, partly_labelled: bool
) -> EngineOrders:
    both: Bools = ~(np.isnan(people) | np.isnan(assessor))
    often: Bools = both.any(1) & (2 * both.sum(1) >= both.any(0).sum())
    both &= often[:, None]
    everywhere: Bools = np.all(both[often], axis=0)
    if everywhere.any():
        both &= everywhere
    sides = np.stack([np.where(both, side, np.nan) for side in (people, assessor)])
    means = compute_nan_mean(sides, axis=-1)
    ranked = np.flatnonzero(often).tolist()
    ranked.sort(key=lambda index: (-means[0, index], engines[index]))
    names = tuple(engines[index] for index in ranked)
    truth, estimate = means[:, ranked]
    correlation = tau(truth, estimate)
    by_assessor = dict(zip(names, estimate.tolist(), strict=True))
    return EngineOrders(
        queries=int(both.any(0).sum()),
        partly_labelled=partly_labelled,
        people=dict(zip(names, truth.tolist(), strict=True)),
        assessor=by_assessor,
        left_out=tuple(engine for engine, ranks in zip(engines, often, strict=True) if not ranks),
        tau=StatisticValue(correlation, None, _NO_TAU if correlation is None else None),
        tau_ap=tau_ap(truth, estimate),
        rbo=rbo(names, sorted(names, key=lambda name: (-by_assessor[name], name))) if names else None,
        swapped=find_swaps(names, truth, estimate),
    )
