"""Engines through LangChain: retrievers, search tools and wrappers that keep the engine's order."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from judge.collect.engines import (
    MIN_MASKED_LENGTH,
    SECRET_NAME,
    EngineRequest,
    Response,
    hash_settings,
    iter_texts,
    remove_secrets,
)
from judge.collect.responses import ResponseShape
from judge.config.toml_file import TomlTable
from judge.errors import InputError, JudgeError, RequestRejected, SetupError, advise_install
from judge.files.json_text import dump_json
from judge.messages import Message, SeparatedNames, cut_value
from judge.models.error_mapping import make_transport_error
from judge.models.redaction import describe_setup_error, mask

if TYPE_CHECKING:
    import aiohttp


class KnownClass(NamedTuple):
    """A class of LangChain: its module, "" where the user names it, and the variable of its key.

    A class that `hides_errors` returns an empty list both for an answer without results and for an error with
    HTTP 200.
    """

    module: str = ""
    key: str = ""
    hides_errors: bool = False


_WRAPPERS, _RETRIEVERS = "langchain_community.utilities", "langchain_community.retrievers"
KNOWN_CLASSES = {
    "BingSearchAPIWrapper": KnownClass(_WRAPPERS, "BING_SUBSCRIPTION_KEY", hides_errors=True),
    "BraveSearchWrapper": KnownClass(_WRAPPERS, "BRAVE_SEARCH_API_KEY", hides_errors=True),
    "GoogleSerperAPIWrapper": KnownClass(_WRAPPERS, "SERPER_API_KEY"),
    "MojeekSearchAPIWrapper": KnownClass(_WRAPPERS, hides_errors=True),
    "WikipediaRetriever": KnownClass(_RETRIEVERS),
    "YouRetriever": KnownClass(_RETRIEVERS, "YDC_API_KEY"),
    "TavilySearch": KnownClass("langchain_tavily", "TAVILY_API_KEY"),
    "ExaSearchRetriever": KnownClass("langchain_exa", "EXA_API_KEY"),
    "JinaSearchAPIWrapper": KnownClass(key="JINA_API_KEY", hides_errors=True),
    "SearchApiAPIWrapper": KnownClass(key="SEARCHAPI_API_KEY"),
}
#: The fields of a result that hold text or a number.
_Result = dict[str, str | int | float]
#: Parts of the names of classes that sort or drop results on this machine, or mix those of several searches.
_REORDER = ("duckduckgo", "ddgs", "rerank", "compression", "ensemble", "merger", "multiquery")
#: Those of classes of langchain-community whose results do not show an outage, each measured in the tests.
_HIDE_ERRORS = ("searx", "arxiv", "breebs")


class LangChainEngine:
    """A retriever, search tool or search wrapper as a `ResultSource`.

    `spec` is a known class name, or `package.module:Class`; `options` go to its constructor, which may also
    take keys from `environ`. Raises SetupError when it cannot be constructed, InputError when it reorders
    results.
    """

    shape = ResponseShape(
        results="results",
        proof="results",
        title=("title", "name"),
        url=("url", "link", "href", "source"),
        snippet=("snippet", "content", "page_content", "body", "description", "desc", "text"),
        date=("date", "published_date", "publishedDate"),
    )
    hint = table = ""

    def __init__(self, spec: str, options: TomlTable, timeout: float, environ: Mapping[str, str]) -> None:
        module, _, class_name = spec.rpartition(":")
        here = str(Path.cwd())
        # Modules of the working folder can be imported, as `python -m` does, unless Python runs with -P.
        if module and not sys.flags.safe_path and here not in sys.path and "" not in sys.path:
            sys.path.insert(0, here)
        self.name = class_name
        self.depth_advice: str = Message("the options in [collect.engines.{name}.options]", name=class_name)
        texts = list(iter_texts(options))
        keys = [text for name, text in texts if SECRET_NAME.search(name)]
        keys += [text for name, text in environ.items() if SECRET_NAME.search(name) and _is_long(text)]
        long = (text for _, text in texts if _is_long(text))
        self.secrets = tuple(dict.fromkeys((*keys, *long)))
        self._keys = keys
        self._spec = spec
        self._setting = hash_settings(
            {name: value for name, value in options.items() if not SECRET_NAME.search(name)}
        )
        self._timeout = timeout
        known_class = KNOWN_CLASSES.get(class_name, KnownClass())
        self._wrapped = _construct(module or known_class.module, class_name, options, self.secrets)
        parents = (parent.__name__ for parent in type(self._wrapped).__mro__)
        self._hides_errors = any(KNOWN_CLASSES.get(parent, KnownClass()).hides_errors for parent in parents)

    def make_requests(self, query: str, depth: int) -> list[EngineRequest]:
        """Return the only call: wrappers have no second page."""
        body = dump_json({"query": query, "count": depth})
        return [EngineRequest("langchain", self._spec, body, self._setting)]

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """Return the wrapper's results; raise RetryableError for any exception of the wrapper.

        Raises RequestRejected for an empty list of a wrapper that returns one for errors, too.
        """
        body = json.loads(request.body)
        search = partial(_search, self._wrapped, body["query"], body["count"])
        outcome = await _run_blocking(search, self._timeout)
        if isinstance(outcome, BaseException):
            raise make_transport_error(f"{type(outcome).__name__}: {outcome}", *self.secrets)
        if self._hides_errors and not json.loads(outcome)["results"]:
            raise RequestRejected(
                "no_results",
                f"{self.name} gives the same empty list for an answer without results and for an error of the"
                " server, so this answer is unknown; use bing, brave or an engine of your own, http:NAME,"
                " with `proof`",
            )
        return Response(200, remove_secrets(self._keys, outcome), {})


def _is_long(text: str) -> bool:
    return len(text) >= MIN_MASKED_LENGTH


def _construct(module: str, class_name: str, options: TomlTable, secrets: tuple[str, ...]) -> Any:  # noqa: ANN401 - any class
    _check_allowed(class_name, module, class_name)
    if not module:
        raise InputError(
            "langchain:{name} is not known by name; write langchain:package.module:Class, or one of {names}",
            name=class_name,
            names=SeparatedNames(name for name, known_class in KNOWN_CLASSES.items() if known_class.module),
        )
    try:
        with warnings.catch_warnings():
            # langchain-community warns on import that it is no longer maintained.
            warnings.simplefilter("ignore", DeprecationWarning)
            # This import is slow; without this line, the first calls would make it, all at once.
            importlib.import_module("langsmith.run_helpers")
            constructor = getattr(importlib.import_module(module), class_name)
            for parent in getattr(constructor, "__mro__", ()):
                _check_allowed(class_name, parent.__module__, parent.__name__)
            return constructor(**options)
    except JudgeError:
        raise
    except Exception as error:  # noqa: BLE001  # the errors depend on the class and its package
        why = " ".join(mask(describe_setup_error(error), *secrets).split())
        raise SetupError(
            "langchain:{name} cannot be made from {module!r}: {why:.200}; check its options in"
            " [collect.engines.{name}.options], and install its package and an extra: {command}",
            name=class_name,
            module=module,
            why=why,
            command=advise_install("langchain"),
        ) from None


def _check_allowed(name: str, module: str, class_name: str) -> None:
    """Raise InputError when `module.class_name`, the class `name` or a parent of it, can be no engine."""
    full = f"{module}.{class_name}".lower()
    if any(word in full for word in _REORDER):
        raise InputError(
            "langchain:{name} is refused: it sorts, drops or mixes results on this machine, so its order"
            " measures no engine; use an engine's own API",
            name=name,
        )
    is_community = module.partition(".")[0] in ("", "langchain_community")
    if is_community and any(word in full for word in _HIDE_ERRORS):
        raise InputError(
            "langchain:{name} is refused: its results are the same for an outage and an empty answer, which"
            " scores 0; use the engine searxng, or describe the service as an engine of your own, http:NAME",
            name=name,
        )


def _search(tool: Any, query: str, count: int) -> str:  # noqa: ANN401 - any class of any package
    """Return the wrapper's results as JSON text, in its order."""
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        if hasattr(tool, "invoke"):
            output = tool.invoke({"query": query} if hasattr(tool, "args_schema") else query)
        elif not hasattr(tool, "results"):
            output = tool.run(query)
        elif "num_results" in inspect.signature(tool.results).parameters:
            output = tool.results(query, num_results=count)
        else:
            output = tool.results(query)
    return dump_json({"results": _parse_results(output)})


def _parse_results(output: Any) -> list[_Result]:  # noqa: ANN401 - any class of any package
    """Return the list of results in a wrapper's answer; raise ValueError when there is none."""
    if isinstance(output, str):
        output = json.loads(output)
    if isinstance(output, Mapping):
        names = [name for name in ("results", "organic", "organic_results") if name in output]
        output = output[names[0]] if names else output
    if not isinstance(output, list):
        raise ValueError(f"no list of results in {cut_value(repr(output), 120)}")
    # Some wrappers return a single item {"Result": "No good … was found"} for no results.
    return [
        _parse_result(item) for item in output if not (isinstance(item, Mapping) and list(item) == ["Result"])
    ]


def _parse_result(item: Any) -> _Result:  # noqa: ANN401 - any class of any package
    if isinstance(item, str):
        return {"snippet": item}
    fields = item if isinstance(item, Mapping) else {**item.metadata, "snippet": item.page_content}
    return {str(name): value for name, value in fields.items() if isinstance(value, str | int | float)}


async def _run_blocking(function: Callable[[], str], seconds: float) -> str | BaseException:
    """Return the result of `function` in a daemon thread, or its exception; TimeoutError after `seconds`.

    The errors depend on the called package, so an exception is a value here. A call that takes too long
    continues in its thread, for which the process does not wait when it exits.
    """
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()  # from here on a cancelled waiter does not cancel the call

    def resolve() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - the caller gets every exception as a value
            future.set_exception(error)

    Thread(target=copy_context().run, args=(resolve,), daemon=True).start()
    waiter = asyncio.wrap_future(future)
    try:
        await asyncio.wait({waiter}, timeout=seconds)
        if not waiter.done():
            return TimeoutError(f"no answer within {seconds:g} s")
        return waiter.exception() or waiter.result()
    finally:
        waiter.cancel()
