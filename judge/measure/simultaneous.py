"""Simultaneous tests and intervals of several paired means: bootstrap-t with the maximum over columns.

A column holds one paired difference per query. Queries are drawn with replacement; each resample gives a
Student t of every centred column, of which the largest |t| counts. All columns share one critical value c,
the upper 5% point of these maxima. The interval of a mean is mean ± c·se. A mean differs from 0 exactly when
|t| > c, which is when its interval excludes 0. The draws keep the skewness of the differences and their
correlation. Sources: Romano & Wolf 2005 (JASA 100:94), Westfall & Young 1993 (maximum over tests), Efron &
Tibshirani 1993, chapter 12 (bootstrap-t).

A column whose resamples often lack variance, such as one with the same difference on every query but one, is
not tested by t. Its interval follows from its extreme values, whatever the distribution is: `bound_means`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from judge.measure.intervals import ALPHA, LEVEL
from judge.measure.numeric import SUM_ROUNDING, TIE, Bools, Floats, divide
from judge.measure.resampling import (
    MIN_DIFFERING,
    RESAMPLES,
    SEED,
    draw_groups,
    draw_queries,
    round_to_grid,
)

#: Makes blocks of resampled means and their squared standard errors, (rows, columns) each.
_Resample = Callable[[], Iterator[tuple[Floats, Floats]]]

#: Above this number of values of a family (queries × columns) fewer resamples are drawn.
_LARGE_FAMILY, _RESAMPLES_OF_LARGE_FAMILY = 2**18, 4_000
#: With this many queries the standard errors are so small that an interval moves by about 0.0002 between
#: seeds: fewer resamples are enough. With many columns even fewer are, because their largest |t| varies less.
_MANY_QUERIES, _RESAMPLES_OF_MANY_QUERIES = 2_000, 2_500
_MANY_COLUMNS, _RESAMPLES_OF_MANY_COLUMNS = 300, 1_500
#: A contrast needs this many queries in each group: a resample of a smaller one is often one query.
MIN_GROUP_SIZE = 10
#: A column needs this many queries, or this share of those of the column with most. A resample of all queries
#: holds an uncertain number of a column that lacks many, sometimes one alone, and then its t is huge.
MIN_QUERIES, MIN_SHARE = 20, 0.75
#: A variance below this share of the largest squared difference is rounding.
_NO_VARIANCE = 1e-12
#: A resample lacks variance below this share of the variance of all queries. Where two engines differ by
#: 0.001 on most queries and by 0.8 on one, a third of the resamples lack this query; their |t| is about 100.
_LITTLE_VARIANCE = 0.01
#: How the error of a bounded mean is divided among the bounds by its least value, its second least one and so
#: on. A column that lacks variance in many resamples has few values that are not equal.
_ERROR_SHARES = (0.8, 0.1, 0.05, 0.05)
#: The standard normal quantile of 0.8, the power for planning.
_POWER_QUANTILE = NormalDist().inv_cdf(0.8)


@dataclass(frozen=True, slots=True)
class SimultaneousIntervals:
    """Means with their simultaneous intervals; every array is (columns,).

    `se` is the standard error of `mean`, `low` to `high` the interval mean ± `critical`·se, `p` the p-value
    adjusted for all columns. `tested` marks the columns that can be tested. At least `MIN_DIFFERING` of their
    values differ from 0, the values vary, and few of the resamples lack variance. There are `MIN_QUERIES`
    values, or `MIN_SHARE` of the number that another column of the family has. The others have the interval
    of `bound_means`, or p 1 and an infinite interval; a column without any value has NaN throughout.
    """

    mean: Floats
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    tested: Bools
    critical: float


def compare_means(
    differences: Floats,
    widening: Floats | None = None,
    *,
    largest_values: Floats | None = None,
    families: int = 1,
    seed: int = SEED,
) -> list[SimultaneousIntervals]:
    """Test the means of (queries, measures, columns) differences, one family of columns per measure.

    NaN marks a query that a column lacks. The error of each family is 5% divided by `families` (Bonferroni),
    for callers that test more families than they pass. All measures share the draws. `widening`, (2,
    measures, columns), is how much lower and higher the ends of the intervals are, for an uncertainty that
    the queries do not have. The test of 0 allows for it, too. `largest_values`, (measures,), are the largest
    differences that are possible on a query.
    """
    queries, measures, columns = differences.shape
    sample = _ResampledColumns.from_differences(differences.reshape(queries, measures * columns))
    count = sample.count.reshape(measures, columns)
    enough = count >= np.minimum(MIN_QUERIES, MIN_SHARE * count.max(1, keepdims=True, initial=0.0))
    tested: Bools = enough.ravel() & (sample.differing >= MIN_DIFFERING) & (sample.se > 0)

    def resample() -> Iterator[tuple[Floats, Floats]]:
        resamples = count_resamples(differences, families)
        return map(sample.resample, draw_queries(queries, resamples, seed, measures * columns))

    largest, tested = _find_largest(resample, tested, sample.largest, sample.se, measures, families)
    wider = np.zeros((2, measures, columns)) if widening is None else widening
    intervals_by_measure = []
    for measure, maxima_of_measure in enumerate(largest):
        own, widths = slice(measure * columns, (measure + 1) * columns), wider[:, measure]
        mean, se = sample.mean[own], sample.se[own]
        intervals = _test_columns(mean, se, tested[own], maxima_of_measure, families, widths)
        bounded = ~intervals.tested & (sample.differing[own] >= MIN_DIFFERING)
        if largest_values is not None and bounded.any():
            values, limit = differences[:, measure, bounded], largest_values[measure]
            ends = bound_means(values, limit, families * columns, widths[:, bounded])
            intervals.low[bounded], intervals.high[bounded], intervals.p[bounded] = ends
        intervals_by_measure.append(intervals)
    return intervals_by_measure


def _find_largest(
    resample: _Resample, tested: Bools, scale: Floats, se: Floats, measures: int, families: int
) -> tuple[Floats, Bools]:
    """Return the largest |t| of each resample by measure, (measures, resamples), and the columns that count.

    Those are the `tested` (measures × columns,), except columns that lack variance in too many resamples:
    more than the error of a family, 5% divided by `families`. The resamples of such a column say little about
    its mean. `scale` has their largest squares, `se` the standard errors of their means.
    """
    maxima, lacking = _find_maxima(resample(), tested, scale, se, measures)
    often: Bools = tested & (lacking > ALPHA / families * len(maxima))
    if often.any():
        tested = tested & ~often
        maxima, _ = _find_maxima(resample(), tested, scale, se, measures)
    # A |t| that is as large as the observed one counts, also where it is rounded otherwise.
    return np.sqrt(maxima).T * (1 + SUM_ROUNDING), tested


def _find_maxima(
    resamples: Iterator[tuple[Floats, Floats]], tested: Bools, scale: Floats, se: Floats, measures: int
) -> tuple[Floats, Floats]:
    """Return the largest t² of each resample and measure, and in how many resamples a column lacks variance.

    The first is (resamples, measures), the second (measures × columns,). Only `tested` columns count. A
    column has no t in a resample without any of its variance, because a study with such differences does
    not test it by t.
    """
    maxima: list[Floats] = []
    lacking = np.zeros(len(scale))
    little = _LITTLE_VARIANCE * np.square(se)
    for mean, variance in resamples:
        square = np.square(mean, out=mean)
        lacking += ((variance <= little) & (square > _NO_VARIANCE * scale)).sum(0)
        squared = np.divide(square, variance, out=np.zeros_like(square), where=variance > 0)
        squared[:, ~tested] = 0.0
        maxima.append(squared.reshape(len(square), measures, -1).max(2, initial=0.0))
    return np.concatenate(maxima), lacking


def compare_groups(differences: Floats, members: Bools, *, families: int = 1) -> SimultaneousIntervals:
    """Test whether the mean of each of (queries, columns) differences differs between two groups of queries.

    What is tested is the mean over `members`, (queries,), minus the mean over the rest, with Welch's
    standard error. A column needs `MIN_GROUP_SIZE` queries in either group. `families` is as in
    `compare_means`.

    The critical value is the larger one of two. The first is from queries drawn with replacement, all
    together, so that a resample holds as many members as chance gives it. It is right for groups with
    different distributions, but a resample of a small group lacks the rare values that the group lacks. The
    second is from random groups of the same sizes. It is exact for groups with the same distribution, however
    skewed it is (Janssen 1997).
    """
    inside, outside = (
        _ResampledColumns.from_differences(np.where(chosen[:, None], differences, np.nan))
        for chosen in (members, ~members)
    )
    whole = _ResampledColumns.from_differences(differences)
    resamples, columns = count_resamples(differences[:, None], families), differences.shape[1]

    def redraw() -> Iterator[tuple[Floats, Floats]]:
        for draws in draw_queries(len(members), resamples, SEED, columns):
            yield _subtract_means(inside.resample(draws), outside.resample(draws))

    def regroup() -> Iterator[tuple[Floats, Floats]]:
        for drawn in draw_groups(members, resamples, SEED, columns):
            yield _subtract_means(whole.resample(drawn), whole.resample(1 - drawn))

    enough = (inside.count >= MIN_GROUP_SIZE) & (outside.count >= MIN_GROUP_SIZE)
    mean, se = inside.mean - outside.mean, np.sqrt(np.square(inside.se) + np.square(outside.se))
    tested: Bools = enough & (inside.differing + outside.differing >= MIN_DIFFERING) & (se > 0)
    scale = np.maximum(inside.largest, outside.largest)
    (redrawn,), tested = _find_largest(redraw, tested, scale, se, 1, families)
    (regrouped,), tested = _find_largest(regroup, tested, scale, se, 1, families)
    first, second = (_test_columns(mean, se, tested, maxima, families) for maxima in (redrawn, regrouped))
    wider = second if second.critical > first.critical else first
    return replace(wider, p=np.maximum(first.p, second.p))


def _subtract_means(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the difference of two means and its squared standard error, from those of each mean."""
    return one[0] - other[0], one[1] + other[1]


@dataclass(frozen=True, slots=True)
class _ResampledColumns:
    """Columns that can be resampled: (queries, columns) centred values and squares, 0 where unknown.

    `defined` is 1 where a column has a value, None where all have one. The rest is (columns,): `count` of
    values, how many of them are `differing` from 0, their `mean`, its standard error `se`, and the
    `largest` square.
    """

    centred: Floats
    squares: Floats
    defined: Floats | None
    count: Floats
    differing: Floats
    mean: Floats
    se: Floats
    largest: Floats

    @classmethod
    def from_differences(cls, differences: Floats) -> _ResampledColumns:
        """Take (queries, columns) differences, NaN where unknown."""
        defined: Bools = ~np.isnan(differences)
        # After rounding to a grid, sums depend neither on the order nor on the other columns.
        # Large arrays are changed in place: 10 pairs of engines by 8 measures on 25,000 queries are 16 MB.
        values = round_to_grid(np.where(defined, differences, 0.0))
        count = defined.sum(0).astype(np.float64)
        differing = ((values > TIE) | (values < -TIE)).sum(0).astype(np.float64)
        mean = divide(values.sum(0), count, np.nan)
        values -= mean
        values[~defined] = 0.0
        centred = round_to_grid(values)
        squares = round_to_grid(np.square(centred))
        # Values that are equal in theory vary by rounding alone.
        spread = np.where(squares.max(0, initial=0.0) > TIE**2, squares.sum(0), 0.0)
        return cls(
            centred=centred,
            squares=squares,
            defined=None if defined.all() else defined.astype(np.float64),
            count=count,
            differing=differing,
            mean=mean,
            se=np.sqrt(divide(spread, count * (count - 1), np.nan)),
            largest=squares.max(0, initial=0.0),
        )

    def resample(self, draws: Floats) -> tuple[Floats, Floats]:
        """Return the mean and its squared standard error, (rows, columns), for (rows, queries) draws."""
        count = draws.sum(1)[:, None] if self.defined is None else draws @ self.defined
        # Large arrays are changed in place: most of the time would go into new ones.
        mean, variance = draws @ self.centred, draws @ self.squares
        for total in (mean, variance):
            np.divide(total, count, out=total, where=count > 0)
        variance -= np.square(mean)
        variance[variance <= _NO_VARIANCE * self.largest] = 0.0
        return mean, np.divide(variance, count - 1, out=variance, where=count > 1)


def bound_means(
    differences: Floats, limit: float, comparisons: int, widening: Floats | float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return the low and high ends and the p-values of the means of (queries, columns) differences.

    They hold for any distribution. The share of all differences that lie below the j-th least of n is at most
    q with the probability that a binomial(n, q) is j or more. Then the mean is at least
    (1 - q)·that difference - q·`limit`, and likewise above (Wilks 1941, tolerance limits). The error is 5%
    divided by two sides, the number of `comparisons`, and among the differences by `_ERROR_SHARES`. The
    narrowest of these bounds counts. p is the level at which the interval begins to contain 0.
    """
    from scipy.special import bdtr, betaincinv  # takes longer to import than a small run takes to score

    count = (~np.isnan(differences)).sum(0)
    ends, levels = [], []
    for sign, wider in zip((1.0, -1.0), np.broadcast_to(widening, (2, differences.shape[1])), strict=True):
        ascending = np.sort(sign * differences, axis=0)
        bounds = []
        for rank, error_share in enumerate(_ERROR_SHARES):
            value = ascending[rank]
            share = betaincinv(rank + 1, count - rank, 1 - (1 - LEVEL) / 2 / comparisons * error_share)
            bounds.append((1 - share) * value - share * limit)
            share_at_0 = np.maximum(divide(value - wider, value + limit, 0.0), 0.0)
            levels.append(bdtr(rank, count, share_at_0) / error_share)
        ends.append(sign * (np.max(bounds, axis=0) - wider))
    return ends[0], ends[1], np.minimum(1.0, 2 * comparisons * np.min(levels, axis=0))


def compute_detectable_difference(sd: float, queries: int, critical: float) -> float:
    """Return the true mean difference that is detected with 80% power on `queries` queries.

    (c + z(0.8))·sd/√n, with the normal quantile z; `sd` is that of the difference on a query.
    """
    return (critical + _POWER_QUANTILE) * sd / math.sqrt(queries)


def count_required_queries(sd: float, farthest: float, critical: float) -> int:
    """Return the number of queries that detect a true mean difference of `farthest` with 80% power.

    `farthest` is the end of an interval that is farther from 0: a smaller true difference needs more.
    """
    return math.ceil(((critical + _POWER_QUANTILE) * sd / farthest) ** 2)


def count_resamples(differences: Floats, families: int) -> int:
    """Return the number of resamples for differences: the first axis is queries, the last is columns.

    The number of families in between does not count, so that no family changes the result of another one.
    The critical value varies between seeds with a standard deviation of about 0.02 with 10,000 resamples,
    0.03 with 4,000, 0.04 with 2,500, and with 1,500 of many columns. Several families need a point farther
    out, and so more resamples.
    """
    if len(differences) >= _MANY_QUERIES and families == 1:
        many_columns = differences.shape[-1] >= _MANY_COLUMNS
        return _RESAMPLES_OF_MANY_COLUMNS if many_columns else _RESAMPLES_OF_MANY_QUERIES
    is_large = len(differences) * differences.shape[-1] > _LARGE_FAMILY
    return _RESAMPLES_OF_LARGE_FAMILY if is_large else RESAMPLES


def _test_columns(
    mean: Floats, se: Floats, tested: Bools, maxima: Floats, families: int, widening: Floats | float = 0.0
) -> SimultaneousIntervals:
    """Return the decision on one family of columns; `maxima` are the largest |t| of each resample."""
    below, above = np.broadcast_to(widening, (2, *mean.shape))
    ascending = np.sort(maxima)
    # With this rank, p is at most 0.05 / families exactly when |t| is above the critical value.
    rank = int(ALPHA / families * (len(ascending) + 1) + 1e-9)
    critical = float(ascending[-rank]) if rank and tested.any() else np.inf
    distance = np.maximum(mean - below, -(mean + above))
    statistic = np.where(tested, divide(np.maximum(distance, 0.0), se, 0.0), 0.0)
    as_large = len(ascending) - np.searchsorted(ascending, statistic, side="left")
    p = np.where(tested, np.minimum(1.0, families * (1 + as_large) / (1 + len(ascending))), 1.0)
    reach = np.full(mean.shape, np.inf)
    if np.isfinite(critical):
        reach[tested] = critical * se[tested]
    without: Bools = np.isnan(mean)
    low, high = (np.where(without, np.nan, end) for end in (mean - reach - below, mean + reach + above))
    return SimultaneousIntervals(mean, se, low, high, np.where(without, np.nan, p), tested, critical)
