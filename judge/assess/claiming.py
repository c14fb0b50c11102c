"""Owns the right to pay for a key: claimed before the first call, and given up however the calls end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

from judge.assess.desk import Desk, Seat
from judge.assess.store import Source, Store, Stored

#: Seconds before another process that is paying for a key is asked again.
LEASE_POLL_INTERVAL = 0.2


class Claim:
    """The right of this process to pay for a key, from `seat`."""

    def __init__(self, store: Store, key: str, seat: Seat) -> None:
        self.seat = seat
        self._store = store
        self._key = key
        self._ended = False

    async def begin(self) -> Stored | Literal["mine", "taken"]:
        """Claims the key; what there is instead of "mine", if that failed, needs no end."""
        held = await self._store.claim(self._key)
        self._ended = held != "mine"
        return held

    async def save(self, source: Source, verdict: Stored) -> None:
        """Stores what was paid for, with the calls that led to it; returns when it is on disk."""
        self._ended = True
        self.seat.leave()
        await self._store.save(self._key, source, verdict, self.seat.calls)

    async def end(self) -> None:
        """Frees the key, if nothing was stored under it, and keeps the calls that were made for it."""
        if not self._ended:
            self._ended = True
            self.seat.leave()
            await self._store.give_up(self._key, self.seat.calls)


@asynccontextmanager
async def claimed(store: Store, key: str, desk: Desk) -> AsyncIterator[Claim | Stored | None]:
    """What there is to do about `key`, by `async with`: a claim to pay by, or the verdict that is there.

    None when another process is paying. The claim holds a seat at `desk` and ends with the block: what
    is not saved by then is given up, and a call that was broken off is kept as one that may be billed.
    Raises Stopped when no call may start.
    """
    seen = store.look(key)
    if seen != "free":
        yield None if seen == "taken" else seen
        return
    # A seat first: claims are no more than calls may be out, so few are left when the process is killed.
    async with desk.seat(partial(store.log, key)) as seat:
        desk.stop.check()
        claim = Claim(store, key, seat)
        try:
            held = await claim.begin()
            if held == "mine":
                yield claim
                return
        finally:
            await claim.end()
    yield None if held == "taken" else held


@asynccontextmanager
async def awaited(store: Store, key: str, desk: Desk) -> AsyncIterator[Claim | Stored]:
    """As `claimed`, once no other process is paying for `key`; raises Stopped when a stop is requested."""
    while True:
        async with claimed(store, key, desk) as held:
            if held is not None:
                yield held
                return
        await desk.stop.sleep(LEASE_POLL_INTERVAL)
