"""Owns what may still be paid: ceilings of calls and of money."""

from __future__ import annotations

from judge.assess.schedule import Limits
from judge.errors import RunIncomplete
from judge.pricing.prices import Price
from judge.records import Usage

#: Sums of many small prices are off by rounding; a budget isn't used up by that.
_ROUNDING = 1 + 1e-9


class Allowance:
    """What may still be paid in this execution, by one model or by all members of a panel.

    Every call is booked by `take` before it is made, and by `settle` when it came back or failed.
    `calls` never exceeds `max_calls`. A call starts only when the budget still covers it and the calls
    in flight, each taken to cost as much as the dearest so far; so the budget is overshot only by what
    calls in flight cost beyond that. Calls that may be billed without an answer count as the dearest.
    """

    def __init__(self, limits: Limits) -> None:
        self.calls = 0
        #: US dollars spent, None once a call had no price or no token count.
        self.usd: float | None = 0.0
        self._max_calls = limits.max_calls
        self._budget = limits.budget
        self._in_flight = 0
        self._dearest = 0.0
        self._maybe = 0.0

    def take(self) -> None:
        """Books one call; raises Incomplete when `max_calls` or `budget` is used up or can't be kept."""
        if self._max_calls is not None and self.calls >= self._max_calls:
            raise RunIncomplete(f"--max-calls {self._max_calls} is used up; raise it and run again")
        if self._budget is not None:
            self._check_money(self._budget)
        self.calls += 1
        self._in_flight += 1

    def _check_money(self, budget: float) -> None:
        if self.usd is None:
            raise RunIncomplete("the server counts no tokens, so --budget can't be kept; use --max-calls")
        spent = self.usd + self._maybe
        if spent + self._dearest > budget * _ROUNDING or spent >= budget:
            raise RunIncomplete(f"--budget {budget:g} USD is used up; raise it and run again")
        if spent + (self._in_flight + 1) * self._dearest > budget * _ROUNDING:
            raise RunIncomplete(
                f"--budget {budget:g} USD is used up by the {spent:.4g} that is spent and what"
                f" {self._in_flight} calls in flight may cost; run again for what they leave, or raise it"
            )

    def settle(
        self, usage: Usage | None, price: Price | None, *, answered: bool = False, billed: bool = False
    ) -> None:
        """Books what a call cost at `price`.

        One that was `answered` without `usage` makes the sum unknown; for a failed one that may be
        `billed` money is set aside.
        """
        self._in_flight -= 1
        if usage is None:
            self.usd = None if answered else self.usd
            self._maybe += self._dearest if billed else 0.0
        elif price is None or self.usd is None:
            self.usd = None
        else:
            cost = price.usd(usage)
            self.usd += cost
            self._dearest = max(self._dearest, cost)
