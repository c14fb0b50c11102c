"""Owns what a night paid: the calls of all its starts, canaries included, however a start ended.

A store knows every call and not which night made it, and nights go on with each other's stores. So
`paid.json` in the night's folder says up to which call each store is counted, and what that came to. The
calls of a start that was killed are in its stores, and the next start counts them. What was claimed and
not answered when a start was killed may or may not have been sent: `calls` counts it, and `lost` says how
many of the calls that is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.runner import plan_requests
from judge.config.run import Config
from judge.dataset.pool import pool
from judge.nightly import record
from judge.pricing.cost import total_cost
from judge.pricing.prices import FREE_PRICE, Price, common_price
from judge.records import Call
from judge.runs.folder import RunFolder, dump_json
from judge.store import ledger

_FILE = "paid.json"


def open_account(night: RunFolder, store: Path) -> None:
    """From here on, what is called into `store` is the night's; what it holds was paid or counted before."""
    held = _held(night)
    counted = {**held["counted"], relpath(store, night.path): ledger.last_call(store)}
    _write(night, {**held, "counted": counted})


def settle(night: RunFolder, *asked: Config) -> Mapping[str, Any]:
    """Counts what was called since it was last counted, and gives what the night has paid in all.

    `asked` are what the night's runs were asked, which say the prices. Called before any store of the
    night is taken away. Raises StoreError when a store can't be read.
    """
    held = _held(night)
    counted, lost = {}, held["paid"].get("lost", 0)
    calls: list[tuple[str, Call]] = []
    for name, before in held["counted"].items():
        store = night.path / name
        if store.exists():
            new = ledger.calls_after(store, before)
            lost += new.lost
            counted[name] = new.last
            calls += new.calls
    paid = {**record.cost([held["paid"], *_costs(calls, asked)]), "lost": lost}
    _write(night, {"paid": paid, "counted": counted})
    return paid


def _held(night: RunFolder) -> dict[str, Any]:
    nothing = {"paid": asdict(total_cost([], FREE_PRICE)), "counted": {}}
    return night.read_if_there(_FILE) or nothing


def _write(night: RunFolder, held: Mapping[str, Any]) -> None:
    if held != _held(night):
        night.path.mkdir(parents=True, exist_ok=True)
        night.write(_FILE, [dump_json(held, indent=2), "\n"])


def _costs(calls: Sequence[tuple[str, Call]], asked: Sequence[Config]) -> list[Mapping[str, Any]]:
    """What the calls cost, apart by price: the members of a panel have their own."""
    if not calls:
        return []
    assessors = factory.assessors(asked[0])
    prices = [factory.price(asked[0], each.model) for each in assessors]
    alike, of_key = common_price(prices), dict[str, Price | None]()
    if any(prices) and alike is None:
        for config in asked:
            pooled = pool(factory.dataset(config), config.depth)
            for assessor, price in zip(assessors, prices, strict=True):
                of_key |= dict.fromkeys(plan_requests(pooled, assessor, config.repeats)[1], price)
    together = defaultdict[Price | None, list[Call]](list)
    for key, call in calls:
        together[of_key.get(key, alike)].append(call)
    return [asdict(total_cost(some, price)) for price, some in together.items()]
