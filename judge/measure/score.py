"""Scoring: rankings and judgments in, the value of every measure for every engine and query out.

What is missing is treated in one place, here. An unjudged pair is imputed: it gets several grades, drawn
from similar judged pairs of the same query and the same for all engines, and the value is the mean over
the pools that they complete (`judge.measure.imputation`). `low` and `high` are the least and the most over
any grades.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.arrays import Arrays, Coverage, RankedLists, build_arrays
from judge.measure.difference_bounds import IncompleteScores
from judge.measure.formulas import Bools, Floats, Ints, divide, largest_value
from judge.measure.imputation import DRAWS, impute_grades
from judge.measure.measures import Measure, check_depth
from judge.measure.values import bound_values, compute_judged_shares, compute_values, find_always_defined
from judge.records import Judgment, Ranking, Scale, Score, brief

_ARRAYS = ("value", "low", "high", "judged")
#: Ranks of imputed lists that are held at once.
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of all measures: arrays of shape (engines, queries, repeats, measures) and their axes.

    NaN in `value`, `low` and `high` stands where the engine broke or has no ranking, and where the
    measure is undefined: nDCG, AP and R where all of the pool is judged and nothing of it relevant,
    Judged of an empty list. `value` alone is NaN where only unjudged snippets can give one: where a list
    was returned and not one of its snippets has a grade, and for nDCG, AP and R where nothing judged in
    the pool is relevant and something is unjudged. There `low` and `high` are over the grades that make
    the measure defined. They equal `value` exactly where all is judged. `judged` is the share of the
    snippets down to the cutoff that have a grade, NaN for empty lists. `largest` is the largest value that
    each measure can have on a query. `incomplete` holds the lists of
    the queries with an unjudged snippet, of all engines and queries that were scored; None if there is
    none.
    """

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    repeats: tuple[int, ...]
    measures: tuple[Measure, ...]
    value: Floats
    low: Floats
    high: Floats
    judged: Floats
    coverage: Coverage
    largest: tuple[float, ...]
    incomplete: IncompleteScores | None = None

    def __repr__(self) -> str:
        measures = brief(tuple(map(str, self.measures)))
        return (
            f"Scores(engines={brief(self.engines)}, queries={len(self.queries)},"
            f" repeats={len(self.repeats)}, measures={measures})"
        )

    def rows(self) -> Iterator[Score]:
        """One record per engine, query, repeat and measure, in that order; NaN becomes None."""
        names = [str(measure) for measure in self.measures]
        cells = (
            (engine, query, repeat, name)
            for engine in self.engines
            for query in self.queries
            for repeat in self.repeats
            for name in names
        )
        columns = (
            np.where(np.isnan(array), None, array).ravel().tolist()  # type: ignore[call-overload]
            for array in (self.value, self.low, self.high, self.judged)
        )
        for cell, *numbers in zip(cells, *columns, strict=True):
            yield Score(*cell, *numbers)

    def of_queries(self, ids: Collection[str]) -> Scores:
        """The same for some of the queries."""
        chosen = np.array([query in ids for query in self.queries], bool)
        return replace(
            self,
            queries=tuple(query for query in self.queries if query in ids),
            coverage=self.coverage.of_queries(chosen),
            **{name: getattr(self, name)[:, chosen] for name in _ARRAYS},
        )

    def of_engines(self, names: Collection[str]) -> Scores:
        """The same for some of the engines."""
        chosen = np.array([engine in names for engine in self.engines], bool)
        return replace(
            self,
            engines=tuple(engine for engine in self.engines if engine in names),
            coverage=self.coverage.of_engines(chosen),
            **{name: getattr(self, name)[chosen] for name in _ARRAYS},
        )

    def of_measures(self, chosen: Sequence[Measure]) -> Scores:
        """The same for some of the measures, in their order."""
        places = [self.measures.index(measure) for measure in chosen]
        arrays = {name: getattr(self, name)[..., places] for name in _ARRAYS}
        largest = tuple(self.largest[place] for place in places)
        return replace(self, measures=tuple(chosen), largest=largest, **arrays)

    def by_query(self) -> tuple[Floats, Floats, Floats]:
        """(engines, queries, measures) value, low and high over the repeats, as `bounded_mean` has them."""
        value, low, high = (np.moveaxis(array, 2, -1) for array in (self.value, self.low, self.high))
        return mean_with_bounds(value, low, high)

    def difference_bounds(self, a: Ints, b: Ints, measure: int) -> tuple[Floats, Floats]:
        """Return (pairs, queries) least and most of a - b on each query over all grades of the unjudged.

        `a` and `b` are indexes of engines, (pairs,), `measure` is one of a measure. Repeats are averaged.
        NaN where an engine has no `low` and `high`. On queries with many unjudged snippets, or where only
        unjudged snippets can make the measure defined, they can be wider than what is possible.
        """
        _, low, high = self.by_query()
        least = low[a, :, measure] - high[b, :, measure]
        most = high[a, :, measure] - low[b, :, measure]
        incomplete = self.incomplete
        if incomplete is not None:
            engines = incomplete.places(self.engines)
            topics = incomplete.topics_of(self.queries)
            touched = np.any(topics >= 0, axis=1)
            ends = incomplete.difference_bounds(self.measures[measure], engines[a], engines[b])
            low, high = self.low[..., measure][:, touched], self.high[..., measure][:, touched]
            for wide, exact, end in ((low[a] - high[b], ends[0], least), (high[a] - low[b], ends[1], most)):
                end[:, touched] = _average_exact_bounds(wide, exact, topics[touched], end[:, touched])
        return least, most


def score_rankings(
    rankings: Sequence[Ranking],
    documents: Mapping[tuple[str, str], tuple[str, ...]],
    judgments: Iterable[Judgment],
    measures: Sequence[Measure],
    scale: Scale,
    *,
    depth: int,
) -> Scores:
    """The scores of every engine on every query in every repeat that the judgments have.

    `documents` and `depth` are the pool's. Judgments of other queries and snippets are ignored. Raises
    `InputError` when a measure looks deeper than the pool or asks for grades off the scale, and when
    judgments or rankings contradict each other.
    """
    check_depth(measures, depth)
    arrays = build_arrays(rankings, documents, judgments, scale, depth=depth)
    lists = arrays.lists
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    value = _stack_measures([compute_values(measure, lists, scale) for measure in measures])
    low, high = value.copy(), value.copy()
    if np.any(unsure):
        part = lists.of_topics(unsure)
        bounds = [
            bound_values(measure, part, scale, value[:, unsure, at]) for at, measure in enumerate(measures)
        ]
        low[:, unsure], high[:, unsure] = (_stack_measures(ends) for ends in zip(*bounds, strict=True))
        imputed = _average_over_draws(measures, part, _impute_unjudged(arrays, scale), scale)
        # Rounding must not lead the mean of the draws out of the bounds.
        value[:, unsure] = np.clip(imputed, low[:, unsure], high[:, unsure])
    judged = _stack_measures([compute_judged_shares(measure, lists) for measure in measures])
    shape = len(arrays.engines), len(arrays.queries), len(arrays.repeats), len(measures)
    value, low, high, judged = (array.reshape(shape) for array in (value, low, high, judged))
    for array in (value, low, high, judged):
        array[arrays.coverage.missing] = np.nan
    # Other engines' grades say nothing of a list without one grade: bounds are all there is.
    of_grades = np.array([measure.name != "Judged" for measure in measures])
    value[arrays.coverage.blind[..., None] & of_grades] = np.nan
    return Scores(
        arrays.engines,
        arrays.queries,
        arrays.repeats,
        tuple(measures),
        value,
        low,
        high,
        judged,
        arrays.coverage,
        tuple(largest_value(measure, scale, depth) for measure in measures),
        IncompleteScores.of(arrays, unsure, scale) if np.any(unsure) else None,
    )


def nan_mean(array: Floats, axis: int) -> Floats:
    """The mean along `axis` of what is not NaN; NaN where nothing is left."""
    known = ~np.isnan(array)
    total: Floats = np.where(known, array, 0.0).sum(axis)
    return divide(total, known.sum(axis).astype(np.float64), np.nan)


def mean_with_bounds(value: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of `value` along the last axis, and the least and most that it can be; NaN for nothing.

    What has a value lies from its `low` to its `high`. What has bounds alone may come to lie there or
    to have no value at all, so the mean can be with it and without it. What has neither has no part.
    """
    sure = ~np.isnan(value)
    return nan_mean(value, axis=-1), _lowest_mean(low, sure), -_lowest_mean(-high, sure)


def _lowest_mean(low: Floats, sure: Bools) -> Floats:
    """The lowest mean of all that are `sure` and any of the others: a mean falls by what is below it."""
    others: Bools = ~sure & ~np.isnan(low)
    most = int(others.sum(-1).max(initial=0))
    if not most:
        return nan_mean(low, axis=-1)
    joining = np.sort(np.where(others, low, np.inf), axis=-1)[..., :most].cumsum(-1)
    total = np.where(sure, low, 0.0).sum(-1)[..., None]
    sums = np.concatenate([total, total + joining], axis=-1)
    counts = sure.sum(-1)[..., None] + np.arange(most + 1.0)
    least: Floats = divide(sums, counts, np.inf).min(-1)
    return np.where(np.isinf(least), np.nan, least)


def _stack_measures(parts: Sequence[Floats]) -> Floats:
    return np.stack(parts, axis=-1)


def _average_exact_bounds(wide: Floats, exact: Floats, topics: Ints, otherwise: Floats) -> Floats:
    """Return (pairs, queries) the mean over the repeats, with the exact ends where there are any.

    `wide` is (pairs, queries, repeats), `exact` (pairs, topics). `otherwise` stands where a repeat may
    have no value, because the mean can be with it and without it, and where a repeat has no exact end.
    """
    incomplete = topics >= 0
    ends = np.where(np.isnan(wide) | ~incomplete, wide, exact[:, topics])
    exactly = ~np.any(np.isnan(ends) & ~np.isnan(wide), axis=-1)
    return np.where(exactly, nan_mean(ends, axis=-1), otherwise)


def _impute_unjudged(arrays: Arrays, scale: Scale) -> Ints:
    """Return (unjudged pairs, `DRAWS`) grades, in the order of `Lists.missing`."""
    lists = arrays.lists.of_topics(np.arange(0, arrays.lists.grade.shape[1], len(arrays.repeats)))
    engine, topic, rank = np.nonzero(lists.origin >= 0)
    discounts = np.zeros((len(arrays.pairs), len(arrays.engines)))
    # The same snippet can be in a list twice.
    np.maximum.at(discounts, (lists.snippet[engine, topic, rank], engine), 1 / np.log2(rank + 2))
    return impute_grades(arrays.pairs, arrays.grades, discounts, arrays.repeats, scale.top)


def _average_over_draws(
    measures: Sequence[Measure], lists: RankedLists, grades: Ints, scale: Scale
) -> Floats:
    """Return (engines, topics, measures) the means over the pools that `grades` complete.

    NaN where nothing judged in the pool is relevant and the measure needs it.
    """
    engines, topics, width = lists.grade.shape
    means = np.empty((engines, topics, len(measures)))
    size = max(1, _BLOCK // (engines * width * DRAWS))
    for start in range(0, topics, size):
        block = np.arange(start, min(topics, start + size))
        completed = lists.of_topics(block).completed(grades)
        for at, measure in enumerate(measures):
            drawn = compute_values(measure, completed, scale).reshape(engines, block.size, DRAWS)
            means[:, block, at] = np.add.reduce(drawn, axis=-1) / DRAWS
    for at, measure in enumerate(measures):
        if measure.name == "Judged":
            means[..., at] = compute_judged_shares(measure, lists)
        else:
            means[:, ~find_always_defined(measure, lists, scale), at] = np.nan
    return means
