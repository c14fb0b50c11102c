"""Owns asking through LangChain: any retriever, search tool or wrapper that keeps the engine's order."""

from __future__ import annotations

import asyncio
import importlib
import json
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import aiohttp

from judge.collect.engines import Request
from judge.collect.shape import Shape
from judge.collect.sources import AT_ONCE, Response
from judge.errors import InputError, SetupError
from judge.models.faults import transport
from judge.report.rundir import dump

#: Where names that need no path come from.
_SHORT = {
    "SearxSearchWrapper": "langchain_community.utilities",
    "BingSearchAPIWrapper": "langchain_community.utilities",
    "BraveSearchWrapper": "langchain_community.utilities",
    "GoogleSerperAPIWrapper": "langchain_community.utilities",
    "MojeekSearchAPIWrapper": "langchain_community.utilities",
    "WikipediaRetriever": "langchain_community.retrievers",
    "YouRetriever": "langchain_community.retrievers",
    "TavilySearch": "langchain_tavily",
    "ExaSearchRetriever": "langchain_exa",
}
#: Parts of names whose order is no engine's, with the reason.
_NO_ENGINE = {
    **dict.fromkeys(
        ("duckduckgo", "ddgs"),
        "it sorts results on this machine before it gives them (Wikipedia first, then by matching words)",
    ),
    **dict.fromkeys(("rerank", "compression"), "it sorts or drops results on this machine"),
    **dict.fromkeys(("ensemble", "merger", "multiquery"), "it mixes the results of several searches"),
}
_SHAPE = Shape(
    results="results",
    proof="results",
    title=("title", "name"),
    url=("url", "link", "href", "source"),
    snippet=("snippet", "content", "page_content", "body", "description", "desc", "text"),
    date=("date", "published_date", "publishedDate"),
)


class LangChain:
    """A retriever, search tool or search wrapper behind the seam of `Source`.

    `spec` is a known class name, or `package.module:Class`; `options` go to its constructor. Raises
    SetupError when it can't be made, InputError when it sorts results anew.
    """

    def __init__(self, spec: str, options: Mapping[str, Any], timeout: float) -> None:
        module, _, cls = spec.rpartition(":")
        self.name = cls
        self.shape = _SHAPE
        self.hint = ""
        self.secrets = tuple(
            value for value in options.values() if isinstance(value, str) and len(value) > 15
        )
        self._spec = spec
        self._timeout = timeout
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=cls)
        self._wrapped = _made(module or _SHORT.get(cls, ""), cls, options)

    def requests(self, query: str, depth: int) -> list[Request]:
        """The one call that a wrapper takes."""
        return [Request("langchain", self._spec, dump({"query": query, "count": depth}))]

    async def fetch(self, request: Request, session: aiohttp.ClientSession) -> Response:
        """What the wrapper gives; whatever it raises is a fault that may pass, for it has no common words."""
        asked = json.loads(request.body)
        run = copy_context().run
        calling = asyncio.get_running_loop().run_in_executor(
            self._pool, run, _ask, self._wrapped, asked["query"], asked["count"]
        )
        # What a call may raise is known to the wrapper only: an outcome, not an except clause.
        [outcome] = await asyncio.gather(asyncio.wait_for(calling, self._timeout), return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError):
            raise outcome
        if isinstance(outcome, BaseException):
            raise transport(f"{type(outcome).__name__}: {outcome}", *self.secrets, billed=True)
        return Response(200, outcome, {})


def _made(module: str, cls: str, options: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any class of any package
    for word, why in _NO_ENGINE.items():
        if word in f"{module}.{cls}".lower():
            raise InputError(
                f"langchain:{cls} is refused: {why}, so its order measures no engine; ask an engine's own API"
            )
    if not module:
        raise InputError(
            f"langchain:{cls} is not known by name; write langchain:package.module:Class, or one of"
            f" {', '.join(_SHORT)}"
        )
    try:
        with warnings.catch_warnings():
            # The community's package says on import that it is no longer maintained.
            warnings.simplefilter("ignore", DeprecationWarning)
            return getattr(importlib.import_module(module), cls)(**options)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SetupError(
            f"langchain:{cls} cannot be made from {module!r}: {' '.join(str(error).split()):.200}"
            f" (pip install 'judge[langchain]' and its package; options: [collect.engines.{cls}.options])"
        ) from None


def _ask(wrapped: Any, query: str, count: int) -> str:  # noqa: ANN401 - any class of any package
    """The wrapper's results as JSON text, in its order."""
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        if hasattr(wrapped, "invoke"):
            found = wrapped.invoke({"query": query} if hasattr(wrapped, "args_schema") else query)
        elif hasattr(wrapped, "results"):
            found = _results(wrapped, query, count)
        else:
            found = wrapped.run(query)
    return dump({"results": _listed(found)})


def _results(wrapped: Any, query: str, count: int) -> Any:  # noqa: ANN401 - any class of any package
    """Wrappers take the number of results beside the query, or have it as an option of their own."""
    import inspect

    takes_count = "num_results" in inspect.signature(wrapped.results).parameters
    return wrapped.results(query, num_results=count) if takes_count else wrapped.results(query)


def _listed(found: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any class of any package
    """The list of results in what a wrapper gave; raises ValueError when there is none."""
    if isinstance(found, str):
        found = json.loads(found)
    if isinstance(found, Mapping):
        held = [name for name in ("results", "organic", "organic_results") if name in found]
        found = found[held[0]] if held else found
    if not isinstance(found, list):
        raise ValueError(f"no list of results in {found!r:.120}")
    return [_result(each) for each in found if not _says_nothing(each)]


def _says_nothing(result: Any) -> bool:  # noqa: ANN401 - any class of any package
    """Whether a wrapper says with a result that there is none."""
    return isinstance(result, Mapping) and list(result) == ["Result"]


def _result(given: Any) -> dict[str, Any]:  # noqa: ANN401 - any class of any package
    if isinstance(given, str):
        return {"snippet": given}
    if isinstance(given, Mapping):
        return _simple(given)
    return {**_simple(given.metadata), "snippet": given.page_content}


def _simple(given: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in given.items() if isinstance(value, str | int | float)}
