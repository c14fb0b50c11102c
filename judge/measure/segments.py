"""Segments of the queries: the means of the engines, and whether a difference differs from the other queries.

A segment is the queries of one language, or with one value in a column of the dataset. It has fewer queries,
and among many segments one can differ by chance; so the error of comparisons is divided by the number of
segments. That an engine leads in one segment and not in another does not show that its lead differs between
them: a contrast tests that difference.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from judge.characters import make_natural_key
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.engine_summary import average_engines
from judge.measure.intervals import Interval, make_finite_interval
from judge.measure.numeric import convert_non_finite
from judge.measure.score import Scores, compute_nan_mean
from judge.measure.simultaneous import compare_groups
from judge.records import Query

#: Values of columns by the ids of queries.
SegmentColumns = Mapping[str, Mapping[str, str]]
#: A column with more values than this is an id, not a group of queries.
_MAX_VALUES = 20
#: So is one with more values than this, and another one on every query.
_MAX_DISTINCT = 5
_LANG = "lang"
_DATASET_LANG = "lang (dataset)"


@dataclass(frozen=True, slots=True)
class SegmentMean:
    """The mean of one measure for one engine in a segment."""

    mean: float | None
    ci95: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class SegmentContrast:
    """The difference of engines `a` and `b` in a segment minus that on the other queries of its column.

    `inside` and `outside` are the means of a - b in the segment and on the column's other queries. `ci95` is
    the interval of `difference`, inside - outside. It is simultaneous over all pairs of engines, with its
    error divided by the number of contrasted segments. It excludes 0, and so the two differ, exactly when
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
    engine_pairs: Collection[frozenset[str]] | None = None,
    segment_columns: SegmentColumns = MappingProxyType({}),
) -> dict[str, dict[str, SegmentResult]]:
    """Return a segment for each value of `lang` and of every extra column that has 2 to 20 values, by column.

    `engine_pairs` are those to compare, None for all; `segment_columns` holds columns that the run adds to
    those of the dataset. Queries without a value in a column are in none of its segments.
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
            comparisons = compare_engines(part.select(measures=deciding), engine_pairs, families=families)
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
    intervals = compare_groups(differences, members, families=families)
    inside, outside = (compute_nan_mean(differences[chosen], axis=0) for chosen in (members, ~members))
    for index, comparison in enumerate(comparisons):
        ends = make_finite_interval(intervals.low[index], intervals.high[index])
        yield SegmentContrast(
            a=comparison.a,
            b=comparison.b,
            inside=convert_non_finite(inside[index]),
            outside=convert_non_finite(outside[index]),
            difference=convert_non_finite(intervals.mean[index]),
            ci95=ends,
            p_adjusted=convert_non_finite(intervals.p[index]),
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
