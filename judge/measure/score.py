"""Scoring: the value of every measure for every engine, query and repeat.

Missing grades are treated here alone. An unjudged pair is imputed (`judge.measure.imputation`): it gets
several grades, the same for all engines, and the value is the mean over the pools that they complete.
`lowest` and `highest` bound the value over all grades of unjudged pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from judge.measure.arrays import NO_GRADE, GradedLists, RankedLists, build_graded_lists
from judge.measure.columns import JudgmentColumns, ResultColumns, tabulate_judgments, tabulate_results
from judge.measure.formulas import find_largest_value
from judge.measure.imputation import compute_imputed_values, impute_unjudged
from judge.measure.measures import Measure, check_depth
from judge.measure.numeric import Bools, Floats, Ints, convert_non_finite, divide
from judge.measure.values import IncompleteLists, bound_values, compute_judged_shares, compute_values
from judge.records import Judgment, Ranking, Scale, Score, shorten_repr

_ARRAYS = ("value", "lowest", "highest", "judged_share")


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of all measures: arrays of shape (engines, queries, repeats, measures) and their axes.

    `value`, `lowest` and `highest` are NaN where the engine failed or has no ranking, and where the measure
    is undefined. Judged is undefined for an empty list; nDCG, AP and R where the whole pool is judged and
    nothing in it is relevant. `value` alone is NaN where only unjudged snippets can give a value. This is
    where no snippet of a list has a grade, and for nDCG, AP and R where nothing judged in the pool is
    relevant and something is unjudged. There `lowest` and `highest` are over the grades with which the
    measure is defined. Where all snippets are judged they equal `value`. `judged_share` is the share of the
    snippets down to the cutoff with a grade, NaN for empty lists. `without_list` (engines, queries) marks
    engines that failed or have no ranking, `graded` (engines, queries, repeats) counts the snippets with a
    grade. `largest` is the largest possible value of each measure on a query. `incomplete` holds the lists of
    the queries with an unjudged snippet, None if there is none.
    """

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    repeats: tuple[int, ...]
    measures: tuple[Measure, ...]
    value: Floats
    lowest: Floats
    highest: Floats
    judged_share: Floats
    without_list: Bools
    graded: Ints
    largest: tuple[float, ...]
    incomplete: IncompleteLists | None = None

    def __repr__(self) -> str:
        measures = shorten_repr(tuple(map(str, self.measures)))
        return (
            f"Scores(engines={shorten_repr(self.engines)}, queries={len(self.queries)},"
            f" repeats={len(self.repeats)}, measures={measures})"
        )

    def to_records(self) -> Iterator[Score]:
        """Yield one record per engine, query, repeat and measure, in that order; NaN becomes None."""
        names = [str(measure) for measure in self.measures]
        arrays = [self.value, self.lowest, self.highest, self.judged_share]
        for row, engine in enumerate(self.engines):
            for column, query in enumerate(self.queries):
                cells = ((engine, query, repeat, name) for repeat in self.repeats for name in names)
                columns = (map(convert_non_finite, array[row, column].ravel().tolist()) for array in arrays)
                for cell, *numbers in zip(cells, *columns, strict=True):
                    yield Score(*cell, *numbers)

    def select(
        self,
        *,
        engines: Collection[str] | None = None,
        queries: Collection[str] | None = None,
        measures: Sequence[Measure] | None = None,
    ) -> Scores:
        """Return the scores of these engines and queries by `measures`, in that order; None for all."""
        rows, columns = (
            np.array([names is None or name in names for name in own], bool)
            for own, names in ((self.engines, engines), (self.queries, queries))
        )
        chosen = self.measures if measures is None else tuple(measures)
        places = [self.measures.index(measure) for measure in chosen]
        # Indexes would change the layout in memory, and so the rounding of sums.
        last = slice(None) if measures is None else places
        return replace(
            self,
            engines=tuple(compress(self.engines, rows)),
            queries=tuple(compress(self.queries, columns)),
            measures=chosen,
            largest=tuple(self.largest[place] for place in places),
            without_list=self.without_list[rows][:, columns],
            graded=self.graded[rows][:, columns],
            **{name: getattr(self, name)[rows][:, columns][..., last] for name in _ARRAYS},
        )

    def average_repeats(self) -> Floats:
        """Return the (engines, queries, measures) means over the repeats with a value."""
        return compute_nan_mean(np.moveaxis(self.value, 2, -1), axis=-1)

    def average_with_bounds(self) -> tuple[Floats, Floats, Floats]:
        """Return these means, and their lowest and highest values as `compute_bounded_mean` does."""
        value, lowest, highest = (
            np.moveaxis(array, 2, -1) for array in (self.value, self.lowest, self.highest)
        )
        return compute_bounded_mean(value, lowest, highest)

    def average_queries(self) -> dict[str, dict[str, float | None]]:
        """Return the mean over the queries with a value, by measure and engine."""
        by_measure = compute_nan_mean(self.average_repeats(), axis=1).T
        return {
            str(measure): dict(zip(self.engines, map(convert_non_finite, means), strict=True))
            for measure, means in zip(self.measures, by_measure, strict=True)
        }

    def bound_differences(self, one: Ints, two: Ints, measure: int) -> tuple[Floats, Floats]:
        """Return the (engine pairs, queries) lowest and highest one - two over all grades of the unjudged.

        `one` and `two` (engine pairs,) are indexes of engines, `measure` is the index of a measure. Repeats
        are averaged. NaN where an engine has no bounds. On queries with many unjudged snippets, and
        where only unjudged snippets can make the measure defined, the bounds can be too wide.
        """
        chosen = self.select(measures=[self.measures[measure]])
        _, *bounds_by_engine = (means[..., 0] for means in chosen.average_with_bounds())
        lowest, highest = _subtract_bounds(one, two, *bounds_by_engine)
        incomplete = self.incomplete
        if incomplete is not None:
            engines = np.array([incomplete.engines.index(engine) for engine in self.engines], np.int64)
            numbers = {query: number for number, query in enumerate(incomplete.queries)}
            pools = incomplete.pools[[numbers[query] for query in self.queries]]
            affected = np.any(pools >= 0, axis=1)
            exact = incomplete.bound_differences(self.measures[measure], engines[one], engines[two])
            bounds_by_engine = [array[..., measure][:, affected] for array in (self.lowest, self.highest)]
            wide = _subtract_bounds(one, two, *bounds_by_engine)
            for side, bounds in enumerate((lowest, highest)):
                bounds[:, affected] = _average_exact_bounds(
                    wide[side], exact[side], pools[affected], bounds[:, affected]
                )
        return lowest, highest


def score_rankings(
    rankings: Sequence[Ranking],
    judgments: Iterable[Judgment],
    measures: Sequence[Measure],
    scale: Scale,
    *,
    depth: int,
) -> Scores:
    """Return the scores of every engine on every query in every repeat of the judgments.

    `depth` is that of the pool. Raise `InputError` when rankings contradict each other, and as
    `score_columns` does.
    """
    results = tabulate_results(rankings, depth)
    return score_columns(results, tabulate_judgments(judgments, results), measures, scale)


def score_columns(
    results: ResultColumns, judgments: JudgmentColumns, measures: Sequence[Measure], scale: Scale
) -> Scores:
    """Return the scores of every engine on every query in every repeat of the judgments.

    Judgments of other pairs are ignored. Raise `InputError` when the cutoff of a measure is deeper than the
    pool, its `rel` is above the scale, or judgments contradict each other.
    """
    check_depth(measures, results.depth)
    graded_lists = build_graded_lists(results, judgments, scale)
    lists = graded_lists.lists
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    incomplete = None
    if np.any(unsure):
        pools = np.where(unsure, np.cumsum(unsure) - 1, -1).reshape(-1, len(graded_lists.repeats))
        incomplete = IncompleteLists(
            results.engines, results.queries, lists.select_pools(unsure), pools, scale
        )
    value, lowest, highest = _impute_and_bound(graded_lists, measures, scale, incomplete)
    judged_share = np.stack([compute_judged_shares(measure, lists) for measure in measures], axis=-1)
    shape = len(results.engines), len(results.queries), len(graded_lists.repeats), len(measures)
    value, lowest, highest, judged_share = (
        array.reshape(shape) for array in (value, lowest, highest, judged_share)
    )
    for array in (value, lowest, highest, judged_share):
        array[results.without_list] = np.nan
    # Donors are judged pairs of the same query. Without one, and for an engine without any grade, a list has
    # bounds alone. Any other list is imputed: short ones are wholly unjudged more often than long ones, and
    # means without them have a bias.
    graded = (lists.grade != NO_GRADE).sum(-1).reshape(shape[:3])
    ungraded = np.equal(graded, 0) & np.greater(results.returned, 0)[..., None]
    imputable = np.any(graded, axis=0) & np.any(graded, axis=1)[:, None]
    of_grades = np.array([measure.kind.gains is not None for measure in measures])
    value[(ungraded & ~imputable)[..., None] & of_grades] = np.nan
    return Scores(
        engines=results.engines,
        queries=results.queries,
        repeats=graded_lists.repeats,
        measures=tuple(measures),
        value=value,
        lowest=lowest,
        highest=highest,
        judged_share=judged_share,
        without_list=results.without_list,
        graded=graded,
        largest=tuple(find_largest_value(measure, scale, results.depth) for measure in measures),
        incomplete=incomplete,
    )


def _impute_and_bound(
    graded_lists: GradedLists, measures: Sequence[Measure], scale: Scale, incomplete: IncompleteLists | None
) -> tuple[Floats, Floats, Floats]:
    """Return the (engines, pools, measures) values and bounds, one array where all snippets are judged."""
    lists = graded_lists.lists
    value = np.stack([compute_values(measure, lists, scale) for measure in measures], axis=-1)
    if incomplete is None:
        return value, value, value
    lowest, highest = value.copy(), value.copy()
    part, unsure = incomplete.lists, incomplete.pools.ravel() >= 0
    bounds = [
        bound_values(measure, part, scale, value[:, unsure, index]) for index, measure in enumerate(measures)
    ]
    lowest[:, unsure], highest[:, unsure] = (np.stack(ends, axis=-1) for ends in zip(*bounds, strict=True))
    imputed = compute_imputed_values(measures, part, impute_unjudged(graded_lists, scale), scale)
    # Rounding can move the mean of the draws out of the bounds. Drawn grades do not count for Judged: its
    # bounds are its value.
    value[:, unsure] = np.clip(imputed, lowest[:, unsure], highest[:, unsure])
    return value, lowest, highest


def compute_nan_mean(array: Floats, axis: int) -> Floats:
    """Return the mean along `axis` of the values that are not NaN; NaN where there is none."""
    defined = ~np.isnan(array)
    total: Floats = np.where(defined, array, 0.0).sum(axis)
    return divide(total, defined.sum(axis).astype(np.float64), np.nan)


def compute_bounded_mean(value: Floats, lowest: Floats, highest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean (...) of `value` (..., entries), and its lowest and highest possible value.

    An entry with a value lies between its `lowest` and `highest`. An entry with bounds alone may get a value
    between them or stay undefined, so the bounds of the mean hold with and without it. An entry with
    neither is left out. NaN where no entry is left.
    """
    sure = ~np.isnan(value)
    return (
        compute_nan_mean(value, axis=-1),
        _compute_lowest_mean(lowest, sure),
        0.0 - _compute_lowest_mean(-highest, sure),  # 0.0, not -0.0
    )


def _compute_lowest_mean(lowest: Floats, sure: Bools) -> Floats:
    """Return the lowest mean (...) of the `sure` (..., entries) together with any number of the others."""
    others: Bools = ~sure & ~np.isnan(lowest)
    count = int(others.sum(-1).max(initial=0))
    if not count:
        return compute_nan_mean(lowest, axis=-1)
    added = np.sort(np.where(others, lowest, np.inf), axis=-1)[..., :count].cumsum(-1)
    total = np.where(sure, lowest, 0.0).sum(-1)[..., None]
    sums = np.concatenate([total, total + added], axis=-1)
    counts = sure.sum(-1)[..., None] + np.arange(count + 1.0)
    mean: Floats = divide(sums, counts, np.inf).min(-1)
    return np.where(np.isinf(mean), np.nan, mean)


def _subtract_bounds(one: Ints, two: Ints, lowest: Floats, highest: Floats) -> tuple[Floats, Floats]:
    """Return the (engine pairs, …) bounds of one - two from those of each engine."""
    return lowest[one] - highest[two], highest[one] - lowest[two]


def _average_exact_bounds(wide: Floats, exact: Floats, pools: Ints, otherwise: Floats) -> Floats:
    """Return the (engine pairs, queries) mean over the repeats of exact bounds where they are known.

    `wide` is (engine pairs, queries, repeats), `exact` (engine pairs, pools). The result is `otherwise` where
    a repeat may have no value, because the mean is then with or without it, and where it has no exact bound.
    """
    incomplete = pools >= 0
    ends = np.where(np.isnan(wide) | ~incomplete, wide, exact[:, pools])
    exactly = ~np.any(np.isnan(ends) & ~np.isnan(wide), axis=-1)
    return np.where(exactly, compute_nan_mean(ends, axis=-1), otherwise)


def score_ideal_order(
    results: ResultColumns, judgments: JudgmentColumns, measures: Sequence[Measure], scale: Scale
) -> dict[str, Floats]:
    """Return the (queries,) values of the best order of each query's pool, by measure.

    Documents without a grade are left out. NaN where all engines failed, where no document of the pool has
    a grade, and where a measure is undefined.
    """
    graded_lists = build_graded_lists(results, judgments, scale)
    best, depth = graded_lists.lists.best, graded_lists.lists.depth
    document = np.argsort(-best, axis=1, kind="stable")[:, :depth]
    grade = np.take_along_axis(best, document, axis=1)
    origin = np.where(grade == NO_GRADE, -1, np.arange(grade.shape[1]))
    none = np.full_like(grade, -1)[None]
    ideal = RankedLists(depth, grade[None], origin[None], document[None], none, best)
    shape = len(results.queries), len(graded_lists.repeats)
    ungraded: Bools = np.equal(best, NO_GRADE).all(axis=1).reshape(shape)
    failed: Bools = np.logical_and.reduce(results.without_list)
    unknown = failed[:, None] | (ungraded & np.any(results.returned, axis=0)[:, None])
    return {
        str(measure): compute_nan_mean(
            np.where(unknown, np.nan, compute_values(measure, ideal, scale).reshape(shape)), axis=1
        )
        for measure in measures
        if measure.compares_engines
    }
