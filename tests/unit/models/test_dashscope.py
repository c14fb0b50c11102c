"""The DashScope adapter against a real server: the native wire, and nothing from elsewhere."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from judge.errors import RetryableError, SetupError
from judge.models.dashscope import DashScopeModel
from judge.models.server import ServerAccess
from judge.records import Sampling, Usage
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.models.adapter_calls import CANARY, PROMPT, SAMPLING, ask, open_at, serve_reply

GRADE = '{"grade": 2}'
PATH = "/api/v1/services/aigc/text-generation/generation"


def test_an_answer_is_read_whole() -> None:
    usage = Usage(prompt_tokens=90, cached_tokens=64, completion_tokens=20, reasoning_tokens=5)
    with serve_reply(Reply(text=GRADE, usage=usage, model="m-2026-11-01")) as server:
        [answer] = ask(open_at("dashscope", server))
    assert (answer.text, answer.finish_reason, answer.usage) == (GRADE, "stop", usage)
    assert (answer.model, answer.request_id) == ("m-2026-11-01", "request-1")


def test_the_request_carries_what_was_asked_and_nothing_else() -> None:
    sampling = Sampling(temperature=0.0, max_tokens=400, top_p=0.9, seed=7)
    with serve_reply(Reply(text=GRADE)) as server:
        [answer] = ask(open_at("dashscope", server, sampling=sampling))
        [requests] = server.requests
    assert requests.path == PATH
    assert requests.body is not None
    assert requests.body["input"]["messages"] == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    parameters = dict(requests.body["parameters"])
    assert parameters.pop("result_format") == "message"
    assert parameters == answer.params
    assert parameters == {
        "temperature": 0.0,
        "max_tokens": 400,
        "top_p": 0.9,
        "seed": 7,
        "enable_thinking": False,
        "response_format": {"type": "json_object"},
    }
    headers = {name.lower(): value for name, value in requests.headers.items()}
    assert headers["authorization"] == f"Bearer {CANARY}"
    # None of the SDK, which describe this machine.
    assert headers.keys() == {
        "host",
        "accept",
        "accept-encoding",
        "authorization",
        "content-type",
        "content-length",
        "user-agent",
    }


def test_the_answer_format_steps_down_once_and_is_remembered() -> None:
    def answer(request: ChatRequest) -> Reply:
        if "response_format" in (request.body or {})["parameters"]:
            refusal = {"code": "InvalidParameter", "message": "'messages' must contain the word 'json'"}
            return Reply(status=400, body=json.dumps(refusal))
        return Reply(text=GRADE)

    with LoopbackServer(answer) as server:
        answers = ask(open_at("dashscope", server), PROMPT, PROMPT)
        assert len(server.requests) == 3
    assert "response_format" not in answers[1].params


def test_a_limit_of_tokens_that_the_model_refuses_is_left_out() -> None:
    def answer(request: ChatRequest) -> Reply:
        if "max_tokens" in (request.body or {})["parameters"]:
            refusal = {"code": "InvalidParameter", "message": "Unsupported parameter: 'max_tokens'"}
            return Reply(status=400, body=json.dumps(refusal))
        return Reply(text=GRADE)

    with LoopbackServer(answer) as server:
        [completion] = ask(open_at("dashscope", server))
    assert "max_tokens" not in completion.params
    assert "max_completion_tokens" not in completion.params


def test_a_plain_text_output_is_read() -> None:
    body = {"output": {"text": GRADE, "finish_reason": "stop"}, "request_id": "r"}
    with serve_reply(Reply(body=json.dumps(body))) as server:
        [answer] = ask(open_at("dashscope", server))
    assert (answer.text, answer.usage, answer.model) == (GRADE, None, "m")


def test_setup_says_what_is_missing() -> None:

    with pytest.raises(SetupError, match="set DASHSCOPE_API_KEY"):
        DashScopeModel("qwen-plus", ServerAccess(None, {}, 60.0, 8), SAMPLING)


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['dashscope'] = None\n"
        "from judge.errors import SetupError\n"
        "try: import judge.models.dashscope\n"
        "except SetupError as error: print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'search-judge[dashscope]'" in output
    assert "uv sync --inexact --extra dashscope" in output


def test_no_warning_and_no_file_of_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    config = tmp_path / "config.toml"
    config.write_text('base_url = "https://elsewhere.example"\nmax_retries = 5\n')
    monkeypatch.setenv("DASHSCOPE_CONFIG_PATH", str(config))
    # Warnings are errors here.
    model = DashScopeModel("qwen-plus", ServerAccess(None, {"DASHSCOPE_API_KEY": CANARY}, 60.0, 8), SAMPLING)
    assert model.endpoint == "https://dashscope.aliyuncs.com/api/v1"
    asyncio.run(model.aclose())


def test_the_environment_names_the_server() -> None:

    with serve_reply(Reply(text=GRADE)) as server:
        environ = {"DASHSCOPE_HTTP_BASE_URL": server.dashscope_url}
        model = DashScopeModel("m", ServerAccess(None, environ, 60.0, 8), SAMPLING)
        assert (model.name, model.endpoint) == ("dashscope:m", server.dashscope_url)
        ask(model)
        assert "Authorization" not in server.requests[0].headers


def test_dashscopes_word_for_too_many_tokens_is_no_empty_account() -> None:
    refusal = '{"code": "insufficient_quota", "message": "You exceeded your current quota."}'
    with serve_reply(Reply(status=429, body=refusal)) as server:
        model = open_at("dashscope", server)
        assert isinstance(model, DashScopeModel)
        model.endpoint = "https://dashscope.aliyuncs.com/api/v1"
        with pytest.raises(RetryableError, match="rate_limit"):
            ask(model)
