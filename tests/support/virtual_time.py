"""Virtual time, so that tests do not wait: the clock of a loop jumps to the next timer, or is put forward."""

import asyncio
import functools
import selectors
import sys
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from judge.store import writer

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that does not wait, and adds the timeout to its clock.

    It waits only for the `writes` to a store that are on their way: no virtual time passes until they are on
    disk, however long that takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.writes: set[asyncio.Future[Any]] = set()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.writes = {write for write in self.writes if not write.done()}
        if self.writes and timeout != 0:
            return super().select(None)
        if timeout:
            self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; its tasks wait for nothing outside the loop but writes to a store."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the seconds of virtual time."""
        return self._clock.now

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future; one that the thread of a store will end is counted as a write."""
        future = super().create_future()
        if sys._getframe(1).f_globals["__name__"] == writer.__name__:
            self._clock.writes.add(future)
        return future


class AdjustableLoop(asyncio.SelectorEventLoop):
    """An event loop with sockets; `advance` puts its clock forward, so that a timeout ends without a wait."""

    _ahead = 0.0

    def time(self) -> float:
        """Return the seconds of the clock."""
        return super().time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Put the clock forward by `seconds`; another thread calls it by `call_soon_threadsafe`."""
        self._ahead += seconds


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
