"""When a request is made again, how often, and how a stop is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from judge.client.cancel import Cancelled, CancelToken
from judge.client.retry import MAX_RETRY_AFTER, Limits, RetryBudget, retry_policy
from judge.errors import CallError, Interrupted, RequestRejected, RetryableError

LIMITS = Limits(concurrency=4, attempts=3, max_wait=10, shutdown_timeout=1)


def slept(
    faults: Sequence[CallError], limits: Limits = LIMITS, withdraw: Callable[[], bool] = lambda: True
) -> tuple[list[float], int]:
    """The waits and the number of requests of one call that meets `faults`, one a request."""
    waits: list[float] = []
    left = list(faults)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def go() -> int:
        requests = 0
        async for attempt in retry_policy(limits, sleep, withdraw):
            with attempt:
                requests += 1
                if left:
                    raise left.pop(0)
        return requests

    return waits, asyncio.run(go())


def test_a_fault_that_passes_is_retried_after_a_growing_wait() -> None:
    waits, requests = slept([RetryableError("server_error", "x"), RetryableError("transport", "x")])
    assert requests == 3
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 1.5


def test_retry_after_is_never_undercut_and_an_absurd_one_is_cut() -> None:
    waits, _ = slept(
        [
            RetryableError("rate_limit", "x", retry_after=7.0),
            RetryableError("rate_limit", "x", retry_after=1e9),
        ]
    )
    assert 7.0 <= waits[0] < 7.5
    assert MAX_RETRY_AFTER <= waits[1] < MAX_RETRY_AFTER + 1


def test_faults_are_given_up_after_the_attempts() -> None:
    with pytest.raises(RetryableError):
        slept([RetryableError("server_error", "x")] * 3)


def test_a_throttled_request_outlives_the_attempts_of_other_faults() -> None:
    _, requests = slept([RetryableError("rate_limit", "x")] * 8)
    assert requests == 9


def test_throttling_does_not_use_up_the_attempts_of_other_faults() -> None:
    faults = [RetryableError("rate_limit", "x")] * 5 + [RetryableError("server_error", "x")] * 2
    _, requests = slept(faults)
    assert requests == 8


def test_a_final_fault_is_not_retried() -> None:
    with pytest.raises(RequestRejected):
        slept([RequestRejected("content_filter", "x")])


def test_a_reserve_gives_out_and_grows_with_the_answers() -> None:
    budget = RetryBudget(concurrency=10)
    assert sum(budget.withdraw() for _ in range(1000)) == 240
    for _ in range(95):
        budget.deposit()
    assert sum(budget.withdraw() for _ in range(1000)) == 9


def test_a_fault_is_final_when_no_retry_can_be_afforded() -> None:
    with pytest.raises(RetryableError):
        slept([RetryableError("server_error", "x")], withdraw=lambda: False)
    _, requests = slept([RetryableError("rate_limit", "x")] * 3, withdraw=lambda: False)
    assert requests == 4


def test_a_stop_wakes_sleepers_and_keeps_the_first_reason() -> None:
    async def go() -> None:
        token = CancelToken()
        sleeper = asyncio.create_task(token.sleep(60))
        await asyncio.sleep(0)
        token.cancel(Interrupted("first"))
        token.cancel(Interrupted("second"))
        with pytest.raises(Cancelled, match="first"):
            await asyncio.wait_for(sleeper, 30)
        with pytest.raises(Cancelled):
            token.raise_if_cancelled()

    asyncio.run(go())
