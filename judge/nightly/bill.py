"""Owns what a night paid: the calls of all its starts, canaries included, however a start ended.

A store knows every call and not which night made it, and nights go on with each other's stores. So
`paid.json` in the night's folder says up to which call each store is counted, and what that came to. The
calls of a start that was killed are in its stores, and the next start counts them. What was claimed and
not answered when a start was killed may or may not have been sent: `calls` counts it, and `lost` says how
many of the calls that is.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.file import connect
from judge.assess.judging import split, total
from judge.assess.store import LOST, Call, Store
from judge.config.run import Config
from judge.dataset.pool import build_pool
from judge.errors import StoreError
from judge.nightly import record
from judge.pricing.prices import FREE, Price, common
from judge.records import Usage
from judge.runs.folder import RunFolder, dump_json

_FILE = "paid.json"
#: Seconds that another process may keep a store busy.
_WAIT = 60.0
_CALLS = (
    "SELECT id, key, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens,"
    " reasoning_tokens FROM calls WHERE id > :after ORDER BY id"
)
_NEWEST = "SELECT coalesce(max(id), 0) FROM calls"
#: Who works in a night's stores holds the night's lock: a claim that is left is of a process that died.
_LOST = (
    f"INSERT INTO calls (key, outcome, maybe_billed, made_at) SELECT key, '{LOST}', 1,"  # noqa: S608
    " strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now') FROM claims"
)
_CLAIMS = "SELECT count(*) FROM claims"
_FREE = "DELETE FROM claims"


def open_account(night: RunFolder, store: Path) -> None:
    """From here on, what is called into `store` is the night's; what it holds was paid or counted before."""
    held = _held(night)
    last = _execute(store, _FREE, _NEWEST)  # what is claimed in a copy of a store is claimed in the store
    counted = {**held["counted"], relpath(store, night.path): last[0][0] if last else 0}
    _write(night, {**held, "counted": counted})


def settle(night: RunFolder, *asked: Config) -> Mapping[str, Any]:
    """Counts what was called since it was last counted, and gives what the night has paid in all.

    `asked` are what the night's runs were asked, which say the prices. Called before any store of the
    night is taken away. Raises StoreError when a store can't be read.
    """
    held = _held(night)
    counted, calls, lost = {}, [], held["paid"].get("lost", 0)
    for name, before in held["counted"].items():
        store = night.path / name
        if store.exists():
            [(claims,)] = _execute(store, _CLAIMS)
            lost += claims
            new = _calls(store, before)
            counted[name] = new[-1][0] if new else before
            calls += [(key, call) for _, key, call in new]
    paid = {**record.cost([held["paid"], *_costs(calls, asked)]), "lost": lost}
    _write(night, {"paid": paid, "counted": counted})
    return paid


def _held(night: RunFolder) -> dict[str, Any]:
    nothing = {"paid": asdict(total([], FREE)), "counted": {}}
    return night.read_if_there(_FILE) or nothing


def _write(night: RunFolder, held: Mapping[str, Any]) -> None:
    if held != _held(night):
        night.path.mkdir(parents=True, exist_ok=True)
        night.write(_FILE, [dump_json(held, indent=2), "\n"])


def _calls(store: Path, after: int) -> list[tuple[int, str, Call]]:
    """The calls in a store after that of the number `after`: the number of each, its key, and itself."""
    return [
        (number, key, Call(outcome, _usage(tokens), bool(billed)))
        for number, key, outcome, billed, *tokens in _execute(store, _LOST, _FREE, _CALLS, after=after)
    ]


def _execute(store: Path, *statements: str, **values: int) -> list[Any]:
    """What the last of the statements gives, after all of them were done or none."""
    if not store.exists():
        return []
    with Store(store):
        pass  # one that was begun from nothing has no tables yet
    try:
        with closing(connect(store, _WAIT)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = [connection.execute(each, values).fetchall() for each in statements][-1]
            connection.execute("COMMIT")
            return rows
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{store}: cannot be counted: {error}") from error


def _usage(tokens: Sequence[int | None]) -> Usage | None:
    return None if tokens[0] is None else Usage(*(count or 0 for count in tokens))


def _costs(calls: Sequence[tuple[str, Call]], asked: Sequence[Config]) -> list[Mapping[str, Any]]:
    """What the calls cost, apart by price: the members of a panel have their own."""
    if not calls:
        return []
    assessors = factory.assessors(asked[0])
    prices = [factory.price(asked[0], each.model) for each in assessors]
    alike, of_key = common(prices), dict[str, Price | None]()
    if any(prices) and alike is None:
        for config in asked:
            pooled = build_pool(factory.dataset(config), config.depth)
            for assessor, price in zip(assessors, prices, strict=True):
                of_key |= dict.fromkeys(split(pooled, assessor, config.repeats)[1], price)
    together = defaultdict[Price | None, list[Call]](list)
    for key, call in calls:
        together[of_key.get(key, alike)].append(call)
    return [asdict(total(some, price)) for price, some in together.items()]
