"""Simultaneous intervals: the critical value against resampling with scipy, decisions, and planning."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.numeric import Floats
from judge.measure.resampling import SEED, draw_queries
from judge.measure.simultaneous import (
    MIN_GROUP_SIZE,
    SimultaneousIntervals,
    compare_groups,
    compare_means,
    compute_detectable_difference,
    count_required_queries,
    count_resamples,
)
from tests.support.cases import check_each, count_examples

NAN = float("nan")
RESAMPLES = 10_000


def draw_skewed_differences(seed: int = 0, queries: int = 20, columns: int = 3) -> Floats:
    """Skewed differences that share a part by query; the first column has the largest mean."""
    rng = np.random.default_rng(seed)
    shared = rng.exponential(0.1, (queries, 1)) - 0.1
    means = np.linspace(0.2, 0, columns)
    values: Floats = shared + rng.exponential(0.1, (queries, columns)) - 0.1 + means
    return values


def compare_one_family(differences: Floats, families: int = 1) -> SimultaneousIntervals:
    (test,) = compare_means(differences[:, None, :], families=families)
    return test


def compute_resampled_maxima(differences: Floats) -> Floats:
    """The largest |t| of each resample, by scipy, over the queries that the draws name one by one."""
    (counts,) = [np.concatenate(list(draw_queries(len(differences), RESAMPLES, SEED)))]
    rows = np.repeat(np.tile(np.arange(len(differences)), RESAMPLES), counts.astype(int).ravel())
    drawn = (differences - differences.mean(0))[rows.reshape(RESAMPLES, len(differences))]
    statistic: Floats = np.abs(scipy.stats.ttest_1samp(drawn, 0.0, axis=1).statistic).max(1)
    return statistic


def test_the_critical_value_is_the_upper_5_percent_point_of_the_largest_t() -> None:
    differences = draw_skewed_differences()
    test = compare_one_family(differences)
    maxima = np.sort(compute_resampled_maxima(differences))
    assert test.critical == pytest.approx(maxima[-500], rel=1e-8)
    seen = scipy.stats.ttest_1samp(differences, 0.0)
    larger = (maxima[:, None] >= np.abs(seen.statistic)).sum(0)
    assert test.p == pytest.approx((1 + larger) / (1 + RESAMPLES), abs=1e-12)
    assert test.se == pytest.approx(scipy.stats.sem(differences))
    assert test.high - test.mean == pytest.approx(test.critical * scipy.stats.sem(differences))


def test_normal_differences_of_one_column_have_nearly_the_t_quantile() -> None:
    differences = np.random.default_rng(4).normal(0, 1, (400, 1))
    assert compare_one_family(differences).critical == pytest.approx(scipy.stats.t.ppf(0.975, 399), abs=0.06)


def test_more_columns_have_a_larger_critical_value() -> None:
    differences = np.random.default_rng(4).normal(0, 1, (100, 10))
    values = [compare_one_family(differences[:, :columns]).critical for columns in (1, 3, 10)]
    assert values == sorted(values)
    assert values[0] < values[2]


@settings(max_examples=count_examples(15))
@given(st.integers(0, 10_000), st.integers(6, 30), st.integers(1, 3))
def test_p_is_below_5_percent_exactly_when_the_interval_excludes_0(
    seed: int, queries: int, families: int
) -> None:
    test = compare_one_family(draw_skewed_differences(seed, queries), families=families)
    excludes = (test.low > 0) | (test.high < 0)
    assert (test.p <= 0.05).tolist() == excludes.tolist()


@settings(max_examples=count_examples(10))
@given(st.permutations(range(4)), st.sampled_from([-1.0, 1.0]), st.integers(-3, 3))
def test_the_decision_depends_on_no_order_sign_or_unit(order: list[int], sign: float, power: int) -> None:
    """Powers of two are exact, so every figure is the same."""
    differences = draw_skewed_differences(1, 15, 4)
    differences[np.random.default_rng(2).random(differences.shape) < 0.1] = NAN
    straight, turned = (
        compare_one_family(differences),
        compare_one_family(differences[:, order] * sign * 2.0**power),
    )
    assert turned.critical == straight.critical
    assert turned.p.tolist() == straight.p[order].tolist()


def test_measures_are_families_of_their_own() -> None:
    first, second = draw_skewed_differences(1), draw_skewed_differences(2)
    both = compare_means(np.stack([first, second], axis=1))
    assert [each.critical for each in both] == [
        compare_one_family(first).critical,
        compare_one_family(second).critical,
    ]
    assert both[1].p.tolist() == compare_one_family(second).p.tolist()


def test_a_wider_interval_excludes_0_exactly_when_its_p_is_below_5_percent() -> None:
    """The second column is significant as it is, and no longer when each end is .02 farther out."""
    differences = draw_skewed_differences(queries=40)
    differences[:, 1] += 0.075 - differences[:, 1].mean()
    widening = np.zeros((2, 1, 3))
    widening[0, 0, 1], widening[1, 0, 1] = 0.02, 0.03
    (plain,), (wider,) = compare_means(differences[:, None]), compare_means(differences[:, None], widening)
    assert wider.critical == plain.critical
    assert plain.low - wider.low == pytest.approx([0, 0.02, 0])
    assert wider.high - plain.high == pytest.approx([0, 0.03, 0])
    assert plain.p[1] <= 0.05 < wider.p[1]
    assert plain.low[1] > 0 > wider.low[1]
    assert wider.p[[0, 2]].tolist() == plain.p[[0, 2]].tolist()


@check_each(
    ("shape", "families", "resamples"),
    [
        ((1_999, 5, 10), 1, 10_000),
        ((2_000, 1, 1), 1, 2_500),
        ((10_000, 5, 10), 1, 2_500),
        ((2_000, 5, 299), 1, 2_500),
        ((2_000, 5, 300), 1, 1_500),
        ((1_999, 5, 300), 1, 4_000),
        ((2_000, 5, 10), 4, 10_000),
        ((1_000, 6, 190), 1, 10_000),
        ((1_000, 1, 1_953), 1, 4_000),
        ((2_000, 5, 1_953), 4, 4_000),
    ],
)
def test_many_queries_need_fewer_resamples(shape: tuple[int, ...], families: int, resamples: int) -> None:
    assert count_resamples(np.broadcast_to(0.0, shape), families) == resamples


def test_families_divide_the_error() -> None:
    differences = draw_skewed_differences()
    one, ten = compare_one_family(differences), compare_one_family(differences, families=10)
    assert ten.critical == pytest.approx(np.sort(compute_resampled_maxima(differences))[-50])
    assert ten.p == pytest.approx(np.minimum(1, 10 * one.p))


def test_so_many_families_that_no_resample_decides_name_nothing() -> None:
    test = compare_one_family(draw_skewed_differences() + 10, families=1_000)
    assert np.isinf(test.critical)
    assert (test.low.tolist(), test.high.tolist()) == ([-np.inf] * 3, [np.inf] * 3)


def test_a_column_with_5_queries_that_differ_is_not_tested_and_moves_no_other() -> None:
    differences = draw_skewed_differences(queries=30)
    few = np.zeros((30, 1))
    few[:5] = 0.5
    alone, beside = (
        compare_one_family(differences),
        compare_one_family(np.concatenate([differences, few], axis=1)),
    )
    assert beside.critical == alone.critical
    assert beside.tested.tolist() == [True, True, True, False]
    assert (beside.p[3], beside.low[3], beside.high[3]) == (1.0, -np.inf, np.inf)
    few[5] = 0.5
    assert compare_one_family(np.concatenate([differences, few], axis=1)).tested[3]


@pytest.mark.parametrize("step", [0.25, 0.1])
def test_differences_that_are_all_the_same_are_not_tested(step: float) -> None:
    """Tenths differ from one another in their last digit."""
    high = np.linspace(0.5, 0.9, 12)
    test = compare_one_family((high - (high - step))[:, None])
    assert not test.tested[0]
    assert test.mean[0] == pytest.approx(step)


def test_a_column_without_a_value_is_unknown() -> None:
    differences = np.column_stack([draw_skewed_differences(queries=12)[:, 0], np.full(12, NAN)])
    test = compare_one_family(differences)
    assert np.isnan([test.mean[1], test.low[1], test.high[1], test.p[1]]).all()
    assert test.critical == compare_one_family(differences[:, :1]).critical


def test_missing_queries_are_left_out_of_their_column_alone() -> None:
    differences = draw_skewed_differences(queries=25)
    differences[[3, 8], 1] = NAN
    test = compare_one_family(differences)
    assert test.mean == pytest.approx(np.nanmean(differences, axis=0))
    assert test.se == pytest.approx(scipy.stats.sem(differences, nan_policy="omit"))


# --- two groups of queries


@pytest.mark.parametrize(("queries", "least"), [(200, 20), (27, 20), (24, 18), (12, 9), (8, 6)])
def test_a_column_with_far_fewer_queries_than_another_is_not_tested(queries: int, least: int) -> None:
    differences = np.random.default_rng(6).normal(0.5, 1.0, (queries, 3))
    two = compare_means(differences[:, None, :2])[0]
    differences[least:, 2] = np.nan
    assert compare_means(differences[:, None])[0].tested.all()
    differences[least - 1, 2] = np.nan
    three = compare_means(differences[:, None])[0]
    assert three.tested.tolist() == [True, True, False]
    assert (three.p[2], three.high[2]) == (1.0, np.inf)
    assert three.critical == two.critical


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_a_column_without_variance_in_many_resamples_leaves_the_critical_value_to_the_others(
    noise: float,
) -> None:
    """A third of the resamples do not hold the last column's single other value."""
    differences = np.random.default_rng(8).normal(0.2, 1.0, (12, 2))
    alone = compare_means(differences[:, None])[0]
    nearly_equal = np.append(1.0 + noise * np.arange(11), 0.7)
    test = compare_means(np.column_stack([differences, nearly_equal])[:, None])[0]
    assert (test.critical, test.tested.tolist()) == (alone.critical, [True, True, False])


def test_an_engine_that_fails_once_beside_its_copy_does_not_hide_the_order_of_the_others() -> None:
    """The first two engines differ by 0.004 at most, and one of them found nothing for one of 50 queries."""
    rng = np.random.default_rng(4)
    good = rng.uniform(0.4, 0.9, 50)
    copy = good + rng.uniform(-0.004, 0.004, 50)
    copy[7] = 0.0
    bad = good - rng.uniform(0.0, 0.3, 50)
    differences = np.column_stack([good - copy, good - bad, copy - bad])
    test = compare_means(differences[:, None], largest_values=np.array([1.0]))[0]
    assert test.tested.tolist() == [False, True, True]
    assert test.critical < 3
    assert (test.low > 0).tolist() == [False, True, True]
    assert -0.2 < test.low[0] < test.high[0] < 0.2


@pytest.mark.parametrize("seed", [8, 9, 14, 35])
def test_p_counts_resamples_with_the_observed_t_as_whole_numbers_do(seed: int) -> None:
    """Precisions of 3 results are thirds: many resamples have a t that equals the observed one."""
    thirds = np.random.default_rng(seed).integers(-2, 4, 8)
    queries, total = len(thirds), int(thirds.sum())
    centred = queries * thirds - total
    drawn = np.concatenate(list(draw_queries(queries, RESAMPLES, SEED))).astype(int)
    sums, squares = drawn @ centred, drawn @ centred**2
    # The square of a t is (n - 1) s² / (n Σx² - s²), with the sum s of n values x.
    variance, own = queries * squares - sums**2, queries * int((thirds**2).sum()) - total**2
    as_large = int(((sums**2 * own >= total**2 * variance) & (variance > 0)).sum())
    test = compare_one_family(thirds[:, None] / 3)
    assert test.tested[0]
    assert test.p[0] == pytest.approx((1 + as_large) / (1 + RESAMPLES), abs=1e-12)


@pytest.mark.parametrize("weak", [2, 5, 8])
def test_columns_that_each_lack_variance_in_few_resamples_are_tested_together(weak: int) -> None:
    """An engine is right on all of 50 queries, weak ones on 4 each: 2% of the resamples have none of the 4.

    With several such engines, more than 5% of the resamples lack the variance of one difference or more.
    """
    rng = np.random.default_rng(1)
    differences = np.ones((50, weak + 1))
    for column in range(weak):
        differences[rng.choice(50, 4, replace=False), column] = 0.0
    differences[:, weak] = np.append(np.zeros(20), np.ones(30))
    test = compare_means(differences[:, None], largest_values=np.array([1.0]))[0]
    assert test.tested.all()
    assert 2.5 < test.critical < 6
    assert (test.low > 0).all()
    assert (test.p < 0.05).all()


def test_a_column_that_is_not_tested_has_bounds_from_its_extreme_values() -> None:
    """Of 19 differences from .5 to .9, in a family of 2, with a largest possible difference of 1.

    Four fifths of the error of 5% are for the extreme values.
    """
    differences = np.full((100, 2), np.nan)
    differences[:, 0] = np.random.default_rng(9).normal(0.2, 1.0, 100)
    differences[:19, 1] = np.linspace(0.5, 0.9, 19)
    test = compare_means(differences[:, None], largest_values=np.array([1.0]))[0]
    share = (0.04 / 4) ** (1 / 19)
    assert test.low[1] == pytest.approx(share * 0.5 - (1 - share))
    assert test.high[1] == pytest.approx(share * 0.9 + (1 - share))
    assert test.p[1] == pytest.approx(4 / 0.8 / 1.5**19)
    assert (test.low[1] > 0) == (test.p[1] < 0.05)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("others", "error_share"), [([0.0], 0.1), ([0.0, -1.0], 0.05)])
def test_few_other_values_do_not_hide_that_nearly_all_differences_are_equal(
    others: list[float], error_share: float, sign: int
) -> None:
    """The limit of Clopper and Pearson is the largest share of queries that may be like the others."""
    differences = sign * np.append(np.full(31 - len(others), 1.0), others)
    test = compare_means(differences[:, None, None], largest_values=np.array([1.0]))[0]
    limit = scipy.stats.binomtest(len(others), 31, alternative="less").proportion_ci(1 - 0.025 * error_share)
    assert not test.tested[0]
    assert sign * (test.low, test.high)[sign < 0][0] == pytest.approx(1 - 2 * limit.high)
    at_half = scipy.stats.binom.cdf(len(others), 31, 0.5)
    assert test.p[0] == pytest.approx(2 * at_half / error_share)


@given(st.lists(st.floats(0.01, 1), min_size=6, max_size=19), st.floats(0, 0.3), st.sampled_from([-1.0, 1.0]))
def test_bounds_exclude_0_exactly_when_their_p_is_below_5_percent(
    values: list[float], widening: float, sign: float
) -> None:
    differences = np.full((40, 2), np.nan)
    differences[:, 0] = np.linspace(-1, 1, 40)
    differences[: len(values), 1] = sign * np.array(values)
    wider = np.full((2, 1, 2), widening)
    test = compare_means(differences[:, None], wider, largest_values=np.array([1.0]))[0]
    if abs(test.p[1] - 0.05) > 1e-9:
        assert (test.low[1] > 0 or test.high[1] < 0) == (test.p[1] < 0.05)


def test_queries_that_no_column_has_do_not_count() -> None:
    differences = np.random.default_rng(7).normal(0.2, 1.0, (40, 2))
    differences[9:] = np.nan
    assert compare_means(differences[:, None])[0].tested.all()


def test_a_contrast_is_welchs_t_with_a_resampled_critical_value() -> None:
    differences = np.random.default_rng(3).normal(0, 1, (400, 2))
    differences[:120, 0] += 1
    members = np.arange(400) < 120
    test = compare_groups(differences, members)
    theirs = scipy.stats.ttest_ind(differences[members], differences[~members], equal_var=False)
    assert test.mean / test.se == pytest.approx(theirs.statistic)
    assert (test.low > 0).tolist() == [True, False]
    assert (test.p <= 0.05).tolist() == [True, False]
    # Two independent columns of normal values: the upper 5% point of the larger of two |t|.
    assert test.critical == pytest.approx(scipy.stats.norm.ppf((1 + 0.95**0.5) / 2), abs=0.1)


def test_a_contrast_turns_its_sign_with_the_groups() -> None:
    differences, members = draw_skewed_differences(queries=40), np.arange(40) % 3 == 0
    one, other = compare_groups(differences, members), compare_groups(differences, ~members)
    assert one.mean.tolist() == (-other.mean).tolist()
    assert one.p == pytest.approx(other.p)


def test_a_contrast_that_lacks_variance_leaves_the_critical_value_to_the_others() -> None:
    """The second column has two other values in one group: an eighth of the resamples have neither."""
    members = np.arange(40) % 2 == 0
    differences = np.random.default_rng(3).normal(0, 1, (40, 1)) + 3.0 * members[:, None]
    nearly_equal = np.ones(40)
    nearly_equal[[0, 2]] = 0.5
    alone = compare_groups(differences, members)
    test = compare_groups(np.column_stack([differences, nearly_equal]), members)
    assert (test.critical, test.tested.tolist()) == (alone.critical, [True, False])
    assert test.low[0] > 0


def test_a_small_group_without_a_rare_difference_does_not_differ() -> None:
    """8 of 48 queries differ by 1, and none of 12 others: groups differ as much by chance in 15% of cases."""
    members = np.arange(60) < 12
    differences = np.isin(np.arange(60), np.arange(20, 28)).astype(float)[:, None]
    test = compare_groups(differences, members)
    inside = np.arange(9)
    one, other = inside / 12, (8 - inside) / 48
    statistic = (one - other) / np.sqrt(one * (1 - one) / 11 + other * (1 - other) / 47)
    as_far = np.abs(statistic) >= np.abs(statistic[0]) - 1e-9
    exact = scipy.stats.hypergeom.pmf(inside, 60, 8, 12)[as_far].sum()
    assert test.p[0] == pytest.approx(exact, abs=0.015)  # 4 standard deviations of 10,000 draws
    assert test.low[0] < 0 < test.high[0]


def test_a_contrast_needs_enough_queries_in_either_group() -> None:
    differences = draw_skewed_differences(queries=40)
    assert compare_groups(differences, np.arange(40) < MIN_GROUP_SIZE).tested.all()
    assert not compare_groups(differences, np.arange(40) < MIN_GROUP_SIZE - 1).tested.any()


# --- planning


def test_the_detectable_difference_is_that_of_a_normal_test() -> None:
    """(1.959964 + 0.841621) × 0.2 / √50 = 0.0792408; halved by four times the queries."""
    assert compute_detectable_difference(0.2, 50, 1.959964) == pytest.approx(0.0792408, abs=1e-7)
    assert compute_detectable_difference(0.2, 200, 1.959964) == pytest.approx(0.0792408 / 2, abs=1e-7)


def test_the_least_queries_find_the_far_end_with_80_percent_power() -> None:
    """((2.5 + 0.841621) × 0.2 / 0.05)² = 178.7."""
    assert count_required_queries(0.2, 0.05, 2.5) == 179
    assert count_required_queries(0.2, -0.05, 2.5) == 179
    assert compute_detectable_difference(0.2, 179, 2.5) <= 0.05 < compute_detectable_difference(0.2, 178, 2.5)
