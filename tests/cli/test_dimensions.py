"""Dimensions beside relevance: from the option to the terminal, the files, the report and the Python API."""

from __future__ import annotations

import json
from pathlib import Path

import judge
from judge.runs.folder import RunFolder
from judge.runs.load import load_run
from tests.support.command_line import command
from tests.support.factories import write_rows

TEXTS = {"a": ("pale gums", "pale gums", "fast pulse"), "b": ("pale gums", "hungry puppies")}


def dataset(folder: Path) -> Path:
    rows = [
        {
            "query_id": query,
            "query": "signs of anaemia",
            "engine": engine,
            "rank": rank,
            "snippet": text,
            "url": f"https://{text.split()[0]}.example/{rank}",
        }
        for query in ("q1", "q2")
        for engine, texts in TEXTS.items()
        for rank, text in enumerate(texts, start=1)
    ]
    rows.append({"query_id": "q3", "query": "x", "engine": "a", "error": "500"})
    rows.append({"query_id": "q3", "query": "x", "engine": "b", "rank": 1, "snippet": "text"})
    return write_rows(folder / "data.jsonl", rows)


def test_diversity_is_in_every_place_and_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("run", dataset(tmp_path), "-m", "lexical", "--out", out)
    assert command(*words).returncode == 0
    assert "dimensions" not in json.loads((out / "summary.json").read_text())
    scored = command("score", out, "--diversity")
    assert "diversity  sites@10" in scored.stdout
    [of_b] = [line for line in scored.stdout.split("diversity  sites@10")[1].splitlines() if line[:2] == "b "]
    assert "0.0000 (3)" in of_b  # its sites are known in 2 queries
    assert "dimensions" not in json.loads((out / "summary.json").read_text())
    run = command(*words, "--diversity")  # resumes in the same folder
    assert run.returncode == 0, run.stderr
    assert "diversity  sites@10" in run.stdout
    summary = json.loads((out / "summary.json").read_text())
    engines = summary["dimensions"]["diversity"]["engines"]
    assert engines["a"]["sites@10"] == {"mean": 2.0, "ci95": None, "queries": 2}
    assert engines["a"]["near-duplicates@10"]["mean"] == 1 / 3
    assert engines["b"]["sites@10"] == {"mean": 2.0, "ci95": None, "queries": 2}
    results = json.loads((out / "results.json").read_text())
    assert results["queries"][0]["engines"]["a"]["dimensions"]["diversity"]["sites@10"] == 2.0
    assert results["queries"][2]["engines"]["b"]["dimensions"]["diversity"]["sites@10"] is None
    assert "dimensions" not in results["queries"][2]["engines"]["a"]
    report = (out / "report.html").read_text()
    assert "Beside relevance" in report
    assert "near-duplicates@10" in report
    assert "n = 3" in report
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert command("score", out, "--save").returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert load_run(RunFolder(out)).dimensions["diversity"].values["a", "q1"]["sites@10"] == 2.0
    assert (
        judge.score(out, dimensions=["diversity"]).summary.dimensions["diversity"].measures[0] == "sites@10"
    )


def test_a_run_of_failures_alone_has_no_table(tmp_path: Path) -> None:
    rows = [{"query_id": "q", "query": "x", "engine": "a", "error": "500"}]
    out = tmp_path / "out"
    run = command("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "lexical", "--out", out, "--diversity")
    assert run.returncode == 3
    assert "diversity" not in run.stdout
