"""Owns asking engines about queries: all of them at the same moment, politely, each call kept at once.

Every query is put to all engines together, so that they see the same minute of the web. An engine that
turns everybody away, or fails again and again, is left alone; the others go on.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import aiohttp

from judge.client.cancel import Cancelled, CancelToken
from judge.client.retry import Limits, retry_policy
from judge.collect.assemble import CollectedResults, answer
from judge.collect.engine_errors import classify
from judge.collect.engines import EngineRequest
from judge.collect.pacing import RequestPacer
from judge.collect.query_file import QueryRow
from judge.collect.raw_log import RawLog, RawLogEntry
from judge.collect.response_shape import parse
from judge.collect.sources import AT_ONCE, Response, ResultSource
from judge.errors import AccountError, CallError, RetryableError, StoreError

#: An engine that failed on so many queries in a row is down; asking on would take the night.
_GIVEN_UP_AFTER = 10
#: What a firewall in front of an engine says of a query that it takes for an attack, and of no other.
_OF_ONE_QUERY = frozenset({"auth", "not_found"})
#: Seconds that an engine gets which is asked too often and doesn't say how long to wait.
_BREATH = 1.0
#: What no reader can make sense of in a refusal that is no text in its charset; codes are ASCII.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class CollectListener(Protocol):
    """Hears of every answer as it becomes durable."""

    def begin(self, total: int, done: int) -> None:
        """Asking begins: `total` answers are wanted, `done` of them are there already."""
        ...

    def answered(self, *, failed: bool) -> None:
        """One more engine answered a query, or failed to."""
        ...

    def end(self) -> None:
        """Asking ended, for whatever reason."""
        ...


class EngineSession:
    """One engine with its pace, and whether it is still asked; `rate` is in calls a second."""

    def __init__(self, source: ResultSource, rate: float, stop: CancelToken) -> None:
        self.source = source
        self.pace = RequestPacer(rate, stop.sleep)
        self.closed = False
        self._failed_in_a_row = 0
        self._refused_in_a_row = 0

    def heard(self, error: CallError | None) -> None:
        """Takes into account how asking about one query ended."""
        self._failed_in_a_row = 0 if error is None else self._failed_in_a_row + 1
        refused = isinstance(error, AccountError)
        self._refused_in_a_row = self._refused_in_a_row + 1 if refused else 0
        alone = error is not None and error.kind in _OF_ONE_QUERY and self._refused_in_a_row < 2
        if self._failed_in_a_row >= _GIVEN_UP_AFTER or (refused and not alone):
            self.closed = True


@dataclass(slots=True)
class Collector:
    """Puts queries to engines and keeps what comes back in the journal and in `held`.

    `depth` results are wanted of each answer; `calls` counts requests that were made.
    """

    journal: RawLog
    held: CollectedResults
    limits: Limits
    depth: int
    stop: CancelToken
    session: aiohttp.ClientSession
    watch: CollectListener
    calls: int = 0

    async def ask(self, queries: Sequence[QueryRow], seats: Sequence[EngineSession]) -> None:
        """Asks whatever is missing, query by query; ends early when a stop is requested."""
        known = sum(self._missing(query, seat) is None for query in queries for seat in seats)
        self.watch.begin(len(queries) * len(seats), known)
        slots = asyncio.Semaphore(AT_ONCE)
        try:
            async with asyncio.TaskGroup() as group:
                for query in queries:
                    await slots.acquire()
                    asked = self._open(query, seats)
                    if asked and await self._together(asked):
                        task = group.create_task(self._query_all(query, asked))
                        task.add_done_callback(lambda _: slots.release())
                    else:
                        slots.release()
        finally:
            self.watch.end()

    def _open(self, query: QueryRow, seats: Sequence[EngineSession]) -> list[EngineSession]:
        """The engines that are to be asked about the query now."""
        wanted = [seat for seat in seats if self._missing(query, seat) is not None]
        for seat in wanted:
            if seat.closed:
                self.watch.answered(failed=True)
        return [seat for seat in wanted if not seat.closed]

    async def _together(self, seats: Sequence[EngineSession]) -> bool:
        """Waits until all engines may be asked at once; False when a stop is requested meanwhile."""
        with suppress(Cancelled):
            self.stop.raise_if_cancelled()
            await asyncio.gather(*(seat.pace.turn() for seat in seats))
        return self.stop.reason is None

    def _missing(self, query: QueryRow, seat: EngineSession) -> EngineRequest | None:
        return answer(seat.source, query, self.depth, self.held).missing

    async def _query_all(self, query: QueryRow, seats: Sequence[EngineSession]) -> None:
        await asyncio.gather(*(self._query(query, seat) for seat in seats))

    async def _query(self, query: QueryRow, seat: EngineSession) -> None:
        """Asks one engine, whose turn it is, until its answer to the query is whole or can't be had."""
        error: CallError | None = None
        has_turn = True
        try:
            while (request := self._missing(query, seat)) is not None:
                await self._until_answered(query, request, seat, has_turn)
                has_turn = False
        except CallError as failed:
            error = failed
        except Cancelled:
            return
        except StoreError as full:
            self.stop.cancel(full)
            return
        seat.heard(error)
        self.watch.answered(failed=error is not None)

    async def _until_answered(
        self, query: QueryRow, request: EngineRequest, seat: EngineSession, has_turn: bool
    ) -> None:
        """Makes the call, and makes it again while its fault may pass."""
        async for attempt in retry_policy(self.limits, self.stop.sleep, lambda: not seat.closed):
            with attempt:
                if not has_turn:
                    await seat.pace.turn()
                has_turn = False
                self.stop.raise_if_cancelled()
                if seat.closed:
                    raise AccountError("closed", "given up after other queries failed")
                await self._call(query, request, seat)

    async def _call(self, query: QueryRow, request: EngineRequest, seat: EngineSession) -> None:
        """Makes one call and keeps it; raises CallError when it brought no answer."""
        self.calls += 1
        moment, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()
        response, error = await _fetched(seat.source, request, self.session)
        latency = round((time.perf_counter() - began) * 1000, 1)
        error = error and self._paused(seat, error)
        entry = RawLogEntry(
            engine=seat.source.name,
            query_id=query.id,
            request=request,
            started=moment,
            status=response.status if response else None,
            latency_ms=latency,
            body=response.body if response else "",
            error=None if error is None else str(error),
        )
        # A disk takes its time, which must not be counted as that of the other engines.
        await asyncio.to_thread(self.journal.add, entry)
        unreadable = self.held.add(entry)
        error = error or (unreadable and self._paused(seat, unreadable))
        if error is not None:
            raise error

    def _paused(self, seat: EngineSession, error: CallError) -> CallError:
        """Leaves the engine alone for as long as it asked; `error`, made final where that is too long."""
        wait = error.retry_after
        if wait is None:
            if error.kind == "rate_limit":
                seat.pace.pause(_BREATH)
            return error
        if wait > self.limits.max_wait:
            return AccountError(error.kind, f"{error.detail}; it wants to be left alone for {wait:,.0f} s")
        seat.pace.pause(wait)
        return error


async def _fetched(
    source: ResultSource, request: EngineRequest, session: aiohttp.ClientSession
) -> tuple[Response | None, CallError | None]:
    """What came back, if anything, and why it is no answer, if it doesn't claim to be one."""
    try:
        response = await source.fetch(request, session)
    except CallError as failed:
        return None, failed
    if response.status >= 300:
        return response, _refusal(source, response)
    if response.undecodable:
        return response, RetryableError("server_error", response.undecodable)
    return response, None


def _refusal(source: ResultSource, response: Response) -> CallError:
    """What a response means that doesn't even claim to be an answer."""
    text = _NOT_ASCII.sub("\ufffd", response.body) if response.undecodable else response.body
    try:
        body = parse(text)
    except RetryableError:
        body = text
    return classify(response.status, body, response.headers, *source.secrets, hint=source.hint)
