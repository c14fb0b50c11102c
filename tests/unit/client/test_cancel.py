"""Signals cancel judging; outside of it, they raise Interrupted."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from judge.client.cancel import CancelToken, raise_on_signals
from judge.errors import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_cancels_and_the_earlier_handler_is_restored(number: int) -> None:
    numbers: list[int] = []
    before = signal.signal(number, lambda number, _: numbers.append(number))

    async def wait_for_cancel(token: CancelToken) -> None:
        async with token.handle_signals():
            os.kill(os.getpid(), number)
            await token.wait()
        os.kill(os.getpid(), number)
        await asyncio.sleep(0)

    token = CancelToken()
    try:
        asyncio.run(wait_for_cancel(token))
    finally:
        signal.signal(number, before)
    assert isinstance(token.reason, Interrupted)
    assert numbers == [number]


def test_a_signal_that_comes_while_the_loop_does_not_wait_cancels() -> None:
    async def send_signal(token: CancelToken) -> None:
        async with token.handle_signals():
            os.kill(os.getpid(), signal.SIGTERM)

    token = CancelToken()
    asyncio.run(send_signal(token))
    assert isinstance(token.reason, Interrupted)


def test_a_cancel_after_the_end_raises_nothing() -> None:
    async def wait_for_cancel(token: CancelToken) -> None:
        async with token.handle_signals():
            await asyncio.sleep(0)

    token = CancelToken()
    asyncio.run(wait_for_cancel(token))
    token.cancel_from_thread(Interrupted("too late"))
    assert str(token.reason) == "too late"


def run_in_thread(
    token: CancelToken, work: Callable[[], None], number: int, *events: threading.Event
) -> None:
    """Do `work` in another thread; after it sets each of `events`, raise the signal in this one."""
    with ThreadPoolExecutor(1) as executor, token.forward_signals():
        running = executor.submit(work)
        for event in events:
            assert event.wait(60)
            signal.raise_signal(number)
        running.result(60)


def wait_for_reason(token: CancelToken, is_waiting: threading.Event) -> None:
    is_waiting.set()
    while token.reason is None:
        time.sleep(0.001)


@pytest.mark.parametrize("number", NUMBERS)
def test_signals_cancel_the_judging_of_another_thread_and_end_its_calls(number: int) -> None:
    token, has_begun, is_cancelled = CancelToken(), threading.Event(), threading.Event()

    async def judge() -> None:
        async with token.handle_signals():
            has_begun.set()
            await token.wait()
            is_cancelled.set()
            await asyncio.wait_for(token.wait_for_force(None), 60)
            assert token.reason
            raise token.reason

    before = signal.getsignal(number)
    with pytest.raises(Interrupted):
        run_in_thread(token, lambda: asyncio.run(judge()), number, has_begun, is_cancelled)
    assert signal.getsignal(number) == before


def test_a_signal_before_the_judging_of_another_thread_cancels_it() -> None:
    token, is_reading = CancelToken(), threading.Event()

    async def judge() -> None:
        async with token.handle_signals():
            await asyncio.wait_for(token.wait(), 60)
            assert token.reason
            raise token.reason

    def read_and_judge() -> None:
        wait_for_reason(token, is_reading)
        asyncio.run(judge())

    with pytest.raises(Interrupted):
        run_in_thread(token, read_and_judge, signal.SIGINT, is_reading)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_after_the_judging_of_another_thread_is_raised_when_its_work_has_ended(number: int) -> None:
    token, is_writing, has_written = CancelToken(), threading.Event(), threading.Event()

    def write_files() -> None:
        wait_for_reason(token, is_writing)
        has_written.set()

    with pytest.raises(KeyboardInterrupt):
        run_in_thread(token, write_files, number, is_writing)
    assert has_written.is_set()


@pytest.mark.parametrize("number", NUMBERS)
def test_outside_of_judging_a_signal_raises_interrupted(number: int) -> None:
    before = signal.getsignal(number)
    with raise_on_signals(), pytest.raises(Interrupted, match="all judgments are saved"):
        signal.raise_signal(number)
    assert signal.getsignal(number) == before


def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_on_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_token_serves_several_loops_and_keeps_a_cancel_between_two() -> None:
    async def wait_briefly(token: CancelToken) -> bool:
        async with token.handle_signals():
            with suppress(TimeoutError):
                await asyncio.wait_for(token.wait(), 0.01)
                return False
            return True

    token = CancelToken()
    assert asyncio.run(wait_briefly(token))
    assert asyncio.run(wait_briefly(token))
    token.cancel_from_thread(Interrupted("before the third"))
    assert not asyncio.run(wait_briefly(token))
    assert str(token.reason) == "before the third"
