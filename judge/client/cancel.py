"""Cancellation of a run: one token with a reason, and the signals that cancel it."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from judge.errors import AccountError, Interrupted, JudgeError, RunIncomplete, StoreError
from judge.messages import Message

#: The reason of a run that a signal cancels.
_INTERRUPTED = Message("interrupted; all judgments are saved; run the same command again to continue")
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Cancelled(JudgeError):
    """No further call may start; `CancelToken.reason` says why."""


class CancelToken:
    """Cancels a run: no call starts after `cancel`. The first reason stays."""

    def __init__(self) -> None:
        self.reason: JudgeError | None = None
        self._cancelled = asyncio.Event()
        self._forced = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def cancel(self, reason: JudgeError) -> None:
        """Start no call from now on; `reason` counts unless there is one already."""
        self.reason = self.reason or reason
        self._cancelled.set()

    @contextmanager
    def cancel_on_error(self) -> Iterator[None]:
        """Cancel the run on an error that concerns all pairs, and suppress it; suppress Cancelled, too."""
        try:
            yield
        except Cancelled:
            pass
        except (AccountError, RunIncomplete, StoreError) as reason:
            self.cancel(reason)

    def cancel_from_thread(self, reason: JudgeError) -> None:
        """Cancel from another thread than the one that judges."""
        self._call_from_thread(lambda: self.cancel(reason))

    def _call_from_thread(self, call: Callable[[], None]) -> None:
        loop = self._loop
        if loop is None:
            call()
            return
        with suppress(RuntimeError):  # the loop may close at this moment
            loop.call_soon_threadsafe(call)

    def force(self) -> None:
        """End the calls in flight, too."""
        self._forced.set()

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled after `cancel`."""
        if self.reason is not None:
            raise Cancelled(self.reason.message)

    async def wait(self) -> None:
        """Wait until the token is cancelled."""
        await self._cancelled.wait()

    async def wait_for_force(self, seconds: float | None) -> None:
        """Wait for `force`, at most for `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._forced.wait(), seconds)

    async def sleep(self, seconds: float) -> None:
        """Sleep; raise Cancelled as soon as the token is cancelled."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cancelled.wait(), seconds)
        self.raise_if_cancelled()

    @asynccontextmanager
    async def handle_signals(self) -> AsyncIterator[None]:
        """Cancel on the first SIGINT, SIGTERM or SIGHUP, and end calls in flight on the second one.

        Several event loops may use the token one after the other.
        """
        self._cancelled, self._forced = asyncio.Event(), asyncio.Event()  # an event belongs to one loop
        loop = self._loop = asyncio.get_running_loop()
        if self.reason is not None:
            self._cancelled.set()
        try:
            with call_on_signals(lambda: loop.call_soon_threadsafe(self._on_signal)):
                yield
            await asyncio.sleep(0)  # for a signal that came while the loop did not wait
        finally:
            self._loop = None

    @contextmanager
    def forward_signals(self) -> Iterator[None]:
        """Cancel and end calls as `handle_signals` does, while another thread judges with the token.

        A signal that comes before the judging cancels it. Raises KeyboardInterrupt at the end where a signal
        came too late: the work of the other thread ends without an error.
        """
        has_signal = False

        def forward() -> None:
            nonlocal has_signal
            has_signal = True
            self._call_from_thread(self._on_signal)

        with call_on_signals(forward):
            yield
        if has_signal:
            raise KeyboardInterrupt

    def _on_signal(self) -> None:
        if self.reason is not None:
            self.force()
        self.cancel(Interrupted(_INTERRUPTED))


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Raise Interrupted at the point that a signal reaches, so that files and locks are closed.

    For all that a command does besides judging; `CancelToken.handle_signals` takes over while it judges.
    """

    def raise_interrupted() -> None:
        raise Interrupted(_INTERRUPTED)

    with call_on_signals(raise_interrupted):
        yield


@contextmanager
def call_on_signals(on_signal: Callable[[], object]) -> Iterator[None]:
    """Call `on_signal` at each SIGINT, SIGTERM and SIGHUP.

    Signals that this process ignores (nohup) stay ignored. Outside the main thread (a notebook), where Python
    allows no handler, signals are left as they are.
    """
    previous = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        previous = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    for number in previous:
        signal.signal(number, lambda _, __: on_signal())
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
