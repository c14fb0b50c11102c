"""Owns LangChain's chat models: any `init_chat_model` string, the community's Tongyi, or a ready object."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from judge.errors import CallError, ParametersRejected, RequestRejected, SetupError
from judge.models.chat_messages import complete, messages
from judge.models.endpoint import DASHSCOPE_URL, NO_KEY, OPENAI_URL, Endpoint, public_part, thinking_switch
from judge.models.error_mapping import ErrorResponse, classify, timed_out
from judge.models.logs import redact_logs
from judge.models.negotiation import NEGOTIABLE, sampling_params
from judge.models.proxies import no_answer, proxy, proxy_secrets
from judge.records import Completion, Prompt, Sampling

try:
    from langchain.chat_models import init_chat_model
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langsmith import tracing_context
    from pydantic import SecretStr
except ImportError as error:
    raise SetupError(
        "langchain: models need an extra: pip install 'search-judge[langchain]'"
        " (in a checkout: uv sync --extra langchain)"
    ) from error

if TYPE_CHECKING:
    import httpx2

#: Kinds of errors that may be about a parameter.
_OF_PARAMETERS = frozenset({"bad_parameter", "bad_request"})
#: How the community's Tongyi words a refusal of the server.
TONGYI_REFUSAL = re.compile(r"status_code: (\d+) \n code: (.*?) \n message: (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LangChainSetup:
    """What is known about a chat model besides its name.

    `params` are what it sends, `timeout` is in seconds for a whole call, `threads` says how many
    calls block a thread each (0: the model is asynchronous), `http` is closed with the model, `secrets`
    are masked in what it says.
    """

    endpoint: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0
    threads: int = 0
    http: httpx2.AsyncClient | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


class LangChainModel:
    """A LangChain chat model: `LangChain(ChatAnthropic(…), "anthropic:claude")`.

    Nothing but the model's own endpoint hears of a call: tracing to LangSmith is off and LangChain's
    cache is not asked (it would answer every repeat alike). A ready object keeps its own retries.
    """

    def __init__(self, model: BaseChatModel, name: str, setup: LangChainSetup | None = None) -> None:
        setup = setup or LangChainSetup()
        self.name = f"langchain:{name}"
        self.endpoint = setup.endpoint
        self.params = setup.params
        self._sent = setup.params
        self._model = model.model_copy(update={"cache": False})
        self._timeout = setup.timeout
        self._http = setup.http
        self._pool = ThreadPoolExecutor(setup.threads, "langchain") if setup.threads else None
        held = [value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr)]
        self._secrets = (*held, *setup.secrets)
        redact_logs(*self._secrets)

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's final answer; raises `Transient`, `Conceded`, `Declined` or `AccountRefused`."""
        # What a call may raise is known to the provider's package only: an outcome, not an except clause.
        asked, sent = self._model, self._sent
        [outcome] = await asyncio.gather(self._invoke(asked, messages(prompt)), return_exceptions=True)
        if isinstance(outcome, Exception):
            fault = _fault(outcome)
            error = self._translate(outcome, fault)
            raise self._concede(asked, fault, error) or error
        if isinstance(outcome, BaseException):
            raise outcome
        said = outcome.response_metadata
        message = {"content": outcome.content, "refusal": outcome.additional_kwargs.get("refusal")}
        message["reasoning_content"] = outcome.additional_kwargs.get("reasoning_content")
        return complete(
            [{"message": message, "finish_reason": _finish_reason(said)}],
            model=said.get("model_name") or said.get("model"),
            params=sent,
            usage=outcome.usage_metadata or said.get("token_usage"),
            request_id=said.get("request_id") or said.get("id"),
            secrets=self._secrets,
        )

    async def aclose(self) -> None:
        """Closes what `open_chat_model` opened; a ready object stays its owner's."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._http is not None:
            await self._http.aclose()

    async def _invoke(self, model: BaseChatModel, turns: list[dict[str, str]]) -> AIMessage:
        with tracing_context(enabled=False):
            async with asyncio.timeout(self._timeout):
                if self._pool is None:
                    return await model.ainvoke(turns)
                blocking = copy_context().run
                return await asyncio.get_running_loop().run_in_executor(
                    self._pool, blocking, model.invoke, turns
                )

    def _concede(
        self, asked: BaseChatModel, fault: ErrorResponse | None, error: CallError
    ) -> ParametersRejected | None:
        """What to raise when the server refuses extra parameters: the call goes on without them."""
        if fault is None or fault.status not in NEGOTIABLE or error.kind not in _OF_PARAMETERS:
            return None
        extra: Mapping[str, Any] = getattr(asked, "extra_body", None) or {}
        refused = {name for name in extra if name in f"{fault.code} {fault.param} {fault.message}"}
        if not refused:
            return None
        kept = {name: value for name, value in extra.items() if name not in refused}
        if self._model is asked:  # many may be refused at once: the first one changes the model
            self._model = asked.model_copy(update={"extra_body": kept or None})
            self._sent = {name: value for name, value in self._sent.items() if name not in refused}
        return ParametersRejected("conceded", error.detail)

    def _translate(self, error: Exception, fault: ErrorResponse | None) -> CallError:
        if fault is not None:
            return classify(fault, *self._secrets, endpoint=self.endpoint)
        if isinstance(error, UnicodeEncodeError):
            return RequestRejected("bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}")
        if isinstance(error, TimeoutError):
            return timed_out(self._timeout)
        # Neither an answer nor a refusal: the connection broke, or the reply was none that the package reads.
        return no_answer(error, self.endpoint, *self._secrets)


def open_chat_model(spec: str, access: Endpoint, sampling: Sampling) -> LangChainModel:
    """The chat model that `spec`, PROVIDER:NAME, names; raises SetupError with what is missing."""
    provider, _, name = spec.partition(":")
    opened = {"tongyi": _tongyi, "openai": _openai}
    try:
        if provider in opened:
            return opened[provider](name, access, sampling)
        return _any(provider, name, access, sampling)
    except (ImportError, ValueError, TypeError) as error:
        raise SetupError(f"langchain:{spec} cannot be opened: {error}") from None


def _openai(name: str, access: Endpoint, sampling: Sampling) -> LangChainModel:
    from judge.models.openai import connections

    url = access.url("OPENAI_BASE_URL", default=OPENAI_URL)
    params = sampling_params(sampling)
    # ChatOpenAI sends it under this name, whatever it is given.
    params["max_completion_tokens"] = params.pop("max_tokens")
    thinking = thinking_switch(url, sampling.thinking)
    http = connections(url, access)
    model = init_chat_model(
        name,
        model_provider="openai",
        base_url=url,
        api_key=access.key("OPENAI_API_KEY", url) or NO_KEY,
        max_retries=0,
        timeout=access.timeout,
        http_async_client=http,
        extra_body=thinking or None,
        **params,
    )
    setup = LangChainSetup(
        public_part(url, *access.secrets),
        {**params, **thinking},
        access.timeout,
        http=http,
        secrets=proxy_secrets(url),
    )
    return LangChainModel(model, f"openai:{name}", setup)


def _any(provider: str, name: str, access: Endpoint, sampling: Sampling) -> LangChainModel:
    params = sampling_params(sampling)
    key = access.environ.get(f"{provider.upper()}_API_KEY")
    url = access.url(default="") if access.base_url else ""
    known = {"base_url": url, "api_key": key}
    options: dict[str, Any] = {option: value for option, value in known.items() if value}
    options.update(params, max_retries=0, timeout=access.timeout)
    model = init_chat_model(name, model_provider=provider, **options)
    proxy(url)  # raises for one that can't be used
    setup = LangChainSetup(
        public_part(url, *access.secrets),
        params,
        access.timeout,
        secrets=(*filter(None, [key]), *proxy_secrets(url)),
    )
    return LangChainModel(model, f"{provider}:{name}", setup)


def _tongyi(name: str, access: Endpoint, sampling: Sampling) -> LangChainModel:
    with warnings.catch_warnings():
        # The package says on import that it is no longer maintained; whoever names tongyi chose it.
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.chat_models import ChatTongyi

        url = access.url("DASHSCOPE_BASE_URL", "DASHSCOPE_HTTP_BASE_URL", default=DASHSCOPE_URL)
        proxy(url)  # raises for one that can't be used
        params = {**sampling_params(sampling), "enable_thinking": sampling.thinking}
        # Only these reach the wire. The class has a top_p of its own, which None keeps off it.
        wire = {"top_p": None, **params, "base_address": url, "request_timeout": access.timeout}
        # Given the SecretStr that it declares, the class would send the asterisks that one prints.
        key = access.key("DASHSCOPE_API_KEY", url)
        unmasked: Any = key or NO_KEY
        model = ChatTongyi(model=name, api_key=unmasked, max_retries=1, model_kwargs=wire)
    setup = LangChainSetup(
        public_part(url, *access.secrets),
        params,
        access.timeout,
        threads=access.concurrency,
        secrets=(key, *proxy_secrets(url)),
    )
    return LangChainModel(model, f"tongyi:{name}", setup)


def _finish_reason(said: Mapping[str, Any]) -> object:
    """How the answer ended: every provider's package has a name of its own for that."""
    return next(
        (said[name] for name in ("finish_reason", "stop_reason", "done_reason") if said.get(name)), None
    )


def _fault(error: Exception) -> ErrorResponse | None:
    """The server's own words in `error`, None when no server spoke."""
    worded = TONGYI_REFUSAL.search(str(error))
    if worded:
        return ErrorResponse(int(worded[1]), worded[2], worded[3])
    if error.args and isinstance(error.args[0], Mapping):
        return ErrorResponse.of(200, error.args[0], {})
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if not isinstance(status, int) or status < 300:
        return None
    body = getattr(error, "body", None) or str(error)
    return ErrorResponse.of(status, body, getattr(response, "headers", None) or {})
