"""Kills `judge run` again and again, at random moments and at chosen ones, and counts what is lost.

    python -m tests.fault_injection.kills [--kills 1000] [--seed N]

A night is one run, killed until it is finished, then killed while its files are written again by
`judge score` and `judge run`. Kills come at a random moment of the run's length, or as soon as
something happens: a request arrives, a commit or a checkpoint reaches the disk, a file is begun.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from judge import finished_run
from tests.fault_injection import killing, table
from tests.fault_injection.killing import Child, RunSetup
from tests.fault_injection.provider import Provider, names_the_pair, provider
from tests.fault_injection.table import Figure, report
from tests.support.fake_server import ChatRequest, Reply

PAIRS, IN_FLIGHT = 80, 8
#: How often each moment is chosen: after the last three of them only the export is left to be killed.
WEIGHTS = {"request": 3, "commit": 3, "any moment": 2, "checkpoint": 1, "file begun": 1}


@dataclass
class Tally:
    """What came of all kills."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    repeats: int = 0
    leases: int = 0
    unlisted: int = 0
    ledger_misses: int = 0
    nights: int = 0


def answer(request: ChatRequest) -> Reply:
    """Takes 10 to 42 ms, as the prompt decides."""
    chance = sha256(request.prompt.encode()).digest()[0]
    return Reply(text=names_the_pair(request).text, delay=0.01 + chance / 8000)


class Night:
    """One run in a folder of its own, from the first kill to the last."""

    def __init__(
        self, here: RunSetup, questions: Provider, reference: dict[str, bytes], tally: Tally
    ) -> None:
        self._here = here
        self._questions = questions
        self._before = questions.count
        self._reference = reference
        self._tally = tally
        self._leases = 0
        self._acknowledged: set[str] = set()

    def kill(self, moment: str, due: Callable[[], bool], child: Child) -> bool:
        """Kills `child` when `due` and looks at what is left; False when it had ended before."""
        while not child.ended() and not due():
            time.sleep(0.0002)
        child.send(signal.SIGKILL)
        code = child.wait()
        assert code in (0, -signal.SIGKILL), child.output
        self._look(child.acknowledged)
        if code == 0:
            return False
        self._tally.kills[moment] += 1
        return True

    def _look(self, acknowledged: set[str]) -> None:
        """What was acknowledged is there, what was in flight is known, and every file is whole."""
        content = killing.read_store(self._here.store)
        self._acknowledged |= acknowledged
        self._tally.acknowledged += len(acknowledged)
        self._tally.lost += len(self._acknowledged - content.keys.keys())
        # Leases of the process before are lost calls by now, except where it was killed before that.
        leases = len(content.leases) + sum(content.lost.values()) - self._leases
        # Leases are taken ahead of the requests, and each may have been paid for.
        assert 0 <= leases <= 2 * IN_FLIGHT, leases
        self._leases += leases
        killing.check_files(self._here.out, self._reference)

    def settle(self) -> None:
        """Runs to the end and compares the ledger with what the provider saw."""
        assert killing.judge(self._here).wait() == 0
        killing.check_files(self._here.out, self._reference)
        result, tally = killing.read_store(self._here.store), self._tally
        requests = self._questions.requests(self._before)
        counts = Counter(request.pair for request in requests)
        tally.repeats += len(requests) - PAIRS
        tally.leases += self._leases
        tally.unlisted += sum(
            max(0, counts[pair] - 1 - result.lost[key]) for pair, key in result.keys.items()
        )
        cost = killing.cost(self._here.out)
        right = cost["maybe_billed"] == self._leases and cost["calls"] == PAIRS + self._leases
        tally.ledger_misses += not right or len(result.leases) > 0
        tally.nights += 1


def moments(
    here: RunSetup, questions: Provider, chance: random.Random, seconds: float
) -> dict[str, Callable[[], bool]]:
    """The moments at which a child that starts now may be killed, by name."""
    now, count = time.monotonic(), questions.count
    log, part = here.store.with_name(here.store.name + "-wal"), here.out
    delay, requests, commits = chance.uniform(0, seconds), chance.randint(1, 24), chance.randint(1, 10)
    return {
        "any moment": lambda: time.monotonic() >= now + delay,
        "request": lambda: questions.count >= count + requests,
        "commit": changes(log, commits),
        "checkpoint": changes(here.store, chance.randint(1, 3)),
        "file begun": lambda: any(part.glob(".*.part")),
    }


def changes(path: Path, times: int) -> Callable[[], bool]:
    """Whether the file at `path` was seen to change so many times."""
    seen, left = _state(path), times

    def due() -> bool:
        nonlocal seen, left
        now = _state(path)
        left -= now != seen
        seen = now
        return left <= 0

    return due


def _state(path: Path) -> tuple[int, int] | None:
    try:
        result = path.stat()
    except FileNotFoundError:
        return None
    return result.st_mtime_ns, result.st_size


def rescore(here: RunSetup) -> Child:
    """`judge score --save` in a child."""

    def task(_: int) -> int:
        finished_run.rescore(here.out, save=True)
        return 0

    return Child(task)


def spend(
    night: Night, here: RunSetup, requests: Provider, chance: random.Random, seconds: float, most: int
) -> None:
    """Kills one night's run until it is finished, then once while its files are written again."""
    finished = False
    for _ in range(most):
        due = moments(here, requests, chance, seconds)
        if not finished:
            (moment,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
            finished = not night.kill(moment, due[moment], killing.judge(here))
            continue
        again = chance.choice((rescore, killing.judge))
        moment = chance.choice(("any moment", "file begun"))
        shorter = moments(here, requests, chance, seconds / 3)
        if night.kill("export", shorter[moment], again(here)):
            return


def reference(folder: Path, url: str) -> tuple[dict[str, bytes], float]:
    """The files of a run that nobody disturbs, and how long it takes."""
    here = killing.run_setup(folder, url, PAIRS, IN_FLIGHT)
    child = killing.judge(here)
    assert child.wait() == 0, child.output
    seconds = time.monotonic() - child.began
    return {name: (here.out / name).read_bytes() for name in killing.FIXED}, seconds


def figures(tally: Tally) -> list[Figure]:
    kills = sum(tally.kills.values())
    return [
        *(Figure(f"kills: {moment}", count, "", ok=True) for moment, count in sorted(tally.kills.items())),
        Figure("kills", kills, "all survived whole", ok=True),
        Figure("nights finished", tally.nights, "", ok=True),
        Figure("verdicts acknowledged", tally.acknowledged, "", tally.acknowledged > 0),
        Figure("acknowledged and lost", tally.lost, "0", tally.lost == 0),
        Figure("leases at a kill", tally.leases, "", ok=True),
        Figure("paid again", tally.repeats, "<= leases", tally.repeats <= tally.leases),
        Figure("paid again and not listed", tally.unlisted, "0", tally.unlisted == 0),
        Figure("wrong ledgers", tally.ledger_misses, "0", tally.ledger_misses == 0),
    ]


def main() -> int:
    """Kills as often as asked and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    chance, tally, began = random.Random(arguments.seed), Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as name, provider(answer, Path(name)) as server:
        folder = Path(name)
        killing.warm_up(folder / "warm")
        whole, seconds = reference(folder / "reference", server.url)
        while (left := arguments.kills - sum(tally.kills.values())) > 0:
            here = killing.run_setup(folder / f"night{tally.nights}", server.url, PAIRS, IN_FLIGHT)
            night = Night(here, server, whole, tally)
            spend(night, here, server, chance, seconds, left)
            night.settle()
    print(f"seed {arguments.seed}, {time.monotonic() - began:.0f} s, a run takes {seconds:.2f} s")
    return report(figures(tally))


if __name__ == "__main__":
    sys.exit(main())
