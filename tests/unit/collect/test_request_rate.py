"""Requests to an engine: evenly spaced, in order, and none during a pause. The time is virtual."""

import asyncio

import pytest

from judge.client.cancel import CancelToken
from judge.collect.collection import RequestPacer
from judge.errors import JudgeError, RunIncomplete


class Clock:
    """A clock that only goes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def test_turns_are_evenly_apart_and_in_order() -> None:
    async def take_turns() -> list[tuple[int, float]]:
        clock, taken = Clock(), []
        pace = RequestPacer(4.0, clock.sleep, clock.read)

        async def take(number: int) -> None:
            await pace.wait_for_turn()
            taken.append((number, clock.now - 100.0))

        await asyncio.gather(*(take(number) for number in range(4)))
        return taken

    assert asyncio.run(take_turns()) == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75)]


def test_a_pause_that_begins_during_a_wait_is_waited_for() -> None:
    async def take_second_turn() -> float:
        clock = Clock()
        paused = False

        async def sleep(seconds: float) -> None:
            nonlocal paused
            await clock.sleep(seconds)
            if not paused:
                paused = True
                pace.pause(60.0)

        pace = RequestPacer(1.0, sleep, clock.read)
        await pace.wait_for_turn()
        await pace.wait_for_turn()
        return clock.now - 100.0

    assert asyncio.run(take_second_turn()) == 61.0


def test_a_stop_ends_the_wait() -> None:
    async def wait() -> None:
        stop = CancelToken()
        pace = RequestPacer(0.001, stop.sleep)
        await pace.wait_for_turn()
        waiting = asyncio.ensure_future(pace.wait_for_turn())
        await asyncio.sleep(0)
        stop.cancel(RunIncomplete("enough"))
        await waiting

    with pytest.raises(JudgeError, match="enough"):
        asyncio.run(wait())
