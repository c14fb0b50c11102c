"""Owns calls that block a thread and may never return: each has a thread that no exit waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread


async def run_blocking(call: Callable[[], str], seconds: float) -> str | BaseException:
    """What `call` gives or raises, a TimeoutError when that takes more than `seconds`.

    What a call may raise is known to its own package only, so it is an outcome and no exception. A call
    that is given up goes on in its thread and ends with the process at the latest.
    """
    told: Future[str] = Future()
    told.set_running_or_notify_cancel()  # from here on a cancelled waiter is no cancelled call
    Thread(target=copy_context().run, args=(_tell, told, call), name="aside", daemon=True).start()
    waiting = asyncio.wrap_future(told)
    try:
        await asyncio.wait({waiting}, timeout=seconds)
        if not waiting.done():
            return TimeoutError(f"no answer within {seconds:g} s")
        return waiting.exception() or waiting.result()
    finally:
        waiting.cancel()


def _tell(told: Future[str], call: Callable[[], str]) -> None:
    try:
        told.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whoever waits gets it, whatever it is
        told.set_exception(error)
