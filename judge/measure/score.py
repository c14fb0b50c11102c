"""Owns scoring: rankings and judgments in, the value of every measure for every engine and query out.

What is missing is treated in one place, here. A snippet without a grade enters with the mean gain of
the judged snippets of its list, so that for measures of relevant or not it counts as relevant with the
share of relevant ones as its probability; `low` and `high` say what any grades could have made of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.arrays import Coverage, build
from judge.measure.bounds import pooled_bounds
from judge.measure.formulas import Bools, Floats, Ints, dcg, earned, gains, quotient
from judge.measure.lists import NO_GRADE, Lists
from judge.measure.measures import Measure, check_depth
from judge.records import Judgment, Ranking, Scale, Score, brief

_ARRAYS = ("value", "low", "high", "judged")


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of all measures: arrays of shape (engines, queries, repeats, measures) and their axes.

    NaN in `value`, `low` and `high` stands where the engine broke or has no ranking, and where the
    measure is undefined: nDCG, AP and R where all of the pool is judged and nothing of it relevant,
    Judged of an empty list. `value` alone is NaN where only unjudged snippets can give one: where a list
    was returned and not one of its snippets has a grade, and for nDCG, AP and R where nothing judged in
    the pool is relevant and something is unjudged. There `low` and `high` are over the grades that make
    the measure defined. They equal `value` exactly where all is judged. `judged` is the share of the
    snippets down to the cutoff that have a grade, NaN for empty lists.
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
        return replace(self, measures=tuple(chosen), **arrays)

    def by_query(self) -> tuple[Floats, Floats, Floats]:
        """(engines, queries, measures) value, low and high over the repeats, as `bounded_mean` has them."""
        value, low, high = (np.moveaxis(array, 2, -1) for array in (self.value, self.low, self.high))
        return bounded_mean(value, low, high)

    def difference_bounds(self, a: Ints, b: Ints, measure: int) -> tuple[Floats, Floats]:
        """Return (pairs, queries) least and most of a - b on each query over all grades of the unjudged.

        `a` and `b` are indexes of engines, (pairs,), `measure` is one of a measure. Repeats are averaged.
        """
        _, low, high = self.by_query()
        return low[a, :, measure] - high[b, :, measure], high[a, :, measure] - low[b, :, measure]


def score(
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
    arrays = build(rankings, documents, judgments, scale, depth=depth)
    shape = len(arrays.engines), len(arrays.queries), len(arrays.repeats)
    parts = [_measured(measure, arrays.lists, scale) for measure in measures]
    stacked = np.stack(parts, axis=-1).reshape(4, *shape, len(measures))
    stacked[:, arrays.coverage.missing] = np.nan
    # A list without one grade has no mean of its own to guess from: bounds are all that is known.
    of_grades = np.array([measure.name != "Judged" for measure in measures])
    stacked[0] = np.where(arrays.coverage.blind[..., None] & of_grades, np.nan, stacked[0])
    value, low, high, judged = stacked
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
    )


def mean_known(array: Floats, axis: int) -> Floats:
    """The mean along `axis` of what is not NaN; NaN where nothing is left."""
    known = ~np.isnan(array)
    total: Floats = np.where(known, array, 0.0).sum(axis)
    return quotient(total, known.sum(axis).astype(np.float64), np.nan)


def bounded_mean(value: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of `value` along the last axis, and the least and most that it can be; NaN for nothing.

    What has a value lies from its `low` to its `high`. What has bounds alone may come to lie there or
    to have no value at all, so the mean can be with it and without it. What has neither has no part.
    """
    sure = ~np.isnan(value)
    return mean_known(value, axis=-1), _least_mean(low, sure), -_least_mean(-high, sure)


def _least_mean(low: Floats, sure: Bools) -> Floats:
    """The lowest mean of all that are `sure` and any of the others: a mean falls by what is below it."""
    others: Bools = ~sure & ~np.isnan(low)
    most = int(others.sum(-1).max(initial=0))
    if not most:
        return mean_known(low, axis=-1)
    joining = np.sort(np.where(others, low, np.inf), axis=-1)[..., :most].cumsum(-1)
    total = np.where(sure, low, 0.0).sum(-1)[..., None]
    sums = np.concatenate([total, total + joining], axis=-1)
    counts = sure.sum(-1)[..., None] + np.arange(most + 1.0)
    least: Floats = quotient(sums, counts, np.inf).min(-1)
    return np.where(np.isinf(least), np.nan, least)


def _measured(measure: Measure, lists: Lists, scale: Scale) -> Floats:
    """(4, engines, topics): value, low, high, judged."""
    judged = _judged(lists, measure.looks_at(lists.depth))
    if measure.name == "Judged":
        return np.stack([judged] * 4)
    table = gains(measure, scale)
    if measure.own:
        # A list is its own yardstick when it is all there is in the pool. AP counts what it shows down
        # to the cutoff, the ideal list of nDCG chooses from all of it.
        alone = lists.alone(measure.looks_at(lists.depth) if measure.name == "AP" else lists.depth)
        bounded = _pooled(measure, alone, table).reshape(3, *judged.shape)
    elif measure.pool_free:
        bounded = _alone(measure, lists, table)
    else:
        bounded = _pooled(measure, lists, table)
    return np.concatenate([bounded, judged[None]])


def _alone(measure: Measure, lists: Lists, table: Floats) -> Floats:
    """(3, engines, topics) value, low, high of measures that no pool divides: no gain ever lowers them."""
    cutoff = measure.looks_at(lists.depth)
    returned = (lists.origin >= 0).sum(-1).astype(np.float64)
    imputed = lists.imputed(table)
    top = float(table[-1])
    values = [earned(measure, lists.gains(table, gain)[..., :cutoff], top) for gain in (imputed, 0.0, top)]
    if measure.name == "SetP":
        values = [quotient(value, returned, 0.0) for value in values]
    return np.stack(values)


def _pooled(measure: Measure, lists: Lists, table: Floats) -> Floats:
    """(3, engines, topics) value, low, high of nDCG, AP and R."""
    cutoff = measure.looks_at(lists.depth)
    gain = lists.gains(table, lists.imputed(table))
    pool = lists.pool_gains(table, gain)
    if measure.name == "nDCG":
        divisor = dcg(-np.sort(-pool, axis=-1)[:, :cutoff])
    else:
        divisor = np.add.reduce(pool, axis=-1)
    earnings = earned(measure, gain[..., :cutoff])
    value = quotient(earnings, divisor, 0.0 if measure.own else np.nan)
    value[np.isnan(earnings)] = np.nan
    bounded = np.stack([value] * 3)
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    if np.any(unsure):
        low, high = pooled_bounds(measure, lists.of_topics(unsure), table)
        bounded[:, :, unsure] = [np.clip(value[:, unsure], low, high), low, high]
    return bounded


def _judged(lists: Lists, cutoff: int) -> Floats:
    here = (lists.origin >= 0)[..., :cutoff]
    graded = here & (lists.grade[..., :cutoff] != NO_GRADE)
    return quotient(graded.sum(-1).astype(np.float64), here.sum(-1).astype(np.float64), np.nan)
