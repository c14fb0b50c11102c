"""Owns the wire of OpenAI's chat completions, as OpenAI and every compatible server speak it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import aiohttp
import httpx2
import openai

from judge.errors import CallError, RequestRejected
from judge.models.bodies import ACCEPTED, BodyRefused, LimitedBody, refused_body
from judge.models.chat_messages import complete, messages, parse
from judge.models.endpoint import NO_KEY, OPENAI_URL, Endpoint, public_part, thinking_switch
from judge.models.error_mapping import ErrorResponse, classify, timed_out
from judge.models.logs import redact_logs
from judge.models.negotiation import Negotiation, sampling_params
from judge.models.proxies import no_answer, proxy, proxy_secrets
from judge.records import Completion, Prompt, Sampling


class OpenAI:
    """A model behind an OpenAI-compatible server: OpenAI, vLLM, Ollama, DeepSeek, DashScope.

    Every request carries the sampling parameters, thinking off in the way that this server reads
    (`judge.models.access.thinking_switch`) and `extra`, which wins. The answer's format and a few
    parameters are given up when the server refuses them (`judge.models.terms`): `Completion.params`
    says what was really sent, `params` stays what was asked for. Raises `SetupError` without a key,
    unless the server is on a private network.
    """

    def __init__(
        self,
        model: str,
        access: Endpoint,
        sampling: Sampling,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        url = access.url("OPENAI_BASE_URL", default=OPENAI_URL)
        params = {**sampling_params(sampling), **thinking_switch(url, sampling.thinking), **extra}
        self.name = f"openai:{model}"
        self.endpoint = public_part(url, *access.secrets)
        self.params: Mapping[str, Any] = MappingProxyType(params)
        self._model = model
        self._timeout = access.timeout
        self._key = access.key("OPENAI_API_KEY", url)
        self._secrets = (self._key, *proxy_secrets(url))
        redact_logs(*self._secrets)
        self._negotiation = Negotiation(params, ("json_schema", "json_object", "text"))
        self._client = _client(url, self._key or NO_KEY, access)

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's final answer; raises `Transient`, `Conceded`, `Declined` or `AccountRefused`."""
        terms = self._negotiation.terms
        sent = terms.with_format(prompt.schema)
        answer = await self._post({"model": self._model, "messages": messages(prompt), **sent})
        if isinstance(answer, ErrorResponse):
            raise self._negotiation.step_down(terms, answer) or classify(
                answer, *self._secrets, endpoint=self.endpoint
            )
        return complete(
            answer.get("choices"),
            model=answer.get("model"),
            params=sent,
            usage=answer.get("usage"),
            request_id=answer.get("id"),
            secrets=(self._key,),
        )

    async def aclose(self) -> None:
        """Closes connections; the model can't be used afterwards."""
        await self._client.close()

    async def _post(self, body: Mapping[str, Any]) -> Mapping[str, Any] | ErrorResponse:
        # The typed door walks the request against its type hints and builds response models that
        # nobody reads: half of the CPU of a call. This is the same client's plain one.
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post("/chat/completions", body=body, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            raise timed_out(self._timeout) from None
        except (openai.APIConnectionError, aiohttp.ClientError, BodyRefused) as error:
            raise self._unconnected(error) from None
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}"
            ) from None
        return parse(response.status_code, response.content, response.headers, *self._secrets)

    def _unconnected(self, error: Exception) -> CallError:
        refused = refused_body(error, self.endpoint)
        if refused is not None:
            return refused
        # The SDK and its transport each wrap the error of aiohttp, which alone says what happened.
        cause: BaseException = error
        while cause.__cause__ is not None and not isinstance(cause, aiohttp.ClientError):
            cause = cause.__cause__
        never_sent = isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError)
        return no_answer(cause, self.endpoint, self._key, never_sent=never_sent)


class _Client(openai.AsyncOpenAI):
    """The SDK's client, less the headers that describe this machine or come from the environment."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        named = {"OpenAI-Organization": self.organization, "OpenAI-Project": self.project}
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "judge",
            **{name: value for name, value in named.items() if value},
        }


def _client(url: str, key: str, access: Endpoint) -> openai.AsyncOpenAI:
    return _Client(
        api_key=key,
        base_url=url,
        # Not "" but None would make the SDK look into the environment.
        admin_api_key="",
        organization=access.environ.get("OPENAI_ORG_ID", ""),
        project=access.environ.get("OPENAI_PROJECT_ID", ""),
        webhook_secret="",
        max_retries=0,
        timeout=access.timeout,
        http_client=connections(url, access),
    )


class _LimitedStream(LimitedBody, httpx2.AsyncByteStream):
    pass


async def _limit_body(response: httpx2.Response) -> None:
    response.stream = _LimitedStream(response)


def connections(url: str, access: Endpoint) -> httpx2.AsyncClient:
    """The connections to `url`, kept open between calls; raises SetupError for a proxy that can't be used."""
    limits = httpx2.Limits(
        max_connections=access.concurrency, max_keepalive_connections=access.concurrency, keepalive_expiry=30
    )
    via = proxy(url)
    return openai.DefaultAioHttpClient(
        limits=limits,
        timeout=access.timeout,
        headers={"Accept-Encoding": ACCEPTED},
        event_hooks={"response": [_limit_body]},
        # A redirect would take the prompt to an address that nobody configured.
        follow_redirects=False,
        proxy=via,
        # Without one the client would look for a proxy itself.
        mounts=None if via else {"http://": None, "https://": None},
    )
