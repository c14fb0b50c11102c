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

from judge.errors import CallError, RetryableError
from judge.pricing.prices import Price

#: Longest wait that a server may ask for, in seconds; an absurd Retry-After is cut to it where `max_wait`
#: (`Limits`) doesn't end the run.
LONGEST_WAIT = 600.0
#: Retries that a run can afford before any answer (and four per call in flight), and per answer.
_RESERVE, _PER_ANSWER = 200.0, 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard and how long a run may try.

    `attempts` is for one request, `max_wait` the seconds after which a throttled pair or a silent server
    is given up, and the longest that a server may ask to wait; `grace` the seconds that calls in flight
    get when the run is stopped.
    """

    concurrency: int
    attempts: int
    max_wait: float
    grace: float
    max_calls: int | None = None
    budget: float | None = None
    price: Price | None = None


class Reserve:
    """How many retries a run can afford: so many at first, and one more for every ten answers.

    A server that fails all the time is thus not asked several times as often as one that works.
    """

    def __init__(self, concurrency: int) -> None:
        self._most = self._left = _RESERVE + 4.0 * concurrency

    def answered(self) -> None:
        """A call was answered."""
        self._left = min(self._most, self._left + _PER_ANSWER)

    def take(self) -> bool:
        """Whether there was a retry left to take."""
        enough = self._left >= 1
        self._left -= enough
        return enough


def retrying(
    limits: Limits, sleep: Callable[[float], Awaitable[None]], afford: Callable[[], bool]
) -> AsyncRetrying:
    """The retry policy of one request: only `Transient` faults, as often as `limits` and `afford` allow.

    Being turned away costs neither attempts nor reserve; it lasts `max_wait` seconds at most.
    """
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
            return (state.seconds_since_start or 0.0) > limits.max_wait
        failed += 1
        return failed >= limits.attempts or not afford()

    return AsyncRetrying(
        retry=retry_if_exception_type(RetryableError), wait=wait, stop=hopeless, sleep=sleep, reraise=True
    )


def _fault(state: RetryCallState) -> CallError:
    fault = state.outcome.exception() if state.outcome else None
    if not isinstance(fault, CallError):
        raise TypeError(f"only faults of calls are retried, not {fault!r}")
    return fault
