"""Who may call when: scouts, outages, the order of those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from judge.assess.gate import Gate
from judge.assess.pace import Turn
from judge.assess.schedule import LONGEST_WAIT
from tests.assess import virtual


def play(scene: Coroutine[Any, Any, None]) -> None:
    """Plays `scene` in virtual time, of which it may not take an hour."""
    virtual.run(asyncio.wait_for(scene, 3600))


async def opened(ceiling: int) -> Gate:
    """A gate whose first scout was answered, with a verdict."""
    gate = Gate(ceiling)
    gate.confirm()
    turn = await gate.enter()
    gate.answered(turn)
    gate.leave(turn)
    return gate


async def called(gate: Gate, **ending: Any) -> Turn:
    """A call that failed as `ending` says, or was answered."""
    turn = await gate.enter()
    if ending:
        gate.failed(turn, **ending)
    else:
        gate.answered(turn)
    gate.leave(turn)
    return turn


def scouts(gate: Gate) -> bool:
    """Whether `gate` scouts; a type checker would take an attribute for constant."""
    return gate.scouting


def now() -> float:
    """The virtual time."""
    return asyncio.get_running_loop().time()


def test_eight_requests_leave_spread_over_a_second_and_a_verdict_lets_more_follow() -> None:
    async def scene() -> None:
        gate = Gate(64)
        turns = [asyncio.create_task(gate.enter()) for _ in range(100)]
        await asyncio.sleep(60)
        assert gate.in_flight == 8
        left = [turn.result().at for turn in turns[:8]]
        assert left == pytest.approx([number / 8 for number in range(8)], abs=0.02)
        gate.answered(turns[0].result())
        gate.leave(turns[0].result())
        await asyncio.sleep(2)
        assert gate.in_flight == 8
        gate.confirm()
        await asyncio.sleep(4)
        assert gate.in_flight == 64

    play(scene())


def test_no_more_than_eight_leave_until_the_first_answer_and_one_at_a_time_after_a_failure() -> None:
    async def scene() -> None:
        gate = Gate(64)
        waiting = [asyncio.create_task(gate.enter()) for _ in range(100)]
        await asyncio.sleep(10)
        first = [turn.result() for turn in waiting if turn.done()]
        for turn in first:
            gate.failed(turn)
            gate.leave(turn)
        await asyncio.sleep(1.1)
        assert sum(turn.done() for turn in waiting) == 9
        await asyncio.sleep(3)
        assert gate.in_flight == 1

    play(scene())


def test_scouts_follow_each_other_at_growing_intervals_until_one_is_answered() -> None:
    async def scene() -> None:
        gate = Gate(8)
        left = []
        for _ in range(7):
            left.append((await called(gate, retry_after=None)).at)
        waits = [later - earlier for earlier, later in pairwise(left)]
        assert waits == pytest.approx([1, 2, 4, 5, 5, 5], abs=0.01)
        assert gate.silence() == pytest.approx(22, abs=0.1)
        await called(gate)
        assert gate.silence() == 0
        assert not scouts(gate)

    play(scene())


def test_five_failures_in_a_row_are_an_outage_and_an_answer_between_is_none() -> None:
    async def scene() -> None:
        gate = await opened(8)
        for _ in range(3):
            for _ in range(4):
                await called(gate, retry_after=None)
            await called(gate)
        assert not scouts(gate)
        for _ in range(5):
            await called(gate, retry_after=None)
        assert scouts(gate)
        began = now()
        assert (await called(gate)).at == pytest.approx(began + 0.5, abs=0.01)
        assert not scouts(gate)

    play(scene())


def test_what_left_before_an_outage_says_nothing_of_it() -> None:
    async def scene() -> None:
        gate = await opened(32)
        turns = [await gate.enter() for _ in range(20)]
        for turn in turns[:5]:
            gate.failed(turn)
        assert scouts(gate)
        for turn in turns[5:]:
            gate.failed(turn)
        scout = await gate.enter()
        assert scout.at - turns[-1].at < 1
        gate.answered(turns[0])
        assert scouts(gate)
        gate.answered(scout)
        assert not scouts(gate)

    play(scene())


@pytest.mark.parametrize(("asked", "waited"), [(7.0, 7.0), (1e9, LONGEST_WAIT)])
def test_nobody_scouts_before_the_moment_that_a_scout_was_told(asked: float, waited: float) -> None:
    async def scene() -> None:
        gate = Gate(8)
        first = await called(gate, retry_after=asked, turned_away=True)
        second = await called(gate)
        assert second.at - first.at == pytest.approx(waited, abs=0.01)

    play(scene())


def test_a_scout_that_asks_nothing_makes_way() -> None:
    async def scene() -> None:
        gate = Gate(8)
        gate.leave(await gate.enter(), unused=True)
        await gate.enter()
        assert now() == 0

    play(scene())


def test_those_who_wait_leave_in_order_but_for_who_comes_first() -> None:
    async def scene() -> None:
        gate = Gate(8)
        scout = await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
        waiting.append(asyncio.create_task(gate.enter(after=scout)))
        await asyncio.wait([waiting[2]])
        waiting[0].cancel()
        gate.answered(waiting[2].result())
        await asyncio.wait(waiting)
        assert waiting[0].cancelled()
        assert [task.result().number for task in waiting[1:]] == [3, 2]
        assert gate.in_flight == 2

    play(scene())


def test_who_is_cancelled_with_a_turn_in_hand_gives_it_back() -> None:
    async def scene() -> None:
        gate = Gate(8)
        scout = await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        gate.leave(scout)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert gate.in_flight == 0

    play(scene())


def test_turns_that_nobody_uses_cost_no_time_and_say_nothing_of_the_server() -> None:
    async def scene() -> None:
        gate = await opened(8)
        for _ in range(500):
            gate.leave(await gate.enter(), unused=True)
        assert now() < 0.1
        left = [(await called(gate)).at for _ in range(8)]
        assert left[-1] - left[0] > 0.1

    play(scene())


def test_an_abandoned_gate_lets_everybody_through() -> None:
    async def scene() -> None:
        gate = Gate(1)
        await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(5)]
        await asyncio.sleep(0)
        gate.abandon()
        await asyncio.wait(waiting)
        assert now() == 0

    play(scene())
