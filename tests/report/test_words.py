"""How findings are said: who is named, and that nobody is who shouldn't be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from judge.measure.compare import Comparison, compare
from judge.measure.summary import summarise
from judge.report import findings, words, words_zh
from tests.measure.tables import NAN, tabled

CLEAR = [0.9, 0.8, 0.85, 0.9, 0.7, 0.8, 0.9, 0.75]


def summary(value: Sequence[Sequence[float]], **options: Any) -> Mapping[str, Any]:
    """What summary.json holds of comparisons and means by P@5."""
    scores = tabled(value, **options)
    means = {
        each.engine: {"measures": {"P@5": {"mean": each.measures["P@5"].mean}}} for each in summarise(scores)
    }
    return {"engines": means, "comparisons": [findings.comparison(pair) for pair in compare(scores)]}


def pair(*engines: Sequence[float], **options: Any) -> Comparison:
    (only,) = compare(tabled(engines, **options))
    return only


# --- one pair


def test_a_verdict_names_the_better_engine_or_says_why_not() -> None:
    assert words.verdict(pair(CLEAR, [0.0] * 8)) == "a > b"
    assert words.verdict(pair([0.0] * 8, CLEAR)) == "b > a"
    assert words.verdict(pair([0.9, 0.8], [0.1, 0.2])) == (
        "not separated (about 4 more queries would separate a difference of this size)"
    )
    assert words.verdict(pair(CLEAR, CLEAR)) == "not separated"
    unjudged = pair(CLEAR, [0.0] * 8, low=[[0.0] * 8] * 2, high=[[1.0] * 8] * 2)
    assert words.verdict(unjudged) == "undetermined: unjudged snippets could turn it"
    assert words.verdict(pair([0.5, NAN], [NAN, 0.5])) == (
        "undetermined: there is no query where both have a value"
    )


def test_a_comparison_is_one_sentence() -> None:
    (row,) = summary([CLEAR, [0.0] * 8])["comparisons"]
    said = words.difference(row)
    assert said.startswith("a > b: +0.8250 (95 %: ")
    assert said.endswith("; ahead on 8 of 8 queries, behind on 0")
    (row,) = summary([[0.9, 0.8, 0.1], [0.1, 0.2, 0.3]])["comparisons"]
    said = words.difference(row)
    assert said.startswith("a, b: not separated (about ")
    assert said.endswith("; ahead on 2 of 3 queries, behind on 1")
    (row,) = summary([[0.5, NAN], [NAN, 0.5]])["comparisons"]
    assert words.difference(row) == "a, b: undetermined: there is no query where both have a value"


# --- all of them


def test_the_best_engine_is_named_when_it_beats_every_other() -> None:
    assert words.headline(summary([CLEAR, [0.0] * 8])) == (
        "a is best by P@5: ahead of the other by more than chance explains."
    )
    lower = [[each - 0.3 for each in CLEAR], [0.0] * 8]
    assert words.headline(summary([*lower, CLEAR])) == (
        "c is best by P@5: ahead of each of the 2 others by more than chance explains."
    )


def test_no_engine_is_best_while_one_is_close() -> None:
    assert words.headline(summary([CLEAR, CLEAR[::-1], [0.0] * 8])) == (
        "No engine is best by P@5: a shares the highest mean,"
        " but is not separated from b (the difference may be chance) and is ahead of 1 other."
    )
    many = words.headline(summary([CLEAR] * 7))
    assert many == (
        "No engine is best by P@5: a shares the highest mean,"
        " but is not separated from b, c, d and 3 more (the difference may be chance)."
    )


def test_no_engine_is_best_while_unjudged_snippets_could_make_another_one_so() -> None:
    low, high = [CLEAR, [0.0] * 8], [CLEAR, [1.0] * 8]
    assert words.headline(summary([CLEAR, [0.1] * 8], low=low, high=high)) == (
        "No engine is best by P@5: a has the highest mean, but could lose to b by what is unjudged."
    )


def test_an_engine_that_broke_where_it_is_hard_is_not_called_best() -> None:
    """Over the eight queries that both have b is ahead on each; a's mean is higher over easier ones."""
    easy, hard = [0.9] * 8, [0.1] * 8
    said = words.headline(summary([easy + [NAN] * 8, [0.95] * 8 + hard]))
    assert said == "b is best by P@5: ahead of the other by more than chance explains."


def test_an_engine_with_the_highest_mean_that_is_behind_is_said_to_be() -> None:
    """Both others beat it where it answered, the easy queries, and none beats the other."""
    a = [0.9] * 8 + [NAN] * 8
    b = [0.95] * 8 + [0.1] * 8
    c = [0.95] * 8 + [0.1] * 8
    said = words.headline(summary([a, b, c]))
    assert said == (
        "No engine is best by P@5: a has the highest mean,"
        " but is behind b and c on the queries where both have a value."
    )


def test_engines_that_never_met_are_not_said_to_be_close_or_unjudged() -> None:
    assert words.headline(summary([[0.5, NAN], [NAN, 0.4]])) == (
        "No engine is best by P@5: a has the highest mean, but shares no query with b on which both have a"
        " value."
    )


def test_without_any_value_nobody_has_the_highest_mean() -> None:
    assert words.headline(summary([[NAN], [NAN]])) == (
        "No engine is best by P@5: none has a value on any query."
    )


def test_nothing_to_compare_needs_no_headline() -> None:
    assert words.headline({"engines": {}, "comparisons": []}) == ""
    assert words.deciding({"comparisons": []}) == ""


def test_engines_stand_by_their_means_then_names_and_those_without_last() -> None:
    assert words.standing(summary([[NAN], [0.2], [0.5], [0.2], [0.0]]), "P@5") == list("cbdea")


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ({"a": 0.2, "b": 0.5, "c": None}, "b > a"),
        ({"b": 0.5, "a": 0.5 + 1e-16, "c": 0.4}, "a = b > c"),
        ({"a": 0.5, "b": 0.5 + 1e-15, "c": 0.4}, "a = b > c"),
        ({"a": 0.5, "b": 0.4, "c": 0.4, "d": 0.1}, "a > b = c > 1 more"),
        ({"a": None}, ""),
    ],
)
def test_an_order_says_who_is_tied_whatever_rounding_makes_of_it(
    means: Mapping[str, float | None], said: str
) -> None:
    assert words.ranked(means, 3) == said


@pytest.mark.parametrize("module", [words, words_zh])
def test_ranges_over_few_queries_are_said_to_be_too_narrow_with_one_engine_as_well(module: Any) -> None:
    def said(n: int, engines: int) -> str:
        cell = {"mean": 0.5, "n": n, "ci95": [0.4, 0.6] if n > 1 else None}
        rows = {engine: {"measures": {"P@5": cell}} for engine in "ab"[:engines]}
        met = [{"measure": "P@5", "n": n}] * (engines - 1)
        found: str = module.few({"measures": ["P@5"], "engines": rows, "comparisons": met})
        return found

    assert [said(n, engines) for n in (20, 300) for engines in (1, 2)] == [""] * 4
    assert said(1, 1) == ""
    assert said(19, 1).removesuffix(".").removesuffix("。") == module.NARROW
    assert said(19, 2).startswith(module.NARROW)
    assert len(said(19, 2)) > len(said(19, 1))


# --- repeats


def estimate(value: float | None, low: float = 0.0, high: float = 0.0, why: str = "") -> dict[str, Any]:
    return {"value": value, "ci95": None if value is None else [low, high], "why": why}


def repeats(**changes: Any) -> dict[str, Any]:
    """What summary.json says of three repeats that agree."""
    measure = {"equivalent": True, "largest_difference": 0.002, "tost_p": 0.0001, "smallest_tau": 1.0}
    return {
        "repeats": 3,
        "pairs": 1200,
        "flip_rate": estimate(0.021, 0.01, 0.032),
        "ever_flipped": estimate(0.03, 0.02, 0.04),
        "alpha": estimate(0.91, 0.88, 0.93),
        "margin": 0.01,
        "measures": {"P@5": {**measure, **changes.pop("measure", {})}},
        **changes,
    }


def test_repeats_that_agree_are_said_to_in_four_lines() -> None:
    verdicts, grades, means, orders = words.stability(repeats(), "P@5")
    assert "2.1% of the verdicts (relevant or not) change (95 %: 1.0% to 3.2%)" in verdicts
    assert "3.0% of 1,200 pairs changed at least once in 3 repeats" in verdicts
    assert "agree very well: alpha 0.910 (95 %: 0.8800 to 0.9300)" in grades
    assert "differ by up to 0.0020" in means
    assert "within ±0.01 holds for every engine (equivalence test, p 0.0001)" in means
    assert orders == "the engines stand in the same order in every repeat"


@pytest.mark.parametrize(
    ("alpha", "said"),
    [
        (0.81, "very well"), (0.8, "well"), (0.61, "well"), (0.6, "moderately"), (0.21, "a little"),
        (0.2, "hardly"), (-0.1, "no more than by chance"),
    ],
)  # fmt: skip
def test_words_for_alpha(alpha: float, said: str) -> None:
    grades = list(words.stability(repeats(alpha=estimate(alpha, alpha, alpha)), "P@5"))[1]
    assert f"agree {said}: alpha" in grades


def test_repeats_that_differ_are_said_to() -> None:
    measure = {"equivalent": False, "largest_difference": 0.2, "tost_p": 0.4, "smallest_tau": 0.333}
    *_, means, orders = words.stability(repeats(measure=measure), "P@5")
    assert "within ±0.01 is not shown (equivalence test, p 0.4000)" in means
    assert orders == "the order of the engines changes between repeats (smallest tau 0.333)"


def test_what_can_not_be_said_of_repeats_says_why() -> None:
    measure = {"equivalent": None, "largest_difference": None, "tost_p": None, "smallest_tau": None}
    nothing = estimate(None, why="no pair was judged twice")
    said = list(words.stability(repeats(flip_rate=nothing, measure=measure), "P@5"))
    assert said == [
        "stability is unknown: no pair was judged twice",
        "P@5: too few queries to say whether the repeats' means are the same",
    ]
    same = list(words.stability(repeats(alpha=estimate(None, why="all grades are the same")), "P@5"))
    assert same[1] == "the repeats agree, but alpha says nothing: all grades are the same"


# --- own lists


@pytest.mark.parametrize("sure", [True, False])
def test_own_lists_are_explained_with_both_names(sure: bool) -> None:
    row = {
        "measure": "nDCG@5", "own": "nDCG(own)@5", "better": "A", "worse": "B",
        "pooled": [0.852, 0.28], "alone": [0.876, 1.0], "relevant": [4.5, 1.0], "sure": sure,
    }  # fmt: skip
    said = words.within_lists(row)
    assert "B would come first (nDCG(own)@5: B 1.000, A 0.876)" in said
    end = "." if sure else " (which may be chance)."
    assert f"(nDCG@5), A is ahead, 0.852 to 0.280{end}" in said
    assert "A shows 4.5 relevant results a query and B 1.0; measured against what all" in said


# --- numbers


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (1, "1"), (9, "9"), (10, "10"), (99, "99"), (123, "120"), (995, "1,000"), (12_345, "12,000")],
)
def test_only_two_digits_of_a_count_mean_anything(count: int, said: str) -> None:
    assert words.rounded(count) == said


@pytest.mark.parametrize(("names", "said"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_names_are_listed_as_one_says_them(names: str, said: str) -> None:
    assert words.listed(names) == said


def test_the_shares_of_what_values_vary_with_are_of_their_sum() -> None:
    said = words.variance({"query": 0.03, "engine": 0.01, "query_engine": 0.01, "noise": 0.0})
    assert "60%" in said
    assert said.count("20%") == 2
    assert "2 queries, engines and repeats" in words.variance(None)
    none = dict.fromkeys(("query", "engine", "query_engine", "noise"), 0.0)
    assert words.variance(none) == "the values do not vary: every engine has the same on every query"
