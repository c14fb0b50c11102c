"""Comparison of engines in segments: queries of one language, or with one value in a column of the dataset.

A segment has fewer queries, and among many segments one can differ by chance; so the error of comparisons
is divided by the number of segments. That an engine leads in one segment and not in another does not show
that its lead differs between them: a contrast tests that difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from judge.measure.compare import Comparison, compare_engines
from judge.measure.engine_summary import EngineSummary, summarise_engines
from judge.measure.formulas import finite_or_none
from judge.measure.score import Scores, nan_mean
from judge.measure.simultaneous import compare_groups
from judge.records import Query

#: Values of columns by the ids of queries.
SegmentColumns = Mapping[str, Mapping[str, str]]
#: A column with more values than this is an id, not a group of queries.
MAX_VALUES = 20
_LANG = "lang"
_DATASET_LANG = "lang (dataset)"


@dataclass(frozen=True, slots=True)
class Contrast:
    """The difference of engines `a` and `b` in a segment minus that on the other queries of its column.

    `inside` and `outside` are the means of a - b in the segment and on the column's other queries, `low`
    to `high` the 95 % interval of `difference`, inside - outside, simultaneous over all pairs of engines,
    with its error divided by the number of contrasted segments. `p_adjusted` is below 0.05 exactly when
    the interval excludes 0. Numbers are None where they are unknown.
    """

    a: str
    b: str
    inside: float | None
    outside: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None

    @property
    def differs(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Segment:
    """The queries whose `column` has `value`.

    `comparisons` and `contrasts` are by the first measure that engines can be compared by. Of a column
    with two values only the first has contrasts: those of the second are the same with the other sign.
    """

    column: str
    value: str
    queries: int
    engines: tuple[EngineSummary, ...]
    comparisons: tuple[Comparison, ...]
    contrasts: tuple[Contrast, ...] = ()


def compare_segments(
    scores: Scores,
    queries: Mapping[str, Query],
    among: Collection[frozenset[str]] | None = None,
    added: SegmentColumns = MappingProxyType({}),
) -> tuple[Segment, ...]:
    """Return a segment for each value of `lang` and of every extra column that has 2 to 20 values.

    `among` names the pairs of engines to compare, None for all; `added` holds columns that the run adds to
    those of the dataset. Queries without a value in a column are in none of its segments.
    """
    deciding = [measure for measure in scores.measures if measure.compares_engines][:1]
    columns = _group_queries(queries, added)
    segments = sum(map(len, columns.values()))
    contrasted = sum(len(values) if len(values) > 2 else 1 for values in columns.values())
    result = []
    for column, values in columns.items():
        in_column = scores.select_queries(frozenset[str]().union(*values.values())).select_measures(deciding)
        for number, (value, ids) in enumerate(sorted(values.items())):
            part = scores.select_queries(ids)
            comparisons = compare_engines(part.select_measures(deciding), among, families=segments)
            mirrored = len(values) == 2 and number == 1
            contrasts = (
                () if mirrored or not comparisons else _contrast(in_column, ids, comparisons, contrasted)
            )
            summary = summarise_engines(part)
            result.append(Segment(column, value, len(part.queries), summary, comparisons, tuple(contrasts)))
    return tuple(result)


def _contrast(
    scores: Scores, ids: Collection[str], pairs: Collection[Comparison], families: int
) -> Iterator[Contrast]:
    """Yield the contrast of the queries `ids` with the other ones of `scores`, by its one measure."""
    value = scores.average_repeats()[0][..., 0]
    row = {engine: value[index] for index, engine in enumerate(scores.engines)}
    differences = np.stack([row[pair.a] - row[pair.b] for pair in pairs], axis=1)
    members = np.array([query in ids for query in scores.queries], bool)
    test = compare_groups(differences, members, families=families)
    inside, outside = (nan_mean(differences[chosen], axis=0) for chosen in (members, ~members))
    for index, pair in enumerate(pairs):
        columns = (inside, outside, test.mean, test.low, test.high, test.p)
        yield Contrast(pair.a, pair.b, *(finite_or_none(column[index]) for column in columns))


def _group_queries(
    queries: Mapping[str, Query], added: SegmentColumns
) -> dict[str, dict[str, frozenset[str]]]:
    """Return the query ids of every value of every column with 2 to 20 values; `lang` comes first.

    A column `lang` of the dataset is left out when it equals the detected languages.
    """
    members: dict[str, dict[str, set[str]]] = {_LANG: {}}
    for query in queries.values():
        for column, value in _query_columns(query, added):
            members.setdefault(column, {}).setdefault(value, set()).add(query.id)
    if members.get(_DATASET_LANG) == members[_LANG]:
        del members[_DATASET_LANG]
    return {
        column: {value: frozenset(ids) for value, ids in values.items()}
        for column, values in sorted(members.items(), key=lambda item: (item[0] != _LANG, item[0]))
        if 2 <= len(values) <= MAX_VALUES
    }


def _query_columns(query: Query, added: SegmentColumns) -> Iterator[tuple[str, str]]:
    yield _LANG, query.lang
    for column, by_query in added.items():
        if query.id in by_query:
            yield column, by_query[query.id]
    for column, value in query.extra.items():
        if value:
            # A column of the dataset with the name of a column of judge gets another name.
            yield (f"{column} (dataset)" if column == _LANG or column in added else column), value
