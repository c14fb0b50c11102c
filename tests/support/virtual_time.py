"""Virtual time: an event loop whose clock jumps to the next timer, so that tests do not wait."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
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


def run_test(test: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[Parameters, None]:
    """Decorate a test to run in virtual time, for an hour at most."""

    @functools.wraps(test)
    def run_coroutine(*arguments: Parameters.args, **fixtures: Parameters.kwargs) -> None:
        run(asyncio.wait_for(test(*arguments, **fixtures), 3600))

    return run_coroutine
