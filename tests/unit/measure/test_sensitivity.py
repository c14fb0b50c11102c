"""The effect of flagged snippets: small datasets whose means are worked by hand."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from judge.measure.columns import tabulate_judgments
from judge.measure.sensitivity import (
    FlaggedEffect,
    FlaggedMeans,
    FlaggedWinners,
    measure_flagged_sensitivity,
)
from tests.unit.measure.judged_dataset import JudgedDataset

#: Loud shows one page that pleads for its grade and nothing else that is good; Quiet has one good page.
PLEADING = JudgedDataset(
    {"loud": {"q": ["plea", "x1"]}, "quiet": {"q": ["y1", "good"]}},
    [{("q", "plea"): 3, ("q", "x1"): 0, ("q", "y1"): 0, ("q", "good"): 3}],
    depth=2,
    measures="P@2 RR@2",
)


def measure_effect(dataset: JudgedDataset, *flagged: tuple[str, str]) -> FlaggedEffect | None:
    results = dataset.tabulate()
    judgments = tabulate_judgments(dataset.make_judgments(), results)
    marked = np.array([pair in flagged for pair in results.list_pairs()], bool)
    return measure_flagged_sensitivity(dataset.compute_scores(), results, judgments, dataset.scale, marked)


def test_nothing_flagged_is_nothing_to_say() -> None:
    assert measure_effect(PLEADING) is None


def test_the_first_measure_is_weighed_and_a_tie_is_no_swap() -> None:
    result = measure_effect(PLEADING, ("q", "plea"))
    assert result is not None
    assert (result.measure, result.pairs) == ("P@2", 1)
    assert result.engines == {"loud": FlaggedMeans(0.5, 0.0, 0.0), "quiet": FlaggedMeans(0.5, 0.5, 0.5)}
    assert (result.swapped, result.order_changes) == ((), False)


def test_an_order_that_stands_on_pleading_is_found() -> None:
    dataset = JudgedDataset(PLEADING.returned, PLEADING.grades, depth=2, measures="RR@2")
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert result.engines == {"loud": FlaggedMeans(1.0, 0.0, 0.0), "quiet": FlaggedMeans(0.5, 0.5, 0.5)}
    assert (result.swapped, result.order_changes) == ((("loud", "quiet"),), True)


def test_what_is_dropped_lets_the_rest_move_up_and_what_is_zeroed_does_not() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["plea", "good"]}, "b": {"q": ["good/b", "bad"]}},
        [{("q", "plea"): 0, ("q", "good"): 3, ("q", "good/b"): 3, ("q", "bad"): 0}],
        depth=2,
        measures="RR@2",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert result.engines["a"] == FlaggedMeans(0.5, 0.5, 1.0)
    assert not result.order_changes


def test_a_failed_judgment_of_a_flagged_snippet_is_zeroed_too_and_others_stay_unknown() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["plea"], "r": ["x"]}, "b": {"q": ["y"], "r": None}},
        [{("q", "plea"): None, ("q", "y"): 3, ("r", "x"): None}],
        depth=2,
        measures="P@2",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert {name: (means.unchanged, means.zeroed) for name, means in result.engines.items()} == {
        "a": (None, 0.0),
        "b": (0.5, 0.5),
    }


def test_queries_without_anything_flagged_keep_their_values_and_every_repeat_counts() -> None:
    grades = {("q", "plea"): 3, ("q", "y"): 0, ("r", "x"): 3, ("r", "z"): 0}
    dataset = JudgedDataset(
        {"a": {"q": ["plea"], "r": ["x"]}, "b": {"q": ["y"], "r": ["z"]}},
        [grades, {**grades, ("r", "x"): 0}],
        depth=1,
        measures="P@1",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert astuple(result.engines["a"]) == pytest.approx((0.75, 0.25, 0.25))


def test_a_winner_that_is_named_only_because_of_flagged_snippets_is_a_change() -> None:
    queries = [f"q{number:02}" for number in range(24)]
    dataset = JudgedDataset(
        {
            "a": {query: [f"{query}plea", f"{query}fair"] for query in queries},
            "b": {query: [f"{query}poor", f"{query}worse"] for query in queries},
        },
        [
            {
                (query, f"{query}{name}"): grade
                for place, query in enumerate(queries)
                for name, grade in (("plea", 3), ("fair", 2 * (place < 4)), ("poor", 0), ("worse", 0))
            }
        ],
        depth=2,
        measures="P@2",
    )
    result = measure_effect(dataset, *((query, f"{query}plea") for query in queries))
    assert result is not None
    assert result.winners == FlaggedWinners("a", None, None)
    assert (result.swapped, result.order_changes) == ((), True)
