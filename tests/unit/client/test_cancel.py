"""Signals cancel judging; outside of it, they raise Interrupted."""

import asyncio
import os
import signal
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
