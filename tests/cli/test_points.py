"""`judge run --points`: the information points of each query, and which results state them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import make_words, run_judge
from tests.support.factories import extract_fenced, list_rows, read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Snippets state the points whose letters they have; a "?" is half of the letter before it.
SNIPPETS = {"x": ("A", "nothing", "B?"), "y": ("AB", "A"), "z": ()}


def reply_with_points(request: ChatRequest) -> Reply:
    lines = extract_fenced(request.prompt).split("\n")
    if "List the information points" in request.prompt:
        points = [{"point": name, "importance": "okay" if name == "C" else "vital"} for name in "ABCD"]
        return Reply(text=json.dumps({"points": points}))
    if "Say for each information point" in request.prompt:
        text = lines[0].partition(" | ")[2]
        support = ["partial" if f"{p}?" in text else "support" if p in text else "not" for p in "ABCD"]
        return Reply(text=json.dumps({"support": support}))
    grade = 0 if lines == ["nothing"] else 3
    return Reply(text=json.dumps({"reason": "so", "grade": grade}))


def make_point_rows() -> list[dict[str, Any]]:
    return list_rows({"q1": SNIPPETS, "q2": SNIPPETS, "q3": {"z": ("A",)}})


def test_points_are_listed_assigned_measured_and_paid_once(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.jsonl", make_point_rows()), tmp_path / "out"
    with LoopbackServer(reply_with_points) as server:
        words = (*make_words(data, server), "--points", "--weights", "recall=2")
        estimate = run_judge("estimate", *words[1:])
        assert "points: at most 12 questions" in estimate.stdout  # 3 queries and 9 pairs
        run = run_judge(*words, "--out", out)
        assert run.returncode == 0, run.stderr
        calls = len(server.requests)
        assert calls == 9 + 3 + 7  # pairs, queries, relevant pairs
        assert run_judge(*words, "--out", out).returncode == 0
        assert len(server.requests) == calls
        # Without the option the dimension stays, and so does what was paid for it.
        paid = read_summary(out)["cost"]
        plain = run_judge(*make_words(data, server), "--out", out)
        assert plain.returncode == 0, plain.stderr
        assert (read_summary(out)["cost"], len(server.requests)) == (paid, calls)
    summary = read_summary(out)
    points = summary["dimensions"]["points"]
    assert points["engines"]["x"]["strict_vital@10"]["mean"] == 1 / 3
    assert points["engines"]["x"]["vital@10"] == {"mean": 0.5, "ci95": None, "queries": 2}
    assert points["engines"]["y"]["strict_vital@10"]["mean"] == 2 / 3
    assert points["engines"]["y"]["weighted@10"]["mean"] == 2 / 3.5
    assert summary["dimensions"]["weights"]["engines"]["y"]["total"]["mean"] == 2 / 3.5
    assert [note["text"] for note in points["notes"]] == ["B; D", "D", "D"]
    assert (
        "The model listed 12 information points for 3 of 3 queries, 9 of them vital; vital points that no"
        " result states in full: 4."
    ) in run.stdout
    assert "  q3: B; D" in run.stdout
    assert summary["cost"]["calls"] == calls
    assert points["cost"]["calls"] == 3 + 7
    assert "strict_vital@10" in (out / "report.html").read_text()
    before = (out / "results.json").read_bytes()
    assert run_judge("score", out, "--save").returncode == 0
    assert (out / "results.json").read_bytes() == before


def test_a_reply_with_too_few_values_leaves_lists_without_a_value(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        reply = reply_with_points(request)
        if "Say for each information point" in request.prompt and "0 | AB" in request.prompt:
            return Reply(text='{"support": ["support"]}')
        return reply

    data, out = write_rows(tmp_path / "data.jsonl", make_point_rows()[:10]), tmp_path / "out"
    with LoopbackServer(answer) as server:
        words = (*make_words(data, server), "--points")
        assert run_judge(*words, "--out", tmp_path / "full").returncode == 3
        run = run_judge(*words, "--out", out, "--min-coverage", 0.5)
    assert run.returncode == 0, run.stderr
    # 2 queries and 6 relevant results are asked about; both results "AB" have no answer.
    assert "points: 2 of 8 questions have no answer: the means can be over different queries." in run.stdout
    failure = "2 of 8 failed: the reply could not be read:"
    assert f"points: not every question has an answer ({failure}" in run.stdout
    assert "); run the same command again to get the rest\n" in run.stdout
    assert "--min-coverage" not in run.stdout  # the run has enough answers
    engines = read_summary(out)["dimensions"]["points"]["engines"]
    assert engines["y"]["all@10"] == {"mean": None, "ci95": None, "queries": 0}
    assert engines["x"]["all@10"]["queries"] == 2


def test_questions_that_are_too_long_are_not_asked_again(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        if "Say for each information point" in request.prompt and "0 | AB" in request.prompt:
            body = {"error": {"code": "context_length_exceeded", "message": "maximum context"}}
            return Reply(status=400, body=json.dumps(body))
        return reply_with_points(request)

    data = write_rows(tmp_path / "data.jsonl", make_point_rows()[:10])
    with LoopbackServer(answer) as server:
        words = (*make_words(data, server), "--points", "--min-coverage", 0.5)
        run = run_judge(*words, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert "points: not every question has an answer (2 of 8 failed: too long for the model:" in run.stdout
    assert "run the same command again" not in run.stdout


def test_repeated_snippets_add_nothing_and_unknown_results_are_not_uncovered(tmp_path: Path) -> None:
    lists: dict[str, dict[str, tuple[str, ...]]] = {
        "q1": {"x": ("AB", "AB", "A")},
        "q2": {"x": ("AB", "A", "no reply"), "y": ("AB",)},
    }

    def answer(request: ChatRequest) -> Reply:
        return Reply(text="") if extract_fenced(request.prompt) == "no reply" else reply_with_points(request)

    out = tmp_path / "out"
    with LoopbackServer(answer) as server:
        words = make_words(write_rows(tmp_path / "data.jsonl", list_rows(lists)), server)
        run = run_judge(*words, "--points", "--min-coverage", 0.5, "--out", out)
    assert run.returncode == 0, run.stderr
    points = read_summary(out)["dimensions"]["points"]
    # AB states 2 points; A repeats one of them. The ideal order is AB, A.
    alpha = points["engines"]["x"]["alpha_nDCG@10"]
    assert alpha["mean"] == pytest.approx((2 + 0.5 / 2) / (2 + 0.5 / math.log2(3)))
    assert alpha["queries"] == 1
    assert points["engines"]["y"]["alpha_nDCG@10"]["mean"] is None
    assert points["engines"]["y"]["strict_vital@10"]["mean"] == 2 / 3
    assert [(note["query_id"], note["text"]) for note in points["notes"]] == [("q1", "D")]
    assert points["remarks"][0].endswith("vital points that no result states in full: 1.")
    assert points["remarks"][1].startswith("Queries with a result that has no grade or no answer: 1; it")


def test_no_remark_counts_points_that_the_model_did_not_list(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        lists_points = "List the information points" in request.prompt
        return Reply(text="") if lists_points else reply_with_points(request)

    with LoopbackServer(answer) as server:
        words = make_words(write_rows(tmp_path / "data.jsonl", list_rows({"q1": {"x": ("A",)}})), server)
        run = run_judge(*words, "--points", "--min-coverage", 0, "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    assert read_summary(tmp_path / "out")["dimensions"]["points"]["remarks"] == [
        "1 of 1 questions have no answer: the means can be over different queries."
    ]
