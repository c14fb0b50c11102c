"""Whether the order of the engines stays the same with another treatment of the data.

Two treatments are checked, and neither changes a grade. The first one divides each engine by its own list
instead of the pool, which is wrong for comparisons and can name another best engine. The second one counts
snippets that are flagged as possible prompt injection as irrelevant, or leaves them out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import permutations

import numpy as np

from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.measures import Measure
from judge.measure.numeric import TIE, Bools, Floats
from judge.measure.score import Scores, compute_nan_mean, score_columns
from judge.records import Scale

#: A smaller difference of means is not worth a warning.
MIN_DIFFERENCE = 0.02


@dataclass(frozen=True, slots=True)
class OwnListReversal:
    """Two engines whose order is reversed when each is divided by its own list alone.

    By `measure` engine `better` has the higher mean, by `own` (the same with own lists) engine `worse`.
    `pooled` and `alone` are the means by the two measures, and `relevant` is the mean number of relevant
    results down to the cutoff. All three are of (better, worse), over the `n` queries where both have a
    value. `significant` says whether the comparison by `measure` names `better` as well.
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
        needed += replace(measure, own=True), Measure("P", measure.choose_cutoff(depth), rel=measure.rel)
    return tuple(dict.fromkeys(needed))


def check_own_lists(
    scores: Scores, depth: int, comparisons: Iterable[PairComparison]
) -> OwnListReversal | None:
    """Return the check of the first measure by which own lists name another best engine, or None.

    `scores` have the `list_needed_measures`, too. `comparisons` show whether the difference is significant.
    """
    values = scores.average_repeats()
    for measure in filter(_is_pooled, scores.measures):
        needed = (measure, *list_needed_measures([measure], depth))
        pooled, own, relevant = (values[..., scores.measures.index(other)] for other in needed)
        pooled_best, own_best = _find_best(pooled), _find_best(own)
        if pooled_best is None or own_best is None or pooled_best == own_best:
            continue
        names = scores.engines[pooled_best], scores.engines[own_best]
        # (measures, the best engine by the pool and that by own lists, queries)
        both = np.stack([pooled, own, relevant])[:, [pooled_best, own_best]]
        shared = ~np.isnan(both).any(axis=(0, 1))
        if not shared.any():
            continue
        means = both[..., shared].mean(-1)
        leads = means[:, 0] - means[:, 1]
        # Own lists are misleading where the better engine has more relevant results, by a clear margin.
        if leads[0] < MIN_DIFFERENCE or -leads[1] < MIN_DIFFERENCE or leads[2] <= 0:
            continue
        means[2] *= measure.choose_cutoff(depth)
        of_pooled, of_own, of_relevant = map(tuple, means.tolist())
        return OwnListReversal(
            measure=str(measure),
            own=str(needed[1]),
            better=names[0],
            worse=names[1],
            pooled=of_pooled,
            alone=of_own,
            relevant=of_relevant,
            n=int(shared.sum()),
            significant=any(
                (comparison.measure, comparison.winner, comparison.b) == (str(measure), *names)
                for comparison in comparisons
            ),
        )
    return None


def _is_pooled(measure: Measure) -> bool:
    return "own" in measure.kind.parameters and not measure.own


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
    """The best engine for each treatment of flagged pairs (unchanged, zeroed, dropped).

    It is significantly better than every other one; None where no engine is.
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
    flagged_results: Bools,
    engine_pairs: Collection[frozenset[str]] | None = None,
) -> FlaggedEffect | None:
    """Return the effect of flagged snippets on the order by the first measure that compares engines.

    None where no measure compares engines, and where no query with a flagged snippet is judged.

    `flagged_results` (engines, queries, ranks) marks those that may contain prompt injection. `engine_pairs`
    are those to compare, None for all.
    """
    measure = next((measure for measure in scores.measures if measure.compares_engines), None)
    flagged = np.zeros(len(results.snippet_ids), bool)
    flagged[results.pair[flagged_results]] = True
    flagged &= np.isin(results.pair_query, judgments.rows["query"])
    if measure is None or not flagged.any():
        return None
    # All queries are scored again, because the grades of a query influence what is imputed on another.
    treated = (
        scores.select(measures=[measure]),
        score_columns(results, judgments.grade_zero(flagged), [measure], scale),
        score_columns(results.drop_pairs(flagged), judgments.drop_pairs(flagged), [measure], scale),
    )
    means = [treated_scores.average_queries()[str(measure)] for treated_scores in treated]
    engines = {engine: FlaggedMeans(*(by_engine[engine] for by_engine in means)) for engine in scores.engines}
    winners = FlaggedWinners(*(_find_winner(treated_scores, engine_pairs) for treated_scores in treated))
    swapped = tuple(_find_swapped(engines))
    leads = ((engines[one].unchanged or 0.0) - (engines[two].unchanged or 0.0) for one, two in swapped)
    order_changes = len(set(astuple(winners))) > 1 or max(leads, default=0.0) >= MIN_DIFFERENCE
    return FlaggedEffect(str(measure), int(flagged.sum()), engines, winners, swapped, order_changes)


def _find_winner(scores: Scores, engine_pairs: Collection[frozenset[str]] | None) -> str | None:
    wins = Counter(
        comparison.a for comparison in compare_engines(scores, engine_pairs) if comparison.outcome == "better"
    )
    return next((engine for engine, won in wins.items() if won == len(scores.engines) - 1), None)


def _find_swapped(engines: Mapping[str, FlaggedMeans]) -> Iterator[tuple[str, str]]:
    for (one, first), (two, second) in permutations(engines.items(), 2):
        means = zip(astuple(first), astuple(second), strict=True)
        lead, *others = (0.0 if None in both else both[0] - both[1] for both in means)
        if lead > TIE and min(others) < -TIE:
            yield one, two
