"""Owns Ctrl-C and its kin: the first signal ends judging in good order, the second one at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from judge.assess.stop import Stop
from judge.errors import Interrupted

#: What an interrupted person wants to know.
KEPT = "interrupted; what was judged is kept, the same command goes on from here"
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def raising() -> Iterator[None]:
    """Signals raise Interrupted wherever they find this program, which closes and tidies as after an error.

    For all that a command does besides judging; `listening` takes over while it judges. Outside the main
    thread, where Python allows no handler, signals are left as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(_: int, __: FrameType | None) -> None:
        raise Interrupted(KEPT)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in heard:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, old in heard.items():
            signal.signal(number, old)


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Signals to this process request `stop`, where the running loop may listen to signals."""
    stop.attach()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.reason is not None:
            stop.hurry()
        stop.request(Interrupted(KEPT))

    heard = {}
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if before == signal.SIG_IGN:
            continue  # nohup and background jobs have said that this signal is not for them
        try:
            loop.add_signal_handler(number, on_signal)
        except (RuntimeError, NotImplementedError, ValueError):
            break  # not the main thread (a notebook), or a system without: Python's own way stays
        heard[number] = before
    try:
        yield
    finally:
        stop.detach()
        for number, before in heard.items():
            loop.remove_signal_handler(number)
            if before is not None:  # set by something that isn't Python, and then asyncio's way must do
                signal.signal(number, before)
