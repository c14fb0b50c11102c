"""OpenAI's chat completions, for OpenAI and every compatible server."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from judge.models.chat_messages import build_messages, read_chat_completion
from judge.models.error_mapping import ErrorResponse
from judge.models.http_connections import HttpConnections
from judge.models.negotiation import Negotiation, RequestParams, build_sampling_params
from judge.models.server import Server, build_thinking_params
from judge.records import Completion, Params, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.batch_api import BatchApi


class OpenAIModel:
    """A model behind an OpenAI-compatible server: OpenAI, vLLM, Ollama, DeepSeek, DashScope.

    Every request carries the sampling parameters, those of thinking (`build_thinking_params`) and `extra`,
    which overrides both. The answer's format, a few parameters and the system message are dropped when the
    server refuses them (`judge.models.negotiation`): `Completion.params` holds the parameters that were sent,
    `params` those that were wanted. The model's name at the server is `name` without the provider.
    """

    is_local = False

    def __init__(
        self, name: str, server: Server, sampling: Sampling, extra: Params = MappingProxyType({})
    ) -> None:
        thinking = build_thinking_params(server.url, thinking=sampling.thinking)
        params = {**build_sampling_params(sampling), **thinking, **extra}
        self.name = name
        self.endpoint = server.endpoint
        self.params: Params = MappingProxyType(params)
        self._model = name.partition(":")[2]
        self._server = server
        self._negotiation = Negotiation(params, ("json_schema", "json_object", "text"))
        self._sent_for: tuple[RequestParams, Params] | None = None
        self._sent: Params = {}
        self._connections = HttpConnections(server, "/chat/completions", server.account_headers)

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        params = self._negotiation.current
        if self._sent_for != (params, prompt.schema):
            # One object for many requests, so that what is made of the parameters is made once.
            self._sent_for, self._sent = (params, prompt.schema), params.add_format(prompt.schema)
        sent = self._sent
        messages, secrets = build_messages(prompt, has_system=params.has_system), self._server.secrets
        json_body = await self._connections.post({"model": self._model, "messages": messages, **sent})
        if isinstance(json_body, ErrorResponse):
            raise self._negotiation.make_error(params, json_body, *secrets, endpoint=self.endpoint)
        return read_chat_completion(json_body, sent, secrets)

    def open_batch_api(self) -> BatchApi:
        """Return the Batch API of the server, for requests as `complete` sends them."""
        from judge.models.openai_batches import OpenAIBatchApi

        return OpenAIBatchApi(self._model, self._server, self._negotiation)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._connections.aclose()
