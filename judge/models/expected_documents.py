"""The model `expected`: grades come from the expected documents of the dataset, so it is never asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.errors import CallError
from judge.records import EXPECTED, Completion, Prompt


class ExpectedDocuments:
    """The name of the assessor of a run whose labels are the expected documents."""

    name = EXPECTED
    endpoint = ""
    params: Mapping[str, Any] = MappingProxyType({})

    async def complete(self, prompt: Prompt) -> Completion:
        """Raise CallError: every pair has a label."""
        raise CallError("no_model", "expected documents are not a model")

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""
