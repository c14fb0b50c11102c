"""Whatever a server sends with status 200, an adapter answers with text or with a failed call."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.errors import CallError, NoResponse, RequestRejected, RetryableError
from judge.models.chat_messages import extract_message_text, parse_response, read_chat_completion, read_usage
from judge.models.error_mapping import ErrorResponse, classify
from judge.records import Usage
from tests.support.cases import check_each, count_examples
from tests.support.fake_server import Reply
from tests.unit.models.adapter_calls import ask, open_at, serve_reply

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NAMES = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "finish_reason",
        "refusal",
        "usage",
        "error",
        "code",
        "output",
        "text",
        "type",
    ]
) | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=count_examples(50))
@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_json_is_an_answer_or_a_fault(body: dict[str, object]) -> None:
    answer = parse_response(200, json.dumps(body).encode(), {})
    if isinstance(answer, ErrorResponse):
        assert isinstance(classify(answer), CallError)
        return
    try:
        completion = read_chat_completion(answer, {})
    except CallError:
        return
    assert isinstance(completion.text, str)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_a_failed_call(body: bytes) -> None:
    with suppress(RetryableError):
        assert isinstance(parse_response(200, body, {}), dict | ErrorResponse)


@check_each("encoding", ["latin-1", "gbk", "utf-8"])
def test_bytes_that_are_not_utf8_are_replaced(encoding: str) -> None:
    body = '{"choices": [{"message": {"content": "§ '.encode(encoding) + b'\xe9"}}]}'
    answer = parse_response(200, body, {})
    assert isinstance(answer, dict)
    assert read_chat_completion(answer, {}).text.endswith(" \ufffd")
    error = '{"error": {"message": "§", "code": "invalid_api_key"}}'.encode(encoding)
    refusal = parse_response(401, error, {})
    assert isinstance(refusal, ErrorResponse)
    assert classify(refusal).kind == "auth"


@check_each("body", [b"", b"[1]", b'{"choices": [', b"[" * 100_000, b"\xff\xfe"])
def test_a_success_without_a_whole_object_is_a_broken_transport(body: bytes) -> None:
    with pytest.raises(RetryableError, match=r"no whole JSON object|the body is empty"):
        parse_response(200, body, {})


def test_an_html_page_is_named_by_its_title_which_shows_no_key() -> None:
    page = b"<!DOCTYPE html><html><head><title>Log in &amp; sk-canary-5b1d9f</title></head></html>"
    with pytest.raises(NoResponse, match=r"HTTP 200: an HTML page titled 'Log in & \*\*\*'$") as caught:
        parse_response(200, page, {})
    assert caught.value.lasting
    assert caught.value.maybe_billed


def test_a_page_with_status_403_is_no_answer_of_the_api_and_not_billed() -> None:
    page = b"<html><head><title>Sorry, you have been blocked</title></head></html>"
    with pytest.raises(NoResponse, match=r"HTTP 403: an HTML page titled 'Sorry, you") as caught:
        parse_response(403, page, {})
    assert (caught.value.lasting, caught.value.maybe_billed) == (True, False)
    assert isinstance(parse_response(403, b'{"error": {"message": "<html>"}}', {}), ErrorResponse)


@check_each("adapter", ["openai", "dashscope"])
def test_an_answer_without_a_message_is_empty(adapter: str) -> None:
    with serve_reply(Reply(body='{"choices": [null], "output": {"choices": [null]}}')) as server:
        [answer] = ask(open_at(adapter, server))
    assert answer.text == ""


def test_an_answer_of_gemini_without_choices_is_empty_and_counted() -> None:
    # https://github.com/michelle-avery/custom-conversation/issues/24
    usage = '{"completion_tokens": 0, "prompt_tokens": 1396, "total_tokens": 1396}'
    body = f'{{"id": null, "choices": null, "object": "chat.completion", "usage": {usage}}}'
    with serve_reply(Reply(body=body)) as server:
        [answer] = ask(open_at("openai", server))
    assert (answer.text, answer.usage) == ("", Usage(1396, 0, 0, 0))


@check_each("body", ["{}", '{"output": "x Canary_9e41-not-like-a-key"}'])
def test_an_answer_without_choices_is_no_chat_completion(body: str) -> None:
    answer = parse_response(200, body.encode(), {})
    assert isinstance(answer, dict)
    with pytest.raises(NoResponse, match="the response holds neither a reply nor an error: ") as caught:
        read_chat_completion(answer, {}, ["Canary_9e41-not-like-a-key"])
    assert caught.value.lasting
    assert "Canary" not in str(caught.value)


def test_the_tokens_of_an_answer_without_choices_count() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    with pytest.raises(NoResponse) as caught:
        read_chat_completion({"output": "x", "usage": usage}, {})
    assert (caught.value.usage, caught.value.maybe_billed) == (Usage(7, 0, 5), False)


@check_each("choices", [None, [], [None]])
def test_an_answer_with_null_for_its_choices_is_empty_and_has_its_usage(choices: object) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 0}
    completion = read_chat_completion({"choices": choices, "usage": usage}, {})
    assert completion.text == ""
    assert completion.usage == Usage(prompt_tokens=7)


def test_usage_is_read_by_every_providers_names() -> None:
    deepseek = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}
    assert read_usage(deepseek) == Usage(9, 4, 2, 0)
    # https://platform.kimi.ai/docs/api/chat
    moonshot = {"prompt_tokens": 19, "completion_tokens": 21, "total_tokens": 40, "cached_tokens": 10}
    assert read_usage(moonshot) == Usage(19, 10, 21, 0)
    more_than_all = {**deepseek, "prompt_cache_hit_tokens": 99}
    assert read_usage(more_than_all) == Usage(9, 9, 2, 0)
    langchain = {
        "input_tokens": 9,
        "output_tokens": 2,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 1},
    }
    assert read_usage(langchain) == Usage(9, 4, 2, 1)
    assert read_usage({"prompt_tokens": 9.0, "completion_tokens": 2.0}) == Usage(9, 0, 2, 0)
    assert read_usage(None) is None


@check_each(
    ("counts", "completion", "reasoning"),
    [
        # https://github.com/Wei-Shaw/sub2api/issues/5771, https://github.com/vercel/ai/pull/12425
        (
            {
                "prompt_tokens": 10120,
                "completion_tokens": 1499,
                "total_tokens": 14428,
                "completion_tokens_details": {"reasoning_tokens": 2809},
            },
            1499 + 2809,
            2809,
        ),
        # https://github.com/mozilla-ai/any-llm/issues/1290, https://github.com/router-for-me/CLIProxyAPI/issues/5733
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, 603, 0),
        ({"prompt_tokens": 21, "total_tokens": 81}, 60, 0),
        ({"prompt_tokens": 21, "completion_tokens": 9, "total_tokens": 30}, 9, 0),
        ({"prompt_tokens": 21, "completion_tokens": 9, "total_tokens": 9}, 9, 0),
    ],
)
def test_thinking_that_is_counted_in_the_total_alone_is_paid_for(
    counts: dict[str, object], completion: int, reasoning: int
) -> None:
    usage = read_usage(counts)
    assert usage is not None
    assert (usage.completion_tokens, usage.reasoning_tokens) == (completion, reasoning)


@check_each(
    "counted",
    [
        {"total_tokens": 11},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": 9},
        {"prompt_tokens": 9, "completion_tokens": 1.5},
        {"prompt_tokens": -9, "completion_tokens": 2},
        {"prompt_tokens": 9, "completion_tokens": 2**60},
    ],
)
def test_tokens_that_are_not_counted_are_unknown_and_not_none(counted: dict[str, object]) -> None:
    assert read_usage(counted) is None


def test_content_parts_are_joined_without_reasoning() -> None:
    assert (
        extract_message_text(
            [{"type": "thinking", "text": "3?"}, {"text": "a"}, "b", {"type": "image"}, None]
        )
        == "ab"
    )


@pytest.mark.parametrize("kind", [{}, ["thinking"], 3, None])
def test_a_content_part_of_an_unknown_type_is_text(kind: object) -> None:
    choice = {"message": {"content": [{"type": kind, "text": "2"}]}, "finish_reason": "stop"}
    completion = read_chat_completion({"choices": [choice]}, {})
    assert (completion.text, completion.has_thinking) == ("2", False)


def find_finish_reason(finish_reason: object) -> str | None:
    """The finish reason of an answer for which a server says `finish_reason`."""
    choice = {"message": {"content": "2"}, "finish_reason": finish_reason}
    return read_chat_completion({"choices": [choice]}, {}).finish_reason


@check_each("word", ["stop", "STOP", "eos", "end_turn", "stop_sequence", "tool_calls", "", "null"])
def test_an_answer_that_ended_by_itself_keeps_the_servers_word(word: str) -> None:
    assert find_finish_reason(word) == word.lower()
    assert find_finish_reason(None) is None


@check_each(
    "word",
    [
        # https://docs.z.ai/api-reference/llm/chat-completion.md, https://docs.vllm.ai, https://docs.cohere.com
        *("model_context_window_exceeded", "ERROR_LIMIT", "token_limit", "context_limit"),
        *("max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens", "incomplete", "LENGTH"),
    ],
)
def test_an_answer_that_a_limit_of_tokens_ended_was_cut(word: str) -> None:
    assert find_finish_reason(word) == "length"


# https://ai.google.dev/api/generate-content, FINISH_REASON_STRINGS of vllm/v1/engine
@check_each("word", ["OTHER", "repetition", "MALFORMED_FUNCTION_CALL", "never heard of"])
def test_an_unknown_finish_reason_keeps_the_servers_word(word: str) -> None:
    assert find_finish_reason(word) == word.lower()
    choice = {"message": {"content": "2"}, "finish_reason": f"{word} Canary_9e41-not-like-a-key"}
    completion = read_chat_completion({"choices": [choice]}, {}, ["Canary_9e41-not-like-a-key"])
    assert completion.finish_reason == f"{word.lower()} ***"


@check_each(
    "word",
    [
        # https://api-docs.deepseek.com/api/create-chat-completion, https://docs.bigmodel.cn/api-reference,
        # FINISH_REASON_STRINGS of vllm/v1/engine, FINISH_ABORT of sglang, https://openrouter.ai/docs/api-reference,
        # https://docs.mistral.ai/api, https://docs.cohere.com/reference/chat
        *(
            "insufficient_system_resource",
            "network_error",
            "network-error",
            "abort",
            "aborted",
            "error",
            "ERROR",
        ),
        *("tool_error", "timeout", "cancelled", "USER_CANCEL"),
    ],
)
def test_an_answer_that_the_server_did_not_finish_is_a_broken_transport(word: str) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    choice = {"message": {"content": ""}, "finish_reason": word}
    with pytest.raises(RetryableError, match=f"the server ended the answer as '{word.lower()}'") as caught:
        read_chat_completion({"choices": [choice], "usage": usage}, {})
    assert (caught.value.kind, caught.value.usage) == ("transport", Usage(9, 0, 2, 0))


@check_each(
    "word",
    [
        *(
            "content_filter",
            "Content_Filter",
            "content_filtered",
            "SAFETY",
            "IMAGE_SAFETY",
            "PROHIBITED_CONTENT",
        ),
        *("RECITATION", "BLOCKLIST", "SPII", "sensitive", "refusal", "guardrail_intervened", "ERROR_TOXIC"),
    ],
)
def test_an_answer_that_a_filter_ended_is_declined(word: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        find_finish_reason(word)
    assert caught.value.kind == "content_filter"
