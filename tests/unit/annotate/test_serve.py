"""`judge annotate` as a person meets it: what it says, what it keeps through kills, what comes of it."""

import csv
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import pytest

from judge.annotate.serve import ServerAddress, annotate
from judge.dataset.clean import TextOptions
from judge.dataset.label_files import read_examples
from judge.records import GRADED
from tests.support.command_line import run_judge
from tests.support.factories import read_results, write_rows
from tests.unit.annotate.serving import LabelServer, judge_queries, label, serve_in_thread, start_serving


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge_queries(tmp_path_factory.mktemp("serve"), 5)


def label_all(server: LabelServer, grade: Callable[[dict[str, Any]], int | None]) -> dict[str, Any]:
    """Labels whatever is left and gives the last state."""
    _, state = server.ask("/state")
    while state["pair"] is not None:
        status, state = server.ask("/label", label(state, random.getrandbits(100), grade(state["pair"])))
        assert status == 200, state
    return state


def read_stated_grade(pair: dict[str, Any]) -> int:
    """The grade that a snippet says it has."""
    return int(pair["snippet"][-1])


def test_what_people_say_reaches_agree_whole(run: Path) -> None:
    with start_serving(run, "--who", "ann") as server:
        assert server.greeting.startswith("ann labels 20 pairs of 5 queries of")
        status, early = server.ask("/finish", {})
        assert (status, early["error"]) == (400, "20 pairs are not labelled yet; label them first")
        assert server.ask("/finish", {}, "zh") == (
            400,
            {"error": "还有 20 个查询-摘要对未标注；请先完成标注"},
        )
        state = label_all(server, lambda pair: None if pair["query_id"] == "q3" else read_stated_grade(pair))
        assert (state["labelled"], state["unsure"], state["next"]) == (20, 4, None)
        status, result = server.ask("/finish", {})
        assert status == 200
        farewell = server.interrupt()
    assert result["command"] in farewell
    assert result["path"] == str(run / "labels" / "ann.csv")
    done = run_judge(*result["command"].split()[1:], "--json")
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["labelled_pairs"] == 16
    assert output["unmatched_labels"] == 0
    assert output["people_scale"] == "graded"
    # The page tells what judge agree tells.
    assert {name: output[name] for name in result["agreement"]} == result["agreement"]
    truth = {
        snippet["snippet_id"]: int(snippet["snippet"][-1])
        for query in read_results(run)["queries"]
        for answer in query["engines"].values()
        for snippet in answer["snippets"]
    }
    rows = list(csv.DictReader(Path(result["path"]).read_text("utf-8-sig").splitlines()))
    query_of = {row["snippet_id"]: row["query_id"] for row in rows}
    assert {row["snippet_id"]: row["grade"] for row in rows} == {
        snippet_id: "?" if query_of[snippet_id] == "q3" else str(grade) for snippet_id, grade in truth.items()
    }


def test_two_people_on_one_plan_are_compared_with_each_other(run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    assert run_judge("agree", run, "--plan", 3, "--out", plan).returncode == 0
    with start_serving(run, "--who", "one", "--plan", plan) as server:
        assert "labels 12 pairs of 3 queries" in server.greeting
        label_all(server, read_stated_grade)
        server.interrupt(signal.SIGTERM)
    with serve_in_thread(run, "two", plan=plan) as other:
        assert label_all(other, lambda pair: min(read_stated_grade(pair) + 1, 3))["labelled"] == 12
        other.ask("/export", {})
    files = [run / "labels" / f"{who}.csv" for who in ("one", "two")]
    done = run_judge("agree", files[0], "--qrels", files[1], "--labels-scale", "graded", "--json")
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["pairs"] == output["labelled_pairs"] == 12
    assert 0 < output["kappa_quadratic"]["value"] < 1
    assert sum(output["confusion"][grade][grade] for grade in range(3)) == 0


def test_labels_of_drawn_pairs_are_given_to_agree_with_their_plan(run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "pairs.csv"
    words = ("--plan-pairs", 50, "--measure", "P@1", "--out", plan)
    assert run_judge("agree", run, *words).returncode == 0
    with start_serving(run, "--who", "drawn", "--plan", plan) as server:
        # No other result can change P@1: both engines' first ones, of 5 queries.
        assert "labels 10 pairs of 5 queries" in server.greeting
        label_all(server, lambda pair: None if pair["query_id"] == "q3" else read_stated_grade(pair))
        _, result = server.ask("/finish", {})
        assert result["command"].endswith(f"--plan {plan}")
        server.interrupt()
    refused = run_judge(*result["command"].split()[1:], "--json")
    assert (refused.returncode, "8 of 10 drawn pairs have a label" in refused.stderr) == (2, True)
    with serve_in_thread(run, "sure", plan=plan) as other:
        assert label_all(other, read_stated_grade)["labelled"] == 10
        other.ask("/export", {})
    done = run_judge(*result["command"].replace("drawn.csv", "sure.csv").split()[1:], "--json")
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert (output["labels"], output["queries"]) == (10, 5)


def test_the_model_s_side_is_told_last_and_then_the_labels_are_final(run: Path) -> None:
    with serve_in_thread(run, "blind") as server:
        _, first = server.ask("/state")
        _, exported = server.ask("/export", {})
        assert exported.keys() == {"labelled", "path", "command"}
        label_all(server, lambda pair: 1)
        _, exported = server.ask("/export", {})
        assert exported["labelled"] == 20
        _, first = server.ask("/state?at=0")
        assert server.ask("/label", label(first, 7, 0))[0] == 200
        assert server.ask("/finish", {})[1]["agreement"]["pairs"] == 20
        _, first = server.ask("/state?at=0")
        for path, body in (("/label", label(first, 8, 3)), ("/undo", {"id": f"{7:032x}"})):
            status, answer = server.ask(path, body)
            assert (status, "blind" in answer["error"]) == (400, True)
        _, state = server.ask("/state?at=0")
        assert (state["sealed"], state["finished"], state["last"]) == (True, True, None)


def test_nothing_that_is_served_before_the_end_tells_engine_rank_or_verdict(run: Path) -> None:
    with serve_in_thread(run, "curious") as server:
        served = ""
        _, state = server.ask("/state")
        while state["pair"] is not None:
            served += json.dumps(state)
            _, state = server.ask("/label", label(state, random.getrandbits(100), 1))
        served += json.dumps(server.ask("/export", {})[1])
    for secret in ("engine0", "engine1", "lexical", "reason", "verdict", "rank", "url"):
        assert secret not in served


def test_a_pair_is_numbered_within_its_query(run: Path) -> None:
    with serve_in_thread(run, "numbers") as server:
        _, state = server.ask("/state?at=5")
    names = ("query_number", "queries", "pair_number", "pairs_of_query")
    assert [state["position"][name] for name in names] == [2, 5, 2, 4]


def test_a_pair_that_was_undone_comes_back(run: Path) -> None:
    with start_serving(run, "--who", "undoer") as server:
        _, first = server.ask("/state")
        _, second = server.ask("/label", label(first, 1, 3, " a\x00b "))
        assert second["last"] == {"id": f"{1:032x}", "at": 0}
        assert server.ask("/state?at=0")[1]["decision"]["comment"] == "a\x00b"
        _, back = server.ask("/undo", {"id": second["last"]["id"]})
        assert (back["at"], back["decision"], back["labelled"], back["last"]) == (0, None, 0, None)
        assert server.interrupt() == "no label was given\n"
    assert not (run / "labels" / "undoer.csv").exists()


def test_resuming_says_so_and_a_second_one_is_refused(run: Path) -> None:
    with start_serving(run, "--who", "again") as server:
        _, state = server.ask("/state")
        server.ask("/label", label(state, 1, 3))
        done = run_judge("annotate", run, "--who", "again", "--port", 0)
        assert (done.returncode, done.stdout) == (2, "")
        assert "again is already labelling in another process" in done.stderr
        taken = run_judge("annotate", run, "--who", "other", "--port", server.port)
        assert taken.returncode == 2
        assert "use --port 0 for a free port" in taken.stderr
        farewell = server.interrupt()
    assert farewell.startswith("1 of 20 pairs are labelled")
    assert f"to continue: judge annotate {run} --who again" in farewell
    assert f"to compare them with the grades of the assessor: judge agree {run} --qrels" in farewell
    with start_serving(run, "--who", "again") as server:
        assert server.greeting.endswith("1 of them is labelled")


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_label_that_was_acknowledged_outlives_every_kill(run: Path, kills: int) -> None:
    chance = random.Random(kills)
    acknowledged: dict[str, int] = {}
    path = run / "labels" / f"mortal{kills}.jsonl"
    for _ in range(kills):
        with start_serving(run, "--who", path.stem) as server:
            known = _list_files(path)
            assert acknowledged.items() <= known.items()
            acknowledged |= known
            _label_one(server, chance, acknowledged)
            timer = threading.Timer(chance.uniform(0, 0.2), server.process.kill)
            timer.start()
            with suppress(OSError, HTTPException, JSONDecodeError):
                while True:
                    _label_one(server, chance, acknowledged)
            timer.join()
    assert len(acknowledged) >= kills
    assert acknowledged.items() <= _list_files(path).items()


def _label_one(server: LabelServer, chance: random.Random, acknowledged: dict[str, int]) -> None:
    """Labels some pair, perhaps again; `acknowledged` gets what was acknowledged."""
    _, state = server.ask(f"/state?at={chance.randrange(20)}")
    wanted = label(state, chance.getrandbits(120), chance.randrange(4))
    status, _ = server.ask("/label", wanted)
    assert status == 200
    acknowledged[wanted["id"]] = wanted["grade"]


def _list_files(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    complete_lines = path.read_bytes().rpartition(b"\n")[0]
    return {entry["id"]: entry["grade"] for entry in map(json.loads, complete_lines.splitlines())}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--who", "../ann"], "--who is '../ann'"),
        (["--who", ""], "--who is ''"),
        (["--host", "a b"], "--host is 'a b'"),
        (["--host", "192.0.2.1", "--token", "long-enough"], "cannot listen on 192.0.2.1 port"),
        (["--token", "short"], "--token has 8 to 200"),
        (["--plan", "absent.csv"], "absent.csv: no such file"),
    ],
)
def test_wrong_usage_is_one_clear_line(run: Path, words: list[str], expected: str) -> None:
    done = run_judge("annotate", run, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("judge: ")
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("host", "english", "chinese"),
    [
        ("127.0.0.1", "Address already in use", "地址已被占用"),
        ("192.0.2.1", "Cannot assign requested address", "本机没有该地址"),
    ],
)
def test_why_an_address_cannot_be_used_is_the_reason_of_the_system_alone(
    run: Path, host: str, english: str, chinese: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ("annotate", run, "--host", host, "--port", port)
        done, in_chinese = run_judge(*words), run_judge(*words, "--ui-lang", "zh")
    assert done.returncode == in_chinese.returncode == 2
    assert f"cannot listen on {host} port {port}: {english}; name another --host, or use" in done.stderr
    assert f"无法监听 {host} 的端口 {port}：{chinese}；" in in_chinese.stderr


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    done = run_judge("annotate", tmp_path)
    assert done.returncode == 2
    assert "is no" in done.stderr or "folder of a finished run" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_web_extra_it_says_what_to_install(
    run: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    done = run_judge("annotate", run)
    assert done.returncode == 2
    assert done.stderr == (
        f"judge: judge annotate needs {missing}: pip install 'search-judge[web]' (in a clone: uv sync"
        " --inexact --extra web)\n"
    )


def test_the_rest_of_judge_starts_without_the_web_extra() -> None:
    script = (
        "import sys, judge.cli.main, judge.pipeline;"
        " sys.exit(bool({'starlette', 'uvicorn'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_pair_that_was_labelled_elsewhere_is_not_overwritten(run: Path) -> None:
    with serve_in_thread(run, "twice") as server:
        state = server.ask("/state")[1]
        first, second = label(state, 1, 0), label(state, 2, 3)
        assert server.ask("/label", first)[0] == 200
        status, answer = server.ask("/label", second)
        assert (status, answer) == (
            409,
            {"error": "this pair was labelled in another tab since it was shown here"},
        )
        assert server.ask("/label", first)[0] == 200  # an answer that was lost is asked for again
        assert server.ask("/state?at=0")[1]["decision"]["grade"] == 0
        assert server.ask("/label", {**second, "replaces": first["id"]})[0] == 200
        assert server.ask("/label", {**label(state, 3, 1), "replaces": first["id"]})[0] == 409
        assert server.ask("/state?at=0")[1]["decision"]["grade"] == 3


def test_labels_with_a_comment_are_examples_of_a_prompt(tmp_path: Path) -> None:
    texts = ("Six minutes give a soft yolk.", "Our farm sells fresh eggs.", "煮蛋六分钟。")
    rows = [{"query": "how long to boil an egg", "snippet": text} for text in texts]
    run = tmp_path / "run"
    data = write_rows(tmp_path / "data.jsonl", rows)
    assert run_judge("run", data, "-m", "lexical", "--out", run).returncode == 0
    reason = '它给出了时间, and "soft"'
    with serve_in_thread(run, "tutor") as server:
        _, state = server.ask("/state")
        first = state["pair"]
        _, state = server.ask("/label", label(state, 1, 2, reason))
        _, state = server.ask("/label", label(state, 2, 0))
        assert server.ask("/label", label(state, 3, None, "perhaps"))[0] == 200
        _, result = server.ask("/export", {})
    (example,) = read_examples(Path(result["path"]), GRADED, TextOptions("auto", 4000), print)
    assert (example.grade, example.reason) == (2, reason)
    assert (example.pair.query.text, example.pair.snippet.text) == (first["query"], first["snippet"])


def test_a_browser_is_opened_with_a_file_and_no_list_of_processes_shows_the_token(
    run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    browser = tmp_path / "browser"
    script = (
        "#!/bin/sh",
        'file="${1#file://}"',
        f'cp "$file" {copy}.html',
        f'echo "$@" $(stat -c %a "$file") > {copy}.part',
        f"mv {copy}.part {copy}",
    )
    browser.write_text("\n".join(script), encoding="utf-8")
    browser.chmod(0o755)
    with start_serving(run, "--who", "opener", "--open", environment={"BROWSER": str(browser)}) as server:
        while not copy.exists():
            time.sleep(0.01)
        words, mode = copy.read_text(encoding="utf-8").split()
        page = copy.with_suffix(".html").read_text(encoding="utf-8")
        assert server.token not in words
        assert f"url={server.url}" in page
        assert mode == "600"
        server.interrupt()
    assert not Path(words.removeprefix("file://")).exists()


def test_a_browser_that_returns_when_it_is_closed_keeps_nobody_waiting(run: Path, tmp_path: Path) -> None:
    window = tmp_path / "window"
    window.touch()
    browser = f"sh -c 'exec > /dev/null 2>&1; while [ -e {window} ]; do sleep 0.05; done' %s"
    try:
        with start_serving(run, "--who", "waiter", "--open", environment={"BROWSER": browser}) as server:
            assert server.ask("/state")[0] == 200
            assert server.interrupt() == "no label was given\n"
    finally:
        window.unlink()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_first_request_ends_the_server_as_a_later_one_does(
    run: Path, number: signal.Signals
) -> None:
    messages: list[str] = []

    def interrupt(message: str) -> None:
        messages.append(message)
        if len(messages) == 1:
            signal.raise_signal(number)

    before = signal.getsignal(number)
    annotate(run, None, "early", ServerAddress("127.0.0.1", 0), opens=False, say=interrupt)
    assert messages[1:] == ["no label was given"]
    assert signal.getsignal(number) is before


def test_a_run_whose_grades_are_labels_is_not_labelled_for_an_agreement(tmp_path: Path) -> None:
    run = judge_queries(tmp_path, 2)
    labels = tmp_path / "people.qrels"
    labels.write_text((run / "qrels.txt").read_text(encoding="utf-8"), encoding="utf-8")
    labelled = tmp_path / "runs" / "labelled"
    data = next(tmp_path.glob("*.jsonl"))
    words = ("run", data, "-m", "lexical", "--qrels", labels, "--out", labelled)
    assert run_judge(*words).returncode == 0
    result = run_judge("annotate", labelled)
    assert result.returncode == 2
    assert "grades of this run come from 'people.qrels', not from an assessor" in result.stderr


def test_a_run_whose_grades_are_expected_documents_has_no_assessor_to_label_for(tmp_path: Path) -> None:
    rows = [{"query": "tea", "snippet": "leaf", "docno": "d1", "expected": "d1"}]
    data, run = write_rows(tmp_path / "expected.jsonl", rows), tmp_path / "runs" / "expected"
    assert run_judge("run", data, "-m", "expected", "--scale", "binary", "--out", run).returncode == 0
    result = run_judge("annotate", run)
    assert result.returncode == 2
    assert "grades of this run come from 'expected', not from an assessor" in result.stderr
