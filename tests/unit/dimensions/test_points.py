"""Recall of information points with numbers worked by hand, and alpha-nDCG against ndeval."""

import math

import numpy as np
import pyndeval
import pytest

from judge.dimensions.points import FIND_SUPPORT, LIST_POINTS, Point, measure_list_points
from judge.errors import ReplyParseError
from judge.measure.formulas import compute_alpha_ndcg
from tests.support.cases import check_each

POINTS = (Point("a", "vital"), Point("b", "vital"), Point("c", "okay"))


def test_the_measures_of_a_list() -> None:
    first, second = (1.0, 0.5, 0.0), (0.0, 1.0, 0.5)
    assert measure_list_points(POINTS, [first], [first, second], 5) == {
        "strict_vital@5": 0.5,  # a of a and b
        "vital@5": 0.75,
        "weighted@5": (1 + 0.5 + 0.5 * 0) / 2.5,
        "strict_all@5": pytest.approx(1 / 3),
        "all@5": 0.5,
        "vital_RR": 0.0,
        # The ideal order is a, then b.
        "alpha_nDCG@5": pytest.approx(1 / (1 + 1 / math.log2(3))),
    }
    values = measure_list_points(POINTS, [(0.0, 0.0, 0.0), first, second], [first, second], 5)
    assert values["strict_vital@5"] == 1.0
    assert values["weighted@5"] == (1 + 1 + 0.5 * 0.5) / 2.5
    assert values["vital_RR"] == 1 / 3


def test_an_empty_list_covers_nothing() -> None:
    values = measure_list_points(POINTS, [], [(1.0, 0.0, 0.0)], 5)
    assert (values["all@5"], values["alpha_nDCG@5"], values["vital_RR"]) == (0.0, 0.0, 0.0)


def test_what_is_unknown_has_no_value() -> None:
    known = (1.0, 1.0, 1.0)
    assert set(measure_list_points(POINTS, [known, None], [known], 5).values()) == {None}
    okay = measure_list_points([Point("a", "okay")], [(1.0,)], [(1.0,), None], 5)
    assert (okay["strict_vital@5"], okay["vital@5"], okay["vital_RR"]) == (None, None, None)
    assert (okay["weighted@5"], okay["alpha_nDCG@5"]) == (1.0, None)
    assert measure_list_points([Point("a", "okay")], [(0.0,)], [(0.5,)], 5)["alpha_nDCG@5"] is None


@check_each("depth", [5, 10, 20])
def test_alpha_ndcg_equals_ndeval(depth: int) -> None:
    generator = np.random.default_rng(7)
    # Of documents that add equally much to the ideal order, ndeval takes the last by name, judge the first.
    names = [f"d{99 - place}" for place in range(12)]
    for _ in range(50):
        documents = generator.random((12, 4)) < generator.uniform(0.1, 0.6)
        qrels = [
            pyndeval.SubtopicQrel("q", str(point), names[place], 1)
            for place, row in enumerate(documents)
            for point in np.flatnonzero(row)
        ]
        order = generator.permutation(12)
        scored = [pyndeval.ScoredDoc("q", names[place], 100.0 - rank) for rank, place in enumerate(order)]
        ours = compute_alpha_ndcg(documents[order], documents, depth)
        expected = pyndeval.ndeval(qrels, scored, [f"alpha-nDCG@{depth}"])
        assert ours == pytest.approx(expected["q"][f"alpha-nDCG@{depth}"], abs=1e-12)


@check_each(
    "reply",
    [
        '{"points": []}',
        '{"points": [{"point": "a", "importance": "vital"}, {"point": "a ", "importance": "okay"}]}',
        '{"points": [{"point": " ", "importance": "vital"}]}',
        r'{"points": [{"point": "\u001b[2K", "importance": "vital"}]}',
        '{"points": [{"point": "' + 301 * "a" + '", "importance": "vital"}]}',
        '{"points": [{"point": "a", "importance": "high"}]}',
    ],
)
def test_points_that_are_none_are_refused(reply: str) -> None:
    with pytest.raises(ReplyParseError):
        LIST_POINTS.parse(reply, "")


def test_support_has_one_value_for_each_point() -> None:
    shown = "0 | snippet\n1 | a\n2 | b"
    assert FIND_SUPPORT.parse('{"support": ["support", "not"]}', shown).support == ("support", "not")
    with pytest.raises(ReplyParseError):
        FIND_SUPPORT.parse('{"support": ["support"]}', shown)
