"""What a night paid, and up to which call each of its stores is counted.

A store holds every call but not the night that made it, and nights share stores. So `paid.json` in the
night's folder says up to which call each store is counted, and the cost of these calls. The calls of a
start that was killed are in its stores, and the next start counts them. A request that was in flight when
a start was killed may or may not have been sent: `calls` counts it, and `lost` is the number of these.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import Annotated

from pydantic import Field

from judge import factory
from judge.assess.assignment_plan import list_request_keys
from judge.config.run import Config
from judge.nightly.record import STORE_OF_NIGHT, WITH_SLASHES, NightCost
from judge.pricing.costs import Cost, add_costs, sum_cost
from judge.pricing.prices import Price, find_common_price
from judge.records import Call, Pair
from judge.runs.folder import RunFolder
from judge.runs.record_json import RenamedKey, load_record, to_json
from judge.store import store_files

_SPENDING_FILE = "paid.json"
_CANARY_STORE = r"canaries(-[1-9][0-9]*)?[/\\]verdicts\.sqlite"
#: The path of a store from the folder of a night, with the separator of any system.
_StorePath = Annotated[
    str, Field(pattern=rf"^(\.\.[/\\]{STORE_OF_NIGHT.pattern}|{_CANARY_STORE})$"), WITH_SLASHES
]


@dataclass(frozen=True, slots=True)
class NightSpending:
    """The content of paid.json: what a night paid so far, and up to which call each of its stores is counted.

    `served` has the names of the models whose verdicts it paid for, besides those on canaries.
    """

    cost_total: NightCost
    counted: dict[_StorePath, int]
    served: tuple[str, ...] = ()


def start_counting(night: RunFolder, store: Path) -> None:
    """Count the calls in `store` for the night from here on; those before were paid or counted already."""
    spending = _read_spending(night)
    last_call = store_files.clear_leases(store)
    name = Path(relpath(store, night.path)).as_posix()
    _write_spending(night, replace(spending, counted={**spending.counted, name: last_call}))


def count_night_calls(
    night: RunFolder, config: Config, pools: Iterable[tuple[Sequence[Pair], int]]
) -> NightSpending:
    """Count the calls since the last count, and return what the night paid in all, at the prices of `config`.

    `pools` has the pairs of each run of the night with the number of its repeats. Called before any store of
    the night is removed. Raises StoreError when a store cannot be read, InputError when paid.json names
    another file than a store of these nights.
    """
    spending = _read_spending(night)
    counted, lost_count, served = {}, 0, {*spending.served}
    calls: list[tuple[str, Call]] = []
    for name, before in spending.counted.items():
        store = night.path / name
        RunFolder(store.parent).check_no_link()
        if store.exists():
            new = store_files.settle_new_calls(store, before)
            lost_count += new.lost
            counted[name] = new.last
            calls += new.calls
            served |= new.served if STORE_OF_NIGHT.fullmatch(store.name) else frozenset()
    cost_total = add_night_costs([spending.cost_total, *_compute_costs(calls, config, pools)])
    cost_total = replace(cost_total, lost=spending.cost_total.lost + lost_count)
    spending = replace(spending, cost_total=cost_total, counted=counted, served=tuple(sorted(served)))
    _write_spending(night, spending)
    return spending


def _read_spending(night: RunFolder) -> NightSpending:
    renamed = RenamedKey((), "paid", "cost_total")  # of version 1
    spending = load_record(night, _SPENDING_FILE, NightSpending, [renamed])
    return spending or NightSpending(add_night_costs([]), {})


def _write_spending(night: RunFolder, spending: NightSpending) -> None:
    night.path.mkdir(parents=True, exist_ok=True)
    night.write_json(_SPENDING_FILE, to_json(spending))


def _compute_costs(
    calls: Sequence[tuple[str, Call]], config: Config, pools: Iterable[tuple[Sequence[Pair], int]]
) -> list[Cost]:
    """Return the cost of the calls for each price: the members of a panel have their own."""
    if not calls:
        return []
    assessors = factory.build_assessors(config)
    prices = [factory.look_up_price(config, assessor.model) for assessor in assessors]
    shared_price, price_of_key = find_common_price(prices), dict[str, Price | None]()
    if any(prices) and shared_price is None:
        for pairs, repeats in pools:
            for assessor, price in zip(assessors, prices, strict=True):
                price_of_key |= dict.fromkeys(list_request_keys(pairs, assessor, repeats), price)
    by_price = defaultdict[Price | None, list[Call]](list)
    for key, call in calls:
        by_price[price_of_key.get(key, shared_price)].append(call)
    return [sum_cost(group, price) for price, group in by_price.items()]


def add_night_costs(costs: Collection[Cost]) -> NightCost:
    """Return the sum of `costs` as a night records it, without lost calls."""
    return NightCost(**asdict(add_costs(costs)))
