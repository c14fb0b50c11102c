"""The whole collection: from a file of queries to a dataset of what engines return.

A query goes to all engines together, at a limited rate, so that they are compared at the same time. An engine
that refuses every request, or fails many times in a row, gets no more queries; the others continue.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from judge.client.cancel import Cancelled, CancelToken
from judge.client.progress import ProgressListener
from judge.client.retry import RequestLimits, make_retry_policy
from judge.collect.engines import MAX_CONCURRENT_QUERIES, EngineRequest, Response, ResultSource
from judge.collect.query_file import QueryRow, read_query_file
from judge.collect.raw_log import (
    CollectedResults,
    CollectResult,
    RawLog,
    RawLogEntry,
    make_raw_log_path,
    read_raw_log,
    summarise_collection,
)
from judge.collect.registry import open_engines
from judge.collect.responses import classify_response, parse_json_body
from judge.config.collect import CollectConfig
from judge.config.environment import copy_environment
from judge.errors import AccountError, CallError, InputError, Interrupted, RetryableError, StoreError
from judge.files.filesystem import hold_lock
from judge.files.json_text import dump_json
from judge.messages import Message
from judge.runs.folder import RunFolder

#: An engine that failed on this many queries in a row is taken to be down.
_MAX_CONSECUTIVE_FAILURES = 10
#: Errors that a firewall returns for one query that it takes for an attack; two in a row mean the engine.
_ERRORS_OF_ONE_QUERY = frozenset({"auth", "not_found"})
#: The shortest pause in seconds after a throttled request.
_MIN_PAUSE = 1.0
#: Characters that cannot be read in a refusal that is not text in its charset; error codes are ASCII.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
#: Seconds that calls in flight get after the collection is cancelled.
_SHUTDOWN_TIMEOUT = 5.0


def collect(
    config: CollectConfig,
    *,
    progress: ProgressListener | None = None,
    cancel_token: CancelToken | None = None,
) -> CollectResult:
    """Request what is missing from engines and write the whole dataset from the raw log.

    Raises InputError before any request, and StoreError when the log or the dataset cannot be written. Raises
    Interrupted after Ctrl-C: then the log is kept and the dataset does not change.
    """
    cancel_token = cancel_token or CancelToken()
    data, queries_path = Path(config.out), Path(config.queries)
    warnings: list[str] = []
    with config.source.add_error_context("out"):
        log_path = _find_log(data, queries_path)
    config.source.check_exists("queries", queries_path)
    with config.source.add_error_context("queries"):
        queries = read_query_file(queries_path, warnings.append)
    with config.source.add_error_context("engines", "base_urls"):
        sources = open_engines(config, copy_environment())
    busy = Message("another judge process is writing to it; wait for it or name another --out")
    lock = hold_lock(data.with_name(f".{data.name}.lock"), data, busy, Message("cannot be written"))
    with config.source.add_error_context("out"), lock:
        results = CollectedResults(sources, queries, config.depth, read_raw_log(log_path))
        raw_log, progress = RawLog(log_path), progress or ProgressListener()
        calls = asyncio.run(_request_missing(config, results, raw_log, progress, cancel_token))
        if cancel_token.reason is not None:
            raise cancel_token.reason
        RunFolder(data.parent).write(data.name, (dump_json(row) + "\n" for row in results.make_rows()))
    return summarise_collection(data, calls, results, warnings)


def _find_log(data: Path, queries: Path) -> Path:
    """Return the path of the raw log; raise InputError when the dataset would replace another file."""
    if data.suffix != ".jsonl":
        raise InputError("--out is {file!r}; a dataset of judge collect is called NAME.jsonl", file=str(data))
    if data.resolve() == queries.resolve():
        raise InputError("{data}: is the file of queries; name another --out", data=data)
    log_path = make_raw_log_path(data)
    if data.exists() and not log_path.exists():
        raise InputError(
            "{data}: exists, but judge collect did not write it (there is no {log}); name another --out",
            data=data,
            log=log_path.name,
        )
    return log_path


async def _request_missing(
    config: CollectConfig,
    results: CollectedResults,
    raw_log: RawLog,
    progress: ProgressListener,
    cancel_token: CancelToken,
) -> int:
    """Request everything that is missing and return the number of calls; cancelling ends it gracefully."""
    limits = RequestLimits(MAX_CONCURRENT_QUERIES, config.attempts, config.max_wait, _SHUTDOWN_TIMEOUT)
    engines = [EngineSession(source, config.rate, cancel_token) for source in results.sources]
    for engine in engines:
        tally = results.tally(engine.source)
        wrong_fields = tally.unreadable if tally.keys is None and not tally.answered else 0
        engine.closed = wrong_fields >= _MAX_CONSECUTIVE_FAILURES
    # Bodies are unpacked with a limit on their size (`read_body`).
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=config.timeout),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    ) as http:
        collector = Collector(raw_log, results, limits, cancel_token, http, progress)
        async with cancel_token.handle_signals():
            await _wait_until_done(asyncio.ensure_future(collector.collect(engines)), cancel_token)
    if isinstance(cancel_token.reason, Interrupted):
        raise Interrupted("interrupted; all answers are saved; run the same command again to continue")
    return collector.calls


async def _wait_until_done(work: asyncio.Future[None], cancel_token: CancelToken) -> None:
    """Wait for the work; once it is cancelled, no longer than the shutdown timeout."""

    async def end_work() -> None:
        await cancel_token.wait()
        await cancel_token.wait_for_force(_SHUTDOWN_TIMEOUT)
        work.cancel()

    ending = asyncio.ensure_future(end_work())
    try:
        with suppress(asyncio.CancelledError):
            await work
    finally:
        ending.cancel()


class RequestPacer:
    """Spaces the requests to one engine evenly, at most `rate` a second, in order of arrival.

    `sleep` may raise to end a wait early; `clock` returns seconds.
    """

    def __init__(
        self,
        rate: float,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = 1 / rate
        self._sleep = sleep
        self._clock = clock
        self._next = float("-inf")
        self._lock = asyncio.Lock()

    async def wait_for_turn(self) -> None:
        """Wait until one request may be sent."""
        async with self._lock:
            # Another request may have begun a pause during the sleep.
            while (wait := self._next - self._clock()) > 0:
                await self._sleep(wait)
            self._next = self._clock() + self._interval

    def pause(self, seconds: float) -> None:
        """Let no request start for `seconds`."""
        self._next = max(self._next, self._clock() + seconds)


class EngineSession:
    """One engine with its pace; `rate` is in requests a second, a `closed` engine gets no more queries."""

    def __init__(self, source: ResultSource, rate: float, cancel_token: CancelToken) -> None:
        self.source = source
        self.pacer = RequestPacer(rate, cancel_token.sleep)
        self.closed = False
        self._failed_in_a_row = 0
        self._refused_in_a_row = 0

    def record_outcome(self, error: CallError | None) -> None:
        """Record how one query ended, and close the engine if it is down or refuses every request."""
        self._failed_in_a_row = 0 if error is None else self._failed_in_a_row + 1
        refused = isinstance(error, AccountError)
        self._refused_in_a_row = self._refused_in_a_row + 1 if refused else 0
        of_query = error is not None and error.kind in _ERRORS_OF_ONE_QUERY and self._refused_in_a_row < 2
        if self._failed_in_a_row >= _MAX_CONSECUTIVE_FAILURES or (refused and not of_query):
            self.closed = True


@dataclass(slots=True)
class Collector:
    """Sends queries to engines; keeps the answers in the raw log and in `results`; counts `calls`."""

    raw_log: RawLog
    results: CollectedResults
    limits: RequestLimits
    cancel_token: CancelToken
    http: aiohttp.ClientSession
    progress: ProgressListener
    calls: int = 0

    async def collect(self, engines: Sequence[EngineSession]) -> None:
        """Request what is missing, query by query; end early when cancelled."""
        queries = self.results.queries
        done_count = sum(self._find_missing(query, engine) is None for query in queries for engine in engines)
        self.progress.begin(len(queries) * len(engines), done_count)
        slots = asyncio.Semaphore(MAX_CONCURRENT_QUERIES)
        try:
            async with asyncio.TaskGroup() as group:
                for query in queries:
                    await slots.acquire()
                    missing = [engine for engine in engines if self._find_missing(query, engine) is not None]
                    due = [engine for engine in missing if not engine.closed]
                    for _ in range(len(missing) - len(due)):
                        self.progress.add_answer(failed=True)
                    if due and await self._wait_for_all(due):
                        task = group.create_task(self._request_from_all(query, due))
                        task.add_done_callback(lambda _: slots.release())
                    else:
                        slots.release()
        finally:
            self.progress.end()

    async def _wait_for_all(self, engines: Sequence[EngineSession]) -> bool:
        """Wait until all engines may get a request; return False when cancelled meanwhile."""
        with suppress(Cancelled):
            self.cancel_token.raise_if_cancelled()
            await asyncio.gather(*(engine.pacer.wait_for_turn() for engine in engines))
        return self.cancel_token.reason is None

    def _find_missing(self, query: QueryRow, engine: EngineSession) -> EngineRequest | None:
        return self.results.find_answer(engine.source, query).missing

    async def _request_from_all(self, query: QueryRow, engines: Sequence[EngineSession]) -> None:
        await asyncio.gather(*(self._request_from(query, engine) for engine in engines))

    async def _request_from(self, query: QueryRow, engine: EngineSession) -> None:
        """Request all pages of one engine's answer, whose turn it is, until the answer is whole or fails."""
        error: CallError | None = None
        has_turn = True
        try:
            while (request := self._find_missing(query, engine)) is not None:
                policy = make_retry_policy(self.limits, self.cancel_token.sleep, lambda: not engine.closed)
                async for attempt in policy:
                    with attempt:
                        if not has_turn:
                            await engine.pacer.wait_for_turn()
                        has_turn = False
                        self.cancel_token.raise_if_cancelled()
                        if engine.closed:
                            raise AccountError("closed", "not sent, because other queries failed")
                        await self._send(query, request, engine)
        except CallError as call_error:
            error = call_error
        except Cancelled:
            return
        except StoreError as store_error:
            self.cancel_token.cancel(store_error)
            return
        engine.record_outcome(error)
        self.progress.add_answer(failed=error is not None)

    async def _send(self, query: QueryRow, request: EngineRequest, engine: EngineSession) -> None:
        """Send one request and log what came back; raise CallError when it is not an answer."""
        self.calls += 1
        started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()
        response, error = await _fetch(engine.source, request, self.http)
        latency = round((time.perf_counter() - start) * 1000, 1)
        if error is not None:
            error = self._pause_after(engine, error)
        entry = RawLogEntry(
            engine=engine.source.name,
            query_id=query.id,
            request=request,
            started=started,
            status=response.status if response else None,
            latency_ms=latency,
            body=response.body if response else "",
            error=None if error is None else str(error),
        )
        # In a thread: waiting for the disk must not count as latency of the other engines.
        await asyncio.to_thread(self.raw_log.add, entry)
        if unreadable := self.results.add(entry):  # None after an error
            error = self._pause_after(engine, unreadable)
        if error is not None:
            raise error

    def _pause_after(self, engine: EngineSession, error: CallError) -> CallError:
        """Pause the engine as long as it asks for; return `error`, made final when that is too long."""
        wait = error.retry_after or 0.0
        if wait > self.limits.max_wait:
            return AccountError(error.kind, f"{error.detail}; Retry-After is {wait:,.0f} s, above --max-wait")
        # Retry-After may be 0, or a date that has passed.
        min_pause = _MIN_PAUSE if error.kind == "rate_limit" else 0.0
        if wait or min_pause:
            engine.pacer.pause(max(wait, min_pause))
        return error


async def _fetch(
    source: ResultSource, request: EngineRequest, http: aiohttp.ClientSession
) -> tuple[Response | None, CallError | None]:
    """Return the response, if any, and the error that it or its absence means."""
    try:
        response = await source.fetch(request, http)
    except CallError as error:
        return None, error
    if response.status < 300:
        undecodable = response.undecodable
        return response, RetryableError("server_error", undecodable) if undecodable else None
    body = _NOT_ASCII.sub("\ufffd", response.body) if response.undecodable else response.body
    with suppress(RetryableError):
        body = parse_json_body(body)
    refusal = classify_response(response.status, body, response.headers, *source.secrets, hint=source.hint)
    return response, refusal
