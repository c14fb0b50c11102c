"""Bounds of the difference of two engines over all grades of unjudged snippets.

The lowest value of one engine minus the highest of the other is too low: a snippet that both returned has
one grade, and the same ideal list divides both. Where a query has few unjudged snippets, all combinations
of their grades are tried (Horowitz & Manski 2000, JASA 95, "Nonparametric analysis of randomized
experiments with missing covariate and outcome data", bound a statistic in this way).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from judge.measure.arrays import Arrays, RankedLists
from judge.measure.formulas import Bools, Floats, Ints
from judge.measure.measures import Measure
from judge.measure.values import compute_values, find_always_defined
from judge.records import Scale

#: At most this many combinations of grades are tried on a query: 4 graded or 8 binary snippets.
MAX_COMBINATIONS = 256
#: Ranks of completed lists, and differences, in memory at once.
_BLOCK = 2**21


@dataclass(frozen=True, slots=True)
class IncompleteScores:
    """The lists of all engines on the topics that have an unjudged snippet.

    `topics` (queries, repeats) numbers these topics, -1 elsewhere. `engines` and `queries` are all scored
    ones, with or without an unjudged snippet.
    """

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    lists: RankedLists
    topics: Ints
    scale: Scale

    @classmethod
    def from_arrays(cls, arrays: Arrays, unsure: Bools, scale: Scale) -> IncompleteScores:
        """Return the lists of `arrays` on the topics that `unsure` (topics,) marks."""
        topics = np.where(unsure, np.cumsum(unsure) - 1, -1)
        return cls(
            arrays.engines,
            arrays.queries,
            arrays.lists.select_topics(unsure),
            topics.reshape(len(arrays.queries), len(arrays.repeats)),
            scale,
        )

    def engine_indexes(self, engines: Sequence[str]) -> Ints:
        """Return the (names,) indexes of the named engines."""
        return np.array([self.engines.index(engine) for engine in engines], np.int64)

    def query_topics(self, queries: Sequence[str]) -> Ints:
        """Return the (queries, repeats) rows of `topics` for the named queries."""
        rows = dict(zip(self.queries, self.topics, strict=True))
        return np.array([rows[query] for query in queries], np.int64).reshape(-1, self.topics.shape[1])

    def bound_differences(self, measure: Measure, one: Ints, two: Ints) -> tuple[Floats, Floats]:
        """Return the (pairs, topics) lowest and highest value of engine `one` minus the value of `two`.

        `one` and `two` (pairs,) are indexes of engines. NaN where a topic has too many unjudged snippets, and
        where the measure is undefined with some of their grades.
        """
        lowest = np.full((one.size, self.lists.grade.shape[1]), np.nan)
        highest = lowest.copy()
        for topics, grades in self._combinations(measure):
            combinations = grades.shape[1]
            cells = combinations * self.lists.grade[:, 0].size
            for block in _split_blocks(topics, cells):
                values = compute_values(measure, self.lists.select_topics(block).complete(grades), self.scale)
                by_engine = values.reshape(len(self.engines), block.size, combinations)
                for pairs in _split_blocks(np.arange(one.size), block.size * combinations):
                    difference = by_engine[one[pairs]] - by_engine[two[pairs]]
                    lowest[np.ix_(pairs, block)] = difference.min(-1)
                    highest[np.ix_(pairs, block)] = difference.max(-1)
        return lowest, highest

    def _combinations(self, measure: Measure) -> Iterator[tuple[Ints, Ints]]:
        """Yield topics with the (unjudged pairs, combinations) grades that can influence `measure`."""
        lists, levels = self.lists, self.scale.top + 1
        seen = lists.unjudged
        if measure.pool_free and not measure.own:
            seen = seen & (np.arange(seen.shape[-1]) < measure.effective_cutoff(lists.depth))
        _, topic, _ = np.nonzero(seen)
        pair, first = np.unique(lists.missing[seen], return_index=True)
        topic = topic[first]
        by_topic = np.argsort(topic, kind="stable")
        pair, topic = pair[by_topic], topic[by_topic]
        counts = np.bincount(topic, minlength=seen.shape[1])
        number = np.arange(topic.size) - (np.cumsum(counts) - counts)[topic]
        defined = find_always_defined(measure, lists, self.scale)
        for count in np.unique(counts).tolist():
            if levels**count > MAX_COMBINATIONS:
                return
            chosen = defined & (counts == count)
            every = np.array(list(product(range(levels), repeat=count)), dtype=np.int64).T
            grades = np.zeros((int(lists.missing.max()) + 1, levels**count), np.int64)
            grades[pair[chosen[topic]]] = every[number[chosen[topic]]] if count else 0
            yield np.flatnonzero(chosen), grades


def _split_blocks(indexes: Ints, cells: int) -> Iterator[Ints]:
    """Yield `indexes` in parts of at most `_BLOCK` cells; each index takes `cells`."""
    size = max(1, _BLOCK // max(1, cells))
    for start in range(0, indexes.size, size):
        yield indexes[start : start + size]
