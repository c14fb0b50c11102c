"""`judge run --batch`: the same judgments as in realtime, and no request is submitted twice."""

import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge.models.http_responses import MAX_BYTES
from judge.records import Usage
from tests.support.batch_server import BatchRules, BatchServer
from tests.support.cases import check_each
from tests.support.command_line import run_judge, start_process
from tests.support.factories import extract_fenced, make_rows, read_summary, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, Reply

PAIRS = 20
#: What a request costs in realtime: 120 tokens at $1 a million and 30 at $2.
USD = 0.00018


def make_batch_words(folder: Path, server: BatchServer, *more: str, out: str = "one") -> tuple[str, ...]:
    data = folder / "d.jsonl"
    if not data.exists():
        write_rows(data, make_rows(2, 2, 5))
    return ("run", str(data), "-m", "openai:fake", "--base-url", server.openai_url, "--batch",
            "--out", str(folder / out / "run"), "--price", "1,2", *more)  # fmt: skip


def read_unpaid_results(folder: Path) -> dict[str, Any]:
    """Return the content of results.json without the cost."""
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    del content["summary"]["cost"]
    return content


def read_cost(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_summary(folder)["cost"]
    return content


def count_realtime_requests(server: BatchServer) -> int:
    """Return the number of requests outside of batches."""
    return sum(bool(request.headers) for request in server.requests)


def assert_equal_to_realtime(folder: Path, server: BatchServer) -> None:
    """Raise AssertionError if the run in `folder` differs from a run in realtime."""
    server.rules = BatchRules()
    realtime = [word for word in make_batch_words(folder, server, out="realtime") if word != "--batch"]
    result = run_judge(*realtime)
    assert result.returncode in (0, 3), result.stderr
    assert read_unpaid_results(folder / "one/run") == read_unpaid_results(folder / "realtime/run")
    one, other = (folder / name / "run/judgments.jsonl" for name in ("one", "realtime"))
    assert one.read_bytes() == other.read_bytes()


def assert_submitted_once(server: BatchServer) -> None:
    submitted = [name for batch in server.batches for name in batch]
    assert len(submitted) == len(set(submitted))


def test_a_batch_gives_the_judgments_of_realtime_at_half_the_price(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        # The first pair shows in realtime that account, model and parameters are right.
        assert [len(batch) for batch in server.batches] == [PAIRS - 1]
        assert count_realtime_requests(server) == 1
        assert_equal_to_realtime(tmp_path, server)
    batch, realtime = read_cost(tmp_path / "one/run"), read_cost(tmp_path / "realtime/run")
    assert batch["calls"] == realtime["calls"] == PAIRS
    assert realtime["usd"] == round(PAIRS * USD, 6)
    assert batch["usd"] == round(USD + (PAIRS - 1) * USD / 2, 6)


def test_a_batch_of_the_native_api_goes_to_the_compatible_address(tmp_path: Path) -> None:
    pytest.importorskip("dashscope")
    with BatchServer(reply_with_grade) as server:
        for name, batch in (("one", ["--batch"]), ("two", [])):
            row = ["run", tmp_path / "d.jsonl", "-m", "dashscope:fake", "--base-url", server.dashscope_url]
            write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 5))
            result = run_judge(*row, "--out", tmp_path / name / "run", *batch, DASHSCOPE_API_KEY="sk-x")
            assert result.returncode == 0, result.stderr
    assert [len(batch) for batch in server.batches] == [PAIRS - 1]
    assert read_unpaid_results(tmp_path / "one/run") == read_unpaid_results(tmp_path / "two/run")


def test_the_same_command_again_submits_nothing(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade) as server:
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        steps = list(server.steps)
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert server.steps == steps


def reply_with_faults(request: ChatRequest) -> Reply:
    """Reply with the stated grade, except for an unreadable, a filtered and a refused pair."""
    shown = extract_fenced(request.prompt)
    if "0.0.2 " in shown:
        return (
            Reply(text="I cannot say.")
            if "JSON" in request.prompt and request.attempt < 9
            else Reply(text="")
        )
    if "0.1.3 " in shown:
        return Reply(status=400, body=json.dumps({"error": {"code": "content_filter", "message": "no"}}))
    if "1.0.4 " in shown:
        return Reply(status=400, body=json.dumps({"error": {"code": "odd", "message": "what is this"}}))
    return reply_with_grade(request)


def test_failures_are_those_of_realtime(tmp_path: Path) -> None:
    with BatchServer(reply_with_faults) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert (
            count_realtime_requests(server) == 1 + 2
        )  # the re-ask of one pair, and the pair that the server refused
        assert_equal_to_realtime(tmp_path, server)


def test_a_request_that_failed_in_a_batch_is_judged_in_realtime(tmp_path: Path) -> None:
    failed: list[str] = []

    def fail_three(name: str) -> bool:
        failed.extend([name] * (len(failed) < 3))
        return name in failed

    with BatchServer(reply_with_grade, BatchRules(is_failed=fail_three)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert count_realtime_requests(server) == 1 + 3
        assert_equal_to_realtime(tmp_path, server)
    # The three requests that failed in the batch are calls, too.
    assert read_cost(tmp_path / "one/run")["calls"] == PAIRS + 3


def test_a_request_without_a_line_may_be_billed(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade) as server:
        server.rules.edit_line = lambda line: [line] * (line["custom_id"] != server.batches[0][4])
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert count_realtime_requests(server) == 2
    assert read_cost(tmp_path / "one/run")["maybe_billed"] == 1


@pytest.mark.parametrize("model", ["openai:fake", "dashscope:fake"])
@check_each(
    ("change", "says"),
    [
        ({"response": None, "error": None}, "has no error and the status_code None"),
        ({"response": "text"}, "has no error and the status_code None"),
        ({"response": {"body": {"choices": [{"message": {"content": '{"grade": 3}'}}]}}}, "status_code None"),
        ({"response": {"status_code": "200", "body": {}}}, "status_code '200'"),
    ],
)
def test_a_line_without_a_response_or_a_status_is_a_failed_request(
    change: dict[str, object], says: str, model: str, tmp_path: Path
) -> None:
    pytest.importorskip(model.partition(":")[0])

    def edit_three(line: dict[str, Any]) -> list[dict[str, Any]]:
        return [line | change if line["custom_id"] in server.batches[0][:3] else line]

    with BatchServer(reply_with_grade, BatchRules(edit_line=edit_three)) as server:
        address = server.openai_url if model.startswith("openai") else server.dashscope_url
        other = {"openai:fake": model, server.openai_url: address}
        words = [other.get(word, word) for word in make_batch_words(tmp_path, server)]
        result = run_judge(*words, DASHSCOPE_API_KEY="sk-x")
        assert result.returncode == 0, result.stderr
        assert count_realtime_requests(server) == 1 + 3
    output = " ".join((result.stdout + result.stderr).split())
    assert "3 of 19 requests of the batch batch_" in output
    assert f"{says}; their pairs are judged in realtime" in output
    cost = read_cost(tmp_path / "one/run")
    assert (cost["calls"], cost["maybe_billed"]) == (PAIRS + 3, 3)


@check_each("order", [1, -1])
def test_a_line_that_comes_twice_and_one_of_an_unknown_request_cost_nothing(
    order: int, tmp_path: Path
) -> None:
    def repeat(line: dict[str, Any]) -> list[dict[str, Any]]:
        failed = {**line, "response": None, "error": {"code": "server_error", "message": "try again"}}
        return [line, failed, {**line, "custom_id": "unknown"}][::order]

    with BatchServer(reply_with_grade, BatchRules(edit_line=repeat)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert count_realtime_requests(server) == 1
        assert_equal_to_realtime(tmp_path, server)
    assert read_cost(tmp_path / "one/run")["calls"] == PAIRS


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_requests_whose_replies_are_cut_off_are_not_paid_again(status: str, tmp_path: Path) -> None:
    rules = BatchRules(end_status=lambda number: status, processed=PAIRS - 2, is_cut=True)
    with BatchServer(reply_with_grade, rules) as server:
        words = make_batch_words(tmp_path, server)
        result = run_judge(*words, "--attempts", "1", "--max-wait", "0")
        assert result.returncode == 3
        assert "a file of replies ends within a line; run the same command again to continue" in result.stderr
        rules.is_cut = False
        run_judge(*words)
        assert_submitted_once(server)
        assert count_realtime_requests(server) == 1


def test_a_line_that_is_too_long_costs_only_its_own_request(tmp_path: Path) -> None:
    def reply(request: ChatRequest) -> Reply:
        is_long = not request.headers and "0.1.3 " in extract_fenced(request.prompt)
        return Reply(text="x" * MAX_BYTES) if is_long else reply_with_grade(request)

    with BatchServer(reply) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert count_realtime_requests(server) == 2
    assert read_cost(tmp_path / "one/run")["maybe_billed"] == 1


def test_the_rest_of_an_expired_batch_is_submitted_again(tmp_path: Path) -> None:
    ends = {1: "expired", 2: "expired"}
    rules = BatchRules(end_status=lambda number: ends.get(number, "completed"), processed=7)
    with BatchServer(reply_with_grade, rules) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert [len(batch) for batch in server.batches] == [19, 12, 5]
        assert count_realtime_requests(server) == 1
        assert_equal_to_realtime(tmp_path, server)
    assert read_cost(tmp_path / "one/run")["calls"] == PAIRS


def test_an_expired_batch_whose_replies_are_stored_already_stops_no_run(tmp_path: Path) -> None:
    """A process that is killed may have stored the replies, and not that the other requests have none."""
    refusals = {"before retrieve": Reply(status=403, text="no")}
    with BatchServer(reply_with_grade, on_step=refusals.get) as server:
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 3
        refusals.clear()
        with closing(sqlite3.connect(tmp_path / "one/verdicts.sqlite")) as store, store:
            keys = [(custom_id,) for custom_id in server.batches[0][:7]]
            assert store.executemany("DELETE FROM batch_requests WHERE key = ?", keys).rowcount == 7
        ends = {1: "expired"}
        server.rules = BatchRules(end_status=lambda number: ends.get(number, "completed"), processed=7)
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert_equal_to_realtime(tmp_path, server)


@pytest.mark.parametrize("status", ["expired", "failed", "cancelled"])
def test_a_batch_that_ends_without_replies_stops_the_run(status: str, tmp_path: Path) -> None:
    with BatchServer(reply_with_grade, BatchRules(end_status=lambda number: status)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert f"ended as '{status}' with 19 of 19 requests not processed" in result.stderr
        assert "run the same command again to submit these again" in result.stderr
        server.rules = BatchRules()
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert [len(batch) for batch in server.batches] == [19, 18]
        assert_equal_to_realtime(tmp_path, server)


def test_the_replies_of_a_cancelled_batch_are_kept(tmp_path: Path) -> None:
    with BatchServer(
        reply_with_grade, BatchRules(end_status=lambda number: "cancelled", processed=7)
    ) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert "'cancelled' with 12 of 19 requests not processed" in result.stderr
        assert "8 of 20 judged" in result.stdout


def test_requests_that_all_fail_are_not_judged_in_realtime(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade, BatchRules(is_failed=lambda name: True)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert "all 19 requests of the batch batch_" in result.stderr
        assert "HTTP 500 server_error: try again" in result.stderr
        assert count_realtime_requests(server) == 1
        assert "20 new calls" in result.stdout
        assert read_cost(tmp_path / "one/run")["calls"] == 20


def test_a_run_whose_requests_all_failed_leaves_those_of_another_run_in_the_batch(tmp_path: Path) -> None:
    busy = Reply(status=500, body=json.dumps({"error": {"code": "server_error", "message": "busy"}}))

    def fail_first_query(request: ChatRequest) -> Reply:
        is_of_first = extract_fenced(request.prompt).startswith("text 0.")
        is_failed = is_of_first and not request.headers and len(server.batches) == 1
        return busy if is_failed else reply_with_grade(request)

    for name, queries in (("all", 2), ("first", 1)):
        write_rows(tmp_path / f"{name}.jsonl", make_rows(queries, 2, 10))
    refusals = {"before retrieve": Reply(status=403, text="no")}
    with BatchServer(fail_first_query, on_step=refusals.get) as server:

        def make_words(name: str) -> tuple[str, ...]:
            options = ("--base-url", server.openai_url, "--batch", "--out", str(tmp_path / "runs" / name))
            return ("run", str(tmp_path / f"{name}.jsonl"), "-m", "openai:fake", *options)

        assert run_judge(*make_words("all")).returncode == 3
        refusals.clear()
        result = run_judge(*make_words("first"))
        assert result.returncode == 3
        assert "all 19 requests of the batch batch_" in result.stderr
        assert run_judge(*make_words("all")).returncode == 0
    # One of the requests that failed is sent in realtime.
    assert [len(batch) for batch in server.batches] == [39, 18]


def test_a_server_without_a_batch_api_is_named(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade, BatchRules(is_absent=True)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
    assert result.returncode == 3
    assert f"{server.openai_url!r} refuses the batch (not_found: HTTP 404: Not Found" in result.stderr
    assert "omit --batch" in result.stderr


def test_a_server_that_answers_an_upload_with_a_completion_has_no_batch_api(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade, BatchRules(uploaded="chat.completion")) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
    assert result.returncode == 3
    assert "returned 'chat.completion' instead of 'file'); omit --batch" in result.stderr
    assert server.batches == []


def test_a_refused_batch_is_explained_and_submitted_again(tmp_path: Path) -> None:
    refusal = (400, {"code": "invalid_model", "message": "this one is not judged in batches"})
    with BatchServer(reply_with_grade, BatchRules(refusal=refusal)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert "refuses the batch" in result.stderr
        assert "this one is not judged in batches" in result.stderr
        assert "; 1 new call; " in result.stdout
        server.rules.refusal = None
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert_submitted_once(server)


@pytest.mark.parametrize(
    ("model", "more", "says"),
    [
        ("lexical", (), "lexical has no Batch API; omit --batch, or use openai:NAME or dashscope:NAME"),
        (
            "openai:m",
            ("--assessor", "deepeval"),
            "--assessor deepeval has its own prompts and asks one request at a time; omit",
        ),
    ],
)
def test_a_model_without_a_batch_api_is_named_before_anything_is_paid(
    model: str, more: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    for name in ("estimate", "run"):
        result = run_judge(name, data, "-m", model, "--batch", "--out", tmp_path / "runs/one", *more)
        assert result.returncode == 2
        assert says in " ".join(result.stderr.split())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("step", ["retrieve", "content"])
def test_a_refused_request_about_a_batch_ends_with_the_results_so_far(step: str, tmp_path: Path) -> None:
    def refuse(current: str) -> Reply | None:
        return Reply(status=400, text="file is expired") if current == f"before {step}" else None

    with BatchServer(reply_with_grade, on_step=refuse) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
    assert (result.returncode, "Traceback" in result.stderr) == (3, False)
    assert "cannot be read (bad_request" in result.stderr
    assert read_summary(tmp_path / "one/run")["judged"] == 1


def test_a_creation_whose_answer_is_lost_is_found(tmp_path: Path) -> None:
    answers = [Reply(status=500, text="busy")]
    with BatchServer(
        reply_with_grade, on_step=lambda step: answers.pop() if step == "create" and answers else None
    ) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert server.steps[:4] == ["upload", "create", "list", "retrieve"]
        assert_submitted_once(server)


def test_a_batch_whose_creation_nobody_confirms_is_found_by_the_next_run(tmp_path: Path) -> None:
    replies = {"create": Reply(status=500, text="busy"), "before list": Reply(status=403, text="no")}
    with BatchServer(reply_with_grade, on_step=lambda step: replies.get(step)) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 3
        assert "refuses a request about batches" in result.stderr
        replies.clear()
        server.rules.others = 250  # the list has pages of 100
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert_submitted_once(server)
        assert count_realtime_requests(server) == 1


def test_a_file_that_is_uploaded_twice_is_judged_once(tmp_path: Path) -> None:
    answers = [Reply(status=500, text="busy")]
    with BatchServer(
        reply_with_grade, on_step=lambda step: answers.pop() if step == "upload" and answers else None
    ) as server:
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert server.steps[:4] == ["upload", "upload", "create", "retrieve"]
        assert_submitted_once(server)


def test_steps_that_fail_are_tried_again(tmp_path: Path) -> None:
    failed: list[str] = []

    def fail_once(step: str) -> Reply | None:
        if step in failed or step not in ("before upload", "before retrieve", "before content"):
            return None
        failed.append(step)
        return Reply(status=503, text="busy")

    with BatchServer(reply_with_grade, on_step=fail_once) as server:
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert failed == ["before upload", "before retrieve", "before content"]
        assert_submitted_once(server)


# --- limits


def test_max_calls_bound_a_batch(tmp_path: Path) -> None:
    with BatchServer(reply_with_grade) as server:
        result = run_judge(*make_batch_words(tmp_path, server, "--max-calls", "6"))
        assert result.returncode == 3
        assert "does not cover the 14 requests that are left" in result.stderr
        assert [len(batch) for batch in server.batches] == [5]
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert_submitted_once(server)


@pytest.mark.parametrize(("budget", "code", "paid"), [(0.0012, 3, 1.5 * USD), (0.004, 0, 10.5 * USD)])
def test_a_budget_is_kept_before_anything_is_submitted(
    budget: float, code: int, paid: float, tmp_path: Path
) -> None:
    # A reply may have 512 tokens, and half of $2 a million is charged for them.
    most = 512 * 1e-6
    with BatchServer(reply_with_grade) as server:
        result = run_judge(*make_batch_words(tmp_path, server, "--budget", str(budget)))
        assert result.returncode == code
        assert ("does not cover the 18 requests that are left" in result.stderr) == (code == 3)
        assert 1 <= len(server.batches[0]) <= (budget - USD) / most
        # The actual cost of the replies leaves a part of the budget.
        assert (len(server.batches) > 1) == (code == 0)
        assert_submitted_once(server)
    assert read_cost(tmp_path / "one/run")["usd"] == pytest.approx(paid)


def test_a_batch_is_as_large_as_the_budget_covers_at_the_cost_of_the_first_call(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=500)

    def reply_with_many_tokens(request: ChatRequest) -> Reply:
        return replace(reply_with_grade(request), usage=usage)

    with BatchServer(reply_with_many_tokens) as server:
        result = run_judge(*make_batch_words(tmp_path, server, "--budget", "0.0095"))
        assert result.returncode == 3
        # The first call costs $0.002 and each of a batch half of it: 7.5 of them are left of the budget.
        assert len(server.batches[0]) == 7
    assert read_cost(tmp_path / "one/run")["usd"] <= 0.0095


# --- the process ends


class SignalSender:
    """A step that sends a signal to a process."""

    def __init__(self, step: str, number: int) -> None:
        self.process: subprocess.Popen[str] | None = None
        self._step, self._number = step, number

    def __call__(self, step: str) -> Reply | None:
        if self.process is None or step != self._step:
            return None
        self.process.send_signal(self._number)
        if self._number == signal.SIGKILL:
            self.process.wait()
        self.process = None
        # The server does not carry out the step.
        return Reply(status=500, text="too late") if step.startswith("before") else None


def backdate(folder: Path) -> None:
    """Set the time of the upload far back, so that no request can still be in flight."""
    with closing(sqlite3.connect(folder / "one/verdicts.sqlite")) as store, store:
        store.execute("UPDATE batches SET changed_at = '2026-01-01T00:00:00+00:00'")


def test_a_kill_after_the_creation_submits_nothing_twice(tmp_path: Path) -> None:
    assert_survives_kill("create", tmp_path)


@pytest.mark.slow
@check_each("step", ["before upload", "upload", "before create", "retrieve", "before content", "content"])
def test_a_kill_at_any_step_submits_nothing_twice(step: str, tmp_path: Path) -> None:
    assert_survives_kill(step, tmp_path)


def assert_survives_kill(step: str, tmp_path: Path) -> None:
    """Kill a run at a step of the Batch API; the same command completes it and submits no request again."""
    kill = SignalSender(step, signal.SIGKILL)
    with BatchServer(reply_with_grade, on_step=kill) as server:
        kill.process = process = start_process(*make_batch_words(tmp_path, server))
        process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL
        backdate(tmp_path)
        result = run_judge(*make_batch_words(tmp_path, server))
        assert result.returncode == 0, result.stderr
        assert_submitted_once(server)
        assert count_realtime_requests(server) == 1
        assert_equal_to_realtime(tmp_path, server)
    assert read_cost(tmp_path / "one/run")["calls"] == PAIRS


def test_a_signal_before_the_upload_leaves_no_batch(tmp_path: Path) -> None:
    interrupt = SignalSender("before upload", signal.SIGINT)
    with BatchServer(reply_with_grade, on_step=interrupt) as server:
        interrupt.process = process = start_process(*make_batch_words(tmp_path, server))
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 130
        assert "in batches" not in stderr
        realtime = [word for word in make_batch_words(tmp_path, server) if word != "--batch"]
        assert run_judge(*realtime).returncode == 0
        assert count_realtime_requests(server) == PAIRS


def test_after_a_signal_the_batch_goes_on_and_the_same_command_collects_it(tmp_path: Path) -> None:
    interrupt = SignalSender("retrieve", signal.SIGINT)
    with BatchServer(reply_with_grade, BatchRules(polls=10**9), on_step=interrupt) as server:
        interrupt.process = process = start_process(*make_batch_words(tmp_path, server))
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 130
        assert "1 of 20 judged, $0.0002; 19 are in batches, which continue at the server" in stderr
        assert "interrupted; all judgments are saved; run the same command again to continue" in stderr
        realtime = [word for word in make_batch_words(tmp_path, server) if word != "--batch"]
        result = run_judge(*realtime)
        assert result.returncode == 3
        where = f"19 pairs are in a batch at {server.openai_url!r}"
        assert f"{where}; run again with --batch to collect it" in result.stderr
        estimate = run_judge("estimate", *make_batch_words(tmp_path, server)[1:])
        assert "1 without a call, 0 calls to pay" in estimate.stdout
        assert "19 of them are in batches at the server" in estimate.stdout
        server.rules = BatchRules()
        assert run_judge(*make_batch_words(tmp_path, server)).returncode == 0
        assert_submitted_once(server)
        assert count_realtime_requests(server) == 1
        assert_equal_to_realtime(tmp_path, server)
