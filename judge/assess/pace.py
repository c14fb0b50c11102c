"""Owns how fast a server may be asked: a rate and a number of calls at once, learned from what it refuses.

Nobody says what a server takes; it shows. While it has turned nobody away the rate grows with every
answer. Once it turns away too many of the latest calls, the rate falls to what it did take, and from
there grows slowly at first, then faster the longer all goes well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter

#: The latest calls are those of so many seconds, but at least so many.
_SECONDS, _AT_LEAST = 1.0, 20
#: Calls turned away are too many from this number and this share of the latest on; fewer may be chance.
_TOO_MANY, _SHARE = 4, 0.15
#: The same of the very latest, however many there were in that time.
_TOO_MANY_AT_ONCE = 8
#: Most calls are turned away from this share of the latest on.
_MOST = 0.75
#: So many calls at once are too many when most of so many that left beside as many were turned away.
_CROWD = 3
#: The share of what a server took that it is asked for next.
_KEPT = 0.97
#: Growth of the rate with an answer before anything was turned away.
_UNTRIED = 0.02
#: The same below this share of a rate that was too much, and then a second at most.
_BELOW, _FAR, _FAR_A_SECOND = 0.75, 0.15, 0.8
#: The same above it, times the answers since, of which so many a second count.
_NEAR, _COUNTED = 6e-5, 5.0
#: Seconds over which the first calls are spread, at least and at most.
_SPREAD = (0.25, 1.0)
#: Calls a second that are no burst: few calls in flight are spread by waiting for their answers.
_CALM = 20.0
#: Seconds of the first pause, at least and at most, and the calls that every other one leaves out.
_PAUSE, _BREATH = (1.0, 2.0), 5.0
#: Seconds of unused rate that may be caught up with: timers are late.
_CATCH_UP = 0.02


@dataclass(slots=True)
class Turn:
    """One call that may leave: `number` counts calls, `at` is when, `in_flight` how many are out with it."""

    number: int
    at: float
    in_flight: int
    refused: bool = False


class Pace:
    """The rate (calls a second) and the limit (calls at once) that a server seems to take."""

    def __init__(self, ceiling: int) -> None:
        self.limit = float(ceiling)
        self.rate = inf
        #: When the next call may leave, on the caller's clock.
        self.next_at = -inf
        #: Whether the rate was never too much.
        self.untried = True
        self._ceiling = ceiling
        self._too_fast = inf
        self._answers = 0.0
        self._sent: deque[Turn] = deque()
        self._first = self._begun = 0
        #: Whether nothing was taken at this rate.
        self._stuck = False
        #: When calls last began, and the answers since.
        self._begun_at, self._taken = -inf, 0

    def begin(self, now: float, latency: float, first: int) -> None:
        """Calls begin, or begin again, with number `first`; the server took `latency` seconds to answer.

        Where nothing but scouts was taken at last, no more may be asked than was taken since they began.
        """
        self._taken += 1
        if self.untried:
            self.rate = max(_CALM, self._ceiling / min(max(latency, _SPREAD[0]), _SPREAD[1]))
        elif self._stuck:
            self.rate = min(self.rate, self._taken / max(now - self._begun_at, _SECONDS))
        self.next_at = now + 1 / self.rate
        self._begun = self._first = first
        self._begun_at, self._taken = now, 0
        self._stuck = False

    def sent(self, turn: Turn) -> None:
        """A call leaves."""
        self.next_at = max(self.next_at, turn.at - _CATCH_UP) + 1 / self.rate
        self._sent.append(turn)
        while len(self._sent) > _AT_LEAST and self._sent[0].at < turn.at - _SECONDS:
            self._sent.popleft()

    def unsent(self, turn: Turn) -> None:
        """The call of `turn` did not leave after all."""
        if turn in self._sent:
            self._sent.remove(turn)
            self.next_at -= 1 / self.rate if turn.number >= self._first else 0.0

    def answered(self) -> None:
        """The server coped."""
        self._taken += 1
        counted = min(1.0, _COUNTED / self.rate)
        self._answers += counted
        near = _NEAR * self._answers
        self.limit = min(self._ceiling, self.limit * (1 + near))
        if self.untried:
            growth = _UNTRIED
        elif self.rate < _BELOW * self._too_fast:
            growth = min(_FAR, _FAR_A_SECOND / self.rate)
        else:
            growth = near * counted
        self.rate *= 1 + growth

    def too_many(self) -> bool:
        """Whether too many of the latest calls were turned away, as far as they left at this rate."""
        refused = self._refused_since(self._first)
        at_once = sum(refused[-_AT_LEAST:]) >= (_TOO_MANY if self.untried else _TOO_MANY_AT_ONCE)
        stuck = not self.untried and len(refused) > 1 and all(refused)
        return at_once or stuck or sum(refused) >= max(_TOO_MANY, _SHARE * len(refused))

    def turns_most_away(self, now: float) -> bool:
        """Whether the server has turned most calls away for some time, at whatever rate they left."""
        refused = self._refused_since(self._begun)[-_AT_LEAST:]
        taken = max((turn.at for turn in self._sent if not turn.refused), default=-inf)
        return sum(refused) >= max(_TOO_MANY, _MOST * len(refused)) and now - taken >= _SECONDS

    def slow_down(self, now: float, asked: float, first: int) -> float:
        """Falls to what the server took lately, from call number `first` on; gives the moment of that.

        The first time everybody pauses for the `asked` seconds, because the first burst says little of
        what is taken in the long run; later for a few calls only.
        """
        self._stuck = all(self._refused_since(self._first))
        breath = min(_BREATH / self.rate, max(_SECONDS, 1 / self.rate))
        pause = min(max(asked, _PAUSE[0]), _PAUSE[1]) if self.untried else 0.0
        if not self._stuck:
            since = self._sent[0].at
            taken = sum(not turn.refused for turn in self._sent)
            self._too_fast = min(self.rate, len(self._sent) / max(now - since, 1e-3))
            self.rate = _KEPT * min(self.rate, max(taken, 1) / max(now + pause - since, _SECONDS))
        self.untried = False
        self._answers = 0.0
        self._first = first
        self.next_at = now + max(pause, breath)
        return self.next_at

    def _refused_since(self, first: int) -> list[bool]:
        return [turn.refused for turn in self._sent if turn.number >= first]

    def crowded(self) -> None:
        """Lowers the limit where it shows that more calls at once are turned away, and fewer are not."""
        sent = sorted((turn.in_flight, turn.refused) for turn in self._sent)
        beside, refused = len(sent), sum(was_refused for _, was_refused in sent)
        fewer = refused_fewer = 0
        for crowd, group in groupby(sent, key=itemgetter(0)):
            here = [was_refused for _, was_refused in group]
            too_many = any(here) and refused >= max(_CROWD, _MOST * beside)
            if too_many and fewer >= _CROWD and refused_fewer <= (1 - _MOST) * fewer:
                self.limit = min(self.limit, max(2.0, crowd - 1.0))
                self._answers = 0.0
                return
            beside, refused = beside - len(here), refused - sum(here)
            fewer, refused_fewer = fewer + len(here), refused_fewer + sum(here)
