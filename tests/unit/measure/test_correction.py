"""Correcting one mean: by hand, against truescore and scipy, and by what must not matter."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from judge.measure.numeric import Floats
from judge.measure.ppi import compute_two_sided_p
from tests.unit.measure.tables import correct_known_mean, draw_graded, list_numbers, make_floats


def test_four_labelled_and_four_others_by_hand() -> None:
    """cov(y, f) = 1/6, var(f) = 15/56, n/N = 1: lambda = 14/45."""
    result = correct_known_mean(make_floats(1, 0, 1, 1), make_floats(1, 0, 0, 1), make_floats(1, 1, 0, 1))
    assert result.weight == pytest.approx(14 / 45)
    assert result.corrected == pytest.approx(3 / 4 + 14 / 45 * (3 / 4 - 1 / 2))
    # Without each query the estimate is 29/36, 1, 11/15, 29/36: 3/4 of the squares about their mean, and
    # lambda² var(F) / 4.
    assert result.se == pytest.approx((1273 / 43200 + 49 / 8100) ** 0.5)
    assert result.ci95 is not None
    margin = 3.182446 * result.se  # t, three degrees of freedom
    assert [*result.ci95] == pytest.approx([result.corrected - margin, result.corrected + margin])
    assert (result.labelled, result.undefined, result.rest, result.filled) == (4, 0, 4, 0)


@pytest.mark.parametrize("n", [20, 50, 200])
def test_truescore_agrees(n: int) -> None:
    """Its covariance divides by n, ours by n - 1: lambdas differ by that ratio, and nothing else does."""
    from truescore.correct import ppi_estimate

    people, assessor, rest = draw_graded(n, 400)
    everything, labelled = np.concatenate([assessor, rest]), np.arange(n)
    result = correct_known_mean(people, assessor, rest)
    theirs = ppi_estimate(everything, people, labelled)
    assert theirs.lambda_ == pytest.approx(result.weight * (n - 1) / n)
    assert theirs.point == pytest.approx(result.corrected, abs=0.003)
    same = ppi_estimate(everything, people, labelled, lambda_=result.weight)
    assert same.point == pytest.approx(result.corrected, abs=1e-12)
    # Theirs takes the weight as given; ours fits it again without each query, which matters if they are few.
    theirs_se = (same.high - same.low) / (2 * scipy.stats.norm.ppf(0.975))
    assert result.se == pytest.approx(theirs_se, rel=2 / n)
    assert result.ci95 is not None
    assert (result.ci95[1] - result.ci95[0]) / (2 * scipy.stats.t.ppf(0.975, n - 1)) == pytest.approx(
        result.se, abs=1e-12
    )


def test_truescore_agrees_about_a_difference() -> None:
    from truescore.compare import ppi_compare

    (ya, fa, ra), (yb, fb, rb) = draw_graded(100, 400, 1), draw_graded(100, 400, 2)
    result = correct_known_mean(ya - yb, fa - fb, ra - rb)
    theirs = ppi_compare(np.concatenate([fa, ra]), np.concatenate([fb, rb]), ya, yb, np.arange(100))
    assert theirs.difference == pytest.approx(result.corrected, abs=0.001)
    assert theirs.p_value == pytest.approx(compute_two_sided_p(result), abs=0.01)


@pytest.mark.parametrize(
    ("assessor", "rest"),
    [
        (draw_graded(30, 0)[1], make_floats()),
        (draw_graded(30, 0)[1], make_floats(0.5)),
        (np.full(30, 0.7), np.full(50, 0.7)),
        (0.1 + 1e-17 * np.arange(30), np.full(50, 0.1)),
    ],
    ids=["no rest", "one other query", "constant assessor", "but for rounding"],
)
def test_without_a_telling_assessor_it_is_the_t_test_on_human_values(assessor: Floats, rest: Floats) -> None:
    people = draw_graded(30, 0)[0] - 0.4
    result = correct_known_mean(people, assessor, rest, level=0.9)
    theirs = scipy.stats.ttest_1samp(people, 0)
    interval = theirs.confidence_interval(0.9)
    expected = [people.mean(), interval.low, interval.high, scipy.stats.sem(people), 0, theirs.pvalue]
    assert list_numbers(result) == pytest.approx(expected)


def test_an_assessor_that_is_always_right_makes_every_query_a_labelled_one() -> None:
    """The labelled spread as all do here (variance 2), so that lambda is N / (n + N) to the letter."""
    people = make_floats(-1, 1)
    rest = 1 + make_floats(-1, 1) * 1.5**0.5
    result = correct_known_mean(people, people, rest)
    assert result.weight == pytest.approx(1 / 2)
    assert result.corrected == pytest.approx(np.concatenate([people, rest]).mean())


def test_an_assessor_that_is_always_wrong_is_ignored() -> None:
    people, assessor, rest = draw_graded(50, 100)
    result = correct_known_mean(people, 1 - assessor, 1 - rest)
    assert result.weight == 0
    assert result.corrected == pytest.approx(people.mean())


@pytest.mark.parametrize("value", [0.0, 0.25])
def test_human_values_without_spread_say_nothing_of_other_queries(value: float) -> None:
    _, assessor, rest = draw_graded(20, 100)
    same = correct_known_mean(np.full(20, value), assessor, rest)
    assert (same.corrected, same.ci95, same.se, compute_two_sided_p(same)) == (value, None, 0, None)


def test_rounding_errors_are_no_spread() -> None:
    people = np.where(np.arange(20) < 3, 0.0, 0.3 - 0.1 - 0.2)
    result = correct_known_mean(people, np.zeros(20), np.zeros(5))
    assert (result.ci95, compute_two_sided_p(result)) == (None, None)


values = st.integers(0, 20).map(lambda value: value / 20)


@given(
    st.lists(st.tuples(values, values), min_size=3, max_size=20), st.lists(values, min_size=2, max_size=30)
)
def test_the_variance_is_that_of_estimates_without_each_query(
    labelled: list[tuple[float, float]], rest: list[float]
) -> None:
    people, assessor = np.array(labelled).T
    others, n = make_floats(*rest), len(labelled)
    result = correct_known_mean(people, assessor, others)
    without = [
        correct_known_mean(np.delete(people, at), np.delete(assessor, at), others).corrected
        for at in range(n)
    ]
    of_rest = result.weight**2 * float(others.var(ddof=1)) / len(rest)
    variance = (n - 1) * float(np.var(without)) + of_rest
    assert result.se == pytest.approx(variance**0.5, abs=1e-9)


@given(
    labelled=st.lists(st.tuples(values, values), min_size=2, max_size=30),
    rest=st.lists(values, max_size=30),
    shift=st.floats(-100, 100),
)
def test_a_constant_added_by_the_assessor_moves_nothing(
    labelled: Sequence[tuple[float, float]], rest: Sequence[float], shift: float
) -> None:
    people, assessor = np.array(labelled).T
    others = make_floats(*rest)
    result = correct_known_mean(people, assessor, others)
    moved = correct_known_mean(people, assessor + shift, others + shift)
    assert list_numbers(moved) == pytest.approx(list_numbers(result), abs=1e-9, nan_ok=True)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=30), st.lists(values, max_size=30))
def test_the_estimate_moves_no_further_than_the_assessor_says(
    labelled: list[tuple[float, float]], rest: list[float]
) -> None:
    people, assessor = np.array(labelled).T
    others = make_floats(*rest)
    result = correct_known_mean(people, assessor, others)
    difference = others.mean() - assessor.mean() if rest else 0.0
    assert 0 <= result.weight <= 1
    assert abs(result.corrected - people.mean()) <= abs(difference) + 1e-12
