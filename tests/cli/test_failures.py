"""`judge run --failures`: the reasons of results that are not relevant, sorted into classes."""

import json
from pathlib import Path

from tests.support.command_line import make_words, run_judge
from tests.support.factories import extract_fenced, list_rows, read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

TEXTS = {"q1": {"x": ("good", "stale"), "y": ("else", "stale")}, "q2": {"x": ("good", "good too")}}


def reply_with_class(request: ChatRequest) -> Reply:
    """Give a reason that is the text; sort reasons by their words, and none of the query with "hard"."""
    shown = extract_fenced(request.prompt)
    if "Sort a grader's reasons" in request.prompt:
        names = ["outdated" if "stale" in line else "off_topic" for line in shown.split("\n")]
        return Reply(text=json.dumps({"classes": names[:-1] if "hard" in shown else names}))
    return Reply(text=json.dumps({"reason": shown, "grade": 3 if "good" in shown else 1}))


def test_shares_counts_and_examples(tmp_path: Path) -> None:
    rows = list_rows({**TEXTS, "q3": {"y": ("hard", "stale")}})
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out"
    with LoopbackServer(reply_with_class) as server:
        words = (*make_words(data, server), "--failures", "--min-coverage", 0.5)
        assert "failures: at most 3 questions" in run_judge("estimate", *words[1:]).stdout
        run = run_judge(*words, "--out", out)
        assert run.returncode == 0, run.stderr
        assert len(server.requests) == 7 + 1 + 2  # 7 pairs; q1 once; q3 twice
    dimension = read_summary(out)["dimensions"]["failures"]
    x, y = dimension["engines"]["x"], dimension["engines"]["y"]
    assert (x["outdated"]["mean"], x["outdated"]["queries"]) == (0.25, 2)
    assert (x["off_topic"]["mean"], y["off_topic"]["mean"], y["off_topic"]["queries"]) == (0.0, 0.5, 1)
    assert "not relevant at y: off_topic 1, outdated 1" in run.stdout
    assert {note["text"] for note in dimension["notes"]} == {"outdated: stale", "off_topic: else"}


def test_results_that_people_labelled_are_said_to_have_no_reason(tmp_path: Path) -> None:
    data, out, labels = (
        write_rows(tmp_path / "data.jsonl", list_rows(TEXTS)),
        tmp_path / "out",
        tmp_path / "l.csv",
    )
    with LoopbackServer(reply_with_class) as server:
        assert run_judge(*make_words(data, server), "--out", tmp_path / "plain").returncode == 0
        lines = (tmp_path / "plain" / "qrels.txt").read_text().splitlines()
        stale = next(line for line in lines if line.startswith("q1") and line.endswith(" 1"))
        labels.write_text(stale + "\n")
        run = run_judge(*make_words(data, server), "--failures", "--qrels", labels, "--out", out)
    assert run.returncode == 0, run.stderr
    assert "1 of 2 pairs that are not relevant have no reason" in run.stdout


def test_after_questions_that_stop_the_next_dimensions_are_left_out(tmp_path: Path) -> None:
    rows = list_rows({f"q{number}": {"x": ("good",), "y": (f"else {number}",)} for number in range(32)})
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out"

    def answer(request: ChatRequest) -> Reply:
        is_grade = "grade" in request.prompt and "information point" not in request.prompt
        return reply_with_class(request) if is_grade else Reply(text="no object")

    with LoopbackServer(answer) as server:
        run = run_judge(*make_words(data, server), "--points", "--failures", "--out", out)
    assert run.returncode == 3
    assert "not all questions of the dimensions are answered" in run.stderr
    dimensions = read_summary(out)["dimensions"]
    assert list(dimensions) == ["points"]
