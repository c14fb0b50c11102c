"""A provider swaps the model of a name: the run stores the names, reports them first, and splits by them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.support.command_line import make_words, run_judge
from tests.support.factories import (
    extract_fenced,
    make_rows,
    read_judgments,
    read_summary,
    reply_with_grade,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply


def make_answer_with_model(name: Callable[[str], str]) -> Callable[[ChatRequest], Reply]:
    """Return an answer with the stated grade, under the model name that `name` returns for a snippet."""
    return lambda request: replace(reply_with_grade(request), model=name(extract_fenced(request.prompt)))


def name_swapped_model(shown: str) -> str:
    """Return the model name of a snippet: another one from the middle of query 2 on."""
    return "fake-0806" if "text 0." in shown or "text 1." in shown or "text 2.0" in shown else "fake-1120"


def test_a_model_name_that_changes_in_a_run_is_reported_first_and_splits_it(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.jsonl", make_rows(4, 2, 3)), tmp_path / "run"
    with LoopbackServer(make_answer_with_model(name_swapped_model)) as server:
        completed = run_judge(*make_words(data, server), "--out", out)
    assert completed.returncode == 0, completed.stderr
    output = next(line for line in completed.stdout.splitlines() if "models answered" in line)
    assert completed.stdout.splitlines().index(output) < 4
    assert output.startswith("2 models answered: fake-0806 (15 judgments, mean grade 1.")
    result = read_summary(out)
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
    judged = read_judgments(out)
    assert sum(each["served_model"] == "fake-0806" for each in judged) == 15


def test_one_model_name_has_no_remark_and_an_earlier_run_has_none(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "data.jsonl", make_rows(2, 2, 2)), tmp_path / "run"
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge(*make_words(data, server), "--out", out)
    assert "models answered" not in result.stdout
    assert list(read_summary(out)["served"]) == ["fake"]
    assert "served model" not in read_summary(out)["segments"]
    before = read_judgments(out)
    for each in before:
        del each["served_model"]
    write_rows(out / "judgments.jsonl", before)
    assert run_judge("score", out, "--save").returncode == 0
    assert read_summary(out)["served"] == {}


def test_verdicts_of_another_night_keep_the_name_they_were_given_then(tmp_path: Path) -> None:
    rows = make_rows(3, 2, 2)
    some, all_ = write_rows(tmp_path / "some.jsonl", rows[:8]), write_rows(tmp_path / "all.jsonl", rows)
    tonight = ["monday"]
    with LoopbackServer(make_answer_with_model(lambda shown: tonight[-1])) as server:
        assert run_judge(*make_words(some, server), "--out", tmp_path / "one").returncode == 0
        tonight.append("tuesday")
        completed = run_judge(*make_words(all_, server), "--out", tmp_path / "two")
    assert "2 models answered: monday (8 judgments" in completed.stdout
    result = read_summary(tmp_path / "two")
    assert {name: row["judgments"] for name, row in result["served"].items()} == {"monday": 8, "tuesday": 4}
    assert {name: part["queries"] for name, part in result["segments"]["served model"].items()} == {
        "monday": 2,
        "tuesday": 1,
    }
