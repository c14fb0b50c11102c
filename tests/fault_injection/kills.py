"""Kill `judge run` many times, at random moments and at chosen ones, and count lost verdicts.

    python -m tests.fault_injection.kills [--kills 1000] [--seed N]

Each run is killed until it finishes, then while `judge score` and `judge run` write its files again.
A kill comes at a random moment of the run's length, or after an event: a request arrives, a commit or
a checkpoint reaches the disk, a file is begun.
"""

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
from tests.fault_injection.provider import Provider, reply_with_pair, start_provider
from tests.fault_injection.table import Figure, print_figures
from tests.support.fake_server import ChatRequest, Reply

PAIRS, IN_FLIGHT = 80, 8
#: How often each moment is chosen: after one of the last three, only the export is left.
WEIGHTS = {"request": 3, "commit": 3, "any moment": 2, "checkpoint": 1, "file begun": 1}


@dataclass
class Tally:
    """Counts over all kills."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged_pairs: int = 0
    lost: int = 0
    paid_again: int = 0
    leases: int = 0
    unlisted: int = 0
    wrong_ledgers: int = 0
    runs: int = 0


def answer(request: ChatRequest) -> Reply:
    """Reply after 10 to 42 ms, by the hash of the prompt."""
    rng = sha256(request.prompt.encode()).digest()[0]
    return Reply(text=reply_with_pair(request).text, delay=0.01 + rng / 8000)


class KilledRun:
    """A run in a folder of its own, from the first kill to the last."""

    def __init__(
        self, setup: RunSetup, provider: Provider, reference: dict[str, bytes], tally: Tally
    ) -> None:
        self._setup = setup
        self._provider = provider
        self._before = provider.count
        self._reference = reference
        self._tally = tally
        self._leases = 0
        self._acknowledged_pairs: set[str] = set()

    def kill(self, moment: str, due: Callable[[], bool], child: Child) -> bool:
        """Kill `child` when `due` and check its files; return False if it ended before."""
        while not child.has_ended() and not due():
            time.sleep(0.0002)
        child.send(signal.SIGKILL)
        code = child.wait()
        assert code in (0, -signal.SIGKILL), child.output
        self._check(child.acknowledged_pairs)
        if code == 0:
            return False
        self._tally.kills[moment] += 1
        return True

    def _check(self, acknowledged_pairs: set[str]) -> None:
        """Check the store and the files: acknowledged pairs, leases, complete files."""
        content = killing.read_store(self._setup.store)
        self._acknowledged_pairs |= acknowledged_pairs
        self._tally.acknowledged_pairs += len(acknowledged_pairs)
        self._tally.lost += len(self._acknowledged_pairs - content.keys.keys())
        # Leases of the last process are lost calls by now, unless this one was killed before it counted them.
        leases = len(content.leases) + sum(content.lost.values()) - self._leases
        # Leases are taken ahead of the requests, and each may have been paid for.
        assert 0 <= leases <= 2 * IN_FLIGHT, leases
        self._leases += leases
        killing.check_files(self._setup.out, self._reference)

    def finish(self) -> None:
        """Run to the end and compare the ledger with the requests of the provider."""
        assert killing.start_judge(self._setup).wait() == 0
        killing.check_files(self._setup.out, self._reference)
        result, tally = killing.read_store(self._setup.store), self._tally
        requests = self._provider.list_requests(self._before)
        counts = Counter(request.pair for request in requests)
        tally.paid_again += len(requests) - PAIRS
        tally.leases += self._leases
        tally.unlisted += sum(
            max(0, counts[pair] - 1 - result.lost[key]) for pair, key in result.keys.items()
        )
        cost = killing.read_cost(self._setup.out)
        right = cost["maybe_billed"] == self._leases and cost["calls"] == PAIRS + self._leases
        tally.wrong_ledgers += not right or len(result.leases) > 0
        tally.runs += 1


def list_moments(
    setup: RunSetup, provider: Provider, rng: random.Random, seconds: float
) -> dict[str, Callable[[], bool]]:
    """Return the condition of each moment of a kill, for a child that starts now."""
    now, count = time.monotonic(), provider.count
    log, part = setup.store.with_name(setup.store.name + "-wal"), setup.out
    delay, requests, commits = rng.uniform(0, seconds), rng.randint(1, 24), rng.randint(1, 10)
    return {
        "any moment": lambda: time.monotonic() >= now + delay,
        "request": lambda: provider.count >= count + requests,
        "commit": detect_changes(log, commits),
        "checkpoint": detect_changes(setup.store, rng.randint(1, 3)),
        "file begun": lambda: any(part.glob(".*.part")),
    }


def detect_changes(path: Path, times: int) -> Callable[[], bool]:
    """Return a function that says whether the file at `path` changed this many times since its first call."""
    state, left = _read_state(path), times

    def is_due() -> bool:
        nonlocal state, left
        current = _read_state(path)
        left -= current != state
        state = current
        return left <= 0

    return is_due


def _read_state(path: Path) -> tuple[int, int] | None:
    try:
        result = path.stat()
    except FileNotFoundError:
        return None
    return result.st_mtime_ns, result.st_size


def start_rescore(setup: RunSetup) -> Child:
    """Start `judge score --save` in a child."""

    def run_task(_: int) -> int:
        finished_run.rescore(setup.out, save=True)
        return 0

    return Child(run_task)


def kill_until_finished(
    run: KilledRun, setup: RunSetup, provider: Provider, rng: random.Random, seconds: float, max_kills: int
) -> None:
    """Kill a run until it finishes, then once while its files are written again."""
    finished = False
    for _ in range(max_kills):
        due = list_moments(setup, provider, rng, seconds)
        if not finished:
            (moment,) = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
            finished = not run.kill(moment, due[moment], killing.start_judge(setup))
            continue
        restart = rng.choice((start_rescore, killing.start_judge))
        moment = rng.choice(("any moment", "file begun"))
        shorter = list_moments(setup, provider, rng, seconds / 3)
        if run.kill("export", shorter[moment], restart(setup)):
            return


def run_undisturbed(folder: Path, url: str) -> tuple[dict[str, bytes], float]:
    """Return the files of a run without kills, and its seconds."""
    setup = killing.make_run_setup(folder, url, PAIRS, IN_FLIGHT)
    child = killing.start_judge(setup)
    assert child.wait() == 0, child.output
    seconds = time.monotonic() - child.started_at
    return {name: (setup.out / name).read_bytes() for name in killing.FIXED_FILES}, seconds


def list_figures(tally: Tally) -> list[Figure]:
    kills = sum(tally.kills.values())
    return [
        *(Figure(f"kills: {moment}", count) for moment, count in sorted(tally.kills.items())),
        Figure("kills", kills),
        Figure("finished runs", tally.runs),
        Figure("acknowledged verdicts", tally.acknowledged_pairs, "> 0", tally.acknowledged_pairs > 0),
        Figure.expect_equal("acknowledged and lost", tally.lost, 0),
        Figure("leases at a kill", tally.leases),
        Figure("paid again", tally.paid_again, "<= leases", tally.paid_again <= tally.leases),
        Figure.expect_equal("paid again and not listed", tally.unlisted, 0),
        Figure.expect_equal("wrong ledgers", tally.wrong_ledgers, 0),
    ]


def main() -> int:
    """Kill as often as the options say and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    rng, tally, started = random.Random(arguments.seed), Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as name, start_provider(answer, Path(name)) as provider:
        folder = Path(name)
        killing.warm_up(folder / "warm")
        reference, seconds = run_undisturbed(folder / "reference", provider.url)
        while (left := arguments.kills - sum(tally.kills.values())) > 0:
            setup = killing.make_run_setup(folder / f"night{tally.runs}", provider.url, PAIRS, IN_FLIGHT)
            run = KilledRun(setup, provider, reference, tally)
            kill_until_finished(run, setup, provider, rng, seconds, left)
            run.finish()
    print(f"seed {arguments.seed}, {time.monotonic() - started:.0f} s, a run takes {seconds:.2f} s")
    return print_figures(list_figures(tally))


if __name__ == "__main__":
    sys.exit(main())
