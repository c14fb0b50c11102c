"""Owns how many calls are in flight: an adaptive limit, and pauses when a server asks for one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from judge.assess.schedule import LONGEST_WAIT

_SHRINK, _EPISODE = 0.7, 1.0
#: How many of the latest calls tell a server that is busy from one that turns everybody away.
_LATEST = 20


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
