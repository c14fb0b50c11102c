"""The worst-case range of a difference against every grade that unjudged snippets can have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.formulas import Floats
from judge.measure.score import Scores
from judge.records import BINARY, GRADED
from tests.support.cases import count_examples
from tests.support.counted_text import CountedText, count_comparisons
from tests.unit.measure.judged_dataset import (
    JudgedDataset,
    UnjudgedCells,
    list_completions,
    make_side_by_side,
)

LOG3 = 1.584962500721156  # log2(3)
MEASURES = "nDCG@2 nDCG(dcg='exp-log2') AP@2 R@2 P@2 RR@2 sDCG@3 nDCG(own)@2 AP(own)@2 ERR SetP"


@st.composite
def draw_datasets(draw: st.DrawFn) -> tuple[JudgedDataset, UnjudgedCells]:
    """Up to three engines and two repeats, two queries with a relevant result, up to four unjudged."""
    scale = draw(st.sampled_from([BINARY, GRADED]))
    name = st.builds(str.__add__, st.sampled_from("abcd"), st.sampled_from(["", "/a"]))
    names = st.lists(name, min_size=1, max_size=3)
    returned = {
        engine: {query: ["sure", *draw(names)][:: draw(st.sampled_from([1, -1]))] for query in ("q", "r")}
        for engine in "ABC"[: draw(st.integers(2, 3))]
    }
    pairs = sorted({(q, each) for lists in returned.values() for q in lists for each in lists[q]})
    cells = [(at, *pair) for at in range(draw(st.integers(1, 2))) for pair in pairs]
    candidates = [cell for cell in cells if cell[2] != "sure"]
    limit = 4 if scale is BINARY else 3
    unjudged = draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=limit, unique=True))
    grades: list[dict[tuple[str, str], int | None]] = [{} for _ in range(1 + cells[-1][0])]
    for at, query, each in cells:
        known = scale.top if each == "sure" else draw(st.integers(0, scale.top))
        grades[at][query, each] = None if (at, query, each) in unjudged else known
    return JudgedDataset(returned, grades, scale, 4, MEASURES), unjudged


def list_bounds(scores: Scores) -> Floats:
    """Return (2, pairs, queries, measures) the bounds of all ordered pairs of engines."""
    a, b = np.array(list(itertools.permutations(range(len(scores.engines)), 2))).T
    each = [scores.bound_differences(a, b, at) for at in range(len(scores.measures))]
    return np.stack([np.stack(ends, axis=-1) for ends in zip(*each, strict=True)])


def list_differences(scores: Scores) -> Floats:
    value = scores.average_repeats()[0]
    return np.stack([value[a] - value[b] for a, b in itertools.permutations(range(len(value)), 2)])


@settings(max_examples=count_examples(10))
@given(draw_datasets())
def test_the_range_is_what_all_grades_reach(drawn: tuple[JudgedDataset, UnjudgedCells]) -> None:
    least, most = list_bounds(drawn[0].compute_scores())
    reached = np.stack([list_differences(dataset.compute_scores()) for dataset in list_completions(*drawn)])
    assert least == pytest.approx(reached.min(0), abs=1e-12)
    assert most == pytest.approx(reached.max(0), abs=1e-12)


@settings(max_examples=count_examples(10))
@given(draw_datasets())
def test_engines_queries_and_measures_can_be_chosen_before(
    drawn: tuple[JudgedDataset, UnjudgedCells],
) -> None:
    """Leaving an engine out does not take its results out of the pool."""
    scores = drawn[0].compute_scores()
    chosen = scores.select(engines={"A", "B"}, queries={"r"}, measures=scores.measures[::2])
    a, b = np.array(list(itertools.permutations(range(len(scores.engines)), 2))).T
    first = int(np.flatnonzero((a == 0) & (b == 1))[0])
    assert list_bounds(chosen)[:, 0, 0].tolist() == list_bounds(scores)[:, first, 1, ::2].tolist()


def test_a_shared_snippet_is_worth_the_same_to_both() -> None:
    """Both return it first: the difference stays 0, while each P@1 can be 0 or 1."""
    dataset = JudgedDataset(
        {"A": {"q": ["shared", "x"]}, "B": {"q": ["shared", "x"]}},
        [{("q", "shared"): None, ("q", "x"): 3}],
        measures="nDCG@10 P@1",
    )
    assert not list_bounds(dataset.compute_scores()).any()


def test_the_range_by_hand() -> None:
    """A [2, ?], B [3]: with grade g, A has (2 + g / log2(3)) / ideal, B 3 / ideal."""
    scores = make_side_by_side({"A": [2, None], "B": [3]}, "nDCG@10").compute_scores()
    least, most = list_bounds(scores)[:, 0, 0, 0]
    possible = [
        (2 + g / LOG3 - 3) / sum(x / np.log2(at + 2) for at, x in enumerate(sorted((3, 2, g), reverse=True)))
        for g in range(4)
    ]
    assert (least, most) == pytest.approx((min(possible), max(possible)))


def test_many_unjudged_snippets_leave_a_wider_range() -> None:
    """With six the extremes of either engine bound the difference."""
    dataset = make_side_by_side({"A": [3, *[None] * 3], "B": [2, *[None] * 3]}, "nDCG@10 P@4 AP@10")
    scores = dataset.compute_scores()
    low, high = scores.average_repeats()[1:]
    least, most = list_bounds(scores)[:, 0, 0]
    assert least.tolist() == (low[0, 0] - high[1, 0]).tolist()
    assert most.tolist() == (high[0, 0] - low[1, 0]).tolist()


def test_an_engine_that_broke_has_no_range() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["x", "y"]}, "B": {"q": None}}, [{("q", "x"): 3, ("q", "y"): None}], measures="P@2"
    )
    assert np.isnan(list_bounds(dataset.compute_scores())).all()


def test_judged_in_full_the_range_is_the_difference() -> None:
    scores = make_side_by_side({"A": [3, 1], "B": [2]}, "nDCG@10 AP@10").compute_scores()
    assert scores.incomplete is None
    least, most = list_bounds(scores)
    assert least.tolist() == most.tolist() == list_differences(scores).tolist()


def test_each_query_is_looked_up_once() -> None:
    """One unjudged snippet must not cost a search through all queries for each of them."""
    queries: list[str] = [CountedText(f"query {number}") for number in range(200)]
    returned = {engine: {query: [engine] for query in queries} for engine in "ab"}
    grades: dict[tuple[str, str], int | None] = {(query, engine): 1 for query in queries for engine in "ab"}
    grades[queries[-1], "b"] = None
    scores = JudgedDataset(returned, [grades], BINARY, 10, "P@1").compute_scores()
    count_comparisons()
    low, high = scores.bound_differences(np.array([0]), np.array([1]), 0)
    assert count_comparisons() <= len(queries)
    at = scores.queries.index(queries[-1])
    assert (float(low[0, at]), float(high[0, at])) == (0, 1)
    assert (low != high).sum() == 1
