"""Labels of people beside grades of an assessor: common pairs, complete queries, orders of engines."""

import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.measure.engine_agreement import EngineOrders, compare_rankings
from judge.measure.grades_by_pair import (
    compute_median_grades,
    convert_to_judgments,
    convert_to_relevance,
    find_graded_queries,
    pair_grades,
    pair_results,
)
from judge.measure.intervals import StatisticValue
from judge.records import BINARY, GRADED
from tests.support.cases import check_each
from tests.unit.measure.judged_dataset import JudgedDataset, make_judgment

KEYS = st.tuples(st.sampled_from("pqr"), st.sampled_from("abcd"))
GRADES = st.dictionaries(KEYS, st.integers(0, 3))


@check_each(
    ("given_grades", "typical"),
    [((2,), 2), ((0, 3, 1), 1), ((1, 2), 2), ((0, 1), 1), ((0, 0, 1, 1), 1), ((0, 3), 2), ((3, None, 3), 3)],
)
def test_the_typical_grade_is_the_median_halves_up(
    given_grades: tuple[int | None, ...], typical: int
) -> None:
    judged = [make_judgment("q", "a", grade, repeat) for repeat, grade in enumerate(given_grades)]
    assert compute_median_grades(judged) == {("q", "a"): typical}
    assert compute_median_grades(reversed(judged)) == {("q", "a"): typical}


def test_what_was_never_graded_has_no_typical_grade() -> None:
    assert compute_median_grades([make_judgment("q", "a", None), make_judgment("q", "b", 1)]) == {
        ("q", "b"): 1
    }
    assert compute_median_grades([]) == {}


def test_what_a_rule_graded_nobody_judged() -> None:
    empty = replace(make_judgment("q", "a", 0), flags=("empty_snippet",))
    assert compute_median_grades([empty, make_judgment("q", "b", 0)]) == {("q", "b"): 0}


@given(GRADES)
def test_people_s_grades_are_scored_like_anyone_s(people: Mapping[tuple[str, str], int]) -> None:
    assert compute_median_grades(convert_to_judgments(people)) == people


@given(GRADES, GRADES, st.randoms(use_true_random=False))
def test_pairs_meet_by_name_in_any_order(
    people: dict[tuple[str, str], int], assessor: dict[tuple[str, str], int], chance: random.Random
) -> None:
    result = pair_grades(people, assessor)
    both = sorted(people.keys() & assessor.keys())
    assert list(zip(result.people.tolist(), result.assessor.tolist(), strict=True)) == [
        (people[key], assessor[key]) for key in both
    ]
    queries = sorted({query_id for query_id, _ in both})
    assert [queries[number] for number in result.query] == [query_id for query_id, _ in both]
    mixed = [dict(chance.sample(list(side.items()), len(side))) for side in (people, assessor)]
    again = pair_grades(*mixed)
    for name in ("query", "people", "assessor"):
        assert np.array_equal(getattr(again, name), getattr(result, name))


#: Two engines, three queries; b shows "u", which a shows too, and repeats "v".
DATASET = JudgedDataset(
    {"a": {"p": ["u", "w"], "q": ["x"], "r": None}, "b": {"p": ["v", "u", "v"], "q": [], "r": ["y"]}},
    [{("p", "u"): 3, ("p", "v"): 2, ("p", "w"): 0, ("q", "x"): 1, ("r", "y"): 2}],
)
ASSESSOR = compute_median_grades(DATASET.make_judgments())


def test_a_result_counts_for_every_engine_that_shows_it() -> None:
    people = {("p", "u"): 1, ("p", "v"): 2, ("r", "y"): 3, ("r", "z"): 0}
    engine, both = pair_results("ab", DATASET.make_rankings(), 10, people, ASSESSOR)
    rows = zip(
        engine.tolist(), both.query.tolist(), both.people.tolist(), both.assessor.tolist(), strict=True
    )
    # a: p/u. b: p/v twice and p/u, r/y. Queries are numbered by name: p is 0, r is 1.
    assert sorted(rows) == [(0, 0, 1, 3), (1, 0, 1, 3), (1, 0, 2, 2), (1, 0, 2, 2), (1, 1, 3, 2)]


def test_results_below_the_depth_and_of_other_engines_don_t_count() -> None:
    people = {("p", "u"): 1, ("p", "v"): 2, ("p", "w"): 2}
    engine, both = pair_results("ab", DATASET.make_rankings(), 1, people, ASSESSOR)
    assert (engine.tolist(), both.people.tolist()) == ([0, 1], [1, 2])
    engine, both = pair_results("b", reversed(DATASET.make_rankings()), 10, people, ASSESSOR)
    assert (engine.tolist(), both.people.tolist()) == ([0, 0, 0], [2, 1, 2])
    engine, both = pair_results((), DATASET.make_rankings(), 10, people, ASSESSOR)
    assert (engine.size, both.people.size) == (0, 0)


def test_relevant_is_what_two_scales_have_in_common() -> None:
    grades = {("q", str(grade)): grade for grade in range(4)}
    assert list(convert_to_relevance(grades, GRADED).values()) == [0, 0, 1, 1]
    assert list(convert_to_relevance(grades, replace(GRADED, relevant_from=1)).values()) == [0, 1, 1, 1]
    assert list(convert_to_relevance({("q", "a"): 0, ("q", "b"): 1}, BINARY).values()) == [0, 1]


def test_a_query_is_whole_when_each_of_its_pairs_has_a_grade() -> None:
    pairs = [("p", "a"), ("q", "a"), ("p", "b"), ("r", "a"), ("q", "b")]
    grades = {("p", "b"): 0, ("p", "a"): 3, ("q", "b"): 1, ("s", "a"): 1}
    assert find_graded_queries(pairs, grades) == (frozenset("p"), frozenset("pq"))
    assert find_graded_queries(reversed(pairs), grades) == (frozenset("p"), frozenset("pq"))
    assert find_graded_queries(pairs, {}) == (frozenset(), frozenset())
    assert find_graded_queries([], grades) == (frozenset(), frozenset())


def make_first_results(grades: Mapping[str, str], measures: str = "P(rel=1)@1") -> JudgedDataset:
    """Each engine has one result a query; its grade is the digit for the query, `x` where it broke."""
    returned = {
        engine: {f"q{at}": None if line == "x" else [f"{engine}{at}"] for at, line in enumerate(row)}
        for engine, row in grades.items()
    }
    judged = {
        (f"q{at}", f"{engine}{at}"): int(text)
        for engine, row in grades.items()
        for at, text in enumerate(row)
        if text not in "x-"
    }
    return JudgedDataset(returned, [judged], measures=measures)


def order_engines(
    people: Mapping[str, str], assessor: Mapping[str, str], measures: str = "P(rel=1)@1"
) -> EngineOrders:
    sides = (make_first_results(grades, measures).compute_scores() for grades in (people, assessor))
    (result,) = compare_rankings(*sides, partly_labelled=False).values()
    return result


def test_orders_and_swaps_by_hand() -> None:
    result = order_engines({"a": "1100", "b": "1110", "c": "0000"}, {"a": "1111", "b": "1000", "c": "0000"})
    assert (result.queries, result.partly_labelled) == (4, False)
    assert [*result.people.items()] == [("b", 0.75), ("a", 0.5), ("c", 0.0)]
    assert result.assessor == {"b": 0.25, "a": 1.0, "c": 0.0}
    assert result.swapped == (("b", "a"),)
    # Two of three pairs agree, one does not.
    assert result.tau.value == pytest.approx(1 / 3)
    # By the assessor a, b, c: nobody above b belongs there, both above c do.
    assert result.tau_ap == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    # The top 1 has nothing in common, the top 2 and 3 all.
    assert result.rbo == pytest.approx(0.1 * (0.9 + 0.81) + 0.9**3)


def test_the_same_grades_give_the_same_order() -> None:
    grades = {"a": "1100", "b": "1110", "c": "0000"}
    result = order_engines(grades, grades)
    assert result.people == result.assessor
    assert result.swapped == ()
    assert (result.tau.value, result.tau_ap, result.rbo) == pytest.approx((1, 1, 1))


def test_engines_that_tie_stand_by_name_and_are_no_swap() -> None:
    result = order_engines({"b": "10", "a": "01"}, {"b": "11", "a": "01"})
    assert list(result.people) == ["a", "b"]
    assert result.swapped == ()
    assert (result.tau.value, result.tau_ap) == (None, None)
    assert "ranks all engines equal" in (result.tau.why or "")


def test_means_are_over_the_queries_where_both_sides_have_a_value() -> None:
    """The nDCG has no value where a side finds nothing relevant: on q1 for people, on q2 for the assessor."""
    result = order_engines({"a": "2010", "b": "1021"}, {"a": "1101", "b": "2103"}, "nDCG@1")
    assert (result.queries, list(result.people), result.swapped) == (2, ["b", "a"], ())
    assert result.people == pytest.approx({"b": (1 / 2 + 1) / 2, "a": (1 + 0) / 2})
    assert result.assessor == pytest.approx({"b": 1, "a": (1 / 2 + 1 / 3) / 2})


def test_an_engine_without_a_value_is_in_no_order() -> None:
    result = order_engines({"a": "10", "b": "00", "c": "xx"}, {"a": "10", "b": "10", "c": "xx"})
    assert (list(result.people), result.left_out) == (["a", "b"], ("c",))
    nothing = order_engines({"a": "xx"}, {"a": "xx"})
    assert (nothing.queries, nothing.people, nothing.rbo, nothing.tau.value) == (0, {}, None, None)


def test_one_engine_has_no_order() -> None:
    result = order_engines({"a": "10"}, {"a": "11"})
    assert (result.people, result.assessor) == ({"a": 0.5}, {"a": 1.0})
    assert (result.tau.value, result.tau_ap, result.rbo, result.swapped) == (None, None, 1, ())
    assert "fewer than 2 engines" in (result.tau.why or "")


def test_only_measures_that_compare_engines_order_them() -> None:
    both = make_first_results({"a": "10", "b": "11"}, "nDCG(own)@1 P@1 Judged@1").compute_scores()
    assert list(compare_rankings(both, both, partly_labelled=True)) == ["P@1"]


def test_tau_has_a_value_and_no_range() -> None:
    result = order_engines({"a": "100", "b": "000"}, {"a": "111", "b": "000"})
    assert result.tau == StatisticValue(1, None)


def test_an_engine_with_few_values_doesn_t_take_the_others_queries() -> None:
    """C has a value on one query of ten: A and B meet on ten, not on that one."""
    grades = {"A": "2222222222", "B": "0000033333", "C": "xxxxxxxxx1"}
    result = order_engines(grades, grades, "sDCG@1")
    assert (result.queries, list(result.people), result.left_out) == (10, ["A", "B"], ("C",))
    assert result.people == result.assessor
    # On half of them it is in, and all three meet where it has its own.
    grades["C"] = "xxxxx11111"
    result = order_engines(grades, grades, "sDCG@1")
    assert (result.queries, list(result.people), result.left_out) == (5, ["B", "A", "C"], ())


def test_engines_that_share_no_query_stand_by_their_own() -> None:
    grades = {"A": "22222xxxxx", "B": "3333300000", "C": "xxxxx11111"}
    result = order_engines(grades, grades, "P(rel=1)@1")
    assert (result.queries, result.left_out) == (10, ())
    assert result.people == {"A": 1, "B": 0.5, "C": 1}


@given(st.integers(0, 1000))
def test_neither_engines_nor_queries_come_first(seed: int) -> None:
    chance = random.Random(seed)
    sides = [
        {engine: "".join(chance.choice("0123x") for _ in range(6)) for engine in "abc"} for _ in range(2)
    ]
    broke = {(engine, at) for side in sides for engine in side for at in range(6) if side[engine][at] == "x"}
    even = [
        {e: "".join("x" if (e, at) in broke else c for at, c in enumerate(row)) for e, row in side.items()}
        for side in sides
    ]
    datasets = [make_first_results(side, "nDCG@1 P@1") for side in even]
    turned = [
        replace(
            dataset,
            returned={
                engine: dict(reversed(list(queries.items())))
                for engine, queries in chance.sample(list(dataset.returned.items()), 3)
            },
        )
        for dataset in datasets
    ]
    one, other = (
        compare_rankings(*(dataset.compute_scores() for dataset in sides), partly_labelled=False)
        for sides in (turned, datasets)
    )
    assert one == other
