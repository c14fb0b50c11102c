"""HTTP connections to one address of a server: JSON in, JSON out, through aiohttp alone.

The CPU time of a call through an SDK is about ten times as much, and its import takes longer than that of all
other modules of a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from judge.errors import RequestRejected
from judge.models.chat_messages import ACCEPTED, BodyRefused, body_error, read_limited
from judge.models.endpoint import NO_KEY, Endpoint, proxy_for, public_part
from judge.models.error_mapping import connection_error, timeout_error

#: Seconds for which a connection without a request stays open.
_KEEP_ALIVE = 30


class HttpConnections:
    """The connections to `path` of the server at `url`, opened by the first request.

    No header describes this machine, and none comes from the environment but the `key` and `headers`. Raises
    SetupError for an unusable proxy.
    """

    def __init__(
        self,
        url: str,
        path: str,
        key: str,
        endpoint: Endpoint,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "Authorization": f"Bearer {key or NO_KEY}",
            "Content-Type": "application/json",
            "User-Agent": "judge",
            **headers,
        }
        self._url = URL(url + path)
        self._key = key
        self._limit = endpoint.concurrency
        self._timeout = endpoint.timeout
        self._proxy, self._proxy_headers = _proxy(url)
        self._server = public_part(url, *endpoint.secrets)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: str) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and unpacked content of the response to `body`.

        Raises CallError when none arrives within the timeout and the limit of its size.
        """
        try:
            content = body.encode()
            async with asyncio.timeout(self._timeout):
                return await self._post(content)
        except TimeoutError:
            raise timeout_error(self._timeout) from None
        except (aiohttp.ClientError, OSError, BodyRefused) as error:
            never_sent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError)
            raise body_error(error, self._server) or connection_error(
                error, self._server, self._key, never_sent=never_sent
            ) from None
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}"
            ) from None

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        session = self._session or self._open()
        # A redirect would send the prompt to an address that is not configured.
        async with session.post(
            self._url,
            data=body,
            allow_redirects=False,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
        ) as response:
            chunks = response.content.iter_any()
            encoding = response.headers.get("Content-Encoding")
            content = b"".join([part async for part in read_limited(chunks, encoding)])
            return response.status, response.headers, content

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._limit,
                keepalive_timeout=_KEEP_ALIVE,
                ssl=_tls_context() if self._url.scheme == "https" or self._proxy else True,
            ),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        return self._session

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def _proxy(url: str) -> tuple[str | None, dict[str, str] | None]:
    """Return the proxy for `url` without user and password, and the header with them."""
    proxy = proxy_for(url)
    if proxy is None:
        return None, None
    parts = urlsplit(proxy)
    address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return address, None
    login = aiohttp.encode_basic_auth(unquote(parts.username), unquote(parts.password or ""))
    return address, {"Proxy-Authorization": login}


def _tls_context() -> Any:  # noqa: ANN401 - ssl.SSLContext, or that of truststore
    """Return the TLS settings that httpx uses, with the certificates of the system."""
    import httpx2

    return httpx2.create_ssl_context()
