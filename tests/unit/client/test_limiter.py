"""When a request may be sent: probes, outages, the order of waiters."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from judge.client.limiter import AdaptiveLimiter, Circuit
from judge.client.rate_estimator import Permit
from tests.support import virtual_time


async def open_limiter(ceiling: int, latency: float = 0.0) -> AdaptiveLimiter:
    """Return a limiter whose first probe got a verdict after `latency` seconds."""
    limiter = AdaptiveLimiter(ceiling)
    limiter.record_verdict()
    permit = await limiter.acquire()
    await asyncio.sleep(latency)
    limiter.record_response(permit)
    limiter.release(permit)
    return limiter


async def make_call(limiter: AdaptiveLimiter, **failure: Any) -> Permit:
    """Make a call that fails as `failure` says, or succeeds without it; return its permit."""
    permit = await limiter.acquire()
    if failure:
        limiter.record_failure(permit, **failure)
    else:
        limiter.record_response(permit)
    limiter.release(permit)
    return permit


def is_probing(limiter: AdaptiveLimiter) -> bool:
    """Return whether `limiter` sends probes only; mypy would take the attribute for constant."""
    return limiter.circuit is not Circuit.CLOSED


def read_clock() -> float:
    """Return the virtual time."""
    return asyncio.get_running_loop().time()


@virtual_time.run_test
async def test_eight_requests_leave_spread_over_a_second_and_a_verdict_lets_more_follow() -> None:
    limiter = AdaptiveLimiter(64)
    permits = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
    await asyncio.sleep(60)
    assert limiter.in_flight == 8
    times = [permit.result().sent_at for permit in permits[:8]]
    assert times == pytest.approx([number / 8 for number in range(8)], abs=0.02)
    limiter.record_response(permits[0].result())
    limiter.release(permits[0].result())
    await asyncio.sleep(2)
    assert limiter.in_flight == 8
    limiter.record_verdict()
    await asyncio.sleep(4)
    assert limiter.in_flight == 64


@virtual_time.run_test
async def test_a_server_that_is_known_gets_all_requests_at_once_and_probes_again_after_an_outage() -> None:
    limiter = AdaptiveLimiter(64)
    limiter.skip_probes()
    permits = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
    await asyncio.sleep(0.25)
    assert (limiter.in_flight, limiter.was_throttled) == (64, False)
    for permit in permits[:5]:
        limiter.record_failure(permit.result(), throttled=False)
    assert is_probing(limiter)


@virtual_time.run_test
async def test_no_more_than_eight_leave_until_the_first_answer_and_one_at_a_time_after_a_failure() -> None:
    limiter = AdaptiveLimiter(64)
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(100)]
    await asyncio.sleep(10)
    first = [permit.result() for permit in waiting if permit.done()]
    for permit in first:
        limiter.record_failure(permit, throttled=False)
        limiter.release(permit)
    await asyncio.sleep(1.1)
    assert sum(permit.done() for permit in waiting) == 9
    await asyncio.sleep(3)
    assert limiter.in_flight == 1


@virtual_time.run_test
async def test_probes_follow_each_other_at_growing_intervals_until_one_is_answered() -> None:
    limiter = AdaptiveLimiter(8)
    times = []
    for _ in range(7):
        times.append((await make_call(limiter, throttled=False)).sent_at)
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == pytest.approx([1, 2, 4, 5, 5, 5], abs=0.01)
    assert limiter.measure_outage() == pytest.approx(22, abs=0.1)
    await make_call(limiter)
    assert limiter.measure_outage() == 0
    assert not is_probing(limiter)


@virtual_time.run_test
async def test_five_failures_in_a_row_are_an_outage_and_an_answer_between_is_none() -> None:
    limiter = await open_limiter(8)
    for _ in range(3):
        for _ in range(4):
            await make_call(limiter, throttled=False)
        await make_call(limiter)
    assert not is_probing(limiter)
    for _ in range(5):
        await make_call(limiter, throttled=False)
    assert is_probing(limiter)
    started = read_clock()
    assert (await make_call(limiter)).sent_at == pytest.approx(started + 0.5, abs=0.01)
    assert not is_probing(limiter)


@virtual_time.run_test
async def test_results_of_requests_before_an_outage_do_not_count() -> None:
    limiter = await open_limiter(32)
    permits = [await limiter.acquire() for _ in range(20)]
    for permit in permits[:5]:
        limiter.record_failure(permit, throttled=False)
    assert is_probing(limiter)
    for permit in permits[5:]:
        limiter.record_failure(permit, throttled=False)
    probe = await limiter.acquire()
    assert probe.sent_at - permits[-1].sent_at < 1
    limiter.record_response(permits[0])
    assert is_probing(limiter)
    limiter.record_response(probe)
    assert not is_probing(limiter)


@pytest.mark.parametrize(("retry_after", "waited"), [(7.0, 7.0), (1800.0, 1800.0), (1e9, 2400.0)])
@virtual_time.run_test
async def test_no_probe_leaves_before_the_retry_after_of_the_last_one(
    retry_after: float, waited: float
) -> None:
    limiter = AdaptiveLimiter(8, max_wait=2400.0)
    first = await make_call(limiter, retry_after=retry_after, throttled=True)
    second = await make_call(limiter)
    assert second.sent_at - first.sent_at == pytest.approx(waited, abs=0.01)


@virtual_time.run_test
async def test_an_unused_probe_lets_the_next_request_leave() -> None:
    limiter = AdaptiveLimiter(8)
    limiter.release(await limiter.acquire(), unused=True)
    await limiter.acquire()
    assert read_clock() == 0


@virtual_time.run_test
async def test_waiting_requests_leave_in_order_after_one_with_priority() -> None:
    limiter = AdaptiveLimiter(8)
    probe = await limiter.acquire()
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(2)]
    waiting.append(asyncio.create_task(limiter.acquire(probe)))
    await asyncio.wait([waiting[2]])
    waiting[0].cancel()
    limiter.record_response(waiting[2].result())
    await asyncio.wait(waiting)
    assert waiting[0].cancelled()
    assert [task.result().number for task in waiting[1:]] == [3, 2]
    assert limiter.in_flight == 2


@virtual_time.run_test
async def test_repeated_requests_take_turns_with_first_ones() -> None:
    limiter = AdaptiveLimiter(1)
    limiter.skip_probes()
    permit = await limiter.acquire()
    first = [asyncio.create_task(limiter.acquire()) for _ in range(3)]
    repeated = [asyncio.create_task(limiter.acquire(is_first=False)) for _ in range(2)]
    for task in (repeated[0], first[0], repeated[1], first[1], first[2]):
        limiter.record_response(permit)
        limiter.release(permit)
        permit = await task
    assert [task.result().number for task in (*first, *repeated)] == [3, 5, 6, 2, 4]


@virtual_time.run_test
async def test_a_cancelled_waiter_returns_its_permit() -> None:
    limiter = AdaptiveLimiter(8)
    probe = await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0)
    limiter.release(probe)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert limiter.in_flight == 0


@virtual_time.run_test
async def test_unused_permits_cost_no_time_and_do_not_raise_the_rate() -> None:
    limiter = await open_limiter(8, latency=0.4)
    for _ in range(500):
        limiter.release(await limiter.acquire(), unused=True)
    assert read_clock() < 0.5
    times = [(await make_call(limiter)).sent_at for _ in range(8)]
    assert times[-1] - times[0] > 0.08


@virtual_time.run_test
async def test_released_waiters_all_leave() -> None:
    limiter = AdaptiveLimiter(1)
    await limiter.acquire()
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(5)]
    await asyncio.sleep(0)
    limiter.release_waiters()
    await asyncio.wait(waiting)
    assert read_clock() == 0
