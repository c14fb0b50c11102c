"""A provider swaps the model behind a name: the run keeps the names, says so first, and splits by them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.command_line import command, make_words
from tests.support.factories import fenced, make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply


def served_by(name: Callable[[str], str]) -> Callable[[ChatRequest], Reply]:
    """Grades as the snippets say, under the name that `name` gives for a snippet."""
    return lambda request: replace(reply_with_grade(request), model=name(fenced(request.prompt)))


def swapped(shown: str) -> str:
    """The model is swapped after query 1, in the middle of query 2."""
    return "fake-0806" if "text 0." in shown or "text 1." in shown or "text 2.0" in shown else "fake-1120"


def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return content


def test_a_name_that_changes_inside_a_run_is_said_first_and_split(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.jsonl", make_rows(4, 2, 3)), tmp_path / "run"
    with LoopbackServer(served_by(swapped)) as server:
        ran = command(*make_words(data, server), "--out", out)
    assert ran.returncode == 0, ran.stderr
    output = next(line for line in ran.stdout.splitlines() if "models answered" in line)
    assert ran.stdout.splitlines().index(output) < 4
    assert output.startswith("2 models answered: fake-0806 (15 judgments, mean grade 1.")
    result = summary(out)
    assert {name: row["engines"] for name, row in result["served"].items()} == {
        "fake-0806": {"engine0": 9, "engine1": 6},
        "fake-1120": {"engine0": 3, "engine1": 6},
    }
    parts = result["segments"]["served model"]
    assert {name: part["queries"] for name, part in parts.items()} == {
        "fake-0806": 2,
        "fake-1120": 1,
        "mixed": 1,
    }
    assert output in (out / "report.html").read_text(encoding="utf-8").replace("<bdi>", "").replace(
        "</bdi>", ""
    )
    judged = [json.loads(line) for line in (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(each["served_model"] == "fake-0806" for each in judged) == 15


def test_one_name_needs_no_word_and_a_run_from_before_has_none(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.jsonl", make_rows(2, 2, 2)), tmp_path / "run"
    with LoopbackServer(reply_with_grade) as server:
        ran = command(*make_words(data, server), "--out", out)
    assert "models answered" not in ran.stdout
    assert list(summary(out)["served"]) == ["fake"]
    assert "served model" not in summary(out)["segments"]
    before = [json.loads(line) for line in (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    for each in before:
        del each["served_model"]
    write_rows(out / "judgments.jsonl", before)
    assert command("score", out, "--save").returncode == 0
    assert summary(out)["served"] == {}


def test_verdicts_of_another_night_keep_the_name_they_were_given_then(tmp_path: Path) -> None:
    rows = make_rows(3, 2, 2)
    some, all_ = write_rows(tmp_path / "some.jsonl", rows[:8]), write_rows(tmp_path / "all.jsonl", rows)
    tonight = ["monday"]
    with LoopbackServer(served_by(lambda shown: tonight[-1])) as server:
        assert command(*make_words(some, server), "--out", tmp_path / "one").returncode == 0
        tonight.append("tuesday")
        ran = command(*make_words(all_, server), "--out", tmp_path / "two")
    assert "2 models answered: monday (8 judgments" in ran.stdout
    result = summary(tmp_path / "two")
    assert {name: row["judgments"] for name, row in result["served"].items()} == {"monday": 8, "tuesday": 4}
    assert {name: part["queries"] for name, part in result["segments"]["served model"].items()} == {
        "monday": 2,
        "tuesday": 1,
    }
