"""Whether another treatment of the data would change the ranking of the engines.

Two checks: dividing each engine by its own list instead of the pool, which is wrong for comparisons and can
name another best engine; and counting snippets that are flagged as possible prompt injection as irrelevant,
or leaving them out. Neither changes a grade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import permutations

import numpy as np

from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.formulas import TIE, Bools, Floats
from judge.measure.measures import Measure
from judge.measure.score import Scores, compute_nan_mean, score_columns
from judge.records import Scale

#: A smaller difference of means is not worth a warning.
MIN_DIFFERENCE = 0.02


@dataclass(frozen=True, slots=True)
class OwnListReversal:
    """Two engines whose order is reversed when each is divided by its own list alone.

    By `measure` engine `better` has the higher mean, by `own` (the same with own lists) engine `worse`.
    `pooled` and `alone` are the means by the two measures, `relevant` the mean number of relevant results
    down to the cutoff; all three are of (better, worse), over the `n` queries where both have a value.
    `significant` says whether the comparison by `measure` names `better` as well.
    """

    measure: str
    own: str
    better: str
    worse: str
    pooled: tuple[float, float]
    alone: tuple[float, float]
    relevant: tuple[float, float]
    n: int
    significant: bool


def list_needed_measures(measures: Sequence[Measure], depth: int) -> tuple[Measure, ...]:
    """Return the measures that the check needs, too: nDCG and AP by own lists, and P at the same cutoff."""
    needed: list[Measure] = []
    for measure in filter(_is_pooled, measures):
        needed.append(replace(measure, own=True))
        needed.append(Measure("P", measure.choose_cutoff(depth), rel=measure.rel))
    return tuple(dict.fromkeys(needed))


def check_own_lists(
    scores: Scores, depth: int, comparisons: Iterable[PairComparison]
) -> OwnListReversal | None:
    """Return the check of the first measure by which own lists name another best engine, or None.

    Measures whose `list_needed_measures` are not among those of `scores` are skipped. `comparisons` tell
    whether the difference is significant.
    """
    values, _, _ = scores.average_repeats()
    for measure in filter(_is_pooled, scores.measures):
        needed = (measure, *list_needed_measures([measure], depth))
        if not set(needed) <= set(scores.measures):
            continue
        pooled, own, relevant = (values[..., scores.measures.index(other)] for other in needed)
        pooled_best, own_best = _find_best(pooled), _find_best(own)
        if pooled_best is None or own_best is None or pooled_best == own_best:
            continue
        both = np.stack([pooled, own, relevant])[:, [pooled_best, own_best]]
        names = scores.engines[pooled_best], scores.engines[own_best]
        if check := _make_check(needed, names, both, depth, comparisons):
            return check
    return None


def _make_check(
    measures: Sequence[Measure],
    names: tuple[str, str],
    values: Floats,
    depth: int,
    comparisons: Iterable[PairComparison],
) -> OwnListReversal | None:
    """Return the check if the order is reversed on the queries where both engines have all three values."""
    shared = ~np.isnan(values).any(axis=(0, 1))
    if not shared.any():
        return None
    cutoff = measures[0].choose_cutoff(depth)
    pooled, alone, relevant = values[..., shared].mean(-1).tolist()
    # Own lists are misleading where the better engine has more relevant results, by a clear margin.
    clear = pooled[0] - pooled[1] >= MIN_DIFFERENCE and alone[1] - alone[0] >= MIN_DIFFERENCE
    if not clear or relevant[0] <= relevant[1]:
        return None
    return OwnListReversal(
        measure=str(measures[0]),
        own=str(measures[1]),
        better=names[0],
        worse=names[1],
        pooled=(pooled[0], pooled[1]),
        alone=(alone[0], alone[1]),
        relevant=(relevant[0] * cutoff, relevant[1] * cutoff),
        n=int(shared.sum()),
        significant=any(
            (each.measure, each.winner, each.b) == (str(measures[0]), *names) for each in comparisons
        ),
    )


def _is_pooled(measure: Measure) -> bool:
    return measure.name in ("nDCG", "AP") and not measure.own


def _find_best(values: Floats) -> int | None:
    """Return the index of the engine with the highest mean of (engines, queries), of equal ones the first."""
    means = compute_nan_mean(values, axis=1)
    return None if np.isnan(means).all() else int(np.nanargmax(means))


@dataclass(frozen=True, slots=True)
class FlaggedMeans:
    """An engine's mean as it is, with flagged pairs graded 0, and without these pairs."""

    unchanged: float | None
    zeroed: float | None
    dropped: float | None


@dataclass(frozen=True, slots=True)
class FlaggedWinners:
    """The engine that is significantly better than every other one in each of the ways of `FlaggedMeans`.

    None where there is none.
    """

    unchanged: str | None
    zeroed: str | None
    dropped: str | None


@dataclass(frozen=True, slots=True)
class FlaggedEffect:
    """What the `pairs` that may contain prompt injection do to the order of the engines by `measure`.

    Of each of the `swapped` pairs the first engine has the higher mean as it is, and the lower one in another
    way. `order_changes` says whether one of them loses a lead of at least `MIN_DIFFERENCE`, or the winner is
    another one. A query without a relevant snippet does not count.
    """

    measure: str
    pairs: int
    engines: Mapping[str, FlaggedMeans]
    winners: FlaggedWinners
    swapped: tuple[tuple[str, str], ...]
    order_changes: bool


def measure_flagged_sensitivity(
    scores: Scores,
    results: ResultColumns,
    judgments: JudgmentColumns,
    scale: Scale,
    flagged: Bools,
    among: Collection[frozenset[str]] | None = None,
) -> FlaggedEffect | None:
    """Return the effect of flagged snippets on the order by the first measure that compares engines.

    None where no query with a flagged snippet is judged.

    `flagged` (pairs,) marks snippets that may contain prompt injection. `among` names the pairs of engines to
    compare, None for all.
    """
    measure = next((each for each in scores.measures if each.compares_engines), scores.measures[0])
    flagged = flagged & np.isin(results.pair_query, judgments.rows["query"])
    if not flagged.any():
        return None
    # All queries are scored again, because the grades of a query influence what is imputed on another.
    treated = (
        scores.select(measures=[measure]),
        score_columns(results, judgments.grade_zero(flagged), [measure], scale),
        score_columns(results.drop_pairs(flagged), judgments.drop_pairs(flagged), [measure], scale),
    )
    means = [each.average_queries()[str(measure)] for each in treated]
    engines = {engine: FlaggedMeans(*(each[engine] for each in means)) for engine in scores.engines}
    winners = FlaggedWinners(*(_find_winner(each, among) for each in treated))
    swapped = tuple(_find_swapped(engines))
    leads = ((engines[one].unchanged or 0.0) - (engines[two].unchanged or 0.0) for one, two in swapped)
    order_changes = len(set(astuple(winners))) > 1 or max(leads, default=0.0) >= MIN_DIFFERENCE
    return FlaggedEffect(str(measure), int(flagged.sum()), engines, winners, swapped, order_changes)


def _find_winner(scores: Scores, among: Collection[frozenset[str]] | None) -> str | None:
    wins = Counter(each.a for each in compare_engines(scores, among) if each.outcome == "better")
    return next((engine for engine, won in wins.items() if won == len(scores.engines) - 1), None)


def _find_swapped(engines: Mapping[str, FlaggedMeans]) -> Iterator[tuple[str, str]]:
    def is_better(first: float | None, second: float | None) -> bool:
        return first is not None and second is not None and first - second > TIE

    for (one, first), (two, second) in permutations(engines.items(), 2):
        if is_better(first.unchanged, second.unchanged) and (
            is_better(second.zeroed, first.zeroed) or is_better(second.dropped, first.dropped)
        ):
            yield one, two
