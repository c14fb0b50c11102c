"""The whole collection: from a file of queries to a dataset of what engines return."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from judge.client.cancel import CancelToken
from judge.client.retry import Limits
from judge.collect.assemble import CollectedResults, CollectResult, dataset_rows, summarise_collection
from judge.collect.collector import CollectListener, Collector, EngineSession, NullCollectListener
from judge.collect.query_file import QueryRow, read_queries
from judge.collect.raw_log import RawLog, raw_log_path, read_entries
from judge.collect.registry import open_engines
from judge.collect.sources import MAX_CONCURRENT_QUERIES, ResultSource
from judge.config.collect import CollectConfig
from judge.config.environment import environment
from judge.errors import InputError, Interrupted
from judge.lock import locked
from judge.messages import Message
from judge.runs.folder import RunFolder, dump_json

#: Seconds that calls under way get after a stop is requested.
_SHUTDOWN_TIMEOUT = 5.0


def collect(
    config: CollectConfig, *, watch: CollectListener | None = None, stop: CancelToken | None = None
) -> CollectResult:
    """Request what is missing from engines and write the whole dataset from the raw log.

    Raises InputError before any request, StoreError when the log or the dataset cannot be written, and
    Interrupted after Ctrl-C: then the log is kept and the dataset is left as it was.
    """
    stop = stop or CancelToken()
    data, queries_path = Path(config.out), Path(config.queries)
    log_path = raw_log_path(data)
    with config.source.error_context("out"):
        _check_output(data, log_path, queries_path)
    config.source.check_exists("queries", queries_path)
    with config.source.error_context("queries"):
        queries = read_queries(queries_path)
    with config.source.error_context("engines", "base_urls"):
        sources = open_engines(config, environment())
    busy = Message("another judge is collecting into it; wait for it or name another --out")
    with locked(data.with_name(f".{data.name}.lock"), data, busy, Message("cannot be written")):
        results = CollectedResults(sources, read_entries(log_path))
        with RawLog(log_path) as raw_log:
            task = _Task(config, queries, sources, results, raw_log, watch or NullCollectListener())
            calls = asyncio.run(_request_missing(task, stop))
        if stop.reason is not None:
            raise stop.reason
        rows = dataset_rows(queries, sources, config.depth, results)
        RunFolder(data.parent).write(data.name, (dump_json(row) + "\n" for row in rows))
    return summarise_collection(config, calls, queries, sources, results)


@dataclass(frozen=True, slots=True)
class _Task:
    """The objects of one collection."""

    config: CollectConfig
    queries: Sequence[QueryRow]
    sources: Sequence[ResultSource]
    results: CollectedResults
    raw_log: RawLog
    listener: CollectListener


def _check_output(data: Path, log_path: Path, queries: Path) -> None:
    """Raise InputError when the dataset would replace another file."""
    if data.suffix != ".jsonl":
        raise InputError("--out is {file!r}; a dataset of judge collect is called NAME.jsonl", file=str(data))
    if data.resolve() == queries.resolve():
        raise InputError("{data}: is the file of queries; name another --out", data=data)
    if data.exists() and not log_path.exists():
        raise InputError(
            "{data}: exists, but not from judge collect (no {log}); name another --out",
            data=data,
            log=log_path.name,
        )


async def _request_missing(task: _Task, stop: CancelToken) -> int:
    """Request everything that is missing and return the number of calls; a stop ends it gracefully."""
    config = task.config
    limits = Limits(MAX_CONCURRENT_QUERIES, config.attempts, config.max_wait, _SHUTDOWN_TIMEOUT)
    engines = [EngineSession(source, config.rate, stop) for source in task.sources]
    # Bodies are unpacked with a limit on their size (`judge.models.bodies`).
    connections = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=config.timeout),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )
    async with connections as http:
        collector = Collector(task.raw_log, task.results, limits, config.depth, stop, http, task.listener)
        with stop.handle_signals():
            work = asyncio.ensure_future(collector.collect(task.queries, engines))
            await _wait_until_done(work, stop)
    if isinstance(stop.reason, Interrupted):
        raise Interrupted("interrupted; every answer so far is kept, and the same command resumes")
    return collector.calls


async def _wait_until_done(work: asyncio.Future[None], stop: CancelToken) -> None:
    """Wait for the work; once a stop is requested, no longer than the shutdown timeout."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not work.done():
        forcing = asyncio.ensure_future(stop.wait_for_force(_SHUTDOWN_TIMEOUT))
        await asyncio.wait({work, forcing}, return_when=asyncio.FIRST_COMPLETED)
        forcing.cancel()
        work.cancel()
    with suppress(asyncio.CancelledError):
        await work
