"""Sends SIGTERM, SIGINT and SIGHUP to `judge run` while it judges, and times how it ends.

    python -m tests.fault_injection.signals [--signals 200] [--anywhere 60] [--seed N] [--hearing 0.1]

Calls must stop at once, and what is in flight must come home and be kept.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests.fault_injection import killing, table
from tests.fault_injection.killing import RunSetup
from tests.fault_injection.provider import Provider, names_the_pair, provider
from tests.fault_injection.table import Figure, report
from tests.support.fake_server import ChatRequest, Reply

PAIRS, IN_FLIGHT, SHUTDOWN_TIMEOUT = 200, 16, 5.0
NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class Tally:
    """What came of all signals; times are in seconds."""

    hearing: float
    sent: int = 0
    codes: set[int] = field(default_factory=set)
    late: int = 0
    latest: float = 0.0
    unsaved: int = 0
    slowest: float = 0.0
    silent: int = 0
    anywhere: list[int] = field(default_factory=list)


def answer(request: ChatRequest) -> Reply:
    """Takes 50 to 305 ms, as the prompt decides."""
    chance = sha256(request.prompt.encode()).digest()[0]
    return Reply(text=names_the_pair(request).text, delay=0.05 + chance / 1000)


def interrupt(here: RunSetup, questions: Provider, chance: random.Random, tally: Tally) -> None:
    """Starts a run, sends it a signal after some of its requests, and looks at how it ends."""
    before, child = questions.count, killing.command(here)
    after = chance.randint(1, PAIRS * 3 // 4)
    while questions.count < before + after:
        assert not child.ended(), child.output
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.05))
    sent = time.monotonic()
    child.send(NUMBERS[tally.sent % len(NUMBERS)])
    tally.sent += 1
    tally.codes.add(child.wait(SHUTDOWN_TIMEOUT + 20))
    tally.slowest = max(tally.slowest, time.monotonic() - sent)
    tally.silent += "is kept" not in child.output
    requests = questions.requests(before)
    tally.late += sum(request.at > sent + tally.hearing for request in requests)
    tally.latest = max(tally.latest, *(request.at - sent for request in requests))
    content = killing.read_store(here.store)
    tally.unsaved += len({request.pair for request in requests} - content.keys.keys()) + len(content.leases)


def surprise(here: RunSetup, delay: float, tally: Tally) -> None:
    """Sends a signal to a run so long after it took its folder: while it judges, or writes what it found."""
    child = killing.command(here)
    while not (here.out / ".lock").exists():
        time.sleep(0.001)
    time.sleep(delay)
    child.send(NUMBERS[len(tally.anywhere) % len(NUMBERS)])
    tally.anywhere.append(child.wait(SHUTDOWN_TIMEOUT + 20))
    assert "Traceback" not in child.output, child.output
    killing.check_files(here.out, {})


def figures(tally: Tally) -> list[Figure]:
    allowed, codes = SHUTDOWN_TIMEOUT + 1, {*tally.anywhere}
    return [
        Figure("signals", tally.sent, "", tally.sent > 0),
        Figure("codes at any moment", sorted(codes), "of [0, 130]", codes <= {0, 130}),
        Figure("exit codes", sorted(tally.codes), "[130]", tally.codes == {130}),
        Figure("calls begun after it", tally.late, "0", tally.late == 0),
        Figure(
            "last call begun, s after",
            f"{tally.latest:.3f}",
            f"<= {tally.hearing}",
            tally.latest <= tally.hearing,
        ),
        Figure("answers in flight not saved", tally.unsaved, "0", tally.unsaved == 0),
        Figure("slowest end, s", f"{tally.slowest:.2f}", f"<= {allowed:g}", tally.slowest <= allowed),
        Figure("ends without a word", tally.silent, "0", tally.silent == 0),
    ]


def main() -> int:
    """Sends as many signals as asked and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--anywhere", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--hearing", type=float, default=0.1, help="seconds that a busy machine may take")
    arguments = parser.parse_args()
    for each in NUMBERS:
        signal.signal(each, signal.SIG_DFL)  # a background job inherits deaf ears, and judge respects that
    chance, tally = random.Random(arguments.seed), Tally(arguments.hearing)
    with tempfile.TemporaryDirectory() as name, provider(answer, Path(name)) as server:
        killing.warm_up(Path(name) / "warm")
        for number in range(arguments.signals):
            here = killing.run_setup(Path(name) / f"run{number}", server.url, PAIRS, IN_FLIGHT)
            interrupt(here, server, chance, tally)
        for number in range(arguments.anywhere):
            here = killing.run_setup(Path(name) / f"any{number}", server.url, 20, IN_FLIGHT)
            surprise(here, chance.uniform(0, 1), tally)
    print(f"seed {arguments.seed}")
    return report(figures(tally))


if __name__ == "__main__":
    sys.exit(main())
