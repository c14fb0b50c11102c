"""Owns the arrays that measuring works on: records in, lists of grades padded to the pool's depth out.

Engines and queries are sorted by name, so that the order of the input never reaches a result. A topic
is one query in one repeat; topics run through the queries first and their repeats second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import Bools, Floats, Ints, quotient
from judge.records import Judgment, Ranking, Scale

#: Stands in arrays of grades where there is no grade.
NO_GRADE = -1


@dataclass(frozen=True, slots=True)
class Lists:
    """Every engine's list for every topic, and the pool that the lists make up.

    Shapes are (engines, topics, ranks) unless said otherwise. `grade` is `NO_GRADE` where a snippet is
    unjudged or nothing was returned. `origin` is the rank (from 0) at which the list shows the document
    first, -1 where nothing was returned. `document` numbers the documents of a topic, `snippet` the
    snippets of the pool. `best` (topics, documents) is a document's best known grade in the pool.
    `known` (engines, topics, grades) counts the grades that stand in for the list's missing ones.
    """

    grade: Ints
    origin: Ints
    document: Ints
    snippet: Ints
    best: Ints
    known: Ints

    @property
    def first(self) -> Bools:
        """Where a snippet stands whose document the list has not shown before."""
        return np.equal(self.origin, np.arange(self.grade.shape[-1]))

    @property
    def open(self) -> Bools:
        """Where a missing grade would change what the list earns."""
        return np.logical_and(self.first, np.equal(self.grade, NO_GRADE))

    @property
    def unjudged(self) -> Bools:
        """Where a snippet stands that has no grade, duplicates included."""
        return np.logical_and(self.origin >= 0, np.equal(self.grade, NO_GRADE))

    def gains(self, table: Floats, missing: Floats | float) -> Floats:
        """The gain at every rank: `table[grade]`, `missing` where open, 0 for duplicates and past the end."""
        judged = np.append(table, 0.0)[self.grade]
        return np.where(self.open, missing, np.where(self.first, judged, 0.0))

    def imputed(self, table: Floats) -> Floats:
        """(engines, topics, 1): the mean gain of the judged snippets; NaN where none of a topic is judged."""
        total = np.add.reduce(self.known * table, axis=-1)
        return quotient(total, self.known.sum(-1).astype(np.float64), np.nan)[..., None]

    def pool_gains(self, table: Floats, gain: Floats) -> Floats:
        """(topics, documents): each document's best known gain, else its best `gain` in a list."""
        best = np.append(table, 0.0)[self.best]
        engine, topic, rank = np.nonzero(self.open)
        guessed = np.zeros_like(best)
        found = topic, self.document[engine, topic, rank]
        np.maximum.at(guessed, found, gain[engine, topic, rank])
        return np.where(self.best == NO_GRADE, guessed, best)

    def best_here(self) -> Ints:
        """The best known grade, in the whole pool, of the document at every rank."""
        topics = np.arange(self.best.shape[0])[None, :, None]
        here: Ints = self.best[topics, self.document]
        return here

    def of_topics(self, chosen: Bools) -> Lists:
        """The same for some of the topics."""
        return Lists(
            self.grade[:, chosen],
            self.origin[:, chosen],
            self.document[:, chosen],
            self.snippet[:, chosen],
            self.best[chosen],
            self.known[:, chosen],
        )

    def alone(self, depth: int) -> Lists:
        """Each list, cut at `depth`, as the only one of a pool of its own: (1, engines * topics, depth)."""

        def one(array: Ints) -> Ints:
            return np.ascontiguousarray(array[..., :depth]).reshape(1, -1, min(depth, array.shape[-1]))

        grade, origin = one(self.grade), one(self.origin)
        best = best_grades(grade, origin, depth)
        known = self.known.reshape(1, -1, self.known.shape[-1])
        return Lists(grade, origin, origin, one(self.snippet), best, known)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What there was to measure, before any measure. Shapes are (engines, queries) unless said otherwise.

    `returned` and `duplicates` count snippets down to the pool's depth. `errors` marks engines that
    broke, `absent` engines that have no ranking. `graded` (engines, queries, repeats) counts snippets
    with a grade. `unknown` (queries, repeats) marks queries whose pool has snippets and not one grade.
    """

    returned: Ints
    duplicates: Ints
    errors: Bools
    absent: Bools
    graded: Ints
    unknown: Bools

    @property
    def missing(self) -> Bools:
        """Where there is no list to measure; an empty list is one."""
        return self.errors | self.absent


@dataclass(frozen=True, slots=True)
class Arrays:
    """The axes, what stands at them, and what there was to measure."""

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    repeats: tuple[int, ...]
    lists: Lists
    coverage: Coverage


def build(
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
    repeats, grades = _grades(layout.pairs, judgments, scale)
    queries, times = len(layout.queries), len(repeats)
    judged = np.append(grades, np.full((1, times), NO_GRADE), axis=0)[layout.snippet]
    grade = np.ascontiguousarray(np.moveaxis(judged, -1, 2)).reshape(-1, queries * times, depth)
    origin, document, snippet = (
        np.repeat(array, times, axis=1) for array in (layout.origin, layout.document, layout.snippet)
    )
    best = best_grades(grade, document, layout.most_documents)
    pool = _histogram(layout.pair_query, grades, queries, scale)
    known = _known(grade, origin, pool)
    lists = Lists(grade, origin, document, snippet, best, known)
    return Arrays(layout.engines, layout.queries, repeats, lists, _coverage(layout, lists, pool))


def best_grades(grade: Ints, document: Ints, documents: int) -> Ints:
    """(topics, documents): the best grade that any list (engines, topics, ranks) has for each document."""
    best = np.full((grade.shape[1], documents), NO_GRADE)
    topic = np.broadcast_to(np.arange(grade.shape[1])[None, :, None], grade.shape)
    np.maximum.at(best, (topic, document), grade)
    return best


@dataclass(slots=True)
class _Layout:
    """Where every snippet stands: arrays are (engines, queries, ranks), -1 past the end of a list."""

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    origin: Ints
    document: Ints
    snippet: Ints
    errors: Bools
    absent: Bools
    pairs: dict[tuple[str, str], int] = field(default_factory=dict)
    pair_query: list[int] = field(default_factory=list)
    most_documents: int = 0


def _lay_out(
    rankings: Sequence[Ranking], documents: Mapping[tuple[str, str], tuple[str, ...]], depth: int
) -> _Layout:
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    queries = tuple(sorted({ranking.query_id for ranking in rankings}))
    shape = (len(engines), len(queries), depth)
    origin, document, snippet = (np.full(shape, -1) for _ in range(3))
    layout = _Layout(
        engines, queries, origin, document, snippet, np.zeros(shape[:2], bool), np.ones(shape[:2], bool)
    )
    engine_at = {engine: at for at, engine in enumerate(engines)}
    query_at = {query: at for at, query in enumerate(queries)}
    numbers: list[dict[str, int]] = [{} for _ in queries]
    for ranking in sorted(rankings, key=lambda ranking: (ranking.engine, ranking.query_id)):
        engine, query = engine_at[ranking.engine], query_at[ranking.query_id]
        if not layout.absent[engine, query]:
            raise InputError(f"engine {ranking.engine!r} has two rankings for query {ranking.query_id!r}")
        layout.absent[engine, query] = False
        layout.errors[engine, query] = ranking.error is not None
        if ranking.error is None:
            shown = documents.get((ranking.engine, ranking.query_id), ())
            _place(layout, (engine, query), ranking, shown, numbers[query])
    layout.most_documents = max(map(len, numbers), default=0) or 1
    return layout


def _place(
    layout: _Layout, cell: tuple[int, int], ranking: Ranking, shown: Sequence[str], numbers: dict[str, int]
) -> None:
    depth = layout.origin.shape[-1]
    snippets = ranking.snippets[:depth]
    if len(shown) != len(snippets):
        raise ValueError(
            f"the pool has {len(shown)} documents for engine {ranking.engine!r} on query "
            f"{ranking.query_id!r}, which returned {len(snippets)} snippets down to depth {depth}"
        )
    seen: dict[str, int] = {}
    origins, places, pairs = [], [], []
    for rank, (snippet, document) in enumerate(zip(snippets, shown, strict=True)):
        origins.append(seen.setdefault(document, rank))
        places.append(numbers.setdefault(document, len(numbers)))
        pair = layout.pairs.setdefault((ranking.query_id, snippet.id), len(layout.pairs))
        if pair == len(layout.pair_query):
            layout.pair_query.append(cell[1])
        pairs.append(pair)
    layout.origin[*cell, : len(origins)] = origins
    layout.document[*cell, : len(places)] = places
    layout.snippet[*cell, : len(pairs)] = pairs


def _grades(
    pairs: Mapping[tuple[str, str], int], judgments: Iterable[Judgment], scale: Scale
) -> tuple[tuple[int, ...], Ints]:
    """The repeats, and (pairs, repeats) grades. A pair that failed once and was graded later is graded."""
    repeats: set[int] = set()
    known: dict[tuple[int, int], int] = {}
    for judgment in judgments:
        repeats.add(judgment.repeat)
        pair = pairs.get((judgment.query_id, judgment.snippet_id))
        if pair is None or judgment.grade is None:
            continue
        grade = known.setdefault((pair, judgment.repeat), judgment.grade)
        if grade != judgment.grade or not 0 <= grade <= scale.top:
            raise InputError(_bad_grade(judgment, grade, scale))
    columns = {repeat: at for at, repeat in enumerate(sorted(repeats or {0}))}
    grades = np.full((len(pairs), len(columns)), NO_GRADE)
    if known:
        rows, repeat_of = zip(*known, strict=True)
        grades[list(rows), [columns[repeat] for repeat in repeat_of]] = list(known.values())
    return tuple(columns), grades


def _bad_grade(judgment: Judgment, other: int, scale: Scale) -> str:
    where = f"query {judgment.query_id!r}, snippet {judgment.snippet_id!r}, repeat {judgment.repeat}"
    if judgment.grade != other:
        both = f"{min(other, judgment.grade or 0)} and {max(other, judgment.grade or 0)}"
        return f"{where} has the grades {both}; score the judgments of one assessor at a time"
    return f"{where} has grade {other}, which is not on the {scale.name} scale 0-{scale.top}"


def _histogram(pair_query: Sequence[int], grades: Ints, queries: int, scale: Scale) -> Ints:
    """(topics, grades): how often each grade was given to the distinct snippets of a topic's pool."""
    times, levels = grades.shape[1], scale.top + 1
    topic = np.array(pair_query, dtype=np.int64)[:, None] * times + np.arange(times)
    judged = grades != NO_GRADE
    cells = (topic * levels + grades)[judged]
    return np.bincount(cells, minlength=queries * times * levels).reshape(-1, levels)


def _known(grade: Ints, origin: Ints, pool: Ints) -> Ints:
    """(engines, topics, grades): the grades of each list's own documents, else those of the pool."""
    first = origin == np.arange(grade.shape[-1])
    own = np.stack([((grade == level) & first).sum(-1) for level in range(pool.shape[-1])], axis=-1)
    return np.where(own.any(-1, keepdims=True), own, pool)


def _coverage(layout: _Layout, lists: Lists, pool: Ints) -> Coverage:
    engines, queries, _ = layout.origin.shape
    returned = (layout.origin >= 0).sum(-1)
    first = (layout.origin == np.arange(layout.origin.shape[-1])).sum(-1)
    graded = (lists.grade != NO_GRADE).sum(-1).reshape(engines, queries, -1)
    unknown = ~pool.any(-1).reshape(queries, -1) & returned.any(0)[:, None]
    return Coverage(returned, returned - first, layout.errors, layout.absent, graded, unknown)
