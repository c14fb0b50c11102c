"""What a night pays: the calls of all its starts, however a start ended.

A store holds every call but not the night that made it, and nights share stores. So `paid.json` in the
night's folder says up to which call each store is counted, and the cost of these calls. The calls of a
start that was killed are in its stores, and the next start counts them. A request that was in flight when
a start was killed may or may not have been sent: `calls` counts it, and `lost` is the number of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.runner import plan_requests
from judge.config.run import Config
from judge.nightly.record import CallCost
from judge.pricing.cost import total_cost
from judge.pricing.prices import FREE_PRICE, Price, common_price
from judge.records import Call
from judge.runs.folder import RunFolder, dump_json
from judge.store import ledger

_LEDGER_FILE = "paid.json"
#: The amounts of a cost that are added up; `lost` is another one.
_AMOUNTS = tuple(each.name for each in fields(CallCost) if each.name != "lost")


@dataclass(frozen=True, slots=True)
class CostLedger:
    """What a night paid so far, and up to which call number each of its stores is counted."""

    cost_total: CallCost = field(default_factory=lambda: read_cost(asdict(total_cost([], FREE_PRICE))))
    counted: dict[str, int] = field(default_factory=dict)


def start_counting(night: RunFolder, store: Path) -> None:
    """From here on, the calls in `store` are the night's; those before were paid or counted already."""
    costs = _read_ledger(night)
    counted = {**costs.counted, relpath(store, night.path): ledger.last_call(store)}
    _write_ledger(night, CostLedger(costs.cost_total, counted))


def count_calls(night: RunFolder, *configs: Config) -> CallCost:
    """Count the calls since the last count, and return what the night paid in all.

    `configs` are the options of the night's runs, which give the prices. Called before any store of the
    night is removed. Raises StoreError when a store cannot be read.
    """
    costs = _read_ledger(night)
    counted, lost_count = {}, 0
    calls: list[tuple[str, Call]] = []
    for name, before in costs.counted.items():
        store = night.path / name
        if store.exists():
            new = ledger.calls_after(store, before)
            lost_count += new.lost
            counted[name] = new.last
            calls += new.calls
    cost_total = add_costs([costs.cost_total, *_costs(calls, configs)])
    cost_total = replace(cost_total, lost=cost_total.lost + lost_count)
    _write_ledger(night, CostLedger(cost_total, counted))
    return cost_total


def _read_ledger(night: RunFolder) -> CostLedger:
    values = night.read_if_there(_LEDGER_FILE)
    if values is None:
        return CostLedger()
    # Version 1 calls the cost "paid".
    return CostLedger(read_cost(values.get("cost_total") or values["paid"]), dict(values["counted"]))


def _write_ledger(night: RunFolder, costs: CostLedger) -> None:
    if costs != _read_ledger(night) or not (night.path / _LEDGER_FILE).exists():
        night.path.mkdir(parents=True, exist_ok=True)
        night.write(_LEDGER_FILE, [dump_json(asdict(costs), indent=2), "\n"])


def _costs(calls: Sequence[tuple[str, Call]], configs: Sequence[Config]) -> list[CallCost]:
    """Return the cost of the calls for each price: the members of a panel have their own."""
    if not calls:
        return []
    assessors = factory.build_assessors(configs[0])
    prices = [factory.look_up_price(configs[0], assessor.model) for assessor in assessors]
    shared_price, price_of_key = common_price(prices), dict[str, Price | None]()
    if any(prices) and shared_price is None:
        for config in configs:
            pooled = factory.load_pooled_dataset(config).pool
            for assessor, price in zip(assessors, prices, strict=True):
                price_of_key |= dict.fromkeys(plan_requests(pooled, assessor, config.repeats)[1], price)
    by_price = defaultdict[Price | None, list[Call]](list)
    for key, call in calls:
        by_price[price_of_key.get(key, shared_price)].append(call)
    return [read_cost(asdict(total_cost(group, price))) for price, group in by_price.items()]


def read_cost(values: Mapping[str, Any]) -> CallCost:
    """Return the cost in a JSON object; amounts that it lacks are unknown."""
    return CallCost(**{name: values.get(name) for name in _AMOUNTS}, lost=values.get("lost", 0))


def add_costs(costs: Iterable[CallCost]) -> CallCost:
    """Return the sum; an amount is unknown where one of its parts is."""
    parts = list(costs)
    amounts = {name: [getattr(cost, name) for cost in parts] for name in _AMOUNTS}
    total: dict[str, Any] = {name: None if None in each else sum(each) for name, each in amounts.items()}
    return CallCost(**total, lost=sum(cost.lost for cost in parts))
