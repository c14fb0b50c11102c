"""What is said of means and differences against every grade that unjudged snippets can have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.compare import compare_engines
from judge.records import BINARY, GRADED
from tests.support.cases import count_examples
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import JudgedDataset, UnjudgedCells, list_completions

POOLED = "nDCG@2 nDCG(dcg='exp-log2') AP@2 AP R@2"


@st.composite
def draw_datasets(
    draw: st.DrawFn,
    measures: str = POOLED + " P@2 RR@2 nDCG(own)@2",
    wordings: Sequence[str] = ("", "/a"),
    repeats: int = 2,
) -> tuple[JudgedDataset, UnjudgedCells]:
    """Two or three engines on up to four queries, most results worth nothing, up to four without a grade."""
    scale = draw(st.sampled_from([BINARY, GRADED]))
    name = st.builds(str.__add__, st.sampled_from("abc"), st.sampled_from(wordings))
    names = st.none() | st.lists(name, max_size=3) | st.lists(name, min_size=1, max_size=3)
    queries = [f"q{at}" for at in range(draw(st.integers(1, 4)))]
    returned = {
        engine: {query: draw(names) for query in queries} for engine in "ABC"[: draw(st.integers(2, 3))]
    }
    pairs = sorted({(q, each) for lists in returned.values() for q in queries for each in lists[q] or ()})
    cells = [(at, *pair) for at in range(draw(st.integers(1, repeats))) for pair in pairs]
    limit = 4 if scale.top == 1 else 2
    unjudged = draw(st.lists(st.sampled_from(cells), max_size=limit, unique=True)) if cells else []
    grade = st.sampled_from([0, 0, 0, *range(1, scale.top + 1)])
    grades: list[dict[tuple[str, str], int | None]] = [{} for _ in range(repeats)]
    for at, query, each in cells:
        grades[at][query, each] = None if (at, query, each) in unjudged else draw(grade)
    times = 1 + max((at for at, _, _ in cells), default=0)
    return JudgedDataset(returned, grades[:times], scale, 3, measures), unjudged


@settings(max_examples=count_examples(8))
@given(draw_datasets())
def test_no_grades_lead_a_difference_out_of_its_bounds(drawn: tuple[JudgedDataset, UnjudgedCells]) -> None:
    comparisons = {
        (pair.measure, frozenset((pair.a, pair.b))): pair
        for pair in compare_engines(drawn[0].compute_scores())
    }
    for dataset in list_completions(*drawn):
        for truth in compare_engines(dataset.compute_scores()):
            pair = comparisons[truth.measure, frozenset((truth.a, truth.b))]
            if truth.difference is not None:
                difference = truth.difference if truth.a == pair.a else -truth.difference
                assert get_low_end(pair.bounds) is not None
                assert get_high_end(pair.bounds) is not None
                assert get_low_end(pair.bounds) - 1e-12 <= difference <= get_high_end(pair.bounds) + 1e-12
                if not drawn[1]:
                    assert get_low_end(pair.bounds) == difference == get_high_end(pair.bounds)


@settings(max_examples=count_examples(8))
@given(draw_datasets())
def test_no_grades_lead_a_mean_out_of_its_bounds(drawn: tuple[JudgedDataset, UnjudgedCells]) -> None:
    by_engine = drawn[0].summarise()
    for dataset in list_completions(*drawn):
        for name, engine in dataset.summarise().items():
            for measure, truth in engine.measures.items():
                mean = by_engine[name].measures[measure]
                assert mean.n <= truth.n <= mean.n + mean.unknown
                assert mean.undefined <= truth.undefined
                if truth.mean is not None:
                    low, high = mean.bounds
                    assert low is not None
                    assert high is not None
                    assert low - 1e-12 <= truth.mean <= high + 1e-12


@settings(max_examples=count_examples(8))
@given(draw_datasets())
def test_every_query_is_counted_once_and_every_mean_is_within_its_bounds(
    drawn: tuple[JudgedDataset, UnjudgedCells],
) -> None:
    for engine in drawn[0].summarise().values():
        for mean in engine.measures.values():
            there = mean.n + mean.undefined + mean.unknown
            assert there + engine.errors + engine.absent == engine.queries
            low, high = mean.bounds
            if mean.mean is not None and low is not None and high is not None:
                assert low <= mean.mean <= high


@settings(max_examples=count_examples(8))
@given(draw_datasets(measures=POOLED, wordings=("",), repeats=1))
def test_the_bounds_of_a_mean_are_reached(drawn: tuple[JudgedDataset, UnjudgedCells]) -> None:
    """Where each document has one snippet and no list is wholly unjudged in a pool of something relevant."""
    scores = drawn[0].compute_scores()
    truths = [dataset.summarise() for dataset in list_completions(*drawn)]
    for at, (name, engine) in enumerate(drawn[0].summarise().items()):
        if scores.coverage.ungraded[at].any():
            continue
        for measure, mean in engine.measures.items():
            means = [truth[name].measures[measure].mean for truth in truths]
            reached = [each for each in means if each is not None]
            if reached:
                assert [*mean.bounds] == pytest.approx([min(reached), max(reached)])
            else:
                assert mean.bounds == (None, None)
