"""Owns comparing engines: how large a difference is, how sure it is, and what it would take to be sure.

The unit is the query, always paired: an engine meets another on the queries where both have a value,
each query's repeats averaged first. A better engine is named only when chance is an unlikely reason
(paired randomisation, Holm over all pairs of a measure) and no grades of unjudged snippets could turn it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import floor, log2
from typing import Literal

import numpy as np

from judge.measure.formulas import Floats, Ints
from judge.measure.power import detectable, queries_needed
from judge.measure.resampling import RESAMPLES, holm, mean_intervals, randomised_p
from judge.measure.score import Scores, bounded_mean, mean_known

#: How often a difference may be called one when there is none: over all pairs of a measure.
ALPHA = 0.05
#: Resamples for each pair of engines, so that the first of all pairs can pass Holm's first step.
_PER_PAIR = 25
#: Differences on a query that are smaller than this are rounding.
_TIE = 1e-12

Outcome = Literal["better", "not separated", "undetermined"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How engine `a` stands to engine `b` by one measure; `a` has the higher mean, or the earlier name.

    `difference` is the mean of a - b over the `n` queries where both have a value, with its 95 % BCa
    interval `low` to `high`; `effect` is d_z, that mean divided by the standard deviation `sd`. `least`
    and `most` bound it over all grades that unjudged snippets could have. On `wins` queries a is ahead,
    on `losses` b. `p` is of the paired randomisation test, `p_holm` adjusted over all pairs of engines
    (Holm 1979). `detectable` is the smallest difference that a paired t test would find on `n` queries
    with power 0.8, `more` how many further queries would find one of this size; both at the level that
    Holm asks of the first of all pairs, and `detectable` only where enough queries are there for any sign
    flips to be that rare. Every number is None where nothing can be said.
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
    sd: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int
    p: float | None
    p_holm: float | None
    detectable: float | None
    more: int | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Pairs:
    """All pairs of engines: their places, and per query a - b with its bounds, (queries, pairs)."""

    first: Ints
    second: Ints
    difference: Floats
    least: Floats
    most: Floats


def compare(scores: Scores, among: Collection[frozenset[str]] | None = None) -> tuple[Comparison, ...]:
    """Every pair of engines by every measure that engines can be compared by, measure by measure.

    `among` names the pairs that are of interest, when not all are. Within a measure pairs come in the
    order of their engines' standing, best against second first.
    """
    places = [at for at, measure in enumerate(scores.measures) if measure.compares]
    wanted = [
        (one, two)
        for one, two in combinations(range(len(scores.engines)), 2)
        if among is None or {scores.engines[one], scores.engines[two]} in among
    ]
    if not wanted or not places:
        return ()
    value, low, high = scores.by_query()
    found = [_pairs(value[..., at], low[..., at], high[..., at], np.array(wanted).T) for at in places]
    # One call for all measures: they share the signs and the resamples.
    together = np.concatenate([pairs.difference for pairs in found], axis=1)
    lows, highs = mean_intervals(together)
    shape = len(found), -1
    # With very many pairs, Holm asks for a p that ten thousand resamples can't show.
    p = randomised_p(together, resamples=max(RESAMPLES, _PER_PAIR * len(wanted)))
    chances, lows, highs = (array.reshape(shape) for array in (p, lows, highs))
    compared: list[Comparison] = []
    for row, (at, pairs) in enumerate(zip(places, found, strict=True)):
        intervals = np.stack([lows[row], highs[row]])
        one = list(_one_measure(scores, str(scores.measures[at]), pairs, intervals, chances[row]))
        compared += sorted(one, key=_by_standing(value[..., at], scores.engines))
    return tuple(compared)


def adjusted_together(families: Sequence[Sequence[Comparison]]) -> list[tuple[Comparison, ...]]:
    """The same comparisons with p adjusted over all of them at once, and what that leaves of winners."""
    everything = [pair for family in families for pair in family]
    adjusted = iter(holm(np.array([np.nan if pair.p is None else pair.p for pair in everything])))
    return [tuple(_readjusted(pair, _number(next(adjusted))) for pair in family) for family in families]


def _readjusted(pair: Comparison, p_holm: float | None) -> Comparison:
    around = np.array(
        [np.nan if end is None else end for end in (pair.low, pair.high, pair.least, pair.most)]
    )
    return replace(pair, p_holm=p_holm, outcome=_outcome(p_holm, around))


def _pairs(value: Floats, low: Floats, high: Floats, places: Ints) -> _Pairs:
    a, b = places
    difference = (value[a] - value[b]).T
    known = ~np.isnan(difference)
    swap = np.where(known, difference, 0.0).sum(0) < -_TIE * known.sum(0)
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return _Pairs(a, b, (value[a] - value[b]).T, (low[a] - high[b]).T, (high[a] - low[b]).T)


def _one_measure(
    scores: Scores, measure: str, pairs: _Pairs, intervals: Floats, chances: Floats
) -> Iterator[Comparison]:
    adjusted = holm(chances)
    level = ALPHA / max(1, int((~np.isnan(chances)).sum()))
    for column in range(len(pairs.first)):
        differences = pairs.difference[:, column]
        known = differences[~np.isnan(differences)]
        yield _comparison(
            measure,
            (scores.engines[pairs.first[column]], scores.engines[pairs.second[column]]),
            known,
            np.array([*intervals[:, column], *_bounds(pairs, column, known)]),
            (_number(chances[column]), _number(adjusted[column]), level),
        )


def _bounds(pairs: _Pairs, column: int, known: Floats) -> tuple[float, float]:
    """The least and the most that the mean could be, over the queries where both have or may get a value."""
    bounded = ~np.isnan(pairs.least[:, column])
    arrays = (array[bounded, column] for array in (pairs.difference, pairs.least, pairs.most))
    mean, least, most = map(float, bounded_mean(*arrays))
    if known.size:
        # Summed with the gaps between, the same mean may round otherwise.
        mean = float(known.mean())
        least, most = min(least, mean), max(most, mean)
    return least, most


def _comparison(
    measure: str,
    names: tuple[str, str],
    known: Floats,
    around: Floats,
    chance: tuple[float | None, float | None, float],
) -> Comparison:
    n = known.size
    low, high, least, most = map(_number, around)
    p, p_holm, level = chance
    mean = float(known.mean()) if n else None
    sd = _deviation(known) if n > 1 else None
    outcome = _outcome(p_holm, around)
    needed = _needed(sd, mean, level) if outcome == "not separated" else None
    return Comparison(
        measure=measure,
        a=names[0],
        b=names[1],
        n=n,
        difference=mean,
        low=low,
        high=high,
        least=least,
        most=most,
        sd=sd,
        effect=mean / sd if mean is not None and sd else None,
        wins=int((known > _TIE).sum()),
        ties=int((np.abs(known) <= _TIE).sum()),
        losses=int((known < -_TIE).sum()),
        p=p,
        p_holm=p_holm,
        detectable=detectable(sd, n, level=level) if sd is not None and n >= _fewest(level) else None,
        more=None if needed is None else max(1, needed - n),
        outcome=outcome,
    )


def _deviation(known: Floats) -> float:
    """The standard deviation; 0 where all differences are equal but for rounding."""
    return float(known.std(ddof=1)) if np.ptp(known) > _TIE else 0.0


def _needed(sd: float | None, mean: float | None, level: float) -> int | None:
    """How many queries would separate a mean like this one by a paired test at `level`."""
    if sd is None or mean is None or abs(mean) <= _TIE:
        return None
    needed = queries_needed(sd, mean, level=level) if sd else 2
    return None if needed is None else max(needed, _fewest(level))


def _fewest(level: float) -> int:
    """With fewer queries no sign flips are rare enough for `level`, however clear the differences are."""
    return floor(log2(2 / level)) + 1


def _outcome(p_holm: float | None, around: Floats) -> Outcome:
    """Who wins, given the adjusted p and (low, high of the interval, least, most of the bounds)."""
    low, high, least, most = around
    if p_holm is None:
        return "undetermined"
    if p_holm < ALPHA:
        return "better" if least > 0 else "undetermined"
    # What is unjudged could turn it and weighs more than chance: further queries alone would not help.
    return "undetermined" if least <= 0 and most - least > high - low else "not separated"


def _by_standing(value: Floats, engines: tuple[str, ...]) -> Callable[[Comparison], tuple[int, int]]:
    """Sorts pairs by the places of their engines, the better placed first."""
    means = mean_known(value, axis=1)
    order = sorted(range(len(engines)), key=lambda at: (-np.nan_to_num(means[at], nan=-1.0), engines[at]))
    place = {engines[at]: number for number, at in enumerate(order)}
    return lambda pair: (min(place[pair.a], place[pair.b]), max(place[pair.a], place[pair.b]))


def _number(value: float | np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
