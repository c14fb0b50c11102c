"""Owns the one seam to the outside world: a model completes a prompt.

Judging knows a model only by the `Model` protocol; each adapter translates its library's wire and
errors, and retries nothing (one retry owner: `judge.assess`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from judge.errors import SetupError
from judge.records import Completion, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.endpoint import Endpoint

#: What a user may write after -m.
FORMS = "openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME or lexical"


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
        """The model's final answer; raises `CallError` (Transient, Conceded, Declined, AccountRefused)."""
        ...

    async def aclose(self) -> None:
        """Closes connections; the model can't be used afterwards."""
        ...


def open_model(
    spec: str,
    *,
    base_url: str | None,
    environ: Mapping[str, str],
    sampling: Sampling,
    timeout: float,
    concurrency: int,
) -> Model:
    """The model called `spec`, ready to be asked; its library is imported here and not before.

    `timeout` is in seconds per call. Raises SetupError when the form of `spec` is unknown, or a key or
    an extra is missing.
    """
    from judge.models.endpoint import Endpoint

    access = Endpoint(base_url, environ, timeout, concurrency)
    if spec == "lexical":
        from judge.models.lexical import Lexical

        return Lexical()
    provider, _, name = spec.partition(":")
    if name and provider in PROVIDERS:
        return PROVIDERS[provider](name, access, sampling)
    raise SetupError(f"there is no model {spec!r}; write {FORMS}")


def _openai(name: str, access: Endpoint, sampling: Sampling) -> Model:
    from judge.models.openai import OpenAI

    return OpenAI(name, access, sampling)


def _dashscope(name: str, access: Endpoint, sampling: Sampling) -> Model:
    from judge.models.dashscope import DashScope

    return DashScope(name, access, sampling)


def _langchain(name: str, access: Endpoint, sampling: Sampling) -> Model:
    from judge.models.langchain import open_chat_model

    if ":" not in name:
        raise SetupError(f"there is no model {'langchain:' + name!r}; write {FORMS}")
    return open_chat_model(name, access, sampling)


#: What opens a provider's model, given its name: by the word before the colon. A program may add its own.
PROVIDERS: dict[str, Callable[[str, Endpoint, Sampling], Model]] = {
    "openai": _openai,
    "dashscope": _dashscope,
    "langchain": _langchain,
}
