"""`judge run --answers`: answers from each engine's results, graded by the reference on the CRAG scale."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy

from judge.dimensions.answers import compute_pearson_r
from tests.support.command_line import make_words, run_judge
from tests.support.factories import extract_fenced, list_rows, read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: The texts of the results of x and y; the reference is "right". z returns nothing.
TEXTS = {
    "q1": ("right", "wrong"),
    "q2": ("half right", "nothing"),
    "q3": ("right", "unreadable"),
}


def reply_with_answer_or_grade(request: ChatRequest) -> Reply:
    shown = extract_fenced(request.prompt)
    if "Answer the query from" in request.prompt:
        assert "Reference" not in request.prompt
        text = shown.partition(" | ")[2]
        return Reply(text=json.dumps({"answer": "" if text == "nothing" else text}))
    if "Grade an answer" in request.prompt:
        assert "Reference answer: right" in request.prompt
        if shown == "unreadable":
            return Reply(text="perfect")
        grade = {"right": "perfect", "half right": "acceptable", "wrong": "incorrect"}[shown]
        return Reply(text=json.dumps({"reason": "so", "grade": grade}))
    return Reply(text=json.dumps({"reason": "so", "grade": 3 if "right" in shown else 0}))


def test_answers_are_graded_by_the_reference(tmp_path: Path) -> None:
    lists = {query: {"x": (x,), "y": (y,)} for query, (x, y) in TEXTS.items()}
    rows = [{**row, "reference": "right"} for row in list_rows(lists)]
    rows.append({"query_id": "q4", "query": "no reference", "engine": "x", "rank": 1, "snippet": "right"})
    rows.append({"query_id": "q1", "query": "what q1", "engine": "w", "error": "500"})
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out"
    with LoopbackServer(reply_with_answer_or_grade) as server:
        words = (*make_words(data, server), "--answers", "--min-coverage", 0.5)
        assert "answers: at most 12 questions" in run_judge("estimate", *words[1:]).stdout
        run = run_judge(*words, "--out", out)
        assert run.returncode == 0, run.stderr
        # 7 pairs; 6 answers; 5 grades, one of them after a second request.
        assert len(server.requests) == 7 + 6 + 5 + 1
    dimension = read_summary(out)["dimensions"]["answers"]
    x, y = dimension["engines"]["x"], dimension["engines"]["y"]
    assert (x["answer_score@5"]["mean"], x["answer_score@5"]["queries"]) == (2.5 / 3, 3)
    assert (y["answer_score@5"]["mean"], y["answer_score@5"]["queries"]) == (-0.5, 2)
    assert y["answer_score@5"]["ci95"] == [-1.0, 1.0]
    assert (y["missing"]["mean"], y["incorrect"]["mean"], x["perfect"]["mean"]) == (0.5, 0.5, 2 / 3)
    assert dimension["engines"]["w"]["answer_score@5"] == {"mean": None, "ci95": None, "queries": 0}
    assert dimension["notes"][0]["text"] == "incorrect: wrong – so"
    assert "3 of 4 queries have a reference" in run.stdout
    assert x["r(nDCG@10)"]["mean"] is None  # nDCG is 1 on each query
    values = json.loads((out / "results.json").read_text())["queries"][2]["engines"]["y"]["dimensions"]
    assert set(values["answers"].values()) == {None}


@pytest.mark.parametrize("count", [2, 3, 20])
def test_the_correlation_is_pearsons_and_two_queries_have_none(count: int) -> None:
    x, y = np.random.default_rng(3).random((2, count))
    sums = np.stack([np.ones(count), x, y, x * x, y * y, x * y], axis=1).sum(0)
    expected = scipy.stats.pearsonr(x, y).statistic if count > 2 else np.nan
    assert float(compute_pearson_r(sums)) == pytest.approx(expected, abs=1e-12, nan_ok=True)
