"""Comparison of engines: the size of each difference, and whether it is statistically significant.

The unit is the query, always paired: two engines are compared on the queries where both have a value, with
the repeats of a query averaged first. All pairs of engines share one critical value per measure
(`judge.measure.simultaneous`). An engine is called better when the simultaneous interval of the difference
excludes 0, and its worst-case range, over all grades of unjudged snippets, does too.

Imputed grades are right on average only where judging failed at random. Where it failed for the good
snippets more often, the mean is off by a part of the worst case, so the interval is widened by a tenth of
it. In simulated data sets of 150 queries, three equal engines and 5 % of one engine's pairs unjudged, the
relevant ones nine times as often, this lowers false winners from 6 % to 3 %.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Literal

import numpy as np

from judge.measure.formulas import Floats, finite_or_none
from judge.measure.score import Scores, mean_with_bounds, nan_mean
from judge.measure.simultaneous import (
    TIE,
    SimultaneousIntervals,
    compare_means,
    detectable_difference,
    required_queries,
)

#: Intervals are widened by this share of the worst case.
_WIDENING_SHARE = 0.1
#: Numbers in the differences that are in memory at once: 64 MB.
_BLOCK = 2**23

Outcome = Literal["better", "not separated", "undetermined"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Engine `a` compared with engine `b` by one measure; `a` has the higher mean, or the earlier name.

    `difference` is the mean of a - b over the `n` queries where both have a value, `low` to `high` its
    simultaneous 95 % interval (wider by a tenth of the worst case where pairs are unjudged), `p_adjusted`
    its p-value adjusted for all pairs of the measure: at most 0.05 exactly when the interval excludes 0.
    `least` and `most` bound the difference over all grades of unjudged snippets. `robust` says
    whether the interval still excludes 0 with the least favourable of these grades, None where no engine
    is better. `effect` is d_z, the difference divided by the standard deviation `sd`. Engine `a` has the
    higher value on `wins` queries, `b` on `losses`.

    `detectable` is the true difference that is detected with 80 % power on `n` queries,
    `detectable_doubled` that on 2·n, None where the measure has no such difference. `at_least_queries` is the
    lowest number of queries with which a pair that is not separated may be, None when `n` may be enough.
    `outcome` is "better" (`a` is), "not separated", or "undetermined" when the interval excludes 0 and the
    worst-case range does not. A number is None where it is unknown.
    """

    measure: str
    a: str
    b: str
    n: int
    difference: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    robust: bool | None
    sd: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int
    p_adjusted: float | None
    detectable: float | None
    detectable_doubled: float | None
    at_least_queries: int | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Contribution:
    """The `difference` a - b on a query and its share of the mean difference, difference / n."""

    query_id: str
    difference: float
    contribution: float


def compare_engines(
    scores: Scores, among: Collection[frozenset[str]] | None = None, *, families: int = 1
) -> tuple[Comparison, ...]:
    """Return the comparison of every pair of engines, measure by measure.

    Measures that do not compare engines are skipped. `among` names the pairs to compare, None for all. The
    error is divided by `families`, for callers that compare several times, as for segments. Within a
    measure the pairs are sorted by the means of their engines: best against second first.
    """
    indexes = [index for index, measure in enumerate(scores.measures) if measure.compares_engines]
    pairs = [
        (one, two)
        for one, two in combinations(range(len(scores.engines)), 2)
        if among is None or {scores.engines[one], scores.engines[two]} in among
    ]
    if not pairs:
        return ()
    value, _, _ = scores.average_repeats()
    size = max(1, _BLOCK // max(1, len(scores.queries) * len(pairs)))
    return tuple(
        comparison
        for start in range(0, len(indexes), size)
        for comparison in _compare_measures(scores, value, indexes[start : start + size], pairs, families)
    )


def find_largest_contributions(scores: Scores, pair: Comparison, most: int = 10) -> tuple[Contribution, ...]:
    """Return the queries on which the engines of `pair` differ most, the largest first, ties by id."""
    index = [str(measure) for measure in scores.measures].index(pair.measure)
    value = scores.average_repeats()[0][..., index]
    a, b = (value[scores.engines.index(engine)] for engine in (pair.a, pair.b))
    differences = [
        (query, float(difference))
        for query, difference in zip(scores.queries, a - b, strict=True)
        if abs(difference) > TIE
    ]
    differences.sort(key=lambda item: (-abs(item[1]), item[0]))
    return tuple(
        Contribution(query, difference, difference / pair.n) for query, difference in differences[:most]
    )


def _compare_measures(
    scores: Scores, value: Floats, indexes: Sequence[int], pairs: Sequence[tuple[int, int]], families: int
) -> Iterator[Comparison]:
    one, two = np.array(pairs).T
    by_measure = value[..., indexes].transpose(1, 2, 0)
    differences = by_measure[..., one] - by_measure[..., two]
    bounds = [scores.bound_differences(one, two, index) for index in indexes]
    ranges = np.stack(
        [_mean_difference_bounds(differences[:, column].T, ends) for column, ends in enumerate(bounds)],
        axis=1,
    )
    mean, least, most = ranges
    widening = _WIDENING_SHARE * np.nan_to_num(np.stack([mean - least, most - mean]))
    tests = compare_means(differences, widening, families=families)
    counts = [
        condition.sum(0) for condition in (~np.isnan(differences), differences > TIE, differences < -TIE)
    ]
    for column, (index, test) in enumerate(zip(indexes, tests, strict=True)):
        rows = [
            _make_comparison(
                _EnginePair(
                    str(scores.measures[index]),
                    scores.largest[index],
                    scores.engines[one[pair]],
                    scores.engines[two[pair]],
                    test,
                    pair,
                ),
                [int(count[column, pair]) for count in counts],
                (ranges[1, column, pair], ranges[2, column, pair]),
                (bounds[column][0][pair], bounds[column][1][pair]),
            )
            for pair in range(len(pairs))
        ]
        yield from sorted(rows, key=_make_sort_key(value[..., index], scores.engines))


@dataclass(frozen=True, slots=True)
class _EnginePair:
    """Two engines, a measure with its largest value, and the column of the test of their difference."""

    measure: str
    largest: float
    one: str
    two: str
    test: SimultaneousIntervals
    column: int


def _make_comparison(
    pair: _EnginePair,
    counts: Sequence[int],
    worst_case: tuple[float, float],
    bounds: tuple[Floats, Floats],
) -> Comparison:
    """Return the comparison of a pair from the worst case and the (queries,) bounds of its differences.

    `counts` are the numbers of all its differences, of those above 0 and of those below.
    """
    test, column = pair.test, pair.column
    # A mean that is lower by rounding alone is the same mean: names decide.
    swap = bool(test.mean[column] < -TIE)
    sign = -1.0 if swap else 1.0
    n, wins, losses = (counts[0], counts[2], counts[1]) if swap else counts
    mean = sign * float(test.mean[column]) if n else None
    low, high = sorted((sign * test.low[column], sign * test.high[column]))
    # The same mean, summed in another order, can round differently.
    least, most = (
        mean if mean is not None and abs(end - mean) < TIE else finite_or_none(end)
        for end in sorted(sign * end for end in worst_case)
    )
    outcome = _decide_outcome(low, high, least, most)
    sd = float(test.se[column]) * sqrt(n) if n > 1 else None
    plan = sd if sd and test.tested[column] and np.isfinite(test.critical) else None
    low, high = max(low, -pair.largest), min(high, pair.largest)
    farthest = max(abs(low), abs(high))
    at_least_queries = (
        required_queries(plan, farthest, test.critical) if plan and outcome == "not separated" else 0
    )
    smallest = [
        detectable_difference(plan, queries, test.critical) if plan else np.inf for queries in (n, 2 * n)
    ]
    lowest = -bounds[1] if swap else bounds[0]
    return Comparison(
        measure=pair.measure,
        a=pair.two if swap else pair.one,
        b=pair.one if swap else pair.two,
        n=n,
        difference=mean,
        low=finite_or_none(low),
        high=finite_or_none(high),
        least=least,
        most=most,
        robust=_is_robust(lowest, test.critical) if outcome == "better" else None,
        sd=sd,
        effect=mean / sd if mean is not None and sd else None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        p_adjusted=finite_or_none(test.p[column]),
        detectable=smallest[0] if smallest[0] <= pair.largest else None,
        detectable_doubled=smallest[1] if smallest[1] <= pair.largest else None,
        at_least_queries=at_least_queries if at_least_queries > n else None,
        outcome=outcome,
    )


def _mean_difference_bounds(differences: Floats, bounds: tuple[Floats, Floats]) -> Floats:
    """Return (3, pairs): the means of (pairs, queries) differences and their lowest and highest values.

    Queries count that have or may get a value.
    """
    low, high = bounds
    if np.array_equal(low, high) and np.array_equal(low, differences):
        return np.broadcast_to(nan_mean(differences, axis=1), (3, len(low)))
    bounded = ~np.isnan(low)
    whole = bounded.all(1)
    ends = np.empty((3, len(low)))
    ends[:, whole] = mean_with_bounds(differences[whole], low[whole], high[whole])
    for pair in np.flatnonzero(~whole):
        queries = bounded[pair]
        ends[:, pair] = mean_with_bounds(differences[pair, queries], low[pair, queries], high[pair, queries])
    return ends


def _decide_outcome(low: float, high: float, least: float | None, most: float | None) -> Outcome:
    if np.isnan(low) or least is None or most is None:
        return "undetermined"
    if low <= 0 <= high:
        return "not separated"
    return "better" if low > 0 and least > 0 else "undetermined"


def _is_robust(lowest: Floats, critical: float) -> bool:
    """Return True when the interval of the (queries,) `lowest` differences excludes 0."""
    least = lowest[~np.isnan(lowest)]
    return bool(least.mean() - critical * least.std(ddof=1) / sqrt(least.size) > 0)


def _make_sort_key(value: Floats, engines: tuple[str, ...]) -> Callable[[Comparison], tuple[int, int]]:
    """Return a sort key of pairs: the ranks of their engines by the mean of (engines, queries) values."""
    means = nan_mean(value, axis=1)
    order = sorted(
        range(len(engines)), key=lambda index: (-np.nan_to_num(means[index], nan=-1.0), engines[index])
    )
    rank = {engines[index]: number for number, index in enumerate(order)}
    return lambda pair: (min(rank[pair.a], rank[pair.b]), max(rank[pair.a], rank[pair.b]))
