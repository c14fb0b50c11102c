"""A panel takes the middle grade and loses no verdict; which models answered, and what each graded."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median_high, median_low

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.flags import PANEL_SHORT, PANEL_SPLIT, PANEL_TIE
from judge.measure.columns import ResultColumns, tabulate_judgments
from judge.measure.grading_models import (
    MIXED,
    UNNAMED,
    ServedModelGrades,
    combine_members,
    count_served_models,
    find_grading_models,
    measure_panel_agreement,
    take_median,
)
from judge.measure.measures import parse_measures
from judge.measure.score import Scores, score_rankings
from judge.records import BINARY, GRADED, Judgment, Ranking, Snippet
from tests.support.cases import check_each
from tests.unit.measure.judged_dataset import JudgedDataset, make_judgment


def make_judgments(member: str, grades: Sequence[int | None], repeat: int = 1) -> list[Judgment]:
    """One judgment for each grade, of snippets s0, s1 and so on."""
    return [
        Judgment(
            query_id="q", snippet_id=f"s{place}", repeat=repeat, grade=grade,
            reason="" if grade is None else f"{member} says {grade}",
            error=None if grade is not None else "malformed",
            assessor=member, prompt_version="en", params={"temperature": 0}, reply="", usage=None,
        )
        for place, grade in enumerate(grades)
    ]  # fmt: skip


def make_members(*members: Sequence[int | None]) -> dict[str, list[Judgment]]:
    """Members a, b, c, … with their grades."""
    return {name: make_judgments(name, grades) for name, grades in zip("abcdefg", members, strict=False)}


@check_each(
    ("grades", "low", "high", "flags"),
    [
        ((1, 1), 1, 1, ()),
        ((0, 1), 0, 1, (PANEL_SPLIT, PANEL_TIE)),
        ((0, 1, 1), 1, 1, (PANEL_SPLIT,)),
        ((3, 0), 0, 3, (PANEL_SPLIT, PANEL_TIE)),
        ((0, 1, 2, 3), 1, 2, (PANEL_SPLIT, PANEL_TIE)),
        ((2, None), 2, 2, (PANEL_SHORT,)),
        ((0, None, 3), 0, 3, (PANEL_SPLIT, PANEL_TIE, PANEL_SHORT)),
        ((2, None, None), None, None, ()),
        ((None, None), None, None, ()),
    ],
)
def test_the_middle_grade_counts(
    grades: tuple[int | None, ...], low: int | None, high: int | None, flags: tuple[str, ...]
) -> None:
    members = make_members(*[(grade,) for grade in grades])
    (lower,), (higher,) = take_median(members), take_median(members, high=True)
    assert (lower.grade, higher.grade, lower.flags) == (low, high, flags)
    assert lower.error == (None if low is not None else "no_quorum")
    assert lower.assessor == f"panel({', '.join(members)})"
    speaker = next((name for name, grade in zip("abc", grades, strict=False) if grade == low), None)
    assert lower.reason == ("" if low is None else f"{speaker} says {low}")


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_ties_are_between_the_two_middles_and_order_does_not_matter(grades: list[int]) -> None:
    members = make_members(*[(grade,) for grade in grades])
    turned = dict(reversed(members.items()))
    (lower,), (higher,) = take_median(members), take_median(members, high=True)
    assert (lower.grade, higher.grade) == (median_low(grades), median_high(grades))
    assert (PANEL_TIE in lower.flags) == (lower.grade != higher.grade)
    assert take_median(turned)[0].grade == lower.grade


def test_what_a_rule_decided_is_no_vote() -> None:
    by_rule = make_judgments("rule:empty_snippet", [0])
    (voted,) = take_median({"a": by_rule, "b": by_rule})
    assert voted == by_rule[0]


def test_one_member_is_no_panel() -> None:
    own = make_judgments("a", [1, 2])
    assert combine_members({"a": own}) == ("a", own, {})
    called, voted, members = combine_members(make_members([1], [1]))
    assert called == "panel(a, b)"
    assert len(voted) == 1
    assert list(members) == ["a", "b"]


def test_how_members_get_on() -> None:
    """Two engines of three snippets; a and b agree on 4 of 6, kappa by hand."""
    snippets = [Snippet(f"s{n}", f"text {n}") for n in range(6)]
    rankings = (
        Ranking("x", "q", tuple(snippets[:3]), documents=("d0", "d1", "d2")),
        Ranking("y", "q", tuple(snippets[3:]), documents=("d3", "d4", "d5")),
    )
    measures = parse_measures(["P@3"])

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_rankings(rankings, judgments, measures, BINARY, depth=3)

    members = make_members([1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0])
    result = measure_panel_agreement(members, BINARY, rescore)
    (two,) = result.pairs
    assert two.n == 6
    assert two.same == pytest.approx(4 / 6)
    # Both say yes to half: by chance they would agree on half, so kappa is (4/6 - 1/2) / (1 - 1/2).
    assert two.kappa == pytest.approx(1 / 3)
    assert (result.judged, result.split, result.ties, result.deciding_ties) == (6, 2, 2, 2)
    assert result.ties_high == {"P@3": {"x": pytest.approx(2 / 3), "y": pytest.approx(2 / 3)}}
    assert [(m.judged, m.failed, m.relevant, m.mean_grade) for m in result.members] == [(6, 0, 0.5, 0.5)] * 2
    assert result.agreement is not None
    means = {name: row.means for name, row in result.agreement.measures["P@3"].engines.items()}
    assert means["x"] == pytest.approx((2 / 3, 1 / 3))
    assert means["y"] == pytest.approx((1 / 3, 2 / 3))


def test_a_graded_tie_decides_only_across_the_line() -> None:
    snippets = [Snippet(f"s{n}", f"text {n}") for n in range(2)]
    rankings = (Ranking("x", "q", tuple(snippets), documents=("d0", "d1")),)

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_rankings(rankings, judgments, parse_measures(["P@2"]), GRADED, depth=2)

    result = measure_panel_agreement(make_members([0, 1], [1, 3]), GRADED, rescore)
    assert (result.ties, result.deciding_ties) == (2, 1)


DATASET = JudgedDataset(
    {"A": {"q1": ["x", "y"], "q2": ["z"], "q3": None}, "B": {"q1": ["y", "x"], "q2": []}}, []
)


def make_judgment_by(
    model: str | None, query: str, name: str, grade: int | None, repeat: int = 1
) -> Judgment:
    return replace(make_judgment(query, name, grade, repeat), served_model=model)


def count_served(results: ResultColumns, judgments: list[Judgment]) -> dict[str, ServedModelGrades]:
    return count_served_models(results, tabulate_judgments(judgments, results), GRADED)


def test_every_name_has_its_judgments_its_grades_and_its_share_of_each_engine() -> None:
    judgments = [
        make_judgment_by("new", "q1", "x", 3),
        make_judgment_by("old", "q1", "y", 1),
        make_judgment_by("old", "q1", "y", 2, repeat=2),
        make_judgment_by("old", "q2", "z", 3),
        make_judgment_by("", "q2", "z", 0, repeat=2),
        make_judgment_by(None, "q1", "x", 0, repeat=2),
        make_judgment_by("failed", "q2", "z", None, repeat=3),
    ]
    result = count_served(DATASET.tabulate(), judgments)
    rows = [
        (model, each.judgments, each.relevant, each.mean_grade, each.engines)
        for model, each in result.items()
    ]
    assert rows == [
        ("old", 3, 2, 2.0, {"A": 3, "B": 2}),
        ("", 1, 0, 0.0, {"A": 1}),
        ("new", 1, 1, 3.0, {"A": 1, "B": 1}),
    ]
    assert count_served(DATASET.tabulate(), judgments[::-1]) == result


def test_results_below_the_depth_count_for_no_engine() -> None:
    results = replace(DATASET, depth=1).tabulate()
    result = count_served(results, [make_judgment_by("m", "q1", "y", 1)])
    assert [each.engines for each in result.values()] == [{"B": 1}]


def test_a_query_belongs_to_the_one_name_that_graded_all_of_it() -> None:
    judgments = [
        make_judgment_by("old", "alone", "x", 0),
        make_judgment_by("old", "alone", "y", 1),
        make_judgment_by("old", "both", "x", 1),
        make_judgment_by("new", "both", "x", 1, repeat=2),
        make_judgment_by("old", "both", "y", 1),
        make_judgment_by("", "quiet", "x", 1),
        make_judgment_by("new", "failing", "x", None),
        make_judgment_by(None, "empty", "x", 0),
    ]
    lists = {"alone": ["x", "y"], "both": ["x", "y"], "quiet": ["x"], "failing": ["x"], "empty": ["x"]}
    results = JudgedDataset({"A": lists}, []).tabulate()
    names = find_grading_models(results, tabulate_judgments(judgments, results))
    assert names == {"alone": "old", "both": MIXED, "quiet": UNNAMED}
