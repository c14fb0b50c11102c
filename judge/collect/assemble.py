"""Owns making the dataset out of the journal: pure, so the same journal always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.collect.engines import EngineRequest
from judge.collect.query_file import QueryRow
from judge.collect.raw_log import RawLogEntry
from judge.collect.response_shape import read
from judge.collect.sources import ResultSource
from judge.errors import CallError
from judge.models.redaction import mask


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What is known of one engine's answer to one query: `results` down to the depth, and how long it took.

    `missing` is the call that is to be made next, None when the answer is whole.
    """

    results: tuple[Mapping[str, str], ...]
    latency_ms: float
    missing: EngineRequest | None


@dataclass(frozen=True, slots=True)
class _Page:
    """What one call brought."""

    results: Sequence[Mapping[str, str]]
    latency_ms: float


class CollectedResults:
    """What the journal says of these engines: pages and errors, the latest counts."""

    def __init__(self, sources: Iterable[ResultSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._pages: dict[tuple[str, str, EngineRequest], _Page] = {}
        self._errors: dict[tuple[str, str], str] = {}
        self._latest: dict[str, str] = {}

    def add(self, entry: RawLogEntry) -> CallError | None:
        """Takes one more call into account; gives why what came as an answer can't be read as one."""
        source = self._sources.get(entry.engine)
        if source is None:
            return None
        unreadable, error = None, entry.error
        if error is None:
            try:
                page = _Page(read(source.shape, entry.body), entry.latency_ms)
                self._pages[entry.engine, entry.query_id, entry.request] = page
            except CallError as failed:
                unreadable, error = failed, mask(str(failed), *source.secrets)
        if error is not None:
            self._errors[entry.engine, entry.query_id] = self._latest[entry.engine] = error
        return unreadable

    def page(self, engine: str, query_id: str, request: EngineRequest) -> _Page | None:
        """What `request` brought, if it was answered."""
        return self._pages.get((engine, query_id, request))

    def error(self, engine: str, query_id: str) -> str:
        """Why the engine has no answer to the query."""
        own = self._errors.get((engine, query_id))
        return own or f"not asked: {self._latest.get(engine, 'collecting ended before')}"


def hold(found: Iterable[RawLogEntry], sources: Iterable[ResultSource]) -> CollectedResults:
    """All that the journal's calls to `sources` come to."""
    held = CollectedResults(sources)
    for entry in found:
        held.add(entry)
    return held


def answer(source: ResultSource, query: QueryRow, depth: int, held: CollectedResults) -> EngineAnswer:
    """The answer of `source` to `query` as far as it is there: page after page, until one is empty."""
    results: list[Mapping[str, str]] = []
    latency = 0.0
    for request in source.requests(query.text, depth):
        page = held.page(source.name, query.id, request)
        if page is None:
            return EngineAnswer(tuple(results), latency, request)
        results += page.results
        latency += page.latency_ms
        if not page.results or len(results) >= depth:
            break
    return EngineAnswer(tuple(results[:depth]), round(latency, 1), None)


def rows(
    queries: Sequence[QueryRow], sources: Sequence[ResultSource], depth: int, held: CollectedResults
) -> Iterator[dict[str, Any]]:
    """The dataset, one row a query in the nested form, engines by name."""
    for query in queries:
        engines: dict[str, dict[str, Any]] = {}
        for source in sorted(sources, key=lambda source: source.name):
            found = answer(source, query, depth, held)
            if found.missing is not None:
                engines[source.name] = {"error": held.error(source.name, query.id)}
            else:
                engines[source.name] = {"results": list(found.results), "latency_ms": found.latency_ms}
        yield {**query.row, "engines": engines}
