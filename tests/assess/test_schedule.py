"""Who may call when: the gate, retries, allowances and stopping."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from judge.assess.allowance import Allowance
from judge.assess.gate import Gate
from judge.assess.price import Price
from judge.assess.schedule import LONGEST_WAIT, Limits, retrying
from judge.assess.stop import Stop, Stopped
from judge.errors import CallError, Declined, Incomplete, Interrupted, Transient
from judge.records import Usage

LIMITS = Limits(concurrency=4, attempts=3, patience=10, grace=1)


def slept(faults: Sequence[CallError], limits: Limits = LIMITS) -> tuple[list[float], int]:
    """The waits and the number of requests of one call that meets `faults`, one a request."""
    waits: list[float] = []
    left = list(faults)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def go() -> int:
        requests = 0
        async for attempt in retrying(limits, sleep):
            with attempt:
                requests += 1
                if left:
                    raise left.pop(0)
        return requests

    return waits, asyncio.run(go())


def test_a_fault_that_passes_is_retried_after_a_growing_wait() -> None:
    waits, requests = slept([Transient("server_error", "x"), Transient("transport", "x")])
    assert requests == 3
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 1.5


def test_retry_after_is_never_undercut_and_an_absurd_one_is_cut() -> None:
    waits, _ = slept(
        [Transient("rate_limit", "x", retry_after=7.0), Transient("rate_limit", "x", retry_after=1e9)]
    )
    assert 7.0 <= waits[0] < 7.5
    assert LONGEST_WAIT <= waits[1] < LONGEST_WAIT + 1


def test_faults_are_given_up_after_the_attempts() -> None:
    with pytest.raises(Transient):
        slept([Transient("server_error", "x")] * 3)


def test_a_throttled_request_outlives_the_attempts_of_other_faults() -> None:
    _, requests = slept([Transient("rate_limit", "x")] * 8)
    assert requests == 9


def test_throttling_does_not_use_up_the_attempts_of_other_faults() -> None:
    faults = [Transient("rate_limit", "x")] * 5 + [Transient("server_error", "x")] * 2
    _, requests = slept(faults)
    assert requests == 8


def test_a_final_fault_is_not_retried() -> None:
    with pytest.raises(Declined):
        slept([Declined("content_filter", "x")])


def test_the_gate_never_lets_more_in_than_its_limit_and_shrinks_once_an_episode() -> None:
    now = [0.0]
    peak = 0

    async def go() -> None:
        nonlocal peak
        gate = Gate(10, clock=lambda: now[0])

        async def call() -> None:
            nonlocal peak
            await gate.enter()
            peak = max(peak, gate.in_flight)
            assert gate.in_flight <= 10
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*(call() for _ in range(50)))
        assert gate.in_flight == 0
        gate.overloaded()
        gate.overloaded()
        assert gate.limit == pytest.approx(7.0)
        now[0] = 1.5
        gate.overloaded()
        assert gate.limit == pytest.approx(4.9)
        for _ in range(100):
            gate.answered()
        assert gate.limit == 10

    asyncio.run(go())
    assert peak == 10


def test_when_half_of_the_calls_are_turned_away_nobody_calls_for_as_long_as_was_asked() -> None:
    async def go() -> float:
        gate = Gate(100)
        for _ in range(9):
            gate.overloaded(0.1)
            gate.answered()
        began = asyncio.get_running_loop().time()
        await gate.enter()
        assert asyncio.get_running_loop().time() - began < 0.05
        gate.overloaded(0.1)
        await asyncio.wait_for(gate.enter(), 1)
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(go()) >= 0.1


def test_a_cancelled_waiter_gives_its_turn_back() -> None:
    async def go() -> None:
        gate = Gate(1)

        async def hold(seconds: float) -> None:
            await gate.enter()
            await asyncio.sleep(seconds)
            gate.leave()

        holder = asyncio.create_task(hold(0.02))
        await asyncio.sleep(0)
        waiters = [asyncio.create_task(hold(0)) for _ in range(3)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        waiters[1].cancel()
        await asyncio.wait_for(asyncio.gather(holder, waiters[2]), 1)
        assert gate.in_flight == 0

    asyncio.run(go())


def test_a_stop_wakes_sleepers_and_keeps_the_first_reason() -> None:
    async def go() -> None:
        stop = Stop()
        sleeper = asyncio.create_task(stop.sleep(60))
        await asyncio.sleep(0)
        stop.request(Interrupted("first"))
        stop.request(Interrupted("second"))
        with pytest.raises(Stopped, match="first"):
            await asyncio.wait_for(sleeper, 1)
        with pytest.raises(Stopped):
            stop.check()

    asyncio.run(go())


def test_calls_and_money_have_ceilings() -> None:
    price = Price(input=2.0, output=10.0, cached=0.5)
    usage = Usage(prompt_tokens=1000, cached_tokens=400, completion_tokens=100)
    # 600 fresh at 2 + 400 cached at 0.5 + 100 out at 10, per million
    assert price.usd(usage) == pytest.approx(0.0024)
    few = Allowance(Limits(4, 3, 10, 1, max_calls=2))
    few.take()
    few.take()
    with pytest.raises(Incomplete, match="max-calls 2"):
        few.take()
    poor = Allowance(Limits(4, 3, 10, 1, budget=0.004, price=price))
    for _ in range(2):
        poor.take()
        poor.spend(usage)
    with pytest.raises(Incomplete, match=r"budget 0\.004"):
        poor.take()
