"""Compare a large run with faults and kills with the same run without any.

    python -m tests.fault_injection.night [--pairs 10000] [--kills 5] [--concurrency 8]

2% of the requests get a 500, 5% a 429, 1% no answer in time, 1% broken JSON, and a content filter
refuses 1% of the pairs each time. Faults depend on the pair and on the number of the request for it,
so that they are the same in each run.
"""

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
from tests.fault_injection.provider import Provider, Request, find_pair, reply_with_pair, start_provider
from tests.fault_injection.table import Figure, print_figures
from tests.support.factories import delay_reply
from tests.support.fake_server import ChatRequest, Reply

TIMEOUT, LATENCY = 2.0, 0.01
CONTENT_FILTER_ERROR = '{"error": {"code": "content_filter", "message": "filtered"}}'
RATE_LIMIT_ERROR = '{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}'


def hash_to_share(text: str) -> float:
    """Return a number from 0 to 1 that depends on `text` only."""
    return int.from_bytes(sha256(text.encode()).digest()[:8]) / 2**64


reply_correctly = delay_reply(reply_with_pair, LATENCY)


def make_faulty_answer() -> Callable[[ChatRequest], Reply]:
    """Return the answer of a faulty provider: a fault depends on the pair and the number of its request."""
    attempts: Counter[str] = Counter()

    def answer(request: ChatRequest) -> Reply:
        good, pair = reply_correctly(request), find_pair(request)
        attempts[pair] += 1
        share = hash_to_share(f"{pair} {attempts[pair]}")
        if hash_to_share(pair) < 0.01:
            return replace(good, status=400, body=CONTENT_FILTER_ERROR)
        if share < 0.02:
            return replace(good, status=500, body="{}")
        if share < 0.07:
            return replace(good, status=429, body=RATE_LIMIT_ERROR, headers={"retry-after": "0.2"})
        if share < 0.08:
            return replace(good, delay=10 * TIMEOUT)
        return replace(good, text='{"reason": "the dose, gra') if share < 0.09 else good

    return answer


@dataclass(frozen=True)
class RunOutput:
    """The judgments of a run by pair, its cost, the provider's requests, the leases at its kills."""

    judgments: dict[tuple[str, str], dict[str, Any]]
    cost: dict[str, Any]
    requests: list[Request]
    in_flight: int


def run_with_kills(setup: RunSetup, provider: Provider, pairs: int, kills: int) -> RunOutput:
    """Run to the end, with `kills` kills at equal distances, and return the output."""
    in_flight = 0
    for number in range(1, kills + 1):
        child = killing.start_judge(setup)
        while provider.count < number * pairs // (kills + 1) and not child.has_ended():
            time.sleep(0.001)
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, child.output
        content = killing.read_store(setup.store)
        in_flight += len(content.leases)
        assert child.acknowledged_pairs <= content.keys.keys()
    child = killing.start_judge(setup)
    assert child.wait(1800) == 0, child.output
    lines = (setup.out / "judgments.jsonl").read_text().splitlines()
    rows = {(row["query_id"], row["snippet_id"]): row for row in map(json.loads, lines)}
    return RunOutput(rows, killing.read_cost(setup.out), provider.list_requests(), in_flight)


def is_same_judgment(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two rows are equal apart from their usage and the flag of a second request."""
    rows = ({**row, "usage": None, "flags": sorted({*row["flags"]} - {"re_asked"})} for row in (one, other))
    return len({json.dumps(row, sort_keys=True) for row in rows}) == 1


def list_figures(fault_free: RunOutput, faulty: RunOutput, pairs: int) -> list[Figure]:
    judged = {pair for pair, row in faulty.judgments.items() if row["grade"] is not None}
    errors = [row["error"] for row in faulty.judgments.values() if row["grade"] is None]
    refused = errors.count("content_filter")
    differing = sum(
        not is_same_judgment(faulty.judgments[pair], fault_free.judgments[pair]) for pair in judged
    )
    paid = sum(request.status == 200 and request.delay < TIMEOUT for request in faulty.requests)
    unknown = sum(request.status == 200 and request.delay > TIMEOUT for request in faulty.requests)
    extra = (paid + unknown - len(judged)) / pairs
    gap = faulty.cost["calls"] - len(faulty.requests)
    twice = len(errors) - refused  # the first reply and the second one could not be parsed
    return [
        Figure.expect_equal("pairs of the fault-free run", len(fault_free.judgments), pairs),
        Figure("judged pairs", len(judged), "> 0", len(judged) > 0),
        Figure("refused by the filter", refused),
        Figure.expect_at_most("unreadable twice", twice, pairs // 1000 + 1),
        Figure.expect_equal("judged differently", differing, 0),
        Figure("requests", len(faulty.requests)),
        Figure("answered", paid),
        Figure("answered too late", unknown),
        Figure("extra paid calls", f"{extra:.2%}", "<= 3%, late ones included", extra <= 0.03),
        Figure("maybe billed, in the ledger", faulty.cost["maybe_billed"]),
        Figure(
            "ledger minus requests", gap, f"+-{faulty.in_flight}, in flight", abs(gap) <= faulty.in_flight
        ),
    ]


def main() -> int:
    """Run both and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        outputs: list[RunOutput] = []
        for word, answer, kills in (
            ("fault-free", reply_correctly, 0),
            ("faulty", make_faulty_answer(), arguments.kills),
        ):
            folder = Path(name) / word
            folder.mkdir()
            with start_provider(answer, folder) as provider:
                killing.warm_up(folder / "warm")
                setup = replace(
                    killing.make_run_setup(
                        folder / "x", provider.url, arguments.pairs, arguments.concurrency
                    ),
                    timeout=TIMEOUT,
                )
                outputs.append(run_with_kills(setup, provider, arguments.pairs, kills))
    fault_free, faulty = outputs
    return print_figures(list_figures(fault_free, faulty, arguments.pairs))


if __name__ == "__main__":
    sys.exit(main())
