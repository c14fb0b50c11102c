"""The fake provider: a real HTTP server on loopback with the wires of OpenAI and DashScope.

    with LoopbackServer(lambda request: Reply(text='{"verdict": "yes"}')) as server:
        ...  # point an adapter at server.openai_url or server.dashscope_url

The server renders a `Reply` in the wire of its request.
"""

import asyncio
import json
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any

from aiohttp import web

from judge.records import Usage
from tests.support.server_thread import ThreadedServer

TYPICAL_USAGE = Usage(prompt_tokens=120, completion_tokens=30)


@dataclass(frozen=True)
class ChatRequest:
    """A request to the server.

    `body` is the parsed JSON (None if it is not an object), `prompt` all message texts joined by blank
    lines, `number` counts requests from 1, `attempt` counts requests with this prompt from 1.
    """

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any] | None
    prompt: str
    number: int
    attempt: int


@dataclass(frozen=True)
class Reply:
    """The reply to a request, by default `text` after `delay` seconds.

    The server waits until `in_flight` requests have been in flight at the same time. `message` replaces the
    whole chat message (`{"choices": [...]}` all choices), `body` the whole response body. `cut` closes the
    connection after half of the body, `reset` closes it at once. If `usage` is None, the reply has none; if
    `model` is None, it has the model of the request.
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    delay: float = 0.0
    in_flight: int = 0
    cut: bool = False
    reset: bool = False
    usage: Usage | None = TYPICAL_USAGE
    finish_reason: str | None = "stop"
    message: Mapping[str, Any] | None = None
    model: str | None = None


class LoopbackServer(ThreadedServer):
    """A provider on 127.0.0.1 in a thread of its own; `make_reply` runs in that thread.

    `record=False` keeps no list of requests, for throughput tests.
    """

    #: The name of the provider whose wire tests use by default.
    provider = "openai"

    def __init__(self, make_reply: Callable[[ChatRequest], Reply], *, record: bool = True) -> None:
        super().__init__()
        self.requests: list[ChatRequest] = []
        self.in_flight_peak = 0
        self.make_reply = make_reply
        self._record = record
        self._in_flight = 0
        self._arrivals = 0
        self._attempts: Counter[str] = Counter()

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def dashscope_url(self) -> str:
        return f"{self.url}/api/v1"

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self._in_flight += 1
        self.in_flight_peak = max(self.in_flight_peak, self._in_flight)
        try:
            chat_request = self.record_request(request.path, request.headers, await request.read())
            reply = self.make_reply(chat_request)
            if reply.delay:
                await asyncio.sleep(reply.delay)
            async with asyncio.timeout(60):
                while self.in_flight_peak < reply.in_flight:  # noqa: ASYNC110  # most tests need no event
                    await asyncio.sleep(0.01)
            return await _respond(request, reply, chat_request)
        finally:
            self._in_flight -= 1

    def record_request(self, path: str, headers: Mapping[str, str], raw: bytes) -> ChatRequest:
        """Count a request and return it."""
        body = _parse(raw)
        prompt = "\n\n".join(_iter_texts(body))
        self._arrivals += 1
        self._attempts[prompt] += 1
        chat_request = ChatRequest(path, dict(headers), body, prompt, self._arrivals, self._attempts[prompt])
        if self._record:
            self.requests.append(chat_request)
        return chat_request


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(raw)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _iter_texts(body: dict[str, Any] | None) -> Iterator[str]:
    body = body or {}
    source = body.get("input", body)
    if not isinstance(source, dict):  # the texts of embeddings
        return
    if "prompt" in source:
        yield source["prompt"]
    for message in source.get("messages", ()):
        content = message["content"]
        yield content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


async def _respond(request: web.BaseRequest, reply: Reply, chat_request: ChatRequest) -> web.StreamResponse:
    if reply.reset:
        return _hang_up(request, web.Response())
    payload = (render(reply, chat_request) if reply.body is None else reply.body).encode()
    headers = {"content-type": "application/json", **reply.headers}
    if not reply.cut:
        return web.Response(body=payload, status=reply.status, headers=headers)
    response = web.StreamResponse(status=reply.status, headers=headers)
    response.content_length = len(payload)
    await response.prepare(request)
    await response.write(payload[: len(payload) // 2])
    await asyncio.sleep(0.02)  # the first half leaves before the connection closes
    return _hang_up(request, response)


def _hang_up(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return response


def reply_with_token_shares(request: ChatRequest, shares: Mapping[str, float]) -> Reply:
    """Return a reply of one token, the most probable one, with the log-probabilities of `shares`."""
    top = [{"token": token, "logprob": log(share), "bytes": None} for token, share in shares.items()]
    best = {"token": max(shares, key=lambda token: shares[token], default=""), "logprob": 0.0}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": best["token"]},
        "finish_reason": "length",
        "logprobs": {"content": [{**best, "top_logprobs": top}]},
    }
    return Reply(message={"choices": [choice]}, usage=Usage(prompt_tokens=120, completion_tokens=1))


def render(reply: Reply, request: ChatRequest) -> str:
    """Return the body of a response in the wire of its request."""
    if not request.path.startswith("/api/v1/services/"):
        return json.dumps(_make_openai_body(reply, request))
    return json.dumps(_make_dashscope_body(reply, request))


def _make_choices(reply: Reply) -> list[Any]:
    message = reply.message or {"role": "assistant", "content": reply.text}
    if "choices" in message:
        return list(message["choices"])
    return [{"index": 0, "message": message, "finish_reason": reply.finish_reason}]


def _make_openai_body(reply: Reply, request: ChatRequest) -> dict[str, Any]:
    model = reply.model or (request.body or {}).get("model", "")
    body = {"id": f"chat-{request.number}", "object": "chat.completion", "created": 0, "model": model}
    return {
        **body,
        "choices": _make_choices(reply),
        **_make_usage(reply.usage, "prompt_tokens", "completion_tokens"),
    }


def _make_dashscope_body(reply: Reply, request: ChatRequest) -> dict[str, Any]:
    parameters = (request.body or {}).get("parameters", {})
    if parameters.get("result_format") == "message" or "multimodal" in request.path:
        output: dict[str, Any] = {"choices": _make_choices(reply)}
    else:
        output = {"text": reply.text, "finish_reason": reply.finish_reason}
    served = {} if reply.model is None else {"model": reply.model}
    usage = _make_usage(reply.usage, "input_tokens", "output_tokens")
    return {"output": output, "request_id": f"request-{request.number}", **served, **usage}


def _make_usage(usage: Usage | None, prompt_name: str, completion_name: str) -> dict[str, Any]:
    if usage is None:
        return {}
    tokens = {
        prompt_name: usage.prompt_tokens,
        completion_name: usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
    return {"usage": tokens}
