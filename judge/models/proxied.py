"""Connections to one address through a proxy, by aiohttp."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

import aiohttp
from yarl import URL

from judge.models.body_limits import read_body
from judge.models.http_connections import KEEP_ALIVE, HttpResponse, NotConnected
from judge.models.server import Proxy


class ProxiedConnections:
    """The connections to `url` through `proxy`, at most `limit`; each request has `headers`."""

    def __init__(
        self, url: str, proxy: str, headers: Mapping[str, str], limit: int, tls: ssl.SSLContext
    ) -> None:
        self._url = URL(url)
        self._proxy = Proxy.parse(proxy, url)
        # Not those of the session: aiohttp would send them, with the key, to the proxy, too.
        self._headers = {**headers, **self._proxy.headers}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=KEEP_ALIVE, ssl=tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )

    async def post(self, body: bytes, seconds: float) -> HttpResponse:
        """Return the response to `body`; raise as `Http1Connections.post` does."""
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
        except (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError) as error:
            raise NotConnected from error
        except aiohttp.ClientError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()
