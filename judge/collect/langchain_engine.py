"""Owns asking through LangChain: any retriever, search tool or wrapper that keeps the engine's order."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from judge.collect.engines import EngineRequest, setting
from judge.collect.response_shape import ResponseShape
from judge.collect.sources import MASKED_FROM, Response, without
from judge.collect.threads import run_blocking
from judge.errors import InputError, RequestRejected, SetupError
from judge.models.error_mapping import transport
from judge.models.redaction import mask
from judge.runs.folder import dump_json

#: Where names that need no path come from.
_SHORT = {
    "BingSearchAPIWrapper": "langchain_community.utilities",
    "BraveSearchWrapper": "langchain_community.utilities",
    "GoogleSerperAPIWrapper": "langchain_community.utilities",
    "MojeekSearchAPIWrapper": "langchain_community.utilities",
    "WikipediaRetriever": "langchain_community.retrievers",
    "YouRetriever": "langchain_community.retrievers",
    "TavilySearch": "langchain_tavily",
    "ExaSearchRetriever": "langchain_exa",
}
#: The environment variables that hold their keys.
KEYS = {
    "BingSearchAPIWrapper": "BING_SUBSCRIPTION_KEY",
    "BraveSearchWrapper": "BRAVE_SEARCH_API_KEY",
    "GoogleSerperAPIWrapper": "SERPER_API_KEY",
    "YouRetriever": "YDC_API_KEY",
    "TavilySearch": "TAVILY_API_KEY",
    "ExaSearchRetriever": "EXA_API_KEY",
    "JinaSearchAPIWrapper": "JINA_API_KEY",
    "SearchApiAPIWrapper": "SEARCHAPI_API_KEY",
}
_OWN_API = "so its order measures no engine; ask an engine's own API"
#: Parts of names of what is refused, with the reason and the alternative.
_REFUSED = {
    **dict.fromkeys(
        ("duckduckgo", "ddgs"),
        "it sorts results on this machine before it gives them (Wikipedia first, then by matching words),"
        f" {_OWN_API}",
    ),
    **dict.fromkeys(("rerank", "compression"), f"it sorts or drops results on this machine, {_OWN_API}"),
    **dict.fromkeys(
        ("ensemble", "merger", "multiquery"), f"it mixes the results of several searches, {_OWN_API}"
    ),
}
#: The same for classes of langchain-community that hide errors, each measured in the tests.
_HIDE_ERRORS = {
    "searx": "it drops the list of engines that did not answer, so an outage looks like an empty answer and"
    " scores 0; use --engine searxng",
    "arxiv": "it turns an error into a result or into an empty answer; describe the service as an engine of"
    " your own, http:NAME, or write a class that raises",
    "breebs": "it gives an empty answer when the server fails with a JSON body, which scores 0; describe the"
    " service as an engine of your own, http:NAME",
}
#: Classes that give an empty list for an answer without results and also for an error that the server sends
#: with HTTP 200; with each what tells both apart.
_EMPTY_OR_ERROR = {
    "BingSearchAPIWrapper": "--engine bing",
    "BraveSearchWrapper": "--engine brave",
    "MojeekSearchAPIWrapper": "an engine of your own, http:NAME, with `proof`",
    "JinaSearchAPIWrapper": "an engine of your own, http:NAME, with `proof`",
}
_SHAPE = ResponseShape(
    results="results",
    proof="results",
    title=("title", "name"),
    url=("url", "link", "href", "source"),
    snippet=("snippet", "content", "page_content", "body", "description", "desc", "text"),
    date=("date", "published_date", "publishedDate"),
)
#: Names of options and environment variables that hold keys.
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)
#: What wrappers call the number of results that they give.
_COUNTS = ("k", "top_k", "top_k_results", "max_results", "num_results", "count", "n_hits")


class LangChainEngine:
    """A retriever, search tool or search wrapper behind the seam of `Source`.

    `spec` is a known class name, or `package.module:Class`; `options` go to its constructor. It may take
    keys from `environ`, too. Raises SetupError when it can't be made, InputError when it sorts results
    anew.
    """

    def __init__(
        self, spec: str, options: Mapping[str, Any], timeout: float, environ: Mapping[str, str]
    ) -> None:
        module, _, cls = spec.rpartition(":")
        if module:
            _add_working_folder()
        self.name = cls
        self.shape = _SHAPE
        self.hint = ""
        named = [*_keys(options), *filter(_is_long, _keys(environ))]
        long = (value for value in options.values() if isinstance(value, str) and _is_long(value))
        self.secrets = tuple(dict.fromkeys((*named, *long)))
        self._keys = named
        self._spec = spec
        self._setting = setting({name: value for name, value in options.items() if not _SECRET.search(name)})
        self._timeout = timeout
        self._wrapped = _made(module or _SHORT.get(cls, ""), cls, options, self.secrets)
        self.most = _most(self._wrapped)
        parents = (parent.__name__ for parent in type(self._wrapped).__mro__)
        self._instead = next((_EMPTY_OR_ERROR[name] for name in parents if name in _EMPTY_OR_ERROR), "")

    def requests(self, query: str, depth: int) -> list[EngineRequest]:
        """The one call that a wrapper takes."""
        asked = dump_json({"query": query, "count": depth})
        return [EngineRequest("langchain", self._spec, asked, self._setting)]

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """What the wrapper gives; whatever it raises is a fault that may pass, for it has no common words.

        Raises Declined for an empty list of a wrapper that gives one for an error, too.
        """
        asked = json.loads(request.body)
        call = partial(_ask, self._wrapped, asked["query"], asked["count"])
        outcome = await run_blocking(call, self._timeout)
        if isinstance(outcome, BaseException):
            raise transport(f"{type(outcome).__name__}: {outcome}", *self.secrets)
        if self._instead and not json.loads(outcome)["results"]:
            raise RequestRejected(
                "no_results",
                f"{self.name} gives the same empty list for an answer without results and for an error of the"
                f" server, so this answer is unknown; use {self._instead}",
            )
        return Response(200, without(self._keys, outcome), {})


def _keys(table: Mapping[str, Any]) -> Iterable[str]:
    """What stands in the table under the name of a key."""
    return (value for name, value in table.items() if isinstance(value, str) and _SECRET.search(name))


def _is_long(text: str) -> bool:
    return len(text) >= MASKED_FROM


def _most(wrapped: Any) -> int | None:  # noqa: ANN401 - any class of any package
    """How many results the wrapper gives whatever it is asked for, None where that isn't known."""
    if not hasattr(wrapped, "invoke") and hasattr(wrapped, "results") and _takes_count(wrapped):
        return None
    passed_on = getattr(wrapped, "search_kwargs", None)
    inner = passed_on if isinstance(passed_on, Mapping) else {}
    counts = (inner.get(name, getattr(wrapped, name, None)) for name in _COUNTS)
    return next((count for count in counts if isinstance(count, int)), None)


def _made(module: str, cls: str, options: Mapping[str, Any], secrets: tuple[str, ...]) -> Any:  # noqa: ANN401 - any class
    _refuse(cls, module, cls)
    if not module:
        raise InputError(
            f"langchain:{cls} is not known by name; write langchain:package.module:Class, or one of"
            f" {', '.join(_SHORT)}"
        )
    try:
        with warnings.catch_warnings():
            # The community's package says on import that it is no longer maintained.
            warnings.simplefilter("ignore", DeprecationWarning)
            importlib.import_module("langsmith")  # or the first call would take as long as this
            made = getattr(importlib.import_module(module), cls)
            for parent in getattr(made, "__mro__", ()):
                _refuse(cls, parent.__module__, parent.__name__)
            return made(**options)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        why = " ".join(mask(_why(error), *secrets).split())
        raise SetupError(
            f"langchain:{cls} cannot be made from {module!r}: {why:.200}"
            " (pip install 'search-judge[langchain]' and its package; options:"
            f" [collect.engines.{cls}.options])"
        ) from None


def _refuse(named: str, module: str, cls: str) -> None:
    """Raise InputError when `module.cls`, the class `named` or a parent of it, can be no engine."""
    full = f"{module}.{cls}".lower()
    refused = _REFUSED
    if module.partition(".")[0] in ("", "langchain_community"):
        refused = _REFUSED | _HIDE_ERRORS
    for word, why in refused.items():
        if word in full:
            raise InputError(f"langchain:{named} is refused: {why}")


def _add_working_folder() -> None:
    """Make modules of the working folder importable, as `python -m` does, unless Python runs with -P."""
    here = str(Path.cwd())
    if not sys.flags.safe_path and here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _why(error: Exception) -> str:
    """What is wrong; of pydantic's error without the values that it was given, which may be keys."""
    if not isinstance(error, ValueError) or not hasattr(error, "errors"):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())


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
    return dump_json({"results": _listed(found)})


def _results(wrapped: Any, query: str, count: int) -> Any:  # noqa: ANN401 - any class of any package
    """Wrappers take the number of results beside the query, or have it as an option of their own."""
    return wrapped.results(query, num_results=count) if _takes_count(wrapped) else wrapped.results(query)


def _takes_count(wrapped: Any) -> bool:  # noqa: ANN401 - any class of any package
    return "num_results" in inspect.signature(wrapped.results).parameters


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
