"""When a request may be sent: a few at first, then as many and as fast as the server takes.

Until a verdict was read, 8 requests are in flight at most, and one after the other once a request failed:
what is wrong with an account, a name, a server or a model costs few requests. When a server that did answer
fails again and again, single requests probe it until one is answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf

from judge.assess.pace import Pace, Turn
from judge.assess.schedule import LONGEST_WAIT

#: So many failures in a row, with no answer between, are an outage.
_OUTAGE = 5
#: Seconds between two scouts: at first, and at most.
_SCOUT_AGAIN, _SCOUT_LATEST = 0.5, 5.0
#: Requests in flight until a verdict was read, and the seconds between two until the first one is answered.
FIRST_IN_FLIGHT, _FIRST_INTERVAL = 8, 0.125


class Gate:
    """Lets calls out, each with a `Turn`, by which it says how it went and that it came back."""

    def __init__(self, ceiling: int) -> None:
        self.pace = Pace(ceiling)
        self.in_flight = 0
        self.scouting = True
        self._count = 0
        #: Calls before this number left on other terms: how they end says nothing about these.
        self._first = 1
        self._scouts = 0
        self._scouted_at = self._opens_at = -inf
        self._again = _SCOUT_AGAIN
        self._failures = 0
        self._answered = self._confirmed = self._abandoned = False
        self._first_sent_at: float | None = None
        self._answered_at = self._failed_at = -inf
        self._silent_since: float | None = None
        self._turned_away = False
        self._waiting: deque[asyncio.Future[Turn]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, after: Turn | None = None) -> Turn:
        """The turn of a call that may leave now; waits in the order of asking.

        Who gives back the turn `after` goes before all others.
        """
        turn: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        if after is None:
            self._waiting.append(turn)
            self._admit()
        else:
            self._waiting.appendleft(turn)
            self.leave(after)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(turn.result(), unused=True)
            raise

    def leave(self, turn: Turn, *, unused: bool = False) -> None:
        """The call is back, or the turn was `unused`: then it says nothing of the server."""
        self.in_flight -= 1
        if self.scouting and turn.number >= self._first:
            self._scouts -= 1
        if unused:
            self.pace.unsent(turn)
            if turn.at == self._scouted_at:
                self._scouted_at = -inf
        self._admit()

    def answered(self, turn: Turn) -> None:
        """The server answered, whatever it said."""
        self._silent_since, self._answered = None, True
        self._answered_at = _now()
        if not self.scouting:
            self._failures = 0
            self.pace.answered()
        elif turn.number >= self._first:
            self._open()
        self._admit()

    def failed(self, turn: Turn, retry_after: float | None = None, *, turned_away: bool = False) -> None:
        """No answer came, or the call was turned away for now, to come again after so many seconds."""
        now = _now()
        asked = min(retry_after or 0.0, LONGEST_WAIT)
        turn.refused = turned_away
        if self._silent_since is None:
            self._silent_since, self._turned_away = now, True
        self._turned_away &= turned_away
        if self.scouting and turn.number >= self._first:
            if turn.at >= self._failed_at:  # requests that were in flight together make one step
                self._again = min(2 * self._again, _SCOUT_LATEST)
            self._failed_at = now
            self._opens_at = max(self._opens_at, now + max(asked, self._again))
        elif self.scouting:
            self._opens_at = max(self._opens_at, now + asked)
        elif turned_away:
            self._slow_down(turn, asked)
        elif turn.number >= self._first:
            self._failures += 1
            if self._failures >= _OUTAGE:
                self._scout(now + max(asked, _SCOUT_AGAIN))

    def silence(self) -> float:
        """Seconds since nobody gets an answer, 0 while somebody may."""
        return _now() - self._silent_since if self.scouting and self._silent_since is not None else 0.0

    @property
    def turns_all_away(self) -> bool:
        """Whether the server turned away every request since the last answer."""
        return self._silent_since is not None and self._turned_away

    def confirm(self) -> None:
        """Lift the limit on the first requests: a reply held a verdict."""
        if not self._confirmed:
            self._confirmed = True
            self._admit()

    @property
    def is_answered(self) -> bool:
        """Whether a request was ever answered."""
        return self._answered

    def seconds_without_answer(self) -> float:
        """Return the seconds since the last answer while requests are in flight, 0 with none in flight."""
        if not self.in_flight or self._first_sent_at is None:
            return 0.0
        return _now() - max(self._first_sent_at, self._answered_at)

    def seconds_until_open(self) -> float:
        """Return the seconds until the pause that the server asked for ends, 0 without one."""
        return max(0.0, self._opens_at - _now())

    def abandon(self) -> None:
        """Lets everybody in who waits: a stop was requested, and they are to find out."""
        self._abandoned = True
        self._admit()

    def _slow_down(self, turn: Turn, asked: float) -> None:
        now = _now()
        most = self.pace.turns_most_away(now)
        if not self.pace.untried:
            self.pace.crowded()
        if most or (turn.number >= self._first and self.pace.too_many()):
            self._change_terms(self.pace.slow_down(now, asked, self._count + 1))
        if most:
            self._scout(max(self._opens_at, now + max(asked, _SCOUT_AGAIN)))

    def _scout(self, opens_at: float) -> None:
        self._change_terms(opens_at)
        self.scouting = True

    def _open(self) -> None:
        now = _now()
        self._change_terms(now)
        self.scouting = False
        self.pace.begin(now, self._first)

    def _change_terms(self, opens_at: float) -> None:
        self._first = self._count + 1
        self._failures = self._scouts = 0
        self._again = _SCOUT_AGAIN
        self._opens_at = opens_at

    def _admit(self) -> None:
        while self._waiting:
            if self._waiting[0].done():
                self._waiting.popleft()
                continue
            wait = 0.0 if self._abandoned else self._wait()
            if wait > 0:
                self._wake_in(wait)
                return
            self._waiting.popleft().set_result(self._take())

    def _wait(self) -> float:
        """Seconds until the next may leave, as far as is known now."""
        now = _now()
        if not self._answered and self.in_flight >= min(self.pace.limit, FIRST_IN_FLIGHT):
            return inf
        if not self._answered and self._silent_since is None:
            return self._scouted_at + _FIRST_INTERVAL - now
        if self.scouting:
            late = self._scouted_at + _SCOUT_LATEST
            return max(self._opens_at, late if self._scouts else -inf) - now
        if self.in_flight + 1 > (
            self.pace.limit if self._confirmed else min(self.pace.limit, FIRST_IN_FLIGHT)
        ):
            return inf
        return max(self._opens_at, self.pace.next_at) - now

    def _take(self) -> Turn:
        self.in_flight += 1
        self._count += 1
        turn = Turn(self._count, _now(), self.in_flight)
        self._first_sent_at = turn.at if self._first_sent_at is None else self._first_sent_at
        if self.scouting:
            self._scouts += 1
            self._scouted_at = turn.at
        else:
            self.pace.sent(turn)
        return turn

    def _wake_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds < inf:
            # A little later, because a timer may fire a tick early.
            self._timer = asyncio.get_running_loop().call_later(seconds + 0.0005, self._admit)


def _now() -> float:
    return asyncio.get_running_loop().time()
