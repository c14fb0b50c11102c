"""OpenAI's chat completions, for OpenAI and every compatible server.

The requests go through aiohttp alone: the CPU time of a call through the SDK is about ten times as much, and
its import takes longer than that of all other modules of a run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from judge.errors import CallError, RequestRejected
from judge.models.chat_messages import (
    ACCEPTED,
    BodyRefused,
    body_error,
    build_messages,
    parse_response,
    read_completion,
    read_limited,
)
from judge.models.endpoint import (
    NO_KEY,
    OPENAI_URL,
    Endpoint,
    build_thinking_params,
    proxy_for,
    proxy_secrets,
    public_part,
)
from judge.models.error_mapping import ErrorResponse, classify, connection_error, timeout_error
from judge.models.negotiation import Negotiation, RequestParams, build_sampling_params
from judge.models.redaction import redact_logs
from judge.records import Completion, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.batch_api import BatchApi

#: Seconds for which a connection without a request stays open.
_KEEP_ALIVE = 30
_encode = json.JSONEncoder(ensure_ascii=False).encode
#: Stands for the user's message where the rest of a request is encoded.
_ANY_USER = "\0"


class OpenAI:
    """A model behind an OpenAI-compatible server: OpenAI, vLLM, Ollama, DeepSeek, DashScope.

    Every request carries the sampling parameters, those of thinking (`build_thinking_params`) and `extra`,
    which overrides both. The answer's format and a few parameters are dropped when the server refuses them
    (`judge.models.negotiation`): `Completion.params` holds what was sent, `params` what was wanted. Raises
    SetupError without a key, unless the server is on a private network.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        sampling: Sampling,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        url = endpoint.url("OPENAI_BASE_URL", default=OPENAI_URL)
        params = {**build_sampling_params(sampling), **build_thinking_params(url, sampling.thinking), **extra}
        self.name = f"openai:{model}"
        self.endpoint = public_part(url, *endpoint.secrets)
        self.params: Mapping[str, Any] = MappingProxyType(params)
        self._model = model
        self._timeout = endpoint.timeout
        self._key = endpoint.key("OPENAI_API_KEY", url)
        self._secrets = (self._key, *proxy_secrets(url))
        redact_logs(*self._secrets)
        self._negotiation = Negotiation(params, ("json_schema", "json_object", "text"))
        self._url = url
        self._access = endpoint
        self._frames: dict[tuple[str, int], _RequestFrame] = {}
        self._connections = _Connections(url, self._key or NO_KEY, endpoint)

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        params = self._negotiation.params
        frame = self._frame(params, prompt)
        answer = await self._post(frame, prompt.user)
        if isinstance(answer, ErrorResponse):
            raise self._negotiation.step_down(params, answer) or classify(
                answer, *self._secrets, endpoint=self.endpoint
            )
        return read_completion(
            answer.get("choices"),
            model=answer.get("model"),
            params=frame.sent,
            usage=answer.get("usage"),
            request_id=answer.get("id"),
            secrets=self._secrets,
        )

    def open_batch_api(self) -> BatchApi:
        """Return the Batch API of the server, for requests as `complete` sends them."""
        from judge.models.openai_batch import OpenAIBatchApi

        return OpenAIBatchApi(self._model, self._url, self._key, self._access, self._negotiation)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._connections.aclose()

    def _frame(self, params: RequestParams, prompt: Prompt) -> _RequestFrame:
        """Return the request without the user's message, encoded once for prompts with equal instructions."""
        key = prompt.system, id(prompt.schema)
        frame = self._frames.get(key)
        if frame is None or frame.params is not params or frame.schema is not prompt.schema:
            sent = params.with_format(prompt.schema)
            messages = build_messages(replace(prompt, user=_ANY_USER))
            body = _encode({"model": self._model, "messages": messages, **sent})
            before, _, after = body.partition(_encode(_ANY_USER))
            frame = self._frames[key] = _RequestFrame(params, prompt.schema, sent, before, after)
        return frame

    async def _post(self, frame: _RequestFrame, user: str) -> Mapping[str, Any] | ErrorResponse:
        try:
            body = f"{frame.before}{_encode(user)}{frame.after}".encode()
            async with asyncio.timeout(self._timeout):
                status, headers, content = await self._connections.post(body)
        except TimeoutError:
            raise timeout_error(self._timeout) from None
        except (aiohttp.ClientError, OSError, BodyRefused) as error:
            raise self._connection_error(error) from None
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}"
            ) from None
        return parse_response(status, content, headers, *self._secrets)

    def _connection_error(self, error: Exception) -> CallError:
        never_sent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError)
        return body_error(error, self.endpoint) or connection_error(
            error, self.endpoint, self._key, never_sent=never_sent
        )


@dataclass(frozen=True, slots=True)
class _RequestFrame:
    """A request `before` and `after` the user's message; `sent` are its parameters."""

    params: RequestParams
    schema: Mapping[str, Any]
    sent: Mapping[str, Any]
    before: str
    after: str


class _Connections:
    """The connections to one address, opened by the first request. Raises SetupError for an unusable proxy.

    No header describes this machine, and none but those of the organization and the project comes from the
    environment.
    """

    def __init__(self, url: str, key: str, endpoint: Endpoint) -> None:
        optional = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "User-Agent": "judge",
            **{name: endpoint.environ[var] for name, var in optional.items() if endpoint.environ.get(var)},
        }
        self._url = URL(f"{url}/chat/completions")
        self._limit = endpoint.concurrency
        self._proxy, self._proxy_headers = _proxy(url)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and unpacked content of the response to `body`.

        Raises BodyRefused for content beyond the limit, and the errors of aiohttp.
        """
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
