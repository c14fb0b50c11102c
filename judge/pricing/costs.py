"""The cost of a list of calls, and that of a run; `prices` has the prices of models and search engines."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields, replace
from math import fsum
from typing import TYPE_CHECKING

from judge.records import ANSWERED, Call

if TYPE_CHECKING:
    from judge.pricing.prices import Price


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


_COUNTS = tuple(field.name for field in fields(Cost) if field.name != "usd")


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """The price that the cost is computed with, in US dollars per million tokens."""

    input: float
    output: float
    cached: float
    as_of: str | None
    source: str


@dataclass(frozen=True, slots=True)
class RunCost(Cost):
    """What the judgments of a run cost, and the price that this is computed with.

    After the end of a process, some `maybe_billed` calls may not have been sent.
    """

    price: PriceUsed | None


def sum_cost(calls: Iterable[Call], price: Price | None) -> Cost:
    """Return the cost of `calls`; `usd` is None without a price, or where no answer has a token count.

    A model in this process makes no call, although the store lists one for each verdict.
    """
    from judge.pricing.prices import FREE_PRICE

    calls = () if price == FREE_PRICE else calls
    total = counted = uncounted = maybe_billed = 0
    prompt_tokens = cached_tokens = completion_tokens = 0
    costs = array("d")
    for call in calls:
        total += 1
        maybe_billed += call.maybe_billed
        if (usage := call.usage) is None:
            uncounted += call.outcome == ANSWERED
            continue
        counted += 1
        prompt_tokens += usage.prompt_tokens
        cached_tokens += usage.cached_tokens
        completion_tokens += usage.completion_tokens
        if price is not None:
            costs.append(price.compute_usd(usage, in_batch=call.in_batch))
    return Cost(
        calls=total,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        completion_tokens=completion_tokens,
        usd=round(fsum(costs), 6) if price is not None and (counted or not uncounted) else None,
        uncounted=uncounted,
        maybe_billed=maybe_billed,
    )


def add_costs(costs: Collection[Cost]) -> Cost:
    """Return the sum of `costs`; `usd` is None where one is unknown."""
    counts = {name: sum(getattr(cost, name) for cost in costs) for name in _COUNTS}
    usd = [cost.usd for cost in costs]
    return Cost(**counts, usd=None if None in usd else round(sum(filter(None, usd), 0.0), 6))


def make_run_cost(cost: Cost, price: Price | None) -> RunCost:
    """Return the cost of a run with the price that it is computed with."""
    used = None
    if price is not None:
        used = PriceUsed(price.input, price.output, price.cached, price.as_of, price.source)
    return RunCost(**asdict(cost), price=used)


def combine_costs(cost: RunCost, added: Iterable[RunCost]) -> RunCost:
    """Return the cost of a run with the costs `added` to it; the price is None where prices differ."""
    costs = [cost, *added]
    price = cost.price if all(part.price == cost.price for part in costs) else None
    return RunCost(**asdict(add_costs(costs)), price=price)


def subtract_cost(cost: RunCost, part: Cost) -> RunCost:
    """Return the cost of a run without a part of it; `usd` is None where one is unknown."""
    usd = None if cost.usd is None or part.usd is None else round(cost.usd - part.usd, 6)
    return replace(cost, usd=usd, **{name: getattr(cost, name) - getattr(part, name) for name in _COUNTS})
