"""When a request may be sent: probes, outages, the order of waiters."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from judge.client.limiter import AdaptiveLimiter
from judge.client.rate_estimator import Permit
from judge.client.retry import MAX_RETRY_AFTER
from tests.support import virtual_time


def play(scene: Coroutine[Any, Any, None]) -> None:
    """Run `scene` in virtual time, for an hour at most."""
    virtual_time.run(asyncio.wait_for(scene, 3600))


async def open_limiter(ceiling: int, latency: float = 0.0) -> AdaptiveLimiter:
    """A limiter whose first probe was answered after `latency` seconds, with a verdict."""
    limiter = AdaptiveLimiter(ceiling)
    limiter.confirm()
    permit = await limiter.acquire()
    await asyncio.sleep(latency)
    limiter.record_answer(permit)
    limiter.release(permit)
    return limiter


async def call(limiter: AdaptiveLimiter, **ending: Any) -> Permit:
    """A call that failed as `ending` says, or was answered."""
    permit = await limiter.acquire()
    if ending:
        limiter.record_failure(permit, **ending)
    else:
        limiter.record_answer(permit)
    limiter.release(permit)
    return permit


def is_probing(limiter: AdaptiveLimiter) -> bool:
    """Whether `limiter` sends probes only; a type checker takes an attribute for constant."""
    return limiter.probing


def now() -> float:
    """The virtual time."""
    return asyncio.get_running_loop().time()


def test_eight_requests_leave_spread_over_a_second_and_a_verdict_lets_more_follow() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(64)
        permits = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
        await asyncio.sleep(60)
        assert limiter.in_flight == 8
        left = [permit.result().sent_at for permit in permits[:8]]
        assert left == pytest.approx([number / 8 for number in range(8)], abs=0.02)
        limiter.record_answer(permits[0].result())
        limiter.release(permits[0].result())
        await asyncio.sleep(2)
        assert limiter.in_flight == 8
        limiter.confirm()
        await asyncio.sleep(4)
        assert limiter.in_flight == 64

    play(scene())


def test_a_server_that_is_known_gets_all_requests_at_once_and_probes_again_after_an_outage() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(64)
        limiter.skip_probes()
        permits = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
        await asyncio.sleep(0.25)
        assert (limiter.in_flight, limiter.was_throttled) == (64, False)
        for permit in permits[:5]:
            limiter.record_failure(permit.result())
        assert is_probing(limiter)

    play(scene())


def test_no_more_than_eight_leave_until_the_first_answer_and_one_at_a_time_after_a_failure() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(64)
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
        await asyncio.sleep(10)
        first = [permit.result() for permit in waiting if permit.done()]
        for permit in first:
            limiter.record_failure(permit)
            limiter.release(permit)
        await asyncio.sleep(1.1)
        assert sum(permit.done() for permit in waiting) == 9
        await asyncio.sleep(3)
        assert limiter.in_flight == 1

    play(scene())


def test_scouts_follow_each_other_at_growing_intervals_until_one_is_answered() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(8)
        left = []
        for _ in range(7):
            left.append((await call(limiter, retry_after=None)).sent_at)
        waits = [later - earlier for earlier, later in pairwise(left)]
        assert waits == pytest.approx([1, 2, 4, 5, 5, 5], abs=0.01)
        assert limiter.outage_seconds() == pytest.approx(22, abs=0.1)
        await call(limiter)
        assert limiter.outage_seconds() == 0
        assert not is_probing(limiter)

    play(scene())


def test_five_failures_in_a_row_are_an_outage_and_an_answer_between_is_none() -> None:
    async def scene() -> None:
        limiter = await open_limiter(8)
        for _ in range(3):
            for _ in range(4):
                await call(limiter, retry_after=None)
            await call(limiter)
        assert not is_probing(limiter)
        for _ in range(5):
            await call(limiter, retry_after=None)
        assert is_probing(limiter)
        began = now()
        assert (await call(limiter)).sent_at == pytest.approx(began + 0.5, abs=0.01)
        assert not is_probing(limiter)

    play(scene())


def test_what_left_before_an_outage_says_nothing_of_it() -> None:
    async def scene() -> None:
        limiter = await open_limiter(32)
        permits = [await limiter.acquire() for _ in range(20)]
        for permit in permits[:5]:
            limiter.record_failure(permit)
        assert is_probing(limiter)
        for permit in permits[5:]:
            limiter.record_failure(permit)
        probe = await limiter.acquire()
        assert probe.sent_at - permits[-1].sent_at < 1
        limiter.record_answer(permits[0])
        assert is_probing(limiter)
        limiter.record_answer(probe)
        assert not is_probing(limiter)

    play(scene())


@pytest.mark.parametrize(("retry_after", "waited"), [(7.0, 7.0), (1e9, MAX_RETRY_AFTER)])
def test_nobody_scouts_before_the_moment_that_a_scout_was_told(retry_after: float, waited: float) -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(8)
        first = await call(limiter, retry_after=retry_after, throttled=True)
        second = await call(limiter)
        assert second.sent_at - first.sent_at == pytest.approx(waited, abs=0.01)

    play(scene())


def test_a_scout_that_asks_nothing_makes_way() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(8)
        limiter.release(await limiter.acquire(), unused=True)
        await limiter.acquire()
        assert now() == 0

    play(scene())


def test_those_who_wait_leave_in_order_but_for_who_comes_first() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(8)
        probe = await limiter.acquire()
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(2)]
        waiting.append(asyncio.create_task(limiter.acquire(after=probe)))
        await asyncio.wait([waiting[2]])
        waiting[0].cancel()
        limiter.record_answer(waiting[2].result())
        await asyncio.wait(waiting)
        assert waiting[0].cancelled()
        assert [task.result().number for task in waiting[1:]] == [3, 2]
        assert limiter.in_flight == 2

    play(scene())


def test_who_is_cancelled_with_a_turn_in_hand_gives_it_back() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(8)
        probe = await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        limiter.release(probe)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert limiter.in_flight == 0

    play(scene())


def test_turns_that_nobody_uses_cost_no_time_and_say_nothing_of_the_server() -> None:
    async def scene() -> None:
        limiter = await open_limiter(8, latency=0.4)
        for _ in range(500):
            limiter.release(await limiter.acquire(), unused=True)
        assert now() < 0.5
        left = [(await call(limiter)).sent_at for _ in range(8)]
        assert left[-1] - left[0] > 0.1

    play(scene())


def test_an_abandoned_gate_lets_everybody_through() -> None:
    async def scene() -> None:
        limiter = AdaptiveLimiter(1)
        await limiter.acquire()
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(5)]
        await asyncio.sleep(0)
        limiter.release_waiters()
        await asyncio.wait(waiting)
        assert now() == 0

    play(scene())
