"""Owns the one seam to the outside world: a model completes a prompt.

Judging knows a model only by the `Model` protocol; each adapter translates its library's wire and
errors, and retries nothing (one retry owner: `judge.assess`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from judge.records import Completion, Prompt


class Model(Protocol):
    """Something that completes prompts, one request a call."""

    @property
    def name(self) -> str:
        """The model as the user names it, e.g. `openai:qwen-plus`."""
        ...

    @property
    def endpoint(self) -> str:
        """The address that calls go to, without credentials; `""` for a model in this process."""
        ...

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of every request, as sent, less the negotiated `response_format`."""
        ...

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's final answer; raises `CallError` (Transient, Declined, AccountRefused)."""
        ...

    async def aclose(self) -> None:
        """Closes connections; the model can't be used afterwards."""
        ...
