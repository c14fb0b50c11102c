"""The protocol of a model, the providers of models, and the model for a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from judge.errors import CallError, InputError, SetupError, suggest_name
from judge.messages import Message, SeparatedNames
from judge.models.redaction import redact
from judge.records import EXPECTED, LEXICAL, RERANKER, Completion, Params, Prompt, Sampling

if TYPE_CHECKING:
    from judge.models.server import ServerAccess


class Model(Protocol):
    """A model that completes prompts, one request per call."""

    @property
    def name(self) -> str:
        """The model as the user names it, e.g. `openai:qwen-plus`."""

    @property
    def endpoint(self) -> str:
        """The address of the server, without credentials; `""` where it is unknown, or there is no server."""

    @property
    def is_local(self) -> bool:
        """Whether the model is in this process: it has no server, and its calls are no requests."""

    @property
    def params(self) -> Params:
        """The parameters of every request, as sent, without the negotiated `response_format`."""

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""


#: How a request to a model ended.
ModelResult = Completion | CallError


#: What the names of a `LocalModel` begin with.
LOCAL_MODELS = (LEXICAL, EXPECTED, f"{RERANKER}local:")


class LocalModel:
    """A model in this process, which has no server, no parameters and no connections."""

    endpoint, is_local = "", True
    params: Params = MappingProxyType({})

    async def aclose(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service with models: its address, "" without one, and environment variables.

    The first of `address_variables` that has a value holds another address, `key_variable` holds the key.
    `account_headers` are sent where their variables have values.
    """

    url: str
    address_variables: tuple[str, ...]
    key_variable: str
    account_headers: Mapping[str, str] = field(default_factory=dict)


OPENAI = Service(
    "https://api.openai.com/v1",
    ("OPENAI_BASE_URL",),
    "OPENAI_API_KEY",
    {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
)
DASHSCOPE = Service(
    "https://dashscope.aliyuncs.com/api/v1",
    ("DASHSCOPE_BASE_URL", "DASHSCOPE_HTTP_BASE_URL"),
    "DASHSCOPE_API_KEY",
)
COHERE = Service("https://api.cohere.com/v2", ("COHERE_BASE_URL",), "COHERE_API_KEY")
#: A server with `/rerank`.
RERANK_SERVER = Service("", ("RERANK_BASE_URL",), "RERANK_API_KEY")


def open_model(spec: str, access: ServerAccess, sampling: Sampling) -> Model:
    """Return the model called `spec`; its library is imported here.

    Raises SetupError when the form of `spec` is unknown, a key or an extra is missing, or a key is in `spec`.
    """
    model, _ = split_address(spec)
    if redact(model, *access.secrets) != model:
        raise SetupError(
            "the name of the model contains a key of the environment, and files would show it; name a model"
        )
    if spec in (LEXICAL, EXPECTED):
        from judge.models.lexical import ExpectedDocuments, LexicalModel

        return LexicalModel() if spec == LEXICAL else ExpectedDocuments()
    provider, name = find_provider(spec)
    if provider:
        return provider.open_model(name, access, sampling)
    names = [name.partition(":")[0] for name in (*PROVIDERS, LEXICAL, EXPECTED)]
    word = spec.partition(":")[0]
    suggestion = "" if word in names else suggest_name(word.casefold(), names)
    raise SetupError(
        "there is no model {model!r}{suggestion}",
        model=spec,
        suggestion=suggestion or Message("; write {forms}", forms=FORMS),
    )


def open_openai(
    name: str,
    access: ServerAccess,
    sampling: Sampling,
    extra: Params = MappingProxyType({}),
    *,
    provider: str = "openai",
    service: Service = OPENAI,
) -> Model:
    """Return a model of a `provider` whose `service` has OpenAI's API."""
    from judge.models.openai import OpenAIModel

    return OpenAIModel(f"{provider}:{name}", access.open_server(service), sampling, extra)


def _open_dashscope(
    name: str, access: ServerAccess, sampling: Sampling, extra: Params = MappingProxyType({})
) -> Model:
    from judge.models.dashscope import DashScopeModel

    return DashScopeModel(name, access, sampling, extra)


def _open_langchain(name: str, access: ServerAccess, sampling: Sampling) -> Model:
    from judge.models.langchain import open_chat_model

    return open_chat_model(name, access, sampling)


def _open_decision_model(
    name: str,
    access: ServerAccess,
    sampling: Sampling,
    *,
    open_chat_model: Callable[..., Model],
    top_logprobs: int,
) -> Model:
    """Return a decision model; its server gives the log-probabilities of `top_logprobs` tokens."""
    from judge.models.scoring_models import DecisionModel

    sampling = replace(sampling, max_tokens=1, thinking=False)
    return DecisionModel(
        open_chat_model(name, access, sampling, {"logprobs": True, "top_logprobs": top_logprobs})
    )


def _open_reranker(name: str, access: ServerAccess, _: Sampling, *, provider: str, service: Service) -> Model:
    from judge.models.scoring_models import Reranker

    return Reranker(provider, name, access.open_server(service))


def _open_local_reranker(name: str, _: ServerAccess, __: Sampling) -> Model:
    from judge.models.scoring_models import LocalReranker

    return LocalReranker(name)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models: `open_model` takes the name of a model, which follows the provider's name.

    `spelling` is what a user writes after -m. `service` is None where the models run in this process, or
    where the name of a model names the service. `library` is the package whose version a run records, `extra`
    what installs it; "" where there is none. Its models are `BatchModel`s where it `has_batches`.
    """

    spelling: str
    open_model: Callable[[str, ServerAccess, Sampling], Model]
    service: Service | None = None
    library: str = ""
    extra: str = ""
    has_batches: bool = False


#: How a user writes a reranker and a decision model.
_RERANKER, _DECISION = "rerank:PROVIDER:NAME", "decision:PROVIDER:NAME"
#: The providers by what precedes the name of a model. A program may add its own.
PROVIDERS = {
    "openai": Provider("openai:NAME", open_openai, OPENAI, "openai", has_batches=True),
    "dashscope": Provider(
        "dashscope:NAME", _open_dashscope, DASHSCOPE, "dashscope", "dashscope", has_batches=True
    ),
    "langchain": Provider("langchain:PROVIDER:NAME", _open_langchain, library="langchain", extra="langchain"),
    "decision:openai": Provider(
        _DECISION, partial(_open_decision_model, open_chat_model=open_openai, top_logprobs=20), OPENAI
    ),
    "decision:dashscope": Provider(
        _DECISION,
        partial(_open_decision_model, open_chat_model=_open_dashscope, top_logprobs=5),
        DASHSCOPE,
        extra="dashscope",
    ),
    **{
        f"rerank:{name}": Provider(
            _RERANKER, partial(_open_reranker, provider=name, service=service), service
        )
        for name, service in (("dashscope", DASHSCOPE), ("cohere", COHERE), ("server", RERANK_SERVER))
    },
    "rerank:local": Provider(
        _RERANKER, _open_local_reranker, library="sentence-transformers", extra="rerank"
    ),
}
#: What a user may write after -m.
FORMS = Message(
    "{forms}, lexical or expected",
    forms=SeparatedNames(dict.fromkeys(provider.spelling for provider in PROVIDERS.values())),
)
#: The same where the model must write texts.
TEXT_FORMS = SeparatedNames(provider.spelling for name, provider in PROVIDERS.items() if ":" not in name)

#: What a user may write after --embeddings.
EMBEDDING_FORMS = Message(
    "{forms} or lsa", forms=SeparatedNames(["openai:NAME", "dashscope:NAME", "local:NAME"])
)


def check_embeddings(spec: str) -> str:
    """Return `spec`; raise InputError unless it has one of `EMBEDDING_FORMS`."""
    provider, _, name = str(spec).partition(":")  # Python callers can give any value
    if spec != "lsa" and not (name and provider in ("openai", "dashscope", "local")):
        raise InputError("there are no embeddings {spec!r}; write {forms}", spec=spec, forms=EMBEDDING_FORMS)
    return spec


def split_address(spec: str) -> tuple[str, str | None]:
    """Return the model and the address of its server in `NAME@https://…`; None where it names none."""
    name, *address = re.split("@(?=http)", spec, maxsplit=1, flags=re.IGNORECASE)
    return name, address[0] if address else None


def find_provider(spec: str) -> tuple[Provider | None, str]:
    """Return the provider of the model called `spec`, None without one, and its name at the provider."""
    for prefix, provider in PROVIDERS.items():
        name = spec.removeprefix(f"{prefix}:")
        if name not in ("", spec):
            return provider, name
    return None, spec


def strip_provider(spec: str) -> str:
    """Return the name that its server has for the model called `spec`; it can have colons of its own."""
    provider, _ = find_provider(spec)
    return spec.split(":", provider.spelling.count(":"))[-1] if provider else spec
