"""A server of chat completions that costs little CPU time: it answers each request after a fixed time.

    python -m tests.benchmarks.chat_server LATENCY

Prints its address and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

_VERDICT = json.dumps({"reason": "片段直接回答了查询。" * 5, "grade": 2}, ensure_ascii=False)
_BODY = json.dumps(
    {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": _VERDICT}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 500, "completion_tokens": 60, "total_tokens": 560},
    }
).encode()
_RESPONSE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY
)


class ChatProtocol(asyncio.Protocol):
    """Answers each whole request of a connection after `latency` seconds."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._received = b""
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._missing:
            head, separator, _ = self._received.partition(b"\r\n\r\n")
            if not separator:
                return
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            self._missing = len(head) + 4 + length
        if len(self._received) >= self._missing:
            self._received, self._missing = self._received[self._missing :], 0
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, _RESPONSE)


async def serve(latency: float) -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ChatProtocol(latency), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
