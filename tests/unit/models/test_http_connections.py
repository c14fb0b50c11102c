"""HTTP connections to a server that sends the bytes of a test: what is read, and what is refused."""

import asyncio
import ssl
from collections.abc import Sequence

import pytest

from judge.models.http_connections import (
    Http1Connections,
    HttpResponse,
    NotConnected,
    ProxiedConnections,
)
from judge.models.http_responses import BodyRefused
from judge.models.server import Proxy
from tests.support.cases import check_each
from tests.support.server_thread import reserve_unused_address
from tests.support.virtual_time import AdjustableLoop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


class ByteServer:
    """Sends the next of `responses` after each request, in the pieces given; `b""` closes the connection."""

    def __init__(self, *responses: Sequence[bytes]) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._responses = list(responses)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while self._responses:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            body = await reader.readexactly(int(head.partition(b"Content-Length: ")[2]))
            self.requests.append(head + body)
            for part in self._responses.pop(0):
                if not part:
                    writer.close()
                    return
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()


def post(server: ByteServer, *bodies: bytes) -> list[HttpResponse]:
    """Return the responses to `bodies`, posted one after the other."""

    async def post_all() -> list[HttpResponse]:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Http1Connections(
            f"http://127.0.0.1:{port}/v1/é", {"A": "b"}, ssl.create_default_context
        )
        try:
            return [await connections.post(body, 60) for body in bodies]
        finally:
            await connections.aclose()
            listening.close()

    return asyncio.run(post_all())


@pytest.mark.parametrize(
    "response",
    [
        (OK + b"{}",),
        (OK[:9], OK[9:20], OK[20:] + b"{", b"}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\n}\r\n0\r\n\r\n"),
        (b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n", OK + b"{}"),
    ],
    ids=["whole", "in pieces", "chunked", "after an interim response"],
)
def test_a_connection_is_used_again_after_a_whole_response(response: Sequence[bytes]) -> None:
    server = ByteServer(response, response)
    first, second = post(server, b"1", b"22")
    assert (first.status, first.content, second.content) == (200, b"{}", b"{}")
    assert server.connections == 1
    head, _, body = server.requests[1].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/%C3%A9 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert head.endswith(b"\r\nA: b\r\nContent-Length: 2")
    assert body == b"22"


@check_each(
    "response",
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",),
        (b"HTTP/1.1 200 OK\r\n\r\n{", b"}", b""),
        (OK + b"{}" + OK + b"{}",),
        (OK + b"{}garbage",),
    ],
)
def test_a_connection_is_not_used_again_where_its_next_response_is_not_certain(
    response: Sequence[bytes],
) -> None:
    server = ByteServer(response, (OK + b"{}",))
    assert [each.content for each in post(server, b"1", b"2")] == [b"{}", b"{}"]
    assert server.connections == 2


def test_names_of_headers_are_in_lower_case() -> None:
    [response] = post(ByteServer((b"HTTP/1.1 429 \r\nRetry-After: 7\r\ncontent-length: 0\r\n\r\n",)), b"")
    assert (response.status, response.headers["retry-after"]) == (429, "7")


@check_each(
    ("response", "error", "words"),
    [
        ((OK + b"{", b""), ConnectionError, "closed the connection"),
        ((b"",), ConnectionError, "closed the connection"),
        ((b"SSH-2.0-OpenSSH_9\r\n",), ConnectionError, "is no HTTP"),
        ((b"HTTP/1.1 200 OK\r\n" + b"X: %b\r\n" % (b"y" * 9 * 2**20),), BodyRefused, "larger than 8 MB"),
        (
            (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",),
            ConnectionError,
            "is no HTTP",
        ),
    ],
)
def test_a_response_that_is_not_whole_is_an_error(
    response: Sequence[bytes], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        post(ByteServer(response), b"1")


def test_a_request_that_is_given_up_closes_its_connection() -> None:
    async def give_up() -> None:
        closed = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n1")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await reader.read()  # until the client closes
            closed.set()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Http1Connections(f"http://127.0.0.1:{port}/", {}, ssl.create_default_context)
        assert (await connections.post(b"1", 60)).status == 200
        with pytest.raises(TimeoutError):  # the connection is there: to open one may take longer
            await connections.post(b"2", 0.05)
        await asyncio.wait_for(closed.wait(), 60)
        await connections.aclose()
        listening.close()

    asyncio.run(give_up())


def test_a_connection_that_is_not_made_is_told_apart() -> None:
    with reserve_unused_address() as where:
        for address in (f"http://{where}/", f"https://{'x' * 64}.example/"):
            with pytest.raises(NotConnected):
                asyncio.run(Http1Connections(address, {}, ssl.create_default_context).post(b"1", 60))


def test_a_server_without_tls_is_named() -> None:
    async def post_with_tls() -> None:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Http1Connections(f"https://127.0.0.1:{port}/", {}, ssl.create_default_context)
        try:
            await connections.post(b"1", 60)
        finally:
            listening.close()

    with pytest.raises(NotConnected) as caught:
        asyncio.run(post_with_tls())
    assert isinstance(caught.value.__cause__, ssl.SSLError)


def post_through_proxy(answer: bytes) -> HttpResponse:
    """Return the response to a request to an https address through a proxy that answers CONNECT so."""

    async def post_one() -> HttpResponse:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        url = "https://judge.example/v1"
        connections = ProxiedConnections(url, Proxy.parse(f"http://127.0.0.1:{port}", url), {}, 1)
        try:
            return await connections.post(b"1", 60)
        finally:
            await connections.aclose()
            listening.close()

    return asyncio.run(post_one())


def test_a_proxy_that_asks_for_a_login_answers_the_request() -> None:
    assert post_through_proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").status == 407


def test_a_proxy_that_makes_no_tunnel_is_quoted() -> None:
    with pytest.raises(NotConnected) as caught:
        post_through_proxy(b"HTTP/1.1 403 Forbidden by policy\r\n\r\n")
    assert str(caught.value.__cause__) == "the proxy answers HTTP 403 Forbidden by policy"


def test_a_connection_that_is_not_made_in_time_sends_nothing() -> None:
    async def post_to_silence() -> None:
        closed, loop = asyncio.Event(), asyncio.get_running_loop()
        assert isinstance(loop, AdjustableLoop)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # The handshake has begun: asyncio closes no transport that ends before that.
            await reader.readexactly(1)
            loop.advance(30)
            await reader.read()  # the rest of the greeting, which gets no reply, until the client closes
            writer.close()
            await writer.wait_closed()
            closed.set()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Http1Connections(f"https://127.0.0.1:{port}/", {}, ssl.create_default_context)
        try:
            await connections.post(b"1", 30)
        finally:
            await asyncio.wait_for(closed.wait(), 60)
            await connections.aclose()
            listening.close()

    with pytest.raises(NotConnected) as caught, asyncio.Runner(loop_factory=AdjustableLoop) as runner:
        runner.run(post_to_silence())
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert str(caught.value.__cause__).endswith("timed out")
