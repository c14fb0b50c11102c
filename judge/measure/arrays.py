"""Arrays of graded rankings, built from records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import count
from typing import Any

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import Bools, Floats, Ints
from judge.records import Judgment, Ranking, Scale

#: Stands in arrays of grades where there is no grade.
NO_GRADE = -1


@dataclass(frozen=True, slots=True)
class RankedLists:
    """Every engine's list for every topic, and the pool that the lists make up.

    Shapes are (engines, topics, ranks) unless said otherwise. `grade` is `NO_GRADE` where a snippet is
    unjudged or nothing was returned. `origin` is the rank (from 0) at which the list shows the document
    first, -1 where nothing was returned. `document` numbers the documents of a topic, `snippet` the
    snippets of the pool, `missing` the unjudged pairs of all topics, -1 elsewhere. `best` (topics,
    documents) is a document's best known grade in the pool. `depth` is how deep was judged, however short
    the lists are.
    """

    depth: int
    grade: Ints
    origin: Ints
    document: Ints
    snippet: Ints
    missing: Ints
    best: Ints

    @property
    def first(self) -> Bools:
        """Where a snippet stands whose document the list has not shown before."""
        return np.equal(self.origin, np.arange(self.grade.shape[-1]))

    @property
    def open(self) -> Bools:
        """Where a missing grade would change what the list earns."""
        return np.logical_and(self.first, self.unjudged)

    @property
    def unjudged(self) -> Bools:
        """Where a snippet stands that has no grade, duplicates included."""
        return np.greater_equal(self.missing, 0)

    def gains(self, table: Floats, missing: Floats | float) -> Floats:
        """The gain at every rank: `table[grade]`, `missing` where open, 0 for duplicates and past the end."""
        judged = np.append(table, 0.0)[self.grade]
        return np.where(self.open, missing, np.where(self.first, judged, 0.0))

    def pool_gains(self, table: Floats) -> Floats:
        """Return (topics, documents) the gain of each document's best known grade, 0 where none is known."""
        best: Floats = np.append(table, 0.0)[self.best]
        return best

    def best_here(self) -> Ints:
        """The best known grade, in the whole pool, of the document at every rank."""
        topics = np.arange(self.best.shape[0])[None, :, None]
        here: Ints = self.best[topics, self.document]
        return here

    def of_topics(self, chosen: Bools | Ints) -> RankedLists:
        """Return the same for some of the topics."""
        return RankedLists(
            self.depth,
            self.grade[:, chosen],
            self.origin[:, chosen],
            self.document[:, chosen],
            self.snippet[:, chosen],
            self.missing[:, chosen],
            self.best[chosen],
        )

    def completed(self, grades: Ints) -> RankedLists:
        """Return the lists judged in full, each topic once for every column of `grades`.

        `grades` (unjudged pairs, columns) has the rows that `missing` numbers. The lists that come out of
        one topic are neighbours: (engines, topics * columns, ranks).
        """
        columns = grades.shape[1]
        engine, topic, rank = np.nonzero(self.unjudged)
        drawn = grades[self.missing[engine, topic, rank]]
        place = topic[:, None] * columns + np.arange(columns)
        grade, origin, document, snippet = (
            np.repeat(array, columns, axis=1)
            for array in (self.grade, self.origin, self.document, self.snippet)
        )
        best = np.repeat(self.best, columns, axis=0)
        grade[engine[:, None], place, rank[:, None]] = drawn
        np.maximum.at(best, (place, self.document[engine, topic, rank][:, None]), drawn)
        return RankedLists(self.depth, grade, origin, document, snippet, np.full_like(grade, -1), best)

    def alone(self, depth: int) -> RankedLists:
        """Each list, cut at `depth`, as the only one of a pool of its own: (1, engines * topics, depth)."""

        def one(array: Ints) -> Ints:
            return np.ascontiguousarray(array[..., :depth]).reshape(1, -1, min(depth, array.shape[-1]))

        grade, origin = one(self.grade), one(self.origin)
        best = find_best_grades(grade, origin, grade.shape[-1])
        return RankedLists(self.depth, grade, origin, origin, one(self.snippet), one(self.missing), best)


def find_best_grades(grade: Ints, document: Ints, documents: int) -> Ints:
    """(topics, documents): the best grade that any list (engines, topics, ranks) has for each document."""
    best = np.full((grade.shape[1], documents), NO_GRADE)
    topic = np.broadcast_to(np.arange(grade.shape[1])[None, :, None], grade.shape)
    np.maximum.at(best, (topic, document), grade)
    return best


#: Lists are padded to so many ranks, whatever the longest is: sums down to a cutoff of the defaults then
#: round alike, whichever other lists there are.
_MIN_WIDTH = 10


@dataclass(frozen=True, slots=True)
class Coverage:
    """What there was to measure, before any measure. Shapes are (engines, queries) unless said otherwise.

    `returned` and `duplicates` count snippets down to the pool's depth. `errors` marks engines that
    broke, `absent` engines that have no ranking. `graded` (engines, queries, repeats) counts snippets
    with a grade. `blind` (same shape) marks lists that have snippets and not one grade. `pooled`
    (queries,) counts the documents of the pool, `unique` those that this engine alone found.
    """

    returned: Ints
    duplicates: Ints
    errors: Bools
    absent: Bools
    graded: Ints
    blind: Bools
    pooled: Ints
    unique: Ints

    def __repr__(self) -> str:
        engines, queries, repeats = self.graded.shape
        return f"Coverage(engines={engines}, queries={queries}, repeats={repeats})"

    @property
    def missing(self) -> Bools:
        """Where there is no list to measure; an empty list is one."""
        return self.errors | self.absent

    def of_engines(self, chosen: Bools) -> Coverage:
        """The same for some of the engines."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        return Coverage(**{name: a if name == "pooled" else a[chosen] for name, a in arrays.items()})

    def of_queries(self, chosen: Bools) -> Coverage:
        """The same for some of the queries."""
        return Coverage(
            **{
                each.name: getattr(self, each.name)[chosen if each.name == "pooled" else np.s_[:, chosen]]
                for each in fields(self)
            }
        )


@dataclass(frozen=True, slots=True)
class Arrays:
    """The axes, what stands at them, and what there was to measure.

    `pairs` are the distinct (query id, snippet id) in the order in which `lists.snippet` numbers them,
    `grades` (pairs, repeats) their grades. `lists.missing` numbers the cells of `grades` that are
    `NO_GRADE`, row by row.
    """

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    repeats: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    grades: Ints
    lists: RankedLists
    coverage: Coverage


def build_arrays(
    rankings: Sequence[Ranking],
    documents: Mapping[tuple[str, str], tuple[str, ...]],
    judgments: Iterable[Judgment],
    scale: Scale,
    *,
    depth: int,
) -> Arrays:
    """The arrays of `rankings`, their pool's `documents` (rank order, down to `depth`) and `judgments`.

    Raises `InputError` when an engine has two rankings for a query, a grade is not on the scale, or
    one pair has two grades in one repeat.
    """
    layout = _lay_out(rankings, documents, depth)
    width = min(depth, max(_MIN_WIDTH, int(layout.returned.max(initial=0))))
    repeats, grades = _collect_grades(layout.pairs, judgments, scale)
    times = len(repeats)
    origin, document, snippet = (
        np.repeat(layout.padded(numbers, width), times, axis=1)
        for numbers in (layout.origins, layout.documents, layout.snippets)
    )
    # Past the end of a list the snippet is number -1, which finds the row added here.
    judged = np.append(grades, np.full((1, times), NO_GRADE), axis=0)
    missing = np.full_like(judged, -1)
    unjudged = grades == NO_GRADE
    missing[:-1][unjudged] = np.arange(np.count_nonzero(unjudged))
    repeat = np.arange(snippet.shape[1])[:, None] % times
    grade = judged[snippet, repeat]
    best = find_best_grades(grade, document, max(map(len, layout.numbers), default=0) or 1)
    lists = RankedLists(depth, grade, origin, document, snippet, missing[snippet, repeat], best)
    return Arrays(
        tuple(layout.engines),
        tuple(layout.queries),
        repeats,
        tuple(layout.pairs),
        grades,
        lists,
        _measure_coverage(layout, lists, times),
    )


@dataclass(slots=True)
class _Layout:
    """Where every snippet stands: lists end to end, engine by engine and query by query.

    `returned` (engines, queries) holds their lengths. `pairs` numbers the distinct (query, snippet),
    `numbers` the documents of each query.
    """

    engines: dict[str, int]
    queries: dict[str, int]
    returned: Ints
    errors: Bools
    absent: Bools
    pairs: defaultdict[tuple[str, str], int]
    numbers: list[defaultdict[str, int]]
    origins: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    snippets: list[int] = field(default_factory=list)

    def padded(self, numbers: Sequence[int], width: int) -> Ints:
        """(engines, queries, ranks): lists end to end, each filled up with -1 to `width`."""
        array = np.full((*self.returned.shape, width), -1)
        array[np.arange(width) < self.returned[..., None]] = numbers
        return array


def _lay_out(
    rankings: Sequence[Ranking], documents: Mapping[tuple[str, str], tuple[str, ...]], depth: int
) -> _Layout:
    engines = {engine: at for at, engine in enumerate(sorted({ranking.engine for ranking in rankings}))}
    queries = {query: at for at, query in enumerate(sorted({ranking.query_id for ranking in rankings}))}
    cells = len(engines), len(queries)
    returned, errors, absent = np.zeros(cells, np.int64), np.zeros(cells, bool), np.ones(cells, bool)
    numbers = [_make_numbering() for _ in queries]
    layout = _Layout(engines, queries, returned, errors, absent, _make_numbering(), numbers)
    for ranking in sorted(rankings, key=lambda ranking: (ranking.engine, ranking.query_id)):
        cell = engines[ranking.engine], queries[ranking.query_id]
        if not absent[cell]:
            raise InputError(f"engine {ranking.engine!r} has two rankings for query {ranking.query_id!r}")
        absent[cell] = False
        errors[cell] = ranking.error is not None
        if ranking.error is None:
            shown = documents.get((ranking.engine, ranking.query_id), ())
            _add_ranking(layout, cell, ranking, shown[:depth], depth)
    return layout


def _add_ranking(
    layout: _Layout, cell: tuple[int, int], ranking: Ranking, shown: Sequence[str], depth: int
) -> None:
    snippets = ranking.snippets[:depth]
    if len(shown) != len(snippets):
        raise ValueError(
            f"the pool has {len(shown)} documents for engine {ranking.engine!r} on query "
            f"{ranking.query_id!r}, which returned {len(snippets)} snippets down to depth {depth}"
        )
    seen: dict[str, int] = {}
    numbers = layout.numbers[cell[1]]
    layout.returned[cell] = len(snippets)
    layout.origins += [seen.setdefault(document, rank) for rank, document in enumerate(shown)]
    layout.documents += [numbers[document] for document in shown]
    layout.snippets += [layout.pairs[ranking.query_id, snippet.id] for snippet in snippets]


def _make_numbering() -> defaultdict[Any, int]:
    """Numbers its keys from 0 in the order in which they are first asked for."""
    return defaultdict(count().__next__)


def _collect_grades(
    pairs: Mapping[tuple[str, str], int], judgments: Iterable[Judgment], scale: Scale
) -> tuple[tuple[int, ...], Ints]:
    """The repeats, and (pairs, repeats) grades. A pair that failed once and was graded later is graded."""
    judgments = list(judgments)
    columns = {repeat: at for at, repeat in enumerate(sorted({j.repeat for j in judgments} or {0}))}
    grades = np.full((len(pairs), len(columns)), NO_GRADE)
    found = ((pairs.get((j.query_id, j.snippet_id)), columns[j.repeat], j.grade) for j in judgments)
    known = [cell for cell in found if cell[0] is not None and cell[2] is not None]
    row, column, grade = np.array(known, dtype=np.int64).reshape(-1, 3).T
    grades[row, column] = grade
    if np.any(grades[row, column] != grade) or np.any((grade < 0) | (grade > scale.top)):
        raise InputError(_describe_contradiction(pairs, judgments, scale))
    return tuple(columns), grades


def _describe_contradiction(
    pairs: Mapping[tuple[str, str], int], judgments: Sequence[Judgment], scale: Scale
) -> str:
    """What is wrong with the first judgment, in the order of names, that can't stand."""
    seen: dict[tuple[str, str, int], int] = {}
    graded = (
        ((j.query_id, j.snippet_id, j.repeat), j.grade)
        for j in judgments
        if j.grade is not None and (j.query_id, j.snippet_id) in pairs
    )
    for key, grade in sorted(graded):
        where = "query {!r}, snippet {!r}, repeat {}".format(*key)
        if not 0 <= grade <= scale.top:
            return f"{where} has grade {grade}, which is not on the {scale.name} scale 0-{scale.top}"
        if seen.setdefault(key, grade) != grade:
            both = f"{seen[key]} and {grade}"
            return f"{where} has the grades {both}; score the judgments of one assessor at a time"
    raise AssertionError("every judgment can stand")


def _measure_coverage(layout: _Layout, lists: RankedLists, times: int) -> Coverage:
    duplicates = layout.returned - lists.first[:, ::times].sum(-1)
    graded = (lists.grade != NO_GRADE).sum(-1).reshape(*layout.returned.shape, times)
    blind = (graded == 0) & (layout.returned > 0)[..., None]
    pooled, unique = _count_documents(layout, lists, times)
    return Coverage(layout.returned, duplicates, layout.errors, layout.absent, graded, blind, pooled, unique)


def _count_documents(layout: _Layout, lists: RankedLists, times: int) -> tuple[Ints, Ints]:
    """(queries,) documents in the pool, and (engines, queries) those that one engine alone found."""
    first, document = lists.first[:, ::times], lists.document[:, ::times]
    engine, query, rank = np.nonzero(first)
    found = query, document[engine, query, rank]
    finders = np.zeros((len(layout.queries), lists.best.shape[-1]), np.int64)
    np.add.at(finders, found, 1)
    unique = np.zeros(layout.returned.shape, np.int64)
    np.add.at(unique, (engine, query), finders[found] == 1)
    return (finders > 0).sum(-1), unique
