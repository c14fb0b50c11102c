"""Signals end judging in good order, and only judging."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from judge.client.cancel import CancelToken, raise_on_signals
from judge.errors import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_asks_for_a_stop_and_whoever_listened_before_listens_again(number: int) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda number, _: heard.append(number))

    async def judging(token: CancelToken) -> None:
        with token.handle_signals():
            os.kill(os.getpid(), number)
            await token.wait()
        os.kill(os.getpid(), number)
        await asyncio.sleep(0)

    token = CancelToken()
    try:
        asyncio.run(judging(token))
    finally:
        signal.signal(number, before)
    assert isinstance(token.reason, Interrupted)
    assert heard == [number]


def test_a_stop_from_outside_that_comes_after_the_end_harms_nobody() -> None:
    async def judging(token: CancelToken) -> None:
        with token.handle_signals():
            await asyncio.sleep(0)

    token = CancelToken()
    asyncio.run(judging(token))
    token.cancel_from_thread(Interrupted("too late"))
    assert str(token.reason) == "too late"


@pytest.mark.parametrize("number", NUMBERS)
def test_outside_of_judging_a_signal_ends_whatever_is_done(number: int) -> None:
    before = signal.getsignal(number)
    with raise_on_signals(), pytest.raises(Interrupted, match="what was judged is kept"):
        signal.raise_signal(number)
    assert signal.getsignal(number) == before


def test_a_signal_that_nohup_silenced_stays_silent() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_on_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_token_serves_several_loops_and_a_stop_between_two_stays() -> None:
    async def waits(token: CancelToken) -> bool:
        with token.handle_signals(), suppress(TimeoutError):
            await asyncio.wait_for(token.wait(), 0.01)
            return False
        return True

    token = CancelToken()
    assert asyncio.run(waits(token))
    assert asyncio.run(waits(token))
    token.cancel_from_thread(Interrupted("before the third"))
    assert not asyncio.run(waits(token))
    assert str(token.reason) == "before the third"
