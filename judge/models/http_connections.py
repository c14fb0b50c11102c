"""HTTP/1.1 connections to one address of a server, for POST requests: asyncio, and the parser of httptools.

A request takes a quarter of the CPU time that it takes through aiohttp, and a tenth or less of that through
an SDK. The import of an SDK takes longer than that of all other modules of a run. Nothing is sent twice, and
no redirect is followed. Requests through a proxy are sent by aiohttp.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from errno import ETIMEDOUT
from os import environ, strerror
from types import MappingProxyType
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlsplit

import httptools
import msgspec

from judge.errors import explain_error
from judge.messages import Message
from judge.models.chat_messages import parse_response
from judge.models.error_mapping import (
    ErrorResponse,
    JsonBody,
    make_connection_error,
    make_encoding_error,
    make_timeout_error,
    make_transport_error,
)
from judge.models.http_responses import ACCEPTED, MAX_BYTES, BodyRefused, LimitedReader, read_body
from judge.models.server import NO_KEY, Proxy, Server, find_proxy
from judge.records import JsonDict

if TYPE_CHECKING:
    import aiohttp

#: Seconds for which a connection without a request is used again.
KEEP_ALIVE = 30.0
#: Seconds after which a second address of a host is tried, too (RFC 8305).
_NEXT_ADDRESS = 0.25
#: The status of a proxy that asks for a user and a password.
_LOGIN_REQUIRED = 407
#: Bytes of a response besides its body.
_MAX_HEAD = 64 * 2**10
#: Characters of a path that are sent as they are, besides letters and digits.
_IN_PATH = "/%:@!$&'()*+,;=~-._"


class NotConnected(Exception):
    """No connection was made, so the request was not sent; the cause says why."""


class ConnectionSettingsError(Exception):
    """The settings of connections cannot be used: certificates, or a proxy that refuses."""


class HttpResponse(msgspec.Struct, frozen=True):
    """A response: its headers, with names in lower case unless a proxy was used, and unpacked content."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Http1Connections:
    """The connections to `url`, each opened by a request that finds none free.

    Every request has `headers`. `make_tls_context` is called for the first connection to an https address.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], make_tls_context: Callable[[], ssl.SSLContext]
    ) -> None:
        parts = urlsplit(url)
        has_tls = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port or (443 if has_tls else 80)
        host = parts.netloc if parts.netloc.isascii() else f"{_encode_host(self._host)}:{self._port}"
        fields = "".join(f"{name}: {value}\r\n" for name, value in {"Host": host, **headers}.items())
        self._head = f"POST {quote(parts.path, _IN_PATH)} HTTP/1.1\r\n{fields}Content-Length: ".encode()
        self._make_tls_context = make_tls_context if has_tls else None
        self._tls: ssl.SSLContext | None = None
        self._open: set[_Connection] = set()
        self._free: list[_Connection] = []

    async def post(self, body: bytes, seconds: float) -> HttpResponse:
        """Return the response to `body`.

        Raises NotConnected, TimeoutError without a response after `seconds`, another OSError when the
        connection breaks or the response is not HTTP, and BodyRefused for one that is too large.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline = now + seconds
        connection = self._take_free(now)
        if connection is None:
            try:
                async with asyncio.timeout_at(deadline):
                    connection = await self._connect()
            except TimeoutError:
                raise NotConnected from TimeoutError(ETIMEDOUT, strerror(ETIMEDOUT))
        timer = loop.call_at(deadline, connection.end, TimeoutError())
        try:
            return await connection.send(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
        finally:
            timer.cancel()
            if connection.is_reusable:
                connection.free_until = loop.time() + KEEP_ALIVE
                self._free.append(connection)
            else:
                connection.transport.abort()

    def _take_free(self, now: float) -> _Connection | None:
        """Return the connection that was used last; the others may rest until the server closes them."""
        while self._free:
            connection = self._free.pop()
            if connection.is_reusable and connection.free_until > now:
                return connection
            connection.transport.abort()
        return None

    async def _connect(self) -> _Connection:
        if self._make_tls_context and not self._tls:
            self._tls = self._make_tls_context()
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._open),
                self._host,
                self._port,
                ssl=self._tls,
                happy_eyeballs_delay=_NEXT_ADDRESS,
            )
        except (OSError, UnicodeError) as error:  # the latter for an invalid name
            raise NotConnected from error
        return connection

    async def aclose(self) -> None:
        """Close the connections, and return when they are closed."""
        while self._open:
            for connection in self._open:
                connection.transport.abort()
            await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """A connection with at most one request at a time; it is in `connections` while it is open."""

    transport: asyncio.Transport

    def __init__(self, connections: set[_Connection]) -> None:
        #: Whether another request may be sent: the last response is whole, and the server keeps it open.
        self.is_reusable = False
        self.free_until = 0.0
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._response: asyncio.Future[HttpResponse] | None = None

    def send(self, request: bytes) -> asyncio.Future[HttpResponse]:
        """Send a request and return the future of its response."""
        self.is_reusable = False
        self._parser = httptools.HttpResponseParser(self)
        self._fields: dict[str, str] = {}
        self._content: list[bytes] = []
        self._bytes_left = MAX_BYTES + _MAX_HEAD
        self._response = self._loop.create_future()
        self.transport.write(request)
        return self._response

    def end(self, error: Exception) -> None:
        """Close the connection; `error` is that of the request, if it waits for its response."""
        self.is_reusable = False
        self.transport.abort()
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)

    # --- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            self.end(ConnectionError("the server sent what no request asked for"))
            return
        self._bytes_left -= len(data)
        try:
            if self._bytes_left < 0:
                raise BodyRefused(f"the response is larger than {MAX_BYTES >> 20} MB")
            self._parser.feed_data(data)
        except BodyRefused as error:
            self.end(error)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.end(ConnectionError(f"the response is no HTTP: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        self.is_reusable = False
        if self._response is not None and not self._response.done():
            # Without a length, the body ends with the connection (RFC 9112, 6.3).
            if (
                error is None
                and self._content
                and not {"content-length", "transfer-encoding"} & {*self._fields}
            ):
                self.on_message_complete()
                self.is_reusable = False
            else:
                self.end(error or ConnectionResetError("the server closed the connection"))

    # --- what httptools calls

    def on_message_begin(self) -> None:
        if self._response is not None and self._response.done():
            raise ConnectionError("the server sent a second response")  # which ends the parsing

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self._content.append(part)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._response is None:  # an interim response
            self._fields = {}
            return
        try:
            content = LimitedReader(self._fields.get("content-encoding")).read(b"".join(self._content))
        except BodyRefused as error:
            self.end(error)
            return
        self.is_reusable = self._parser.should_keep_alive() and not self.transport.get_write_buffer_size()
        if not self._response.done():
            self._response.set_result(HttpResponse(status, self._fields, content))


def _encode_host(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return quote(host)  # no connection to it will be made


class ProxiedConnections:
    """The connections to `url` through `proxy`, at most `limit`; each request has `headers`."""

    def __init__(self, url: str, proxy: Proxy, headers: Mapping[str, str], limit: int) -> None:
        self._url = url
        self._proxy = proxy
        # Not those of the session: aiohttp would send them, with the key, to the proxy, too.
        self._headers = {**headers, **proxy.headers}
        self._limit = limit
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, seconds: float) -> HttpResponse:
        """Return the response to `body`; raise as `Http1Connections.post` does.

        Without a connection after `seconds` it raises TimeoutError, as it is not known whether the proxy sent
        the request.
        """
        import aiohttp  # slow to import, and few requests go through a proxy

        self._session = self._session or aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._limit, keepalive_timeout=KEEP_ALIVE, ssl=_make_tls_context()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    allow_redirects=False,
                    proxy=self._proxy.url,
                    proxy_headers=self._proxy.tunnel_headers,
                ) as response,
            ):
                return HttpResponse(response.status, response.headers, await read_body(response))
        except aiohttp.ClientHttpProxyError as error:
            if error.status == _LOGIN_REQUIRED:
                return HttpResponse(error.status, {}, b"")
            answer = Message(
                "the proxy answers HTTP {status:d} {text}", status=error.status, text=error.message
            )
            raise NotConnected from ConnectionSettingsError(answer)
        except aiohttp.ClientConnectorError as error:
            raise NotConnected from error
        except aiohttp.ClientError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


class HttpConnections:
    """The connections to `path` of a server with a JSON API, opened by requests.

    No header describes this machine, and none comes from the environment but the key and `headers`; an empty
    one is not sent. Raises SetupError for an unusable proxy.
    """

    def __init__(self, server: Server, path: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "Authorization": f"Bearer {server.key or NO_KEY}",
            "Content-Type": "application/json",
            "User-Agent": "judge",
            **headers,
        }
        headers = {name: value for name, value in headers.items() if value}
        self._server = server
        url, proxy = server.url + path, find_proxy(server.url)
        self._connections: Http1Connections | ProxiedConnections = (
            ProxiedConnections(url, Proxy.parse(proxy, url), headers, server.access.concurrency)
            if proxy
            else Http1Connections(url, headers, _make_tls_context)
        )

    async def post(self, request: JsonDict, list_name: str = "") -> JsonBody | ErrorResponse:
        """Return the JSON of the response to `request`, or the error in it.

        With a `list_name`, a list becomes an object that has it under this name. Raises CallError for a
        request that cannot be sent as UTF-8, and when no response arrives in time and within the limit.
        """
        server = self._server
        try:
            body = msgspec.json.encode(request)
            response = await self._connections.post(body, server.access.timeout)
        except UnicodeEncodeError as error:
            raise make_encoding_error(error) from None
        except TimeoutError:
            raise make_timeout_error(server.access.timeout) from None
        except BodyRefused as error:
            raise make_transport_error(f"{server.endpoint}: {error}") from None
        except (NotConnected, OSError) as error:
            never_sent = isinstance(error, NotConnected)
            raise make_connection_error(error, server.endpoint, server.key, never_sent=never_sent) from None
        content = response.content
        if list_name and response.status == 200 and content.lstrip()[:1] == b"[":
            content = b'{"%b": %b}' % (list_name.encode(), content)
        return parse_response(response.status, content, response.headers, *server.secrets)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()


def _make_tls_context() -> ssl.SSLContext:
    """Return the TLS settings that httpx uses, with the certificates of the system or of `SSL_CERT_FILE`.

    Raises NotConnected when the certificates cannot be loaded.
    """
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # also of the ssl module
        reason = Message(
            "the certificates of SSL_CERT_FILE={path!r} cannot be loaded: {reason}; correct the variable",
            path=environ.get("SSL_CERT_FILE"),
            reason=explain_error(error),
        )
        raise NotConnected from ConnectionSettingsError(reason)
