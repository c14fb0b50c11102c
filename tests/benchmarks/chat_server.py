"""A server of chat completions that costs little CPU time: it answers each request after a fixed time.

    python -m tests.benchmarks.chat_server LATENCY

Prints its address. For each line on its standard input, it prints a JSON object with the number of calls
since the last one, and the characters of their messages. It serves until its standard input ends.
"""

import asyncio
import json
import sys
from typing import Any, cast

_USAGE = {"prompt_tokens": 500, "completion_tokens": 60, "total_tokens": 560}
_GRADE = {"reason": "片段直接回答了查询。" * 5, "grade": 2}
#: What DeepEval's metric expects, and its reason.
_VERDICTS = {
    "verdicts": [{"statement": "the snippet", "verdict": "yes", "reason": "it answers"}],
    "reason": "…",
}
#: What RAGElo's evaluator expects.
_SCORE = {"reasoning": _GRADE["reason"], "score": 2}


def _encode(answer: dict[str, Any]) -> bytes:
    body = json.dumps(answer).encode()
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    )


def _make_choices(reply: dict[str, Any]) -> list[dict[str, Any]]:
    message = {"role": "assistant", "content": json.dumps(reply, ensure_ascii=False)}
    return [{"index": 0, "message": message, "finish_reason": "stop"}]


def _encode_chat(reply: dict[str, Any]) -> bytes:
    answer = {"id": "chat-1", "object": "chat.completion", "created": 0, "model": "m"}
    return _encode({**answer, "choices": _make_choices(reply), "usage": _USAGE})


def _encode_generation(reply: dict[str, Any]) -> bytes:
    usage = {"input_tokens": 500, "output_tokens": 60, "total_tokens": 560}
    return _encode({"request_id": "r-1", "output": {"choices": _make_choices(reply)}, "usage": usage})


def _encode_response(reply: dict[str, Any]) -> bytes:
    content = [{"type": "output_text", "text": json.dumps(reply, ensure_ascii=False), "annotations": []}]
    message = {"type": "message", "id": "m-1", "status": "completed", "role": "assistant", "content": content}
    answer = {"id": "response-1", "object": "response", "created_at": 0, "model": "m", "status": "completed"}
    more = {"output": [message], "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    return _encode({**answer, **more})


_RESPONSE = _encode_chat(_GRADE)
_OTHER_RESPONSES = {
    b"/verdicts/v1/chat/completions": _encode_chat(_VERDICTS),
    b"/v1/responses": _encode_response(_SCORE),
    b"/api/v1/services/aigc/text-generation/generation": _encode_generation(_GRADE),
}


def count_characters(body: bytes) -> int:
    """Return the characters of the messages in a request, of any of the wires."""
    request = json.loads(body)
    texts = request.get("messages") or request.get("input") or []
    if isinstance(texts, dict):
        texts = texts["messages"]
    if isinstance(texts, str):
        texts = [{"content": texts}]
    texts = [*texts, {"content": request.get("instructions") or ""}]
    contents = [text["content"] for text in texts]
    return sum(
        len(content) if isinstance(content, str) else sum(len(part.get("text", "")) for part in content)
        for content in contents
    )


class ChatProtocol(asyncio.Protocol):
    """Answers each whole request of a connection after `latency` seconds, and keeps its body in `bodies`."""

    def __init__(self, latency: float, bodies: list[bytes]) -> None:
        self._latency = latency
        self._bodies = bodies
        self._received = b""
        self._head = self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._missing:
            head, separator, _ = self._received.partition(b"\r\n\r\n")
            if not separator:
                return
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            self._head = len(head) + 4
            self._missing = self._head + length
        if len(self._received) >= self._missing:
            request, self._received = self._received[: self._missing], self._received[self._missing :]
            self._missing = 0
            self._bodies.append(request[self._head :])
            response = _OTHER_RESPONSES.get(request.split(b" ", 2)[1], _RESPONSE)
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, response)


async def serve(latency: float) -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    bodies: list[bytes] = []
    server = await loop.create_server(lambda: ChatProtocol(latency, bodies), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        characters = sum(map(count_characters, bodies))
        print(json.dumps({"calls": len(bodies), "characters": characters}), flush=True)
        bodies.clear()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
