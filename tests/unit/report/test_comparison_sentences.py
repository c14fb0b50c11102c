"""How findings are said: who is named, and that nobody is who shouldn't be."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from judge.analysis.summary import DecidingQueries, DecidingQuery, Summary
from judge.cli.render.comparison_tables import iter_comparison_parts
from judge.measure.compare import PairComparison, compare_engines, describe_outcome
from judge.measure.engine_summary import average_engines
from judge.measure.intervals import StatisticValue
from judge.measure.segments import SegmentContrast, SegmentResult
from judge.measure.sensitivity import OwnListReversal
from judge.measure.stability import MeasureStability, RepeatStability, VarianceComponents
from judge.messages import CHINESE, ENGLISH, Translator, round_count
from judge.pricing.costs import RunCost
from judge.report import facts, run_warnings
from judge.report.assessor_sentences import describe_repeats, describe_variance
from judge.report.comparison_sentences import (
    choose_headline,
    describe_difference,
    describe_power,
    describe_segment_differences,
    explain_reversal,
    iter_differences,
    name_deciding_queries,
    rank_means,
    warn_few_queries,
)
from judge.report.display_text import format_interval
from tests.support.cases import check_each
from tests.unit.analysis.labelled import make_run
from tests.unit.measure.tables import NAN, tabulate_scores
from tests.unit.report.charted import summarise_run
from tests.unit.report.summaries import BASE, make_comparison, make_mean, make_summary

CLEAR = [0.9, 0.8, 0.85, 0.9, 0.7, 0.8, 0.9, 0.75]
EASIER = [0.93, 0.94, 0.95, 0.96, 0.95, 0.94, 0.95, 0.96]
#: Values that vary from query to query, and are far below the others.
POOR = [0.0, 0.01, 0.02, 0.0, 0.01, 0.02, 0.0, 0.01]


def summarise_scores(value: Any, **options: Any) -> Summary:
    """The summary of these scores: comparisons and means."""
    scores = tabulate_scores(value, **options)
    means = {
        engine: {name: make_mean(mean.mean) for name, mean in by_measure.items()}
        for engine, by_measure in average_engines(scores).items()
    }
    return make_summary(means, *compare_engines(scores))


def compare_two(*engines: Sequence[float], **options: Any) -> PairComparison:
    (only,) = compare_engines(tabulate_scores(engines, **options))
    return only


# --- one pair


def test_a_verdict_names_the_better_engine_or_says_why_not() -> None:
    assert describe_outcome(ENGLISH, compare_two(CLEAR, POOR)) == "a > b"
    assert describe_outcome(ENGLISH, compare_two(POOR, CLEAR)) == "b > a"
    assert describe_outcome(ENGLISH, compare_two([0.9, 0.8], [0.1, 0.2])) == (
        "not separated (they differ on 2 queries; a test needs 6 or more)"
    )
    assert describe_outcome(ENGLISH, compare_two(CLEAR, CLEAR)) == (
        "not separated (both have the same value on every query)"
    )
    even = [0.5, 0.6] * 30
    assert describe_outcome(ENGLISH, compare_two(even, even[1:] + even[:1])) == (
        "not separated (a test needs 120 or more queries; for a small true difference, far more)"
    )
    assert describe_outcome(ENGLISH, compare_two([0.6] * 8, [0.5] * 8)) == (
        "not separated (only 8 queries with values for both, too few for such differences)"
    )
    unjudged = compare_two(CLEAR, POOR, lowest=[[0.0] * 8] * 2, highest=[[1.0] * 8] * 2)
    assert describe_outcome(ENGLISH, unjudged) == "undetermined: unjudged snippets could reverse it"
    assert describe_outcome(ENGLISH, compare_two([0.5, NAN], [NAN, 0.5])) == (
        "undetermined: there is no query where both have a value"
    )


def test_a_comparison_is_one_sentence() -> None:
    (row,) = summarise_scores([CLEAR, POOR]).comparisons
    text = describe_difference(ENGLISH, row)
    assert text.startswith("a > b: +0.8162 (95%: ")
    assert text.endswith("; ahead on 8 of 8 queries, behind on 0")
    (row,) = summarise_scores([[0.9, 0.8, 0.1], [0.1, 0.2, 0.3]]).comparisons
    text = describe_difference(ENGLISH, row)
    assert text.startswith("a, b: not separated (they differ on 3 queries; a test needs 6 or more); ")
    assert text.endswith("; ahead on 2 of 3 queries, behind on 1")
    (row,) = summarise_scores([[0.5, NAN], [NAN, 0.5]]).comparisons
    assert (
        describe_difference(ENGLISH, row) == "a, b: undetermined: there is no query where both have a value"
    )


# --- all of them


def test_one_engine_alone_is_not_the_best() -> None:
    assert choose_headline(ENGLISH, summarise_scores([CLEAR]), "P@5") == "1 engine: nothing to compare."


def test_the_best_engine_is_named_when_it_beats_every_other() -> None:
    assert choose_headline(ENGLISH, summarise_scores([CLEAR, POOR])) == (
        "a is best by P@5: its lead is statistically significant."
    )
    lower = [[each - 0.3 + step for each, step in zip(CLEAR, POOR, strict=True)], POOR]
    assert choose_headline(ENGLISH, summarise_scores([*lower, CLEAR])) == (
        "c is best by P@5: its leads over the 2 others are statistically significant."
    )


def test_no_engine_is_best_while_one_is_close() -> None:
    assert choose_headline(ENGLISH, summarise_scores([CLEAR, CLEAR[::-1], POOR])) == (
        "No engine is best by P@5: a shares the highest mean,"
        " and is not separated from b (the difference may be chance) and is ahead of 1 other."
    )
    many = choose_headline(ENGLISH, summarise_scores([CLEAR] * 7))
    assert many == (
        "No engine is best by P@5: a shares the highest mean,"
        " and has the same value as b, c, d and 3 more on every shared query."
    )


def test_no_engine_is_best_while_unjudged_snippets_could_make_another_one_so() -> None:
    low, high = [CLEAR, [0.0] * 8], [CLEAR, [1.0] * 8]
    assert choose_headline(ENGLISH, summarise_scores([CLEAR, [0.1] * 8], lowest=low, highest=high)) == (
        "No engine is best by P@5: a has the highest mean, but could be behind b if every snippet were"
        " judged."
    )


def test_an_engine_that_broke_where_it_is_hard_is_not_called_best() -> None:
    """Over the eight queries that both have b is ahead on each; a's mean is higher over easier ones."""
    easy, hard = [0.9] * 8, [0.1] * 8
    text = choose_headline(ENGLISH, summarise_scores([easy + [NAN] * 8, EASIER + hard]))
    assert text == "b is best by P@5: its lead is statistically significant."


def test_an_engine_with_the_highest_mean_that_is_behind_is_said_to_be() -> None:
    """Both others beat it where it answered, the easy queries, and none beats the other."""
    a = [0.9] * 12 + [NAN] * 4
    b = c = EASIER + EASIER[:4] + [0.1] * 4
    text = choose_headline(ENGLISH, summarise_scores([a, b, c]))
    assert text == (
        "No engine is best by P@5: a has the highest mean,"
        " but is behind b and c on the queries where both have a value."
    )


def test_engines_that_never_met_are_not_said_to_be_close_or_unjudged() -> None:
    assert choose_headline(ENGLISH, summarise_scores([[0.5, NAN], [NAN, 0.4]])) == (
        "No engine is best by P@5: a has the highest mean, but shares no query with b on which both have a"
        " value."
    )


def test_without_any_value_nobody_has_the_highest_mean() -> None:
    assert choose_headline(ENGLISH, summarise_scores([[NAN], [NAN]])) == (
        "No engine is best by P@5: none has a value on any query."
    )


def test_the_headline_says_that_there_is_nothing_to_compare() -> None:
    assert BASE.deciding_measure == ""
    assert choose_headline(ENGLISH, BASE) == "1 engine: nothing to compare."
    two = replace(BASE, engines=dict.fromkeys("ab", next(iter(BASE.engines.values()))))
    assert choose_headline(ENGLISH, two) == "2 engines, and no measure that can compare engines."
    assert BASE.main_measure == "P@5"


def test_engines_stand_by_their_means_then_names_and_those_without_last() -> None:
    assert summarise_scores([[NAN], [0.2], [0.5], [0.2], [0.0]]).sort_engines("P@5") == list("cbdea")
    assert summarise_scores([[0.3], [0.1 + 0.2]]).sort_engines("P@5") == ["a", "b"]  # equal but for rounding
    numbered = ("engine-28", "engine-29", "engine-3")
    equal = summarise_scores([[0.5, 0.1]] * 3, engines=numbered)
    pairs = [{numbered[0], numbered[2]}, {numbered[1], numbered[2]}, {numbered[0], numbered[1]}]
    assert [{row.a, row.b} for row in equal.comparisons] == pairs


@check_each(
    ("means", "expected"),
    [
        ({"a": 0.2, "b": 0.5, "c": None}, "b > a"),
        ({"b": 0.5, "a": 0.5 + 1e-16, "c": 0.4}, "a = b > c"),
        ({"a": 0.5, "b": 0.5 + 1e-15, "c": 0.4}, "a = b > c"),
        ({"a": 0.5 + 1e-10, "b": 0.5}, "a = b"),
        ({"a": 0.5, "b": 0.5 + 1e-10}, "a = b"),
        ({"a": 0.5, "b": 0.4, "c": 0.4, "d": 0.1}, "a > b = c > 1 more"),
        ({"b10": 0.5, "b9": 0.5 - 1e-15, "a": 0.4}, "b9 = b10 > a"),
        ({"a": None}, ""),
    ],
)
def test_an_order_says_who_is_tied_whatever_rounding_makes_of_it(
    means: Mapping[str, float | None], expected: str
) -> None:
    assert rank_means(ENGLISH, means, 3) == expected


@pytest.mark.parametrize("t", [ENGLISH, CHINESE])
def test_intervals_over_few_queries_are_called_approximate_with_one_engine_as_well(t: Translator) -> None:
    def describe(n: int, engines: int) -> str:
        mean = make_mean(0.5, n, ci95=(0.4, 0.6) if n > 1 else None)
        means = {engine: {"P@5": mean} for engine in "ab"[:engines]}
        return warn_few_queries(t, make_summary(means, *[make_comparison(n=n)] * (engines - 1)))

    assert [describe(n, engines) for n in (10, 300) for engines in (1, 2)] == [""] * 4
    assert describe(1, 1) == ""
    assert "10" in describe(9, 1)
    assert describe(9, 1) == describe(9, 2)
    # An engine that failed on every query shares none with the others.
    means = {engine: {"P@5": make_mean(0.5, 50)} for engine in "abc"}
    pairs = make_comparison(n=50), make_comparison(b="c", n=0)
    assert warn_few_queries(t, make_summary(means, *pairs)) == ""
    # One pair of two shares few queries, although the run has many.
    pairs = make_comparison(n=50), make_comparison(b="c", n=9)
    assert warn_few_queries(t, make_summary(means, *pairs)) == t(
        "Intervals over fewer than {few} queries are approximate and show only large differences.", few=10
    )


def test_planning_says_what_so_many_and_twice_as_many_queries_can_show() -> None:
    """The middle pair of three stands for all."""
    pairs = [
        make_comparison(n=50, detectable=each, detectable_doubled=each / 2**0.5) for each in (0.08, 0.1, 0.3)
    ]
    result = replace(BASE, comparisons=(*pairs, make_comparison(n=4, detectable=None)))
    assert describe_power(ENGLISH, result) == (
        "With 50 queries that two engines share, a test detects a true difference of about 0.1 between"
        " them in 4 of 5 cases; with 100 queries, one of about 0.071 (medians over the pairs of engines,"
        " by P@5)."
    )
    assert describe_power(CHINESE, result) == (
        "两个引擎共有的 50 条查询能以 80% 的概率检出约 0.1 的真实差异；100 条查询能检出约 0.071 的差异"
        "（按 P@5，查询数和差异均取各引擎对的中位数）。"
    )
    small = make_comparison(n=1000, detectable=0.016, detectable_doubled=0.0113)
    sentence = describe_power(ENGLISH, replace(BASE, comparisons=(small,)))
    assert "about 0.016 by P@5 between" in sentence
    assert "one of about 0.011." in sentence
    two_engines = replace(BASE, comparisons=tuple(pairs[1:2]))
    assert describe_power(ENGLISH, two_engines) == (
        "With 50 queries that the two engines share, a test detects a true difference of about 0.1 by P@5"
        " between them in 4 of 5 cases; with 100 queries, one of about 0.071."
    )
    assert describe_power(CHINESE, two_engines) == (
        "两个引擎共有的 50 条查询能以 80% 的概率检出约 0.1 的真实差异（按 P@5）；100 条查询能检出约 0.071"
        " 的差异。"
    )
    assert describe_power(ENGLISH, BASE) == describe_power(CHINESE, BASE) == ""
    # Each at 28 queries: 0.2, 0.1 and 0.3, by the square root of their numbers of queries.
    unequal = [
        make_comparison(n=n, detectable=at_28 * sqrt(28 / n), detectable_doubled=at_28 * sqrt(14 / n))
        for n, at_28 in ((28, 0.2), (29, 0.1), (27, 0.3))
    ]
    text = describe_power(ENGLISH, replace(BASE, comparisons=tuple(unequal)))
    assert text.startswith(
        "With 28 queries that two engines share, a test detects a true difference of about 0.2 "
    )
    assert "; with 56 queries, one of about 0.14 " in text


def test_runs_without_a_common_value_are_not_called_equal() -> None:
    apart = replace(make_comparison(n=0, difference=None, ci95=None), outcome="undetermined")
    engines = dict.fromkeys(("A (one)", "A (two)"), BASE.engines["A"])
    result = replace(BASE, engines=engines, comparisons=(apart,), runs=("runs/one", "runs/two"))
    assert choose_headline(ENGLISH, result) == (
        "The runs cannot be compared by P@5: no engine has a value on the same query in both."
    )


def test_a_dataset_without_equal_results_saves_nothing() -> None:
    size = "1 query, 1 engine; 1 result, 1 pair to judge"
    assert facts.describe_dataset(ENGLISH, replace(BASE, dedup_saving=0.004)) == size
    assert facts.describe_dataset(ENGLISH, replace(BASE, dedup_saving=0.25)) == (
        f"{size} (25% fewer: equal results are one pair)"
    )


def test_what_another_measure_says_is_called_descriptive() -> None:
    values = np.stack([np.array([CLEAR, POOR]), np.array([POOR, CLEAR])], axis=-1)[:, :, None]
    result = summarise_scores(values, measures="P@5 P@10")
    assert choose_headline(ENGLISH, result) == "a is best by P@5: its lead is statistically significant."
    assert choose_headline(ENGLISH, result, "P@10") == (
        "b is best by P@10 (descriptive: P@5 decides): its lead is statistically significant."
    )
    assert "（仅供参考，以 P@5 为准）" in choose_headline(CHINESE, result, "P@10")
    assert " by P@10 " in describe_power(ENGLISH, result, "P@10")


def test_comparisons_stand_below_what_their_figures_are() -> None:
    three = summarise_scores([CLEAR, POOR, POOR]).comparisons
    english, chinese = ([*iter_differences(t, three, 2)] for t in (ENGLISH, CHINESE))
    assert english[0] == "On the shared queries; the 95% intervals hold for all pairs together:"
    assert chinese[0] == "以下差异只计双方都有得分的查询；95% 置信区间对所有引擎对同时成立："
    assert english[1:] == [f"  {describe_difference(ENGLISH, pair)}" for pair in three[:2]]
    (header, _) = iter_differences(ENGLISH, three[:1], 2)
    assert header == "On the shared queries:"
    assert [*iter_differences(ENGLISH, (), 2)] == []


def test_why_one_pair_has_a_number_of_queries_and_another_has_none_is_said_once() -> None:
    even = [0.5, 0.6] * 30
    far = make_comparison(b="c", outcome="not separated", winner=None, at_least_queries=None)
    pairs = compare_two(even, even[1:] + even[:1]), far
    *_, first, second, why = iter_differences(ENGLISH, pairs, 2)
    assert "a test needs 120 or more queries" in first
    assert "not separated; " in second
    assert why == (
        "Where a pair that is not separated has no number of queries, this run has enough of them to detect"
        " the largest difference in its interval; a smaller difference needs more queries."
    )
    for alike in (pairs[:1], pairs[1:], (far, far)):
        assert [*iter_differences(ENGLISH, alike, 2)][-1] == f"  {describe_difference(ENGLISH, alike[-1])}"


def test_what_unjudged_snippets_leave_open_stands_beside_the_difference() -> None:
    b = [0.1, 0.2, 0.3, 0.4] * 5
    a = [value + step for value, step in zip(b, [0.25, 0.35] * 10, strict=True)]
    (row,) = summarise_scores([a, b], lowest=[[each - 0.1 for each in a], b], highest=[a, b]).comparisons
    assert (
        "; with any grades of the unjudged 0.2000 to 0.3000, robust to any grades; "
        in describe_difference(ENGLISH, row)
    )
    assert "；未评定的摘要取任意等级时为 0.2000 到 0.3000，任何等级都不会改变结论；" in describe_difference(
        CHINESE, row
    )
    (row,) = summarise_scores([a, b], lowest=[[each - 0.29 for each in a], b], highest=[a, b]).comparisons
    assert "; with any grades of the unjudged 0.0100 to 0.3000; " in describe_difference(ENGLISH, row)
    # The side of 0 decides.
    lowest = [each - 0.29998 for each in a]
    (row,) = summarise_scores([a, b], lowest=[lowest, b], highest=[a, b]).comparisons
    assert row.winner == "a"
    assert "; with any grades of the unjudged 0.0001 to 0.3000; " in describe_difference(ENGLISH, row)
    (row,) = summarise_scores([a, b]).comparisons
    assert "unjudged" not in describe_difference(ENGLISH, row)


def make_segmented_summary(
    comparisons: Mapping[str, PairComparison], contrasts: Sequence[SegmentContrast] = ()
) -> Summary:
    segments = {name: SegmentResult(30, {}, (pair,), tuple(contrasts)) for name, pair in comparisons.items()}
    return replace(summarise_scores([CLEAR, POOR]), segments={"topic": segments})


def test_a_segment_that_the_other_engine_wins_stands_under_the_headline() -> None:
    pair = make_comparison(a="b", b="a", winner="b", difference=0.1, ci95=(0.02, 0.18))
    result = make_segmented_summary({"law": pair, "news": replace(pair, a="a", b="b", winner="a")})
    assert list(describe_segment_differences(ENGLISH, result)) == [
        "But in topic law (30 queries) b is ahead of a: +0.1000 (95%: 0.0200 to 0.1800)."
    ]
    assert list(describe_segment_differences(CHINESE, result)) == [
        "但在 topic 为 law 的 30 条查询中，b 领先 a：+0.1000（95% 置信区间 0.0200 到 0.1800）。"
    ]


def test_a_lead_that_differs_between_segments_stands_under_the_headline() -> None:
    contrast = SegmentContrast("a", "b", 0.3, 0.1, 0.2, (0.1, 0.3), 0.01, differs=True)
    result = make_segmented_summary(
        {"law": make_comparison(a="a", b="b")}, [contrast, replace(contrast, differs=False)]
    )
    (text,) = describe_segment_differences(ENGLISH, result)
    assert text == (
        "a - b differs between segments: +0.3000 in topic law, +0.1000 on the other queries; difference"
        " +0.2000 (95%: 0.1000 to 0.3000)."
    )
    assert len(list(describe_segment_differences(CHINESE, result))) == 1


# --- repeats


def estimate(
    value: float | None, low: float = 0.0, high: float = 0.0, why: str | None = None
) -> StatisticValue:
    return StatisticValue(value, None if value is None else (low, high), why)


def make_repeats(measure: Mapping[str, Any] = MappingProxyType({}), **changes: Any) -> RepeatStability:
    """Three repeats that agree."""
    agree = MeasureStability({}, 0.002, 1.0, None, 0.0001, equivalent=True)
    rate = estimate(0.021, 0.01, 0.032)
    stability = RepeatStability(
        repeats=3, pairs=1200, flip_rate=rate, grade_change_rate=rate,
        ever_flipped=estimate(0.03, 0.02, 0.04), alpha=estimate(0.91, 0.88, 0.93), fleiss_kappa=None,
        margin=0.01, measures={"P@5": replace(agree, **measure)},
    )  # fmt: skip
    return replace(stability, **changes)


def test_repeats_that_agree_are_said_to_in_four_lines() -> None:
    verdicts, grades, means, orders = describe_repeats(ENGLISH, make_repeats(), "P@5")
    assert "2.1% of the verdicts (relevant or not) change (95%: 1.0% to 3.2%)" in verdicts
    assert "3.0% of 1,200 pairs changed at least once in 3 repeats" in verdicts
    assert "repeats: almost perfect, alpha 0.910 (95%: 0.880 to 0.930)" in grades
    assert "differ by up to 0.0020" in means
    assert "within ±0.01 for every engine (equivalence test, p 0.0001)" in means
    assert orders == "the order of the engines is the same in every repeat"
    by_ap = replace(make_repeats(), measures={"AP@5": make_repeats().measures["P@5"]})
    assert list(describe_repeats(ENGLISH, by_ap, "AP@5"))[2].startswith("MAP@5: the repeats' means")


def test_a_difference_on_one_query_is_by_ap_and_not_by_its_mean() -> None:
    deciding = DecidingQueries("AP@5", "a", "b", 2, (DecidingQuery("q1", 0.5, 0.25, "text"),))
    text = name_deciding_queries(ENGLISH, replace(BASE, deciding_queries=deciding), Path("run"))
    assert text.startswith("a and b differ most on 'text' (+0.5000) by AP@5. ")


@check_each(
    ("alpha", "expected"),
    [
        (0.81, "almost perfect"), (0.8, "substantial"), (0.61, "substantial"), (0.6, "moderate"),
        (0.21, "fair"), (0.2, "slight"), (-0.1, "no better than chance"),
    ],
)  # fmt: skip
def test_words_for_alpha(alpha: float, expected: str) -> None:
    grades = list(describe_repeats(ENGLISH, make_repeats(alpha=estimate(alpha, alpha, alpha)), "P@5"))[1]
    assert f"repeats: {expected}, alpha" in grades


def test_repeats_that_differ_are_said_to() -> None:
    measure = {"equivalent": False, "largest_difference": 0.2, "tost_p": 0.4, "smallest_tau": 0.333}
    *_, means, orders = describe_repeats(ENGLISH, make_repeats(measure=measure), "P@5")
    assert "not shown that they stay within ±0.01 (equivalence test, p 0.4000)" in means
    assert orders == "the order of the engines changes between repeats (smallest tau 0.333)"


def test_what_can_not_be_said_of_repeats_says_why() -> None:
    measure = {"equivalent": None, "largest_difference": None, "tost_p": None, "smallest_tau": None}
    nothing = estimate(None, why="no pair was judged twice")
    text = list(describe_repeats(ENGLISH, make_repeats(flip_rate=nothing, measure=measure), "P@5"))
    assert text == [
        "stability is unknown: no pair was judged twice",
        "P@5: too few queries to decide whether the means of the repeats are the same",
    ]
    same = list(
        describe_repeats(ENGLISH, make_repeats(alpha=estimate(None, why="all grades are the same")), "P@5")
    )
    assert same[1] == "the repeats agree, but alpha is undefined: all grades are the same"


# --- own lists


@pytest.mark.parametrize("sure", [True, False])
def test_own_lists_are_explained_with_both_names(sure: bool) -> None:
    reversal = OwnListReversal(
        "nDCG@5", "nDCG(own)@5", "A", "B", (0.852, 0.28), (0.876, 1.0), (4.5, 1.0), 20, significant=sure
    )
    text = explain_reversal(ENGLISH, reversal)
    assert "B comes first (nDCG(own)@5: B 1.000, A 0.876, on 20 queries with a value of both)" in text
    end = "." if sure else " (which may be chance)."
    assert f"(nDCG@5), A is ahead, 0.852 to 0.280{end}" in text
    assert "A shows 4.5 relevant results a query and B 1.0; measured against what all" in text


# --- numbers


@check_each(
    ("count", "expected"),
    [(0, "0"), (1, "1"), (9, "9"), (10, "10"), (99, "99"), (123, "120"), (995, "1,000"), (12_345, "12,000")],
)
def test_only_two_digits_of_a_count_mean_anything(count: int, expected: str) -> None:
    assert round_count(count) == expected


def test_the_shares_of_what_values_vary_with_are_of_their_sum() -> None:
    text = describe_variance(ENGLISH, VarianceComponents(0.03, 0.01, 0.01, 0.0))
    assert "60%" in text
    assert text.count("20%") == 2
    assert "2 queries, 2 engines and 2 repeats" in describe_variance(ENGLISH, None)
    none = VarianceComponents(0.0, 0.0, 0.0, 0.0)
    assert describe_variance(ENGLISH, none) == (
        "the values do not vary: every engine has the same value on every query"
    )


# --- queries without a value


def test_why_a_query_has_no_value_is_told_by_measure_and_scale() -> None:
    graded = summarise_run(
        make_run({"A": {"q": ["text"]}}, {("q", "text"): 1}, measures="nDCG@5 AP@5", depth=5)
    )
    assert list(run_warnings.describe_undefined(ENGLISH, graded)) == [
        "MAP@5 leaves out 1 of 1 query: no relevant snippet in the pool."
    ]
    nothing = summarise_run(
        make_run({"A": {"q": ["text"]}}, {("q", "text"): 0}, measures="nDCG@5 AP@5", depth=5)
    )
    assert list(run_warnings.describe_undefined(ENGLISH, nothing)) == [
        "nDCG@5 leaves out 1 of 1 query: no snippet in the pool has a grade above 0.",
        "MAP@5 leaves out 1 of 1 query: no relevant snippet in the pool.",
    ]
    by_grade_1 = replace(nothing, relevant_from=1)
    reasons = {text.partition(": ")[2] for text in run_warnings.describe_undefined(ENGLISH, by_grade_1)}
    assert reasons == {"no relevant snippet in the pool."}


def test_a_mean_that_unjudged_snippets_leave_unknown_has_its_reason_once() -> None:
    run = make_run(
        {"A": {"q": ["one", "two"]}},
        {("q", "one"): 0, ("q", "two"): None},
        measures="P@5 nDCG@5 AP@5",
        depth=5,
    )
    summary = summarise_run(run)
    assert [mean.mean for mean in summary.engines["A"].measures.values()] == [0.0, None, None]
    reason = (
        "nDCG@5 and MAP@5: queries left out until more is judged (no snippet of the query is judged, none of"
        " the engine on any query, or none judged in the pool is relevant): A 1"
    )
    assert list(run_warnings.describe_left_out(ENGLISH, summary)) == [reason]
    for texts in (
        run_warnings.iter_page_warnings(ENGLISH, summary),
        iter_comparison_parts(summary, Path("run"), None, 9),
    ):
        assert [*texts].count(reason) == 1


def test_a_measure_of_lists_says_that_each_engine_leaves_out_queries_of_its_own() -> None:
    grades = {("q1", "text"): 1, ("q2", "text"): 1}
    run = make_run({"A": {"q1": ["text"], "q2": ["text"]}}, grades, measures="Judged@5", depth=5)
    summary = summarise_run(run)
    summary = replace(summary, undefined={"Judged@5": 1})
    assert list(run_warnings.describe_undefined(ENGLISH, summary)) == [
        "Judged@5 leaves out 1 of 2 queries or fewer for each engine: its list has no result."
    ]


@check_each(
    ("uncounted", "maybe_billed", "english", "chinese"),
    [
        (0, 0, "", ""),
        (
            0,
            1,
            "; 1 call without an answer may be billed; it may not have been sent",
            "；最多 1 次没有答复的调用可能已计费，其中有的可能并未发送",
        ),
        (
            2,
            1200,
            "; 2 calls came back without a token count; up to 1,200 calls without an answer may be billed;"
            " some of them may not have been sent",
            "；2 次调用没有返回 token 数；最多 1,200 次没有答复的调用可能已计费，其中有的可能并未发送",
        ),
    ],
)
def test_calls_without_an_answer_are_a_bound(
    uncounted: int, maybe_billed: int, english: str, chinese: str
) -> None:
    """A process that was killed may have sent fewer requests than it had leases."""
    cost = RunCost(1300, 10, 0, 5, 0.1, uncounted, maybe_billed, None)
    assert facts.describe_unclear_calls(ENGLISH, cost) == english
    assert facts.describe_unclear_calls(CHINESE, cost) == chinese


@check_each(
    ("ci95", "interval"),
    [
        ((-0.125, 0.5), " (95%: -0.1250 to 0.5000)"),
        ((-0.5, 0.5), " (95%: -0.5000 to 0.5000)"),
        ((-1.0, 1.0), ""),
        ((-4.5, 4.5), ""),
        ((-1.0, 1.5), " (95%: -1.0000 to 1.5000)"),
        (None, ""),
    ],
)
def test_an_interval_of_a_difference_that_is_the_whole_range_is_not_shown(
    ci95: tuple[float, float] | None, interval: str
) -> None:
    sentence = describe_difference(ENGLISH, make_comparison(ci95=ci95))
    assert f"; +0.2500{interval}; ahead on 5 of 9 queries" in sentence


def test_an_interval_of_grades_is_shown_also_where_it_is_as_far_on_both_sides() -> None:
    assert format_interval(ENGLISH, (-1.2, 1.2), "z.4f") == " (95%: -1.2000 to 1.2000)"
