"""Owns what may still be paid: ceilings of calls and of money."""

from __future__ import annotations

from judge.assess.schedule import Limits
from judge.errors import Incomplete
from judge.records import Usage


class Allowance:
    """What may still be paid in this execution; a ceiling can be overshot by the calls in flight."""

    def __init__(self, limits: Limits) -> None:
        self.calls = 0
        self.usd: float | None = 0.0 if limits.price else None
        self._uncounted = 0
        self._limits = limits

    def take(self) -> None:
        """Books one call; raises Incomplete when `max_calls` or `budget` is used up or can't be kept."""
        if self._limits.max_calls is not None and self.calls >= self._limits.max_calls:
            raise Incomplete(f"--max-calls {self._limits.max_calls} is used up; raise it and run again")
        if self._limits.budget is not None and (self.usd or 0.0) >= self._limits.budget:
            raise Incomplete(f"--budget {self._limits.budget:g} USD is used up; raise it and run again")
        if self._limits.budget is not None and self._uncounted:
            raise Incomplete("the server counts no tokens, so --budget can't be kept; use --max-calls")
        self.calls += 1

    def spend(self, usage: Usage | None) -> None:
        """Books what a call cost, where a price is known."""
        self._uncounted += usage is None
        if usage is not None and self._limits.price is not None:
            self.usd = (self.usd or 0.0) + self._limits.price.usd(usage)
