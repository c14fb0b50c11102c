"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha.

All functions start from tables of counts that add up over pairs and queries, so a bootstrap over queries
can sum the tables and pass many sums at once: leading axes are kept.
"""

from __future__ import annotations

import numpy as np

from judge.measure.formulas import Floats, Ints, divide

Counts = Floats | Ints


def count_confusions(query: Ints, human: Ints, assessor: Ints, levels: int) -> Ints:
    """Return (queries, levels, levels) counts of pairs by grade, rows human, columns assessor.

    There is a table for each query with a pair, in the order of the queries. Raise `ValueError` when a
    grade is not one of 0..levels - 1.
    """
    for grades in (human, assessor):
        if grades.size and not (grades.min() >= 0 and grades.max() < levels):
            raise ValueError(f"grades run from {grades.min()} to {grades.max()}, not from 0 to {levels - 1}")
    numbers, row = np.unique(query, return_inverse=True)
    cell = (row * levels + human) * levels + assessor
    tables: Ints = np.bincount(cell, minlength=len(numbers) * levels**2)
    return tables.reshape(len(numbers), levels, levels)


def collapse_grades(table: Counts, human_from: int, assessor_from: int) -> Floats:
    """Return (..., 2, 2) counts of not relevant and relevant from (..., human levels, assessor levels).

    Each rater has its own lowest relevant grade.
    """
    counts = np.asarray(table, dtype=np.float64)
    rows = np.stack([counts[..., :human_from, :].sum(-2), counts[..., human_from:, :].sum(-2)], axis=-2)
    return np.stack([rows[..., :assessor_from].sum(-1), rows[..., assessor_from:].sum(-1)], axis=-1)


def cohen_kappa(table: Counts, *, quadratic: bool = False) -> Floats:
    """Return Cohen's kappa (...) of (..., levels, levels): 1 - observed / expected disagreement.

    All disagreements weigh the same (Cohen 1960), or with `quadratic` the squared distance of the grades
    (Cohen 1968). NaN where chance agreement is complete: both raters gave the same grade to all.
    """
    grade = np.arange(table.shape[-1], dtype=np.float64)
    distance = np.abs(np.subtract.outer(grade, grade))
    weight = np.square(distance) if quadratic else np.minimum(distance, 1.0)
    counts = np.asarray(table, dtype=np.float64)
    human, assessor = counts.sum(-1), counts.sum(-2)
    expected = (human[..., :, None] * assessor[..., None, :] * weight).sum((-2, -1))
    observed = (counts * weight).sum((-2, -1)) * human.sum(-1)
    return 1 - divide(observed, expected, np.nan)


def count_coincidences(counts: Ints) -> Floats:
    """Return the (units, levels, levels) coincidences of each unit, from (units, levels) counts of ratings.

    Each ordered pair of a unit's m ratings adds 1 / (m - 1); a unit with fewer than two ratings adds 0
    (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
    """
    ratings = np.asarray(counts, dtype=np.float64)
    pairs = ratings[:, :, None] * ratings[:, None, :] - ratings[:, :, None] * np.eye(ratings.shape[1])
    return divide(pairs, ratings.sum(1)[:, None, None] - 1, 0.0)


def krippendorff_alpha(coincidence: Floats, *, ordinal: bool = True) -> Floats:
    """Return alpha (...) of summed coincidences (..., levels, levels) (Krippendorff 2011).

    The distance of two grades is that of the mid-ranks of their ratings, squared; without `ordinal` it is 1.
    For two raters the coincidences are the confusion table plus its transpose. NaN where all ratings have
    one grade, or there is none.
    """
    given = coincidence.sum(-1)
    total = given.sum(-1)
    if ordinal:
        middle = np.cumsum(given, axis=-1) - given / 2
        distance = np.square(middle[..., :, None] - middle[..., None, :])
    else:
        distance = 1 - np.eye(coincidence.shape[-1])
    expected = (given[..., :, None] * given[..., None, :] * distance).sum((-2, -1))
    observed = (coincidence * distance).sum((-2, -1)) * (total - 1)
    return 1 - divide(observed, expected, np.nan)


def fleiss_kappa(counts: Ints) -> float:
    """Return Fleiss' kappa (1971) of (units, levels) counts of ratings.

    NaN where all ratings have one grade, or there is no unit. Raise `ValueError` unless every unit has the
    same number of ratings, at least two.
    """
    if not len(counts):
        return float("nan")
    ratings = np.asarray(counts, dtype=np.float64)
    raters = ratings.sum(1)
    if raters.min() != raters.max() or raters[0] < 2:
        raise ValueError(
            f"units have {raters.min():g} to {raters.max():g} ratings; all need the same, from 2"
        )
    alike = (np.square(ratings).sum(1) - raters) / (raters * (raters - 1))
    expected = 1 - np.square(ratings.sum(0) / ratings.sum()).sum()
    return float(1 - divide(1 - alike.mean(), expected, np.nan))
