"""The scores of the ideal order: the documents of the pool, best grade first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists, build_arrays
from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.formulas import Bools, Floats
from judge.measure.measures import Measure
from judge.measure.score import nan_mean
from judge.measure.values import compute_values
from judge.records import Scale


def score_ideal_order(
    results: ResultColumns, judgments: JudgmentColumns, measures: Sequence[Measure], scale: Scale
) -> dict[str, Floats]:
    """Return the (queries,) values of the best order of each query's pool, by measure.

    Documents without a grade are left out. NaN where all engines failed, where no document of the pool has
    a grade, and where a measure is undefined.
    """
    arrays = build_arrays(results, judgments, scale)
    best, depth = arrays.lists.best, arrays.lists.depth
    document = np.argsort(-best, axis=1, kind="stable")[:, :depth]
    grade = np.take_along_axis(best, document, axis=1)
    origin = np.where(grade == NO_GRADE, -1, np.arange(grade.shape[1]))
    none = np.full_like(grade, -1)[None]
    ideal = RankedLists(depth, grade[None], origin[None], document[None], none, none, best)
    shape = len(results.queries), len(arrays.repeats)
    coverage = arrays.coverage
    ungraded: Bools = np.equal(best, NO_GRADE).all(axis=1).reshape(shape)
    failed: Bools = np.logical_and.reduce(coverage.missing)
    unknown = failed[:, None] | (ungraded & np.greater(coverage.pooled, 0)[:, None])
    return {
        str(measure): nan_mean(
            np.where(unknown, np.nan, compute_values(measure, ideal, scale).reshape(shape)), axis=1
        )
        for measure in measures
        if measure.compares_engines
    }
