"""Owns how often an engine is asked: evenly, and not at all while it wants to be left alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class RequestPacer:
    """Turns at one engine, `rate` a second at most, in the order of asking; `sleep` may end a wait early."""

    def __init__(
        self,
        rate: float,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = 1 / rate
        self._sleep = sleep
        self._clock = clock
        self._next = float("-inf")
        self._turns = asyncio.Lock()

    async def turn(self) -> None:
        """Waits until the engine may be asked once."""
        async with self._turns:
            # Somebody may have asked for a pause during the sleep.
            while (wait := self._next - self._clock()) > 0:
                await self._sleep(wait)
            self._next = self._clock() + self._interval

    def pause(self, seconds: float) -> None:
        """Gives nobody a turn for `seconds`."""
        self._next = max(self._next, self._clock() + seconds)
