"""What a night pays: the calls of all its starts, canaries included, however a start ended.

A store holds every call but not the night that made it, and nights share stores. So `paid.json` in the
night's folder says up to which call each store is counted, and the cost of these calls. The calls of a
start that was killed are in its stores, and the next start counts them. A request that was in flight when
a start was killed may or may not have been sent: `calls` counts it, and `lost` is the number of these.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.file import connect
from judge.assess.judging import split, total
from judge.assess.store import LOST, Call, Store
from judge.config.run import Config
from judge.dataset.pool import pool
from judge.errors import StoreError
from judge.nightly.record import CallCost
from judge.nightly.run_figures import add_costs, read_cost
from judge.pricing.prices import FREE, Price, common
from judge.records import Usage
from judge.runs.folder import RunFolder, dump_json

_LEDGER_FILE = "paid.json"
#: Seconds that another process may keep a store busy.
_WAIT = 60.0
_CALLS = (
    "SELECT id, key, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens,"
    " reasoning_tokens FROM calls WHERE id > :after ORDER BY id"
)
_NEWEST = "SELECT coalesce(max(id), 0) FROM calls"
#: A process holds the night's lock while it uses its stores, so a claim that is left is of a dead process.
_LOST = (
    f"INSERT INTO calls (key, outcome, maybe_billed, made_at) SELECT key, '{LOST}', 1,"  # noqa: S608
    " strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now') FROM claims"
)
_CLAIMS = "SELECT count(*) FROM claims"
_FREE = "DELETE FROM claims"


@dataclass(frozen=True, slots=True)
class CostLedger:
    """What a night paid so far, and up to which call number each of its stores is counted."""

    cost_total: CallCost = field(default_factory=lambda: read_cost(asdict(total([], FREE))))
    counted: dict[str, int] = field(default_factory=dict)


def start_counting(night: RunFolder, store: Path) -> None:
    """From here on, the calls in `store` are the night's; those before were paid or counted already."""
    ledger = _read_ledger(night)
    last = _execute(store, _FREE, _NEWEST)  # a claim in the copy of a store is also in the store itself
    counted = {**ledger.counted, relpath(store, night.path): last[0][0] if last else 0}
    _write_ledger(night, CostLedger(ledger.cost_total, counted))


def count_calls(night: RunFolder, *configs: Config) -> CallCost:
    """Count the calls since the last count, and return what the night paid in all.

    `configs` are the options of the night's runs, which give the prices. Called before any store of the
    night is removed. Raises StoreError when a store cannot be read.
    """
    ledger = _read_ledger(night)
    counted, calls, lost = {}, [], 0
    for name, before in ledger.counted.items():
        store = night.path / name
        if store.exists():
            [(claims,)] = _execute(store, _CLAIMS)
            lost += claims
            new = _calls(store, before)
            counted[name] = new[-1][0] if new else before
            calls += [(key, call) for _, key, call in new]
    cost_total = add_costs([ledger.cost_total, *_costs(calls, configs)])
    cost_total = replace(cost_total, lost=cost_total.lost + lost)
    _write_ledger(night, CostLedger(cost_total, counted))
    return cost_total


def _read_ledger(night: RunFolder) -> CostLedger:
    values = night.read_if_there(_LEDGER_FILE)
    if values is None:
        return CostLedger()
    # Version 1 calls the cost "paid".
    return CostLedger(read_cost(values.get("cost_total") or values["paid"]), dict(values["counted"]))


def _write_ledger(night: RunFolder, ledger: CostLedger) -> None:
    if ledger != _read_ledger(night) or not (night.path / _LEDGER_FILE).exists():
        night.path.mkdir(parents=True, exist_ok=True)
        night.write(_LEDGER_FILE, [dump_json(asdict(ledger), indent=2), "\n"])


def _calls(store: Path, after: int) -> list[tuple[int, str, Call]]:
    """Return the calls in a store after number `after`: (number, key, call)."""
    return [
        (number, key, Call(outcome, _usage(tokens), bool(billed)))
        for number, key, outcome, billed, *tokens in _execute(store, _LOST, _FREE, _CALLS, after=after)
    ]


def _execute(store: Path, *statements: str, **values: int) -> list[Any]:
    """Run the statements in one transaction and return the rows of the last one."""
    if not store.exists():
        return []
    with Store(store):
        pass  # creates the tables of a new store
    try:
        with closing(connect(store, _WAIT)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = [connection.execute(each, values).fetchall() for each in statements][-1]
            connection.execute("COMMIT")
            return rows
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{store}: its calls cannot be counted: {error}") from error


def _usage(tokens: Sequence[int | None]) -> Usage | None:
    return None if tokens[0] is None else Usage(*(count or 0 for count in tokens))


def _costs(calls: Sequence[tuple[str, Call]], configs: Sequence[Config]) -> list[CallCost]:
    """Return the cost of the calls for each price: the members of a panel have their own."""
    if not calls:
        return []
    assessors = factory.assessors(configs[0])
    prices = [factory.price(configs[0], assessor.model) for assessor in assessors]
    shared_price, price_of_key = common(prices), dict[str, Price | None]()
    if any(prices) and shared_price is None:
        for config in configs:
            pooled = pool(factory.dataset(config), config.depth)
            for assessor, price in zip(assessors, prices, strict=True):
                price_of_key |= dict.fromkeys(split(pooled, assessor, config.repeats)[1], price)
    by_price = defaultdict[Price | None, list[Call]](list)
    for key, call in calls:
        by_price[price_of_key.get(key, shared_price)].append(call)
    return [read_cost(asdict(total(group, price))) for price, group in by_price.items()]
