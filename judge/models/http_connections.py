"""HTTP connections to one address of a server: JSON in, JSON out, without an SDK.

The CPU time of a call through an SDK is ten times as much and more, and its import takes longer than that of
all other modules of a run.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from judge.models.chat_messages import ACCEPTED, BodyRefused, body_error
from judge.models.endpoint import NO_KEY, Endpoint, proxy_for, public_part
from judge.models.error_mapping import connection_error, encoding_error, timeout_error
from judge.models.http1 import Http1Connections, HttpResponse, NotConnected

if TYPE_CHECKING:
    from judge.models.proxied import ProxiedConnections


class HttpConnections:
    """The connections to `path` of the server at `url`, opened by requests.

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
        self._key = key
        self._limit = endpoint.concurrency
        self._timeout = endpoint.timeout
        self._url = url + path
        self._proxy = proxy_for(url)
        self._server = public_part(url, *endpoint.secrets)
        self._connections: Http1Connections | ProxiedConnections | None = None

    async def post(self, body: str) -> HttpResponse:
        """Return the response to `body`.

        Raises CallError when none arrives within the timeout and the limit of its size.
        """
        connections = self._connections or self._open()
        try:
            return await connections.post(body.encode(), self._timeout)
        except TimeoutError:
            raise timeout_error(self._timeout) from None
        except (NotConnected, OSError, BodyRefused) as error:
            never_sent = isinstance(error, NotConnected)
            raise body_error(error, self._server) or connection_error(
                error, self._server, self._key, never_sent=never_sent
            ) from None
        except UnicodeEncodeError as error:
            raise encoding_error(error) from None

    def _open(self) -> Http1Connections | ProxiedConnections:
        if self._proxy:
            from judge.models.proxied import ProxiedConnections

            self._connections = ProxiedConnections(
                self._url, self._proxy, self._headers, self._limit, _tls_context()
            )
        else:
            self._connections = Http1Connections(self._url, self._headers, _tls_context)
        return self._connections

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connections is not None:
            await self._connections.aclose()


def _tls_context() -> ssl.SSLContext:
    """Return the TLS settings that httpx uses, with the certificates of the system."""
    import httpx2

    return httpx2.create_ssl_context()
