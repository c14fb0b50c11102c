"""Fake engines: a real HTTP server on loopback with the wire format of every supported engine.

    with EngineServer(lambda request: Page([("Title", "https://a.example", "a <b>snippet</b>")])) as server:
        ...  # --base-url NAME=server.url

The path and the method of a request decide which wire the server uses, because those of the APIs differ.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.server_thread import ThreadedServer

#: Title, address, snippet.
Result = tuple[str, str, str]
DATE = "2026-11-19"


@dataclass(frozen=True)
class SearchRequest:
    """A search request: its engine and query, and the number of its `attempt`, from 1.

    `sent` is the query string or the JSON body.
    """

    engine: str
    query: str
    sent: Mapping[str, Any]
    headers: Mapping[str, str]
    attempt: int
    at: float


@dataclass(frozen=True)
class Page:
    """The response of an engine: `results` in its own wire, unless `body` replaces all of it."""

    results: Sequence[Result] = ()
    status: int = 200
    body: str | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


class EngineServer(ThreadedServer):
    """Every engine on 127.0.0.1, in a thread of its own; `make_page` runs in that thread.

    No page is sent before `least` requests have come.
    """

    def __init__(self, make_page: Callable[[SearchRequest], Page], least: int = 0) -> None:
        super().__init__()
        self._least, self._has_least = least, asyncio.Event()
        self.searched: list[SearchRequest] = []
        self._make_page = make_page
        self._attempts: Counter[tuple[str, str]] = Counter()

    def select_requests(self, engine: str) -> list[SearchRequest]:
        """Return the requests to one engine."""
        return [each for each in self.searched if each.engine == engine]

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        sent = json.loads(raw) if raw else dict(request.query)
        engine = _find_engine(request, sent)
        query = str(sent.get("q", sent.get("query", "")))
        self._attempts[engine, query] += 1
        at = time.monotonic()
        search_request = SearchRequest(
            engine, query, sent, dict(request.headers), self._attempts[engine, query], at
        )
        self.searched.append(search_request)
        page = self._make_page(search_request)
        if len(self.searched) >= self._least:
            self._has_least.set()
        await self._has_least.wait()
        if page.delay:
            await asyncio.sleep(page.delay)
        body = json.dumps(render_page(engine, page.results)) if page.body is None else page.body
        headers = {"content-type": "application/json", **page.headers}
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=page.status, headers=headers)


_IQS_TYPES = {"Generic": "-generic", "GenericAdvanced": "-generic-advanced"}


def _find_engine(request: web.BaseRequest, sent: Mapping[str, Any]) -> str:
    """Return the engine of a request."""
    paths = {
        "/res/v1/web/search": "brave",
        "/v7.0/search": "bing",
        "/search/unified": "aliyun-iqs",
        "/v1/web-search": "bocha",
    }
    if request.path in paths:
        return paths[request.path] + _IQS_TYPES.get(str(sent.get("engineType")), "")
    if request.path == "/search.json":
        return f"serpapi-{sent['engine']}"
    if request.path != "/search":
        return "mine"
    if request.method == "GET":
        return "searxng"
    return "serper" if "q" in sent else "exa" if "numResults" in sent else "tavily"


Rows = list[dict[str, Any]]


def render_page(engine: str, results: Sequence[Result]) -> dict[str, Any]:
    """Return a successful response in the format of `engine` (some have fewer fields without results)."""
    family = next((name for name in ("serpapi", "aliyun-iqs") if engine.startswith(name)), engine)
    names, envelope = _WIRES[family]
    rows = [{"title": title, "url": url, "snippet": text, "date": DATE} for title, url, text in results]
    return envelope([{names.get(key, key): value for key, value in row.items()} for row in rows])


def _make_searxng_body(rows: Rows) -> dict[str, Any]:
    result = [{**row, "engines": ["loopback"], "category": "general"} for row in rows]
    return {"query": "q", "number_of_results": 0, "results": result, "unresponsive_engines": []}


def _make_brave_body(rows: Rows) -> dict[str, Any]:
    result = {"web": {"type": "search", "results": rows}} if rows else {}
    return {"type": "search", "query": {"original": "q"}, **result}


def _make_bing_body(rows: Rows) -> dict[str, Any]:
    return {"_type": "SearchResponse", "queryContext": {}, **({"webPages": {"value": rows}} if rows else {})}


def _make_serpapi_body(rows: Rows) -> dict[str, Any]:
    none = {"error": "Google hasn't returned any results for this query."}
    return {"search_metadata": {"status": "Success"}, **({"organic_results": rows} if rows else none)}


def _make_exa_body(rows: Rows) -> dict[str, Any]:
    return {"requestId": "r", "results": [{**row, "highlights": [row["highlights"]]} for row in rows]}


def _make_bocha_body(rows: Rows) -> dict[str, Any]:
    return {"code": 200, "log_id": "l", "msg": None, "data": {"webPages": {"value": rows}}}


#: The names of a result's fields in each API, and the function that builds the response around the rows.
_WIRES: Mapping[str, tuple[Mapping[str, str], Callable[[Rows], dict[str, Any]]]] = {
    "searxng": (
        {"snippet": "content", "date": "publishedDate"},
        _make_searxng_body,
    ),
    "brave": ({"snippet": "description", "date": "page_age"}, _make_brave_body),
    "bing": ({"title": "name", "date": "datePublished"}, _make_bing_body),
    "serper": ({"url": "link"}, lambda rows: {"searchParameters": {"q": "q"}, "organic": rows}),
    "serpapi": ({"url": "link"}, _make_serpapi_body),
    "tavily": (
        {"snippet": "content", "date": "published_date"},
        lambda rows: {"query": "q", "results": rows},
    ),
    "exa": ({"snippet": "highlights", "date": "publishedDate"}, _make_exa_body),
    "aliyun-iqs": (
        {"url": "link", "date": "publishedTime"},
        lambda rows: {"requestId": "r", "pageItems": rows},
    ),
    "bocha": ({"title": "name", "date": "datePublished"}, _make_bocha_body),
    "mine": ({"title": "name", "url": "href", "snippet": "text"}, lambda rows: {"data": {"items": rows}}),
}
