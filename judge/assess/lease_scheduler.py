"""Leasing pairs, several at a time and ahead of the permits, and giving them to tasks that judge them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice

from judge.assess.pair_runner import PairRunner
from judge.assess.question_plan import VerdictRequest
from judge.errors import RunIncomplete
from judge.store.leases import InBatch, LeasedElsewhere
from judge.store.store import StoredRefusal, StoredVerdict
from judge.store.window import LEASE_POLL_INTERVAL, LeaseWindow, PairLease

#: Pairs under way at the same time, at least.
_MIN_PAIRS = 16


class LeaseScheduler:
    """Judges the pairs of `requests`, many at once.

    Each pair goes from one of these places to the next:

        _requests, _todo     not leased; `_todo` has the next ones
        _leased              under way: it has a lease and waits for a task
        _judge_leased        under way: a task judges it

    It is in `_leased_elsewhere` while another process has its lease; this one tries again. A pair whose batch
    has not ended is only counted, in `_in_batches`.
    """

    def __init__(self, requests: Iterable[VerdictRequest], window: LeaseWindow, runner: PairRunner) -> None:
        self._window = window
        self._runner = runner
        self._limits = runner.client.limits
        self._token = runner.client.cancel_token
        self._requests = iter(requests)
        self._todo = deque[VerdictRequest]()
        #: None ends a task. A task is kept for the next pair, because to start one takes CPU time.
        self._leased = asyncio.Queue[tuple[VerdictRequest, PairLease] | None]()
        self._leased_elsewhere = deque[VerdictRequest]()
        self._task_count = self._under_way = self._in_batches = 0
        self._pair_ended = asyncio.Event()

    async def judge_all(self) -> None:
        """Judge all pairs, or those that end before the run is cancelled."""
        # More pairs than permits: those that wait for a retry must not keep a permit idle. With few permits
        # some more, so that an outage is spread over many pairs' attempts.
        most = max(_MIN_PAIRS, 4 * self._limits.concurrency)
        # A few at first: the first requests do not wait until all of these are leased.
        size = max(_MIN_PAIRS, self._limits.concurrency // 4)
        self._window.expect_leases(is_expected=True)
        async with asyncio.TaskGroup() as group:
            with self._token.cancel_on_error():
                while self._token.reason is None:
                    free = min(size, most - self._under_way)
                    if self._fill_todo(free) and free > 0:
                        await self._lease_next(group, self._todo, free)
                        size = most
                    elif self._todo:
                        await self._wait_for_pair()
                    elif self._leased_elsewhere:
                        await self._wait_for_other_processes()
                        await self._lease_next(group, self._leased_elsewhere, len(self._leased_elsewhere))
                    elif self._under_way:
                        self._window.expect_leases(is_expected=False)
                        await self._wait_for_pair()
                    elif self._in_batches:
                        raise RunIncomplete(
                            "{count:,} pairs are in a batch at {endpoint}; run again with --batch to collect"
                            " it",
                            count=self._in_batches,
                            endpoint=self._runner.client.model.endpoint,
                        )
                    else:
                        break
            for _ in range(self._task_count):
                self._leased.put_nowait(None)

    def _fill_todo(self, count: int) -> bool:
        """Move the next of `_requests` to `_todo`, up to `count` there; return whether it has one."""
        self._todo.extend(islice(self._requests, max(0, max(1, count) - len(self._todo))))
        return bool(self._todo)

    async def _lease_next(self, group: asyncio.TaskGroup, requests: deque[VerdictRequest], size: int) -> None:
        """Lease the first of `requests`, at most `size`, and start to judge them."""
        for result in await self._window.acquire([each.question.key for each in islice(requests, size)]):
            request = requests.popleft()
            match result:
                case PairLease():
                    self._under_way += 1
                    self._leased.put_nowait((request, result))
                    if self._under_way > self._task_count:
                        self._task_count += 1
                        group.create_task(self._judge_leased())
                case StoredVerdict() | StoredRefusal():
                    self._runner.recorder.add(request, result)
                case LeasedElsewhere():
                    self._leased_elsewhere.append(request)
                case InBatch():
                    self._in_batches += 1

    async def _judge_leased(self) -> None:
        """Judge pairs of `_leased`, one after the other."""
        while leased := await self._leased.get():
            if not await self._runner.judge(*leased):
                self._leased_elsewhere.append(leased[0])
            self._under_way -= 1
            self._pair_ended.set()

    async def _wait_for_pair(self) -> None:
        """Wait until a pair that is under way ends."""
        self._pair_ended.clear()
        await self._pair_ended.wait()

    async def _wait_for_other_processes(self) -> None:
        if time.monotonic() - self._runner.recorder.added_at > self._limits.max_wait:
            raise RunIncomplete(
                "the remaining pairs are leased by another process, which made no progress for {seconds:g}"
                " s; wait for it, or end whatever else uses {store}, then run the same command again; all"
                " judgments are saved",
                seconds=self._limits.max_wait,
                store=self._window.store.path,
            )
        await self._token.sleep(LEASE_POLL_INTERVAL)
