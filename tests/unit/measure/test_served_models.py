"""Which models answered: the means of the grades of each, and the queries that one model graded alone."""

from __future__ import annotations

from dataclasses import replace

from judge.measure.columns import ResultColumns, tabulate_judgments
from judge.measure.panel_agreement import (
    MIXED,
    UNNAMED,
    ServedModelGrades,
    count_served_models,
    find_grading_models,
)
from judge.records import GRADED, Judgment
from tests.unit.measure.judged_dataset import JudgedDataset, make_judgment

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
