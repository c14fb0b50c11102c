"""Owns where requests leave from: one desk a run, a seat for every pair that is being asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from judge.assess.allowance import Allowance
from judge.assess.gate import Gate
from judge.assess.pace import Turn
from judge.assess.schedule import Limits, Reserve, retrying
from judge.assess.stop import Stop
from judge.assess.store import ANSWERED, LOST, Call
from judge.errors import AccountRefused, CallError, Conceded, Declined, Incomplete, Transient
from judge.models import Model
from judge.records import Completion, Prompt

#: Where calls are written down.
Ledger = Callable[[Sequence[Call]], None]


class Desk:
    """The model with all that its callers share: the gate, the allowance and the stop."""

    def __init__(self, model: Model, limits: Limits, stop: Stop, allowance: Allowance | None = None) -> None:
        self.model = model
        self.limits = limits
        self.stop = stop
        self.gate = Gate(limits.concurrency)
        self.reserve = Reserve(limits.concurrency)
        #: The members of a panel spend from one.
        self.allowance = allowance or Allowance(limits)

    def seat(self, ledger: Ledger | None = None) -> Seat:
        """A place for one pair, taken by `async with`; calls from there are written down in `ledger`."""
        return Seat(self, ledger)


class Seat:
    """One pair's place at the desk: it holds a place in the gate, except while it rests.

    `calls` are the requests that were made from here and are in no ledger yet: that is the last one when
    it was answered, because it is written down with the verdict that it led to.
    """

    def __init__(self, desk: Desk, ledger: Ledger | None) -> None:
        self.calls: list[Call] = []
        self._desk = desk
        self._ledger = ledger
        #: Good for one request.
        self._turn: Turn | None = None
        self._used = False

    async def __aenter__(self) -> Self:
        await self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    async def rest(self, seconds: float) -> None:
        """Waits without keeping others waiting; raises Stopped when a stop is requested meanwhile."""
        self.leave()
        await self._desk.stop.sleep(seconds)
        await self._enter()

    async def complete(self, prompt: Prompt) -> Completion:
        """The completion of `prompt`, retried where that can help.

        Raises CallError when it can't, Incomplete when the allowance is used up or the server is gone,
        Stopped when no further call may start.
        """
        desk = self._desk
        async for attempt in retrying(desk.limits, self.rest, desk.reserve.take):
            with attempt:
                return await self._agree(prompt)
        raise Declined("no_attempt", "the retry policy allowed no attempt")

    async def _agree(self, prompt: Prompt) -> Completion:
        """Asks at once again as often as the adapter has to give something up."""
        while True:
            if self._used:
                await self._enter()
            self._desk.stop.check()
            self._desk.allowance.take()
            try:
                return await self._request(prompt)
            except Conceded:
                continue

    async def _enter(self) -> None:
        """Waits for a turn, before all others if there is one to give back."""
        used, self._turn = self._turn, None
        self._turn, self._used = await self._desk.gate.enter(after=used), False

    def leave(self) -> None:
        """Gives the place up, if it is not given up yet."""
        if self._turn is not None:
            self._desk.gate.leave(self._turn, unused=not self._used)
            self._turn = None

    async def _request(self, prompt: Prompt) -> Completion:
        desk = self._desk
        self._used = True
        self._write_down()
        # What a call is when nobody waits for its end.
        call = Call(LOST, maybe_billed=True)
        try:
            completion = await desk.model.complete(prompt)
            call = Call(ANSWERED, completion.usage)
        except CallError as fault:
            call = Call(fault.kind, fault.usage, fault.billed)
            self._meet(fault)
            raise
        finally:
            self.calls.append(call)
            answered = call.outcome == ANSWERED
            desk.allowance.settle(call.usage, desk.limits.price, answered=answered, billed=call.maybe_billed)
            if not answered:
                self._write_down()
        desk.reserve.answered()
        self._tell_gate()
        return completion

    def _write_down(self) -> None:
        if self.calls and self._ledger is not None:
            self._ledger(tuple(self.calls))
            self.calls.clear()

    def _meet(self, fault: CallError) -> None:
        """Tells those whom `fault` concerns besides this pair."""
        if isinstance(fault, AccountRefused):
            self._desk.stop.request(fault)  # at once, before anybody takes the slot that this leaves
        elif isinstance(fault, Transient):
            self._tell_gate(fault)
        elif isinstance(fault, Declined):
            self._tell_gate()

    def _tell_gate(self, fault: Transient | None = None) -> None:
        """Says how the call of this place ended; raises Incomplete when the server is silent for too long."""
        gate, limits = self._desk.gate, self._desk.limits
        if self._turn is None:
            return
        if fault is None:
            gate.answered(self._turn)
            return
        turned_away = fault.kind == "rate_limit" or fault.retry_after is not None
        # Who retries nothing waits for no server to come back either.
        if turned_away or limits.attempts > 1:
            gate.failed(self._turn, fault.retry_after, turned_away=turned_away)
        if gate.silence() > limits.patience:
            raise Incomplete(
                f"no answer from {self._desk.model.endpoint} for {gate.silence():.0f} s, at last: {fault};"
                " check the server, then run the same command again: what was judged is kept"
            ) from fault
