"""Arrays of grades, built from rankings and judgments.

Engines and queries are sorted by name, so the order of the input does not influence a result. A topic is
one query in one repeat; the repeats of a query are neighbours. Lists are pad to the longest one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import count
from typing import Any

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import Bools, Floats, Ints
from judge.messages import Message
from judge.records import Judgment, Ranking, Scale

#: The value in arrays of grades where there is no grade.
NO_GRADE = -1


@dataclass(frozen=True, slots=True)
class RankedLists:
    """The list of every engine for every topic, and the pool of these lists.

    Arrays have the shape (engines, topics, ranks) unless another one is given. `grade` is `NO_GRADE` where
    a snippet is unjudged and past the end of a list. `origin` is the rank (from 0) at which the list shows
    the document first, -1 past the end. `document` numbers the documents of a topic, `snippet` the
    snippets of the pool, `missing` the unjudged pairs of all topics; -1 elsewhere. `best` (topics,
    documents) is the best known grade of a document in the pool. `depth` is the depth of judging, which
    may be larger than the longest list.
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
        """Return True where a snippet shows a document for the first time in its list."""
        return np.equal(self.origin, np.arange(self.grade.shape[-1]))

    @property
    def open(self) -> Bools:
        """Return True where the grade of an unjudged snippet would count: duplicates do not."""
        return np.logical_and(self.first, self.unjudged)

    @property
    def unjudged(self) -> Bools:
        """Return True where a snippet has no grade, duplicates included."""
        return np.greater_equal(self.missing, 0)

    def gains(self, table: Floats, missing: float, cutoff: int) -> Floats:
        """Return the gains down to `cutoff`: `table[grade]`, `missing` where open, 0 for duplicates."""
        grade, origin = self.grade[..., :cutoff], self.origin[..., :cutoff]
        # The entry of `NO_GRADE` is the last one.
        gain: Floats = np.append(table, missing)[grade]
        gain[origin != np.arange(origin.shape[-1])] = 0.0
        return gain

    def pool_gains(self, table: Floats) -> Floats:
        """Return the (topics, documents) gain of the best known grade of each document, 0 without a grade."""
        best: Floats = np.append(table, 0.0)[self.best]
        return best

    def best_of_documents(self) -> Ints:
        """Return the best known grade in the pool of the document at every rank."""
        topics = np.arange(self.best.shape[0])[None, :, None]
        best: Ints = self.best[topics, self.document]
        return best

    def select_topics(self, chosen: Bools | Ints) -> RankedLists:
        """Return the lists of some topics; `chosen` holds indexes, or marks them."""
        return RankedLists(
            self.depth,
            self.grade[:, chosen],
            self.origin[:, chosen],
            self.document[:, chosen],
            self.snippet[:, chosen],
            self.missing[:, chosen],
            self.best[chosen],
        )

    def complete(self, grades: Ints) -> RankedLists:
        """Return the lists with all grades filled in, each topic once for every column of `grades`.

        `grades` is (unjudged pairs, columns), its rows numbered as in `missing`. The result has the shape
        (engines, topics * columns, ranks); the copies of one topic are neighbours.
        """
        columns = grades.shape[1]
        engine, topic, rank = np.nonzero(self.unjudged)
        drawn = grades[self.missing[engine, topic, rank]]
        target = topic[:, None] * columns + np.arange(columns)
        grade, origin, document, snippet = (
            np.repeat(array, columns, axis=1)
            for array in (self.grade, self.origin, self.document, self.snippet)
        )
        best = np.repeat(self.best, columns, axis=0)
        grade[engine[:, None], target, rank[:, None]] = drawn
        np.maximum.at(best, (target, self.document[engine, topic, rank][:, None]), drawn)
        return RankedLists(self.depth, grade, origin, document, snippet, np.full_like(grade, -1), best)

    def isolate(self, depth: int) -> RankedLists:
        """Return each list, cut at `depth`, isolate in a pool of its own: (1, engines * topics, depth)."""

        def flatten(array: Ints) -> Ints:
            return np.ascontiguousarray(array[..., :depth]).reshape(1, -1, min(depth, array.shape[-1]))

        grade, origin = flatten(self.grade), flatten(self.origin)
        best = find_best_grades(grade, origin, grade.shape[-1])
        return RankedLists(
            self.depth, grade, origin, origin, flatten(self.snippet), flatten(self.missing), best
        )


def find_best_grades(grade: Ints, document: Ints, documents: int) -> Ints:
    """Return the (topics, documents) best grades in lists of (engines, topics, ranks)."""
    best = np.full((grade.shape[1], documents), NO_GRADE)
    topic = np.broadcast_to(np.arange(grade.shape[1])[None, :, None], grade.shape)
    np.maximum.at(best, (topic, document), grade)
    return best


#: Lists are pad to at least this many ranks. Then sums down to the default cutoffs round in the same
#: way, whichever other lists there are.
_MIN_WIDTH = 10


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was returned and judged. Arrays are (engines, queries) unless another shape is given.

    `returned` and `duplicates` count snippets down to the depth of the pool. `errors` marks engines that
    failed, `absent` engines without a ranking. `graded` (engines, queries, repeats) counts snippets with a
    grade, `ungraded` (same shape) marks lists that have snippets and no grade at all. `pooled` (queries,)
    counts the documents of the pool, `unique` those that no other engine returned.
    """

    returned: Ints
    duplicates: Ints
    errors: Bools
    absent: Bools
    graded: Ints
    ungraded: Bools
    pooled: Ints
    unique: Ints

    def __repr__(self) -> str:
        engines, queries, repeats = self.graded.shape
        return f"Coverage(engines={engines}, queries={queries}, repeats={repeats})"

    @property
    def missing(self) -> Bools:
        """Return True where there is no list to measure; an empty list is a list."""
        return self.errors | self.absent

    def select_engines(self, chosen: Bools) -> Coverage:
        """Return the coverage of some engines, (engines,) marked True."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        return Coverage(**{name: a if name == "pooled" else a[chosen] for name, a in arrays.items()})

    def select_queries(self, chosen: Bools) -> Coverage:
        """Return the coverage of some queries, (queries,) marked True."""
        return Coverage(
            **{
                each.name: getattr(self, each.name)[chosen if each.name == "pooled" else np.s_[:, chosen]]
                for each in fields(self)
            }
        )


@dataclass(frozen=True, slots=True)
class Arrays:
    """Ranked lists with the names of their axes, their grades by pair, and their coverage.

    `pairs` are the distinct (query id, snippet id), numbered as in `lists.snippet`, and `grades` (pairs,
    repeats) their grades. `lists.missing` numbers the cells of `grades` that are `NO_GRADE`, row by row.
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
    """Return the arrays of `rankings` and `judgments`; `documents` names the pool's, in rank order.

    Raise `InputError` when an engine has two rankings for a query, a grade is not on the scale, or a pair
    has two grades in one repeat; `ValueError` when `documents` do not fit the rankings.
    """
    layout = _lay_out(rankings, documents, depth)
    width = min(depth, max(_MIN_WIDTH, int(layout.returned.max(initial=0))))
    repeats, grades = _collect_grades(layout.pairs, judgments, scale)
    times = len(repeats)
    origin, document, snippet = (
        np.repeat(layout.pad(numbers, width), times, axis=1)
        for numbers in (layout.origins, layout.documents, layout.snippets)
    )
    # Past the end of a list the snippet has the index -1, which is the row added here.
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
    """The lists as flat sequences of numbers, engine by engine and query by query.

    `returned` (engines, queries) holds the lengths of the lists. `pairs` numbers the distinct (query id,
    snippet id), `numbers` the documents of each query.
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

    def pad(self, numbers: Sequence[int], width: int) -> Ints:
        """Return (engines, queries, ranks): the flat `numbers` cut into lists, each filled with -1."""
        array = np.full((*self.returned.shape, width), -1)
        array[np.arange(width) < self.returned[..., None]] = numbers
        return array


def _lay_out(
    rankings: Sequence[Ranking], documents: Mapping[tuple[str, str], tuple[str, ...]], depth: int
) -> _Layout:
    engines = {engine: index for index, engine in enumerate(sorted({ranking.engine for ranking in rankings}))}
    queries = {query: index for index, query in enumerate(sorted({ranking.query_id for ranking in rankings}))}
    cells = len(engines), len(queries)
    returned, errors, absent = np.zeros(cells, np.int64), np.zeros(cells, bool), np.ones(cells, bool)
    numbers = [_make_numbering() for _ in queries]
    layout = _Layout(engines, queries, returned, errors, absent, _make_numbering(), numbers)
    for ranking in sorted(rankings, key=lambda ranking: (ranking.engine, ranking.query_id)):
        cell = engines[ranking.engine], queries[ranking.query_id]
        if not absent[cell]:
            raise InputError(
                "engine {engine!r} has two rankings for query {query_id!r}",
                engine=ranking.engine,
                query_id=ranking.query_id,
            )
        absent[cell] = False
        errors[cell] = ranking.error is not None
        if ranking.error is None:
            names = documents.get((ranking.engine, ranking.query_id), ())
            _add_ranking(layout, cell, ranking, names[:depth], depth)
    return layout


def _add_ranking(
    layout: _Layout, cell: tuple[int, int], ranking: Ranking, names: Sequence[str], depth: int
) -> None:
    snippets = ranking.snippets[:depth]
    if len(names) != len(snippets):
        raise ValueError(
            f"the pool has {len(names)} documents for engine {ranking.engine!r} on query "
            f"{ranking.query_id!r}, which returned {len(snippets)} snippets down to depth {depth}"
        )
    seen: dict[str, int] = {}
    numbers = layout.numbers[cell[1]]
    layout.returned[cell] = len(snippets)
    layout.origins += [seen.setdefault(document, rank) for rank, document in enumerate(names)]
    layout.documents += [numbers[document] for document in names]
    layout.snippets += [layout.pairs[ranking.query_id, snippet.id] for snippet in snippets]


def _make_numbering() -> defaultdict[Any, int]:
    """Return a mapping that numbers its keys from 0 in the order of their first look-up."""
    return defaultdict(count().__next__)


def _collect_grades(
    pairs: Mapping[tuple[str, str], int], judgments: Iterable[Judgment], scale: Scale
) -> tuple[tuple[int, ...], Ints]:
    """Return the repeats and the (pairs, repeats) grades; a failed judgment beside a grade does not count."""
    judgments = list(judgments)
    columns = {repeat: index for index, repeat in enumerate(sorted({j.repeat for j in judgments} or {0}))}
    grades = np.full((len(pairs), len(columns)), NO_GRADE)
    cells = ((pairs.get((j.query_id, j.snippet_id)), columns[j.repeat], j.grade) for j in judgments)
    graded = [cell for cell in cells if cell[0] is not None and cell[2] is not None]
    row, column, grade = np.array(graded, dtype=np.int64).reshape(-1, 3).T
    grades[row, column] = grade
    if np.any(grades[row, column] != grade) or np.any((grade < 0) | (grade > scale.top)):
        raise InputError(_describe_contradiction(pairs, judgments, scale))
    return tuple(columns), grades


def _describe_contradiction(
    pairs: Mapping[tuple[str, str], int], judgments: Sequence[Judgment], scale: Scale
) -> str:
    """Return the message about the first invalid judgment in the order of names."""
    seen: dict[tuple[str, str, int], int] = {}
    graded = (
        ((j.query_id, j.snippet_id, j.repeat), j.grade)
        for j in judgments
        if j.grade is not None and (j.query_id, j.snippet_id) in pairs
    )
    for key, grade in sorted(graded):
        query_id, snippet_id, repeat = key
        place = Message(
            "query {query_id!r}, snippet {snippet_id!r}, repeat {repeat}",
            query_id=query_id,
            snippet_id=snippet_id,
            repeat=repeat,
        )
        if not 0 <= grade <= scale.top:
            return Message(
                "{place} has grade {grade}, which is not on the {scale} scale 0-{top}",
                place=place,
                grade=grade,
                scale=scale.name,
                top=scale.top,
            )
        if seen.setdefault(key, grade) != grade:
            return Message(
                "{place} has the grades {first} and {second}; score the judgments of one assessor at a time",
                place=place,
                first=seen[key],
                second=grade,
            )
    raise AssertionError("all judgments are valid")


def _measure_coverage(layout: _Layout, lists: RankedLists, times: int) -> Coverage:
    duplicates = layout.returned - lists.first[:, ::times].sum(-1)
    graded = (lists.grade != NO_GRADE).sum(-1).reshape(*layout.returned.shape, times)
    ungraded = (graded == 0) & (layout.returned > 0)[..., None]
    pooled, unique = _count_documents(layout, lists, times)
    return Coverage(
        layout.returned, duplicates, layout.errors, layout.absent, graded, ungraded, pooled, unique
    )


def _count_documents(layout: _Layout, lists: RankedLists, times: int) -> tuple[Ints, Ints]:
    """Return the numbers of pooled documents (queries,) and of unique ones (engines, queries)."""
    first, document = lists.first[:, ::times], lists.document[:, ::times]
    engine, query, rank = np.nonzero(first)
    cell = query, document[engine, query, rank]
    engines = np.zeros((len(layout.queries), lists.best.shape[-1]), np.int64)
    np.add.at(engines, cell, 1)
    unique = np.zeros(layout.returned.shape, np.int64)
    np.add.at(unique, (engine, query), engines[cell] == 1)
    return (engines > 0).sum(-1), unique
