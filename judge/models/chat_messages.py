"""Owns the shape of a chat: from a `Prompt` to messages, from a response's bytes to a `Completion`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

from judge.errors import NoResponse, RequestRejected
from judge.models.error_mapping import ErrorResponse, shorten, transport
from judge.models.redaction import mask, redact
from judge.records import Completion, Prompt, Usage, is_complete_reply

#: Types of content parts that are not the final answer.
REASONING = frozenset({"reasoning", "thinking"})
#: A count beyond this is a slip of the server, and more than a database's integers hold.
MOST_TOKENS = 2**53
#: What an HTML page begins with, and its title.
_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
#: Characters in which the beginning of a page and its title are looked for, and characters of a title shown.
_PAGE_START, _PAGE_HEAD, _TITLE_SHOWN = 1_000, 64_000, 80
#: How providers say that a filter ended the answer; what did arrive is not the model's verdict.
_FILTERED = re.compile(
    r"filter|sensitiv|refus|safety|prohibit|block|spii|recitation|guardrail|moderat|inspection|toxic|policy|unsafe"
)


def messages(prompt: Prompt) -> list[dict[str, str]]:
    """The chat messages of `prompt`, without a system message when there is none."""
    turns = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    return turns if prompt.system else turns[1:]


def parse(
    status: int, body: bytes, headers: Mapping[str, str], *secrets: str
) -> Mapping[str, Any] | ErrorResponse:
    """The answer's JSON, or the fault that it tells of, whatever its status claims, without `secrets`.

    A success whose body isn't a JSON object (empty, HTML, cut) raises `Transient`: it may be billed.
    """
    text = redact(_decoded(body), *secrets)
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if status >= 300:
        return ErrorResponse.of(status, answer or text, headers)
    if not isinstance(answer, dict):
        raise _no_api_response(status, text)
    unanswered = not (answer.get("choices") or answer.get("output"))
    if answer.get("error") or (unanswered and (answer.get("code") or answer.get("error_code"))):
        return ErrorResponse.of(status, answer, headers)
    return answer


def _decoded(body: bytes) -> str:
    """`body` as text, in the encoding that JSON's first bytes tell (RFC 4627)."""
    try:
        return body.decode(json.detect_encoding(body), "surrogatepass")
    except UnicodeDecodeError:
        return body.decode(errors="replace")


def _no_api_response(status: int, text: str) -> NoResponse:
    """Return the error for a success whose body is no whole JSON object, with what the body is."""
    if not _PAGE.search(text[:_PAGE_START]):
        begin = shorten(mask(text[:1000])[:80]) or "nothing"
        return transport(f"HTTP {status}, but the body is no whole JSON object: {begin!r}")
    title = _TITLE.search(text[:_PAGE_HEAD])
    titled = f" titled {shorten(mask(unescape(title[1])))[:_TITLE_SHOWN]!r}" if title else ""
    return NoResponse("transport", f"HTTP {status}, but an HTML page{titled}", is_page=True)


def complete(
    choices: object,
    *,
    model: object,
    params: Mapping[str, Any],
    usage: object,
    request_id: object,
    secrets: Sequence[str] = (),
) -> Completion:
    """The completion that `choices` hold; no choice, or one without content, is the empty text.

    `secrets` are masked in all of it, for libraries that read the response themselves (see `parse`).
    Raises `Declined` when the model refused or a filter cut its answer.
    """
    choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = _mapping(choice.get("message"))
    finish = choice.get("finish_reason")
    finish_reason = finish.strip().casefold() if isinstance(finish, str) else None
    billed = read_usage(usage)
    refusal = redact(str(message.get("refusal") or ""), *secrets)
    refuse(redact(finish_reason or "", *secrets), refusal, billed)
    return Completion(
        text=redact(flatten(message.get("content")), *secrets),
        model=redact(str(model or ""), *secrets),
        finish_reason=finish_reason if is_complete_reply(finish_reason) else "length",
        params=params,
        usage=billed,
        request_id=redact(str(request_id), *secrets) if request_id else None,
        reasoning=_has_reasoning(message) or bool(billed and billed.reasoning_tokens),
    )


def _has_reasoning(message: Mapping[str, Any]) -> bool:
    """Return whether `message` holds reasoning beside its content, by the names that servers use."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(message.get(name) for name in ("reasoning_content", "reasoning", "thinking")) or any(
        isinstance(part, Mapping) and part.get("type") in REASONING for part in parts
    )


def refuse(finish_reason: str | None, refusal: object, usage: Usage | None = None) -> None:
    """Raises `Declined` if the model refused, or a filter ended its answer; `usage` was billed for it.

    Where the server counted no tokens, it may have billed all the same.
    """
    if finish_reason and not is_complete_reply(finish_reason) and _FILTERED.search(finish_reason):
        said = f"the provider's filter cut the answer ({finish_reason})"
        raise RequestRejected("content_filter", said, billed=usage is None, usage=usage)
    if refusal:
        raise RequestRejected("refusal", shorten(str(refusal)), billed=usage is None, usage=usage)


def flatten(content: object) -> str:
    """The text of a message's content: a string, None, or a list of parts; reasoning is left out."""
    if isinstance(content, list):
        return "".join(flatten(part) for part in content)
    if isinstance(content, Mapping):
        final = content.get("type", "text") not in REASONING
        return content["text"] if final and isinstance(content.get("text"), str) else ""
    return content if isinstance(content, str) else ""


def read_usage(raw: object) -> Usage | None:
    """Tokens billed, by the names of OpenAI, DashScope, DeepSeek or LangChain; None if not said.

    Who doesn't count both what was asked and what was answered hasn't said what was billed.
    """
    counts = _mapping(raw)
    prompt = _count(counts, "prompt_tokens", "input_tokens")
    completion = _count(counts, "completion_tokens", "output_tokens")
    if prompt is None or completion is None:
        return None
    asked = _mapping(counts.get("prompt_tokens_details") or counts.get("input_token_details"))
    answered = _mapping(
        counts.get("completion_tokens_details")
        or counts.get("output_tokens_details")
        or counts.get("output_token_details")
    )
    cached = _count(asked, "cached_tokens", "cache_read") or _count(counts, "prompt_cache_hit_tokens")
    reasoning = _count(answered, "reasoning_tokens", "reasoning")
    return Usage(prompt, cached or 0, completion, reasoning or 0)


def _count(counts: Mapping[str, Any], *names: str) -> int | None:
    """The first whole number under one of `names`."""
    found = (counts.get(name) for name in names)
    return next((count for count in found if type(count) is int and 0 <= count < MOST_TOKENS), None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
