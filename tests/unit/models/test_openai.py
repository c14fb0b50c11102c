"""The OpenAI adapter against a real server: what it sends, what it reads, what it gives up."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    NoResponse,
    ParametersRejected,
    RequestRejected,
    SetupError,
    TimedOut,
)
from judge.models.batch_api import BatchStatus
from judge.models.error_mapping import ErrorResponse
from judge.models.negotiation import Negotiation, RequestParams
from judge.models.openai_batches import OpenAIBatchApi
from judge.models.providers import DASHSCOPE, OPENAI, Model, Service, open_openai
from judge.models.server import ServerAccess, build_thinking_params
from judge.records import Completion, Sampling, Usage
from tests.support.cases import check_each
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.server_thread import reserve_unused_address
from tests.support.virtual_time import AdjustableLoop
from tests.unit.models.adapter_calls import (
    CANARY,
    PROMPT,
    SAMPLING,
    SCHEMA,
    ask,
    ask_until_accepted,
    open_at,
    serve_reply,
)

GRADE = '{"grade": 2}'


def serve_refusal(message: str, when: Callable[[ChatRequest], bool], status: int = 400) -> LoopbackServer:
    """A server that answers `status` with `message` to requests that `when` picks, else with a grade."""

    def answer(request: ChatRequest) -> Reply:
        if when(request):
            return Reply(status=status, body=json.dumps({"error": {"message": message, "code": None}}))
        return Reply(text=GRADE)

    return LoopbackServer(answer)


def format_of(request: ChatRequest) -> str:
    """The type of the response format that a request asks for."""
    assert request.body is not None
    return str(request.body.get("response_format", {}).get("type", "text"))


def test_an_answer_is_read_whole() -> None:
    usage = Usage(prompt_tokens=90, cached_tokens=64, completion_tokens=20, reasoning_tokens=5)
    with serve_reply(Reply(text=GRADE, usage=usage, model="m-2026-11-01", finish_reason="length")) as server:
        [answer] = ask(open_at("openai", server))
    assert (answer.text, answer.finish_reason) == (GRADE, "length")
    assert (answer.usage, answer.model, answer.request_id) == (usage, "m-2026-11-01", "chat-1")


def test_a_server_that_counts_nothing_leaves_usage_unknown() -> None:
    with serve_reply(Reply(text=GRADE, usage=None)) as server:
        [answer] = ask(open_at("openai", server))
    assert answer.usage is None


def test_the_request_carries_what_was_asked_and_nothing_else() -> None:
    sampling = Sampling(temperature=0.0, max_tokens=400, top_p=0.9, seed=7)
    with serve_reply(Reply(text=GRADE)) as server:
        [answer] = ask(open_at("openai", server, sampling=sampling))
        [requests] = server.requests
    assert requests.body is not None
    body = dict(requests.body)
    assert body.pop("model") == "m"
    assert body.pop("messages") == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    assert body == answer.params
    assert body.pop("response_format")["json_schema"] == {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert body == {
        "temperature": 0.0,
        "max_tokens": 400,
        "top_p": 0.9,
        "seed": 7,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    headers = {name.lower(): value for name, value in requests.headers.items()}
    assert headers["authorization"] == f"Bearer {CANARY}"
    assert not [name for name in headers if name.startswith("x-stainless-os")]


def test_environment_variables_of_the_sdk_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: yes")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-key")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-shell")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-shell")
    with serve_reply(Reply(text=GRADE)) as server:
        ask(open_at("openai", server, environ={"OPENAI_PROJECT_ID": "project"}))
        [requests] = server.requests
    headers = {name.lower(): value for name, value in requests.headers.items()}
    assert headers["openai-project"] == "project"
    assert headers["authorization"] == "Bearer none"
    assert not {"x-leak", "openai-organization"} & headers.keys()


@check_each(
    ("url", "switch"),
    [
        ("https://api.openai.com/v1", {"reasoning_effort": "none"}),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", {"enable_thinking": False}),
        ("https://ws1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1", {"enable_thinking": False}),
        ("https://notaliyuncs.com/v1", {}),
        ("https://api.deepseek.com", {"thinking": {"type": "disabled"}}),
        ("https://open.bigmodel.cn/api/paas/v4", {"thinking": {"type": "disabled"}}),
        ("https://api.z.ai/api/paas/v4", {"thinking": {"type": "disabled"}}),
        # https://github.com/ahmadrosid/nakama/pull/922, https://github.com/yilewang/llm-for-zotero/issues/65
        ("https://ark.cn-beijing.volces.com/api/v3", {"thinking": {"type": "disabled"}}),
        ("https://api.moonshot.cn/v1", {"thinking": {"type": "disabled"}}),
        # https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions
        ("https://api.siliconflow.cn/v1", {"enable_thinking": False}),
        # https://github.com/oneshot-agent/oneshot-gtm/pull/579
        ("https://openrouter.ai/api/v1", {"reasoning": {"enabled": False}}),
        ("http://localhost:11434/v1", {"reasoning_effort": "none"}),
        ("http://10.1.2.3:8000/v1", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("http://vllm:8000/v1", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_thinking_is_turned_off_as_the_server_reads_it(url: str, switch: dict[str, object]) -> None:
    assert build_thinking_params(url, thinking=False) == switch


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This response_format type is unavailable now"),
        (400, "Json mode is not supported for this model."),
        (400, "JSON schema is not supported"),
        (400, "'messages' must contain the word 'json' in some form, to use it"),
        (400, "Structured outputs are not available for this model"),
        (400, "Failed to initialize samplers: failed to parse grammar"),
        # https://github.com/thepersonalaicompany/amurex-backend/issues/38
        (400, "json_validate_failed: Failed to generate JSON. Please adjust your prompt."),
        # https://github.com/ikawrakow/ik_llama.cpp/issues/778, https://github.com/ggml-org/llama.cpp/issues/23463
        (500, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
    ],
)
def test_the_answer_format_steps_down_once_and_is_remembered(status: int, message: str) -> None:
    def accepts_only_text(chat_request: ChatRequest) -> bool:
        return format_of(chat_request) != "text"

    second = replace(PROMPT, user="query: coffee")
    with serve_refusal(message, accepts_only_text, status) as server:
        answers = ask(open_at("openai", server), PROMPT, second)
        formats = [format_of(request) for request in server.requests]
    assert formats == ["json_schema", "json_object", "text", "text"]
    assert [answer.text for answer in answers] == [GRADE, GRADE]
    assert "response_format" not in answers[0].params


def test_many_first_calls_pay_one_refusal_each() -> None:
    async def ask_all(model: Model) -> list[Completion]:
        prompts = [replace(PROMPT, user=f"query: {number}") for number in range(8)]
        answers = await asyncio.gather(*(ask_until_accepted(model, prompt) for prompt in prompts))
        await model.aclose()
        return answers

    message = "response_format.type json_schema is not supported"
    with serve_refusal(message, lambda request: format_of(request) == "json_schema") as server:
        model = open_openai("m", ServerAccess(server.openai_url, {}, 60.0, 8), SAMPLING)
        answers = asyncio.run(ask_all(model))
        assert len(server.requests) <= 16
    assert {answer.params["response_format"]["type"] for answer in answers} == {"json_object"}


def test_one_call_is_one_request_and_the_caller_repeats_it_without_a_rejected_parameter() -> None:
    async def ask_all(model: Model) -> list[str]:
        with pytest.raises(ParametersRejected, match="json_schema is not supported") as rejected:
            await model.complete(PROMPT)
        shown = [rejected.value.kind, (await model.complete(PROMPT)).text]
        await model.aclose()
        return shown

    message = "response_format.type json_schema is not supported"
    with serve_refusal(message, lambda request: format_of(request) == "json_schema") as server:
        output = asyncio.run(
            ask_all(open_openai("m", ServerAccess(server.openai_url, {}, 60.0, 8), SAMPLING))
        )
        assert output == ["unsupported", GRADE]
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("message", "refused", "sent"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens", 400),
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", None),
        # https://github.com/opencyvis/opencyvis-phone/issues/12, https://github.com/RooCodeInc/Roo-Code/issues/12162
        ("invalid temperature: only 1 is allowed for this model", "temperature", None),
        ("invalid temperature: only 0.6 is allowed for this model", "temperature", None),
        ("`temperature` is deprecated for this model.", "temperature", None),
        ("Unrecognized request argument supplied: chat_template_kwargs", "chat_template_kwargs", None),
        ("Extra inputs are not permitted: enable_thinking", "chat_template_kwargs", None),
        # https://github.com/Vivswan/litellm-vscode-chat/issues/18
        ("gpt-5 models don't support temperature=0.0. Only temperature=1 is supported", "temperature", None),
    ],
)
def test_a_parameter_the_server_refuses_is_given_up(message: str, refused: str, sent: int | None) -> None:
    with serve_refusal(message, lambda request: refused in (request.body or {})) as server:
        model = open_at("openai", server)
        intended = dict(model.params)
        answers = ask(model, PROMPT, PROMPT)
        assert len(server.requests) == 3
    assert refused not in answers[1].params
    assert answers[1].params.get("max_completion_tokens") == sent
    assert model.params == intended


@pytest.mark.parametrize("adapter", ["openai", "langchain:openai"])
def test_of_two_parameters_that_a_server_takes_one_at_a_time_one_is_given_up(adapter: str) -> None:
    message = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    with serve_refusal(
        message, lambda request: {"temperature", "top_p"} <= {*(request.body or {})}
    ) as server:
        model = open_at(adapter, server, sampling=Sampling(0.0, 400, top_p=0.5))
        answers = ask(model, PROMPT, PROMPT)
        assert len(server.requests) == 3
    assert all("temperature" not in answer.params and answer.params["top_p"] == 0.5 for answer in answers)


@check_each(
    ("message", "params", "instead"),
    [
        # https://github.com/kaitranntt/ccs/issues/344
        (
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values"
            " are: 'minimal', 'low', 'medium', and 'high'.",
            {"reasoning_effort": "none"},
            {"reasoning_effort": "minimal"},
        ),
        (
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported"
            " values are: 'minimal'.",
            {"reasoning_effort": "minimal"},
            {},
        ),
        # https://github.com/musistudio/claude-code-router/issues/1238
        (
            "Reasoning is mandatory for this endpoint and cannot be disabled.",
            {"reasoning": {"enabled": False}},
            {},
        ),
        # https://github.com/CherryHQ/cherry-studio/issues/7593
        (
            "Unsupported thinking type for the current model: disabled",
            {"thinking": {"type": "disabled"}},
            {},
        ),
        (
            "Value error, current model does not support parameter `enable_thinking`.",
            {"enable_thinking": False},
            {},
        ),
    ],
)
def test_a_model_that_cannot_stop_to_think_thinks_least(
    message: str, params: dict[str, object], instead: dict[str, object]
) -> None:
    negotiation = Negotiation(params, ("text",))
    error = negotiation.make_error(negotiation.current, ErrorResponse(400, message=message), endpoint="")
    assert isinstance(error, ParametersRejected)
    assert negotiation.current.params == instead


def test_a_refusal_of_stored_parameters_changes_those_of_later_requests() -> None:
    """A batch has the parameters that the store gives back, which are another object."""
    negotiation = Negotiation({"temperature": 0, "max_tokens": 64}, ("json_schema", "json_object", "text"))
    stored = RequestParams.from_json(negotiation.current.to_json())
    refusal = ErrorResponse(400, message="response_format json_schema is not supported")
    assert isinstance(negotiation.make_error(stored, refusal, endpoint=""), ParametersRejected)
    assert negotiation.current.form == "json_object"
    # Another reply of the same batch, whose parameters are no longer the present ones.
    assert isinstance(negotiation.make_error(stored, refusal, endpoint=""), ParametersRejected)
    assert negotiation.current.form == "json_object"


@check_each(
    ("adapter", "message"),
    [
        ("openai", "System role not supported"),
        ("openai", "Developer instruction is not enabled for models/gemma-3-27b-it"),
        ("openai", "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("langchain:openai", "System role not supported"),
    ],
)
def test_the_user_message_begins_with_the_system_text_where_the_server_takes_no_system_message(
    adapter: str, message: str
) -> None:
    def has_system(request: ChatRequest) -> bool:
        return request.body is not None and request.body["messages"][0]["role"] == "system"

    with serve_refusal(message, has_system) as server:
        model = open_at(adapter, server)
        wanted = model.params  # in the key of the verdict
        assert [answer.text for answer in ask(model, PROMPT, PROMPT)] == [GRADE, GRADE]
        assert model.params == wanted
        first, *others = (request.body or {} for request in server.requests)
    assert len(others) == 2
    for body in others:
        messages = [{"role": "user", "content": "Grade it as JSON.\n\nquery: tea"}]
        assert body == {**first, "messages": messages}


def test_a_refusal_that_openrouter_passes_on_names_the_parameter_and_the_filter() -> None:
    # https://github.com/OnesoftQwQ/opencode-go-copilot/issues/1
    def refuse(raw: str) -> Reply:
        error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
        return Reply(status=400, body=json.dumps({"error": error}))

    def answer(request: ChatRequest) -> Reply:
        has_temperature = "temperature" in (request.body or {})
        return refuse("`temperature` is deprecated for this model.") if has_temperature else Reply(text=GRADE)

    with LoopbackServer(answer) as server:
        [result] = ask(open_at("openai", server))
        assert "temperature" not in result.params
    filtered = pytest.raises(RequestRejected, match=r"content_filter.*Content Exists Risk")
    with LoopbackServer(lambda _: refuse("Content Exists Risk")) as server, filtered:
        ask(open_at("openai", server))


def test_a_ceiling_of_tokens_is_sent_under_its_other_name_then_not_at_all() -> None:
    message = "Unsupported parameter: '{}' is not supported with this model."
    for refused, sent in ((("max_tokens",), 400), (("max_tokens", "max_completion_tokens"), None)):

        def answer(request: ChatRequest, refused: tuple[str, ...] = refused) -> Reply:
            name = next((name for name in refused if name in (request.body or {})), None)
            if name is None:
                return Reply(text=GRADE)
            return Reply(status=400, body=json.dumps({"error": {"message": message.format(name)}}))

        with LoopbackServer(answer) as server:
            [result] = ask(open_at("openai", server))
            assert len(server.requests) == 1 + len(refused)
        assert "max_tokens" not in result.params
        assert result.params.get("max_completion_tokens") == sent


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("Range of max_tokens should be [1, 100]", "change that parameter"),
        # https://github.com/stepfun-ai/Step-Audio-R1/issues/3
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 400. This model's maximum context length"
            " is 300 tokens and your request has 100 input tokens (400 > 300 - 100).",
            "lower --max-tokens",
        ),
    ],
)
def test_a_refusal_that_no_step_cures_ends(message: str, advice: str) -> None:
    with serve_refusal(message, lambda _: True) as server:
        with pytest.raises(AccountError, match=rf"bad_parameter.*max_tokens.*{advice}"):
            ask(open_at("openai", server))
        assert len(server.requests) == 1


def test_an_endless_refusal_of_formats_ends() -> None:
    with serve_refusal("response_format is not supported", lambda _: True) as server:
        with pytest.raises(AccountError):
            ask(open_at("openai", server))
        assert [format_of(request) for request in server.requests] == ["json_schema", "json_object", "text"]


def test_text_that_is_no_unicode_is_this_pairs_own_failure() -> None:
    with serve_reply(Reply(text=GRADE)) as server, pytest.raises(RequestRejected, match="bad_request"):
        ask(open_at("openai", server), replace(PROMPT, user="half of an emoji: \ud83d"))


def test_extra_parameters_win() -> None:
    with serve_reply(Reply(text=GRADE)) as server:
        access = ServerAccess(server.openai_url, {}, 60.0, 8)
        ask(open_openai("m", access, SAMPLING, extra={"reasoning_effort": "low", "temperature": 1}))
        [requests] = server.requests
    assert requests.body is not None
    assert (requests.body["reasoning_effort"], requests.body["temperature"]) == ("low", 1)


def test_setup_says_what_is_missing() -> None:
    with pytest.raises(SetupError, match=r"set OPENAI_API_KEY"):
        open_openai("gpt", ServerAccess(None, {}, 60.0, 8), SAMPLING)
    with pytest.raises(SetupError, match=r"OPENAI_API_KEY contains characters"):
        open_openai("gpt", ServerAccess(None, {"OPENAI_API_KEY": "“sk-1”"}, 60.0, 8), SAMPLING)
    for address in ("api.openai.com/v1", "https://", "http://host:port/v1"):
        with pytest.raises(SetupError, match="is not the address of a server"):
            open_openai("gpt", ServerAccess(address, {}, 60.0, 8), SAMPLING)


def test_the_environment_names_the_server_and_no_password_gets_into_an_address() -> None:
    with serve_reply(Reply(text=GRADE)) as server:
        environ = {"OPENAI_BASE_URL": f"{server.openai_url}/"}
        model = open_openai("m", ServerAccess(None, environ, 60.0, 8), SAMPLING)
        assert (model.name, model.endpoint) == ("openai:m", server.openai_url)
        ask(model)
    with pytest.raises(SetupError) as refused:
        open_openai("m", ServerAccess("http://user:secret@10.0.0.1/v1?k=secret", {}, 60.0, 8), SAMPLING)
    assert "secret" not in str(refused.value)


#: The headers of a request about a batch: none describes this machine.
_BATCH_HEADERS = ("host", "accept", "accept-encoding", "authorization", "connection", "user-agent")


@check_each(("service", "organization"), [(OPENAI, "org-mine"), (DASHSCOPE, None)])
def test_batches_name_the_account_to_openai_alone(service: Service, organization: str | None) -> None:
    environ = {service.key_variable: "key-0123456789", "OPENAI_ORG_ID": "org-mine"}
    with LoopbackServer(lambda _: Reply(body='{"id": "b1", "status": "completed"}')) as server:
        access = ServerAccess(server.openai_url, environ, 60.0, 2)
        api = OpenAIBatchApi("m", access.open_server(service), Negotiation({}, ("text",)))

        async def retrieve() -> None:
            await api.retrieve("b1")
            await api.aclose()

        asyncio.run(retrieve())
        [request] = server.requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers.get("openai-organization") == organization
    assert headers["user-agent"] == "judge"
    assert headers.keys() <= {*_BATCH_HEADERS, "openai-organization"}


@check_each(
    ("reply", "error", "words"),
    [
        (None, ConnectionFailed, "connection refused"),
        (Reply(reset=True), NoResponse, "Connection reset"),
        (Reply(text="{}", delay=3600.0), TimedOut, "no answer within 60 s"),
    ],
)
def test_a_request_about_a_batch_says_why_it_has_no_answer(
    reply: Reply | None, error: type[CallError], words: str
) -> None:
    def answer(_: ChatRequest) -> Reply:
        if error is TimedOut:
            loop.call_soon_threadsafe(loop.advance, 60.0)
        return reply or Reply()

    loop = AdjustableLoop()
    with LoopbackServer(answer) as server, reserve_unused_address() as where:
        url = server.openai_url if reply else f"http://{where}/v1"
        access = ServerAccess(url, {"OPENAI_API_KEY": "key-0123456789"}, 60.0, 2)
        api = OpenAIBatchApi("m", access.open_server(OPENAI), Negotiation({}, ("text",)))

        async def retrieve() -> None:
            with pytest.raises(error, match=words):
                await api.retrieve("batch")
            await api.aclose()

        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(retrieve())


def test_a_connection_that_breaks_within_a_file_of_replies_may_be_tried_again() -> None:
    line = json.dumps({"custom_id": "1", "response": {"status_code": 200, "body": {}}}) + "\n"
    with serve_reply(Reply(body=line * 10, cut=True)) as server:
        access = ServerAccess(server.openai_url, {"OPENAI_API_KEY": "key-0123456789"}, 60.0, 2)
        api = OpenAIBatchApi("m", access.open_server(OPENAI), Negotiation({}, ("text",)))

        async def read() -> None:
            with pytest.raises(NoResponse):
                [line async for line in api.read_lines(BatchStatus("b1", "completed", files=("f1",)))]
            await api.aclose()

        asyncio.run(read())


def test_a_list_of_batches_that_repeats_itself_ends_the_search() -> None:
    """The server ignores the id after which the next page begins."""
    batch = {"id": "b1", "input_file_id": "other", "status": "completed", "created_at": int(time.time())}
    page = json.dumps({"object": "list", "data": [batch], "has_more": True})
    with LoopbackServer(lambda request: Reply(body=page)) as server:
        access = ServerAccess(server.openai_url, {"OPENAI_API_KEY": "key-0123456789"}, 60.0, 2)
        api = OpenAIBatchApi("m", access.open_server(OPENAI), Negotiation({}, ("text",)))

        async def find() -> None:
            assert await api.find("file", datetime.now(UTC)) is None
            await api.aclose()

        asyncio.run(find())
        assert len(server.requests) == 2
