"""The cost of a list of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from judge.pricing.prices import Price
from judge.records import ANSWERED, Call, Usage


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls cost, failed calls included.

    `usd` is None without a price. `uncounted` calls came back without a token count; `maybe_billed` calls
    did not come back (a timeout, a cut reply, a killed process).
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    usd: float | None
    uncounted: int
    maybe_billed: int


def total_cost(calls: Sequence[Call], price: Price | None) -> Cost:
    """Return the cost of `calls`; `usd` is None without a price, or where no answer has a token count."""
    usages = [call.usage for call in calls if call.usage is not None]
    tokens = Usage(*(sum(map(attrgetter(each.name), usages)) for each in fields(Usage)))
    uncounted = sum(call.outcome == ANSWERED and call.usage is None for call in calls)
    usd = None
    if price is not None and (usages or not uncounted):
        costs = (price.usd(call.usage, in_batch=call.in_batch) for call in calls if call.usage is not None)
        usd = round(sum(costs, 0.0), 6)
    return Cost(
        calls=len(calls),
        prompt_tokens=tokens.prompt_tokens,
        cached_tokens=tokens.cached_tokens,
        completion_tokens=tokens.completion_tokens,
        usd=usd,
        uncounted=uncounted,
        maybe_billed=sum(call.maybe_billed for call in calls),
    )


def add_costs(costs: Collection[Cost]) -> Cost:
    """Return the sum of `costs`; `usd` is None where one is unknown."""
    counts = {
        column.name: sum(getattr(cost, column.name) for cost in costs)
        for column in fields(Cost)
        if column.name != "usd"
    }
    usd = [cost.usd for cost in costs]
    return Cost(**counts, usd=None if None in usd else round(sum(filter(None, usd), 0.0), 6))
