"""Agreement of an assessor with labels of people, over the pairs that both graded, and its coefficients.

Cohen's and Fleiss' kappa and Krippendorff's alpha start from tables of counts that add up over pairs and
queries. So a bootstrap over queries can add the tables and pass many sums at once, along leading axes. Errors
on pairs of one query are correlated, so every interval resamples whole queries: intervals from resampled
pairs are several times too narrow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from judge.measure.grades_by_pair import PairedGrades
from judge.measure.intervals import StatisticValue
from judge.measure.numeric import Floats, Ints, divide
from judge.measure.resampling import Statistic, estimate_statistics
from judge.messages import Message
from judge.records import Scale

Counts = Floats | Ints
_NO_PAIR = Message("no pair has a grade from people and one from the assessor")
_BY_CHANCE = Message(
    "both sides gave the same answer to every pair, so agreement by chance is complete and does not measure"
    " the assessor; they agree on 100%"
)
_SAME_NUMBER = Message(
    "both sides have the same number on every pair, so agreement by chance is complete; as the scales differ,"
    " the same number is not the same grade"
)
_TWO_SCALES = Message(
    "people and the assessor used different scales, so their grades cannot be subtracted or ordered"
)
_SAME_SCALE_ONLY = ("same_grade", "kappa_quadratic", "alpha", "bias")


def count_confusions(query: Ints, people: Ints, assessor: Ints, levels: int) -> Ints:
    """Return (queries, levels, levels) counts of pairs by grade, rows people, columns assessor.

    There is a table for each query with a pair, in the order of the queries. Grades are below `levels`.
    """
    numbers, row = np.unique(query, return_inverse=True)
    cell = (row * levels + people) * levels + assessor
    tables: Ints = np.bincount(cell, minlength=len(numbers) * levels**2)
    return tables.reshape(len(numbers), levels, levels)


def collapse_grades(table: Counts, people_from: int, assessor_from: int) -> Floats:
    """Return (..., 2, 2) counts of not relevant and relevant from (..., people's levels, assessor's levels).

    Each rater has its own lowest relevant grade.
    """
    sides = [
        table[..., rows, columns].sum((-2, -1))
        for rows in (slice(people_from), slice(people_from, None))
        for columns in (slice(assessor_from), slice(assessor_from, None))
    ]
    return np.stack(sides, axis=-1, dtype=np.float64).reshape(*table.shape[:-2], 2, 2)


def cohen_kappa(table: Counts, *, quadratic: bool = False) -> Floats:
    """Return Cohen's kappa (...) of (..., levels, levels): 1 - observed / expected disagreement.

    All disagreements weigh the same (Cohen 1960), or with `quadratic` the squared distance of the grades
    (Cohen 1968). NaN where chance agreement is complete: both raters gave the same grade to all.
    """
    grade = np.arange(table.shape[-1], dtype=np.float64)
    distance = np.abs(np.subtract.outer(grade, grade))
    weight = np.square(distance) if quadratic else np.minimum(distance, 1.0)
    people, assessor = table.sum(-1), table.sum(-2)
    expected = (people @ weight * assessor).sum(-1)
    observed = (table * weight).sum((-2, -1)) * people.sum(-1)
    return 1 - divide(observed, expected, np.nan)


def count_coincidences(counts: Ints) -> Floats:
    """Return the (units, levels, levels) coincidences of each unit, from (units, levels) counts of ratings.

    Each ordered pair of a unit's m ratings adds 1 / (m - 1); a unit with fewer than two ratings adds 0
    (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
    """
    ratings = np.asarray(counts, dtype=np.float64)
    coincidences = ratings[:, :, None] * ratings[:, None, :] - ratings[:, :, None] * np.eye(ratings.shape[1])
    return divide(coincidences, ratings.sum(1)[:, None, None] - 1, 0.0)


def krippendorff_alpha(coincidence: Floats) -> Floats:
    """Return the ordinal alpha (...) of summed coincidences (..., levels, levels) (Krippendorff 2011).

    The distance of two grades is that of the mid-ranks of their ratings, squared. For two raters the
    coincidences are the confusion table plus its transpose. NaN where all ratings have one grade, or there
    is none.
    """
    given = coincidence.sum(-1)
    total = given.sum(-1)
    middle = np.cumsum(given, axis=-1) - given / 2
    distance = np.square(middle[..., :, None] - middle[..., None, :])
    expected = (given[..., :, None] * given[..., None, :] * distance).sum((-2, -1))
    observed = (coincidence * distance).sum((-2, -1)) * (total - 1)
    return 1 - divide(observed, expected, np.nan)


def fleiss_kappa(counts: Ints) -> float:
    """Return Fleiss' kappa (1971) of (units, levels) counts of ratings.

    Every unit has the same number of ratings, at least two. NaN where all ratings have one grade, or there is
    no unit.
    """
    if not len(counts):
        return float("nan")
    ratings = np.asarray(counts, dtype=np.float64)
    raters = ratings.sum(1)
    alike = (np.square(ratings).sum(1) - raters) / (raters * (raters - 1))
    expected = 1 - np.square(ratings.sum(0) / ratings.sum()).sum()
    return float(1 - divide(1 - alike.mean(), expected, np.nan))


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of the assessor with labels of people, over `pairs` pairs of `queries` queries.

    `confusion` counts pairs by grade, rows people, columns assessor. On grades: `same_grade` is the share of
    pairs with equal grades, `kappa` and `kappa_quadratic` are Cohen's, `alpha` is Krippendorff's (ordinal),
    `bias` the mean of assessor - people. On relevance, each side from its own `relevant_from`:
    `same_verdict`, `kappa_relevant`, `bias_relevant` (relevant share of the assessor - relevant share of
    people), and `precision` and `recall` of the assessor with the labels as truth. `kappa_at` takes each
    grade as the lowest relevant one, on both sides.

    Where the two scales differ, `kappa_at` leaves the assessor's threshold at its own `relevant_from`.
    `kappa` then compares the numbers, as published tables do, and means little. `same_grade`,
    `kappa_quadratic`, `alpha` and `bias` are None.
    """

    pairs: int
    queries: int
    confusion: tuple[tuple[int, ...], ...]
    same_grade: StatisticValue
    kappa: StatisticValue
    kappa_quadratic: StatisticValue
    alpha: StatisticValue
    bias: StatisticValue
    same_verdict: StatisticValue
    kappa_relevant: StatisticValue
    bias_relevant: StatisticValue
    precision: StatisticValue
    recall: StatisticValue
    kappa_at: Mapping[str, StatisticValue]


def measure_agreement(paired_grades: PairedGrades, people: Scale, assessor: Scale) -> Agreement:
    """Return the agreement over all pairs. Raise `ValueError` when a grade is off its scale."""
    for grades, scale in ((paired_grades.people, people), (paired_grades.assessor, assessor)):
        if grades.size and not 0 <= grades.min() <= grades.max() <= scale.top:
            raise ValueError(f"grades run from {grades.min()} to {grades.max()}, not from 0 to {scale.top}")
    query, levels = paired_grades.query, max(people.top, assessor.top) + 1
    counts = count_confusions(query, paired_grades.people, paired_grades.assessor, levels)
    by_query = counts.astype(np.float64)
    table = by_query.sum(0).astype(np.int64)
    one_scale = people.top == assessor.top
    statistics = dict(_ON_GRADES) | _make_relevance_statistics(people, assessor, one_scale=one_scale)
    if not one_scale:
        statistics = {name: value for name, value in statistics.items() if name not in _SAME_SCALE_ONLY}
        statistics["kappa"] = Statistic(cohen_kappa, _SAME_NUMBER)
    if not len(by_query):
        statistics = {name: one._replace(why_undefined=_NO_PAIR) for name, one in statistics.items()}
    results = estimate_statistics(by_query, statistics)
    kappa_at = {str(grade): results.pop(f"kappa_at_{grade}") for grade in range(1, people.top + 1)}
    return Agreement(
        pairs=len(query),
        queries=len(by_query),
        confusion=tuple(tuple(row[: assessor.top + 1]) for row in table[: people.top + 1].tolist()),
        kappa_at=kappa_at,
        **({} if one_scale else dict.fromkeys(_SAME_SCALE_ONLY, StatisticValue(None, None, _TWO_SCALES))),
        **results,
    )


def _make_relevance_statistics(people: Scale, assessor: Scale, *, one_scale: bool) -> dict[str, Statistic]:
    """Return the statistics of relevance: each side with its own threshold, and kappa at every grade."""

    def collapse(statistic: Statistic, people_from: int, assessor_from: int) -> Statistic:
        return statistic._replace(
            compute=lambda tables: statistic.compute(collapse_grades(tables, people_from, assessor_from))
        )

    own_from = assessor.relevant_from
    own = {name: collapse(sides, people.relevant_from, own_from) for name, sides in _ON_SIDES.items()}
    return own | {
        f"kappa_at_{grade}": collapse(
            Statistic(cohen_kappa, _BY_CHANCE), grade, grade if one_scale else own_from
        )
        for grade in range(1, people.top + 1)
    }


def _compute_same_share(table: Floats) -> Floats:
    """Return the share of equal grades (...) of (..., levels, levels)."""
    return divide(np.trace(table, axis1=-2, axis2=-1), table.sum((-2, -1)), np.nan)


def _compute_mean_difference(table: Floats) -> Floats:
    """Return the mean of assessor - people (...) of (..., levels, levels)."""
    grade = np.arange(table.shape[-1])
    return divide((table * (grade - grade[:, None])).sum((-2, -1)), table.sum((-2, -1)), np.nan)


_ON_GRADES: Mapping[str, Statistic] = {
    "same_grade": Statistic(_compute_same_share, _NO_PAIR, is_share=True),
    "kappa": Statistic(cohen_kappa, _BY_CHANCE),
    "kappa_quadratic": Statistic(partial(cohen_kappa, quadratic=True), _BY_CHANCE),
    "alpha": Statistic(lambda table: krippendorff_alpha(table + np.swapaxes(table, -2, -1)), _BY_CHANCE),
    "bias": Statistic(_compute_mean_difference, _NO_PAIR),
}
_ON_SIDES: Mapping[str, Statistic] = {
    "same_verdict": Statistic(_compute_same_share, _NO_PAIR, is_share=True),
    "kappa_relevant": Statistic(cohen_kappa, _BY_CHANCE),
    "bias_relevant": Statistic(_compute_mean_difference, _NO_PAIR),
    "precision": Statistic(
        lambda table: divide(table[..., 1, 1], table[..., :, 1].sum(-1), np.nan),
        Message("the assessor calls nothing relevant"),
        is_share=True,
    ),
    "recall": Statistic(
        lambda table: divide(table[..., 1, 1], table[..., 1, :].sum(-1), np.nan),
        Message("people call nothing relevant"),
        is_share=True,
    ),
}
