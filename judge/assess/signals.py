"""Owns Ctrl-C: the first signal ends judging in good order, the second one at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from judge.assess.schedule import Stop
from judge.errors import Interrupted

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def stoppable() -> Iterator[Stop]:
    """A `Stop` that signals to this process request, where the running loop may listen to signals."""
    stop = Stop()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.reason is not None:
            stop.hurry()
        stop.request(Interrupted("interrupted; what was judged is kept, the same command goes on from here"))

    heard = []
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, on_signal)
        except (RuntimeError, NotImplementedError, ValueError):
            break  # not the main thread (a notebook), or a system without: Python's own way stays
        heard.append(number)
    try:
        yield stop
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
