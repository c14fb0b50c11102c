"""The bounds of values and of differences against every grade that unjudged snippets can have."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.compare import compare_engines
from judge.measure.measures import parse_measures
from judge.measure.numeric import Floats
from judge.measure.score import Scores
from judge.records import BINARY, GRADED, Scale, Score
from tests.support.cases import count_examples
from tests.support.counted_text import CountedText, count_comparisons
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import (
    JudgedDataset,
    UnjudgedCells,
    iter_completions,
    make_one_list,
    make_side_by_side,
)
from tests.unit.measure.textbook import compute_by_textbook

NAMES = (
    "nDCG@3 nDCG nDCG(dcg='exp-log2')@4 nDCG(own)@2 nDCG(own,dcg='exp-log2') AP@3 AP AP(own)@3 AP(own) R@2 R "
    "P@3 RR@3 RR(granular) Success@2 SetP sDCG@3 DCG@3 RBP(p=0.8) RBP(p=0.5)@3 ERR@3"
)
DEPTH = 5


def get_only_score(dataset: JudgedDataset, engine: str = "engine") -> Score:
    (row,) = (row for row in dataset.iter_scores() if row.engine == engine)
    return row


@st.composite
def draw_query(
    draw: st.DrawFn, wordings: Sequence[str] = ("", "/a", "/b")
) -> tuple[JudgedDataset, list[str]]:
    """Up to three overlapping lists with duplicates, and up to four snippets without a grade."""
    scale = draw(st.sampled_from([BINARY, GRADED]))
    name = st.builds(str.__add__, st.sampled_from("abcde"), st.sampled_from(wordings))
    lists = draw(st.lists(st.lists(name, max_size=DEPTH), min_size=1, max_size=3))
    names = sorted({name for names in lists for name in names})
    unjudged = (
        draw(st.lists(st.sampled_from(names), max_size=4 if scale.top == 1 else 3, unique=True))
        if names
        else []
    )
    grades = {("q", name): None if name in unjudged else draw(st.integers(0, scale.top)) for name in names}
    returned = {f"engine {at}": {"q": names} for at, names in enumerate(lists)}
    return JudgedDataset(returned, [grades], scale, DEPTH, NAMES), unjudged


def list_possible_values(
    dataset: JudgedDataset, unjudged: Sequence[str]
) -> dict[tuple[str, str], list[float | None]]:
    """The value of every measure for every engine under every assignment of grades to `unjudged`."""
    lists = [names["q"] or () for names in dataset.returned.values()]
    result: dict[tuple[str, str], list[float | None]] = {}
    for chosen in itertools.product(range(dataset.scale.top + 1), repeat=len(unjudged)):
        grades = {name: grade or 0 for (_, name), grade in dataset.grades[0].items()}
        grades.update(zip(unjudged, chosen, strict=True))
        for (at, engine), measure in itertools.product(enumerate(dataset.returned), parse_measures(NAMES)):
            value = compute_by_textbook(measure, dataset.scale, lists, grades, at, DEPTH)
            result.setdefault((engine, str(measure)), []).append(value)
    return result


@settings(max_examples=count_examples(15))
@given(draw_query())
def test_no_grades_lead_out_of_the_bounds(drawn: tuple[JudgedDataset, list[str]]) -> None:
    dataset, unjudged = drawn
    values = list_possible_values(dataset, unjudged)
    for row in dataset.iter_scores():
        reached = [value for value in values[row.engine, row.measure] if value is not None]
        assert (row.low is None) == (row.high is None) == (not reached)
        if row.low is None or row.high is None:
            continue
        assert row.low <= min(reached) + 1e-12
        assert max(reached) <= row.high + 1e-12
        if row.value is not None:
            assert row.low <= row.value <= row.high
            assert len(reached) == len(values[row.engine, row.measure])
        if not unjudged:
            assert row.low == row.value == row.high == pytest.approx(reached[0], abs=1e-12)


@settings(max_examples=count_examples(15))
@given(draw_query(wordings=("",)))
def test_the_bounds_are_reached(drawn: tuple[JudgedDataset, list[str]]) -> None:
    """Where each document has one snippet, exactly."""
    dataset, unjudged = drawn
    values = list_possible_values(dataset, unjudged)
    for row in dataset.iter_scores():
        reached = [value for value in values[row.engine, row.measure] if value is not None]
        if reached:
            assert [row.low, row.high] == pytest.approx([min(reached), max(reached)])


def test_an_unjudged_result_of_others_raises_the_ideal() -> None:
    row = get_only_score(make_side_by_side({"engine": [3], "other": [None]}, "nDCG@10"))
    assert [row.low, row.high] == pytest.approx([3 / (3 + 3 / 1.584962500721156), 1])


def test_a_better_result_can_lower_ndcg() -> None:
    """[1, ?] is perfect when the second is 0 or 1, and out of order when it is 3."""
    row = get_only_score(make_one_list([1, None], "nDCG@10"))
    log3 = 1.584962500721156
    assert [row.low, row.value, row.high] == pytest.approx([(1 + 3 / log3) / (3 + 1 / log3), 1, 1])


def test_ap_is_bounded_between_numerator_and_denominator() -> None:
    """Of [no, ?, yes]: 1/3 with a no; (1/2 + 2/3) / 2 with a yes. The other's unknown may add one to both."""
    row = get_only_score(make_side_by_side({"engine": [0, None, 1], "other": [None]}, "AP@10", scale=BINARY))
    assert [row.low, row.high] == pytest.approx([1 / 3 / 2, (1 / 2 + 2 / 3) / 2])


@pytest.mark.parametrize("scale", [BINARY, GRADED], ids=lambda scale: scale.name)
def test_the_residual_of_rbp_is_the_width_of_its_bounds(scale: Scale) -> None:
    row = get_only_score(make_one_list([scale.top, None, 0, None], "RBP(p=0.5)@4", scale=scale))
    assert row.low is not None
    assert row.high is not None
    assert row.high - row.low == pytest.approx(0.5 * (0.5 + 0.125))


LOG3 = 1.584962500721156  # log2(3)
MEASURES = "nDCG@2 nDCG(dcg='exp-log2') AP@2 R@2 P@2 RR@2 sDCG@3 nDCG(own)@2 AP(own)@2 ERR SetP"


@st.composite
def draw_few_unjudged(draw: st.DrawFn) -> tuple[JudgedDataset, UnjudgedCells]:
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
    value = scores.average_repeats()
    return np.stack([value[a] - value[b] for a, b in itertools.permutations(range(len(value)), 2)])


@settings(max_examples=count_examples(10))
@given(draw_few_unjudged())
def test_the_range_is_what_all_grades_reach(drawn: tuple[JudgedDataset, UnjudgedCells]) -> None:
    least, most = list_bounds(drawn[0].compute_scores())
    reached = np.stack([list_differences(dataset.compute_scores()) for dataset in iter_completions(*drawn)])
    assert least == pytest.approx(reached.min(0), abs=1e-12)
    assert most == pytest.approx(reached.max(0), abs=1e-12)


@settings(max_examples=count_examples(10))
@given(draw_few_unjudged())
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
    low, high = scores.average_with_bounds()[1:]
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
    for dataset in iter_completions(*drawn):
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
    for dataset in iter_completions(*drawn):
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
    scores, returned = drawn[0].compute_scores(), drawn[0].tabulate().returned
    truths = [dataset.summarise() for dataset in iter_completions(*drawn)]
    for at, (name, engine) in enumerate(drawn[0].summarise().items()):
        if ((scores.graded[at] == 0) & (returned[at] > 0)[:, None]).any():
            continue
        for measure, mean in engine.measures.items():
            means = [truth[name].measures[measure].mean for truth in truths]
            reached = [each for each in means if each is not None]
            if reached:
                assert [*mean.bounds] == pytest.approx([min(reached), max(reached)])
            else:
                assert mean.bounds == (None, None)
