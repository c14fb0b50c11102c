"""The regression test: which engines are worse than at the baseline."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

from judge.config.nightly import NightlyConfig
from judge.nightly.record import RegressionOutcome
from judge.nightly.regression_test import (
    compute_detectable_drop,
    compute_one_sided_p,
    decide_outcomes,
    measure_changes,
    warn_of_hidden_drops,
    warn_of_too_few_queries,
)
from tests.support.cases import check_each
from tests.unit.measure.tables import NAN, tabulate_scores

CHANGE = RegressionOutcome(
    "bing", "AP@10", 100, 0.6, 0.55, -0.05, -0.07, -0.03, -0.05, -0.05, 0.0001, outcome="incomplete"
)
RULES = NightlyConfig()


def list_outcomes(
    *given: RegressionOutcome, broken: Sequence[str] = (), rules: NightlyConfig = RULES
) -> list[str]:
    return [row.outcome for row in decide_outcomes(given, broken, rules)]


@check_each(
    ("what", "outcome"),
    [
        ({}, "regression"),
        ({"p": 0.01}, "fine"),  # alpha itself is not below alpha
        ({"change": -0.004, "least": -0.006}, "fine"),  # sure, and too small to matter
        ({"most": 0.001}, "incomplete"),  # what is unjudged could turn it
        (
            {"change": -0.004, "least": -0.01, "p": 0.5},
            "fine",
        ),  # what could be hidden is said, not alarmed at
        ({"change": 0.002, "least": -0.0049, "p": 0.5}, "fine"),
        ({"change": 0.05, "least": 0.05, "most": 0.05, "p": 0.9999}, "improvement"),
        ({"change": 0.05, "least": -0.001, "most": 0.05, "p": 0.9999}, "fine"),
        ({"change": 0.05, "least": 0.05, "most": 0.05, "p": 0.5}, "fine"),
        ({"n": 0, "change": None, "p": None, "least": None, "most": None}, "incomplete"),
    ],
)
def test_one_change_alone(what: dict[str, Any], outcome: str) -> None:
    assert list_outcomes(replace(CHANGE, **what)) == [outcome]


def test_an_improvement_has_the_p_of_a_rise() -> None:
    rose = replace(CHANGE, change=0.05, least=0.05, most=0.05, p=0.999)
    (row, other) = decide_outcomes([rose, replace(CHANGE, p=0.5, change=0.0, least=0.0)], (), RULES)
    assert row.outcome == "improvement"
    assert [row.p, row.p_holm] == pytest.approx([0.001, 0.002])
    assert (other.p, other.p_holm) == (0.5, 1.0)


def test_all_engines_and_measures_are_one_family() -> None:
    alone = replace(CHANGE, p=0.004)
    others = [replace(CHANGE, engine=f"e{number}", p=0.5, change=0.0, least=0.0) for number in range(2)]
    assert list_outcomes(alone) == ["regression"]
    assert list_outcomes(alone, others[0]) == ["regression", "fine"]
    assert list_outcomes(alone, *others) == ["fine", "fine", "fine"]  # 3 * 0.004 is above 0.01
    assert [row.p_holm for row in decide_outcomes([alone, *others], (), RULES)] == pytest.approx(
        [0.012, 1.0, 1.0]
    )


def test_an_engine_that_broke_is_not_blamed_and_makes_no_other_harder_to_blame() -> None:
    alone = replace(CHANGE, p=0.004)
    others = [replace(CHANGE, engine="broken", measure=f"P@{cutoff}") for cutoff in (1, 5)]
    assert list_outcomes(alone, *others, broken=["broken"]) == ["regression", "incomplete", "incomplete"]
    assert decide_outcomes([alone, *others], ["broken"], RULES)[0].p_holm == 0.004


def test_the_rules_decide_what_is_worth_an_alarm() -> None:
    assert list_outcomes(CHANGE, rules=NightlyConfig(min_drop=0.06)) == ["fine"]
    assert list_outcomes(replace(CHANGE, p=0.04), rules=NightlyConfig(alpha=0.05)) == ["regression"]


def test_a_change_is_over_the_queries_that_both_nights_have() -> None:
    scores = tabulate_scores([[0.5, 0.4, 0.6, NAN], [0.3, 0.2, 0.1, 0.9]])
    (fell,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    (rose,) = measure_changes(scores, {"bing": ("b", "a")}, RULES.alpha)
    assert (fell.engine, fell.measure, fell.n) == ("bing", "P@5", 3)
    assert (fell.baseline, fell.tonight, fell.change) == pytest.approx((0.5, 0.2, -0.3))
    assert (rose.baseline, rose.tonight, rose.change) == pytest.approx((0.2, 0.5, 0.3))
    # All three fell: one of the eight ways to choose three signs.
    assert (fell.p, rose.p) == (1 / 8, 7 / 8)
    # With so few queries, no interval excludes 0.
    assert (fell.low, rose.high) == (None, None)
    assert (rose.least, rose.most) == pytest.approx((0.3, 0.3))


def test_what_is_unjudged_bounds_a_change_on_the_right_side() -> None:
    value = [[0.5] * 6, [0.3] * 6]
    scores = tabulate_scores(value, lowest=[[0.5] * 6, [0.2] * 6], highest=[[0.5] * 6, [0.4] * 6])
    (fell,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    assert (fell.least, fell.most) == pytest.approx((-0.3, -0.1))


def test_a_night_like_the_baseline_has_no_negative_zero() -> None:
    scores = tabulate_scores([[0.5, 0.4], [0.5, 0.4]])
    for sides in (("a", "b"), ("b", "a")):
        (same,) = measure_changes(scores, {"bing": sides}, RULES.alpha)
        assert str(same.change) == "0.0"
        assert (same.p, list_outcomes(same)) == (0.5, ["fine"])


def test_the_chance_of_a_drop_is_that_of_an_independent_library() -> None:
    differences = np.array([-0.31, 0.12, -0.2, -0.05, 0.02, -0.4, -0.17, 0.07])
    expected = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", alternative="less", n_resamples=1000
    )
    scores = tabulate_scores([np.zeros(8), differences])
    (fell,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    assert fell.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_nothing_to_compare_has_no_chance() -> None:
    assert compute_one_sided_p(None, -0.1) is None
    assert compute_one_sided_p(0.1, None) is None


def test_many_engines_and_a_strict_alpha_can_still_raise_an_alarm() -> None:
    fell = np.full(40, -0.3)
    scores = tabulate_scores([np.zeros(40), fell])
    for alpha in (0.01, 0.0001):
        (change,) = measure_changes(scores, {"bing": ("a", "b")}, alpha / 100)
        rows = decide_outcomes(
            [replace(change, engine=f"e{at}") for at in range(50)], (), NightlyConfig(alpha=alpha)
        )
        assert {row.outcome for row in rows} == {"regression"}


def test_too_few_queries_to_find_any_drop_are_said() -> None:
    # All of n fell: one of 2 ** n ways to choose signs, times the four that are tested.
    for n in range(3, 15):
        change = replace(CHANGE, n=n, p=0.5**n)
        rows = decide_outcomes([replace(change, engine=f"e{at}") for at in range(4)], (), RULES)
        warnings = list(warn_of_too_few_queries(rows, RULES.alpha))
        assert bool(warnings) == (rows[0].outcome != "regression") == (n < 9)
        assert all("alpha 0.01 need 9" in each for each in warnings)


def test_what_could_be_hidden_is_said() -> None:
    hidden = replace(CHANGE, change=-0.004, least=-0.01, p=0.5)
    sure = replace(CHANGE, engine="sure", change=-0.004, least=-0.004, p=0.5)
    rows = decide_outcomes([hidden, sure], (), RULES)
    (text,) = warn_of_hidden_drops(rows, RULES.min_drop)
    assert "could hide a drop of up to 0.010" in text


def test_the_detectable_drop_is_worked_by_hand() -> None:
    # Differences -.1, .1, four times: sd = sqrt(.08 / 7) = .106904; t(.95, 7) = 1.894579, t(.8, 7) = .896030;
    # so 2.790608 * .106904 / sqrt(8) = .105475.
    scores = tabulate_scores([[0.5] * 8, [0.4, 0.6] * 4])
    (same,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    assert same.sd == pytest.approx(0.106904, abs=1e-6)
    assert compute_detectable_drop(same, 0.05, 0.005) == pytest.approx(0.105475, abs=1e-6)
    # The level is divided by the number of comparisons: t(.95 is 1 - .1 / 2).
    rows = decide_outcomes([same, replace(same, engine="other")], (), NightlyConfig(alpha=0.1))
    assert [row.detectable for row in rows] == pytest.approx([0.105475] * 2, abs=1e-6)
    # Above a drop that the test ignores: .1 + .896030 * .106904 / sqrt(8).
    assert compute_detectable_drop(same, 0.05, 0.1) == pytest.approx(0.133867, abs=1e-6)
    assert compute_detectable_drop(replace(same, sd=1e-9), 0.05, 0.005) == pytest.approx(0.005)
    # Unknown for one query and for an engine that broke.
    assert compute_detectable_drop(replace(same, n=1, sd=None), 0.05, 0.005) is None
    assert [row.detectable for row in decide_outcomes([same], ["bing"], RULES)] == [None]


def test_as_few_queries_as_the_message_names_are_a_regression_on_any_draw() -> None:
    """0.5 ** 9 is .00195; four times that is below the alpha of .01."""
    before = np.full(30, 0.8)
    now = before - np.where(np.arange(30) < 9, 0.8, 0.0)
    scores = tabulate_scores([before.tolist(), now.tolist()])
    (change,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    assert change.p == 0.5**9
    others = [replace(change, engine=name, p=0.5, change=0.0) for name in "xyz"]
    row, *_ = decide_outcomes([change, *others], (), RULES)
    assert (row.outcome, row.p_holm) == ("regression", 4 * 0.5**9)


def test_what_is_shown_agrees_with_what_is_decided() -> None:
    """The interval excludes 0 where the test finds a drop, also where a few queries fell by much."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        before = rng.uniform(0.2, 0.8, 40)
        now = before + rng.normal(-0.01, 0.03, 40) - 0.4 * (rng.random(40) < rng.uniform(0, 0.4))
        scores = tabulate_scores([before.tolist(), now.tolist()])
        changes = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
        (row,) = decide_outcomes(changes, (), RULES)
        assert row.p is not None
        assert row.high is not None
        assert (row.high < 0) == (row.p <= 0.025)
        assert row.outcome != "regression" or row.high < 0


@check_each(
    ("fell", "by"),
    [(12, [0.1] * 12), (12, [0.5, *[0.0] * 11]), (40, [0.3] * 3 + [0.0] * 37)],
)
def test_an_interval_that_would_seem_too_sure_is_not_shown(fell: int, by: list[float]) -> None:
    """All queries fell by the same, or hardly any differs."""
    scores = tabulate_scores([[0.5] * fell, [0.5 - drop for drop in by]])
    (change,) = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
    assert change.ci95 is None


def test_no_drop_is_called_detectable_where_none_is_significant() -> None:
    """Eight queries and two tests: .5 ** 8 * 2 is .0078, and .0156 with four tests is above 1%."""
    change = replace(CHANGE, n=8, sd=0.1, p=0.5)
    for tests, known in ((2, True), (4, False)):
        rows = decide_outcomes([change] * tests, (), RULES)
        assert [row.detectable is not None for row in rows] == [known] * tests


def test_the_detectable_drop_is_unknown_where_hardly_a_query_differs() -> None:
    # A drop of .025 by three queries of twelve has p = 1 / 8 at best, so it is not found in 4 of 5 nights.
    for differing, known in ((0, False), (5, False), (6, True)):
        scores = tabulate_scores([[0.5] * 12, [0.4] * differing + [0.5] * (12 - differing)])
        changes = measure_changes(scores, {"bing": ("a", "b")}, RULES.alpha)
        (row,) = decide_outcomes(changes, (), RULES)
        assert (row.detectable is not None) == known


@pytest.mark.parametrize("min_drop", [0.005, 0.1])
def test_four_of_five_drops_of_the_detectable_size_are_found(min_drop: float) -> None:
    rng = np.random.default_rng(7)
    change = replace(CHANGE, n=120, sd=0.2)
    drop = compute_detectable_drop(change, 0.01 / 6, min_drop)
    assert drop is not None
    nights = rng.normal(-drop, 0.2, (4_000, 120))
    p = np.asarray(scipy.stats.ttest_1samp(nights, 0.0, axis=1, alternative="less").pvalue)
    assert 0.77 < np.mean((p < 0.01 / 6) & (nights.mean(1) <= -min_drop)) < 0.83
