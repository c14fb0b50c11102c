"""OpenAI's chat completions, for OpenAI and every compatible server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import aiohttp
import httpx2
import openai

from judge.errors import CallError, RequestRejected
from judge.models.chat_messages import (
    ACCEPTED,
    BodyRefused,
    LimitedBody,
    body_error,
    build_messages,
    parse_response,
    read_completion,
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
from judge.models.negotiation import Negotiation, build_sampling_params
from judge.models.redaction import redact_logs
from judge.records import Completion, Prompt, Sampling


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
        self._client = _client(url, self._key or NO_KEY, endpoint)

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        params = self._negotiation.params
        sent = params.with_format(prompt.schema)
        answer = await self._post({"model": self._model, "messages": build_messages(prompt), **sent})
        if isinstance(answer, ErrorResponse):
            raise self._negotiation.step_down(params, answer) or classify(
                answer, *self._secrets, endpoint=self.endpoint
            )
        return read_completion(
            answer.get("choices"),
            model=answer.get("model"),
            params=sent,
            usage=answer.get("usage"),
            request_id=answer.get("id"),
            secrets=(self._key,),
        )

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._client.close()

    async def _post(self, body: Mapping[str, Any]) -> Mapping[str, Any] | ErrorResponse:
        # The SDK's typed method checks the request against type hints and builds response models, half of the
        # CPU time of a call. This is the untyped method of the same client.
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post("/chat/completions", body=body, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            raise timeout_error(self._timeout) from None
        except (openai.APIConnectionError, aiohttp.ClientError, BodyRefused) as error:
            raise self._connection_error(error) from None
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}"
            ) from None
        return parse_response(response.status_code, response.content, response.headers, *self._secrets)

    def _connection_error(self, error: Exception) -> CallError:
        refused = body_error(error, self.endpoint)
        if refused is not None:
            return refused
        # The SDK and its transport each wrap the error of aiohttp, which has the cause.
        cause: BaseException = error
        while cause.__cause__ is not None and not isinstance(cause, aiohttp.ClientError):
            cause = cause.__cause__
        never_sent = isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError)
        return connection_error(cause, self.endpoint, self._key, never_sent=never_sent)


class _Client(openai.AsyncOpenAI):
    """The SDK's client without headers that describe this machine or come from the environment."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        optional = {"OpenAI-Organization": self.organization, "OpenAI-Project": self.project}
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "judge",
            **{name: value for name, value in optional.items() if value},
        }


def _client(url: str, key: str, endpoint: Endpoint) -> openai.AsyncOpenAI:
    return _Client(
        api_key=key,
        base_url=url,
        # None would make the SDK read the environment.
        admin_api_key="",
        organization=endpoint.environ.get("OPENAI_ORG_ID", ""),
        project=endpoint.environ.get("OPENAI_PROJECT_ID", ""),
        webhook_secret="",
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=open_connections(url, endpoint),
    )


class _LimitedStream(LimitedBody, httpx2.AsyncByteStream):
    pass


async def _limit_body(response: httpx2.Response) -> None:
    response.stream = _LimitedStream(response)


def open_connections(url: str, endpoint: Endpoint) -> httpx2.AsyncClient:
    """Return a pool of connections to `url`; raise SetupError for a proxy that cannot be used."""
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
        event_hooks={"response": [_limit_body]},
        # A redirect would send the prompt to an address that is not configured.
        follow_redirects=False,
        proxy=proxy,
        # Without it, the client would choose a proxy itself.
        mounts=None if proxy else {"http://": None, "https://": None},
    )
