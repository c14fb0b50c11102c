"""DashScope's native API: its SDK makes the body of a request, and `http_connections` sends it.

The client of the SDK drops an error that a gateway puts into a success, and makes every request in a thread.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from judge.errors import SetupError, advise_install
from judge.models.chat_messages import as_mapping, build_messages, read_chat_completion
from judge.models.error_mapping import ErrorResponse, JsonBody
from judge.models.http_connections import HttpConnections
from judge.models.negotiation import OPTIONAL_PARAMS, Negotiation, OptionalParam, build_sampling_params
from judge.models.providers import DASHSCOPE
from judge.models.server import ServerAccess
from judge.records import Completion, Params, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.batch_api import BatchApi

try:
    from dashscope.v2.protocols.native import NativeProtocol
except ImportError as error:
    raise SetupError(
        "{provider}: models need an extra: {command}",
        provider="dashscope",
        command=advise_install("dashscope"),
    ) from error


class DashScopeModel:
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
        self._protocol = NativeProtocol()
        # A server on a private network may have no key.
        headers = {} if server.key else {"Authorization": ""}
        self._connections = HttpConnections(server, NativeProtocol.PATH, headers)

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        params = self._negotiation.current
        sent = params.add_format(prompt.schema)
        messages = build_messages(prompt, has_system=params.has_system)
        request = self._protocol.build_chat_request(model=self._model, messages=messages, **sent)
        json_body = await self._connections.post(request.body)
        if isinstance(json_body, ErrorResponse):
            secrets = self._server.secrets
            raise self._negotiation.make_error(params, json_body, *secrets, endpoint=self.endpoint)
        return self._read(json_body, sent)

    def open_batch_api(self) -> BatchApi:
        """Return the Batch API of the server, which is that of its OpenAI-compatible address.

        Raises SetupError when the address is not one of the native API.
        """
        from judge.models.openai_batches import OpenAIBatchApi

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
        await self._connections.aclose()

    def _read(self, json_body: JsonBody, sent_params: Params) -> Completion:
        output = as_mapping(json_body.get("output"))
        choices = output.get("choices")
        if choices is None:
            text = {"content": output.get("text")}
            choices = [{"message": text, "finish_reason": output.get("finish_reason")}]
        # The native API does not always name the served model.
        model = json_body.get("model") or self._model
        in_openai_form = {**json_body, "choices": choices, "model": model, "id": json_body.get("request_id")}
        return read_chat_completion(in_openai_form, sent_params, self._server.secrets)
