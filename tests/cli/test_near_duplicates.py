"""`judge run --near-duplicates`: one judgment serves snippets of a query that hardly differ."""

import json
from pathlib import Path

from tests.support.command_line import make_words, run_judge
from tests.support.factories import read_judgments, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer

TEXT = "Pale gums are a sign of anaemia in puppies, and so is a fast pulse at rest, grade=3."


def test_a_near_duplicate_costs_no_call_and_names_the_judged_snippet(tmp_path: Path) -> None:
    texts = {"a": TEXT, "b": f"“{TEXT}” …", "c": "Hungry puppies whine for hours: grade=0"}
    rows = [
        {"query_id": "q", "query": "signs of anaemia", "engine": engine, "rank": 1, "snippet": text}
        for engine, text in texts.items()
    ]
    out = tmp_path / "out"
    remark = "Near-duplicates, which take the judgment of another snippet of their query: 1 of 3.\n"
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(write_rows(tmp_path / "data.jsonl", rows), server), "--near-duplicates")
        estimate = run_judge("estimate", *words[1:])
        assert estimate.returncode == 0, estimate.stderr
        assert remark in estimate.stdout
        assert "2 judgments: 0 without a call, 2 calls to pay" in estimate.stdout
        # A near-duplicate may state other points: 1 query and 3 pairs.
        assert "points: at most 4 questions" in run_judge("estimate", *words[1:], "--points").stdout
        run = run_judge(*words, "--out", out, "--repeats", 2)
        assert run.returncode == 0, run.stderr
        assert len(server.requests) == 4
        assert (
            "Near-duplicates, which take the judgment of another snippet of their query: 1 of 3."
            in run.stdout
        )
        files = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        assert run_judge(*words, "--out", out, "--repeats", 2).returncode == 0  # resumes
        other = run_judge(*words[:-1], "--out", out, "--repeats", 2)
        assert other.returncode == 2
        assert "near_duplicates" in other.stderr
        assert len(server.requests) == 4
    lines = read_judgments(out)
    assert len(lines) == 6
    taken = [line for line in lines if "judged_snippet_id" in line]
    assert [line["repeat"] for line in taken] == [1, 2]
    judged = {(line["snippet_id"], line["repeat"]): line for line in lines if line not in taken}
    for line in taken:
        source = judged[line["judged_snippet_id"], line["repeat"]]
        assert {**source, "snippet_id": line["snippet_id"]} == {
            name: value for name, value in line.items() if name != "judged_snippet_id"
        }
    results = json.loads((out / "results.json").read_text())
    assert results["summary"]["near_duplicates"] == 1
    (query,) = results["queries"]
    ids = {
        judgment.get("judged_snippet_id")
        for engine in query["engines"].values()
        for judgment in engine["snippets"][0]["judgments"]
    }
    assert ids == {None, taken[0]["judged_snippet_id"]}
    shown = run_judge("show", out, "--query", "q")
    assert shown.stdout.count(f"(judgment of snippet {taken[0]['judged_snippet_id']})") == 2
    assert run_judge("score", out, "--save").returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == files


def test_a_near_duplicate_never_takes_the_place_of_a_label(tmp_path: Path) -> None:
    """The labelled pair of the sample is judged too, but it shows the grade of a person."""
    rows = [
        {"query_id": "q", "query": "signs of anaemia", "engine": engine, "rank": 1, "snippet": text}
        for engine, text in (("a", TEXT), ("b", f"“{TEXT}” …"))
    ]
    data = write_rows(tmp_path / "data.jsonl", rows)
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(data, server)
        assert run_judge(*words, "--out", tmp_path / "plain").returncode == 0
        first = read_judgments(tmp_path / "plain")[0]["snippet_id"]
        (tmp_path / "people.qrels").write_text(f"q 0 {first} 0\n", encoding="utf-8")
        options = ("--near-duplicates", "--qrels", tmp_path / "people.qrels", "--check", 1)
        assert run_judge(*words, *options, "--out", tmp_path / "run").returncode == 0
    judged = {each["snippet_id"]: each for each in read_judgments(tmp_path / "run")}
    assert [each.get("judged_snippet_id") for each in judged.values()] == [None, None]
    assert judged[first]["grade"] == 0
