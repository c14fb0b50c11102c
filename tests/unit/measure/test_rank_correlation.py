"""The correlation of two orders: published values, all ways to break ties, and invariances."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations, product
from statistics import mean

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.measure.engine_agreement import find_swaps, rbo, tau, tau_ap
from judge.measure.formulas import Floats
from tests.support.cases import check_each
from tests.unit.measure.tables import make_floats

Correlation = Callable[[Floats, Floats], float | None]

#: Few values, so that ties are frequent.
TWO_SCORES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8)

#: Data and values of julian-urbano/ircor's own tests (tauAP and tauAP_a): truth, estimate, expected.
IRCOR = [
    (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        0.8519,
    ),
    (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
        0.7454,
    ),
    (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        -0.6971,
    ),
    (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
        -0.5558,
    ),
]


def make_untied(pairs: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    first, second = np.array(pairs, dtype=np.float64).T
    assume(np.ptp(first) and np.ptp(second))
    return first, second


def compute_by_definition(truth: list[int], estimate: list[int]) -> float:
    """Yilmaz et al. 2008 for orders without ties: lists of engines, best first."""
    shares = [
        sum(truth.index(above) < truth.index(here) for above in estimate[:rank]) / rank
        for rank, here in enumerate(estimate)
        if rank
    ]
    return 2 * mean(shares) - 1


def list_untyings(scores: Floats) -> list[list[int]]:
    """Every order of the engines, best first, that breaks the ties of `scores` in some way."""
    orders = (list(order) for order in permutations(range(len(scores))))
    return [order for order in orders if all(scores[a] >= scores[b] for a, b in pairwise(order))]


@given(TWO_SCORES)
def test_tau_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = make_untied(pairs)
    assert tau(first, second) == pytest.approx(scipy.stats.kendalltau(first, second).statistic, abs=1e-12)


@pytest.mark.parametrize(("truth", "estimate", "expected"), IRCOR)
def test_tau_ap_equals_ircor(truth: list[float], estimate: list[float], expected: float) -> None:
    assert tau_ap(make_floats(*truth), make_floats(*estimate)) == pytest.approx(expected, abs=5e-5)


def test_a_swap_at_the_top_weighs_more_than_one_at_the_bottom() -> None:
    truth = make_floats(5, 4, 3, 2, 1)
    assert tau_ap(truth, make_floats(4, 5, 3, 2, 1)) == pytest.approx(0.5)
    assert tau_ap(truth, make_floats(5, 4, 3, 1, 2)) == pytest.approx(0.875)
    assert (
        tau(truth, make_floats(4, 5, 3, 2, 1)) == tau(truth, make_floats(5, 4, 3, 1, 2)) == pytest.approx(0.8)
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=5))
def test_ties_count_with_the_mean_over_all_ways_to_break_them(pairs: list[tuple[int, int]]) -> None:
    truth, estimate = make_untied(pairs)
    every = [compute_by_definition(*each) for each in product(list_untyings(truth), list_untyings(estimate))]
    assert tau_ap(truth, estimate) == pytest.approx(mean(every), abs=1e-12)


@pytest.mark.parametrize("correlation", [tau, tau_ap])
def test_the_same_order_is_1_its_reverse_is_minus_1(correlation: Correlation) -> None:
    truth = make_floats(0.1, 0.4, 0.2, 0.3)
    assert correlation(truth, truth * 2 + 1) == pytest.approx(1)
    assert correlation(truth, -truth) == pytest.approx(-1)


@pytest.mark.parametrize("correlation", [tau, tau_ap])
def test_without_an_order_there_is_nothing_to_compare(correlation: Correlation) -> None:
    assert correlation(make_floats(), make_floats()) is None
    assert correlation(make_floats(0.5), make_floats(0.7)) is None
    assert correlation(make_floats(0.5, 0.5), make_floats(0.1, 0.2)) is None
    assert correlation(make_floats(0.1, 0.2), make_floats(0.5, 0.5)) is None


def test_scores_that_differ_by_rounding_are_tied() -> None:
    assert 0.1 + 0.2 != 0.3
    assert tau(make_floats(0.1 + 0.2, 0.3), make_floats(1, 2)) is None
    assert find_swaps("AB", make_floats(0.1 + 0.2, 0.3), make_floats(1, 2)) == ()


@given(TWO_SCORES, st.randoms(use_true_random=False))
def test_the_order_of_the_engines_does_not_matter(
    pairs: list[tuple[int, int]], chance: st.DataObject
) -> None:
    first, second = make_untied(pairs)
    names = [f"engine {at}" for at in range(len(pairs))]
    turned = np.random.default_rng(len(pairs)).permutation(len(pairs))
    for correlation in (tau, tau_ap):
        again = correlation(first[turned], second[turned])
        assert again == pytest.approx(correlation(first, second), abs=1e-12)
    assert find_swaps([names[at] for at in turned], first[turned], second[turned]) == find_swaps(
        names, first, second
    )


def test_overlap_with_every_rank_but_the_last_out_of_place() -> None:
    """0.1 · (0·1 + 1/2·0.9 + 2/3·0.81 + 1·0.729 + 1·0.6561) + 1·0.9⁵."""
    assert rbo("abcde", "bcdae") == pytest.approx(0.828)


@given(st.permutations("abcdefg"), st.permutations("abcdefgxyz"), st.floats(0.05, 0.95))
def test_overlap_goes_on_as_it_ends(first: list[str], second: list[str], p: float) -> None:
    shares = [len({*first[:depth]} & {*second[:depth]}) / depth for depth in range(1, 8)]
    shares += [shares[-1]] * 2000
    expected = (1 - p) * sum(share * p**depth for depth, share in enumerate(shares))
    assert rbo(first, second[:7], p) == pytest.approx(expected)


def test_overlap_of_equal_and_of_disjoint_orders() -> None:
    assert rbo("abc", "abc") == pytest.approx(1)
    assert rbo("abc", "xyz") == 0


@check_each(
    ("first", "second", "p", "overlap"),
    [
        ("abc", "cbdefga", 0.9, 0.660920142857143),
        ("a", "xyaz", 0.9, 0.20925),
        ("abcdefghij", "acbdgfehkl", 0.8, 0.8621215175111112),
        ("ab", "abcdefghij", 0.9, 1.0),
    ],
)
def test_overlap_of_orders_of_two_lengths(first: str, second: str, p: float, overlap: float) -> None:
    """Values of rbo_ext of the package rbo 0.1.3."""
    assert rbo(first, second, p) == pytest.approx(overlap, abs=1e-12)
    assert rbo(second, first, p) == pytest.approx(overlap, abs=1e-12)


def test_swaps_name_the_better_engine_first() -> None:
    names = ("bing", "solo", "tied", "baidu")
    truth, estimate = make_floats(0.3, 0.9, 0.5, 0.7), make_floats(0.6, 0.7, 0.6, 0.5)
    assert find_swaps(names, truth, estimate) == (("baidu", "tied"), ("baidu", "bing"))
    assert find_swaps(names, truth, truth) == ()
