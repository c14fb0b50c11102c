"""The ideal order: nothing in the pool can be ordered to score more."""

from itertools import permutations

import numpy as np
import pytest

from judge.measure.columns import tabulate_judgments
from judge.measure.measures import parse_measures
from judge.measure.score import score_ideal_order
from tests.support.cases import check_each
from tests.unit.measure.judged_dataset import JudgedDataset, make_one_list, make_side_by_side

MEASURES = "nDCG@3 nDCG(dcg='exp-log2')@5 AP@5 P@2 RR@5 sDCG@3 DCG@4 RBP@5 ERR@5 R@3"


def compute_ideals(dataset: JudgedDataset) -> dict[str, list[float]]:
    results = dataset.tabulate()
    judgments = tabulate_judgments(dataset.make_judgments(), results)
    values = score_ideal_order(results, judgments, parse_measures(dataset.measures), dataset.scale)
    return {name: each.tolist() for name, each in values.items()}


@check_each("grades", [[0, 1, 2, 3, 2], [3, 0, 0, 0, 2], [1, 1, 2, 0, 0]])
def test_no_order_of_the_pool_scores_more(grades: list[int]) -> None:
    best: dict[str, float] = {}
    for order in permutations(grades):
        for score in make_one_list(order, MEASURES, depth=5).iter_scores():
            assert score.value is not None
            best[score.measure] = max(best.get(score.measure, 0.0), score.value)
    result = compute_ideals(make_side_by_side({"a": grades[:2], "b": grades[2:]}, MEASURES, depth=5))
    assert result == {name: [pytest.approx(value)] for name, value in best.items()}
    assert result["nDCG@3"] == [1.0]


def test_what_has_no_grade_is_left_out_and_measures_of_one_list_are_not_scored() -> None:
    dataset = make_side_by_side({"a": [None, 2], "b": [0]}, "nDCG@5 P@5 AP(own)@5 SetP Judged@5")
    assert compute_ideals(dataset) == {"nDCG@5": [1.0], "P@5": [1 / 5]}


def test_a_query_is_unknown_where_every_engine_failed_and_undefined_where_nothing_is_relevant() -> None:
    dataset = JudgedDataset(
        {"a": {"p": None, "q": ["x"], "r": []}, "b": {"p": None, "q": ["x"], "r": []}},
        [{("q", "x"): 0}],
        measures="nDCG@5 P@5",
    )
    assert np.isnan(compute_ideals(dataset)["nDCG@5"]).tolist() == [True, True, True]
    assert compute_ideals(dataset)["P@5"] == [pytest.approx(np.nan, nan_ok=True), 0.0, 0.0]


def test_a_query_without_any_grade_is_unknown() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["x"], "r": ["y"]}, "b": {"q": ["x"], "r": ["y"]}},
        [{("q", "x"): 3}, {("q", "x"): 3, ("r", "y"): 3}],
        measures="P@1",
    )
    assert compute_ideals(dataset) == {"P@1": [1.0, 1.0]}
    dataset = JudgedDataset({"a": {"q": ["x"], "r": ["y"]}}, [{("q", "x"): 3}], measures="P@1")
    assert compute_ideals(dataset) == {"P@1": [1.0, pytest.approx(np.nan, nan_ok=True)]}


def test_repeats_are_averaged() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["x", "y"]}},
        [{("q", "x"): 3, ("q", "y"): 0}, {("q", "x"): 3, ("q", "y"): 3}],
        measures="P@2",
    )
    assert compute_ideals(dataset) == {"P@2": [0.75]}
