"""Servers that can't be reached: the run ends early and names the server and the reason."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import run_judge
from tests.support.factories import make_rows, read_summary, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.server_thread import reserve_unused_address


def run_with_short_wait(
    folder: Path, url: str, *words: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ten pairs at `url` with a `patience` of half a second."""
    data = write_rows(folder / "d.jsonl", make_rows(5, 2, 1))
    config = folder / "judge.toml"
    config.write_text("patience = 0.5\n", encoding="utf-8")
    options = ("-m", "openai:fake", "--base-url", url, "--config", config, "--out", folder / "r" / "x")
    return run_judge("run", data, *options, *words, **environment)


def read_last_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 3, result.stderr
    return result.stderr.splitlines()[-1]


def test_a_server_that_does_not_run_is_named_with_the_reason(tmp_path: Path) -> None:
    with reserve_unused_address() as where:
        url = f"http://{where}/v1"
        output = read_last_line(run_with_short_wait(tmp_path, url))
        chinese = read_last_line(run_with_short_wait(tmp_path, url, "--ui-lang", "zh"))
    assert f"10 of 10 unjudged: no connection to {url}: connection refused; check --base" in output
    assert f"无法连接 {url}：连接被拒绝；" in chinese


def test_a_server_that_cannot_do_tls_costs_few_tries(tmp_path: Path) -> None:
    with LoopbackServer(reply_with_grade) as server:
        url = server.openai_url.replace("http:", "https:")
        # One at a time: others would be sent after an eighth of a second without an answer.
        output = read_last_line(run_with_short_wait(tmp_path, url, "--concurrency", 1))
        assert f"no connection to {url}: no TLS connection: " in output
        assert server.requests == []
    # A retry half a second after the first error, and another one if the clock has not passed the limit then.
    assert read_summary(tmp_path / "r" / "x")["cost"]["calls"] in (2, 3)


def test_certificates_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "authority.pem")
    result = run_with_short_wait(tmp_path, "https://127.0.0.1:9/v1", SSL_CERT_FILE=missing)
    assert (
        f"no connection to https://127.0.0.1:9/v1: the certificates of SSL_CERT_FILE={missing!r} cannot be"
        " loaded: No such file or directory; correct the variable"
    ) in read_last_line(result)


# The SDK passes the proxy's user to aiohttp by a parameter that aiohttp 4 removes.
@pytest.mark.filterwarnings("ignore:.*will be removed in (aiohttp 4|v4):DeprecationWarning")
def test_a_proxy_that_is_down_is_named_without_its_password(tmp_path: Path) -> None:
    with reserve_unused_address() as where:
        proxy = f"http://me:s3cret@{where}"
        result = run_with_short_wait(
            tmp_path, "https://judge.example/v1", https_proxy=proxy, no_proxy="", NO_PROXY=""
        )
    assert f"https://judge.example/v1 through the proxy http://{where}: connection refused" in read_last_line(
        result
    )
    assert "s3cret" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("status", "advice"),
    [(407, "the proxy asks for a user and a password"), (451, "this address is closed to you")],
)
def test_a_server_that_denies_access_ends_the_run_after_one_request(
    status: int, advice: str, tmp_path: Path
) -> None:
    with LoopbackServer(lambda _: Reply(status=status, body="not for you")) as server:
        # One at a time: a second request would be sent after an eighth of a second without an answer.
        output = read_last_line(run_with_short_wait(tmp_path, server.openai_url, "--concurrency", 1))
        assert f"HTTP {status}: not for you ({advice}" in output
        assert len(server.requests) == 1


def test_a_wrong_key_is_one_line_without_empty_tables(tmp_path: Path) -> None:
    body = json.dumps({"error": {"code": "invalid_api_key", "message": "Incorrect API key"}})
    with LoopbackServer(lambda _: Reply(status=401, body=body)) as server:
        result = run_with_short_wait(tmp_path, server.openai_url, "--max-wait", 3)
    assert result.stdout == ""
    line = read_last_line(result)
    assert "10 of 10 unjudged: auth: HTTP 401 invalid_api_key: Incorrect API key (check" in line
    assert line.endswith("; correct this, then run the same command again: all judgments are saved")
    assert result.stderr.splitlines()[:-1] == ["judging pairs: 10 to do"]


def test_the_report_of_a_run_that_stopped_says_why(tmp_path: Path) -> None:
    def refuse(request: ChatRequest) -> Reply:
        key = request.headers["Authorization"]
        body = json.dumps({"error": {"code": "invalid_api_key", "message": f"Incorrect API key: {key}"}})
        return Reply(status=401, body=body)

    with LoopbackServer(refuse) as server:
        run_with_short_wait(tmp_path, server.openai_url, "--max-wait", 3)
    [folder] = (path.parent for path in tmp_path.rglob("report.html"))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (
        page.count("The judging stopped: auth: HTTP 401 invalid_api_key: Incorrect API key: Bearer ***") == 1
    )
    assert page.count("评测已停止：访问被拒绝：HTTP 401 invalid_api_key: Incorrect API key: Bearer ***") == 1
    assert "sk-" not in (folder / "config.json").read_text(encoding="utf-8") + page


def test_a_run_goes_on_where_the_first_pairs_alone_are_refused(tmp_path: Path) -> None:
    def refuse(request: ChatRequest) -> Reply:
        if "text 0." in request.prompt or "text 1." in request.prompt:
            return Reply(status=400, body=json.dumps({"error": {"message": "rejected by the gateway"}}))
        return reply_with_grade(request)

    with LoopbackServer(refuse) as server:
        output = read_last_line(run_with_short_wait(tmp_path, server.openai_url, "--concurrency", 1))
    assert "only 60.00% of the pairs were judged" in output
    reason = "the server rejected the request as malformed: HTTP 400: rejected by the gateway"
    assert f"4 of 10 failed: {reason}" in output


@pytest.mark.parametrize(
    "body",
    [
        # Of Ollama, of Anthropic, and OpenAI's Responses.
        '{"model": "m", "message": {"role": "assistant", "content": "2"}, "done": true}',
        '{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "2"}]}',
        '{"object": "response", "status": "completed", "output": [], "error": null}',
    ],
)
def test_an_answer_of_another_api_stops_the_run(body: str, tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply(body=body)) as server:
        options = ("--concurrency", 1, "--max-wait", 9)
        output = read_last_line(run_with_short_wait(tmp_path, server.openai_url, *options))
        assert len(server.requests) == 3
    assert (
        f"does not answer as a model's server: the response holds neither a reply nor an error: {body}"
        in output
    )
    assert "check --base-url" in output


def test_one_stream_of_events_among_accepted_requests_is_requested_again(tmp_path: Path) -> None:
    def stream_once(request: ChatRequest) -> Reply:
        error = json.dumps({"error": {"message": "Rate limit reached"}})
        return Reply(body=f"data: {error}\n\n") if request.number == 5 else reply_with_grade(request)

    with LoopbackServer(stream_once) as server:
        result = run_with_short_wait(tmp_path, server.openai_url, "--concurrency", 1)
        assert (result.returncode, len(server.requests)) == (0, 11), result.stderr


@pytest.mark.parametrize(
    ("error", "kind", "advice"),
    [
        (
            {"code": "context_length_exceeded", "message": "maximum context"},
            "too_long",
            "lower --max-tokens, or the key max_chars in the TOML file of options",
        ),
        ({"message": "`messages` must be a text"}, "bad_request", "correct that, then run the same command"),
    ],
)
def test_pairs_that_are_all_refused_stop_the_run(
    error: dict[str, str], kind: str, advice: str, tmp_path: Path
) -> None:
    body = json.dumps({"error": error})
    data = write_rows(tmp_path / "many.jsonl", make_rows(20, 1, 4))
    with LoopbackServer(lambda _: Reply(status=400, body=body)) as server:
        result = run_judge("run", data, "-m", "openai:m", "--base-url", server.openai_url, "--store",
                           tmp_path / "v.sqlite", "--out", tmp_path / "r" / "x")  # fmt: skip
        assert 30 <= len(server.requests) < 60
    assert f"30 requests in a row failed with {kind!r}" in read_last_line(result)
    assert advice in read_last_line(result)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "`messages` must be a text"},
        {"code": "context_length_exceeded", "message": "maximum context"},
    ],
)
def test_pairs_that_are_refused_in_each_run_do_not_stop_the_second_one(
    error: dict[str, str], tmp_path: Path
) -> None:
    count = 30

    def refuse_some(request: ChatRequest) -> Reply:
        if "grade=3" in request.prompt:
            return Reply(status=400, body=json.dumps({"error": error}))
        return reply_with_grade(request)

    rows = make_rows(1, 1, count + 20)
    for at, row in enumerate(rows):  # the first ones are accepted
        row["snippet"] = f"text {at} grade={1 if at < 20 else 3}"
    data = write_rows(tmp_path / "d.jsonl", rows)
    with LoopbackServer(refuse_some) as server:
        options = ("-m", "openai:m", "--base-url", server.openai_url, "--depth", count + 20)
        for requests in (count + 20, count):
            before = len(server.requests)
            result = run_judge("run", data, *options, "--min-coverage", 0, "--out", tmp_path / "r" / "x")
            assert result.returncode == 0, result.stderr
            assert len(server.requests) - before == requests


@pytest.mark.parametrize(
    ("error", "reason", "advice"),
    [
        (
            {"message": "rejected by the gateway"},
            "the server rejected the request as malformed",
            "use another model, or lower --min-coverage",
        ),
        (
            {"code": "context_length_exceeded", "message": "maximum context"},
            "too long for the model",
            "lower max_chars and name another --out",
        ),
        (
            {"code": "data_inspection_failed", "message": "Input data may contain it"},
            "the provider's content filter refused it",
            "the refusal of a content filter is final",
        ),
    ],
)
def test_a_first_query_with_refused_pairs_alone_does_not_stop_a_run(
    error: dict[str, str], reason: str, advice: str, tmp_path: Path
) -> None:
    def refuse_first_query(request: ChatRequest) -> Reply:
        if "text 0." in request.prompt:
            return Reply(status=400, body=json.dumps({"error": error}))
        return reply_with_grade(request)

    data = write_rows(tmp_path / "d.jsonl", make_rows(3, 1, 35))
    with LoopbackServer(refuse_first_query) as server:
        options = ("-m", "openai:m", "--base-url", server.openai_url, "--depth", 35, "--concurrency", 1)
        output = read_last_line(run_judge("run", data, *options, "--out", tmp_path / "r" / "x"))
    words = "only 66.67% of the pairs were judged, less than --min-coverage 99% (35 of 105 failed:"
    assert f"{words} {reason}: " in output
    assert advice in output


def test_the_error_of_most_pairs_is_reported_and_stored(tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "no, sk-canary-5b1d9f: messages[1] is odd"}})

    def accept_the_first(request: ChatRequest) -> Reply:
        return reply_with_grade(request) if request.number == 1 else Reply(status=400, body=body)

    with LoopbackServer(accept_the_first) as server:
        result = run_with_short_wait(tmp_path, server.openai_url, "--concurrency", 1)
    words = "HTTP 400: no, ***: messages[1] is odd"
    advice = "run the same command again to get the rest"
    reason = f"the server rejected the request as malformed: {words}"
    assert f"(9 of 10 failed: {reason}); {advice}" in read_last_line(result)
    folder = tmp_path / "r" / "x"
    lines = (folder / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["detail"] for line in lines} == {"", words}
    shown = run_judge("show", folder, "--query", "q0").stdout
    assert f"failed: bad_request (the server rejected the request as malformed)  {words}" in shown
    chinese = run_judge("show", folder, "--query", "q0", "--ui-lang", "zh").stdout
    assert f"bad_request（服务器因请求格式有误而拒绝）  {words}" in chinese
    output = json.loads(run_judge("show", folder, "--query", "q0", "--json").stdout)
    entry = output["engines"]["engine1"]["snippets"][0]["judgments"][0]
    assert (entry["error"], entry["grade"]) == ("bad_request", None)


def test_a_few_failures_are_reported_of_a_run_with_enough_grades(tmp_path: Path) -> None:
    def reject_one_pair(request: ChatRequest) -> Reply:
        body = json.dumps({"error": {"message": "an odd pair"}})
        return Reply(status=400, body=body) if "text 0.0.1 " in request.prompt else reply_with_grade(request)

    with LoopbackServer(reject_one_pair) as server:
        result = run_with_short_wait(tmp_path, server.openai_url, "--min-coverage", 0.9)
    assert result.returncode == 0, result.stderr
    reason = "the server rejected the request as malformed"
    assert f"1 of 10 judgments has no grade (coverage 90.0%): {reason} (1)." in result.stdout
    assert "not every judgment has a grade; the most frequent error: HTTP 400: an odd pair\n" in result.stdout
    assert result.stdout.count(reason) == 1
    assert "they are imputed" in result.stdout
    assert (
        "What to do: run the judge run or judge nightly command of this folder again to get the rest; if"
        in result.stdout
    )


def test_missing_texts_do_not_hide_the_error_of_the_server(tmp_path: Path) -> None:
    rows = make_rows(1, 2, 10)
    for row in rows[:3]:
        row["snippet"] = None

    def reject_one_pair(request: ChatRequest) -> Reply:
        body = json.dumps({"error": {"message": "an odd pair"}})
        return Reply(status=400, body=body) if "text 0.1.9" in request.prompt else reply_with_grade(request)

    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "r"
    with LoopbackServer(reject_one_pair) as server:
        options = ("-m", "openai:x", "--base-url", server.openai_url, "--min-coverage", 0.5, "--out", out)
        result = run_judge("run", data, *options)
    assert result.returncode == 0, result.stderr
    assert "not every judgment has a grade; the most frequent error: HTTP 400: an odd pair\n" in result.stdout
    # Enough pairs are judged, so what is missing does not come first, as in the report.
    again = run_judge("score", out)
    for text in (result.stdout, again.stdout):
        assert text.index("1 query") < text.index("4 of 20 judgments have no grade")
