"""Where scores vary: published tables, statsmodels, and datasets whose variances are known."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.measure.numeric import Floats
from judge.measure.stability import VarianceComponents, compute_equivalence_p, estimate_components, icc
from tests.support.cases import check_each
from tests.unit.measure.tables import make_floats

#: Shrout & Fleiss 1979, table 2: six targets, four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=np.float64
)


def test_icc_of_shrout_and_fleiss() -> None:
    """ICC(2,1) from their mean squares: 11.24 between targets, 32.49 between judges, 1.02 left."""
    assert icc(SHROUT_FLEISS) == pytest.approx(0.29, abs=0.005)
    expected = (11.24 - 1.02) / (11.24 + 3 * 1.02 + 4 * (32.49 - 1.02) / 6)
    assert icc(SHROUT_FLEISS) == pytest.approx(expected, abs=1e-3)


def test_equal_repeats_agree_wholly_and_a_shift_costs() -> None:
    first = make_floats(0.1, 0.5, 0.9)
    assert icc(np.stack([first, first], axis=1)) == pytest.approx(1)
    shifted = icc(np.stack([first, first + 0.2], axis=1))
    # Var of queries 0.16, of the repeats' means 0.02, nothing left.
    assert shifted == pytest.approx(0.16 / (0.16 + 0.02))


@check_each(
    "values",
    [
        np.full((3, 3), 0.1),
        np.array([[0.1, 0.2]]),
        np.array([[0.1], [0.2]]),
        np.array([[0.3, 0.7], [0.7, 0.3]]),
        np.zeros((0, 3)),
    ],
)
def test_icc_of_nothing_that_varies_is_unknown(values: Floats) -> None:
    assert icc(values) is None


def test_components_by_hand() -> None:
    """Mean squares: queries 9/2, engines 1/2, both 0, repeats 1/4 (two of four cells differ by 1)."""
    values = np.array([[[0, 0], [0, 1]], [[1, 2], [2, 2]]], dtype=np.float64)
    result = estimate_components(values)
    assert result is not None
    cell = values.mean(2)
    assert cell.tolist() == [[0, 0.5], [1.5, 2]]
    assert result.noise == pytest.approx(0.25)
    assert result.query_engine == 0
    assert result.query == pytest.approx(4.5 / 4)
    assert result.engine == pytest.approx(0.5 / 4)


@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 1, 2), (2, 2, 1), (0, 2, 2)])
def test_components_need_two_of_each(shape: tuple[int, int, int]) -> None:
    assert estimate_components(np.zeros(shape)) is None


def test_nothing_varies() -> None:
    assert estimate_components(np.full((2, 3, 4), 0.5)) == VarianceComponents(0, 0, 0, 0)


def test_components_find_the_variances_of_a_simulated_dataset() -> None:
    chance = np.random.default_rng(0)
    queries, engines, repeats = 400, 60, 3
    values = (
        chance.normal(0, 0.3, (queries, 1, 1))
        + chance.normal(0, 0.1, (1, engines, 1))
        + chance.normal(0, 0.2, (queries, engines, 1))
        + chance.normal(0, 0.05, (queries, engines, repeats))
    )
    result = estimate_components(values)
    assert result is not None
    assert [result.query, result.engine] == pytest.approx([0.09, 0.01], rel=0.2)
    assert [result.query_engine, result.noise] == pytest.approx([0.04, 0.0025], rel=0.03)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=30), st.floats(0.01, 0.5))
def test_equivalence_equals_statsmodels(differences: list[float], margin: float) -> None:
    from statsmodels.stats.weightstats import ttost_paired

    array = make_floats(*differences)
    assume(array.std() > 1e-6)
    expected = ttost_paired(array, np.zeros(len(array)), -margin, margin)[0]
    assert compute_equivalence_p(array, margin) == pytest.approx(expected, abs=1e-12)


@check_each(
    ("difference", "p"), [(0.0, 0.0), (0.009, 0.0), (-0.009, 0.0), (0.01, 1.0), (-0.01, 1.0), (0.2, 1.0)]
)
def test_equal_differences_are_inside_the_margin_or_not(difference: float, p: float) -> None:
    assert compute_equivalence_p(np.full(7, difference), 0.01) == p


def test_one_difference_proves_nothing() -> None:
    assert compute_equivalence_p(make_floats(0.0), 0.01) is None
    assert compute_equivalence_p(make_floats(), 0.01) is None
