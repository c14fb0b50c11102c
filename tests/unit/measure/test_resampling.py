"""Tests and intervals against published software, counting by hand, and under symmetries."""

from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge.measure.numeric import Floats, divide_sums
from judge.measure.resampling import (
    Statistic,
    compute_randomisation_interval,
    compute_randomisation_p,
    draw_queries,
    estimate_statistic,
    estimate_statistics,
    holm,
)
from tests.support.cases import check_each, count_examples
from tests.support.intervals import get_high_end, get_low_end

NAN = np.nan
#: Differences as they occur: of nDCG, of P@5 with its many ties, and none at all.
ONE = st.one_of(st.floats(-1, 1, width=32), st.integers(-5, 5).map(lambda fifths: fifths / 5), st.just(NAN))


@st.composite
def draw_tables(draw: st.DrawFn, max_queries: int = 20) -> Floats:
    """(queries, columns), with NaN here and there."""
    queries, columns = draw(st.integers(1, max_queries)), draw(st.integers(1, 5))
    rows = st.lists(ONE, min_size=columns, max_size=columns)
    return np.array(draw(st.lists(rows, min_size=queries, max_size=queries)))


def compute_scipy_p(differences: Sequence[float], **options: Any) -> float:
    """The same test by scipy, which swaps the two engines' values on a query."""
    pair = (np.array(differences), np.zeros(len(differences)))
    result = scipy.stats.permutation_test(
        pair, lambda a, b, axis: (a - b).mean(axis), permutation_type="samples", vectorized=True, **options
    )
    return float(result.pvalue)


def compute_scipy_interval(values: Floats, seed: int = 0, level: float = 0.95) -> tuple[float, float]:
    result = scipy.stats.bootstrap(
        (values,),
        np.mean,
        method="BCa",
        n_resamples=10_000,
        confidence_level=level,
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return float(low), float(high)


def compute_one_p(differences: Sequence[float], **options: int) -> float:
    return float(compute_randomisation_p(np.array([differences]).T, **options)[0])


# --- randomised_p


@check_each("queries", range(2, 14))
def test_few_queries_give_the_exact_p(queries: int) -> None:
    """Whole numbers, so that scipy's sums tie where ours do."""
    for differences in np.random.default_rng(queries).integers(-4, 6, (5, queries)):
        assert compute_one_p(differences) == pytest.approx(
            compute_scipy_p(differences, n_resamples=np.inf), abs=1e-12
        )


def test_many_queries_give_scipys_p_within_chance() -> None:
    rng = np.random.default_rng(5)
    differences = rng.normal([0, 0.02, 0.05, 0.1], 0.25, (200, 4))
    ours = compute_randomisation_p(differences)
    for p, column in zip(ours, differences.T, strict=True):
        theirs = compute_scipy_p(column, n_resamples=9999, rng=rng)
        assert p == pytest.approx(theirs, abs=4 * np.sqrt(2 * p * (1 - p) / 10_000) + 1e-4)


def is_rejected_exactly(differences: Floats, shift: float) -> bool:
    """Return whether at most 5% of all signs give a mean as far from 0 as that of the shifted differences."""
    shifted = differences - shift
    signs = np.array(list(product([-1.0, 1.0], repeat=len(shifted))))
    return bool(np.mean(np.abs(signs @ shifted) >= abs(shifted.sum()) - 1e-9) <= 0.05)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=10))
def test_the_interval_has_the_shifts_that_the_test_does_not_reject(tenths: list[int]) -> None:
    differences = np.array(tenths) / 10
    interval = compute_randomisation_interval(differences)
    if interval is None:
        assert not is_rejected_exactly(differences, differences.mean() + 1e6)
        return
    low, high = interval
    assert is_rejected_exactly(differences, low - 1e-6)
    assert is_rejected_exactly(differences, high + 1e-6)
    if low < high:
        assert not is_rejected_exactly(differences, low + 1e-6)
        assert not is_rejected_exactly(differences, high - 1e-6)


def test_at_the_ends_of_an_interval_with_random_signs_p_is_five_percent_within_chance() -> None:
    for differences in np.random.default_rng(3).normal(0.1, 0.3, (20, 30)):
        interval = compute_randomisation_interval(differences)
        assert interval is not None
        for end in interval:
            assert compute_one_p((differences - end).tolist()) == pytest.approx(
                0.05, abs=4 * sqrt(0.05 * 0.95 / 10_000)
            )


def test_the_interval_is_worked_by_hand() -> None:
    """Of 64 ways, 3.2 may be further out: to flip nothing or all, and the first query alone or all others."""
    assert compute_randomisation_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) == (1.0, 6.0)
    assert compute_randomisation_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) is None  # 2 of 32 is above 5%


@check_each("queries", [14, 30, 34])
def test_p_is_exact_for_up_to_34_differences(queries: int) -> None:
    """Differences of one size: their number on the worse side has a binomial distribution."""
    for worse in range(queries // 2):
        signs = np.array([-1.0] * (queries - worse) + [1.0] * worse)
        expected = scipy.stats.binomtest(worse, queries).pvalue
        assert compute_one_p((signs / 7).tolist()) == pytest.approx(min(1.0, expected), rel=1e-9)
        # Queries without a difference change nothing.
        assert compute_one_p([*signs, *[0.0] * 100]) == pytest.approx(min(1.0, expected), rel=1e-9)


def test_random_signs_agree_with_all_of_them_within_chance() -> None:
    differences = np.random.default_rng(1).normal(0.05, 0.3, (34, 20))
    exact = compute_randomisation_p(differences)
    # Two small differences more are too many for all signs, and change no comparison.
    drawn = compute_randomisation_p(np.vstack([differences, np.full((2, 20), 1e-6)]))
    assert not np.array_equal(exact, drawn)
    assert np.all(np.abs(exact - drawn) <= 4 * np.sqrt(exact * (1 - exact) / 10_000) + 2e-4)


@check_each(
    ("differences", "p"),
    [
        ([0.5], 1),
        ([0.2, 0.2], 1 / 2),
        ([0.2, 0.2, 0.2], 1 / 4),
        # Of eight sums .2 .2 -.2 -.2 .6 -.6 .2 -.2 all are as far from 0 as the one seen.
        ([0.2, 0.2, -0.2], 1),
        # .1 + .2 - .3 is not 0 in floating point; every choice of signs is at least as far.
        ([0.1, 0.2, -0.3], 1),
        # 0.6 is reached by ++++ of (.1 .2 .3 0) and by no other signs, twice for the 0, and mirrored.
        ([0.1, 0.2, 0.3, 0.0], 4 / 16),
        # Of sixteen sums +-.4 occurs eight times, +-.8 twice, 0 six times.
        ([0.2, 0.2, 0.2, -0.2], 10 / 16),
    ],
)
def test_p_counted_by_hand(differences: list[float], p: float) -> None:
    assert compute_one_p(differences) == p
    assert compute_one_p([NAN, *differences, NAN]) == p


def test_ties_count_whatever_the_order_of_summation() -> None:
    """Multiples of a fifth tie often; as whole numbers they tie without any rounding."""
    fifths = np.random.default_rng(3).integers(-5, 6, (40, 30)).astype(np.float64)
    whole = compute_randomisation_p(fifths)
    for same in (fifths / 5, fifths * 0.2, fifths * 1e-9, fifths * 1e9 / 7):
        assert np.array_equal(compute_randomisation_p(same), whole)
    for order in (np.arange(40)[::-1], np.random.default_rng(4).permutation(40)):
        turned = fifths[order] / 5
        assert np.array_equal(compute_randomisation_p(turned), compute_randomisation_p(fifths[order]))


def test_the_smallest_p_is_one_in_all() -> None:
    assert compute_one_p([1.0] * 100) == 1 / 10_001
    assert compute_one_p([1.0] * 100, resamples=99) == 1 / 100
    assert compute_one_p([1.0] * 10, resamples=99) == 2 / 1024


@pytest.mark.parametrize("queries", [3, 13, 14, 100])
def test_no_difference_has_p_1_and_nothing_known_has_none(queries: int) -> None:
    table = np.zeros((queries, 3))
    table[:, 1] = NAN
    table[1:, 2] = NAN
    assert compute_randomisation_p(table) == pytest.approx([1, NAN, 1], nan_ok=True)


def test_nothing_to_compare() -> None:
    assert compute_randomisation_p(np.empty((5, 0))).shape == (0,)
    assert np.isnan(compute_randomisation_p(np.empty((0, 2)))).all()


@settings(max_examples=count_examples(20))
@example(np.array([[1.0], [0.999999972e-9]]), Random(0))  # the two sums are nearly a tie
@given(draw_tables(), st.randoms(use_true_random=False))
def test_a_p_depends_on_its_own_column_alone(table: Floats, random: Any) -> None:
    together = compute_randomisation_p(table, resamples=500)
    order = random.sample(range(table.shape[1]), table.shape[1])
    assert np.array_equal(
        compute_randomisation_p(table[:, order], resamples=500), together[order], equal_nan=True
    )
    alone = [compute_randomisation_p(table[:, [at]], resamples=500)[0] for at in range(table.shape[1])]
    assert np.array_equal(alone, together, equal_nan=True)
    assert np.array_equal(compute_randomisation_p(-table, resamples=500), together, equal_nan=True)
    known = ~np.isnan(table).all(0)
    assert np.all((together[known] > 0) & (together[known] <= 1))
    assert np.isnan(together[~known]).all()


def test_many_columns_do_not_change_the_draws() -> None:
    """With many columns batches are smaller; 70 queries need more than one word of bits."""
    table = np.random.default_rng(2).normal(0.05, 0.3, (70, 1200))
    assert np.array_equal(compute_randomisation_p(table)[:3], compute_randomisation_p(table[:, :3]))


# --- clustered_intervals


def compute_clustered_interval(
    cells: Floats, statistic: Callable[[Floats], Floats]
) -> tuple[float, float] | None:
    """The interval of one statistic."""
    return estimate_statistic(cells, Statistic(statistic, "")).ci95


def share(sums: Floats) -> Floats:
    """The first cell's share of both, NaN without any."""
    total = sums.sum(-1)
    value: Floats = np.divide(sums[..., 0], total, out=np.full(total.shape, NAN), where=total > 0)
    return value


def compute_kappa(sums: Floats) -> Floats:
    """Cohen's kappa of a 2 x 2 table laid flat."""
    table = sums.reshape(*sums.shape[:-1], 2, 2)
    table = table / table.sum((-1, -2), keepdims=True)
    chance: Floats = (table.sum(-1) * table.sum(-2)).sum(-1)
    agreed: Floats = table[..., 0, 0] + table[..., 1, 1]
    return (agreed - chance) / (1 - chance)


def draw_confusions(queries: int, seed: int) -> Floats:
    """(queries, 4): ten snippets a query, judged by two people who agree on most."""
    rng = np.random.default_rng(seed)
    first = rng.random((queries, 10)) < rng.beta(1, 1, (queries, 1))
    second = first ^ (rng.random((queries, 10)) < rng.beta(1, 5, (queries, 1)))
    cells = 2 * first + second
    return np.stack([(cells == cell).sum(1) for cell in range(4)], axis=1).astype(np.float64)


@pytest.mark.parametrize(
    "statistic", [compute_kappa, lambda sums: share(sums[..., [0, 3]])], ids=["kappa", "share"]
)
def test_clustered_intervals_are_scipys_on_the_same_resamples(statistic: Callable[[Floats], Floats]) -> None:
    cells = draw_confusions(60, seed=1)

    def compute_statistic(places: Any, axis: int) -> Floats:
        return statistic(cells[places.astype(np.int64)].sum(-2))

    result = scipy.stats.bootstrap(
        (np.arange(60.0),), compute_statistic, method="BCa", n_resamples=10_000, rng=np.random.default_rng(0)
    )
    assert compute_clustered_interval(cells, statistic) == pytest.approx(
        tuple(result.confidence_interval), rel=1e-3
    )


def test_a_clustered_interval_surrounds_the_statistic_of_all_snippets() -> None:
    from sklearn.metrics import cohen_kappa_score

    cells = draw_confusions(60, seed=1)
    pairs = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], cells.sum(0).astype(int), axis=0)
    interval = compute_clustered_interval(cells, compute_kappa)
    assert interval is not None
    assert interval[0] < cohen_kappa_score(*pairs.T) < interval[1]


@pytest.mark.parametrize(("queries", "resamples"), [(30, 500), (2**20, 17)])
@pytest.mark.parametrize("columns", [1, 2**18])
def test_queries_are_drawn_as_numpy_draws_them(queries: int, resamples: int, columns: int) -> None:
    rng = np.random.default_rng(3)
    blocks = draw_queries(queries, resamples, 3, columns)
    for row in (row for block in blocks for row in block):
        assert np.array_equal(row, np.bincount(rng.integers(0, queries, queries), minlength=queries))
        resamples -= 1
    assert resamples == 0


def test_snippets_of_a_query_are_drawn_together() -> None:
    """All ten snippets of a query alike: the interval is that of the queries, not ten times narrower."""
    relevant = np.random.default_rng(3).random(50) < 0.6
    cells = np.stack([10 * relevant, 10 * ~relevant], axis=1).astype(np.float64)
    assert compute_clustered_interval(cells, share) == pytest.approx(
        compute_scipy_interval(relevant.astype(np.float64)), abs=1e-12
    )


def test_a_statistic_without_spread_has_an_interval_of_one_point() -> None:
    assert compute_clustered_interval(np.array([[3.0, 0.0]] * 5), share) == (1.0, 1.0)


def test_undefined_resamples_are_left_out() -> None:
    """Two queries of five have cells: resamples without them are left out, all others give the same share."""
    cells = np.zeros((5, 2))
    cells[:2] = [1, 3]
    assert compute_clustered_interval(cells, share) == (0.25, 0.25)


def test_no_interval_without_enough_to_draw_from() -> None:
    assert compute_clustered_interval(np.array([[1.0, 3.0]]), share) is None
    assert compute_clustered_interval(np.array([[1.0, 3.0]] + [[0.0, 0.0]] * 4), share) is None
    assert compute_clustered_interval(np.empty((0, 2)), share) is None
    assert compute_clustered_interval(np.zeros((5, 2)), share) is None

    def keep_whole(sums: Floats) -> Floats:
        """Defined where every query is in the resample: never by leaving one out, seldom by drawing."""
        return np.where((sums > 0).all(-1), sums.sum(-1), NAN)

    assert compute_clustered_interval(np.eye(5), keep_whole) is None


# --- holm


@settings(max_examples=count_examples(30))
@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.01, 0.05])), min_size=1, max_size=30))
def test_holm_agrees_with_truescore(p: list[float]) -> None:
    import truescore

    assert holm(np.array(p)) == pytest.approx(truescore.holm(p), abs=1e-15)


@pytest.mark.parametrize("tests", [1, 2, 10, 45])
def test_holm_agrees_with_statsmodels(tests: int) -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(tests).beta(0.3, 1, tests)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-15)


def test_unknown_p_are_no_members_of_the_family() -> None:
    adjusted = holm(np.array([0.03, NAN, 0.01, 0.04, NAN]))
    assert adjusted == pytest.approx([0.06, NAN, 0.03, 0.06, NAN], nan_ok=True)
    assert np.isnan(holm(np.array([NAN, NAN]))).all()
    assert holm(np.empty(0)).shape == (0,)


# --- what they are for


def subtract_pairwise(scores: Floats) -> Floats:
    """(queries, datasets x pairs) differences from (datasets, engines, queries) scores."""
    first, second = np.triu_indices(scores.shape[1], 1)
    return (scores[:, first] - scores[:, second]).reshape(-1, scores.shape[2]).T


@pytest.mark.slow
def test_alike_engines_are_seldom_told_apart() -> None:
    """5 engines of one distribution, P@10 with easy and hard queries, 100 queries, 2,000 datasets."""
    rng = np.random.default_rng(11)
    alarms = 0
    for seed in range(40):
        easy = rng.beta(1, 1, (50, 1, 100))
        differences = subtract_pairwise(rng.binomial(10, easy, (50, 5, 100)) / 10)
        chances = compute_randomisation_p(differences, seed=seed).reshape(50, 10)
        alarms += sum(bool((holm(p) < 0.05).any()) for p in chances)
    print(f"datasets with a false alarm: {alarms / 2000:.2%}")
    # Were the rate 5%, more than this would be seen once in a thousand runs.
    assert alarms <= scipy.stats.binom.ppf(0.999, 2000, 0.05)


@pytest.mark.slow
def test_a_difference_of_three_points_is_found() -> None:
    """A thousand queries, sd of differences .25: the t test's power is .966."""
    datasets = np.random.default_rng(12).normal(0.03, 0.25, (1000, 1000))
    result = float((compute_randomisation_p(datasets) < 0.05).mean())
    print(f"found: {result:.1%}")
    assert result >= 0.9
    assert result == pytest.approx(0.966, abs=4 * np.sqrt(0.966 * 0.034 / 1000))


OTHER, SHARE = Statistic(divide_sums, ""), Statistic(divide_sums, "", is_share=True)


def make_counts(*rows: tuple[float, float]) -> Floats:
    """(queries, 2): how many are so, of how many."""
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("queries", [2, 10, 50])
def test_all_or_nothing_on_every_query_keeps_an_interval(queries: int) -> None:
    """The exact binomial interval (Clopper & Pearson 1934) with queries as trials."""
    for so in (0, 4):
        result = estimate_statistic(make_counts(*[(so, 4)] * queries), SHARE)
        theirs = scipy.stats.binomtest(queries if so else 0, queries).proportion_ci(0.95)
        assert result.ci95 == pytest.approx((theirs.low, theirs.high))


def test_queries_with_nothing_to_count_are_no_trials() -> None:
    result = estimate_statistic(make_counts(*[(3, 3)] * 10, *[(0, 0)] * 30), SHARE)
    assert get_low_end(result.ci95) == pytest.approx(0.025 ** (1 / 10))


def test_other_statistics_and_other_shares_keep_theirs() -> None:
    same, some = make_counts(*[(4, 4)] * 9), make_counts(*[(1, 4), (4, 4), (3, 4)] * 3)
    assert estimate_statistic(same, OTHER).ci95 == (1, 1)
    assert estimate_statistic(some, SHARE) == estimate_statistic(some, OTHER)
    result = estimate_statistics(same, {"a": OTHER, "b": SHARE})
    assert (get_low_end(result["a"].ci95), get_high_end(result["b"].ci95)) == (1, 1)
    assert get_low_end(result["b"].ci95) is not None
    assert get_low_end(result["b"].ci95) < 1


def test_what_is_unknown_stays_so() -> None:
    nothing = estimate_statistic(make_counts((0, 0), (0, 0)), SHARE._replace(why_undefined="nothing counted"))
    assert (nothing.value, nothing.why) == (None, "nothing counted")
    one = estimate_statistic(make_counts((4, 4)), SHARE)
    assert (one.value, get_low_end(one.ci95), get_high_end(one.ci95)) == (1, None, None)
    assert "one query" in (one.why or "")
