"""The lists that measuring works on: arrays of grades as wide as the longest list, and their pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.measure.formulas import Bools, Floats, Ints

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
