"""Owns Ctrl-C: the first signal ends judging in good order, the second one at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from judge.assess.stop import Stop
from judge.errors import Interrupted

#: What an interrupted person wants to know.
KEPT = "interrupted; what was judged is kept, the same command goes on from here"
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Signals to this process request `stop`, where the running loop may listen to signals."""
    stop.attach()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.reason is not None:
            stop.hurry()
        stop.request(Interrupted(KEPT))

    heard = []
    for number in _SIGNALS:
        if signal.getsignal(number) == signal.SIG_IGN:
            continue  # nohup and background jobs have said that this signal is not for them
        try:
            loop.add_signal_handler(number, on_signal)
        except (RuntimeError, NotImplementedError, ValueError):
            break  # not the main thread (a notebook), or a system without: Python's own way stays
        heard.append(number)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
