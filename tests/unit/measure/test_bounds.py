"""The bounds against every grade that unjudged snippets can have, measured by an independent oracle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.measures import parse_measures
from judge.records import BINARY, GRADED, Scale, Score
from tests.support.cases import count_examples
from tests.unit.measure.judged_dataset import JudgedDataset, make_one_list, make_side_by_side
from tests.unit.measure.textbook import compute_by_textbook

NAMES = (
    "nDCG@3 nDCG nDCG(dcg='exp-log2')@4 nDCG(own)@2 nDCG(own,dcg='exp-log2') AP@3 AP AP(own)@3 AP(own) R@2 R "
    "P@3 RR@3 RR(granular) Success@2 SetP sDCG@3 DCG@3 RBP(p=0.8) RBP(p=0.5)@3 ERR@3"
)
DEPTH = 5


def get_only_score(dataset: JudgedDataset, engine: str = "engine") -> Score:
    (row,) = (row for row in dataset.list_scores() if row.engine == engine)
    return row


@st.composite
def draw_datasets(
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
@given(draw_datasets())
def test_no_grades_lead_out_of_the_bounds(drawn: tuple[JudgedDataset, list[str]]) -> None:
    dataset, unjudged = drawn
    values = list_possible_values(dataset, unjudged)
    for row in dataset.list_scores():
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
@given(draw_datasets(wordings=("",)))
def test_the_bounds_are_reached(drawn: tuple[JudgedDataset, list[str]]) -> None:
    """Where each document has one snippet, exactly."""
    dataset, unjudged = drawn
    values = list_possible_values(dataset, unjudged)
    for row in dataset.list_scores():
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
