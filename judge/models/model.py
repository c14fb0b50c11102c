"""The protocol of a model, through which judging calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from judge.records import Completion, Prompt


class Model(Protocol):
    """A model that completes prompts, one request per call."""

    @property
    def name(self) -> str:
        """The model as the user names it, e.g. `openai:qwen-plus`."""

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials; `""` for a model in this process."""

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of every request, as sent, without the negotiated `response_format`."""

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
