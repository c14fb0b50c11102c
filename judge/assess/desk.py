"""Where requests leave from: one desk for each model of a run, one seat for each pair that is asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self
from urllib.parse import urlsplit

from judge.assess.allowance import Allowance
from judge.assess.gate import Gate
from judge.assess.pace import Turn
from judge.assess.schedule import Limits, Reserve, retrying
from judge.assess.stop import Stop
from judge.assess.store import ANSWERED, LOST, Call
from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    NoResponse,
    ParametersRejected,
    RequestRejected,
    RetryableError,
    RunIncomplete,
    TimedOut,
)
from judge.models import Model
from judge.records import Completion, Prompt

#: Seconds for which connections to a server are tried that has not answered in this run: it may just be
#: starting; fewer where waiting does not help.
_STARTING, _LASTING = 20.0, 0.5
#: Timeouts, HTML pages and broken connections, the last over so many seconds, after which a run stops at a
#: server that has not answered.
_MAX_TIMEOUTS, _MAX_PAGES, _MAX_BROKEN, _BREAKING = 3, 3, 5, 10.0
#: Waits of so many seconds are worth a word.
_LONG = 60.0
#: What may be wrong where connections to an http:// address are closed.
_TLS = " (a port that speaks TLS needs https://)"
#: Seconds without an answer after which the progress says what is waited for.
_SLOW = 5.0
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
        #: Whether a response of the server's API arrived in this run, whatever it said.
        self.reached = False
        self.first_requests = _FirstRequests(model.endpoint, limits)
        #: The longest wait that the server asked for and got, in seconds.
        self.waited_for = 0.0
        #: The members of a panel spend from one.
        self.allowance = allowance or Allowance(limits)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What there is to say of the server when the work is done."""
        asked = f"{self.model.endpoint} asked to wait for up to {waiting(self.waited_for)} (Retry-After)"
        return (asked,) if self.waited_for > _LONG else ()

    def wait_status(self) -> str:
        """Return what the run waits for, `""` while answers come or the model is in this process."""
        host = urlsplit(self.model.endpoint).netloc
        since, pause = self.gate.seconds_without_answer(), self.gate.seconds_until_open()
        if not host:
            return ""
        if self.gate.scouting and not self.gate.in_flight and pause > _SLOW:
            return f"waiting before the next request to {host}, {pause:.0f} s left"
        if self.gate.is_answered and self.gate.silence() > _SLOW:
            return f"no answer of {host} for {self.gate.silence():.0f} s, trying on"
        if since <= _SLOW:
            return ""
        return f"waiting for {'an' if self.gate.is_answered else 'the first'} answer of {host}, {since:.0f} s"

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
        raise RequestRejected("no_attempt", "the retry policy allowed no attempt")

    async def _agree(self, prompt: Prompt) -> Completion:
        """Asks at once again as often as the adapter has to give something up."""
        while True:
            if self._used:
                await self._enter()
            self._desk.stop.check()
            self._desk.allowance.take()
            try:
                return await self._request(prompt)
            except ParametersRejected:
                continue

    async def _enter(self) -> None:
        """Waits for a turn, before all others if there is one to give back."""
        used, self._turn = self._turn, None
        self._turn, self._used = await self._desk.gate.enter(after=used), False

    def confirm(self) -> None:
        """Tell the gate that a reply of this server held a verdict."""
        self._desk.gate.confirm()

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
        if not isinstance(fault, ConnectionFailed | TimedOut | NoResponse):
            self._desk.reached = True
        if isinstance(fault, AccountError):
            self._desk.stop.request(fault)  # at once, before anybody takes the slot that this leaves
        elif isinstance(fault, RetryableError):
            self._tell_gate(fault)
        elif isinstance(fault, RequestRejected):
            self._tell_gate()

    def _tell_gate(self, fault: RetryableError | None = None) -> None:
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
        self._raise_if_unavailable(fault)

    def _raise_if_unavailable(self, fault: RetryableError) -> None:
        """Raise Incomplete when the server is silent for too long, or says that it will be.

        That is soon where it never answered.
        """
        desk, max_wait = self._desk, self._desk.limits.max_wait
        silence = desk.gate.silence()
        asked = fault.retry_after or 0.0
        reason = None if desk.reached else desk.first_requests.reason_to_stop(fault, silence)
        if reason is None and asked > max_wait:
            reason = (
                f"{desk.model.endpoint} asks to come again in {waiting(asked)} ({fault}); wait for so long"
            )
        elif reason is None and silence > max_wait:
            reason = self._say_unavailable(fault, silence)
        if reason is not None:
            raise RunIncomplete(
                f"{reason}, then run the same command again: what was judged is kept"
            ) from fault
        desk.waited_for = max(desk.waited_for, asked)

    def _say_unavailable(self, fault: RetryableError, silence: float) -> str:
        """Return that no request was answered for `silence` seconds, and what to do."""
        desk = self._desk
        if desk.gate.turns_all_away:
            return (
                f"{desk.model.endpoint} turned away every request for {silence:.0f} s, at last with {fault};"
                " wait a while, lower --concurrency or raise --max-wait"
            )
        closed = isinstance(fault, NoResponse) and not fault.is_page and not desk.reached
        tls = _TLS if closed and desk.model.endpoint.startswith("http:") else ""
        silent = f"no answer from {desk.model.endpoint} for {silence:.0f} s"
        return f"{silent}, at last: {fault}; check the server{tls}"


class _FirstRequests:
    """The faults of a server that has not answered yet, and whether they are reason enough to stop."""

    def __init__(self, endpoint: str, limits: Limits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._timeouts = self._pages = self._others = 0

    def reason_to_stop(self, fault: RetryableError, silence: float) -> str | None:
        """Count `fault` and return why the run should stop, None where it should try on.

        `silence` is the number of seconds since the first fault.
        """
        if isinstance(fault, ConnectionFailed):
            most = min(self._limits.max_wait, _LASTING if fault.lasting else _STARTING)
            why = f"no connection to {fault.detail}; check --base-url, the network and that the server runs"
            return why if silence > most else None
        if isinstance(fault, TimedOut):
            self._timeouts += 1
            why = (
                f"{self._endpoint} accepts requests and does not answer ({fault.detail},"
                f" {self._timeouts} times); check the server, or raise --timeout"
            )
            return why if self._timeouts >= _MAX_TIMEOUTS else None
        if not isinstance(fault, NoResponse):
            return None
        self._pages += fault.is_page
        self._others += not fault.is_page
        enough = silence >= min(self._limits.max_wait, _BREAKING) or self._limits.attempts == 1
        if self._pages < _MAX_PAGES and not (self._others >= _MAX_BROKEN and enough):
            return None
        tls = _TLS if self._endpoint.startswith("http:") else ""
        login = "; does this network ask to log in first?" if self._pages else ""
        return (
            f"{self._endpoint} does not answer as a model's server: {fault.detail}{login};"
            f" check --base-url{tls} and the network"
        )
