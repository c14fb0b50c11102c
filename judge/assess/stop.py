"""Owns ending in good order: one reason, told to everybody who would start another call."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from judge.errors import JudgeError


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

    def detach(self) -> None:
        """Ends what `attach` began: the loop may close now."""
        self._loop = None

    def request_from_outside(self, reason: JudgeError) -> None:
        """Requests a stop from another thread than the one that judges; after the end it changes nothing."""
        loop = self._loop
        if loop is None:
            self.reason = self.reason or reason
            return
        with suppress(RuntimeError):  # the loop has closed this very moment
            loop.call_soon_threadsafe(self.request, reason)

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
