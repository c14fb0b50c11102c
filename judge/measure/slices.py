"""Owns slices: the same comparison for a part of the queries, by language and by the dataset's columns.

Each has fewer queries, and among many slices one differs by chance: so p is adjusted over all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from judge.measure.compare import Comparison, adjusted_together, compare
from judge.measure.score import Scores
from judge.measure.summary import EngineSummary, summarise
from judge.records import Query

#: A column with more values than this names queries rather than kinds of queries.
MOST_VALUES = 20
#: What a column of the dataset that is called as ours is called here.
_THEIRS = "lang (dataset)"


@dataclass(frozen=True, slots=True)
class Slice:
    """The queries whose `column` has `value`.

    `comparisons` are by the first measure that compares; their `p_holm` is over all slices' pairs.
    """

    column: str
    value: str
    queries: int
    engines: tuple[EngineSummary, ...]
    comparisons: tuple[Comparison, ...]


def slices(
    scores: Scores, queries: Mapping[str, Query], among: Collection[frozenset[str]] | None = None
) -> tuple[Slice, ...]:
    """One slice for each value of `lang` and of every extra column that has 2 to 20 values.

    `among` names the pairs of engines to compare, when not all are. Queries without the column are in
    none of its slices.
    """
    deciding = [measure for measure in scores.measures if measure.compares][:1]
    found = []
    for column, values in _columns(queries).items():
        for value, ids in sorted(values.items()):
            part = scores.of_queries(ids)
            comparisons = compare(part.of_measures(deciding), among)
            found.append(Slice(column, value, len(part.queries), summarise(part), comparisons))
    families = adjusted_together([each.comparisons for each in found])
    return tuple(replace(each, comparisons=pairs) for each, pairs in zip(found, families, strict=True))


def _columns(queries: Mapping[str, Query]) -> dict[str, dict[str, frozenset[str]]]:
    """The query ids of every value of every column that divides the queries; `lang` comes first."""
    members: dict[str, dict[str, set[str]]] = {"lang": {}}
    for query in queries.values():
        for column, value in _kinds(query):
            members.setdefault(column, {}).setdefault(value, set()).add(query.id)
    return {
        column: {value: frozenset(ids) for value, ids in values.items()}
        for column, values in sorted(members.items(), key=lambda item: (item[0] != "lang", item[0]))
        if 2 <= len(values) <= MOST_VALUES
    }


def _kinds(query: Query) -> Iterator[tuple[str, str]]:
    yield "lang", query.lang
    for column, value in query.extra.items():
        if value:
            yield (_THEIRS if column == "lang" else column), value
