"""A request that does not arrive is not waited for; one that arrived is answered, however long that takes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from judge.annotate.app import TimedConnection
from tests.support.cases import check_each
from tests.support.virtual_time import AdjustableLoop

ANSWER = b"HTTP/1.1 200 OK\r\n"


class Impatient(TimedConnection):
    request_timeout = 60.0


async def pass_time(seconds: float) -> None:
    """Put the clock forward, and let run what is due then."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AdjustableLoop)
    loop.advance(seconds)
    for _ in range(2):  # what is due runs after what is ready now
        await asyncio.sleep(0)


async def serve_slowly(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Reads the body, takes longer than a request may take, and answers."""
    while (await receive()).get("more_body"):
        pass
    await pass_time(2 * Impatient.request_timeout)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _serve_and_talk(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]],
) -> bytes:
    import uvicorn

    loop = asyncio.get_running_loop()
    config = uvicorn.Config(
        serve_slowly, http=Impatient, lifespan="off", log_config=None, timeout_keep_alive=3600
    )
    config.load()
    state = uvicorn.Server(config).server_state
    server = await loop.create_server(lambda: Impatient(config, state, {}), "127.0.0.1", 0)
    try:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            return await asyncio.wait_for(talk(reader, writer), 3600)
        finally:
            writer.close()
    finally:
        server.close()


def serve_and_talk(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]) -> bytes:
    """What `talk` gives, which is told how to reach a server."""
    with asyncio.Runner(loop_factory=AdjustableLoop) as runner:
        return runner.run(_serve_and_talk(talk))


async def read_rest(reader: asyncio.StreamReader, keep_busy: Callable[[], None] = lambda: None) -> bytes:
    """All that comes until the connection ends, whichever way it does, while time passes.

    `keep_busy` is called ten times in `request_timeout`.
    """
    reading = asyncio.ensure_future(reader.read())
    while not reading.done():
        keep_busy()
        await pass_time(Impatient.request_timeout / 10)
    try:
        return await reading
    except ConnectionError:
        return b""


HALVES = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "no end of the headers": b"GET / HTTP/1.1\r\nHost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    "half a chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{",
}


@check_each("half", HALVES.values())
def test_half_a_request_ends_the_connection(half: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(half)
        return await read_rest(reader)

    assert serve_and_talk(talk) == b""


def test_a_byte_now_and_then_does_not_keep_a_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        return await read_rest(reader, lambda: writer.write(b"x"))

    assert serve_and_talk(talk) == b""


def test_a_request_that_arrived_is_answered_and_so_is_the_next() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        answers = b""
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            answers += await reader.readuntil(b"ok")
        # And then nothing: the connection that is kept for the next request ends, too.
        return answers + await read_rest(reader)

    answers = serve_and_talk(talk)
    assert answers.count(ANSWER) == 2
    assert answers.endswith(b"ok")
