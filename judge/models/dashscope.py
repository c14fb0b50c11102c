"""DashScope's native API, through the 2.x client of its SDK."""

from __future__ import annotations

import asyncio
import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from judge.errors import SetupError, advise_install
from judge.models import body_limits, chat_messages
from judge.models.error_mapping import (
    ErrorResponse,
    JsonBody,
    classify,
    make_encoding_error,
    make_timeout_error,
)
from judge.models.negotiation import OPTIONAL_PARAMS, Negotiation, OptionalParam, build_sampling_params
from judge.models.providers import DASHSCOPE
from judge.models.server import ServerAccess, find_proxy
from judge.records import Completion, Params, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.batch_api import BatchApi

try:
    import dashscope
    import httpx
    from dashscope.v2.errors import APIConnectionError
except ImportError as error:
    raise SetupError(
        "{form}: models need an extra: {command}", form="dashscope", command=advise_install("dashscope")
    ) from error


class _LimitedStream(body_limits.LimitedBody, httpx.AsyncByteStream):
    pass


async def _limit_body(response: httpx.Response) -> None:
    response.stream = _LimitedStream(response)


class DashScope:
    """A model with DashScope's native API.

    Thinking is off by default, and the answer is requested as a JSON object as long as the model supports
    that: `Completion.params` holds what was sent, `params` what was wanted. Raises SetupError without a key,
    unless the server is on a private network.
    """

    is_local = False

    def __init__(
        self,
        model: str,
        access: ServerAccess,
        sampling: Sampling,
        extra: Params = MappingProxyType({}),
    ) -> None:
        server = access.open_server(DASHSCOPE)
        params = {**build_sampling_params(sampling), "enable_thinking": sampling.thinking, **extra}
        self.name = f"dashscope:{model}"
        self.endpoint = server.endpoint
        self.params: Params = MappingProxyType(params)
        self._model = model
        self._server = server
        # The SDK has no other name for a parameter, so one that the server refuses is dropped.
        dropped = [OptionalParam(each.parameter) for each in OPTIONAL_PARAMS]
        self._negotiation = Negotiation(params, ("json_object", "text"), dropped)
        # The SDK's own pool keeps 20 connections; further calls would each need a new handshake.
        limits = httpx.Limits(
            max_connections=access.concurrency, max_keepalive_connections=access.concurrency
        )
        # A client with its own transport does not take a proxy from the environment.
        transport = httpx.AsyncHTTPTransport(limits=limits, proxy=find_proxy(server.url))
        self._http = httpx.AsyncClient(
            base_url=server.url,
            timeout=access.timeout,
            transport=transport,
            headers={"Accept-Encoding": body_limits.ACCEPTED},
            event_hooks={"response": [_limit_body]},
        )
        self._client = dashscope.AsyncClient(
            api_key=server.key,
            base_url=server.url,
            protocol="native",
            max_retries=0,
            http_client=self._http,
            # A file in the home directory would change the run without a trace in its config.json.
            config_path=os.devnull,
        )

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        params = self._negotiation.current
        sent = params.add_format(prompt.schema)
        messages = chat_messages.build_messages(prompt, has_system=params.has_system)
        json_body = await self._post(messages, sent)
        if isinstance(json_body, ErrorResponse):
            raise self._negotiation.step_down(params, json_body) or classify(json_body, *self._server.secrets)
        return self._read(json_body, sent)

    def open_batch_api(self) -> BatchApi:
        """Return the Batch API of the server, which is that of its OpenAI-compatible address.

        Raises SetupError when the address is not one of the native API.
        """
        from judge.models.openai_sdk import OpenAIBatchApi

        native, compatible = "/api/v1", "/compatible-mode/v1"
        if not self._server.url.endswith(native):
            raise SetupError(
                "--batch needs an address that ends with {native}, and {endpoint!r} does not; use"
                " openai:NAME with the address of the OpenAI-compatible API",
                native=native,
                endpoint=self.endpoint,
            )
        server = self._server.move(self._server.url.removesuffix(native) + compatible)
        return OpenAIBatchApi(self._model, server, self._negotiation)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._client.aclose()
        await self._http.aclose()

    async def _post(self, messages: list[dict[str, str]], params: Params) -> JsonBody | ErrorResponse:
        # `chat.completions.create` sends the same request, but drops an error that a gateway puts into a
        # success, and builds every request in a thread.
        request = self._client.protocol.build_chat_request(model=self._model, messages=messages, **params)
        try:
            async with asyncio.timeout(self._server.access.timeout):
                response = await self._client.transport.request(
                    "POST",
                    request.path.lstrip("/"),
                    json=request.body,
                    api_key=self._server.key or None,
                    sdk_module="aigc",
                )
        except TimeoutError:
            raise make_timeout_error(self._server.access.timeout) from None
        except (APIConnectionError, body_limits.BodyRefused) as error:
            cause = error.__cause__ or error
            never_sent = isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            raise body_limits.make_request_error(
                error, self._server, never_sent=never_sent, cause=cause
            ) from None
        except UnicodeEncodeError as error:
            raise make_encoding_error(error) from None
        return chat_messages.parse_response(
            response.status_code, response.content, response.headers, *self._server.secrets
        )

    def _read(self, json_body: JsonBody, sent_params: Params) -> Completion:
        output = chat_messages.as_mapping(json_body.get("output"))
        choices = output.get("choices")
        if choices is None:
            text = {"content": output.get("text")}
            choices = [{"message": text, "finish_reason": output.get("finish_reason")}]
        # The native API does not always name the served model.
        model = json_body.get("model") or self._model
        in_openai_form = {**json_body, "choices": choices, "model": model, "id": json_body.get("request_id")}
        return chat_messages.read_chat_completion(in_openai_form, sent_params, self._server.secrets)
