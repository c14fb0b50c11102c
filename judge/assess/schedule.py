"""Owns when a call may start: the adaptive limit of calls in flight, retries, allowances, stopping.

Retries have this one owner; adapters and their libraries retry nothing. A pair that waits for its
next attempt holds no slot, so another pair uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_exponential_jitter,
    wait_random,
)

from judge.errors import CallError, Incomplete, JudgeError, Transient
from judge.records import Usage

#: Longest wait that a server may ask for, in seconds; an absurd Retry-After is cut to it.
LONGEST_WAIT = 120.0
_SHRINK, _EPISODE = 0.7, 1.0
#: How many of the latest calls tell a server that is busy from one that turns everybody away.
_LATEST = 20


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: fresh input, input served from the provider's cache, output."""

    input: float
    output: float
    cached: float

    def usd(self, usage: Usage) -> float:
        """What `usage` costs, in US dollars."""
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (
            fresh * self.input + usage.cached_tokens * self.cached + usage.completion_tokens * self.output
        ) / 1e6


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


class Stopped(JudgeError):
    """No further call may start; `Stop.reason` says why."""


class Stop:
    """Tells everybody that no further call may start. The first reason stays."""

    def __init__(self) -> None:
        self.reason: JudgeError | None = None
        self._event = asyncio.Event()
        self._hurry = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Lets `request_from_outside` reach the loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def request_from_outside(self, reason: JudgeError) -> None:
        """Requests a stop from another thread than the one that judges."""
        if self._loop is None:
            self.reason = self.reason or reason
        else:
            self._loop.call_soon_threadsafe(self.request, reason)

    def request(self, reason: JudgeError) -> None:
        """Lets no call start from now on."""
        self.reason = self.reason or reason
        self._event.set()

    def hurry(self) -> None:
        """Lets calls in flight not come home either."""
        self._hurry.set()

    async def wait_for_hurry(self, seconds: float | None) -> None:
        """Returns when somebody is in a hurry, or after `seconds` if that comes first."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    def check(self) -> None:
        """Raises Stopped when a stop was requested."""
        if self.reason is not None:
            raise Stopped(str(self.reason))

    async def wait(self) -> None:
        """Returns when a stop is requested."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleeps, or raises Stopped as soon as a stop is requested."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return
        self.check()


class Gate:
    """Calls in flight, limited by what the server takes.

    The limit starts at `ceiling`, shrinks by a third once an episode of overload (one second), and
    grows back by one for each round of answers: additive increase, multiplicative decrease. When the
    server turns half of the latest calls away, nobody calls for as long as it asked.
    """

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = float(ceiling)
        self.in_flight = 0
        self._ceiling = ceiling
        self._clock = clock
        self._shrunk_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turned_away: deque[bool] = deque(maxlen=_LATEST)
        self._resumes_at = float("-inf")

    async def enter(self) -> None:
        """Takes a slot, waiting for one in the order of asking."""
        if self._is_open() and not self._waiting:
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Gives a slot back, to whoever waits longest."""
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._is_open():
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def _is_open(self) -> bool:
        return self.in_flight + 1 <= self.limit and self._clock() >= self._resumes_at

    def answered(self) -> None:
        """The server coped: the limit grows towards the ceiling."""
        self._turned_away.append(False)
        if self.limit < self._ceiling:
            self.limit = min(self._ceiling, self.limit + 1 / self.limit)
            self._admit()

    def overloaded(self, retry_after: float | None = None) -> None:
        """The server asked for less: the limit shrinks, once an episode; `retry_after` is in seconds."""
        now = self._clock()
        self._turned_away.append(True)
        if retry_after and sum(self._turned_away) >= _LATEST / 2:
            pause = min(retry_after, LONGEST_WAIT)
            self._turned_away.clear()
            self._resumes_at = now + pause
            # A little later, because a timer may fire a tick early and then nobody would be let in.
            asyncio.get_running_loop().call_later(pause + 0.01, self._admit)
        if now - self._shrunk_at >= _EPISODE:
            self._shrunk_at = now
            self.limit = max(1.0, self.limit * _SHRINK)

    def abandon(self) -> None:
        """Lets everybody in who waits: a stop was requested, and they are to find out."""
        self._resumes_at, self.limit = float("-inf"), float("inf")
        self._admit()


class Allowance:
    """What may still be paid in this execution; a ceiling can be overshot by the calls in flight."""

    def __init__(self, limits: Limits) -> None:
        self.calls = 0
        self.usd: float | None = 0.0 if limits.price else None
        self._uncounted = 0
        self._limits = limits

    def take(self) -> None:
        """Books one call; raises Incomplete when `max_calls` or `budget` is used up or can't be kept."""
        if self._limits.max_calls is not None and self.calls >= self._limits.max_calls:
            raise Incomplete(f"--max-calls {self._limits.max_calls} is used up; raise it and run again")
        if self._limits.budget is not None and (self.usd or 0.0) >= self._limits.budget:
            raise Incomplete(f"--budget {self._limits.budget:g} USD is used up; raise it and run again")
        if self._limits.budget is not None and self._uncounted:
            raise Incomplete("the server counts no tokens, so --budget can't be kept; use --max-calls")
        self.calls += 1

    def spend(self, usage: Usage | None) -> None:
        """Books what a call cost, where a price is known."""
        self._uncounted += usage is None
        if usage is not None and self._limits.price is not None:
            self.usd = (self.usd or 0.0) + self._limits.price.usd(usage)


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
