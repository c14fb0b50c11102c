"""The limits on calls and money of one execution."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import accumulate

from judge.characters import estimate_tokens
from judge.errors import RUN_AGAIN, LimitReached, RunIncomplete
from judge.models.negotiation import find_max_tokens
from judge.pricing.prices import Price
from judge.records import ANSWERED, Call, Params, Prompt, Usage

#: Relative error of sums of many small prices.
_ROUNDING = 1 + 1e-9
#: A prompt has at most this many times the tokens that `estimate_tokens` returns for it.
_ESTIMATE_ERROR = 1.1


def bound_cost(prompt: Prompt, params: Params, price: Price | None, *, in_batch: bool = False) -> float:
    """Return the most that a request can cost in US dollars: its reply is as long as `params` allow.

    Without a limit of the reply it is the cost of the prompt, without a price 0.
    """
    if price is None:
        return 0.0
    tokens = _ESTIMATE_ERROR * (estimate_tokens(prompt.system) + estimate_tokens(prompt.user))
    return price.compute_usd(Usage(round(tokens), 0, find_max_tokens(params) or 0), in_batch=in_batch)


class SpendLimit:
    """The calls and the US dollars that one execution may spend, shared by all its assessors and runs.

    Each call is reserved by `reserve` before it is sent and settled by `settle` when it ended. `calls` never
    exceeds `max_calls`. A call starts only when the budget covers it and the calls in flight, each at the
    most that it can cost. Where the budget covers less, calls are sent one after the other, as long as it
    covers the highest cost so far. So only one call can exceed it. A call that may be billed without an
    answer counts as the most expensive one.

    The requests of a batch are reserved together by `reserve_batch`, each at the most that it can cost. They
    are settled by `settle_batch` when the batch ended. So batches exceed neither limit.
    """

    def __init__(self, max_calls: int | None = None, budget: float | None = None) -> None:
        self.calls = 0
        #: US dollars spent, None after a call without a price or a token count.
        self.usd: float | None = 0.0
        self._max_calls = max_calls
        self.budget = budget
        self._in_flight = 0
        #: The most that the calls in flight can cost.
        self._reserved = 0.0
        #: The highest cost of a call so far; that of a request in a batch is what it costs without one.
        self.highest_cost = 0.0
        self._waiters: list[asyncio.Future[None]] = []
        self._maybe_billed = 0.0
        self._reserved_in_batches = 0.0

    def reserve(self, max_usd: float = 0.0) -> bool:
        """Reserve one call that costs at most `max_usd` US dollars, as far as that is known.

        Return False where the budget may not cover it until a call in flight has ended. Raise LimitReached
        when `max_calls` or `budget` is used up, RunIncomplete when the server does not count tokens.
        """
        if self._max_calls is not None and self.calls >= self._max_calls:
            raise LimitReached(
                "--max-calls {calls} is used up; {again} for as many more calls, or raise it",
                calls=self._max_calls,
                again=RUN_AGAIN,
            )
        if self.budget is not None:
            if self.usd is None:
                raise RunIncomplete(
                    "the server does not count tokens, so --budget cannot be enforced; use --max-calls"
                )
            spent = self.usd + self._maybe_billed + self._reserved_in_batches
            ceiling = self.budget * _ROUNDING
            if spent + self.highest_cost > ceiling or spent >= self.budget:
                raise LimitReached(
                    "--budget {budget:g} USD is used up; {again} to spend as much again, or raise it",
                    budget=self.budget,
                    again=RUN_AGAIN,
                )
            reserved = max(self._reserved + max_usd, (self._in_flight + 1) * self.highest_cost)
            if self._in_flight and spent + reserved > ceiling:
                return False
        self.calls += 1
        self._in_flight += 1
        self._reserved += max_usd
        return True

    async def wait_for_settlement(self) -> None:
        """Wait until a call in flight has ended."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def reserve_batch(self, costs: Sequence[float]) -> int:
        """Reserve the first calls of a batch, as many as `max_calls` and `budget` cover; return their number.

        `costs` are the most that each can cost in US dollars.
        """
        count = len(costs)
        if self._max_calls is not None:
            count = max(0, min(count, self._max_calls - self.calls))
        if self.budget is not None:
            spent = (self.usd or 0.0) + self._maybe_billed + self._reserved_in_batches
            in_flight = max(self._reserved, self._in_flight * self.highest_cost)
            left = self.budget * _ROUNDING - spent - in_flight
            totals = accumulate(costs[:count])
            count = 0 if self.usd is None else sum(total <= left for total in totals)
        self.calls += count
        self._reserved_in_batches += sum(costs[:count])
        return count

    def settle_batch(self, costs: Sequence[float], calls: Iterable[Call], price: Price | None) -> None:
        """Add the cost of the `calls` of a batch that ended, instead of its reserved `costs`."""
        self._reserved_in_batches -= sum(costs)
        self.calls -= len(costs)
        for call in calls:
            self.calls += 1
            self._add_cost(call, price)

    def settle(self, call: Call, price: Price | None, max_usd: float = 0.0) -> None:
        """Add the cost of `call`, which ended, instead of the `max_usd` that was reserved for it.

        For a failed call that may be billed, the highest cost so far is set aside, or `max_usd` before the
        first answer.
        """
        self._in_flight -= 1
        # Rounding errors of the sum end with the last call in flight.
        self._reserved = self._reserved - max_usd if self._in_flight else 0.0
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
        self._add_cost(call, price)
        if call.maybe_billed and call.usage is None:
            self._maybe_billed += self.highest_cost or max_usd

    def _add_cost(self, call: Call, price: Price | None) -> None:
        """Add the cost of `call`; an answer without a price or a token count makes the sum unknown."""
        if call.usage is None:
            self.usd = None if call.outcome == ANSWERED else self.usd
        elif price is None:
            self.usd = None
        else:
            cost = price.compute_usd(call.usage, in_batch=call.in_batch)
            self.usd = None if self.usd is None else self.usd + cost
            self.highest_cost = max(self.highest_cost, price.compute_usd(call.usage))
