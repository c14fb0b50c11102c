"""Servers that can't be reached, through the real command: the run ends soon and says which and why."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import command
from tests.support.factories import make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply


def nobody() -> str:
    """An address where nothing listens."""
    with closing(socket.socket()) as content:
        content.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{content.getsockname()[1]}"


def run(folder: Path, url: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of ten pairs at `url` that gives a server two seconds."""
    data = write_rows(folder / "d.jsonl", make_rows(5, 2, 1))
    patient = folder / "judge.toml"
    patient.write_text("patience = 2\n", encoding="utf-8")
    options = ("-m", "openai:fake", "--base-url", url, "--config", patient, "--out", folder / "r" / "x")
    return command("run", data, *options, *words, **environment)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 3, done.stderr
    return done.stderr.splitlines()[-1]


def test_a_server_that_does_not_run_is_named_with_the_reason(tmp_path: Path) -> None:
    where = nobody()
    output = last_line(run(tmp_path, f"http://{where}/v1"))
    assert (
        f"10 of 10 unjudged: no connection to http://{where}/v1: connection refused; check --base" in output
    )


def test_a_server_that_cannot_do_tls_costs_few_tries(tmp_path: Path) -> None:
    with LoopbackServer(reply_with_grade) as server:
        url = server.openai_url.replace("http:", "https:")
        output = last_line(run(tmp_path, url))
        assert f"no connection to {url}: no TLS connection: " in output
        assert server.requests == []
    # A second request may be on its way when the first one fails.
    assert json.loads((tmp_path / "r" / "x" / "summary.json").read_text())["cost"]["calls"] in (2, 3)


# The SDK gives the proxy's user to aiohttp in a way that aiohttp 4 will not have.
@pytest.mark.filterwarnings("ignore:.*will be removed in (aiohttp 4|v4):DeprecationWarning")
def test_a_proxy_that_is_down_is_named_without_its_password(tmp_path: Path) -> None:
    where = nobody()
    named = f"http://me:s3cret@{where}"
    done = run(tmp_path, "https://judge.example/v1", https_proxy=named, no_proxy="", NO_PROXY="")
    assert f"https://judge.example/v1 through the proxy http://{where}: connection refused" in last_line(done)
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("status", "advice"),
    [(407, "the proxy asks for a user and a password"), (451, "this address is closed to you")],
)
def test_who_is_not_let_through_is_told_after_one_request(status: int, advice: str, tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply(status=status, body="not for you")) as server:
        output = last_line(run(tmp_path, server.openai_url))
        assert f"HTTP {status}: not for you ({advice}" in output
        assert len(server.requests) == 1


def test_a_wrong_key_is_one_line_without_empty_tables(tmp_path: Path) -> None:
    body = json.dumps({"error": {"code": "invalid_api_key", "message": "Incorrect API key"}})
    with LoopbackServer(lambda _: Reply(status=401, body=body)) as server:
        done = run(tmp_path, server.openai_url, "--max-wait", 3)
    assert done.stdout == ""
    assert "10 of 10 unjudged: auth: HTTP 401 invalid_api_key: Incorrect API key (check" in last_line(done)
    assert done.stderr.splitlines()[:-1] == ["judging 10 pairs"]


def test_what_most_pairs_failed_of_is_said_and_kept(tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "no, sk-canary-5b1d9f: messages[1] is odd"}})
    with LoopbackServer(lambda _: Reply(status=400, body=body)) as server:
        done = run(tmp_path, server.openai_url)
    words = "HTTP 400: no, ***: messages[1] is odd"
    assert f"(10 of 10 failed with 'bad_request': {words}); the same command asks again" in last_line(done)
    folder = tmp_path / "r" / "x"
    lines = (folder / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["detail"] for line in lines} == {words}
    shown = command("show", folder, "--query", "q0").stdout
    assert f"failed: bad_request (the server took the request for malformed)  {words}" in shown
    chinese = command("show", folder, "--query", "q0", "--ui-lang", "zh").stdout
    assert f"bad_request（服务端认为请求有误）  {words}" in chinese
    output = json.loads(command("show", folder, "--query", "q0", "--json").stdout)
    entry = output["engines"]["engine0"]["snippets"][0]["judgments"][0]
    assert (entry["error"], entry["grade"]) == ("bad_request", None)


def test_a_few_failures_are_told_of_a_run_that_has_enough_grades(tmp_path: Path) -> None:
    def picky(request: ChatRequest) -> Reply:
        body = json.dumps({"error": {"message": "an odd pair"}})
        return Reply(status=400, body=body) if "text 0.0.1 " in request.prompt else reply_with_grade(request)

    with LoopbackServer(picky) as server:
        done = run(tmp_path, server.openai_url, "--min-coverage", 0.9)
    assert done.returncode == 0, done.stderr
    told = "not every pair has a grade (1 of 1 failed with 'bad_request': HTTP 400: an odd pair)"
    assert told in done.stdout
