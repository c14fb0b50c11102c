"""Owns where requests leave from: one desk a run, a seat for every pair that is being asked about."""

from __future__ import annotations

from typing import Self

from judge.assess.allowance import Allowance
from judge.assess.gate import Gate
from judge.assess.schedule import Limits, retrying
from judge.assess.stop import Stop
from judge.assess.store import Call
from judge.errors import AccountRefused, CallError, Declined
from judge.models import Model
from judge.records import Completion, Prompt


class Desk:
    """The model with all that its callers share: the gate, the allowance and the stop."""

    def __init__(self, model: Model, limits: Limits, stop: Stop) -> None:
        self.model = model
        self.limits = limits
        self.stop = stop
        self.gate = Gate(limits.concurrency)
        self.allowance = Allowance(limits)

    def seat(self) -> Seat:
        """A place for one pair, taken by `async with`."""
        return Seat(self)


class Seat:
    """One pair's place at the desk: it holds a slot of the gate, except while it rests.

    `calls` are the requests that were made from here.
    """

    def __init__(self, desk: Desk) -> None:
        self.calls: list[Call] = []
        self._desk = desk
        self._held = False

    async def __aenter__(self) -> Self:
        await self._desk.gate.enter()
        self._held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._held:
            self._desk.gate.leave()

    async def rest(self, seconds: float) -> None:
        """Waits without keeping others waiting; raises Stopped when a stop is requested meanwhile."""
        self._desk.gate.leave()
        self._held = False
        await self._desk.stop.sleep(seconds)
        await self._desk.gate.enter()
        self._held = True

    async def complete(self, prompt: Prompt) -> Completion:
        """The completion of `prompt`, retried where that can help.

        Raises CallError when it can't, Incomplete when the allowance is used up, Stopped when no
        further call may start.
        """
        async for attempt in retrying(self._desk.limits, self.rest):
            with attempt:
                self._desk.stop.check()
                self._desk.allowance.take()
                return await self._request(prompt)
        raise Declined("no_attempt", "the retry policy allowed no attempt")

    async def _request(self, prompt: Prompt) -> Completion:
        desk = self._desk
        try:
            completion = await desk.model.complete(prompt)
        except CallError as fault:
            self.calls.append(Call(fault.kind, maybe_billed=fault.billed))
            if isinstance(fault, AccountRefused):
                desk.stop.request(fault)  # at once, before anybody takes the slot that this leaves
            elif fault.kind in ("rate_limit", "server_error"):
                desk.gate.overloaded(fault.retry_after)
            raise
        self.calls.append(Call("answered", completion.usage))
        desk.allowance.spend(completion.usage)
        desk.gate.answered()
        return completion
