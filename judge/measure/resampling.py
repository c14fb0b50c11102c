"""Resampling of queries: randomisation test, BCa bootstrap, Holm correction.

Three rules hold for resampling. Queries are drawn, never snippets. All columns use the same draws, so the
result of a column does not depend on the other columns. Sums that are equal in theory are equal in floating
point: values are rounded to a grid on which addition is exact. A smaller difference is a tie.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import floor, log2
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from judge.measure.intervals import ALPHA, LEVEL, Interval, StatisticValue, make_finite_interval
from judge.measure.numeric import SUM_ROUNDING, TIE, Bools, Floats, divide
from judge.messages import Message

RESAMPLES = 10_000
SEED = 0
#: With fewer differences from 0, p cannot be below 0.05: 2 / 2**5 is above it.
MIN_DIFFERING = 6
#: Differences for which the randomisation test counts all ways to choose their signs: in a few ms, as long as
#: drawing them takes.
_MAX_EXACT = 34
#: Values in one block: 4 MB, which fit into the cache of a processor.
BLOCK_CELLS = 2**19
#: Draws of more counts are not cached: this many take 16 MB.
_MAX_KEPT = 2**24
Count = TypeVar("Count", np.float64, np.uint8)


def compute_randomisation_p(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Return the (columns,) two-sided p of the mean of (queries, columns) paired differences.

    This is the randomisation test: if two engines are equal, the difference on each query has either sign
    with the same probability. The p-value is the share of all ways to choose the signs that give a mean at
    least as far from 0 as the observed one. It is exact where at most `_MAX_EXACT` differences are not 0; for
    more, p = (1 + hits) / (1 + resamples) with random signs (Smucker et al. 2007). NaN marks a query that a
    column lacks; a column of NaN alone has p NaN, one without any difference p = 1.
    """
    defined: Bools = ~np.isnan(differences)
    summed = round_to_grid(np.where(defined, differences, 0.0))
    # Flipping signs turns the total T into T - 2 S, where S is the sum of the flipped values; halved here.
    middle: Floats = summed.sum(0) / 2
    far: Floats = np.abs(middle) - SUM_ROUNDING * np.abs(summed).sum(0)
    p: Floats = np.ones(summed.shape[1])
    is_exact = (summed != 0).sum(0) <= _MAX_EXACT
    for column in np.flatnonzero(is_exact & (far > 0)):
        # With its own sign, a column and its negative have the same rounding, and so the same ties.
        values = summed[:, column] * np.sign(middle[column])
        # As many sums are as far below the middle.
        p[column] = 2 * _compute_share_above(values[values != 0], abs(middle[column]) + far[column])
    if not is_exact.all():
        table, hits = summed[:, ~is_exact], 0
        for flips in _draw_signs(len(table), resamples, seed, table.shape[1]):
            hits = hits + (np.abs(flips @ table - middle[~is_exact]) >= far[~is_exact]).sum(0)
        p[~is_exact] = (1 + hits) / (1 + resamples)
    return np.where(defined.any(0), p, np.nan)


def _compute_share_above(values: Floats, threshold: float) -> float:
    """Return the share of the subsets of `values` whose sum is `threshold` or more.

    The sums of each half of the values are sorted, so that pairs of them are counted and not formed
    (Horowitz and Sahni 1974).
    """
    halves = []
    for half in (values[::2], values[1::2]):
        sums = np.zeros(1)
        for value in half:
            sums = np.concatenate([sums, sums + value])
        halves.append(np.sort(sums))
    one, two = halves
    ways = len(one) * len(two)
    return (ways - int(np.searchsorted(two, threshold - one).sum())) / ways


def compute_randomisation_interval(differences: Floats, *, resamples: int = RESAMPLES) -> Interval | None:
    """Return the 95% interval of the mean of (queries,) paired differences by the randomisation test.

    It has the shifts that the randomisation test does not reject at 5% after they are subtracted. Flip the
    signs of some queries. The mean of the shifted differences is then at least as far from 0 as before if the
    shift is between two means: that of the flipped queries and that of the others. It has no width where all
    differences are equal, and is None where it is infinite, as for few queries. The signs are random where
    there are more than `resamples` ways to choose them. If an end is by chance on another side of 0 than by
    `compute_randomisation_p`, it is put at 0.
    """
    queries = len(differences)
    summed = round_to_grid(np.array(differences, float)[:, None])[:, 0]
    lows, highs = [], []
    for flips in _draw_signs(queries, resamples, SEED):
        flipped = flips.sum(1)
        sums = flips @ summed
        means = divide(sums, flipped, np.nan), divide(summed.sum() - sums, queries - flipped, np.nan)
        lows.append(np.where(np.isnan(means[0] + means[1]), -np.inf, np.minimum(*means)))
        highs.append(np.where(np.isnan(means[0] + means[1]), np.inf, np.maximum(*means)))
    low, high = np.sort(np.concatenate(lows)), -np.sort(-np.concatenate(highs))
    exact = 2**queries <= resamples
    # The index of the first interval where p, the share of the intervals that hold the shift, is above 5%.
    first = floor(ALPHA * (len(low) if exact else 1 + resamples) + SUM_ROUNDING) + (0 if exact else -1)
    interval = make_finite_interval(low[first], high[first])
    if interval is None:
        return None
    (p,) = compute_randomisation_p(summed[:, None], resamples=resamples)
    if p > ALPHA:
        return min(interval[0], 0.0), max(interval[1], 0.0)
    return (max(interval[0], TIE), interval[1]) if summed.sum() > 0 else (interval[0], min(interval[1], -TIE))


def holm(p: Floats) -> Floats:
    """Return the p-values in the same order, adjusted for their number by Holm's method (1979).

    The probability that any true null hypothesis gets an adjusted p below a level is at most that level.
    NaN stays NaN and does not count.
    """
    (indexes,) = np.nonzero(~np.isnan(p))
    ascending = indexes[np.argsort(p[indexes], kind="stable")]
    adjusted: Floats = np.full(p.shape, np.nan)
    factors = np.arange(len(indexes), 0, -1)
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(p[ascending] * factors))
    return adjusted


def count_fewest_queries(tests: int, alpha: float) -> int:
    """Return on how many queries an engine must be worse, at least, for a drop to be significant.

    The smallest p of `tests` tests, .5 ** queries, is adjusted by Holm's method.
    """
    return floor(log2(tests / alpha)) + 1


def _draw_signs(queries: int, resamples: int, seed: int, columns: int = 1) -> Iterator[Floats]:
    """Yield blocks of (rows, queries), 1 where a sign is flipped: all ways if few, else a random sample."""
    rng = np.random.default_rng(seed)
    ways, block_size = min(2**queries, resamples), max(1, BLOCK_CELLS // max(1, queries, columns))
    for start in range(0, ways, block_size):
        stop = min(ways, start + block_size)
        if 2**queries <= resamples:
            words = np.arange(start, stop, dtype=np.uint64)[:, None]
        else:
            # Whole words are drawn, so that the draws do not depend on the size of a block.
            shape = stop - start, -(-queries // 64)
            words = rng.integers(0, 2**64, shape, dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=queries, bitorder="little")
        yield bits.astype(np.float64)


def draw_queries(queries: int, resamples: int, seed: int, columns: int = 1) -> Iterator[Floats]:
    """Yield blocks of (rows, queries): how often each query is in a resample of the same size.

    Queries are drawn with replacement. A block has fewer rows when the caller computes `columns` values
    from each row, and these are more than `queries`.
    """
    size = max(1, BLOCK_CELLS // max(queries, columns))
    if queries * resamples > _MAX_KEPT:
        return _draw_counts(queries, resamples, seed, size, np.float64)
    counts = _draw_kept_counts(queries, resamples, seed)
    return (counts[start : start + size].astype(np.float64) for start in range(0, resamples, size))


@lru_cache(maxsize=2)
def _draw_kept_counts(queries: int, resamples: int, seed: int) -> npt.NDArray[np.uint8]:
    """Return the counts of all resamples: the segments of a run use those of the run and of each other."""
    # None is above 255: the probability that 256 of 256 draws are the same query is 256 ** -255.
    blocks = _draw_counts(queries, resamples, seed, max(1, BLOCK_CELLS // max(1, queries)), np.uint8)
    return np.concatenate(list(blocks))


def _draw_counts(
    queries: int, resamples: int, seed: int, size: int, kind: type[Count]
) -> Iterator[npt.NDArray[Count]]:
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        drawn = rng.integers(0, queries, (rows, queries))
        drawn += queries * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * queries).astype(kind)
        del drawn  # it is as large as what the caller gets, or larger
        yield counts.reshape(rows, queries)


def draw_groups(members: Bools, resamples: int, seed: int, columns: int = 1) -> Iterator[Floats]:
    """Yield blocks of (rows, queries), 1 for the queries of a random group.

    It is as large as `members` or the rest, whichever is smaller. The blocks are as those of `draw_queries`.
    In about one of 2**32 / queries groups two queries have the same random number, and the group can have a
    query more.
    """
    rng = np.random.default_rng(seed)
    block_size = max(1, BLOCK_CELLS // max(len(members), columns))
    size = np.count_nonzero(members)
    last = min(size, len(members) - size) - 1
    for start in range(0, resamples, block_size):
        rows = min(block_size, resamples - start)
        numbers = rng.integers(0, 2**32, (rows, len(members)), dtype=np.uint32)
        largest = np.partition(numbers, last, axis=1)[:, last, None]
        yield (numbers <= largest).astype(np.float64)


def round_to_grid(values: Floats) -> Floats:
    """Return `values`, rounded in place to multiples of a power of two, so that sums of a column are exact.

    Then neither the order of addition nor the shape of a matrix product changes a digit. With 10,000
    values the rounding error is below 1e-12 of the largest value.
    """
    ends = values.max(0, keepdims=True, initial=0.0), values.min(0, keepdims=True, initial=0.0)
    _, exponent = np.frexp(np.maximum(ends[0], -ends[1]))
    # Within this limit the power of two and its reciprocal are exact.
    scale = np.ldexp(1.0, np.minimum(53 - len(values).bit_length() - exponent, 1022))
    values *= scale
    np.rint(values, out=values)
    values /= scale
    return values


_ONE_QUERY = Message("it comes from one query, so there is no interval")
_RARELY_DEFINED = Message("with other queries it is often undefined, so there is no interval")


class Statistic(NamedTuple):
    """A statistic of counts, such as a kappa.

    `compute` takes sums of cells, with leading axes, and returns their values, NaN where the statistic is
    undefined; `why_undefined` is the reason. A share of counts has an interval at 0 and at 1, too.
    """

    compute: Callable[[Floats], Floats]
    why_undefined: str
    is_share: bool = False


def estimate_statistic(cells: Floats, statistic: Statistic) -> StatisticValue:
    """Return one statistic as `estimate_statistics` does."""
    return _estimate_from_resamples(cells, _resample_sums(cells), statistic)


def estimate_statistics(cells: Floats, statistics: Mapping[str, Statistic]) -> dict[str, StatisticValue]:
    """Return statistics of counts summed over queries with BCa bootstrap intervals.

    `cells` is (queries, …): the counts of each query, for example its confusion matrix. A query is drawn as
    a whole, because its snippets are not independent of each other; all statistics have the same draws.
    """
    sums = _resample_sums(cells)
    return {name: _estimate_from_resamples(cells, sums, statistic) for name, statistic in statistics.items()}


def _resample_sums(cells: Floats) -> Floats | None:
    """Return the (resamples, …) sums of `cells` over drawn queries, None for fewer than 2 queries."""
    if len(cells) < 2:
        return None
    flat = cells.reshape(len(cells), -1)
    sums = [drawn @ flat for drawn in draw_queries(len(cells), RESAMPLES, SEED)]
    return np.concatenate(sums).reshape(-1, *cells.shape[1:])


def _estimate_from_resamples(cells: Floats, sums: Floats | None, statistic: Statistic) -> StatisticValue:
    value = float(statistic.compute(cells.sum(0)))
    if np.isnan(value):
        return StatisticValue(None, None, statistic.why_undefined)
    if sums is None:
        return StatisticValue(value, None, _ONE_QUERY)
    interval = _compute_bca_interval(cells, statistic, value, statistic.compute(sums))
    if interval is None:
        return StatisticValue(value, None, _RARELY_DEFINED)
    low, high = _widen_share(value, interval, statistic.compute(cells)) if statistic.is_share else interval
    # Resamples of one query with results are all equal.
    has_width = high - low > SUM_ROUNDING * abs(value)
    if has_width or np.count_nonzero(~np.isnan(statistic.compute(cells))) != 1:
        return StatisticValue(value, (low, high))
    return StatisticValue(value, None, _ONE_QUERY)


def _compute_bca_interval(
    cells: Floats, statistic: Statistic, value: float, resampled: Floats
) -> Interval | None:
    """Return the interval of the `value` of a statistic from `resampled` values (Efron 1987).

    Resamples where it is undefined are left out, and so are such leave-one-out values of the jackknife, which
    gives the acceleration. Resamples equal to the value count half, and some always count on either side of
    it. None when the statistic is undefined on more than half of the resamples.
    """
    from scipy.special import ndtr, ndtri

    defined = np.sort(resampled[~np.isnan(resampled)])
    if 2 * defined.size < resampled.size:
        return None
    without = statistic.compute(cells.sum(0, keepdims=True) - cells)
    without = without[~np.isnan(without)]
    influence = without.sum() / max(1, without.size) - without
    # The acceleration is a sixth of the skewness of the jackknife influences, 0 without variance.
    squares = influence * influence
    acceleration = divide((squares * influence).sum(), 6 * squares.sum() ** 1.5, 0.0)
    near = SUM_ROUNDING * max(-defined[0], defined[-1])
    share = ((defined < value - near).sum() + (defined <= value + near).sum()) / 2 / defined.size
    bias = ndtri(np.clip(share, 0.5 / defined.size, 1 - 0.5 / defined.size))
    shift: Floats = bias + ndtri([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    stretched = divide(shift, 1 - acceleration * shift, np.copysign(np.inf, shift))
    position: Floats = ndtr(bias + stretched) * (defined.size - 1)
    before = np.floor(position).astype(np.int64)
    low, high = defined[before], defined[np.minimum(before + 1, defined.size - 1)]
    first, last = (low + (high - low) * (position - before)).tolist()
    return first, last


def _widen_share(value: float, interval: Interval, by_query: Floats) -> Interval:
    """Return the interval of a share, at 0 and 1 with the end of Clopper and Pearson (1934).

    The bootstrap gives no interval there. The trials are the queries with a defined share.
    """
    likely = ((1 - LEVEL) / 2) ** (1 / int((~np.isnan(by_query)).sum()))
    low, high = interval
    return (low, 1 - likely) if value == 0 else (likely, high) if value == 1 else interval
