"""Arrays of grades, built from the columns of results and judgments.

Engines and queries are sorted by name, so the order of the input does not influence a result. A pool has
the documents of one query, with their grades in one repeat; the pools of a query are neighbours. Lists are
padded to the longest one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judge.errors import InputError
from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.numeric import Bools, Floats, Ints, list_distinct
from judge.messages import Message
from judge.records import Scale

#: The value in arrays of grades where there is no grade.
NO_GRADE = -1


@dataclass(frozen=True, slots=True)
class RankedLists:
    """The lists of all engines, and their pools.

    Arrays have the shape (engines, pools, ranks) unless another one is given. `grade` is `NO_GRADE` where
    a snippet is unjudged and past the end of a list. `origin` is the rank (from 0) at which the list shows
    the document first, -1 past the end. `document` numbers the documents of a pool, `unjudged_index` the
    unjudged pairs of all pools; -1 elsewhere. `best` (pools, documents) is the best known grade of a
    document. `depth` is the depth of judging, which may be larger than the longest list.
    """

    depth: int
    grade: Ints
    origin: Ints
    document: Ints
    unjudged_index: Ints
    best: Ints

    @property
    def first(self) -> Bools:
        """True where a snippet shows a document for the first time in its list."""
        return np.equal(self.origin, np.arange(self.grade.shape[-1]))

    @property
    def first_unjudged(self) -> Bools:
        """True where the grade of an unjudged snippet would count: duplicates do not."""
        return np.logical_and(self.first, self.unjudged)

    @property
    def unjudged(self) -> Bools:
        """True where a snippet has no grade, duplicates included."""
        return np.greater_equal(self.unjudged_index, 0)

    def look_up_gains(self, gains: Floats, unjudged: float, cutoff: int) -> Floats:
        """Return the gains down to `cutoff`: `gains[grade]`, `unjudged` without a grade, 0 for duplicates."""
        grade, origin = self.grade[..., :cutoff], self.origin[..., :cutoff]
        # The entry of `NO_GRADE` is the last one.
        gain: Floats = np.append(gains, unjudged)[grade]
        gain[origin != np.arange(origin.shape[-1])] = 0.0
        return gain

    def look_up_pool_gains(self, gains: Floats) -> Floats:
        """Return the (pools, documents) gain of the best known grade of each document, 0 without a grade."""
        return np.append(gains, 0.0)[self.best]

    def select_pools(self, chosen: Bools | Ints) -> RankedLists:
        """Return the lists of the `chosen` pools, by their indexes or marks (pools,)."""
        arrays = self.grade, self.origin, self.document, self.unjudged_index
        grade, origin, document, unjudged_index = (array[:, chosen] for array in arrays)
        return RankedLists(self.depth, grade, origin, document, unjudged_index, self.best[chosen])

    def complete(self, grades: Ints) -> RankedLists:
        """Return the lists with all grades filled in, each pool once for every column of `grades`.

        `grades` is (unjudged pairs, columns), its rows numbered as in `unjudged_index`. The result has the
        shape (engines, pools * columns, ranks); the copies of one pool are neighbours.
        """
        columns = grades.shape[1]
        engine, pool, rank = np.nonzero(self.unjudged)
        drawn = grades[self.unjudged_index[engine, pool, rank]]
        target = pool[:, None] * columns + np.arange(columns)
        arrays = self.grade, self.origin, self.document
        grade, origin, document = (np.repeat(array, columns, axis=1) for array in arrays)
        best = np.repeat(self.best, columns, axis=0)
        grade[engine[:, None], target, rank[:, None]] = drawn
        np.maximum.at(best, (target, self.document[engine, pool, rank][:, None]), drawn)
        return RankedLists(self.depth, grade, origin, document, np.full_like(grade, -1), best)

    def isolate(self, depth: int) -> RankedLists:
        """Return each list, cut at `depth`, in a pool of its own: (1, engines * pools, depth)."""

        def flatten(array: Ints) -> Ints:
            return np.ascontiguousarray(array[..., :depth]).reshape(1, -1, min(depth, array.shape[-1]))

        grade, origin, unjudged_index = map(flatten, (self.grade, self.origin, self.unjudged_index))
        best = find_best_grades(grade, origin, grade.shape[-1])
        return RankedLists(self.depth, grade, origin, origin, unjudged_index, best)


def find_best_grades(grade: Ints, document: Ints, documents: int) -> Ints:
    """Return the (pools, documents) best grades in lists of (engines, pools, ranks)."""
    best = np.full((grade.shape[1], documents), NO_GRADE, grade.dtype)
    pools = np.arange(grade.shape[1])[:, None]
    for of_engine, grades in zip(document, grade, strict=True):  # one by one takes less memory
        np.maximum.at(best, (pools, of_engine), grades)
    return best


#: Lists are padded to at least this many ranks. Then sums down to the default cutoffs round in the same
#: way, whichever other lists there are.
_MIN_WIDTH = 10


@dataclass(frozen=True, slots=True)
class GradedLists:
    """Ranked lists of the results, and their grades by pair.

    `grades` (pairs, repeats) are those of the pairs of `results`.
    `lists.unjudged_index` numbers the cells of `grades` that are `NO_GRADE`, row by row.
    """

    results: ResultColumns
    repeats: tuple[int, ...]
    grades: Ints
    lists: RankedLists


def build_graded_lists(results: ResultColumns, judgments: JudgmentColumns, scale: Scale) -> GradedLists:
    """Return the lists; raise InputError for a grade off the scale, and two grades of a pair in a repeat."""
    width = min(results.depth, max(_MIN_WIDTH, results.pair.shape[-1]))
    repeats, grades = _collect_grades(results, judgments, scale)
    times = len(repeats)  # each query has this many pools
    wider = (0, 0), (0, 0), (0, width - results.pair.shape[-1])
    padded = np.pad(results.document, wider, constant_values=-1)
    origin, document = (np.repeat(array, times, axis=1) for array in (find_origins(padded), padded))
    pair = np.repeat(np.pad(results.pair, wider, constant_values=-1), times, axis=1)
    repeat = np.arange(pair.shape[1])[:, None] % times
    # The row added here is that of pair -1, past the end of a list.
    with_end = np.pad(grades, ((0, 1), (0, 0)), constant_values=NO_GRADE)
    unjudged_index = np.full_like(with_end, -1)
    unjudged = grades == NO_GRADE
    unjudged_index[:-1][unjudged] = np.arange(np.count_nonzero(unjudged))
    grade = with_end[pair, repeat]
    best = find_best_grades(grade, document, int(document.max(initial=0)) + 1)
    if results.unreturned is not None:
        counts = np.repeat(results.unreturned, times)
        more = np.where(np.arange(counts.max(initial=0)) < counts[:, None], scale.top, NO_GRADE)
        best = np.concatenate([best, more], axis=1)
    lists = RankedLists(results.depth, grade, origin, document, unjudged_index[pair, repeat], best)
    return GradedLists(results, repeats, grades, lists)


def find_origins(document: Ints) -> Ints:
    """Return the rank from 0 at which each of (…, ranks) has its document first, -1 past the end."""
    order = np.argsort(document, axis=-1, kind="stable")
    begins = np.diff(np.take_along_axis(document, order, -1), axis=-1, prepend=-2) != 0
    first = np.maximum.accumulate(np.where(begins, np.arange(document.shape[-1]), 0), axis=-1)
    origin = np.empty_like(document)
    np.put_along_axis(origin, order, np.take_along_axis(order, first, -1), -1)
    origin[document < 0] = -1
    return origin


def _collect_grades(
    results: ResultColumns, judgments: JudgmentColumns, scale: Scale
) -> tuple[tuple[int, ...], Ints]:
    """Return the repeats and the (pairs, repeats) grades; a failed judgment beside a grade does not count."""
    rows = judgments.rows
    repeats = list_distinct(rows["repeat"]) if rows.size else np.zeros(1, np.int64)
    grades = np.full((len(results.snippet_ids), len(repeats)), NO_GRADE, np.int32)
    is_graded = rows["is_graded"] & (rows["pair"] >= 0)
    pair, repeat, grade = (rows[name][is_graded] for name in ("pair", "repeat", "grade"))
    place = pair, np.searchsorted(repeats, repeat)
    grades[place] = grade
    if np.any((grade < 0) | (grade > scale.top)) or np.any(grades[place] != grade):
        _refuse_grades(results, rows[is_graded], scale)
    return tuple(repeats.tolist()), grades


def _refuse_grades(results: ResultColumns, graded: npt.NDArray[np.void], scale: Scale) -> None:
    """Raise InputError for the first judgment, by names, that is off the scale or contradicts another."""
    grades: dict[tuple[int, int], int] = {}
    rows = graded[["pair", "repeat", "grade"]].tolist()
    for pair, repeat, grade in sorted(rows):
        first = grades.setdefault((pair, repeat), grade)
        if first == grade and 0 <= grade <= scale.top:
            continue
        place = Message(
            "query {query_id!r}, snippet {snippet_id!r}, repeat {repeat}",
            query_id=results.queries[results.pair_query[pair]],
            snippet_id=results.snippet_ids[pair],
            repeat=repeat,
        )
        if not 0 <= grade <= scale.top:
            raise InputError(
                "{place} has grade {grade}, which is not on the {scale.name} scale 0-{scale.top}",
                place=place,
                grade=grade,
                scale=scale,
            )
        raise InputError(
            "{place} has the grades {first} and {second}; score the judgments of one assessor at a time",
            place=place,
            first=first,
            second=grade,
        )
