"""Every recorded failure, through every adapter: the right class and kind, one request, no key shown."""

import asyncio
import json
from collections.abc import Callable

import pytest

from judge.errors import AccountError, CallError, NoResponse, RequestRejected, RetryableError, TimedOut
from judge.records import Completion
from tests.support.cases import check_each
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.server_thread import reserve_unused_address
from tests.support.virtual_time import AdjustableLoop
from tests.unit.models.adapter_calls import (
    ADAPTERS,
    CANARY,
    Case,
    ask,
    load_cases,
    make_reply,
    open_at,
    serve_reply,
)

CLASSES: dict[str, type[CallError]] = {
    "rate_limit": RetryableError,
    "server_error": RetryableError,
    "transport": RetryableError,
    "content_filter": RequestRejected,
    "refusal": RequestRejected,
    "too_long": RequestRejected,
    "bad_request": RequestRejected,
    "auth": AccountError,
    "quota": AccountError,
    "model_not_found": AccountError,
    "bad_parameter": AccountError,
}
#: The case file names the family; a parameter of ours that stops the run is told apart from a bad pair.
FINER = {"ds_thinking_nonstream": "bad_parameter"}
#: What a LangChain package drops or cannot read, so that all we learn is that no answer came.
LOST = {
    ("langchain:tongyi", "ds_200_code"),
    ("langchain:tongyi", "http_200_error_body"),
    ("langchain:tongyi", "message_null"),
    ("langchain:tongyi", "message_choices_empty"),
    ("langchain:openai", "ds_200_code"),
    ("langchain:openai", "message_choices_empty"),
}
#: OpenAI's error object, which the native wire of DashScope doesn't have and the old client doesn't read.
OPENAI_ONLY = {"http_400_filter_azure", "ds_inspection_compat", "message_refusal"}


def skip_foreign(adapter: str, case: Case) -> None:
    """Skips a case that cannot occur on the wire of `adapter`."""
    if adapter == "langchain:tongyi" and case["shape"] in OPENAI_ONLY:
        pytest.skip("not a shape of this wire")


def get_failure(
    adapter: str,
    server: LoopbackServer,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> CallError:
    """The error of one call, whose timeout is 60 s; a call that succeeds fails the test."""
    with pytest.raises(CallError) as caught:
        ask(open_at(adapter, server), loop_factory=loop_factory)
    return caught.value


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("case", load_cases("http"), ids=lambda case: case["shape"])
def test_each_http_failure_is_named(adapter: str, case: Case) -> None:
    skip_foreign(adapter, case)
    kind = FINER.get(case["shape"], case["expected"]["error"])
    if (adapter, case["shape"]) in LOST:
        kind = "transport"
    loop = AdjustableLoop()

    def answer(_: ChatRequest) -> Reply:
        if case["shape"] == "timeout":
            loop.call_soon_threadsafe(loop.advance, 60.0)
        return make_reply(case)

    with LoopbackServer(answer) as server:
        error = get_failure(adapter, server, lambda: loop)
        assert error.kind == kind
        assert isinstance(error, CLASSES[kind])
        assert isinstance(error, TimedOut) == (case["shape"] == "timeout")
        assert len(server.requests) == 1
    assert error.maybe_billed == (kind == "transport")
    assert CANARY not in f"{error} {error!r} {error.__cause__!r}"


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("case", load_cases("message"), ids=lambda case: case["shape"])
def test_each_message_is_read_or_declined(adapter: str, case: Case) -> None:
    skip_foreign(adapter, case)
    expected = case["expected"]
    with serve_reply(make_reply(case)) as server:
        if expected.get("error") in ("refusal", "content_filter"):
            assert get_failure(adapter, server).kind == expected["error"]
        elif (adapter, case["shape"]) in LOST:
            assert get_failure(adapter, server).kind == "transport"
        else:
            [answer] = ask(open_at(adapter, server))
            check(case, adapter, answer)
        assert len(server.requests) == 1


def check(case: Case, adapter: str, answer: Completion) -> None:
    """`answer` holds the final text of `case` and nothing of its reasoning."""
    if case["expected"]["class"] == "must_parse":
        assert json.loads(answer.text)["grade"] == case["expected"]["value"]
    else:
        assert answer.text == ""
    served = case["message"].get("_response_model")
    # Tongyi reports the name that it was given, not the one that the server says.
    if served and adapter != "langchain:tongyi":
        assert answer.model == served


@check_each("adapter", ADAPTERS)
@check_each("reply", [Reply(text="x" * 500, cut=True), Reply(reset=True)])
def test_a_broken_connection_may_have_been_billed(adapter: str, reply: Reply) -> None:
    with serve_reply(reply) as server:
        error = get_failure(adapter, server)
    assert isinstance(error, NoResponse)
    assert (error.kind, error.maybe_billed) == ("transport", True)


@pytest.mark.parametrize("adapter", ["openai", "dashscope"])
def test_a_server_that_is_not_there_bills_nothing(adapter: str) -> None:
    with serve_reply(Reply()) as server, reserve_unused_address() as where:
        server.url = f"http://{where}"
        error = get_failure(adapter, server)
    assert (error.kind, error.maybe_billed) == ("transport", False)
    assert server.url in error.detail


@check_each("adapter", ["openai", "dashscope", "langchain:openai"])
@check_each(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(adapter: str, headers: dict[str, str], seconds: float | None) -> None:
    with serve_reply(Reply(status=429, headers=headers, body="{}")) as server:
        assert get_failure(adapter, server).retry_after == seconds


def test_retry_after_may_be_a_date_however_far() -> None:
    dates = {"date": "Wed, 21 Oct 2026 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}
    with serve_reply(Reply(status=429, headers=dates, body="{}")) as server:
        assert get_failure("openai", server).retry_after == 30
    with serve_reply(Reply(status=429, headers={"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"})) as server:
        wait = get_failure("openai", server).retry_after
    assert wait is not None
    assert wait > 1e9


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_key_that_the_server_repeats_is_masked(adapter: str) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {CANARY}", "code": "invalid_api_key"}}
    if adapter.endswith(("dashscope", "tongyi")):
        body = {"code": "InvalidApiKey", "message": f"no such key {CANARY}"}  # type: ignore[dict-item]
    with serve_reply(Reply(status=401, body=json.dumps(body))) as server:
        error = get_failure(adapter, server)
    assert error.kind == "auth"
    assert "***" in str(error)
    assert CANARY not in repr(error)


@pytest.mark.parametrize("adapter", ["openai", "dashscope", "langchain:openai"])
def test_a_redirect_is_not_followed(adapter: str) -> None:
    with serve_reply(Reply(text="{}")) as elsewhere:
        there = {"location": f"{elsewhere.url}/v1/chat/completions"}
        with serve_reply(Reply(status=307, headers=there, body="")) as server:
            assert get_failure(adapter, server).kind == "bad_parameter"
        assert elsewhere.requests == []
