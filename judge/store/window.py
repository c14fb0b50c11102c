"""A window of leases: a limited number at a time, so that few are left when the process is killed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from judge.errors import JudgeError
from judge.records import ANSWERED, Call
from judge.store.leases import Busy, Lease
from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictOrFailure, VerdictStore

#: Seconds between two attempts to acquire a lease that another process holds.
LEASE_POLL_INTERVAL = 0.2


class LeaseLost(JudgeError):
    """Another process took the lease of a pair while the pair waited for a retry."""


class LeaseWindow:
    """At most `size` leases of `store` at a time, all for one model.

    The window also sets the commit interval of the store, by the shortest answer of the model. It begins with
    the shortest interval, because an earlier model at this store may have been slower. `sleep` waits, and
    raises when the run is cancelled.
    """

    def __init__(self, store: VerdictStore, size: int, sleep: Callable[[float], Awaitable[None]]) -> None:
        self.store = store
        self.sleep = sleep
        self._size = self._free_slots = size
        #: The number of leases with a verdict that is not on disk yet.
        self._saves = 0
        #: The shortest time of an answer, in seconds.
        self._shortest_answer = math.inf
        self._freed = asyncio.Event()
        store.adapt_commit_interval(0.0)

    async def acquire(self, keys: Sequence[str]) -> list[VerdictOrFailure | PairLease | Busy]:
        """Acquire the leases of the first of `keys`, as many as the window has free slots for, in one commit.

        Waits until a quarter of the slots is free, or one for each of `keys`, and returns one result for
        each of these keys.
        """
        count = await self._take_slots(len(keys))
        try:
            results = await self.store.acquire(keys[:count])
        except BaseException:  # a cancelled task gives its slots back, too
            self.free(count)
            raise
        self.free(sum(not isinstance(result, Lease) for result in results))
        return [PairLease(self, result) if isinstance(result, Lease) else result for result in results]

    async def acquire_when_free(self, key: str) -> VerdictOrFailure | PairLease:
        """Acquire the lease of `key`, once no other process holds it, or return its answer."""
        while True:
            [result] = await self.acquire([key])
            if not isinstance(result, Busy):
                return result
            await self.sleep(LEASE_POLL_INTERVAL)

    def record_latency(self, seconds: float) -> None:
        """Adapt the store's commits to an answer that took `seconds`, if it is the shortest one."""
        if seconds < self._shortest_answer:
            self._shortest_answer = seconds
            self.store.adapt_commit_interval(seconds)

    async def save(
        self, lease: Lease, info: VerdictKeyInfo, verdict: StoredVerdict, calls: Sequence[Call]
    ) -> None:
        """Store a verdict with the calls that led to it, and end the lease; return when it is on disk."""
        self._saves += 1
        try:
            # When all leases wait for a commit, no other write comes before it.
            is_last = self._saves == self._size - self._free_slots
            await self.store.save(lease, info, verdict, calls, at_once=is_last)
        finally:
            self._saves -= 1
            self.free()

    def free(self, count: int = 1) -> None:
        """Free the slots of `count` leases that ended."""
        self._free_slots += count
        self._freed.set()

    async def _take_slots(self, wanted: int) -> int:
        """Take slots for `wanted` leases, or for fewer where at least a quarter of the window is free.

        So a pair after a retry waits for one slot, and takes it before those that wait for more.
        """
        min_slots = min(wanted, max(1, self._size // 4))
        while self._free_slots < min_slots:
            self._freed.clear()
            await self._freed.wait()
        count = min(wanted, self._free_slots)
        self._free_slots -= count
        return count


class PairLease:
    """The lease of one pair, by `async with`: it ends with the block, whether a verdict was saved or not.

    It is released while the pair waits for a retry. `calls` are the requests that are not in the ledger yet:
    the last one, if it was answered. It is written together with its verdict.
    """

    def __init__(self, window: LeaseWindow, lease: Lease) -> None:
        self.calls: list[Call] = []
        self._window = window
        self._lease = lease
        self._is_held = True
        self._call_began = 0.0
        #: Whether the key was submitted in a batch whose reply is not in the ledger yet.
        self.is_in_batch = bool(lease.batch_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._release()

    def begin_call(self) -> None:
        """Record that a request is sent now, and write the calls before it to the ledger."""
        self._call_began = time.monotonic()
        self._log_calls()

    def end_call(self, call: Call) -> None:
        """Record how a request ended, and write one without an answer to the ledger at once."""
        self.calls.append(call)
        if call.outcome == ANSWERED:
            self._window.record_latency(time.monotonic() - self._call_began)
        else:
            self._log_calls()

    def _log_calls(self) -> None:
        calls, self.calls = self.calls, []
        if calls:
            self._window.store.log_calls(self._lease, calls)

    async def sleep(self, seconds: float) -> None:
        """Wait without the lease, then for a new one; raise LeaseLost when another process took it."""
        await self._release()
        await self._window.sleep(seconds)
        [result] = await self._window.acquire([self._lease.key])
        if not isinstance(result, PairLease):
            raise LeaseLost("another process took the lease of {key}", key=self._lease.key)
        self._is_held = True

    async def save(self, info: VerdictKeyInfo, verdict: StoredVerdict) -> None:
        """Store the verdict with the calls that led to it; return when it is on disk."""
        self._is_held = False  # also when this is cancelled: the writer has it
        await self._window.save(self._lease, info, verdict, self.calls)

    async def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._window.free()
            calls, self.calls = self.calls, []
            await self._window.store.release(self._lease, calls)
