"""Chat messages: from a `Prompt` to messages, and from the body of a response to a `Completion`."""

import json
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

import msgspec

from judge.errors import NoResponse, RequestRejected, RetryableError
from judge.messages import Message
from judge.models.error_mapping import ErrorResponse, JsonBody, find_error, make_transport_error, shorten
from judge.models.redaction import mask, redact
from judge.records import Completion, Params, Prompt, Usage, is_complete_reply

#: Types of content parts that are not the final answer.
_THINKING_PARTS = frozenset({"reasoning", "thinking"})
#: A larger count of tokens is an error of the server, and more than an integer of SQLite holds.
_MAX_TOKEN_COUNT = 2**53
#: The beginning of an HTML page, and its title.
_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
#: Characters to search for the beginning of a page and for its title, and the length of a title in messages.
_PAGE_START, _PAGE_HEAD, _TITLE_LENGTH = 1_000, 64_000, 80
#: Finish reasons of providers for an answer that a filter cut; the rest is not the model's verdict.
_FILTERED = re.compile(
    r"filter|sensitiv|refus|safety|prohibit|block|spii|recitation|guardrail|moderat|inspection|toxic|policy|unsafe"
)
#: Finish reasons for an answer that a limit of tokens cut.
_LENGTH = re.compile(
    r"length|max_(?:\w+_)?tokens|token_limit|context_(?:window|limit)|^error_limit$|^incomplete$"
)
#: Finish reasons for an answer that the server failed to finish, of DeepSeek, Zhipu, vLLM, SGLang,
#: OpenRouter, Mistral and Cohere.
_FAILED = frozenset(
    "insufficient_system_resource network_error network-error abort aborted error tool_error"
    " timeout cancelled canceled user_cancel".split()
)


def build_messages(prompt: Prompt, *, has_system: bool = True) -> list[dict[str, str]]:
    """Return the chat messages of `prompt`, without an empty system message.

    Without `has_system` there is none, and the user message begins with its text.
    """
    if prompt.system and has_system:
        return [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    return [
        {"role": "user", "content": f"{prompt.system}\n\n{prompt.user}" if prompt.system else prompt.user}
    ]


def parse_response(
    status: int, body: bytes, headers: Mapping[str, str], *secrets: str
) -> JsonBody | ErrorResponse:
    """Return the JSON of a response, or the error in it without `secrets`, whatever its status is.

    From the JSON of a success, `read_chat_completion` removes the secrets. A success whose body is not a JSON
    object (empty, HTML, cut) raises `NoResponse`: it may be billed. So does an HTML page with status 403: a
    firewall, which reads the prompt, has blocked one pair or all.
    """
    try:
        json_body = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # it is stricter than json
        json_body = _parse_json(_decode(body))
    if 200 <= status < 300 and isinstance(json_body, dict) and not find_error(json_body):
        return json_body  # `read_chat_completion` removes secrets from what it takes
    text = redact(_decode(body), *secrets)
    json_body = _parse_json(text)
    is_blocked = status == 403 and json_body is None and _PAGE.search(text[:_PAGE_START])
    if (status >= 300 or isinstance(json_body, dict)) and not is_blocked:
        return ErrorResponse.from_response(status, json_body or text, headers)
    raise _make_no_api_error(status, text)


def _decode(body: bytes) -> str:
    """Return `body` as text in the encoding that its first bytes show: `redact` finds no key in UTF-16."""
    return body.decode(json.detect_encoding(body), "replace")


def _parse_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _make_no_api_error(status: int, text: str) -> NoResponse:
    """Return the error for a response whose body is not a whole JSON object, with what the body is."""
    if not _PAGE.search(text[:_PAGE_START]):
        begin = shorten(mask(text[:1000])[:80])
        if not begin:
            return make_transport_error(f"HTTP {status}, but the body is empty")
        return make_transport_error(f"HTTP {status}, but the body is no whole JSON object: {begin!r}")
    title = _TITLE.search(text[:_PAGE_HEAD])
    detail = Message("HTTP {status}: an HTML page", status=status)
    if title:
        name = shorten(mask(unescape(title[1])))[:_TITLE_LENGTH]
        detail = Message("HTTP {status}: an HTML page titled {title!r}", status=status, title=name)
    return NoResponse(detail, lasting=True, maybe_billed=status < 300)


def make_content_error(json_body: JsonBody, usage: Usage | None, *secrets: str) -> NoResponse:
    """Return the error for a response that holds something else than a reply, as those of another API.

    `usage` was billed for it, as for `_check_end`.
    """
    body = shorten(mask(json.dumps(json_body, ensure_ascii=False), *secrets))
    return NoResponse(
        f"the response holds neither a reply nor an error: {body}",
        lasting=True,
        maybe_billed=usage is None,
        usage=usage,
    )


def read_chat_completion(json_body: JsonBody, params: Params, secrets: Sequence[str] = ()) -> Completion:
    """Return the completion in a response of OpenAI's chat completions to a request with `params`.

    No choices, or a choice without content, is the empty text: some servers answer so to what their filter
    refuses, with `null` or without the key. `secrets` are masked in all of it. Raises RequestRejected when
    the model refused or a filter cut its answer, RetryableError when the server did not finish it, NoResponse
    for the answer of another API.
    """
    choices, request_id = json_body.get("choices"), json_body.get("id")
    usage = read_usage(json_body.get("usage"))
    if "choices" not in json_body and json_body.get("object") != "chat.completion":
        raise make_content_error(json_body, usage, *secrets)
    choice = as_mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = as_mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    finish_reason = redact(finish, *secrets).strip().casefold() if isinstance(finish, str) else None
    refusal = redact(str(message.get("refusal") or ""), *secrets)
    _check_end(finish_reason or "", refusal, usage)
    if not is_complete_reply(finish_reason):
        finish_reason = "length" if _LENGTH.search(finish_reason or "") else shorten(finish_reason or "")
    return Completion(
        text=redact(extract_message_text(message.get("content")), *secrets),
        model=redact(str(json_body.get("model") or ""), *secrets),
        finish_reason=finish_reason,
        params=params,
        usage=usage,
        request_id=redact(str(request_id), *secrets) if request_id else None,
        has_thinking=_has_thinking(message) or bool(usage and usage.reasoning_tokens),
        logprobs=choice.get("logprobs"),
    )


def _has_thinking(message: JsonBody) -> bool:
    """Return whether `message` holds thinking beside its content, by the names that servers use."""
    if message.get("reasoning_content") or message.get("reasoning") or message.get("thinking"):
        return True
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and str(part.get("type")) in _THINKING_PARTS for part in content
    )


def _check_end(finish_reason: str, refusal: str, usage: Usage | None) -> None:
    """Raise the error of an answer that a filter cut, that the server did not finish, or that is a refusal.

    `usage` was billed for it. A server that counted no tokens may have billed the call nevertheless.
    """
    if is_complete_reply(finish_reason) and not refusal:
        return
    maybe_billed = usage is None
    if not is_complete_reply(finish_reason) and _FILTERED.search(finish_reason):
        detail = Message("the provider's filter cut the answer ({reason})", reason=finish_reason)
        raise RequestRejected("content_filter", detail, maybe_billed=maybe_billed, usage=usage)
    if finish_reason in _FAILED:
        detail = Message("the server ended the answer as {reason!r}", reason=finish_reason)
        raise RetryableError("transport", detail, maybe_billed=maybe_billed, usage=usage)
    if refusal:
        raise RequestRejected("refusal", shorten(refusal), maybe_billed=maybe_billed, usage=usage)


def extract_message_text(content: object) -> str:
    """Return the text of a message's content (a string, None, or a list of parts), without thinking."""
    if isinstance(content, list):
        return "".join(extract_message_text(part) for part in content)
    if isinstance(content, Mapping):
        final = str(content.get("type", "text")) not in _THINKING_PARTS
        return content["text"] if final and isinstance(content.get("text"), str) else ""
    return content if isinstance(content, str) else ""


def read_usage(raw: object) -> Usage | None:
    """Return the billed tokens, by the names of OpenAI, DashScope, DeepSeek, Moonshot or LangChain.

    None unless the tokens of both the prompt and the completion are there, or follow from the total.
    """
    counts = as_mapping(raw)
    prompt = read_count(counts, "prompt_tokens", "input_tokens")
    completion = read_count(counts, "completion_tokens", "output_tokens")
    total = read_count(counts, "total_tokens")
    if prompt is not None and total is not None and total >= prompt:
        # xAI and Gemini count thinking in the total alone.
        completion = max(completion or 0, total - prompt)
    if prompt is None or completion is None:
        return None
    prompt_details = as_mapping(counts.get("prompt_tokens_details") or counts.get("input_token_details"))
    completion_details = as_mapping(
        counts.get("completion_tokens_details")
        or counts.get("output_tokens_details")
        or counts.get("output_token_details")
    )
    cached = read_count(prompt_details, "cached_tokens", "cache_read") or read_count(
        counts, "prompt_cache_hit_tokens", "cached_tokens"
    )
    reasoning = read_count(completion_details, "reasoning_tokens", "reasoning")
    return Usage(prompt, min(cached or 0, prompt), completion, reasoning or 0)


def read_count(counts: JsonBody, *names: str) -> int | None:
    """Return the first whole number under one of `names`."""
    for name in names:
        count = counts.get(name)
        if type(count) is float and count.is_integer():  # of servers in JavaScript or Lua
            count = int(count)
        if type(count) is int and 0 <= count < _MAX_TOKEN_COUNT:
            return count
    return None


def as_mapping(value: object) -> JsonBody:
    """Return `value` if it is a mapping, else an empty one."""
    if isinstance(value, dict):  # a faster check than the other
        return value
    return value if isinstance(value, Mapping) else {}
