"""Agreement beyond chance: published examples, independent libraries, and where it says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.measure.agreement import (
    cohen_kappa,
    collapse_grades,
    count_coincidences,
    count_confusions,
    fleiss_kappa,
    krippendorff_alpha,
)
from judge.measure.formulas import Floats, Ints

TWO_SIDES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)

#: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", D: four observers, twelve units.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def make_ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def split_sides(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    human, assessor = np.array(pairs, dtype=np.int64).T
    return human, assessor


def count_confusion(human: Ints, assessor: Ints, levels: int) -> Ints:
    """The table of one query."""
    table: Ints = count_confusions(np.zeros_like(human), human, assessor, levels).sum(0)
    return table


def count_ratings(ratings: Floats, levels: int) -> Ints:
    """(units, levels) of (raters, units), NaN where a rater gave nothing."""
    counts: Ints = np.stack([(ratings == level).sum(0) for level in range(levels)], axis=1)
    return counts


def compute_alpha(counts: Ints, *, ordinal: bool = True) -> float:
    return float(krippendorff_alpha(count_coincidences(counts).sum(0), ordinal=ordinal))


def test_confusion_has_a_row_for_each_grade_of_people() -> None:
    table = count_confusion(make_ints(0, 0, 2, 1), make_ints(0, 2, 2, 2), 3)
    assert table.tolist() == [[1, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_each_query_has_its_table() -> None:
    tables = count_confusions(make_ints(7, 3, 7), make_ints(0, 1, 1), make_ints(1, 1, 1), 2)
    assert tables.tolist() == [[[0, 0], [0, 1]], [[0, 1], [0, 1]]]
    assert count_confusions(make_ints(), make_ints(), make_ints(), 2).shape == (0, 2, 2)
    assert count_confusion(make_ints(), make_ints(), 2).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("human", "assessor"), [(3, 0), (0, 3), (-1, 0)])
def test_a_grade_off_the_scale_is_refused(human: int, assessor: int) -> None:
    with pytest.raises(ValueError, match="not from 0 to 2"):
        count_confusion(make_ints(human), make_ints(assessor), 3)


def test_each_side_is_collapsed_at_its_own_threshold() -> None:
    table = np.arange(16).reshape(4, 4)
    assert collapse_grades(table, 2, 1).tolist() == [
        [0 + 4, 1 + 2 + 3 + 5 + 6 + 7],
        [8 + 12, 9 + 10 + 11 + 13 + 14 + 15],
    ]
    assert collapse_grades(table, 0, 4).tolist() == [[0, 0], [120, 0]]


def test_cohen_by_hand() -> None:
    """Agreement 0.7; by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5."""
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


@given(TWO_SIDES)
def test_cohen_equals_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    assume(len({grade for pair in pairs for grade in pair}) > 1)
    human, assessor = split_sides(pairs)
    table, labels = count_confusion(human, assessor, 4), range(4)
    for quadratic, weights in ((False, None), (True, "quadratic")):
        expected = cohen_kappa_score(human, assessor, labels=labels, weights=weights)
        assert cohen_kappa(table, quadratic=quadratic) == pytest.approx(expected, abs=1e-12)


@given(TWO_SIDES)
def test_two_raters_coincidences_are_their_confusion_both_ways(pairs: list[tuple[int, int]]) -> None:
    human, assessor = split_sides(pairs)
    table = count_confusion(human, assessor, 4)
    summed = count_coincidences(count_ratings(np.stack([human, assessor]).astype(np.float64), 4)).sum(0)
    assert summed.tolist() == (table + table.T).tolist()


@pytest.mark.parametrize(("ordinal", "published"), [(False, 0.743), (True, 0.815)])
def test_krippendorffs_own_example(ordinal: bool, published: float) -> None:
    rows = [line.replace(".", "nan").split() for line in OBSERVERS.strip().splitlines()]
    result = compute_alpha(count_ratings(np.array(rows, dtype=np.float64) - 1, 5), ordinal=ordinal)
    assert result == pytest.approx(published, abs=5e-4)
    assert compute_alpha(
        count_ratings(np.array(rows, dtype=np.float64), 9), ordinal=ordinal
    ) == pytest.approx(result)


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 3, np.nan]), min_size=3, max_size=3), min_size=2, max_size=20)
)
def test_alpha_equals_truescore(units: list[list[float]]) -> None:
    from truescore.agreement import krippendorff_alpha as truescore_alpha

    ratings = np.array(units, dtype=np.float64)
    pairable = ratings[(~np.isnan(ratings)).sum(1) > 1]
    assume(len(pairable) > 1 and len(np.unique(pairable[~np.isnan(pairable)])) > 1)
    counts = count_ratings(ratings.T, 4)
    assert compute_alpha(counts) == pytest.approx(truescore_alpha(pairable.T, level="ordinal"), abs=1e-12)
    assert compute_alpha(counts, ordinal=False) == pytest.approx(
        truescore_alpha(pairable.T, level="nominal"), abs=1e-12
    )


def test_a_lone_rating_adds_no_coincidence() -> None:
    assert not count_coincidences(np.array([[0, 1, 0], [0, 0, 0]])).any()


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=20))
def test_fleiss_equals_statsmodels(units: list[list[int]]) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

    assume(len({grade for unit in units for grade in unit}) > 1)
    counts = count_ratings(np.array(units, dtype=np.float64).T, 3)
    assert fleiss_kappa(counts) == pytest.approx(statsmodels_fleiss(counts), abs=1e-12)


def test_fleiss_needs_equally_many_ratings() -> None:
    with pytest.raises(ValueError, match="units have 2 to 3 ratings"):
        fleiss_kappa(np.array([[1, 1], [3, 0]]))
    with pytest.raises(ValueError, match="from 2"):
        fleiss_kappa(np.array([[1, 0], [1, 0]]))


def test_where_chance_agreement_is_complete_nothing_is_known() -> None:
    always = np.array([[0, 0], [0, 9]])
    nothing = np.zeros((2, 2))
    for table in (always, nothing):
        assert np.isnan(cohen_kappa(table))
        assert np.isnan(cohen_kappa(table, quadratic=True))
        assert np.isnan(krippendorff_alpha(table + table.T))
        assert np.isnan(krippendorff_alpha(table + table.T, ordinal=False))
    assert np.isnan(fleiss_kappa(np.array([[0, 3], [0, 3]])))
    assert np.isnan(fleiss_kappa(np.zeros((0, 2), dtype=np.int64)))


def test_a_constant_side_agrees_by_chance_alone() -> None:
    assert cohen_kappa(np.array([[0, 6], [0, 4]])) == 0
    assert cohen_kappa(np.array([[0, 6], [0, 0]])) == 0


@given(TWO_SIDES, TWO_SIDES)
def test_many_tables_at_once_are_the_same_as_one_by_one(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    tables = np.stack([count_confusion(*split_sides(pairs), 4) for pairs in (first, second)])
    both = tables + np.swapaxes(tables, -2, -1)
    for at, table in enumerate(tables):
        assert np.array_equal(cohen_kappa(tables)[at], cohen_kappa(table), equal_nan=True)
        assert np.array_equal(collapse_grades(tables, 2, 1)[at], collapse_grades(table, 2, 1))
        ordinal = krippendorff_alpha(both.astype(np.float64))[at]
        assert np.array_equal(ordinal, krippendorff_alpha(both[at].astype(np.float64)), equal_nan=True)
