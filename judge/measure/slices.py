"""Owns slices: the same comparison for a part of the queries, by language and by the dataset's columns.

Each has fewer queries, and among many slices one differs by chance: so p is adjusted over all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import comb
from types import MappingProxyType

from judge.measure.compare import Comparison, adjusted_together, compare
from judge.measure.score import Scores
from judge.measure.summary import EngineSummary, summarise
from judge.records import Query

#: Values of columns by the ids of queries.
Columns = Mapping[str, Mapping[str, str]]
#: A column with more values than this names queries rather than kinds of queries.
MOST_VALUES = 20
_LANG = "lang"
_DATASET_LANG = "lang (dataset)"


@dataclass(frozen=True, slots=True)
class Slice:
    """The queries whose `column` has `value`.

    `comparisons` are by the first measure that compares, and adjusted over all slices' pairs.
    """

    column: str
    value: str
    queries: int
    engines: tuple[EngineSummary, ...]
    comparisons: tuple[Comparison, ...]


def slices(
    scores: Scores,
    queries: Mapping[str, Query],
    among: Collection[frozenset[str]] | None = None,
    noted: Columns = MappingProxyType({}),
) -> tuple[Slice, ...]:
    """One slice for each value of `lang` and of every extra column that has 2 to 20 values.

    `among` names the pairs of engines to compare, when not all are; `noted` holds columns that the run
    adds to the dataset's. Queries without the column are in none of its slices.
    """
    deciding = [measure for measure in scores.measures if measure.compares][:1]
    columns = _columns(queries, noted)
    pairs = comb(len(scores.engines), 2) if among is None else len(among)
    tests = pairs * sum(map(len, columns.values()))
    found = []
    for column, values in columns.items():
        for value, ids in sorted(values.items()):
            part = scores.of_queries(ids)
            comparisons = compare(part.of_measures(deciding), among, tests=tests)
            found.append(Slice(column, value, len(part.queries), summarise(part), comparisons))
    families = adjusted_together([each.comparisons for each in found])
    return tuple(replace(each, comparisons=pairs) for each, pairs in zip(found, families, strict=True))


def _columns(queries: Mapping[str, Query], noted: Columns) -> dict[str, dict[str, frozenset[str]]]:
    """The query ids of every value of every column that divides the queries; `lang` comes first.

    A column `lang` of the dataset that says of each query what was detected is left out.
    """
    members: dict[str, dict[str, set[str]]] = {_LANG: {}}
    for query in queries.values():
        for column, value in _kinds(query, noted):
            members.setdefault(column, {}).setdefault(value, set()).add(query.id)
    if members.get(_DATASET_LANG) == members[_LANG]:
        del members[_DATASET_LANG]
    return {
        column: {value: frozenset(ids) for value, ids in values.items()}
        for column, values in sorted(members.items(), key=lambda item: (item[0] != _LANG, item[0]))
        if 2 <= len(values) <= MOST_VALUES
    }


def _kinds(query: Query, noted: Columns) -> Iterator[tuple[str, str]]:
    yield _LANG, query.lang
    for column, by_query in noted.items():
        if query.id in by_query:
            yield column, by_query[query.id]
    for column, value in query.extra.items():
        if value:
            # What the dataset calls as a column of ours is called is told apart.
            yield (f"{column} (dataset)" if column == _LANG or column in noted else column), value
