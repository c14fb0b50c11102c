"""Whether the ranking of the engines holds in segments, and with another treatment of the data.

A segment is the queries of one language, or with one value in a column of the dataset. It has fewer queries,
and among many segments one can differ by chance; so the error of comparisons is divided by the number of
segments. That an engine leads in one segment and not in another does not show that its lead differs between
them: a contrast tests that difference.

Two other treatments are checked, and neither changes a grade: dividing each engine by its own list instead of
the pool, which is wrong for comparisons and can name another best engine; and counting snippets that are
flagged as possible prompt injection as irrelevant, or leaving them out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import permutations
from types import MappingProxyType

import numpy as np

from judge.characters import make_natural_key
from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.engine_summary import average_engines
from judge.measure.intervals import Interval, make_finite_interval
from judge.measure.measures import Measure
from judge.measure.numeric import TIE, Bools, Floats, convert_non_finite
from judge.measure.score import Scores, compute_nan_mean, score_columns
from judge.measure.simultaneous import compare_groups
from judge.records import Query, Scale

#: Values of columns by the ids of queries.
SegmentColumns = Mapping[str, Mapping[str, str]]
#: A column with more values than this is an id, not a group of queries.
_MAX_VALUES = 20
#: So is one with more values than this, and another one on every query.
_MAX_DISTINCT = 5
_LANG = "lang"
_DATASET_LANG = "lang (dataset)"
#: A smaller difference of means is not worth a warning.
MIN_DIFFERENCE = 0.02


@dataclass(frozen=True, slots=True)
class SegmentMean:
    """The mean of one measure for one engine in a segment."""

    mean: float | None
    ci95: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class SegmentContrast:
    """The difference of engines `a` and `b` in a segment minus that on the other queries of its column.

    `inside` and `outside` are the means of a - b in the segment and on the column's other queries, `ci95` is
    the interval of `difference`, inside - outside, simultaneous over all pairs of engines, with its error
    divided by the number of contrasted segments. It excludes 0, and so the two differ, exactly when
    `p_adjusted` is below 0.05. Numbers are None where they are unknown.
    """

    a: str
    b: str
    inside: float | None
    outside: float | None
    difference: float | None
    ci95: Interval | None
    p_adjusted: float | None
    differs: bool


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The queries with one value of a column: means by engine and measure, comparisons, contrasts.

    `comparisons` and `contrasts` are by the first measure that engines can be compared by. Of a column
    with two values only the first has contrasts: those of the second are the same with the other sign.
    """

    queries: int
    engines: Mapping[str, Mapping[str, SegmentMean]]
    comparisons: tuple[PairComparison, ...]
    contrasts: tuple[SegmentContrast, ...]


def compare_segments(
    scores: Scores,
    queries: Mapping[str, Query],
    among: Collection[frozenset[str]] | None = None,
    segment_columns: SegmentColumns = MappingProxyType({}),
) -> dict[str, dict[str, SegmentResult]]:
    """Return a segment for each value of `lang` and of every extra column that has 2 to 20 values, by column.

    `among` names the pairs of engines to compare, None for all; `segment_columns` holds columns that the run
    adds to those of the dataset. Queries without a value in a column are in none of its segments.
    """
    deciding = [measure for measure in scores.measures if measure.compares_engines][:1]
    columns = _group_queries(queries, segment_columns)
    families = sum(map(len, columns.values()))
    contrasted = sum(len(values) if len(values) > 2 else 1 for values in columns.values())
    segments_by_column: dict[str, dict[str, SegmentResult]] = {}
    for column, values in columns.items():
        in_column = scores.select(queries=frozenset[str]().union(*values.values()), measures=deciding)
        for number, (value, ids) in enumerate(values.items()):
            part = scores.select(queries=ids)
            comparisons = compare_engines(part.select(measures=deciding), among, families=families)
            mirrored = len(values) == 2 and number == 1
            contrasts: tuple[SegmentContrast, ...] = ()
            if comparisons and not mirrored:
                contrasts = tuple(_compare_segment(in_column, ids, comparisons, contrasted))
            means = {
                engine: {name: SegmentMean(mean.mean, mean.ci95, mean.n) for name, mean in by_measure.items()}
                for engine, by_measure in average_engines(part).items()
            }
            result = SegmentResult(len(part.queries), means, comparisons, contrasts)
            segments_by_column.setdefault(column, {})[value] = result
    return segments_by_column


def _compare_segment(
    scores: Scores, ids: Collection[str], comparisons: Collection[PairComparison], families: int
) -> Iterator[SegmentContrast]:
    """Yield the contrast of the queries `ids` with the other ones of `scores`, by its one measure."""
    value = scores.average_repeats()[..., 0]
    row = {engine: value[index] for index, engine in enumerate(scores.engines)}
    differences = np.stack([row[comparison.a] - row[comparison.b] for comparison in comparisons], axis=1)
    members = np.array([query in ids for query in scores.queries], bool)
    test = compare_groups(differences, members, families=families)
    inside, outside = (compute_nan_mean(differences[chosen], axis=0) for chosen in (members, ~members))
    for index, comparison in enumerate(comparisons):
        ends = make_finite_interval(test.low[index], test.high[index])
        yield SegmentContrast(
            a=comparison.a,
            b=comparison.b,
            inside=convert_non_finite(inside[index]),
            outside=convert_non_finite(outside[index]),
            difference=convert_non_finite(test.mean[index]),
            ci95=ends,
            p_adjusted=convert_non_finite(test.p[index]),
            differs=ends is not None and (ends[0] > 0 or ends[1] < 0),
        )


def _group_queries(
    queries: Mapping[str, Query], segment_columns: SegmentColumns
) -> dict[str, dict[str, frozenset[str]]]:
    """Return the query ids of every value of every column with 2 to 20 values; `lang` comes first.

    Left out are a column with many values and another one on every query, and a column `lang` of the dataset
    that equals the detected languages.
    """
    members: dict[str, dict[str, set[str]]] = {_LANG: {}}
    for query in queries.values():
        row: dict[str, str] = {_LANG: query.lang}
        row |= {column: values[query.id] for column, values in segment_columns.items() if query.id in values}
        for column, value in query.extra.items():
            # A column of the dataset with the name of a column of judge gets another name.
            is_taken = column == _LANG or column in segment_columns
            row[f"{column} (dataset)" if is_taken else column] = value
        for column, value in row.items():
            if value:
                members.setdefault(column, {}).setdefault(value, set()).add(query.id)
    if members.get(_DATASET_LANG) == members[_LANG]:
        del members[_DATASET_LANG]
    return {
        column: {value: frozenset(values[value]) for value in sorted(values, key=make_natural_key)}
        for column in sorted(members, key=lambda name: (name != _LANG, make_natural_key(name)))
        if 2 <= len(values := members[column]) <= _MAX_VALUES
        and (len(values) <= _MAX_DISTINCT or any(len(ids) > 1 for ids in values.values()))
    }


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
        needed += replace(measure, own=True), Measure("P", measure.choose_cutoff(depth), rel=measure.rel)
    return tuple(dict.fromkeys(needed))


def check_own_lists(
    scores: Scores, depth: int, comparisons: Iterable[PairComparison]
) -> OwnListReversal | None:
    """Return the check of the first measure by which own lists name another best engine, or None.

    Measures whose `list_needed_measures` are not among those of `scores` are skipped. `comparisons` tell
    whether the difference is significant.
    """
    values = scores.average_repeats()
    for measure in filter(_is_pooled, scores.measures):
        needed = (measure, *list_needed_measures([measure], depth))
        if not set(needed) <= set(scores.measures):
            continue
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
    flagged: Bools,
    among: Collection[frozenset[str]] | None = None,
) -> FlaggedEffect | None:
    """Return the effect of flagged snippets on the order by the first measure that compares engines.

    None where no query with a flagged snippet is judged.

    `flagged` (pairs,) marks snippets that may contain prompt injection. `among` names the pairs of engines to
    compare, None for all.
    """
    measure = next((measure for measure in scores.measures if measure.compares_engines), scores.measures[0])
    flagged = flagged & np.isin(results.pair_query, judgments.rows["query"])
    if not flagged.any():
        return None
    # All queries are scored again, because the grades of a query influence what is imputed on another.
    treated = (
        scores.select(measures=[measure]),
        score_columns(results, judgments.grade_zero(flagged), [measure], scale),
        score_columns(results.drop_pairs(flagged), judgments.drop_pairs(flagged), [measure], scale),
    )
    means = [treated_scores.average_queries()[str(measure)] for treated_scores in treated]
    engines = {engine: FlaggedMeans(*(by_engine[engine] for by_engine in means)) for engine in scores.engines}
    winners = FlaggedWinners(*(_find_winner(treated_scores, among) for treated_scores in treated))
    swapped = tuple(_find_swapped(engines))
    leads = ((engines[one].unchanged or 0.0) - (engines[two].unchanged or 0.0) for one, two in swapped)
    order_changes = len(set(astuple(winners))) > 1 or max(leads, default=0.0) >= MIN_DIFFERENCE
    return FlaggedEffect(str(measure), int(flagged.sum()), engines, winners, swapped, order_changes)


def _find_winner(scores: Scores, among: Collection[frozenset[str]] | None) -> str | None:
    wins = Counter(
        comparison.a for comparison in compare_engines(scores, among) if comparison.outcome == "better"
    )
    return next((engine for engine, won in wins.items() if won == len(scores.engines) - 1), None)


def _find_swapped(engines: Mapping[str, FlaggedMeans]) -> Iterator[tuple[str, str]]:
    for (one, first), (two, second) in permutations(engines.items(), 2):
        means = zip(astuple(first), astuple(second), strict=True)
        lead, *others = (0.0 if None in both else both[0] - both[1] for both in means)
        if lead > TIE and min(others) < -TIE:
            yield one, two
