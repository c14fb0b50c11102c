"""Comparing engines: every number of a pair, who is named, and what keeps one from being named."""

from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.compare import PairComparison, compare_engines
from judge.measure.numeric import Floats
from judge.measure.simultaneous import compare_means, compute_detectable_difference, count_required_queries
from judge.records import BINARY
from tests.support.cases import check_each, count_examples
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import JudgedDataset
from tests.unit.measure.tables import NAN, tabulate_scores

#: What belongs to a pair whatever the other pairs of its measure are.
_OWN = ("n", "difference", "bounds", "sd", "d_z", "wins", "ties", "losses")


def compare_two(*engines: Any, **options: Any) -> PairComparison:
    """The comparison of two engines by one measure."""
    (pair,) = compare_engines(tabulate_scores(engines, **options))
    return pair


def draw_scores(seed: int, engines: int, queries: int, ahead: float = 0.0) -> Floats:
    """Scores around one half; each engine is `ahead` of the next."""
    easy = np.random.default_rng(seed).normal(0.5, 0.1, (engines, queries))
    scores: Floats = np.clip(easy - ahead * np.arange(engines)[:, None], 0, 1)
    return scores


# --- the numbers of a pair


def test_a_pair_worked_out_by_hand() -> None:
    """Differences 0 .25 .5 -.25: three queries differ, which is too few to test."""
    pair = compare_two([0.5, 0.5, 1, 0], [0.5, 0.25, 0.5, 0.25])
    assert (pair.measure, pair.a, pair.b, pair.n) == ("P@5", "a", "b", 4)
    assert (pair.wins, pair.ties, pair.losses) == (2, 1, 1)
    assert pair.difference == pytest.approx(0.125)
    assert pair.sd == pytest.approx((0.3125 / 3) ** 0.5)
    assert pair.d_z == pytest.approx(0.125 / (0.3125 / 3) ** 0.5)
    assert (get_low_end(pair.ci95), get_high_end(pair.ci95), pair.p_adjusted) == (-1, 1, 1)
    assert pair.bounds == (pair.difference, pair.difference)
    assert pair.outcome == "not separated"


def test_the_interval_is_that_of_all_pairs_together() -> None:
    """The middle is scipy's mean, the width the shared critical value times scipy's standard error."""
    values = draw_scores(3, 3, 40, ahead=0.1)
    pairs = compare_engines(tabulate_scores(values))
    differences = np.stack([values["abc".index(p.a)] - values["abc".index(p.b)] for p in pairs], axis=1)
    (test,) = compare_means(differences[:, None, :])
    for pair, difference in zip(pairs, differences.T, strict=True):
        reach = test.critical * scipy.stats.sem(difference)
        assert pair.difference == pytest.approx(difference.mean())
        assert pair.ci95 == pytest.approx((difference.mean() - reach, difference.mean() + reach))
        assert pair.p_adjusted is not None
        assert (pair.outcome == "better") == (pair.p_adjusted <= 0.05) == ((get_low_end(pair.ci95) or 0) > 0)


def test_nothing_shown_is_larger_than_the_measure_can_be() -> None:
    """A difference by P@5 lies between -1 and 1, by DCG@2 within ±3 (1 + 1 / log2 3), with grades to 3."""
    values = np.stack([[0.4, 0.7, 1, 1, 1, 1, 0.9, 0.8], [0.3, 0, 0.1, 0, 0, 0, 0, 0]])[:, :, None, None]
    (pair,) = compare_engines(tabulate_scores(values, measures="P@5"))
    (free,) = compare_engines(tabulate_scores(values, measures="DCG@2"))
    assert (get_high_end(pair.ci95), get_low_end(free.ci95)) == (1, get_low_end(pair.ci95))
    assert get_high_end(free.ci95) is not None
    assert 1 < get_high_end(free.ci95) < 3 * (1 + 1 / np.log2(3))
    (few,) = compare_engines(tabulate_scores(values[:, :3], measures="DCG@2"))
    assert few.ci95 == pytest.approx((-3 * (1 + 1 / np.log2(3)), 3 * (1 + 1 / np.log2(3))))
    wild = np.stack([[0.0, 1, 0, 1, 0, 1], [1.0, 0, 1, 0.9, 1, 0.2]])
    assert compare_two(*wild).detectable is None


def test_an_engine_that_broke_leaves_only_its_pairs() -> None:
    scores = tabulate_scores([[1, 1, 1, 1], [0, 0, NAN, 0], [0.5, NAN, 0.5, 0.5]])
    pairs = {(pair.a, pair.b): pair for pair in compare_engines(scores)}
    assert {key: pair.n for key, pair in pairs.items()} == {("a", "b"): 3, ("a", "c"): 3, ("c", "b"): 2}
    assert pairs["a", "b"].difference == 1.0
    assert pairs["c", "b"].difference == 0.5


def test_repeats_are_averaged_within_a_query_before_anything_else() -> None:
    """Per query a is ahead by .5 and behind by .25; single repeats would give three wins of four."""
    pair = compare_two([[1, 0.5], [0.5, 0.5]], [[0, 0.5], [1, 0.5]])
    assert (pair.n, pair.wins, pair.losses) == (2, 1, 1)
    assert pair.difference == pytest.approx(0.125)
    missing = compare_two([[1, NAN], [0.5, 0.5]], [[0, 0.5], [NAN, NAN]])
    assert (missing.n, missing.difference) == (1, 0.75)


def test_the_first_engine_has_the_higher_mean() -> None:
    low, high = [0.1, 0.2, 0.3], [0.5, 0.2, 0.4]
    for engines in ((low, high), (high, low)):
        pair = compare_two(*engines)
        assert pair.difference == pytest.approx(0.5 / 3)
        assert (pair.wins, pair.ties, pair.losses) == (2, 1, 0)
        assert pair.a == "ab"[engines.index(high)]


def test_the_first_engine_is_so_on_the_queries_that_both_have() -> None:
    """Over all its queries b has the higher mean, for it broke where it is hard."""
    pair = compare_two([0.2, 0.2, 0.2, 0.9], [NAN, NAN, NAN, 0.8])
    assert (pair.a, pair.b, pair.n) == ("a", "b", 1)
    assert pair.difference == pytest.approx(0.1)


def test_of_equal_engines_the_first_by_name_stands_first() -> None:
    """Thirds that add up to one another only on paper."""
    pair = compare_two([1 / 3, 2 / 3, 0.1], [2 / 3, 1 / 3, 0.1])
    assert (pair.a, pair.b) == ("a", "b")
    assert pair.difference == pytest.approx(0, abs=1e-15)


def test_pairs_come_by_the_standing_of_their_engines() -> None:
    pairs = compare_engines(tabulate_scores([[0.2, 0.3], [0.9, 0.8], [0.5, 0.5], [NAN, NAN]], engines="wxyz"))
    assert [pair.a + pair.b for pair in pairs[:3]] == ["xy", "xw", "xz"]
    assert [{pair.a, pair.b} for pair in pairs[3:]] == [{"w", "y"}, {"y", "z"}, {"w", "z"}]


# --- many pairs


def test_each_measure_is_a_family_of_its_own() -> None:
    values = np.stack([draw_scores(1, 4, 12, ahead=0.05), draw_scores(2, 4, 12)], axis=-1)[:, :, None]
    result = compare_engines(tabulate_scores(values, measures="P@5 P@10"))
    assert [pair.measure for pair in result] == ["P@5"] * 6 + ["P@10"] * 6
    for at, six in enumerate((result[:6], result[6:])):
        alone = compare_engines(tabulate_scores(values[..., [at]], measures="P@5"))
        assert [pair.p_adjusted for pair in six] == [pair.p_adjusted for pair in alone]
        assert [pair.ci95 for pair in six] == [pair.ci95 for pair in alone]


def test_more_families_ask_for_more() -> None:
    values = draw_scores(1, 2, 30, ahead=0.05)
    (one,), (ten,) = (
        compare_engines(tabulate_scores(values)),
        compare_engines(tabulate_scores(values), families=10),
    )
    assert one.p_adjusted is not None
    assert ten.p_adjusted == pytest.approx(10 * one.p_adjusted)
    assert None not in (get_low_end(one.ci95), get_low_end(ten.ci95))
    assert get_low_end(ten.ci95) < get_low_end(one.ci95)


def test_a_pair_without_a_common_query_is_no_member_of_the_family() -> None:
    pairs = compare_engines(
        tabulate_scores([[0.9, 0.8, 0.9, 0.7, 0.9, 0.8, NAN], [0.1, 0.3, 0, 0, 0, 0.1, NAN], [NAN] * 6 + [1]])
    )
    met = [pair for pair in pairs if pair.n]
    assert len(met) == 1
    (alone,) = compare_engines(tabulate_scores([[0.9, 0.8, 0.9, 0.7, 0.9, 0.8], [0.1, 0.3, 0, 0, 0, 0.1]]))
    assert met[0].outcome == alone.outcome == "better"
    for pair in pairs:
        if not pair.n:
            numbers = (
                pair.difference,
                get_low_end(pair.ci95),
                get_high_end(pair.ci95),
                get_low_end(pair.bounds),
                get_high_end(pair.bounds),
                pair.sd,
                pair.d_z,
            )
            assert {*numbers, pair.p_adjusted, pair.detectable, pair.at_least_queries, pair.robust} == {None}
            assert (pair.wins, pair.ties, pair.losses) == (0, 0, 0)
            assert pair.outcome == "undetermined"


@settings(max_examples=count_examples(10))
@given(st.integers(0, 1000), st.permutations(range(4)))
def test_a_pair_does_not_depend_on_the_others_or_on_names(seed: int, order: list[int]) -> None:
    values = draw_scores(seed, 4, 15, ahead=0.03)
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = NAN
    turned = compare_engines(tabulate_scores(values[order], engines="".join("abcd"[at] for at in order)))
    straight = compare_engines(tabulate_scores(values))
    assert {frozenset((p.a, p.b)): p for p in turned} == {frozenset((p.a, p.b)): p for p in straight}
    for pair in straight:
        alone = compare_two(*(values["abcd".index(name)] for name in sorted((pair.a, pair.b))))
        assert [getattr(alone, name) for name in _OWN] == [getattr(pair, name) for name in _OWN]


def test_very_many_engines_can_still_be_told_apart() -> None:
    """528 pairs share one critical value."""
    steps = np.random.default_rng(9).uniform(0.9, 1.1, (33, 24)).cumsum(0) / 40
    pairs = compare_engines(tabulate_scores(steps, engines="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg"))
    assert len(pairs) == 33 * 32 / 2
    assert {pair.outcome for pair in pairs} == {"better"}


# --- which measures, which engines


def test_only_measures_that_engines_can_be_compared_by_are() -> None:
    values = np.broadcast_to(draw_scores(1, 2, 5)[:, :, None, None], (2, 5, 1, 5))
    measures = "AP(own)@5 SetP sDCG@5 Judged@5 RR@5"
    assert [pair.measure for pair in compare_engines(tabulate_scores(values, measures=measures))] == [
        "sDCG@5",
        "RR@5",
    ]
    assert compare_engines(tabulate_scores(values[..., :3], measures="AP(own)@5 SetP Judged@5")) == ()


def test_one_engine_is_compared_with_nobody() -> None:
    assert compare_engines(tabulate_scores([[0.5, 0.7]])) == ()


# --- who is named


def test_the_better_engine_is_named_when_chance_is_unlikely() -> None:
    pair = compare_two(*draw_scores(1, 2, 30, ahead=0.15))
    assert (pair.a, pair.outcome, pair.at_least_queries, pair.robust) == ("a", "better", None, True)
    assert pair.p_adjusted is not None
    assert pair.p_adjusted <= 0.05


def make_unsure_pair(low: float, high: float) -> PairComparison:
    """Twenty queries, a about .3 ahead of b; the values of a may move by `low` and `high`."""
    b = np.linspace(0.1, 0.4, 20)
    a = b + np.linspace(0.25, 0.35, 20)
    return compare_two(a, b, lowest=[a - low, b], highest=[a + high, b])


def test_a_difference_that_unjudged_snippets_could_take_away_is_undetermined() -> None:
    pair = make_unsure_pair(0.31, 0.1)
    assert get_low_end(pair.ci95) is not None
    assert get_low_end(pair.ci95) > 0
    assert (pair.difference, get_low_end(pair.bounds), get_high_end(pair.bounds)) == pytest.approx(
        (0.3, -0.01, 0.4)
    )
    assert (pair.outcome, pair.robust, pair.at_least_queries) == ("undetermined", None, None)


def test_a_difference_that_no_grades_could_turn_names_an_engine() -> None:
    """The range of the mean is above 0; with the interval around its lower end it is not always."""
    sure, barely = make_unsure_pair(0.2, 0.1), make_unsure_pair(0.29, 0.1)
    assert [get_low_end(sure.bounds), get_low_end(barely.bounds)] == pytest.approx([0.1, 0.01])
    assert (sure.outcome, sure.robust) == ("better", True)
    assert (barely.outcome, barely.robust) == ("better", False)


def test_equal_differences_without_a_critical_value_are_robust_by_the_same_rule() -> None:
    """The difference is .5 on 40 queries: q is 1 - .02 ** (1 / 40) = .0932, the bound (1 - q) * least - q."""
    a, b = np.full(40, 0.75), np.full(40, 0.25)
    for spread, robust in ((0.05, True), (0.45, False)):  # .9068 * .45 - .0932 = .3148; .9068 * .05 < .0932
        pair = compare_two(a, b, lowest=[a - spread, b], highest=[a, b])
        assert (pair.outcome, pair.detectable, pair.robust) == ("better", None, robust)


def test_a_difference_that_may_be_chance_is_not_separated_whatever_is_unjudged() -> None:
    a, b = draw_scores(4, 2, 12)
    wide = compare_two(a, b, lowest=[a - 0.2, b - 0.2], highest=[a + 0.2, b + 0.2])
    assert (wide.outcome, wide.robust) == ("not separated", None)
    assert get_high_end(wide.bounds) - get_low_end(wide.bounds) == pytest.approx(0.8)


def make_unknown_dataset(unknown: int | None) -> JudgedDataset:
    """Twenty queries that a wins; thirty where all is worth nothing but b's second result, `unknown`.

    On five of the twenty b has a relevant result too, so that the differences vary.
    """
    won, lost = [f"q{number:02}" for number in range(20)], [f"z{number:02}" for number in range(30)]
    return JudgedDataset(
        {"a": {query: ["a1"] for query in won + lost}, "b": {query: ["b1", "b2"] for query in won + lost}},
        [
            {
                (query, name): int(name == "a1" or (query < "q05" and name == "b2"))
                for query in won
                for name in ("a1", "b1", "b2")
            }
            | {(query, name): 0 for query in lost for name in ("a1", "b1")}
            | {(query, "b2"): unknown for query in lost}
        ],
        BINARY,
        measures="nDCG@2",
    )


def test_queries_that_only_unjudged_snippets_could_make_count_can_take_a_difference_away() -> None:
    (pair,) = compare_engines(make_unknown_dataset(None).compute_scores())
    (truth,) = compare_engines(make_unknown_dataset(1).compute_scores())
    assert (pair.a, pair.n, get_high_end(pair.bounds), pair.outcome) == (
        "a",
        20,
        pair.difference,
        "undetermined",
    )
    assert (truth.a, truth.n) == ("b", 50)
    assert get_low_end(pair.bounds) == pytest.approx(-(truth.difference or 0))
    (pair,) = compare_engines(make_unknown_dataset(0).compute_scores())
    assert (pair.a, pair.n, get_low_end(pair.bounds), get_high_end(pair.bounds)) == (
        "a",
        20,
        pair.difference,
        pair.difference,
    )
    assert pair.outcome == "better"


def test_a_bound_of_zero_has_no_minus_sign() -> None:
    pair = compare_two([0.5], [0.75], lowest=[[0.5], [0.5]], highest=[[0.5], [1.0]])
    assert (pair.a, repr(pair.bounds)) == ("b", "(0.0, 0.5)")


def test_lists_without_one_grade_widen_the_bounds_and_never_move_the_mean_out() -> None:
    """On the last query a returned something that nobody graded: anything from 0 to 1."""
    a, b = [0.58, 0.59, 0.6, 0.6, 0.6, 0.61, 0.62], [0.5] * 7
    pair = compare_two([*a, NAN], [*b, 1], lowest=[[*a, 0], [*b, 1]], highest=[[*a, 1], [*b, 1]])
    assert pair.n == 7
    assert get_low_end(pair.ci95) is not None
    assert get_low_end(pair.ci95) > 0
    assert pair.difference == pytest.approx(0.1)
    assert get_low_end(pair.bounds) == pytest.approx((0.7 - 1) / 8)
    assert get_high_end(pair.bounds) == pytest.approx(0.1)
    assert pair.outcome == "undetermined"


@check_each("seed", range(20))
def test_queries_that_may_count_never_round_the_mean_out_of_its_bounds(seed: int) -> None:
    """Left out, they change no digit of the mean: on them a is further ahead than anywhere else."""
    a, b = draw_scores(seed, 2, 40, ahead=0.1)
    gaps = np.random.default_rng(seed).random(40) < 0.3
    b[gaps] = 0
    pair = compare_two(
        np.where(gaps, NAN, a), b, lowest=[np.where(gaps, 0.9, a), b], highest=[np.where(gaps, 1, a), b]
    )
    assert (pair.a, pair.n) == ("a", 40 - gaps.sum())
    assert pair.difference is not None
    assert get_low_end(pair.bounds) is not None
    assert get_low_end(pair.bounds) <= pair.difference
    assert get_low_end(pair.bounds) == pytest.approx(pair.difference, abs=1e-12)


# --- what it would take


@pytest.mark.parametrize(("engines", "queries"), [(2, 8), (2, 50), (3, 20), (5, 200)])
def test_what_queries_can_show_follows_the_shared_critical_value(engines: int, queries: int) -> None:
    """Half the width of an interval is c·sd/√n, which gives c."""
    for pair in compare_engines(tabulate_scores(draw_scores(5, engines, queries))):
        assert None not in (get_high_end(pair.ci95), pair.difference, pair.sd)
        critical = (get_high_end(pair.ci95) - pair.difference) / (pair.sd / queries**0.5)
        assert pair.detectable == pytest.approx(
            compute_detectable_difference(pair.sd or 0, queries, critical)
        )
        assert pair.detectable_doubled == pytest.approx((pair.detectable or 0) / 2**0.5)
        assert pair.outcome == "not separated"
        needed = count_required_queries(
            pair.sd or 0, max(-(get_low_end(pair.ci95) or 0), get_high_end(pair.ci95) or 0), critical
        )
        assert pair.at_least_queries == (needed if needed > queries else None)


def test_engines_that_are_equal_on_average_need_about_twice_the_queries_at_the_least() -> None:
    """With mean 0 the far end is c·se, so the least number is n ((c + z) / c)², about 2 n at c = 2."""
    a = 0.5 + np.array([0.1, -0.1] * 50)
    pair = compare_two(a, np.full(100, 0.5))
    assert pair.at_least_queries is not None
    assert 195 <= pair.at_least_queries <= 210


@pytest.mark.parametrize("queries", [2, 3, 4, 5])
def test_few_queries_can_not_separate_however_clear_they_are(queries: int) -> None:
    clear = [0.9 - 0.01 * number for number in range(queries)]
    pair = compare_two(clear, [0.0] * queries)
    assert (pair.outcome, get_low_end(pair.ci95), get_high_end(pair.ci95)) == ("not separated", -1, 1)
    assert (pair.detectable, pair.at_least_queries, pair.p_adjusted) == (None, None, 1)
    assert compare_two([0.9, 0.8, 0.9, 0.7, 0.8, 0.9], [0.0] * 6).outcome == "better"


# --- nothing to tell apart


def test_engines_that_never_differ_are_not_separated() -> None:
    pair = compare_two([0.3, 0.7, 0.1], [0.3, 0.7, 0.1])
    assert (pair.difference, pair.sd, pair.p_adjusted) == (0, 0, 1)
    assert (pair.d_z, pair.detectable, pair.at_least_queries) == (None, None, None)
    assert (pair.ties, pair.outcome) == (3, "not separated")
    # As everywhere, the numbers in their names sort engines with equal means.
    pair = compare_two([0.3, 0.7, 0.1], [0.3, 0.7, 0.1], engines=("b10", "b2"))
    assert (pair.a, pair.b) == ("b2", "b10")


@pytest.mark.parametrize("step", [0.25, 0.1])
def test_differences_that_are_all_the_same_have_no_spread_but_bounds(step: float) -> None:
    """.1 is not a sum of powers of two: the differences differ in their last digit.

    With 98%, at most 1 - .02^(1/30) = .1222 of all queries have a smaller difference, of -1 at worst.
    """
    high = np.linspace(0.5, 1, 30)
    pair = compare_two(high, high - step)
    assert pair.difference == pytest.approx(step)
    assert (pair.sd, pair.d_z, pair.detectable) == (0, None, None)
    ends = (0.8778 * step - 0.1222, 0.8778 * step + 0.1222)
    assert (get_low_end(pair.ci95), get_high_end(pair.ci95)) == pytest.approx(ends, abs=1e-4)
    assert pair.outcome == ("better" if step == 0.25 else "not separated")
    assert pair.p_adjusted == pytest.approx(min(1, 2.5 / (1 + step) ** 30))


def test_one_query_has_a_difference_and_no_spread() -> None:
    pair = compare_two([0.9], [0.4])
    assert (pair.n, pair.wins, pair.p_adjusted, pair.outcome) == (1, 1, 1, "not separated")
    assert {pair.sd, pair.d_z, pair.detectable, pair.at_least_queries} == {None}


def test_engines_that_have_no_value_at_all_are_undetermined() -> None:
    pair = compare_two([NAN, NAN], [NAN, NAN])
    assert (pair.a, pair.b, pair.n, pair.outcome) == ("a", "b", 0, "undetermined")
