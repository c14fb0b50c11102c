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
from judge.errors import AccountRefused, CallError, Conceded, Declined, Incomplete, Transient, Unconnected
from judge.models import Model
from judge.records import Completion, Prompt

#: Seconds that a server gets which nobody has reached in this run: it may just be starting, unless waiting
#: will not help.
_STARTING, _LASTING = 20.0, 0.5
#: Waits of so many seconds are worth a word.
_LONG = 60.0
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
        #: Whether the server was heard of in this run, whatever it said.
        self.reached = False
        #: The longest wait that the server asked for and got, in seconds.
        self.waited_for = 0.0
        #: The members of a panel spend from one.
        self.allowance = allowance or Allowance(limits)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What there is to say of the server when the work is done."""
        asked = f"{self.model.endpoint} asked to wait for up to {waiting(self.waited_for)} (Retry-After)"
        return (asked,) if self.waited_for > _LONG else ()

    def seat(self, ledger: Ledger | None = None) -> Seat:
        """A place for one pair, taken by `async with`; calls from there are written down in `ledger`."""
        return Seat(self, ledger)


def waiting(seconds: float) -> str:
    """So many seconds in words."""
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.6g} h"


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
        desk.reached = True
        desk.reserve.answered()
        self._tell_gate()
        return completion

    def _write_down(self) -> None:
        if self.calls and self._ledger is not None:
            self._ledger(tuple(self.calls))
            self.calls.clear()

    def _meet(self, fault: CallError) -> None:
        """Tells those whom `fault` concerns besides this pair."""
        if not isinstance(fault, Unconnected):
            self._desk.reached = True
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
        self._despair(fault)

    def _despair(self, fault: Transient) -> None:
        """Raises Incomplete when the server is silent for too long, or says that it will be.

        That is soon where it never was heard of.
        """
        desk, patience = self._desk, self._desk.limits.patience
        silence = desk.gate.silence()
        asked = fault.retry_after or 0.0
        if asked > patience:
            silence = asked
            said = f"{desk.model.endpoint} asks to come again in {waiting(asked)} ({fault}); wait for so long"
        elif isinstance(fault, Unconnected) and not desk.reached:
            patience = min(patience, _LASTING if fault.lasting else _STARTING)
            said = f"no connection to {fault.detail}; check --base-url, the network and that the server runs"
        else:
            said = f"no answer from {desk.model.endpoint} for {silence:.0f} s, at last: {fault}"
            said += "; check the server"
        if silence > patience:
            raise Incomplete(f"{said}, then run the same command again: what was judged is kept") from fault
        desk.waited_for = max(desk.waited_for, asked)
