"""A whole night with every fault at once and kills on top, against the same night without any.

    python -m tests.fault_injection.night [--pairs 10000] [--kills 5] [--concurrency 8]

2 % of the requests get a 500, 5 % a 429, 1 % no answer in time, 1 % broken JSON, and 1 % of the pairs
are refused by a content filter for ever. Faults depend on the pair and on how often it was asked about,
so nights are alike.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.fault_injection import killing, table
from tests.fault_injection.killing import RunSetup
from tests.fault_injection.provider import Provider, Request, names_the_pair, pair_of, provider
from tests.fault_injection.table import Figure, report
from tests.support.fake_server import ChatRequest, Reply

TIMEOUT, LATENCY = 2.0, 0.01
REFUSED = '{"error": {"code": "content_filter", "message": "filtered"}}'
OVERLOADED = '{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}'


def share(text: str) -> float:
    """A number from 0 to 1 that `text` decides."""
    return int.from_bytes(sha256(text.encode()).digest()[:8]) / 2**64


def calm(request: ChatRequest) -> Reply:
    return Reply(text=names_the_pair(request).text, delay=LATENCY)


def troubled() -> Callable[[ChatRequest], Reply]:
    """A bad provider, which decides by the pair and by how often it was asked about it."""
    times: Counter[str] = Counter()

    def answer(request: ChatRequest) -> Reply:
        good, pair = calm(request), pair_of(request)
        times[pair] += 1
        chance = share(f"{pair} {times[pair]}")
        if share(pair) < 0.01:
            return replace(good, status=400, body=REFUSED)
        if chance < 0.02:
            return replace(good, status=500, body="{}")
        if chance < 0.07:
            return replace(good, status=429, body=OVERLOADED, headers={"retry-after": "0.2"})
        if chance < 0.08:
            return replace(good, delay=10 * TIMEOUT)
        return replace(good, text='{"reason": "the dose, gra') if chance < 0.09 else good

    return answer


@dataclass(frozen=True)
class Night:
    """What came of a night: its judgments by pair, what it cost, and what the provider saw."""

    judgments: dict[tuple[str, str], dict[str, Any]]
    cost: dict[str, Any]
    requests: list[Request]
    in_flight: int


def spend(here: RunSetup, questions: Provider, pairs: int, kills: int) -> Night:
    """Runs to the end, killed `kills` times on the way, evenly."""
    in_flight = 0
    for number in range(1, kills + 1):
        child = killing.judge(here)
        while questions.count < number * pairs // (kills + 1) and not child.ended():
            time.sleep(0.001)
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, child.output
        content = killing.read_store(here.store)
        in_flight += len(content.leases)
        assert child.acknowledged <= content.keys.keys()
    child = killing.judge(here)
    assert child.wait(1800) == 0, child.output
    lines = (here.out / "judgments.jsonl").read_text().splitlines()
    rows = {(row["query_id"], row["snippet_id"]): row for row in map(json.loads, lines)}
    return Night(rows, killing.cost(here.out), questions.requests(), in_flight)


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two rows are equal, less what was paid and that it took a second asking."""
    rows = ({**row, "usage": None, "flags": sorted({*row["flags"]} - {"re_asked"})} for row in (one, other))
    return len({json.dumps(row, sort_keys=True) for row in rows}) == 1


def figures(quiet: Night, wild: Night, pairs: int) -> list[Figure]:
    judged = {pair for pair, row in wild.judgments.items() if row["grade"] is not None}
    errors = [row["error"] for row in wild.judgments.values() if row["grade"] is None]
    refused = errors.count("content_filter")
    differing = sum(not alike(wild.judgments[pair], quiet.judgments[pair]) for pair in judged)
    paid = sum(request.status == 200 and request.delay < TIMEOUT for request in wild.requests)
    unknown = sum(request.status == 200 and request.delay > TIMEOUT for request in wild.requests)
    extra = (paid + unknown - len(judged)) / pairs
    gap = wild.cost["calls"] - len(wild.requests)
    twice = len(errors) - refused  # the first asking and the second came back broken
    return [
        Figure("pairs of the quiet night", len(quiet.judgments), f"{pairs}", len(quiet.judgments) == pairs),
        Figure("judged", len(judged), "", len(judged) > 0),
        Figure("refused by the filter", refused, "", ok=True),
        Figure("unreadable twice", twice, f"<= {pairs // 1000 + 1}", twice <= pairs // 1000 + 1),
        Figure("judged otherwise", differing, "0", differing == 0),
        Figure("requests", len(wild.requests), "", ok=True),
        Figure("answered", paid, "", ok=True),
        Figure("answered too late", unknown, "", ok=True),
        Figure("extra paid calls", f"{extra:.2%}", "<= 3 %, late ones included", extra <= 0.03),
        Figure("maybe billed, as listed", wild.cost["maybe_billed"], "", ok=True),
        Figure(
            "ledger less requests", gap, f"within {wild.in_flight}, in flight", abs(gap) <= wild.in_flight
        ),
    ]


def main() -> int:
    """Spends both nights and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        nights: list[Night] = []
        for word, answer, kills in (("quiet", calm, 0), ("wild", troubled(), arguments.kills)):
            folder = Path(name) / word
            folder.mkdir()
            with provider(answer, folder) as server:
                killing.warm_up(folder / "warm")
                here = killing.run_setup(folder / "night", server.url, arguments.pairs, arguments.concurrency)
                nights.append(spend(replace(here, timeout=TIMEOUT), server, arguments.pairs, kills))
    quiet, wild = nights
    return report(figures(quiet, wild, arguments.pairs))


if __name__ == "__main__":
    sys.exit(main())
