"""Retries: which errors have them, how many, after which wait, and their end at a cancel."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from judge.client.cancel import Cancelled, CancelToken
from judge.client.retry import RequestLimits, RetryBudget, make_retry_policy
from judge.errors import CallError, Interrupted, RequestRejected, RetryableError

LIMITS = RequestLimits(concurrency=4, attempts=3, max_wait=10, shutdown_timeout=1)


def record_waits(
    faults: Sequence[CallError], limits: RequestLimits = LIMITS, withdraw: Callable[[], bool] = lambda: True
) -> tuple[list[float], int]:
    """Return the waits and the number of requests of a call whose requests fail with `faults`, in turn."""
    waits: list[float] = []
    remaining = list(faults)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run_call() -> int:
        requests = 0
        async for attempt in make_retry_policy(limits, sleep, withdraw):
            with attempt:
                requests += 1
                if remaining:
                    raise remaining.pop(0)
        return requests

    return waits, asyncio.run(run_call())


def test_a_fault_that_passes_is_retried_after_a_growing_wait() -> None:
    waits, requests = record_waits([RetryableError("server_error", "x"), RetryableError("transport", "x")])
    assert requests == 3
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 1.5


@pytest.mark.parametrize("max_wait", [10, 3600])
def test_waits_are_never_below_retry_after_and_a_huge_one_is_cut_at_max_wait(max_wait: float) -> None:
    waits, _ = record_waits(
        [
            RetryableError("rate_limit", "x", retry_after=0.75 * max_wait),
            RetryableError("rate_limit", "x", retry_after=1e9),
        ],
        replace(LIMITS, max_wait=max_wait),
    )
    for wait, expected in zip(waits, (0.75 * max_wait, max_wait), strict=True):
        assert expected <= wait < expected + 0.5


def test_a_fault_is_final_after_the_attempts() -> None:
    with pytest.raises(RetryableError):
        record_waits([RetryableError("server_error", "x")] * 3)


def test_throttled_requests_are_retried_beyond_the_attempts_of_other_faults() -> None:
    _, requests = record_waits([RetryableError("rate_limit", "x")] * 8)
    assert requests == 9


def test_throttling_does_not_use_up_the_attempts_of_other_faults() -> None:
    faults = [RetryableError("rate_limit", "x")] * 5 + [RetryableError("server_error", "x")] * 2
    _, requests = record_waits(faults)
    assert requests == 8


def test_a_final_fault_is_not_retried() -> None:
    with pytest.raises(RequestRejected):
        record_waits([RequestRejected("content_filter", "x")])


def test_the_retry_budget_is_used_up_and_grows_with_the_answers() -> None:
    budget = RetryBudget(concurrency=10)
    assert sum(budget.withdraw() for _ in range(1000)) == 240
    for _ in range(95):
        budget.deposit()
    assert sum(budget.withdraw() for _ in range(1000)) == 9


def test_a_fault_is_final_when_the_retry_budget_is_empty() -> None:
    with pytest.raises(RetryableError):
        record_waits([RetryableError("server_error", "x")], withdraw=lambda: False)
    _, requests = record_waits([RetryableError("rate_limit", "x")] * 3, withdraw=lambda: False)
    assert requests == 4


def test_a_cancel_ends_sleeps_and_keeps_the_first_reason() -> None:
    async def cancel_during_sleep() -> None:
        token = CancelToken()
        sleeper = asyncio.create_task(token.sleep(60))
        await asyncio.sleep(0)
        token.cancel(Interrupted("first"))
        token.cancel(Interrupted("second"))
        with pytest.raises(Cancelled, match="first"):
            await asyncio.wait_for(sleeper, 30)
        with pytest.raises(Cancelled):
            token.raise_if_cancelled()

    asyncio.run(cancel_during_sleep())
