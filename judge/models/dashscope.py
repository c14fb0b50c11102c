"""Owns DashScope's native wire, through the 2.x client of its SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.errors import RequestRejected, SetupError
from judge.models.bodies import ACCEPTED, BodyRefused, LimitedBody, refused_body
from judge.models.chat_messages import complete, messages, parse
from judge.models.endpoint import DASHSCOPE_URL, Endpoint, public_part
from judge.models.error_mapping import ErrorResponse, classify, timed_out
from judge.models.logs import redact_logs
from judge.models.negotiation import Negotiation, sampling_params
from judge.models.proxies import no_answer, proxy, proxy_secrets
from judge.records import Completion, Prompt, Sampling

try:
    import dashscope
    import httpx
    from dashscope.v2.errors import APIConnectionError
except ImportError as error:
    raise SetupError(
        "dashscope: models need an extra: pip install 'search-judge[dashscope]'"
        " (in a checkout: uv sync --extra dashscope)"
    ) from error


class _LimitedStream(LimitedBody, httpx.AsyncByteStream):
    pass


async def _limit_body(response: httpx.Response) -> None:
    response.stream = _LimitedStream(response)


class DashScope:
    """A model on DashScope's native wire.

    Thinking is off unless asked for, and the answer is asked for as a JSON object as long as the
    model supports that: `Completion.params` says what was really sent, `params` stays what was asked
    for. Raises `SetupError` without a key, unless the server is on a private network.
    """

    def __init__(self, model: str, access: Endpoint, sampling: Sampling) -> None:
        url = access.url("DASHSCOPE_BASE_URL", "DASHSCOPE_HTTP_BASE_URL", default=DASHSCOPE_URL)
        params = {**sampling_params(sampling), "enable_thinking": sampling.thinking}
        self.name = f"dashscope:{model}"
        self.endpoint = public_part(url, *access.secrets)
        self.params: Mapping[str, Any] = MappingProxyType(params)
        self._model = model
        self._timeout = access.timeout
        self._key = access.key("DASHSCOPE_API_KEY", url)
        self._secrets = (self._key, *proxy_secrets(url))
        redact_logs(*self._secrets)
        self._negotiation = Negotiation(params, ("json_object", "text"))
        # The SDK's own pool keeps 20 connections: above that, each call would shake hands anew.
        limits = httpx.Limits(
            max_connections=access.concurrency, max_keepalive_connections=access.concurrency
        )
        # With a transport of its own a client asks the environment for no proxy.
        way = httpx.AsyncHTTPTransport(limits=limits, proxy=proxy(url))
        self._http = httpx.AsyncClient(
            base_url=url,
            timeout=access.timeout,
            transport=way,
            headers={"Accept-Encoding": ACCEPTED},
            event_hooks={"response": [_limit_body]},
        )
        self._client = dashscope.AsyncClient(
            api_key=self._key,
            base_url=url,
            protocol="native",
            max_retries=0,
            http_client=self._http,
            # What a file in the home directory says would not be in the run's config.
            config_path=os.devnull,
        )

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's final answer; raises `Transient`, `Conceded`, `Declined` or `AccountRefused`."""
        terms = self._negotiation.terms
        sent = terms.with_format(prompt.schema)
        answer = await self._post(prompt, sent)
        if isinstance(answer, ErrorResponse):
            raise self._negotiation.step_down(terms, answer) or classify(answer, *self._secrets)
        return self._read(answer, sent)

    async def aclose(self) -> None:
        """Closes connections; the model can't be used afterwards."""
        await self._client.aclose()
        await self._http.aclose()

    async def _post(self, prompt: Prompt, params: Mapping[str, Any]) -> Mapping[str, Any] | ErrorResponse:
        # `chat.completions.create` sends the same, but drops the error that a gateway puts into a
        # success, and builds every request in a thread.
        request = self._client.protocol.build_chat_request(
            model=self._model, messages=messages(prompt), **params
        )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.transport.request(
                    "POST",
                    request.path.lstrip("/"),
                    json=request.body,
                    api_key=self._key or None,
                    sdk_module="aigc",
                )
        except TimeoutError:
            raise timed_out(self._timeout) from None
        except (APIConnectionError, BodyRefused) as error:
            refused = refused_body(error, self.endpoint)
            if refused is not None:
                raise refused from None
            cause = error.__cause__ or error
            never_sent = isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            raise no_answer(cause, self.endpoint, self._key, never_sent=never_sent) from None
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}"
            ) from None
        return parse(response.status_code, response.content, response.headers, *self._secrets)

    def _read(self, answer: Mapping[str, Any], sent: Mapping[str, Any]) -> Completion:
        said = answer.get("output")
        output = said if isinstance(said, dict) else {}
        choices = output.get("choices")
        if choices is None:
            text = {"content": output.get("text")}
            choices = [{"message": text, "finish_reason": output.get("finish_reason")}]
        return complete(
            choices,
            # The native wire doesn't always say which model it served.
            model=answer.get("model") or self._model,
            params=sent,
            usage=answer.get("usage"),
            request_id=answer.get("request_id"),
            secrets=(self._key,),
        )
