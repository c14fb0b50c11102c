"""Clients of OpenAI's SDK with the headers, the proxy and the address of the options, and no others."""

from __future__ import annotations

import httpx2
import openai

from judge.models.chat_messages import ACCEPTED, MAX_BYTES, LimitedBody
from judge.models.endpoint import NO_KEY, Endpoint, proxy_for


class _Client(openai.AsyncOpenAI):
    """The SDK's client without headers that describe this machine or come from the environment."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        optional = {"OpenAI-Organization": self.organization, "OpenAI-Project": self.project}
        return {
            "Accept": "application/json",
            "User-Agent": "judge",
            **{name: value for name, value in optional.items() if value},
        }


def open_client(url: str, key: str, endpoint: Endpoint, max_bytes: int = MAX_BYTES) -> openai.AsyncOpenAI:
    """Return the SDK's client of the server at `url`; it retries nothing and limits bodies to `max_bytes`."""
    return _Client(
        api_key=key or NO_KEY,
        base_url=url,
        # None would make the SDK read the environment.
        admin_api_key="",
        organization=endpoint.environ.get("OPENAI_ORG_ID", ""),
        project=endpoint.environ.get("OPENAI_PROJECT_ID", ""),
        webhook_secret="",
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=open_connections(url, endpoint, max_bytes),
    )


class _LimitedStream(LimitedBody, httpx2.AsyncByteStream):
    pass


def open_connections(url: str, endpoint: Endpoint, max_bytes: int = MAX_BYTES) -> httpx2.AsyncClient:
    """Return a pool of connections to `url`; raise SetupError for a proxy that cannot be used."""

    async def limit_body(response: httpx2.Response) -> None:
        response.stream = _LimitedStream(response, max_bytes)

    limits = httpx2.Limits(
        max_connections=endpoint.concurrency,
        max_keepalive_connections=endpoint.concurrency,
        keepalive_expiry=30,
    )
    proxy = proxy_for(url)
    return openai.DefaultAioHttpClient(
        limits=limits,
        timeout=endpoint.timeout,
        headers={"Accept-Encoding": ACCEPTED},
        event_hooks={"response": [limit_body]},
        # A redirect would send the prompt to an address that is not configured.
        follow_redirects=False,
        proxy=proxy,
        # Without it, the client would choose a proxy itself.
        mounts=None if proxy else {"http://": None, "https://": None},
    )
