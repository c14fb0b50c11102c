"""A window of leases: never more than its size, and none while a pair waits for a retry."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from judge.records import ANSWERED, Call
from judge.store.leases import Busy, Lease
from judge.store.store import VerdictStore
from judge.store.window import LeaseLost, LeaseWindow, PairLease
from tests.support.stores import INFO, make_verdict, run_with_two_stores


async def acquire_leases(window: LeaseWindow, *keys: str) -> list[PairLease]:
    return [result for result in await window.acquire(keys) if isinstance(result, PairLease)]


def test_a_batch_has_as_many_leases_as_the_window_has_free_slots(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        window = LeaseWindow(store, 3, asyncio.sleep)
        assert await other.acquire(["b"]) == [Lease("b")]
        first = await window.acquire(["a", "b", "c", "d", "e"])
        assert isinstance(first[1], Busy)
        assert len(first) == 3
        assert len(await acquire_leases(window, "d", "e")) == 1
        waiting = asyncio.create_task(acquire_leases(window, "e", "f"))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert isinstance(first[0], PairLease)
        async with first[0]:
            pass
        assert len(await waiting) == 1

    run_with_two_stores(tmp_path, check)


def test_a_pair_that_waits_for_a_retry_holds_no_lease_and_may_lose_it(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        async def wait(seconds: float) -> None:
            waits.append(seconds)
            results.append((await other.acquire(["k"]))[0])
            if seconds < 5:
                await other.release(Lease("k"))

        waits: list[float] = []
        results: list[object] = []
        window = LeaseWindow(store, 1, wait)
        [lease] = await acquire_leases(window, "k")
        async with lease:
            await lease.sleep(1.0)
            assert await other.acquire(["k"]) == [Busy.LEASED_ELSEWHERE]
            with pytest.raises(LeaseLost):
                await lease.sleep(5.0)
        assert waits == [1.0, 5.0]
        assert results == [Lease("k"), Lease("k")]
        assert await store.acquire(["k"]) == [Busy.LEASED_ELSEWHERE]
        assert len(await acquire_leases(window, "l")) == 1

    run_with_two_stores(tmp_path, check)


class _RecordingStore(VerdictStore):
    """A store that records the answer times that it gets."""

    def __init__(self, path: Path) -> None:
        self.answer_seconds: list[float] = []
        super().__init__(path)

    def adapt_commit_interval(self, answer_seconds: float) -> None:
        self.answer_seconds.append(answer_seconds)
        super().adapt_commit_interval(answer_seconds)


def test_the_store_learns_the_time_of_the_shortest_answer(tmp_path: Path) -> None:
    async def check(store: VerdictStore) -> None:
        window = LeaseWindow(store, 2, asyncio.sleep)
        [lease] = await acquire_leases(window, "a")
        async with lease:
            lease.begin_call()
            await asyncio.sleep(0.02)
            lease.end_call(Call("rate_limit"))  # no answer
            lease.begin_call()
            await asyncio.sleep(0.02)
            lease.end_call(Call(ANSWERED))
        window.record_latency(3600.0)

    with _RecordingStore(tmp_path / "v.sqlite") as store:
        asyncio.run(check(store))
    unknown, shortest = store.answer_seconds
    assert unknown == 0
    assert 0.019 < shortest < 3600


class _SlowStore(VerdictStore):
    """Keeps whether each verdict is saved at once, and saves none before the last one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.at_once: list[bool] = []
        self._has_last = asyncio.Event()

    async def save(self, *arguments: Any, at_once: bool = False) -> None:
        self.at_once.append(at_once)
        if at_once:
            self._has_last.set()
        await self._has_last.wait()
        await super().save(*arguments, at_once=at_once)


def test_a_verdict_is_saved_at_once_when_no_other_lease_is_left(tmp_path: Path) -> None:
    async def check(store: VerdictStore) -> None:
        window = LeaseWindow(store, 4, asyncio.sleep)
        leases = await acquire_leases(window, "a", "b", "c")
        async with leases[0]:
            pass
        await asyncio.gather(*(lease.save(INFO, make_verdict()) for lease in leases[1:]))
        [lease] = await acquire_leases(window, "d")
        await lease.save(INFO, make_verdict())

    with _SlowStore(tmp_path / "v.sqlite") as store:
        asyncio.run(asyncio.wait_for(check(store), 60))
    assert store.at_once == [False, True, True]
