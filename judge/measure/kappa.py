"""Owns agreement of raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha.

All start from tables of counts that add up over pairs and queries, so that a bootstrap over queries can
sum them in any way and hand over many sums at once: leading axes pass through.
"""

from __future__ import annotations

import numpy as np

from judge.measure.formulas import Floats, Ints, divide

Counts = Floats | Ints


def count_confusions(query: Ints, human: Ints, assessor: Ints, levels: int) -> Ints:
    """(queries, levels, levels): how many pairs got each two grades, rows human, columns assessor.

    There is a table for each query that has a pair, in the queries' order. Raises `ValueError` when a
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
    """(..., 2, 2) of (..., human levels, assessor levels): not relevant and relevant.

    Each side counts as relevant from its own grade on.
    """
    counts = np.asarray(table, dtype=np.float64)
    rows = np.stack([counts[..., :human_from, :].sum(-2), counts[..., human_from:, :].sum(-2)], axis=-2)
    return np.stack([rows[..., :assessor_from].sum(-1), rows[..., assessor_from:].sum(-1)], axis=-1)


def cohen_kappa(table: Counts, *, quadratic: bool = False) -> Floats:
    """(...) of (..., levels, levels): 1 - observed disagreement / disagreement by chance.

    Every disagreement counts the same (Cohen 1960), or `quadratic` by its squared distance in grades
    (Cohen 1968). NaN where chance agreement is complete: both sides gave one and the same grade to all.
    """
    grade = np.arange(table.shape[-1], dtype=np.float64)
    apart = np.abs(np.subtract.outer(grade, grade))
    weight = np.square(apart) if quadratic else np.minimum(apart, 1.0)
    counts = np.asarray(table, dtype=np.float64)
    human, assessor = counts.sum(-1), counts.sum(-2)
    by_chance = (human[..., :, None] * assessor[..., None, :] * weight).sum((-2, -1))
    observed = (counts * weight).sum((-2, -1)) * human.sum(-1)
    return 1 - divide(observed, by_chance, np.nan)


def count_coincidences(counts: Ints) -> Floats:
    """(units, levels, levels) of (units, levels): what each unit adds to Krippendorff's coincidences.

    `counts` says how many raters gave each grade. Each ordered pair of a unit's m ratings adds
    1 / (m - 1); a unit with fewer than two ratings adds nothing. Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability".
    """
    ratings = np.asarray(counts, dtype=np.float64)
    pairs = ratings[:, :, None] * ratings[:, None, :] - ratings[:, :, None] * np.eye(ratings.shape[1])
    return divide(pairs, ratings.sum(1)[:, None, None] - 1, 0.0)


def krippendorff_alpha(coincidence: Floats, *, ordinal: bool = True) -> Floats:
    """(...) of (..., levels, levels): alpha of summed `coincidences` (Krippendorff 2011).

    Two grades are as far apart as the mid-ranks of their ratings, squared; without `ordinal` any two
    differ by the same. For two raters the coincidences of a confusion table are table + its transpose.
    NaN where only one grade was given, or none.
    """
    given = coincidence.sum(-1)
    total = given.sum(-1)
    if ordinal:
        middle = np.cumsum(given, axis=-1) - given / 2
        apart = np.square(middle[..., :, None] - middle[..., None, :])
    else:
        apart = 1 - np.eye(coincidence.shape[-1])
    by_chance = (given[..., :, None] * given[..., None, :] * apart).sum((-2, -1))
    observed = (coincidence * apart).sum((-2, -1)) * (total - 1)
    return 1 - divide(observed, by_chance, np.nan)


def fleiss_kappa(counts: Ints) -> float:
    """Fleiss' kappa (1971) of (units, levels): how many raters gave each unit each grade.

    NaN where only one grade was given, or there is no unit. Raises `ValueError` unless every unit has
    the same number of ratings, at least two.
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
    by_chance = 1 - np.square(ratings.sum(0) / ratings.sum()).sum()
    return float(1 - divide(1 - alike.mean(), by_chance, np.nan))
