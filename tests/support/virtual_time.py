"""Virtual time: an event loop whose clock jumps to the next timer, so that tests do not wait."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that does not wait, and adds the timeout to its clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; its tasks must not wait for anything outside the loop."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the seconds of virtual time."""
        return self._clock.now


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run `main` in virtual time and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
