"""Owns which queries a page carries: all of them, or a stated sample where they are too many.

The entries are walked through once, and only a few numbers of each query are kept; as long as all fit,
their packed lines are kept too. Where they don't, queries are chosen by the numbers and a second walk
packs those alone: a million pairs take as much memory as the page itself and a record a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from judge.dataset.validation import short_hash
from judge.report.page.payload import PayloadSchema, as_json, pack

Entry = Mapping[str, Any]
#: What is walked through gives its entries anew each time it is called.
Entries = Callable[[], Iterable[Entry]]

KINDS = ("worst", "disagreeing", "random")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a page may carry: bytes of packed queries, and pairs."""

    size: int = 5_500_000
    pairs: int = 12_000


@dataclass(frozen=True, slots=True)
class PageData:
    """The packed queries in reading order, of how many, and what was taken as what (None: all are there)."""

    lines: Sequence[str]
    pairs: int
    queries_in_all: int
    pairs_in_all: int
    taken: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class _Key:
    """What a query is chosen by; `lot` is the same for the same query id, and otherwise chance."""

    place: int
    mean: float | None
    spread: float
    flips: int
    lot: str
    size: int
    pairs: int


def gather(entries: Entries, shape: PayloadSchema, measure: str, budget: Budget) -> PageData:
    """The packed queries that fit into `budget`; `measure` says which are worst."""
    keys: list[_Key] = []
    lines: list[str] = []
    size = pairs = 0
    for place, entry in enumerate(entries()):
        line = as_json(pack(entry, shape))
        key = _key(place, entry, line, measure, shape.depth)
        keys.append(key)
        size, pairs = size + key.size, pairs + key.pairs
        if size <= budget.size and pairs <= budget.pairs:
            lines.append(line)
        else:
            lines.clear()
    if len(lines) == len(keys):
        return PageData(lines, pairs, len(keys), pairs, None)
    chosen = choose(keys, budget)
    lines = [as_json(pack(entry, shape)) for place, entry in enumerate(entries()) if place in chosen]
    taken = {kind: sum(kind == each for each in chosen.values()) for kind in KINDS}
    return PageData(lines, sum(keys[place].pairs for place in chosen), len(keys), pairs, taken)


def _key(place: int, entry: Entry, line: str, measure: str, depth: int) -> _Key:
    scores = [answer["scores"].get(measure) for answer in entry["engines"].values()]
    known = [score for score in scores if score is not None]
    pairs = {
        snippet["snippet_id"]: snippet["judgments"]
        for answer in entry["engines"].values()
        for snippet in answer["snippets"][:depth]
    }
    return _Key(
        place,
        mean=sum(known) / len(known) if known else None,
        spread=max(known) - min(known) if known else 0.0,
        flips=sum(len({each["verdict"] for each in said} - {None}) > 1 for said in pairs.values()),
        lot=short_hash([entry["query_id"]], 16),
        size=len(line.encode()),
        pairs=len(pairs),
    )


def choose(keys: Sequence[_Key], budget: Budget) -> dict[int, str]:
    """The places of the queries to carry, and as what: the three kinds take turns until one is too much.

    A query that is over the budget by itself is never taken.
    """
    orders = _orders([key for key in keys if key.size <= budget.size and key.pairs <= budget.pairs])
    chosen: dict[int, str] = {}
    size = pairs = 0
    for kind in cycle(KINDS):
        key = next((key for key in orders[kind] if key.place not in chosen), None)
        if key is None:
            break
        size, pairs = size + key.size, pairs + key.pairs
        if size > budget.size or pairs > budget.pairs:
            break
        chosen[key.place] = kind
    return chosen


def _orders(keys: Sequence[_Key]) -> dict[str, Iterator[_Key]]:
    """The lowest means, the largest differences between engines (then most flips), and chance, each first."""
    return {
        "worst": iter(sorted(keys, key=lambda key: (key.mean is None, key.mean or 0.0, key.lot))),
        "disagreeing": iter(sorted(keys, key=lambda key: (-key.spread, -key.flips, key.lot))),
        "random": iter(sorted(keys, key=lambda key: key.lot)),
    }
