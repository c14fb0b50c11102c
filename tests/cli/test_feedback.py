"""`--feedback`: thumbs and clicks beside the verdicts, and never as labels."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

import judge
from judge.dataset.label_files import read_feedback
from judge.dataset.labels import Label
from judge.errors import InputError
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.factories import read_summary, write_rows

EVENTS = """query_id,document,feedback
q,d1,up
q,d1,up
q,d1,down
q,d2,踩
q,d3,up
q,d3,down
q,d4,UP
q,d1,click
q,d3,skip
q,elsewhere,click
q,d2,
"""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "feedback.csv"
    path.write_text(EVENTS, encoding="utf-8")
    return path


def test_the_sum_of_the_events_decides_by_kind(events: Path) -> None:
    assert read_feedback(events).labels == {
        "thumbs": (
            Label("q", "d1", 1, f"{events}:2"),
            Label("q", "d2", 0, f"{events}:5"),
            Label("q", "d4", 1, f"{events}:8"),
        ),
        "clicks": (
            Label("q", "d1", 1, f"{events}:9"),
            Label("q", "d3", 0, f"{events}:10"),
            Label("q", "elsewhere", 1, f"{events}:11"),
        ),
    }


@check_each(
    ("text", "message"),
    [
        ("query_id,document,feedback\nq,d,3\n", ":2: field 'feedback' is '3'; write one of up, down"),
        (
            "query_id,document,feedback\nq,,up\n",
            ":2: field 'document' is empty and the row has the feedback 'up'",
        ),
        ("query_id,document,feedback\nq,d,\n", "has no usable feedback"),
        (
            "query_id,document,feedback\nq,d,up\nq,d,踩\n",
            "every item has as many positive as negative events",
        ),
        ("query_id,document,grade\nq,d,1\n", "the header lacks feedback"),
        (
            "q 0 d 1\n",
            "the header lacks query_id, feedback and snippet_id or document or docno; its columns are",
        ),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "feedback.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_feedback(path)
    assert message in str(error.value)


def judge_with_feedback(folder: Path, *words: object) -> tuple[Path, CompletedProcess[str]]:
    """Judge a query of two engines, and return the folder of the run and the process."""
    lists = {"a": ("d1", "d2", "d3"), "b": ("d2", "d4")}
    rows = [
        {"query_id": "q", "query": "x", "engine": e, "docno": d, "snippet": d, "expected": ["d1", "d2"]}
        for e, documents in lists.items()
        for d in documents
    ]
    out = folder / "out"
    data = write_rows(folder / "data.jsonl", rows)
    run = run_judge("run", data, "-m", "expected", "--out", out, *words)
    assert run.returncode == 0, run.stderr
    return out, run


def test_feedback_is_beside_the_verdicts_and_is_no_label(tmp_path: Path, events: Path) -> None:
    out, run = judge_with_feedback(tmp_path, "--feedback", events)
    summary = read_summary(out)
    means = {
        engine: {name: mean["mean"] for name, mean in values.items()}
        for engine, values in summary["dimensions"]["feedback"]["engines"].items()
    }
    # d1 and d2 are relevant; the thumbs are d1 up, d2 down, d4 up; the clicks are d1, and d3 is skipped.
    assert means["a"] == pytest.approx(
        {
            "positive thumbs@10": 1 / 2,
            "with thumbs@10": 2 / 3,
            "agrees with thumbs@10": 1 / 2,
            "positive clicks@10": 1 / 2,
            "with clicks@10": 2 / 3,
            "agrees with clicks@10": 1,
        }
    )
    assert means["b"] == {
        "positive thumbs@10": 0.5,
        "with thumbs@10": 1.0,
        "agrees with thumbs@10": 0.0,
        "positive clicks@10": None,
        "with clicks@10": 0.0,
        "agrees with clicks@10": None,
    }
    # 1 of 3 is the same, 5 / 9 by chance: (1/3 - 5/9) / (1 - 5/9).
    text = " ".join(run.stdout.split())
    assert "thumbs: judged pairs that have them: 3, their queries: 1; the verdict" in text
    assert "the verdict of the run is the same on 33.3%, kappa -0.50; about no result down to" in text
    assert "100.0%, kappa 1.00; about no result down to rank 10: 1" in text
    dimension = judge.score(out, feedback=events).summary.dimensions["feedback"]
    assert dimension.find_mean("b", "with thumbs@10").mean == 1
    result = run_judge("run", tmp_path / "data.jsonl", "-m", "lexical", "--qrels", events)
    assert result.returncode == 2
    assert "feedback of users is not a label; compare it with: judge score RUN --feedback" in result.stderr


def test_a_guess_at_the_encoding_is_a_warning(tmp_path: Path, events: Path) -> None:
    events.write_bytes(EVENTS.encode("gb18030"))
    assert read_feedback(events).warnings == (
        f"{events}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong",
    )
    out, _ = judge_with_feedback(tmp_path)
    remarks = judge.score(out, feedback=events).summary.dimensions["feedback"].remarks
    assert remarks[:1] == read_feedback(events).warnings


def test_feedback_about_another_run_is_a_remark_by_kind(tmp_path: Path) -> None:
    path = tmp_path / "feedback.csv"
    path.write_text("query_id,document,feedback\nother,d1,up\nq,d9,up\nq,d1,click\n")
    out, run = judge_with_feedback(tmp_path, "--feedback", path)
    printed = [run.stdout, run_judge("score", out, "--feedback", path).stdout]
    for text in (" ".join(each.split()) for each in printed):
        assert f"feedback: thumbs: {path}:2: none of the rows (2) is about this run" in text
        assert "feedback: clicks: judged pairs that have them: 1, their queries: 1" in text


def test_a_bad_file_ends_the_run_before_a_call(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", [{"query": "x", "engine": "a", "snippet": "x"}])
    toml, feedback, out = tmp_path / "judge.toml", tmp_path / "feedback.csv", tmp_path / "out"
    toml.write_text(f'feedback = "{feedback}"\n', encoding="utf-8")
    words = ("run", data, "-m", "lexical", "--out", out)
    results = [run_judge(*words, "--config", toml)]
    feedback.write_text("q 0 d 1\n", encoding="utf-8")
    results.append(run_judge(*words, "--config", toml))
    assert [result.returncode for result in results] == [2, 2]
    assert results[0].stderr == f"judge: {toml}: feedback: {feedback}: no such file\n"
    assert results[1].stderr.startswith(f"judge: {toml}: feedback: {feedback}:1: the header lacks query_id")
    assert not (tmp_path / "verdicts.sqlite").exists()
    # A run that judged nothing leaves its folder to the next one.
    assert run_judge(*words, "--scale", "binary").returncode == 0
