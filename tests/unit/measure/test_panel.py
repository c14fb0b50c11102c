"""A panel takes the middle grade, says where it is a tie, and loses no member's verdict."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_high, median_low

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.measures import parse_measures
from judge.measure.panel_agreement import (
    PANEL_SHORT,
    PANEL_SPLIT,
    PANEL_TIE,
    combine_members,
    measure_panel_agreement,
    take_majority,
)
from judge.measure.score import Scores, score_rankings
from judge.records import BINARY, GRADED, Judgment, Ranking, Snippet
from tests.support.cases import check_each


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
    (lower,), (higher,) = take_majority(members), take_majority(members, high=True)
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
    (lower,), (higher,) = take_majority(members), take_majority(members, high=True)
    assert (lower.grade, higher.grade) == (median_low(grades), median_high(grades))
    assert (PANEL_TIE in lower.flags) == (lower.grade != higher.grade)
    assert take_majority(turned)[0].grade == lower.grade


def test_what_a_rule_decided_is_no_vote() -> None:
    by_rule = make_judgments("rule:empty_snippet", [0])
    (voted,) = take_majority({"a": by_rule, "b": by_rule})
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
    snippets = [Snippet(f"s{n}", f"text {n}", "", "", "", "", "") for n in range(6)]
    rankings = (Ranking("x", "q", tuple(snippets[:3])), Ranking("y", "q", tuple(snippets[3:])))
    documents = {("x", "q"): ("d0", "d1", "d2"), ("y", "q"): ("d3", "d4", "d5")}
    measures = parse_measures(["P@3"])

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_rankings(rankings, documents, judgments, measures, BINARY, depth=3)

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
    snippets = [Snippet(f"s{n}", f"text {n}", "", "", "", "", "") for n in range(2)]
    rankings, documents = (Ranking("x", "q", tuple(snippets)),), {("x", "q"): ("d0", "d1")}

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_rankings(rankings, documents, judgments, parse_measures(["P@2"]), GRADED, depth=2)

    result = measure_panel_agreement(make_members([0, 1], [1, 3]), GRADED, rescore)
    assert (result.ties, result.deciding_ties) == (2, 1)
