"""LangChain's models behind the seam: what reaches the wire, and that nothing goes anywhere else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from judge.errors import CallError, RequestRejected, RetryableError, SetupError
from judge.models.providers import open_model
from judge.models.server import ServerAccess
from judge.records import Completion, Sampling, Usage
from tests.support.cases import check_each
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.models.adapter_calls import (
    CANARY,
    KEYS,
    PROMPT,
    SAMPLING,
    ask,
    ask_until_accepted,
    open_at,
    serve_reply,
)

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

GRADE = '{"grade": 2}'
BOTH = ("langchain:openai", "langchain:tongyi")


@pytest.mark.parametrize("adapter", BOTH)
def test_an_answer_is_read_whole(adapter: str) -> None:
    usage = Usage(prompt_tokens=90, cached_tokens=64, completion_tokens=20, reasoning_tokens=5)
    with serve_reply(Reply(text=GRADE, usage=usage)) as server:
        model = open_at(adapter, server)
        assert (model.name, model.endpoint[: len(server.url)]) == (f"{adapter}:m", server.url)
        [answer] = ask(model)
    assert (answer.text, answer.finish_reason, answer.usage, answer.model) == (GRADE, "stop", usage, "m")


def test_what_chat_openai_sends_is_what_the_completion_says() -> None:
    with serve_reply(Reply(text=GRADE)) as server:
        [answer] = ask(open_at("langchain:openai", server))
        [requests] = server.requests
    body: dict[str, Any] = dict(requests.body or {})
    turns = [body.pop("messages"), body.pop("model")]
    assert [turn["role"] for turn in turns[0]] == ["system", "user"]
    assert not body.pop("stream", False)
    assert body == answer.params
    assert body == {
        "temperature": 0.0,
        "max_completion_tokens": 400,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert {name.lower(): value for name, value in requests.headers.items()}[
        "authorization"
    ] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chat_template_kwargs", "Unrecognized request argument supplied: chat_template_kwargs"),
        ("temperature", "Unsupported parameter: temperature"),
    ],
)
def test_a_parameter_that_a_server_refuses_is_taken_back(name: str, message: str) -> None:
    refusal = json.dumps({"error": {"message": message, "param": name}})

    def refuse_parameter(request: ChatRequest) -> Reply:
        return Reply(status=400, body=refusal) if name in (request.body or {}) else Reply(text=GRADE)

    with LoopbackServer(refuse_parameter) as server:
        answers = ask(open_at("langchain:openai", server), PROMPT, PROMPT)
        assert len(server.requests) == 3
    assert all(name not in answer.params for answer in answers)


def test_a_parameter_of_openrouter_does_not_change_the_api_when_another_one_is_taken_back() -> None:
    from langchain.chat_models import init_chat_model

    from judge.models.langchain import LangChainModel

    extra = {"reasoning": {"enabled": False}}  # ChatOpenAI has a field of this name, too

    def refuse_temperature(request: ChatRequest) -> Reply:
        refusal = '{"error": {"message": "Unsupported parameter: temperature"}}'
        is_refused = "temperature" in (request.body or {})
        return Reply(status=400, body=refusal) if is_refused else Reply(text=GRADE)

    with LoopbackServer(refuse_temperature) as server:
        here = server.openai_url
        options: dict[str, Any] = {"base_url": here, "api_key": "k", "temperature": 0.0, "extra_body": extra}
        chat = init_chat_model("m", model_provider="openai", **options)
        ask(LangChainModel(chat, "openai:m", here, {"temperature": 0.0, **extra}))
        bodies = [dict(request.body or {}) for request in server.requests]
    assert [body.pop("temperature", None) for body in bodies] == [0.0, None]
    assert bodies[0] == bodies[1]


def test_dashscopes_word_for_too_many_tokens_is_no_empty_account() -> None:
    from langchain.chat_models import init_chat_model

    from judge.models.langchain import LangChainModel

    refusal = '{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota."}}'
    with serve_reply(Reply(status=429, body=refusal)) as server:
        chat = init_chat_model(
            "m", model_provider="openai", base_url=server.openai_url, api_key="k", max_retries=0
        )
        here = "https://dashscope.aliyuncs.com/compatible-mode/v1"
        with pytest.raises(RetryableError, match="rate_limit"):
            ask(LangChainModel(chat, "openai:m", here))


@check_each(
    ("status", "code"),
    [
        (429, "rate_limit"),
        (500, "server_error"),
        (503, ""),
        (400, "content_filter"),
        (401, "invalid_api_key"),
        (400, "invalid_request"),
    ],
)
def test_what_fails_for_another_reason_takes_no_parameter_back(status: int, code: str) -> None:
    text = json.dumps({"error": {"code": code, "message": "see chat_template_kwargs"}})
    with LoopbackServer(lambda request: Reply(status=status, body=text)) as server:
        with pytest.raises(CallError):
            ask(open_at("langchain:openai", server))
        assert len(server.requests) == 1


def test_many_first_calls_pay_one_refusal_each() -> None:
    refusal = '{"error": {"message": "Unrecognized request argument supplied: chat_template_kwargs"}}'

    def refuse_parameter(request: ChatRequest) -> Reply:
        refused = "chat_template_kwargs" in (request.body or {})
        return Reply(status=400, body=refusal, delay=0.05) if refused else Reply(text=GRADE)

    async def ask_all() -> list[Completion]:
        model = open_at("langchain:openai", server)
        answers = await asyncio.gather(*(ask_until_accepted(model, PROMPT) for _ in range(4)))
        await model.aclose()
        return answers

    with LoopbackServer(refuse_parameter) as server:
        answers = asyncio.run(ask_all())
        assert len(server.requests) == 8
    assert not any("chat_template_kwargs" in answer.params for answer in answers)


@pytest.mark.parametrize("top_p", [None, 0.5])
def test_what_tongyi_sends_is_what_the_completion_says(top_p: float | None) -> None:
    with serve_reply(Reply(text=GRADE)) as server:
        [answer] = ask(open_at("langchain:tongyi", server, sampling=Sampling(0.0, 400, top_p, seed=3)))
        [requests] = server.requests
    assert requests.body is not None
    parameters = dict(requests.body["parameters"])
    assert parameters.pop("result_format") == "message"
    assert parameters == answer.params
    assert parameters["enable_thinking"] is False
    assert parameters.get("top_p") == top_p
    assert requests.prompt == f"{PROMPT.system}\n\n{PROMPT.user}"
    assert {name.lower(): value for name, value in requests.headers.items()}[
        "authorization"
    ] == f"Bearer {CANARY}"


def test_tongyi_asks_as_many_at_once_as_it_may() -> None:
    async def ask_all() -> None:
        model = open_at("langchain:tongyi", server)
        await asyncio.gather(*(model.complete(PROMPT) for _ in range(8)))
        await model.aclose()

    with serve_reply(Reply(text=GRADE, in_flight=8)) as server:
        asyncio.run(ask_all())
        assert server.in_flight_peak == 8


def test_two_tongyi_models_keep_their_own_addresses() -> None:
    with serve_reply(Reply(text="first")) as first, serve_reply(Reply(text="second")) as second:
        one, other = open_at("langchain:tongyi", first), open_at("langchain:tongyi", second)
        assert [ask(one)[0].text, ask(other)[0].text] == ["first", "second"]


def test_tracing_and_caches_hear_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_core.caches import InMemoryCache
    from langchain_core.globals import set_llm_cache

    with serve_reply(Reply(text=GRADE)) as server, serve_reply(Reply(body="{}")) as smith:
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setenv("LANGSMITH_API_KEY", "key")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", smith.url)
        set_llm_cache(InMemoryCache())
        try:
            ask(open_at("langchain:openai", server), PROMPT, PROMPT)
        finally:
            set_llm_cache(None)
        time.sleep(0.3)
        assert (len(server.requests), len(smith.requests)) == (2, 0)


def describe(message: AIMessage) -> Completion:
    """The completion that a ready chat model's `message` becomes."""
    from langchain_core.language_models import GenericFakeChatModel

    from judge.models.langchain import LangChainModel

    [answer] = ask(LangChainModel(GenericFakeChatModel(messages=iter([message])), "fake"))
    return answer


def test_a_ready_object_is_asked() -> None:
    from langchain_core.messages import AIMessage

    answer = describe(AIMessage([{"type": "reasoning", "text": "3?"}, {"type": "text", "text": GRADE}]))
    assert (answer.text, answer.usage, answer.params) == (GRADE, None, {})


@check_each(
    ("metadata", "finish_reason"),
    [
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "end_turn"}, "end_turn"),
        ({"done_reason": "length"}, "length"),
        ({}, None),
    ],
)
def test_a_cut_answer_is_known_by_every_providers_word(
    metadata: dict[str, str], finish_reason: str | None
) -> None:
    from langchain_core.messages import AIMessage

    assert describe(AIMessage(GRADE, response_metadata=metadata)).finish_reason == finish_reason


@pytest.mark.parametrize("metadata", [{"finish_reason": "SAFETY"}, {"stop_reason": "refusal"}])
def test_an_answer_that_a_filter_cut_is_none(metadata: dict[str, str]) -> None:
    from langchain_core.messages import AIMessage

    with pytest.raises(RequestRejected, match="content_filter"):
        describe(AIMessage(GRADE, response_metadata=metadata))


def test_a_ready_object_that_breaks_is_a_failed_call() -> None:
    from langchain_core.language_models import GenericFakeChatModel

    from judge.models.langchain import LangChainModel

    model = LangChainModel(GenericFakeChatModel(messages=iter([])), "fake")
    with pytest.raises(RetryableError, match="transport: langchain:fake: "):
        ask(model)


def test_a_slow_call_is_given_up_in_time() -> None:
    with (
        serve_reply(Reply(text=GRADE, delay=1.0)) as server,
        pytest.raises(RetryableError, match=r"no answer within 0\.2 s"),
    ):
        ask(open_at("langchain:openai", server, timeout=0.2))


def test_threads_end_with_the_model() -> None:
    with serve_reply(Reply(text=GRADE)) as server:
        ask(open_at("langchain:tongyi", server))
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("langchain")]
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_setup_says_what_is_missing() -> None:
    from judge.models.langchain import open_chat_model

    access = ServerAccess(None, {}, 5.0, 8)
    with pytest.raises(SetupError, match="set OPENAI_API_KEY"):
        open_chat_model("openai:gpt", access, SAMPLING)
    with pytest.raises(SetupError, match="set DASHSCOPE_API_KEY"):
        open_chat_model("tongyi:qwen-plus", access, SAMPLING)
    with pytest.raises(SetupError, match="pip install langchain-deepseek"):
        open_chat_model("deepseek:deepseek-chat", access, SAMPLING)
    with pytest.raises(SetupError, match=r"Supported model providers are: .*openai"):
        open_model("langchain:nobody:m", ServerAccess(None, KEYS, timeout=5, concurrency=8), SAMPLING)


def test_an_error_of_a_package_that_is_no_error_of_a_value_is_an_error_of_the_setup() -> None:
    from judge.models.langchain import open_chat_model

    # Without a key, this class raises openai.OpenAIError, whose parent is Exception.
    with pytest.raises(SetupError, match=r"langchain:azure_openai:m cannot be opened: Missing credentials"):
        open_chat_model("azure_openai:m", ServerAccess(None, {}, 5.0, 8), SAMPLING)


def test_an_error_of_the_setup_does_not_show_a_key() -> None:
    from judge.models.langchain import open_chat_model

    # Pydantic's message shows the beginning and the end of the options.
    environ = {"AZURE_OPENAI_API_KEY": CANARY}
    with pytest.raises(SetupError, match="api_version") as caught:
        open_chat_model("azure_openai:m", ServerAccess(None, environ, 5.0, 8), SAMPLING)
    assert CANARY not in str(caught.value)
    assert "input_value" not in str(caught.value)


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['langchain'] = None\n"
        "from judge.errors import SetupError\n"
        "try: import judge.models.langchain\n"
        "except SetupError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'search-judge[langchain]'" in shown


@pytest.mark.parametrize(
    "proxies",
    [
        {"HTTPS_PROXY": "http://127.0.0.1:9"},
        {"ALL_PROXY": "socks5://127.0.0.1:9", "NO_PROXY": "model.example"},
    ],
)
def test_proxies_of_the_environment_lead_to_no_warning_and_no_error_of_chat_openai(
    proxies: dict[str, str],
) -> None:
    """The package warns once in a process, of its own clients, which send no request."""
    code = (
        "from judge.models.providers import open_model\n"
        "from judge.models.server import ServerAccess\n"
        "from judge.records import Sampling\n"
        "access = ServerAccess('http://model.example/v1', {'OPENAI_API_KEY': 'none'}, 9.0, 1)\n"
        "print(open_model('langchain:openai:m', access, Sampling(0.0, 99)).name)"
    )
    environ = {**os.environ, **proxies}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    assert (result.stdout, result.stderr) == ("langchain:openai:m\n", "")
