"""Owns how hard a run may try: its limits, and when a request is made again.

Retries have this one owner; adapters and their libraries retry nothing. A pair that waits for its
next attempt holds no slot, so another pair uses it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_exponential_jitter,
    wait_random,
)

from judge.assess.price import Price
from judge.errors import CallError, Transient

#: Longest wait that a server may ask for, in seconds; an absurd Retry-After is cut to it.
LONGEST_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard and how long a run may try.

    `attempts` is for one request, `patience` the seconds after which a throttled pair is given up,
    `grace` the seconds that calls in flight get when the run is stopped.
    """

    concurrency: int
    attempts: int
    patience: float
    grace: float
    max_calls: int | None = None
    budget: float | None = None
    price: Price | None = None


def retrying(limits: Limits, sleep: Callable[[float], Awaitable[None]]) -> AsyncRetrying:
    """The retry policy of one request: only `Transient` faults, as often as `limits` allow."""
    backoff = wait_exponential_jitter(multiplier=0.5, max=60, jitter=0.5)
    # Pairs that were told the same second must not all come back in it.
    spread = wait_random(0, 0.25)

    def wait(state: RetryCallState) -> float:
        asked = _fault(state).retry_after
        return backoff(state) if asked is None else min(asked, LONGEST_WAIT) + spread(state)

    failed = 0

    def hopeless(state: RetryCallState) -> bool:
        nonlocal failed
        if _fault(state).kind == "rate_limit":
            return (state.seconds_since_start or 0.0) > limits.patience
        failed += 1
        return failed >= limits.attempts

    return AsyncRetrying(
        retry=retry_if_exception_type(Transient), wait=wait, stop=hopeless, sleep=sleep, reraise=True
    )


def _fault(state: RetryCallState) -> CallError:
    fault = state.outcome.exception() if state.outcome else None
    if not isinstance(fault, CallError):
        raise TypeError(f"only faults of calls are retried, not {fault!r}")
    return fault
