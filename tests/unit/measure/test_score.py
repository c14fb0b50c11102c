"""What a user is told about every engine and query, against trec_eval and by hand."""

import itertools
import json
import math
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.errors import InputError
from judge.measure.imputation import IMPUTATIONS
from judge.measure.measures import parse_measures
from judge.measure.score import compute_bounded_mean, score_rankings
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each, count_examples
from tests.unit.measure.judged_dataset import (
    JudgedDataset,
    compute_value,
    compute_values,
    make_judgment,
    make_one_list,
    make_side_by_side,
)

LOG3 = 1.584962500721156  # log2(3)


# ---- against trec_eval


def draw_ragged(seed: int, scale: Scale, measures: str) -> JudgedDataset:
    """Four engines on 40 queries: lists of 1 to 10 of 25 documents, all judged, most not relevant."""
    rng = random.Random(seed)
    returned = {
        engine: {
            f"q{query}": rng.sample([f"d{at}" for at in range(25)], rng.randint(1, 10)) for query in range(40)
        }
        for engine in "ABCD"
    }
    weights = [6, 3, 2, 1][: scale.top + 1]
    grades: dict[tuple[str, str], int | None] = {
        (query, name): rng.choices(range(scale.top + 1), weights)[0]
        for queries in returned.values()
        for query, names in queries.items()
        for name in names
    }
    return JudgedDataset(returned, [grades], scale, 10, measures)


def evaluate_by_trec_eval(
    dataset: JudgedDataset, engine: str, names: set[str], *, rel: int, gain: dict[int, int]
) -> dict[str, dict[str, float]]:
    qrels: dict[str, dict[str, int]] = {}
    for (query, name), grade in dataset.grades[0].items():
        qrels.setdefault(query, {})[name] = gain[grade or 0]
    run = {
        query: {name: -float(rank) for rank, name in enumerate(names or ())}
        for query, names in dataset.returned[engine].items()
    }
    pytrec_eval = pytest.importorskip("pytrec_eval")
    result: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        qrels, names, relevance_level=rel
    ).evaluate(run)
    return result


SAME = {
    "nDCG@10": "ndcg_cut_10",
    "nDCG@5": "ndcg_cut_5",
    "nDCG": "ndcg_cut_10",
    "AP@10": "map_cut_10",
    "AP@5": "map_cut_5",
    "AP": "map",
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R": "set_recall",
    "RR@10": "recip_rank",
    "Success@5": "success_5",
    "SetP": "set_P",
}


@check_each("scale", [BINARY, GRADED])
@check_each("seed", range(5))
def test_equal_to_trec_eval(seed: int, scale: Scale) -> None:
    dataset = draw_ragged(seed, scale, " ".join(SAME))
    theirs = {
        engine: evaluate_by_trec_eval(
            dataset,
            engine,
            set(SAME.values()),
            rel=scale.relevant_from,
            gain={grade: grade for grade in range(4)},
        )
        for engine in "ABCD"
    }
    compared = 0
    for row in dataset.iter_scores():
        expected = theirs[row.engine][row.query_id][SAME[row.measure]]
        if row.value is None:
            assert expected == 0  # trec_eval's word for "nothing relevant"
        else:
            assert row.value == pytest.approx(expected, abs=1e-12)
            compared += 1
        assert row.low == row.value == row.high
    assert compared > 1900


def test_exponential_ndcg_is_trec_evals_over_mapped_gains() -> None:
    dataset = draw_ragged(7, GRADED, "nDCG(dcg='exp-log2')@10")
    gain = {0: 0, 1: 1, 2: 3, 3: 7}
    theirs = {
        engine: evaluate_by_trec_eval(dataset, engine, {"ndcg_cut_10"}, rel=1, gain=gain) for engine in "ABCD"
    }
    for row in dataset.iter_scores():
        if row.value is not None:
            assert row.value == pytest.approx(theirs[row.engine][row.query_id]["ndcg_cut_10"], abs=1e-12)


# ---- the rules


def test_a_pool_finds_the_better_engine_where_own_lists_do_not() -> None:
    """B returns one good page and noise, or one poor page alone: a perfect order each time."""
    returned = {
        "A": {"q1": ["a", "b", "c", "d", "e"], "q2": ["a", "b", "c", "d", "e"]},
        "B": {"q1": ["b", "v", "w", "x", "y"], "q2": ["z"]},
    }
    first = zip("abcdevwxy", [1, 3, 3, 2, 2, 0, 0, 0, 0], strict=True)
    second = zip("abcdez", [3, 0, 3, 2, 2, 1], strict=True)
    grades = {("q1", name): grade for name, grade in first} | {("q2", name): grade for name, grade in second}
    names = "AP(own,rel=1)@5 nDCG(own)@5 P(rel=1)@5 AP(rel=1)@5 nDCG@5 nDCG(dcg='exp-log2')@5"
    mean = JudgedDataset(returned, [grades], measures=names).compute_scores().value.mean(axis=(1, 2))
    assert mean.round(3).tolist() == [
        [0.902, 0.876, 0.9, 0.822, 0.852, 0.833],
        [1.0, 1.0, 0.2, 0.2, 0.28, 0.274],
    ]


def test_nothing_returned_is_zero_and_nothing_relevant_is_undefined() -> None:
    names = "nDCG@10 AP@10 R@10 P@5 RR@10 Success@5 SetP sDCG@10 RBP ERR AP(own)@10 nDCG(own)@10"
    result = make_side_by_side({"engine": [0, 0], "none": [], "other": [3]}, names)
    assert set(compute_values(result).values()) == {0.0}
    assert set(compute_values(result, "none").values()) == {0.0}
    lost = make_side_by_side({"engine": [0, 0], "none": []}, names)
    for engine in ("engine", "none"):
        undefined = {measure for measure, value in compute_values(lost, engine).items() if value is None}
        assert undefined == {"nDCG@10", "AP@10", "R@10"}
        assert set(compute_values(lost, engine).values()) == {None, 0.0}


def test_judged_of_an_empty_list_is_unknown() -> None:
    (row,) = make_one_list([], "Judged@10").iter_scores()
    assert (row.value, row.judged) == (None, None)


def test_grade_1_of_3_is_worth_something_to_ndcg_and_nothing_to_ap() -> None:
    assert compute_values(make_one_list([1], "nDCG@10 AP@10")) == {"nDCG@10": 1.0, "AP@10": None}


def test_an_engine_that_broke_has_no_value_and_leaves_the_others_alone() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["a"], "r": ["a"]}, "broke": {"q": None, "r": ["a"]}, "absent": {"r": ["a"]}},
        [{("q", "a"): 3, ("r", "a"): 3}],
        measures="nDCG@10 P@5",
    )
    assert compute_values(dataset, "A") == {"nDCG@10": 1.0, "P@5": pytest.approx(0.2)}
    for engine in ("broke", "absent"):
        rows = [row for row in dataset.iter_scores() if (row.engine, row.query_id) == (engine, "q")]
        assert {(row.value, row.low, row.high, row.judged) for row in rows} == {(None, None, None, None)}
        assert compute_values(dataset, engine, "r") == {"nDCG@10": 1.0, "P@5": pytest.approx(0.2)}


def test_a_document_counts_once_in_a_list() -> None:
    dataset = JudgedDataset(
        {"engine": {"q": ["page", "page/other words", "page", "next"]}},
        [{("q", "page"): 2, ("q", "page/other words"): 3, ("q", "next"): 2}],
        measures="DCG@10 nDCG@10 AP@10 P@4 SetP",
    )
    dcg = 2 + 2 / 2.321928094887362
    assert compute_values(dataset) == pytest.approx(
        {
            "DCG@10": dcg,
            "nDCG@10": dcg / (3 + 2 / LOG3),  # the ideal shows the page in its best words
            "AP@10": (1 + 2 / 4) / 2,
            "P@4": 0.5,
            "SetP": 0.5,
        }
    )


def test_an_engine_gains_by_its_own_words_and_the_ideal_by_the_best() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["page/long"]}, "B": {"q": ["page/short"]}},
        [{("q", "page/long"): 1, ("q", "page/short"): 3}],
    )
    assert compute_value(dataset, "A") == pytest.approx(1 / 3)
    assert compute_value(dataset, "B") == 1


def test_results_below_the_depth_do_not_exist() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["x", "y", "z"]}}, [{("q", "x"): 0, ("q", "y"): 2, ("q", "z"): 3}], depth=2
    )
    dataset = replace(dataset, measures="nDCG@2 RR R")
    assert compute_values(dataset, "A") == pytest.approx({"nDCG@2": 1 / LOG3, "RR": 0.5, "R": 1})


@pytest.mark.parametrize("grades", [[3, 0, 2], [2, None, 3, None], []])
def test_a_depth_beyond_all_lists_takes_no_memory_and_changes_no_value(grades: Sequence[int | None]) -> None:
    """Lists of a million million ranks would not fit into any machine."""
    names = "nDCG AP R RR RBP ERR SetP AP(own) nDCG(own) nDCG@10 AP@10 P@5 sDCG@5 Success@5 Judged@10"
    rival = [None, 3, 1, 2, 0, 2, 3, 1, 2, 1, 3]
    deep, shallow = (
        list(make_side_by_side({"engine": grades, "rival": rival}, names, depth=depth).iter_scores())
        for depth in (10**12, 100)
    )
    assert deep == shallow
    far = list(make_side_by_side({"engine": [3, 0, 2]}, "P@1000000 sDCG@3000000", depth=10**12).iter_scores())
    assert far[0].value == pytest.approx(2e-6)
    ideal = math.fsum(3 / math.log2(1 + rank) for rank in range(1, 3_000_001))
    assert far[1].value == pytest.approx((3 + 2 / 2) / ideal, rel=1e-12)


def test_a_measure_may_not_look_deeper_than_was_judged() -> None:
    with pytest.raises(InputError, match=r"P@20 needs more ranks than are judged \(--depth 10"):
        compute_value(make_one_list([1], "P@20"))


# ---- what has no grade


def test_an_unjudged_snippet_has_one_mix_of_the_grades_of_its_query_for_all_measures() -> None:
    """Of 0 and 2: what each measure gives with either grade, in the same shares."""
    names = "P@3 DCG@3 sDCG@3 RR@3 Success@2 SetP RBP(p=0.5) ERR@3 DCG(dcg='exp-log2')@3"
    result = compute_values(make_one_list([0, None, 2], names))
    share = 3 * (result["P@3"] or 0) - 1
    assert 0 < share < 1
    assert share * IMPUTATIONS == pytest.approx(round(share * IMPUTATIONS))
    with_0, with_2 = (compute_values(make_one_list([0, grade, 2], names)) for grade in (0, 2))
    for measure in result:
        mixed = (1 - share) * (with_0[measure] or 0) + share * (with_2[measure] or 0)
        assert result[measure] == pytest.approx(mixed)


def test_an_unjudged_snippet_of_a_query_with_one_grade_gets_that_grade() -> None:
    names = "DCG@3 AP@3 R@3 nDCG@3 RR@3 ERR@3 AP(own)@3"
    unjudged, judged = (
        make_side_by_side({"engine": [2, grade, 2], "other": [2]}, names) for grade in (None, 2)
    )
    assert compute_values(unjudged) == pytest.approx(compute_values(judged))


def test_an_unjudged_document_counts_in_the_pool_as_in_the_list() -> None:
    """With grade 0 the pool has two relevant documents, with 2 or 3 it has three."""
    dataset = make_side_by_side({"engine": [2, None, 0], "other": [3]}, "P@3 DCG@3 AP@3 R@3 nDCG@3 AP(own)@3")
    result = {measure: value or 0 for measure, value in compute_values(dataset).items()}
    relevant = 3 * result["P@3"] - 1
    best = (result["DCG@3"] - 2) * LOG3 - 2 * relevant
    assert -1e-9 < best < relevant < 1
    assert result["R@3"] == pytest.approx((1 - relevant) / 2 + relevant * 2 / 3)
    assert result["AP@3"] == pytest.approx((1 - relevant) / 2 + relevant * 2 / 3)
    assert result["AP(own)@3"] == pytest.approx(1)
    assert result["nDCG@3"] == pytest.approx(
        (1 - relevant) * 2 / (3 + 2 / LOG3)
        + (relevant - best) * (2 + 2 / LOG3) / (3 + 2 / LOG3 + 2 / 2)
        + best * (2 + 3 / LOG3) / (3 + 3 / LOG3 + 2 / 2)
    )


def test_a_pair_has_the_same_grades_for_all_engines() -> None:
    """A's other results are good and B's are not: what both return is worth the same to both."""
    dataset = JudgedDataset(
        {"A": {"q": ["shared", "good", "fine"]}, "B": {"q": ["shared", "bad", "poor"]}},
        [{("q", "shared"): None, ("q", "good"): 3, ("q", "fine"): 3, ("q", "bad"): 0, ("q", "poor"): 1}],
        measures="P@1 DCG@1 RR@1 ERR@1",
    )
    assert compute_values(dataset, "A") == compute_values(dataset, "B")
    assert compute_values(dataset, "A")["DCG@1"] is not None


def test_a_query_without_one_grade_has_no_value_although_others_have_grades() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["x"], "r": ["y"]}}, [{("q", "x"): None, ("r", "y"): 2}], measures="P@1 nDCG@1 DCG@1"
    )
    assert set(compute_values(dataset, "A").values()) == {None}
    assert set(compute_values(dataset, "A", "r").values()) == {1.0, 2.0}


def test_a_list_without_one_grade_has_bounds_and_no_value() -> None:
    dataset = make_side_by_side({"engine": [None], "other": [2, 0, 0]}, "P@1 DCG@1")
    assert compute_values(dataset) == {"P@1": None, "DCG@1": None}
    rows = [row for row in dataset.iter_scores() if row.engine == "engine"]
    assert [(row.low, row.high) for row in rows] == [(0.0, 1.0), (0.0, 3.0)]


def test_a_pool_without_one_grade_says_nothing() -> None:
    names = "nDCG@10 AP@10 R@5 P@5 RR SetP RBP ERR sDCG@5 AP(own)@10 nDCG(own)@10 Judged@10"
    dataset = make_side_by_side({"engine": [None, None], "other": [None] * 12, "none": []}, names)
    assert compute_values(dataset) == dict.fromkeys(names.replace("RBP", "RBP(p=0.8)").split()) | {
        "Judged@10": 0.0
    }
    assert compute_values(dataset, "none")["P@5"] == 0.0
    bounds = {row.measure: (row.low, row.high) for row in dataset.iter_scores() if row.engine == "engine"}
    assert bounds["P@5"] == (0.0, 0.4)
    assert bounds["nDCG@10"] == bounds["AP@10"] == (0.0, 1.0)


def test_a_pool_of_nothing_relevant_known_has_bounds_and_no_value() -> None:
    """Each measure is defined once an unjudged result is relevant: b's own, or a's at rank 2 of 1."""
    names = "nDCG@2 AP@2 R@2 nDCG(own)@2"
    dataset = make_side_by_side({"a": [0, None], "b": [None], "c": [0], "none": []}, names, scale=BINARY)
    result: dict[tuple[str, str], Any] = {
        (row.engine, row.measure): (row.value, row.low, row.high) for row in dataset.iter_scores()
    }
    at_2 = {"nDCG@2": 1 / LOG3, "AP@2": 1 / 2, "R@2": 1}
    for measure, high in at_2.items():
        assert result["a", measure] == (None, 0, pytest.approx(high))
        assert result["b", measure] == (None, 0, 1)
        assert result["c", measure] == result["none", measure] == (None, 0, 0)
    assert result["a", "nDCG(own)@2"] == (0, 0, pytest.approx(1 / LOG3))
    assert result["c", "nDCG(own)@2"] == (0, 0, 0)


def test_the_only_unjudged_result_is_relevant_wherever_the_measure_is_defined() -> None:
    dataset = make_side_by_side({"a": [0, None], "c": [0]}, "nDCG@2")
    assert [(row.value, row.low, row.high) for row in dataset.iter_scores()] == [
        (None, pytest.approx(1 / LOG3), pytest.approx(1 / LOG3)),
        (None, 0, 0),
    ]


def test_an_unjudged_result_below_the_cutoff_may_define_a_measure() -> None:
    dataset = make_side_by_side({"a": [0, 0, None], "c": [0]}, "nDCG@2 AP@2 P@2")
    result: dict[tuple[str, str], Any] = {
        (row.engine, row.measure): (row.value, row.low, row.high) for row in dataset.iter_scores()
    }
    assert result["a", "nDCG@2"] == result["a", "AP@2"] == result["c", "AP@2"] == (None, 0, 0)
    assert result["a", "P@2"] == (0, 0, 0)


def test_a_repeat_that_may_have_no_value_moves_the_mean_of_a_query_or_is_left_out() -> None:
    """Of b it is 1 at first; in the second repeat it is 1 / log2(3), or there is none."""
    dataset = JudgedDataset(
        {"a": {"q": ["x"]}, "b": {"q": ["y", "z"]}},
        [{("q", "x"): 0, ("q", "y"): 1, ("q", "z"): 0}, {("q", "x"): 0, ("q", "y"): 0, ("q", "z"): None}],
        BINARY,
        measures="nDCG@2",
    )
    value, low, high = dataset.compute_scores().average_with_bounds()
    assert value.ravel().tolist() == high.ravel().tolist() == [0, 1]
    assert low.ravel().tolist() == [0, pytest.approx((1 + 1 / LOG3) / 2)]


@settings(max_examples=count_examples(50))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2)), max_size=6))
def test_a_bounded_mean_is_the_extreme_over_all_that_may_take_part(cells: list[tuple[int, int, int]]) -> None:
    """Of each (low, width, kind): kind 0 has a value, 1 may get one, 2 never."""
    low = np.array([low if kind < 2 else np.nan for low, _, kind in cells], float)
    high = low + [width for _, width, _ in cells]
    value = np.array([low if kind == 0 else np.nan for low, _, kind in cells], float)
    sure = [at for at, cell in enumerate(cells) if cell[2] == 0]
    maybe = [at for at, cell in enumerate(cells) if cell[2] == 1]
    chosen = [
        [*sure, *some] for count in range(len(maybe) + 1) for some in itertools.combinations(maybe, count)
    ]
    means = [(low[some].mean(), high[some].mean()) for some in chosen if some]
    expected = (min(low for low, _ in means), max(high for _, high in means)) if means else (np.nan, np.nan)
    assert compute_bounded_mean(value, low, high)[1:] == pytest.approx(expected, nan_ok=True)


def test_a_bound_of_zero_has_no_sign() -> None:
    value, ends = np.array([0.0, np.nan]), np.zeros(2)
    assert not np.signbit(compute_bounded_mean(value, ends, ends)).any()


def test_a_page_judged_in_other_words_keeps_its_known_grade_in_the_ideal() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["page/long"]}, "B": {"q": ["page/short", "next"]}},
        [{("q", "page/long"): None, ("q", "page/short"): 2, ("q", "next"): 1}],
    )
    (row,) = (row for row in dataset.iter_scores() if row.engine == "A")
    assert row.value is None
    assert row.low == 0
    assert row.high == pytest.approx(3 / (3 + 1 / LOG3))
    assert row.judged == 0


def test_an_imputed_grade_in_other_words_raises_the_ideal_of_all() -> None:
    """The page is worth nothing in B's words; A's are at rank 2 like those of grade 0 and of grade 1."""
    queries = {"A": ["poor", "page/long"], "B": ["page/short", "fine"], "C": ["other", "bad"]}
    grades = {"poor": 0, "page/long": None, "page/short": 0, "fine": 1, "other": 1, "bad": 0}
    dataset = JudgedDataset(
        {engine: {"q": names} for engine, names in queries.items()},
        [{("q", name): grade for name, grade in grades.items()}],
    )
    gain = 1 / LOG3
    two, three = 1 + gain, 1 + gain + 1 / 2
    share = (compute_value(dataset, "A") or 0) / (gain / three)
    assert 0 < share < 1
    assert compute_value(dataset, "B") == pytest.approx((1 - share) * gain / two + share * gain / three)


def test_judged_is_the_share_down_to_the_cutoff() -> None:
    dataset = make_one_list([3, 2, None, 1], "P@2 P@3 nDCG@10 SetP")
    assert [row.judged for row in dataset.iter_scores()] == pytest.approx([1, 2 / 3, 3 / 4, 3 / 4])


def test_a_repeat_without_a_judgment_is_unjudged_there_alone() -> None:
    dataset = JudgedDataset(
        {"A": {"q": ["x", "y"]}},
        [{("q", "x"): 1, ("q", "y"): 1}, {("q", "x"): 1}],
        BINARY,
        measures="P@2 Judged@2",
    )
    rows = {(row.repeat, row.measure): row for row in dataset.iter_scores()}
    assert rows[0, "P@2"].low == 1
    assert (rows[1, "P@2"].low, rows[1, "P@2"].value, rows[1, "P@2"].high) == (0.5, 1, 1)
    assert rows[1, "Judged@2"].value == 0.5


# ---- judgments


def test_a_failed_judgment_gives_way_to_a_grade_and_strangers_are_ignored() -> None:
    dataset = JudgedDataset({"A": {"q": ["x"]}}, [{("q", "x"): None}], measures="P@1")
    extra = [make_judgment("q", "x", 3), make_judgment("q", "stranger", 3), make_judgment("other", "x", 0)]
    for late in (extra, extra[::-1]):
        assert compute_value(replace(dataset, extra=late), "A") == 1


@pytest.mark.parametrize(
    ("grade", "says"),
    [
        (1, "query 'q', snippet 'x', repeat 0 has the grades 1 and 2"),
        (0, "query 'q', snippet 'x', repeat 0 has the grades 0 and 2"),
        (3, "query 'q', snippet 'x', repeat 0 has the grades 2 and 3"),
        (4, "query 'q', snippet 'x', repeat 0 has grade 4, which is not on the graded scale 0-3"),
    ],
)
def test_two_grades_for_one_pair_are_refused(grade: int, says: str) -> None:
    dataset = JudgedDataset({"A": {"q": ["x"]}}, [{("q", "x"): 2}], extra=[make_judgment("q", "x", grade)])
    with pytest.raises(InputError, match=says):
        dataset.compute_scores()


@pytest.mark.parametrize("grade", [-1, 4])
def test_a_grade_off_the_scale_is_refused(grade: int) -> None:
    with pytest.raises(InputError, match=f"has grade {grade}, which is not on the graded scale 0-3"):
        compute_value(make_one_list([grade], "P@1"))


def test_two_rankings_of_one_engine_for_one_query_are_refused() -> None:
    dataset = make_one_list([1], "P@1")
    with pytest.raises(InputError, match="engine 'engine' has two rankings for query 'q'"):
        score_rankings(dataset.make_rankings() * 2, [], parse_measures("P@1"), GRADED, depth=10)


def test_documents_of_another_pool_are_refused() -> None:
    dataset = make_one_list([1, 2], "P@1")
    rankings = [replace(ranking, documents=()) for ranking in dataset.make_rankings()]
    with pytest.raises(ValueError, match="the pool has 0 documents for engine 'engine'"):
        score_rankings(rankings, [], parse_measures("P@1"), GRADED, depth=10)


def test_no_rankings_and_no_judgments_are_no_scores() -> None:
    assert list(JudgedDataset({}, []).iter_scores()) == []
    (row,) = JudgedDataset({"A": {"q": ["x"]}}, []).iter_scores()
    assert (row.repeat, row.value, row.judged) == (0, None, 0)


# ---- what can be relied on whatever the data


def test_rows_come_sorted_and_hold_plain_numbers() -> None:
    dataset = draw_ragged(3, GRADED, "nDCG@10 P@5")
    rows = list(dataset.iter_scores())
    assert len(rows) == 4 * 40 * 2
    keys = [(row.engine, row.query_id, row.repeat) for row in rows]
    assert keys == sorted(keys)
    assert {type(row.value) for row in rows} <= {float, type(None)}
    json.dumps([row.value for row in rows])


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_input_never_reaches_a_result(seed: int) -> None:
    rng = random.Random(seed)
    dataset = draw_ragged(seed, GRADED, "nDCG@10 AP@10 P@5 RR@10 sDCG@10 R@5 nDCG(own)@10 ERR")
    holes = {pair: None if rng.random() < 0.1 else grade for pair, grade in dataset.grades[0].items()}
    dataset = replace(dataset, grades=[holes, dataset.grades[0]])
    rankings, judgments = dataset.make_rankings(), dataset.make_judgments()
    rng.shuffle(rankings)
    rng.shuffle(judgments)
    again = score_rankings(rankings, judgments, parse_measures(dataset.measures), GRADED, depth=10)
    assert list(again.to_records()) == list(dataset.iter_scores())


def test_the_hash_seed_never_reaches_a_result() -> None:
    """The seed of this process is random."""
    program = (
        "from tests.unit.measure.test_score import list_hexadecimal_values; print(list_hexadecimal_values())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == f"{list_hexadecimal_values()}\n"


def list_hexadecimal_values() -> list[str | None]:
    """Return the bits of each value of a data set."""
    rows = draw_ragged(1, GRADED, "nDCG@10 AP@10 ERR").iter_scores()
    return [None if row.value is None else row.value.hex() for row in rows]


grade_lists = st.lists(st.integers(0, 3), min_size=1, max_size=6)


@settings(max_examples=count_examples(30))
@given(grade_lists, grade_lists, st.data())
def test_finding_one_more_relevant_result_never_hurts(
    a: list[int], b: list[int], data: st.DataObject
) -> None:
    """Not even relatively: the lead of the engine that found it never turns."""
    at = data.draw(st.integers(0, len(a) - 1))
    before, after = [*a[:at], 0, *a[at + 1 :]], [*a[:at], data.draw(st.integers(2, 3)), *a[at + 1 :]]
    free, pooled = "P@5 DCG@5 RBP RR@5 Success@5 ERR sDCG@5 SetP", "AP@5 nDCG@5 R@5"
    old, new = (
        make_side_by_side({"A": mine, "B": [*b, 3]}, f"{free} {pooled}", depth=7) for mine in (before, after)
    )
    old_a, new_a, old_b, new_b = (
        compute_values(dataset, engine) for engine in "AB" for dataset in (old, new)
    )
    for measure in map(str, parse_measures(free)):
        assert (new_a[measure] or 0) >= (old_a[measure] or 0) - 1e-12
    for measure in map(str, parse_measures(pooled)):
        was = (old_a[measure] or 0) - (old_b[measure] or 0)
        now = (new_a[measure] or 0) - (new_b[measure] or 0)
        assert now > -1e-12 or was < 1e-12
