"""Owns the part of a command that waits for servers: assessors judge in turn, and signals are heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from judge.assess.assessor import Assessor
from judge.assess.desk import Desk
from judge.assess.judging import Judging, judge_pool, together
from judge.assess.signals import listening
from judge.assess.store import Store
from judge.assess.watch import Watch
from judge.errors import Interrupted, StoreError
from judge.records import Pool


async def judge_in_turn(
    pool: Pool, desks: Sequence[tuple[Assessor, Desk]], store: Store, repeats: int, watch: Watch
) -> list[Judging]:
    """What each assessor makes of `pool`, in the order of `desks`, which share one stop; closes the models.

    Raises Interrupted when a person or a signal ended it, StoreError when verdicts can't be kept.
    """
    stop = desks[0][1].stop
    judgings = []
    async with AsyncExitStack() as models:
        for model in dict.fromkeys(desk.model for _, desk in desks):
            models.push_async_callback(model.aclose)
        with listening(stop):
            for assessor, desk in desks:
                judgings.append(await judge_pool(pool, assessor, store, desk, repeats, watch))
            await asyncio.sleep(0.01)  # a signal that came while nothing was waited for is heard now
    if isinstance(stop.reason, Interrupted):
        raise Interrupted(f"{stop.reason}: {_so_far(judgings, len(desks) * repeats * len(pool.pairs))}")
    if isinstance(stop.reason, StoreError):
        raise stop.reason
    return judgings


def _so_far(judgings: Sequence[Judging], wanted: int) -> str:
    """How many grades there are of those that are wanted, and what they cost."""
    judged = sum(each.grade is not None for judging in judgings for each in judging.judgments)
    usd = together(judgings).cost.usd
    return f"{judged:,} of {wanted:,} judged" + (f", ${usd:.4f}" if usd else "")
