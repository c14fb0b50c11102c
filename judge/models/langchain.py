"""LangChain's chat models: any `init_chat_model` string, the community's Tongyi, or an existing object."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from judge.errors import JudgeError, SetupError, advise_install
from judge.models import error_mapping
from judge.models.chat_messages import build_messages, read_chat_completion
from judge.models.negotiation import OPTIONAL_PARAMS, Negotiation, build_sampling_params
from judge.models.providers import DASHSCOPE, FORMS, OPENAI
from judge.models.redaction import describe_setup_error, find_secrets, mask, redact_logs
from judge.models.server import (
    NO_KEY,
    ServerAccess,
    build_thinking_params,
    find_proxy,
    find_proxy_secrets,
    redact_url,
)
from judge.records import Completion, Params, Prompt, Sampling

try:
    from langchain.chat_models import init_chat_model
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langsmith import tracing_context
    from pydantic import SecretStr
except ImportError as error:
    raise SetupError(
        "{provider}: models need an extra: {command}",
        provider="langchain",
        command=advise_install("langchain"),
    ) from error

if TYPE_CHECKING:
    import httpx2

#: The parameters that can be dropped: a chat model always sends the limit of tokens.
_OPTIONAL_PARAMS = [each for each in OPTIONAL_PARAMS if "tokens" not in each.parameter]
#: The form in which the community's Tongyi reports an error of the server.
_TONGYI_REFUSAL = re.compile(r"status_code: (\d+) \n code: (.*?) \n message: (.*)", re.DOTALL)


class LangChainModel:
    """A LangChain chat model: `LangChainModel(ChatAnthropic(…), "anthropic:claude")`.

    Tracing to LangSmith and LangChain's cache are off (the cache would answer every repeat alike), so that
    only the model's own server gets a call. An existing object keeps its own retries.

    `params` are sent with each request. `timeout` is in seconds for a whole call. `threads` is the number of
    threads for a model that blocks (0: it is asynchronous). `http` is closed with the model. `secrets` are
    masked in its replies.
    """

    is_local = False

    def __init__(
        self,
        model: BaseChatModel,
        name: str,
        endpoint: str = "",
        params: Params = MappingProxyType({}),
        timeout: float = 60.0,
        *,
        threads: int = 0,
        http: httpx2.AsyncClient | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.name = f"langchain:{name}"
        self.endpoint = endpoint
        self.params = params
        self._negotiation = Negotiation(params, ("text",), _OPTIONAL_PARAMS)
        self._model = model.model_copy(update={"cache": False})
        self._timeout = timeout
        self._http = http
        self._pool = ThreadPoolExecutor(threads, "langchain") if threads else None
        keys = [value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr)]
        self._secrets = (*keys, *secrets)
        redact_logs(*self._secrets)

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        # The errors of a call depend on the provider's package, so an exception is a value here.
        params = self._negotiation.current
        model, messages = self._adapt(params.params), build_messages(prompt, has_system=params.has_system)
        [outcome] = await asyncio.gather(self._invoke(model, messages), return_exceptions=True)
        if isinstance(outcome, Exception) and (response := _find_error_response(outcome)):
            raise self._negotiation.make_error(params, response, *self._secrets, endpoint=self.endpoint)
        if isinstance(outcome, UnicodeEncodeError):
            raise error_mapping.make_encoding_error(outcome)
        if isinstance(outcome, TimeoutError):
            raise error_mapping.make_timeout_error(self._timeout)
        if isinstance(outcome, Exception):
            # The connection broke, or the package cannot read the reply.
            raise error_mapping.make_connection_error(outcome, self.endpoint or self.name, *self._secrets)
        if isinstance(outcome, BaseException):
            raise outcome
        metadata = outcome.response_metadata
        # Each provider's package stores the finish reason under another name.
        finish_reasons = (metadata.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
        message = {"content": outcome.content, "refusal": outcome.additional_kwargs.get("refusal")}
        message["reasoning_content"] = outcome.additional_kwargs.get("reasoning_content")
        json_body = {
            "choices": [{"message": message, "finish_reason": next(filter(None, finish_reasons), None)}],
            "model": metadata.get("model_name") or metadata.get("model"),
            "usage": outcome.usage_metadata or metadata.get("token_usage"),
            "id": metadata.get("request_id") or metadata.get("id"),
        }
        return read_chat_completion(json_body, params.params, self._secrets)

    async def aclose(self) -> None:
        """Close the connections that `open_chat_model` opened, not those of an existing object."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._http is not None:
            await self._http.aclose()

    async def _invoke(self, model: BaseChatModel, messages: list[dict[str, str]]) -> AIMessage:
        with tracing_context(enabled=False):
            async with asyncio.timeout(self._timeout):
                if self._pool is None:
                    return await model.ainvoke(messages)
                return await asyncio.get_running_loop().run_in_executor(
                    self._pool, copy_context().run, model.invoke, messages
                )

    def _adapt(self, params: Params) -> BaseChatModel:
        """Return the chat model with `params`, which are what a server has left of those of the model."""
        if params == self.params:
            return self._model
        dropped = self.params.keys() - params.keys()
        changes: dict[str, Any] = {
            name: params.get(name)
            for name in self.params
            if getattr(self._model, name, None) is not None  # else it is in a holder
        }
        for holder in ("extra_body", "model_kwargs"):
            if extra := getattr(self._model, holder, None):
                changes[holder] = {
                    name: params.get(name, value) for name, value in extra.items() if name not in dropped
                } or None
        return self._model.model_copy(update=changes)


def open_chat_model(spec: str, access: ServerAccess, sampling: Sampling) -> LangChainModel:
    """Return the chat model of `spec`, PROVIDER:NAME; raise SetupError that names what is missing."""
    provider, separator, name = spec.partition(":")
    if not separator:
        raise SetupError("there is no model {spec!r}; write {forms}", spec=f"langchain:{spec}", forms=FORMS)
    openers = {"tongyi": _open_tongyi, "openai": _open_openai}
    try:
        if provider in openers:
            return openers[provider](name, access, sampling)
        return _open_any(provider, name, access, sampling)
    except JudgeError:
        raise
    except Exception as error:  # noqa: BLE001  # the errors depend on the provider's package
        why = mask(describe_setup_error(error), *find_secrets(access.environ))
        raise SetupError("langchain:{model} cannot be opened: {error}", model=spec, error=why) from None


def _open_openai(name: str, access: ServerAccess, sampling: Sampling) -> LangChainModel:
    import openai

    from judge.models.openai_batches import open_connections

    server = access.open_server(OPENAI)
    params = dict(build_sampling_params(sampling))
    # ChatOpenAI always sends it under this name.
    params["max_completion_tokens"] = params.pop("max_tokens")
    thinking = build_thinking_params(server.url, thinking=sampling.thinking)
    http = open_connections(server)
    model = init_chat_model(
        name,
        model_provider="openai",
        base_url=server.url,
        api_key=server.key or NO_KEY,
        max_retries=0,
        timeout=access.timeout,
        http_async_client=http,
        # With a proxy in the environment, the package would warn that its own clients do not use it. Or it
        # could not make the client that waits for each answer, which no call uses.
        http_socket_options=(),
        http_client=openai.DefaultHttpxClient(trust_env=False),
        extra_body=thinking or None,
        **params,
    )
    sent, timeout = {**params, **thinking}, access.timeout
    return LangChainModel(
        model, f"openai:{name}", server.endpoint, sent, timeout, http=http, secrets=server.secrets
    )


def _open_any(provider: str, name: str, access: ServerAccess, sampling: Sampling) -> LangChainModel:
    params = build_sampling_params(sampling)
    key = access.environ.get(f"{provider.upper()}_API_KEY")
    url = access.choose_url(default="") if access.base_url else ""
    optional = {"base_url": url, "api_key": key}
    options: dict[str, Any] = {option: value for option, value in optional.items() if value}
    options.update(params, max_retries=0, timeout=access.timeout)
    model = init_chat_model(name, model_provider=provider, **options)
    find_proxy(url)  # raises SetupError for one that cannot be used
    public = redact_url(url, *access.secrets)
    secrets = (*filter(None, [key]), *find_proxy_secrets(url))
    return LangChainModel(model, f"{provider}:{name}", public, params, access.timeout, secrets=secrets)


def _open_tongyi(name: str, access: ServerAccess, sampling: Sampling) -> LangChainModel:
    with warnings.catch_warnings():
        # The package warns on import that it is no longer maintained.
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.chat_models import ChatTongyi

        server = access.open_server(DASHSCOPE)
        find_proxy(server.url)  # raises SetupError for one that cannot be used
        params = {**build_sampling_params(sampling), "enable_thinking": sampling.thinking}
        # Only these are sent. The class has its own default for top_p, which None removes.
        wire_params = {"top_p": None, **params, "base_address": server.url, "request_timeout": access.timeout}
        # With the SecretStr that it declares, the class would send asterisks.
        unmasked: Any = server.key or NO_KEY
        model = ChatTongyi(model=name, api_key=unmasked, max_retries=1, model_kwargs=wire_params)
    return LangChainModel(
        model,
        f"tongyi:{name}",
        server.endpoint,
        params,
        access.timeout,
        threads=access.concurrency,
        secrets=server.secrets,
    )


def _find_error_response(error: Exception) -> error_mapping.ErrorResponse | None:
    """Return the response of the server in `error`, None when there is none."""
    match = _TONGYI_REFUSAL.search(str(error))
    if match:
        return error_mapping.ErrorResponse(int(match[1]), match[2], match[3])
    if error.args and isinstance(error.args[0], Mapping):
        return error_mapping.ErrorResponse.from_response(200, error.args[0], {})
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if not isinstance(status, int) or status < 300:
        return None
    body = getattr(error, "body", None) or str(error)
    return error_mapping.ErrorResponse.from_response(status, body, getattr(response, "headers", None) or {})
