"""What summary.json says of findings: every field, null where nothing can be said, JSON throughout."""

import json
from typing import Any

import numpy as np
import pytest

from judge.analysis.analyse_run import analyse_run, list_deciding_queries
from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.dataset.pool import build_pool
from judge.files.json_text import dump_json
from judge.measure.compare import compare_engines
from judge.measure.measures import parse_measure, parse_measures
from judge.measure.segments import compare_segments
from judge.measure.sensitivity import OwnListReversal
from judge.measure.stability import measure_stability
from judge.messages import ENGLISH
from judge.records import GRADED, Dataset, Query
from judge.report.run_warnings import iter_warnings
from judge.runs.record_json import to_json
from tests.unit.analysis.labelled import make_run
from tests.unit.measure.judged_dataset import make_judgment
from tests.unit.measure.tables import NAN, tabulate_scores

QUERIES = {f"q{number:02}": Query(f"q{number:02}", f"text {number}", "text", "en") for number in range(6)}


def write_and_read(record: object) -> Any:
    """Return the record as a reader of summary.json gets it."""
    return json.loads(dump_json(to_json(record)))


def test_a_run_without_queries_has_every_key() -> None:
    data = Dataset({}, (), ())
    run = JudgedRun(
        data, build_pool(data, 10), (), RunSpec("someone/graded", GRADED, 1, parse_measures("P@5"))
    )
    summary = write_and_read(analyse_run(run).summary)
    assert summary["schema"] == 2
    nothing: dict[str, Any] = {
        "comparisons": [], "own_list_reversal": None, "segments": {}, "stability": None, "panel": None,
        "self_preference": [], "flagged_sensitivity": None, "deciding_queries": None, "cost": None,
    }  # fmt: skip
    assert {key: summary[key] for key in nothing} == nothing


def test_a_comparison_has_every_number_and_a_winner_when_one_is_named() -> None:
    clear = [0.9, 0.8, 0.85, 0.9, 0.7, 0.8]
    (pair,) = compare_engines(tabulate_scores([[0.01, 0, 0, 0, 0, 0], clear]))
    difference = np.array(clear) - [0.01, 0, 0, 0, 0, 0]
    (row,) = map(write_and_read, (pair,))
    assert (row["measure"], row["decides"], row["a"], row["b"]) == ("P@5", True, "b", "a")
    assert (row["conclusion"], row["winner"], row["outcome"]) == ("b > a", "b", "better")
    assert (row["n"], row["wins"], row["ties"], row["losses"]) == (6, 6, 0, 0)
    assert row["difference"] == pytest.approx(difference.mean())
    assert row["d_z"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert row["sd"] == pytest.approx(difference.std(ddof=1))
    assert 0 < row["p_adjusted"] <= 0.05
    assert row["robust"] is True
    assert row["ci95"][0] < row["difference"] < row["ci95"][1]
    assert row["bounds"] == [row["difference"]] * 2
    assert row["detectable"] == pytest.approx(row["detectable_doubled"] * 2**0.5)
    assert row["at_least_queries"] is None


def test_the_first_measure_decides_and_the_others_are_descriptive() -> None:
    values = np.random.default_rng(0).random((2, 6, 1, 2))
    pairs = compare_engines(tabulate_scores(values, measures="P@5 P@10"))
    rows = [write_and_read(row) for row in pairs]
    assert [(row["measure"], row["decides"]) for row in rows] == [("P@5", True), ("P@10", False)]


def test_a_note_says_that_a_cutoff_is_deeper_than_every_list() -> None:
    grades = {("q1", "x"): 3, ("q1", "y"): 0, ("q2", "x"): 1}
    run = make_run(
        {"a": {"q1": ("x", "y"), "q2": ("x",)}, "b": {"q1": ("y",)}},
        grades, measures="P@2 P@3 sDCG@3 nDCG@3 SetP", depth=5,
    )  # fmt: skip
    summary = analyse_run(run).summary
    assert summary.notes == {
        **dict.fromkeys(
            ("P@3", "sDCG@3"), "no list goes below rank 2; missing results count as not relevant"
        ),
        "SetP": parse_measure("SetP").note,
    }
    assert [warning for warning in iter_warnings(ENGLISH, summary) if "rank 2" in warning] == [
        "P@3 and sDCG@3: no list goes below rank 2; missing results count as not relevant."
    ]


def test_the_queries_that_decide_carry_their_texts() -> None:
    scores = tabulate_scores([[0.9, 0.5], [0.1, 0.6]])
    pairs = compare_engines(scores)
    row = write_and_read(list_deciding_queries(scores, pairs, QUERIES))
    assert (row["measure"], row["a"], row["b"], row["n"]) == ("P@5", "a", "b", 2)
    assert [(each["query_id"], each["query"]) for each in row["queries"]] == [
        ("q00", "text 0"), ("q01", "text 1")
    ]  # fmt: skip
    assert [each["contribution"] for each in row["queries"]] == pytest.approx([0.4, -0.05])


def test_the_largest_differences_come_first_and_add_up_to_the_mean() -> None:
    scores = tabulate_scores([[0.9, 0.5, 0.4, 0.5, 0.1], [0.1, 0.5, 0.5, NAN, 0.4]])
    (pair,) = compare_engines(scores)
    row = write_and_read(list_deciding_queries(scores, [pair], QUERIES))
    assert [each["query_id"] for each in row["queries"]] == ["q00", "q04", "q02"]
    assert [each["difference"] for each in row["queries"]] == pytest.approx([0.8, -0.3, -0.1])
    assert [each["contribution"] for each in row["queries"]] == pytest.approx([0.2, -0.075, -0.025])
    assert sum(each["contribution"] for each in row["queries"]) == pytest.approx(pair.difference)


def test_ten_queries_decide_at_most_and_equal_differences_go_by_id() -> None:
    scores = tabulate_scores([[1.0] * 12, [0.0] * 12])
    queries = {id_: Query(id_, "text", "text", "en") for id_ in scores.queries}
    row = write_and_read(list_deciding_queries(scores, compare_engines(scores), queries))
    assert [each["query_id"] for each in row["queries"]] == [f"q{number:02}" for number in range(10)]


def test_a_comparison_of_nothing_is_null_and_still_there() -> None:
    (row,) = map(write_and_read, compare_engines(tabulate_scores([[NAN], [NAN]])))
    numbers = (
        "difference", "ci95", "bounds", "sd", "d_z", "p_adjusted", "detectable", "detectable_doubled",
        "at_least_queries", "robust",
    )  # fmt: skip
    assert {row[name] for name in (*numbers, "winner")} == {None}
    assert (row["n"], row["outcome"]) == (0, "undetermined")


def test_slices_are_by_column_and_value() -> None:
    queries = {
        "q00": Query("q00", "text", "text", "zh", extra={"topic": "news"}),
        "q01": Query("q01", "text", "text", "en", extra={"topic": "law"}),
        "q02": Query("q02", "text", "text", "en", extra={"topic": "law"}),
    }
    result = compare_segments(tabulate_scores([[0.5, 0.25, 0.75], [0.5, NAN, 0.5]]), queries)
    rows = {
        column: {value: write_and_read(segment) for value, segment in segments.items()}
        for column, segments in result.items()
    }
    assert {column: list(values) for column, values in rows.items()} == {
        "lang": ["en", "zh"],
        "topic": ["law", "news"],
    }
    en = rows["lang"]["en"]
    assert en == rows["topic"]["law"]
    assert en["queries"] == 2
    assert en["engines"]["a"]["P@5"] == {"mean": 0.5, "ci95": [0, 1], "n": 2}
    assert en["engines"]["b"]["P@5"] == {"mean": 0.5, "ci95": None, "n": 1}
    assert (en["comparisons"][0]["a"], en["comparisons"][0]["n"]) == ("a", 1)


def test_a_reversal_by_own_lists_has_every_number() -> None:
    result = OwnListReversal(
        "nDCG@5", "nDCG(own)@5", "A", "B", (0.852, 0.28), (0.876, 1.0), (4.5, 1.0), 2, False
    )
    assert write_and_read(result) == {
        "measure": "nDCG@5", "own": "nDCG(own)@5", "better": "A", "worse": "B", "n": 2,
        "pooled": [0.852, 0.28], "alone": [0.876, 1.0], "relevant": [4.5, 1.0],
        "significant": False,
    }  # fmt: skip


def test_stability_says_each_number_or_why_it_is_not_known() -> None:
    grades = {"q1": [3, 0], "q2": [2, 2]}
    judgments = [
        make_judgment(query, "s", grade, at)
        for query, both in grades.items()
        for at, grade in enumerate(both, 1)
    ]
    result = measure_stability(
        tabulate_scores([[[0.5, 0.75], [1.0, 1.0]], [[NAN, NAN], [NAN, NAN]]]), judgments, GRADED
    )
    row = write_and_read(result)
    assert (row["repeats"], row["pairs"], row["margin"], row["fleiss_kappa"]) == (2, 2, 0.01, None)
    assert row["flip_rate"] == {"value": 0.5, "ci95": [0, 1]}
    measure = row["measures"]["P@5"]
    assert measure["engines"]["a"]["means"] == [0.75, 0.875]
    assert measure["engines"]["a"]["range"] == 0.125
    assert measure["engines"]["b"] == {
        "means": [None, None], "mean": None, "sd": None, "range": None, "icc": None, "tost_p": None,
    }  # fmt: skip
    assert (measure["smallest_tau"], measure["variance"], measure["equivalent"]) == (None, None, False)
    never = measure_stability(tabulate_scores([[[0.5, 0.5]]]), [], GRADED)
    unknown = write_and_read(never)
    assert unknown["flip_rate"] == {"value": None, "ci95": None, "why": "no pair was judged twice"}
    assert unknown["alpha"] == unknown["flip_rate"]
