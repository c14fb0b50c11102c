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

from judge.measure.formulas import Floats
from judge.measure.power import detectable, queries_needed
from judge.measure.resampling import enough_resamples, holm, mean_intervals, randomised_p
from judge.measure.score import Scores, bounded_mean, mean_known

#: How often a difference may be called one when there is none: over all pairs of a measure.
ALPHA = 0.05
#: Numbers in the differences that are held at once: 64 MB.
_BLOCK = 2**23
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


def compare(
    scores: Scores, among: Collection[frozenset[str]] | None = None, *, tests: int = 0
) -> tuple[Comparison, ...]:
    """Every pair of engines by every measure that engines can be compared by, measure by measure.

    `among` names the pairs that are of interest, when not all are. `tests` says over how many of them p
    is to be adjusted in the end (`adjusted_together`), when they are more than the pairs of a measure.
    Within a measure pairs come in the order of their engines' standing, best against second first.
    """
    places = [at for at, measure in enumerate(scores.measures) if measure.compares]
    wanted = [
        (one, two)
        for one, two in combinations(range(len(scores.engines)), 2)
        if among is None or {scores.engines[one], scores.engines[two]} in among
    ]
    columns = [(at, one, two) for at in places for one, two in wanted]
    by_query = scores.by_query()
    size = max(1, _BLOCK // max(1, len(scores.queries)))
    resamples = enough_resamples(max(tests, len(wanted)))
    # Measures share the signs and the resamples, as long as they fit into one block.
    blocks = [columns[start : start + size] for start in range(0, len(columns), size)]
    found = [pair for block in blocks for pair in _pairs(scores, by_query, block, resamples)]
    compared: list[Comparison] = []
    for number, at in enumerate(places):
        (family,) = adjusted_together([found[number * len(wanted) : (number + 1) * len(wanted)]])
        compared += sorted(family, key=_by_standing(by_query[0][..., at], scores.engines))
    return tuple(compared)


def adjusted_together(families: Sequence[Sequence[Comparison]]) -> list[tuple[Comparison, ...]]:
    """The same comparisons with p adjusted over all of them at once, and all that follows from it."""
    chances = np.array([np.nan if pair.p is None else pair.p for family in families for pair in family])
    level = ALPHA / max(1, int((~np.isnan(chances)).sum()))
    adjusted = iter(holm(chances))
    return [tuple(_settled(pair, _number(next(adjusted)), level) for pair in family) for family in families]


def _settled(pair: Comparison, p_holm: float | None, level: float) -> Comparison:
    """The pair with its adjusted p and what that says; `level` is what Holm asks of the first of all."""
    sd, mean, n = pair.sd, pair.difference, pair.n
    outcome = _outcome(pair, p_holm)
    needed = _needed(sd, mean, level) if outcome == "not separated" else None
    return replace(
        pair,
        p_holm=p_holm,
        detectable=detectable(sd, n, level=level) if sd is not None and n >= _fewest(level) else None,
        more=None if needed is None else max(1, needed - n),
        outcome=outcome,
    )


def _pairs(
    scores: Scores,
    by_query: tuple[Floats, Floats, Floats],
    columns: Sequence[tuple[int, int, int]],
    resamples: int,
) -> Iterator[Comparison]:
    """A comparison for each column (measure, engine, engine), all that other columns have no part in."""
    at, a, b = np.array(columns).T
    value, low, high = by_query
    ahead = value[a, :, at] - value[b, :, at]
    known = ~np.isnan(ahead)
    swap = np.where(known, ahead, 0.0).sum(1) < -_TIE * known.sum(1)
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    difference = value[a, :, at] - value[b, :, at]
    least, most = low[a, :, at] - high[b, :, at], high[a, :, at] - low[b, :, at]
    p = randomised_p(difference.T, resamples=resamples)
    intervals = np.stack(mean_intervals(difference.T), axis=1)
    for row, (measure, one, two) in enumerate(zip(at, a, b, strict=True)):
        names = str(scores.measures[measure]), scores.engines[one], scores.engines[two]
        bounded = difference[row], least[row], most[row]
        yield _comparison(names, bounded, intervals[row], p[row])


def _comparison(
    names: tuple[str, str, str], bounded: tuple[Floats, Floats, Floats], interval: Floats, p: float
) -> Comparison:
    """One pair before p is adjusted, from its (queries,) differences and their bounds."""
    known = bounded[0][~np.isnan(bounded[0])]
    n = known.size
    mean = float(known.mean()) if n else None
    sd = _deviation(known) if n > 1 else None
    least, most = _bounds(bounded, mean)
    return Comparison(
        *names,
        n=n,
        difference=mean,
        low=_number(interval[0]),
        high=_number(interval[1]),
        least=least,
        most=most,
        sd=sd,
        effect=mean / sd if mean is not None and sd else None,
        wins=int((known > _TIE).sum()),
        ties=int((np.abs(known) <= _TIE).sum()),
        losses=int((known < -_TIE).sum()),
        p=_number(p),
        p_holm=None,
        detectable=None,
        more=None,
        outcome="undetermined",
    )


def _bounds(bounded: tuple[Floats, Floats, Floats], mean: float | None) -> tuple[float | None, float | None]:
    """The least and the most that the mean could be, over the queries where both have or may get a value."""
    there = ~np.isnan(bounded[1])
    _, least, most = (_number(float(end)) for end in bounded_mean(*(array[there] for array in bounded)))
    if mean is None or least is None or most is None:
        return least, most
    # Summed with the gaps between, the same mean may round otherwise.
    return min(least, mean), max(most, mean)


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


def _outcome(pair: Comparison, p_holm: float | None) -> Outcome:
    """Who wins, given the adjusted p."""
    if p_holm is None or pair.least is None or pair.most is None:
        return "undetermined"
    if p_holm < ALPHA:
        return "better" if pair.least > 0 else "undetermined"
    # What is unjudged could turn it and weighs more than chance: further queries alone would not help.
    chance = np.inf if pair.low is None or pair.high is None else pair.high - pair.low
    return "undetermined" if pair.least <= 0 and pair.most - pair.least > chance else "not separated"


def _by_standing(value: Floats, engines: tuple[str, ...]) -> Callable[[Comparison], tuple[int, int]]:
    """Sorts pairs by the places of their engines, the better placed first."""
    means = mean_known(value, axis=1)
    order = sorted(range(len(engines)), key=lambda at: (-np.nan_to_num(means[at], nan=-1.0), engines[at]))
    place = {engines[at]: number for number, at in enumerate(order)}
    return lambda pair: (min(place[pair.a], place[pair.b]), max(place[pair.a], place[pair.b]))


def _number(value: float | np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
