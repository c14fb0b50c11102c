"""Engines that may have become worse on a night whose assessor changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from judge.analysis.judged_run import JudgedRun
from judge.config.nightly import NightlyConfig
from judge.flags import LABEL
from judge.measure.measures import parse_measures
from judge.nightly.regression_test import (
    combine_with_baseline,
    find_possible_drops,
    run_regression_test,
    transfer_grades,
)
from judge.records import Judgment
from tests.unit.analysis.test_combined_runs import make_row, run

MEASURES = parse_measures("sDCG@4")
RULES = NightlyConfig()
QUERIES = 12
#: The grades of each list at the baseline; some lists have other ranks, so that queries differ.
LISTS = [[3, 2, 1, 0], [3, 2, 0, 0], [2, 3, 1, 0]]


def judge_lists(lists: Mapping[str, Sequence[Sequence[str]]]) -> JudgedRun:
    """Return a run in which each engine returns these pages, query by query; a page is `NAME/GRADE`."""
    return run(
        make_row(f"q{query}", engine, rank, int(page[-1]), page=f"q{query}/{page}")
        for engine, of_engine in lists.items()
        for query, pages in enumerate(of_engine)
        for rank, page in enumerate(pages, start=1)
    )


def make_lists(engine: str) -> list[list[str]]:
    return [
        [f"{engine}{rank}/{grade}" for rank, grade in enumerate(LISTS[query % 3])] for query in range(QUERIES)
    ]


def list_possible_drops(tonight: JudgedRun, baseline: JudgedRun, moves: Mapping[int, int]) -> list[str]:
    """Return the sentences on a night whose assessor gives the grade `moves[grade]` instead of `grade`."""
    judgments = tuple(
        replace(judgment, grade=None if judgment.grade is None else moves[judgment.grade])
        for judgment in tonight.judgments
    )
    tonight = replace(tonight, judgments=judgments)
    outcomes = run_regression_test(combine_with_baseline(tonight, baseline, MEASURES), (), RULES)
    return [*find_possible_drops(tonight, baseline, outcomes, (), RULES)]


#: An assessor that is one grade more generous, where that is possible, and one that is stricter.
MOVES = {"more generous": {0: 1, 1: 2, 2: 3, 3: 3}, "stricter": {0: 0, 1: 0, 2: 1, 3: 2}}


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES)
def test_only_an_engine_whose_lists_became_worse_is_named(moves: dict[int, int]) -> None:
    alpha, beta = make_lists("a"), make_lists("b")
    baseline = judge_lists({"alpha": alpha, "beta": beta})
    tonight = judge_lists({"alpha": alpha, "beta": [pages[::-1] for pages in beta]})
    assert list_possible_drops(baseline, baseline, moves) == []
    (text,) = list_possible_drops(tonight, baseline, moves)
    assert text.startswith("possible: beta became worse: sDCG@4 ")


def test_the_corrected_change_is_that_of_the_lists_with_the_grades_of_tonight() -> None:
    """With discounts 1, .630930, .5, .430677 and gains of 3, their sum is 2.561606, times 3 is 7.684819.

    The list 3 2 1 0 has 4.761860 at the baseline; more generous, 3 3 2 1 has 6.323466, and 1 2 3 3 has
    5.053890: changes of .203206 by the grades, .038004 in all, so -.165202 by the list.
    """
    pages = [f"{rank}/{grade}" for rank, grade in enumerate(LISTS[0])]
    # Two queries that stay the same, so that the differences vary.
    baseline = judge_lists({"beta": [pages] * QUERIES})
    tonight = judge_lists({"beta": [pages[::-1]] * (QUERIES - 2) + [pages] * 2})
    (text,) = list_possible_drops(tonight, baseline, MOVES["more generous"])
    # (10 * .038004 + 2 * .203206) / 12, and 10 / 12 of -.165202.
    assert "sDCG@4 +0.066, corrected -0.138 (other grades of the same pairs alone change it by +0.203" in text


def test_an_engine_of_another_name_is_not_compared() -> None:
    lists = make_lists("a")
    baseline, tonight = judge_lists({"alpha": lists}), judge_lists({"beta": [each[::-1] for each in lists]})
    assert list_possible_drops(tonight, baseline, MOVES["stricter"]) == []


@pytest.mark.parametrize(("grade", "names"), [(2, []), (0, ["beta"])])
def test_a_result_that_is_new_is_compared_with_the_likely_grade_of_the_lost_one(
    grade: int, names: list[str]
) -> None:
    """The result at rank 1 or 2 with grade 2 is another one tonight, with the same or with a lower grade."""
    alpha, beta = make_lists("a"), make_lists("b")
    baseline = judge_lists({"alpha": alpha, "beta": beta})
    replaced = [[page if page[-1] != "2" else f"new/{grade}" for page in pages] for pages in beta]
    tonight = judge_lists({"alpha": alpha, "beta": replaced})
    texts = list_possible_drops(tonight, baseline, MOVES["stricter"])
    assert [text.split()[1] for text in texts] == names


def make_judgment(snippet: str, grade: int | None, flags: tuple[str, ...] = ()) -> Judgment:
    error = "timeout" if grade is None else None
    return Judgment("q", snippet, 1, grade, "", error, "a", "graded 1", {}, "", None, flags)


def test_pairs_get_the_grades_of_tonight_and_others_those_of_pairs_like_them() -> None:
    before = [make_judgment(name, 1) for name in ("a", "b", "c", "d", "e", "f")]
    labelled, other = make_judgment("g", 1, (LABEL,)), make_judgment("h", 3)
    now = [make_judgment("a", 2), make_judgment("b", 1), make_judgment("c", None)]
    regraded = transfer_grades([*before, labelled, other], now)
    # Two of three are not known to change: the label, and the grade 3, which no pair of both nights has.
    assert [judgment.grade for judgment in regraded] == [2, 1, None, 2, 1, 2, 1, 3]
    assert transfer_grades(before, [make_judgment("x", 2)]) == []
