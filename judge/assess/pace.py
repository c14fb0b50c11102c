"""How fast a server may be asked: a rate and a number of calls at once, learned from what it refuses.

Slow start: the rate grows with every answer until the first refusal, and then falls to what the server did
take. From there it grows ever faster, until two refusals follow at about the same rate: this is taken for
the server's limit. Near the limit the rate grows slowly, and more slowly each time the limit is confirmed.
Refusals far below the limit refute it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter

#: The latest calls are those of so many seconds, but at least so many.
_SECONDS, _AT_LEAST = 1.0, 20
#: Calls turned away are too many from this number and this share of the latest on, and from this number of
#: the very latest on; fewer may be chance.
_TOO_MANY, _SHARE, _TOO_MANY_AT_ONCE = 2, 0.1, 4
#: The same where only calls with more others in flight are turned away: the number of calls at once is
#: learned from them.
_TOO_MANY_CROWDED, _SHARE_CROWDED, _TOO_MANY_AT_ONCE_CROWDED = 4, 0.15, 8
#: Most calls are turned away from this share of the latest on.
_MOST = 0.75
#: So many calls at once are too many when most of so many that left beside as many were turned away.
_CROWD = 3
#: The share of what a server took that it is asked for next.
_KEPT = 0.97
#: The rate of a slow start, in calls a second, and its growth with an answer.
_SLOW_START_RATE, _SLOW_START_GROWTH = 20.0, 0.15
#: Growth of the rate with an answer below this share of the limit, at most; in a second at first, more with
#: each answer since, and at most.
_BELOW, _FAR = 0.75, 0.15
_FAR_A_SECOND, _FAR_MORE, _FAR_A_SECOND_MOST = 0.15, 0.02, 0.8
#: Growth with an answer near the limit, times the answers since, of which so many a second count.
_NEAR, _COUNTED = 6e-5, 5.0
#: Each confirmation of the limit halves the growth near it, so many times at most.
_MOST_CONFIRMATIONS = 2
#: Two rates with refusals confirm a limit where their ratio is in this range; one that has refusals below
#: this share of the limit refutes it.
_SAME_RATE, _REFUTES = (0.6, 1.5), 0.85
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
        #: The limit of the server, inf where it is not known, and the last rate that had too many refusals.
        self._too_fast = inf
        self._last_too_fast: float | None = None
        self._confirmations = 0
        self._answers = 0.0
        self._answers_since = 0
        self._sent: deque[Turn] = deque()
        self._first = self._begun = 0
        #: Whether nothing was taken at this rate.
        self._stuck = False
        #: When calls last began, and the answers since.
        self._begun_at, self._taken = -inf, 0

    def begin(self, now: float, first: int) -> None:
        """Calls begin, or begin again, with number `first`.

        Where nothing but scouts was taken at last, no more may be asked than was taken since they began.
        """
        self._taken += 1
        if self.untried:
            self.rate = _SLOW_START_RATE
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
        self._answers_since += 1
        near = _NEAR * self._answers / 2**self._confirmations
        self.limit = min(self._ceiling, self.limit * (1 + near))
        if self.untried:
            growth = _SLOW_START_GROWTH
        elif self.rate < _BELOW * self._too_fast:
            a_second = min(_FAR_A_SECOND_MOST, _FAR_A_SECOND + _FAR_MORE * self._answers_since)
            growth = min(_FAR, a_second / self.rate)
        else:
            growth = near * counted
        self.rate *= 1 + growth

    def too_many(self) -> bool:
        """Whether too many of the latest calls were turned away, as far as they left at this rate."""
        refused = self._refused_since(self._first)
        if self.untried:
            return any(refused)
        most, share, at_once = _TOO_MANY, _SHARE, _TOO_MANY_AT_ONCE
        if self._refuses_crowds():
            most, share, at_once = _TOO_MANY_CROWDED, _SHARE_CROWDED, _TOO_MANY_AT_ONCE_CROWDED
        stuck = len(refused) > 1 and all(refused)
        too_many = sum(refused) >= max(most, share * len(refused))
        return too_many or stuck or sum(refused[-_AT_LEAST:]) >= at_once

    def _refuses_crowds(self) -> bool:
        """Whether each call turned away at this rate had more in flight beside it than any taken one."""
        calls = [turn for turn in self._sent if turn.number >= self._first]
        taken = max((turn.in_flight for turn in calls if not turn.refused), default=0)
        return all(turn.in_flight > taken for turn in calls if turn.refused)

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
            self._learn_limit(min(self.rate, len(self._sent) / max(now - since, 1e-3)))
            self.rate = _KEPT * min(self.rate, max(taken, 1) / max(now + pause - since, _SECONDS))
        self.untried = False
        self._answers = 0.0
        self._answers_since = 0
        self._first = first
        self.next_at = now + max(pause, breath)
        return self.next_at

    def _learn_limit(self, rate: float) -> None:
        """Note that `rate` was too much: it confirms a limit, refutes one, or is the first hint of one."""
        low, high = _SAME_RATE
        if self._too_fast < inf:
            is_limit = rate >= _REFUTES * self._too_fast
        else:
            is_limit = self._last_too_fast is not None and low < rate / self._last_too_fast < high
        self._confirmations = min(_MOST_CONFIRMATIONS, self._confirmations + 1) if is_limit else 0
        self._too_fast = rate if is_limit else inf
        self._last_too_fast = rate

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
