"""Resampling of queries: randomisation tests, bootstrap intervals, Holm correction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.formulas import Bools, Floats, Ints, divide

RESAMPLES = 10_000
SEED = 0
#: Sums that differ by less, relative to what went into them, are one number reached on two ways.
_TIE = 1e-9
#: Numbers in one batch: 4 MB of them stay in the processor's cache.
BATCH_CELLS = 2**19


def compute_randomisation_p(differences: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """(columns,) two-sided p of the mean of paired differences, from (queries, columns) of them.

    The randomisation test: were two engines alike, each query's difference could as well have had the
    other sign. p = (1 + hits) / (1 + resamples), a hit being a mean at least as far from 0 as the one
    seen (Smucker et al. 2007). Where there are no more than `resamples` ways to choose the signs of all
    queries, each is tried once and p = hits / ways is exact. NaN marks a query on which a pair can't be
    compared; a column of nothing else has p NaN, one without any difference p = 1.
    """
    queries, columns = differences.shape
    known: Bools = ~np.isnan(differences)
    summed = round_to_grid(np.where(known, differences, 0.0), axis=0)
    # Flipping the signs of some turns the total T into T - 2 S, S their sum; all of it is halved here.
    middle: Floats = summed.sum(0) / 2
    far: Floats = np.abs(middle) - _TIE * np.abs(summed).sum(0)
    hits: Ints = np.zeros(columns, dtype=np.int64)
    for flips in _draw_signs(queries, resamples, seed, max(1, BATCH_CELLS // max(1, queries, columns))):
        hits += (np.abs(flips @ summed - middle) >= far).sum(0)
    exact = 2**queries <= resamples
    p: Floats = hits / 2**queries if exact else (1 + hits) / (1 + resamples)
    return np.where(known.any(0), p, np.nan)


def bootstrap_intervals(
    cells: Floats,
    statistics: Sequence[Callable[[Floats], Floats]],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[tuple[float, float] | None]:
    """The BCa bootstrap intervals of statistics of counts summed over queries, such as a kappa.

    `cells` is (queries, cells): what each query adds, for example its confusion matrix laid flat. A
    query is drawn with all that belongs to it, since its snippets are not independent of each other.
    A statistic turns (..., cells) sums into (...) values, NaN where it is undefined. Resamples where it
    is undefined are left out; so are queries without which it is, from the jackknife that gives the
    acceleration. None for fewer than two queries, and when a statistic is undefined for the sum of all
    queries or on more than half of the resamples.
    """
    if len(cells) < 2:
        return [None] * len(statistics)
    sums = np.concatenate([draws @ cells for draws in draw_queries(len(cells), resamples, seed)])
    return [_bootstrap_interval(cells, sums, statistic, level) for statistic in statistics]


def holm(p: Floats) -> Floats:
    """The p values adjusted for how many there are, in the same order, by Holm's steps (1979).

    The chance that any true null hypothesis gets one below a level is no higher than that level. NaN
    stays NaN and is no member of the family.
    """
    (known,) = np.nonzero(~np.isnan(p))
    ascending = known[np.argsort(p[known], kind="stable")]
    adjusted: Floats = np.full(p.shape, np.nan)
    left = np.arange(len(known), 0, -1)
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(p[ascending] * left))
    return adjusted


def _bootstrap_interval(
    cells: Floats, sums: Floats, statistic: Callable[[Floats], Floats], level: float
) -> tuple[float, float] | None:
    total = cells.sum(0, keepdims=True)
    estimate, resampled = statistic(total), statistic(sums)
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(estimate).any() or 2 * len(defined) < len(sums):
        return None
    without = statistic(total - cells)
    without = without[~np.isnan(without)]
    influence = without.sum() / max(1, len(without)) - without
    low, high = _bca_interval(estimate, defined[None], _compute_acceleration(influence[None]), level)
    return float(low[0]), float(high[0])


def _draw_signs(queries: int, resamples: int, seed: int, batch: int) -> Iterator[Floats]:
    """Batches of rows over the queries, 1 where a sign is flipped: all ways if few, else a random choice."""
    rng = np.random.default_rng(seed)
    ways = min(2**queries, resamples)
    for start in range(0, ways, batch):
        stop = min(ways, start + batch)
        if 2**queries <= resamples:
            words = np.arange(start, stop, dtype=np.uint64)[:, None]
        else:
            # Whole words, so that the size of a batch doesn't shift what the next one draws.
            shape = stop - start, -(-queries // 64)
            words = rng.integers(0, 2**64, shape, dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=queries, bitorder="little")
        yield bits.astype(np.float64)


def draw_queries(queries: int, resamples: int, seed: int, columns: int = 1) -> Iterator[Floats]:
    """Yield batches of (rows, queries): how often each query is in a resample of as many, with replacement.

    A batch has fewer rows when the caller makes more than `queries` numbers, `columns`, of each.
    """
    rng = np.random.default_rng(seed)
    batch = max(1, BATCH_CELLS // max(queries, columns))
    for start in range(0, resamples, batch):
        rows = min(batch, resamples - start)
        drawn = rng.integers(0, queries, (rows, queries))
        drawn += queries * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * queries)
        yield counts.reshape(rows, queries).astype(np.float64)


def round_to_grid(values: Floats, axis: int) -> Floats:
    """`values` rounded to multiples of a power of two so large that sums of them along `axis` are exact.

    Then neither the order of adding nor the shape of a matrix product changes a digit. With 10,000
    values the rounding is below 1e-12 of the largest.
    """
    _, exponent = np.frexp(np.abs(values).max(axis, keepdims=True, initial=0.0))
    places = 53 - values.shape[axis].bit_length() - exponent
    rounded: Floats = np.ldexp(np.rint(np.ldexp(values, places)), -places)
    return rounded


def _compute_acceleration(influence: Floats) -> Floats:
    """(...) a sixth of the skewness of the jackknife's (..., queries) influences, 0 when there is none."""
    squares = influence * influence
    return divide((squares * influence).sum(-1), 6 * squares.sum(-1) ** 1.5, 0.0)


def _bca_interval(estimate: Floats, resampled: Floats, acceleration: Floats, level: float) -> Floats:
    """(2, columns) ends of the interval of each estimate; sorts `resampled`, (columns, resamples).

    Efron 1987, with resamples that tie with the estimate counted half, and never all on one side of it.
    """
    from scipy.special import ndtr, ndtri

    resamples = resampled.shape[1]
    resampled.sort(axis=1)
    near = _TIE * np.maximum(-resampled[:, 0], resampled[:, -1])
    below = (resampled < (estimate - near)[:, None]).sum(1)
    up_to = (resampled <= (estimate + near)[:, None]).sum(1)
    share = (below + up_to) / 2 / resamples
    bias: Floats = ndtri(np.clip(share, 0.5 / resamples, 1 - 0.5 / resamples))
    shift: Floats = bias + ndtri([[(1 - level) / 2], [(1 + level) / 2]])
    stretched = divide(shift, 1 - acceleration * shift, np.copysign(np.inf, shift))
    place: Floats = ndtr(bias + stretched) * (resamples - 1)
    before = np.floor(place).astype(np.int64)
    after = np.minimum(before + 1, resamples - 1)
    low, high = (np.take_along_axis(resampled, at.T, axis=1).T for at in (before, after))
    ends: Floats = low + (high - low) * (place - before)
    return ends


#: What turns sums (..., cells) into values (...), NaN where undefined; and why it would be.
Statistic = tuple[Callable[[Floats], Floats], str]

_LEVEL = 0.95
_ONE_QUERY = "it comes from one query, which gives no range"
_RARELY_DEFINED = "with other queries it would often be undefined, so no range can be given"


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A statistic and its 95 % interval over queries; `why` says what keeps either from being known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


def estimate_statistic(
    cells: Floats, statistic: Callable[[Floats], Floats], why: str, *, share: bool = False
) -> IntervalEstimate:
    """One statistic, as `estimates` gives it; `share` says that it is a share."""
    return estimate_statistics(cells, {"": (statistic, why)}, shares=("",) if share else ())[""]


def estimate_statistics(
    cells: Floats, statistics: Mapping[str, Statistic], shares: Collection[str] = ()
) -> dict[str, IntervalEstimate]:
    """Each statistic of the summed `cells` (queries, cells), all over the same resamples of queries.

    Those named in `shares` are shares of something that is counted, and keep an interval at 0 and at 1.
    """
    functions = [function for function, _ in statistics.values()]
    intervals = bootstrap_intervals(cells, functions, level=_LEVEL)
    found = {
        name: _make_estimate(float(function(cells.sum(0))), interval, why, len(cells))
        for (name, (function, why)), interval in zip(statistics.items(), intervals, strict=True)
    }
    return found | {name: _widen_share(found[name], cells, statistics[name][0]) for name in shares}


def _widen_share(
    share: IntervalEstimate, cells: Floats, statistic: Callable[[Floats], Floats]
) -> IntervalEstimate:
    """A share of all or nothing with the end that so many queries without an exception leave possible.

    No resample holds what no query has. The queries are the trials (Clopper & Pearson 1934): those on
    which there is something to count.
    """
    if share.low is None or share.value not in (0.0, 1.0):
        return share
    trials = int((~np.isnan(statistic(cells))).sum())
    likely = ((1 - _LEVEL) / 2) ** (1 / trials)
    return replace(share, high=1 - likely) if share.value == 0 else replace(share, low=likely)


def _make_estimate(
    value: float, interval: tuple[float, float] | None, why: str, queries: int
) -> IntervalEstimate:
    if np.isnan(value):
        return IntervalEstimate(None, why=why)
    if interval is None:
        return IntervalEstimate(value, why=_ONE_QUERY if queries < 2 else _RARELY_DEFINED)
    return IntervalEstimate(value, *interval)
