"""Orders of engines by two assessors, and the bias of an assessor towards engines."""

from collections.abc import Callable
from itertools import pairwise, permutations, product
from statistics import mean

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.measure.engine_agreement import (
    WidestBiasGap,
    estimate_engine_bias,
    find_swaps,
    find_widest_gap,
    rbo,
    tau,
    tau_ap,
)
from judge.measure.grades_by_pair import PairedGrades
from judge.measure.intervals import StatisticValue
from judge.measure.numeric import Floats
from tests.support.cases import check_each
from tests.support.intervals import get_low_end
from tests.unit.measure.tables import make_floats, make_ints, make_paired_grades

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


def test_pairs_of_equal_engines_are_in_the_order_of_the_table() -> None:
    swaps = find_swaps(("e10", "e9", "z"), make_floats(0.3, 0.1 + 0.2, 0.1), make_floats(1, 1, 2))
    assert swaps == (("e9", "z"), ("e10", "z"))


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


def test_each_engine_has_its_own_bias() -> None:
    """The assessor gives A half a grade too much, B what people give, C was never labelled."""
    shown = make_paired_grades((0, 1, 2), (0, 2, 2), (1, 0, 1), (1, 3, 3), (0, 1, 1), (1, 2, 2), (2, 0, 0))
    biases = estimate_engine_bias(("A", "B", "C"), make_ints(0, 0, 0, 0, 1, 1, 1), shown)
    assert list(biases) == ["A", "B", "C"]
    a, b, c = biases.values()
    assert (a.results, a.queries, a.bias.value) == (4, 2, 0.5)
    assert (b.results, b.queries, b.bias.value) == (3, 3, 0)
    assert (c.results, c.queries, c.bias.value) == (0, 0, None)
    assert c.bias.why == "none of its results has both grades"


def test_the_widest_gap_is_between_the_most_and_the_least_favoured() -> None:
    chance = np.random.default_rng(0)
    query, engine = np.repeat(np.arange(60), 15), np.tile(np.repeat(np.arange(3), 5), 60)
    people = chance.integers(0, 3, query.size)
    more = chance.random(query.size) < np.array([0.1, 0.7, 0.3])[engine]
    shown = PairedGrades(query, people, people + more)
    biases = estimate_engine_bias("ABC", engine, shown)
    gap = find_widest_gap("ABC", engine, shown)
    assert gap is not None
    assert (gap.favoured, gap.other) == ("B", "A")
    favoured, other = biases["B"].bias.value, biases["A"].bias.value
    assert favoured is not None
    assert other is not None
    assert gap.difference.value == pytest.approx(favoured - other)
    assert get_low_end(gap.difference.ci95) is not None
    assert 0.4 < get_low_end(gap.difference.ci95) < favoured - other

    alone = engine != 2
    two = find_widest_gap(
        "AB", engine[alone], PairedGrades(query[alone], people[alone], shown.assessor[alone])
    )
    assert two is not None
    # With three pairs the same difference has a wider interval: t at 1 - .05/6 and 1 - .05/2, 59 degrees.
    ratio = scipy.stats.t.ppf(1 - 0.05 / 6, 59) / scipy.stats.t.ppf(0.975, 59)
    assert measure_width(gap.difference) / measure_width(two.difference) == pytest.approx(ratio)
    assert clear(two)
    assert clear(gap)


def measure_width(result: StatisticValue) -> float:
    assert result.ci95 is not None
    return result.ci95[1] - result.ci95[0]


def clear(gap: WidestBiasGap) -> bool:
    return gap.difference.ci95 is not None and gap.difference.ci95[0] > 0


def test_equal_biases_are_no_gap() -> None:
    shown = make_paired_grades((0, 1, 2), (1, 1, 2), (0, 0, 1), (1, 0, 1))
    gap = find_widest_gap(("B", "A"), make_ints(0, 0, 1, 1), shown)
    assert gap is not None
    assert (gap.favoured, gap.other, gap.difference.value, get_low_end(gap.difference.ci95)) == (
        "A",
        "B",
        0,
        None,
    )
    assert "differ on fewer than 6 queries" in (gap.difference.why or "")


def test_one_result_a_query_is_the_paired_t_test() -> None:
    seen = np.random.default_rng(0).integers(0, 4, (2, 30))
    rows = [(query, 0, int(grade)) for query in range(30) for grade in seen[:, query]]
    gap = find_widest_gap("AB", np.tile(make_ints(0, 1), 30), make_paired_grades(*rows))
    favoured = int(seen[1].sum() > seen[0].sum())
    interval = scipy.stats.ttest_rel(seen[favoured], seen[1 - favoured]).confidence_interval(0.95)
    assert gap is not None
    assert gap.favoured == "AB"[favoured]
    assert gap.difference.ci95 == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("queries", "named"), [(5, False), (6, True)])
def test_five_queries_favour_no_engine(queries: int, named: bool) -> None:
    """Six queries on each of which B is favoured leave no doubt; chance gives five of them too easily."""
    rows = [(query, 0, grade) for query in range(queries) for grade in (0, 1)]
    gap = find_widest_gap("AB", np.tile(make_ints(0, 1), queries), make_paired_grades(*rows))
    assert gap is not None
    assert clear(gap) == named


def test_a_wide_gap_that_may_be_chance_comes_after_one_that_is_none() -> None:
    """C's only result got 3 too many; B's got one too many on each of 20 queries, A's none."""
    rows = [(query, 0, grade) for query in range(20) for grade in (0, 1)]
    engine = np.append(np.tile(make_ints(0, 1), 20), 2)
    gap = find_widest_gap("ABC", engine, make_paired_grades(*rows, (0, 0, 3)))
    assert gap is not None
    assert (gap.favoured, gap.other, gap.difference.value) == ("B", "A", 1)
    assert clear(gap)


def test_two_that_never_met_can_t_be_told_from_chance() -> None:
    gap = find_widest_gap("AB", make_ints(0, 1), make_paired_grades((0, 0, 1), (1, 0, 0)))
    assert gap is not None
    assert (gap.favoured, gap.difference.value, get_low_end(gap.difference.ci95)) == ("A", 1, None)


def test_favoured_on_one_query_is_not_favoured() -> None:
    """On one query B has 40 results with one grade too many, on 19 others one with one too few."""
    rows = [(0, 0, 1)] * 40 + [(query, 1, 0) for query in range(1, 20)]
    both = make_paired_grades(*rows, *((query, 1, 1) for query in range(20)))
    gap = find_widest_gap("AB", np.append(np.ones(59, np.int64), np.zeros(20, np.int64)), both)
    assert gap is not None
    assert gap.favoured == "B"
    assert get_low_end(gap.difference.ci95) is not None
    assert get_low_end(gap.difference.ci95) < 0


def test_one_query_gives_an_engine_no_range_whatever_the_others_have() -> None:
    rows = [(query, 0, query % 2) for query in range(20)]
    a, b = estimate_engine_bias(
        "AB", np.append(np.zeros(20, np.int64), 1), make_paired_grades(*rows, (3, 0, 2))
    ).values()
    assert a.bias.ci95 is not None
    assert (b.results, b.queries, b.bias.value, b.bias.ci95) == (1, 1, 2, None)
    assert "one query" in (b.bias.why or "")


def test_an_engine_s_range_is_its_own_however_many_there_are() -> None:
    chance = np.random.default_rng(1)
    query, engine = np.repeat(np.arange(30), 6), np.tile(np.repeat(np.arange(3), 2), 30)
    people = chance.integers(0, 3, query.size)
    shown = PairedGrades(query, people, people + chance.integers(0, 2, query.size))
    alone = engine == 1
    (one,) = estimate_engine_bias(
        "B", engine[alone] - 1, PairedGrades(query[alone], people[alone], shown.assessor[alone])
    ).values()
    assert estimate_engine_bias("ABC", engine, shown)["B"] == one


@pytest.mark.slow
@pytest.mark.parametrize(("engines", "queries", "datasets"), [(2, 20, 1000), (5, 20, 600), (20, 20, 200)])
def test_equal_engines_are_rarely_called_favoured(engines: int, queries: int, datasets: int) -> None:
    """Errors come by the query, so that results of one query are not independent evidence."""
    chance = np.random.default_rng(0)
    names = [f"e{number:02}" for number in range(engines)]
    query = np.repeat(np.arange(queries), engines * 5)
    engine = np.tile(np.repeat(np.arange(engines), 5), queries)
    named = 0
    for _ in range(datasets):
        people = chance.integers(0, 4, query.size)
        kind = np.repeat(chance.random((queries, engines)) < 0.15, 5, axis=1).ravel()
        slip = kind | (chance.random(query.size) < 0.2)
        gap = find_widest_gap(names, engine, PairedGrades(query, people, np.minimum(3, people + slip)))
        named += gap is not None and clear(gap)
    print(f"\n{engines} equal engines: one is called favoured in {named / datasets:.3f} of the datasets")
    assert named <= 0.065 * datasets


def test_a_gap_is_between_two() -> None:
    assert find_widest_gap(("A", "B"), make_ints(0, 0), make_paired_grades((0, 1, 2), (1, 1, 2))) is None
    assert find_widest_gap((), make_ints(), make_paired_grades()) is None
