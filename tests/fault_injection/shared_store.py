"""Runs several `judge run` at once on one store, in folders of their own, and counts what is paid.

    python -m tests.fault_injection.shared_store [--pairs 3000] [--processes 4] [--rounds 60] [--within 2]

The runs start at the same moment on a store that does not exist yet, and a latecomer starts when the
others are half through: nights that overlap.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from judge.store.store import VerdictStore
from tests.fault_injection import killing, table
from tests.fault_injection.killing import Child, RunSetup
from tests.fault_injection.provider import Provider, names_the_pair, provider
from tests.fault_injection.table import Figure, report
from tests.support.fake_server import ChatRequest, Reply

LATENCY = 0.05


def answer(request: ChatRequest) -> Reply:
    return Reply(text=names_the_pair(request).text, delay=LATENCY)


def start(here: RunSetup) -> subprocess.Popen[str]:
    """The real command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "judge", *here.words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ),
    )  # fmt: skip


def wait_for(questions: Provider, requests: int) -> None:
    """Returns when the provider has got so many requests."""
    deadline = time.monotonic() + 300
    while questions.count < requests:
        assert time.monotonic() < deadline, f"only {questions.count} requests came"
        time.sleep(0.01)


def refused(requests: Provider, here: RunSetup, within: float) -> Figure:
    """How long a second run of a folder that is being worked on takes to be refused, from its start."""
    before, first = requests.count, start(here)
    wait_for(requests, before + 1)
    began, second = time.monotonic(), start(here)
    text, _ = second.communicate(timeout=60)
    took = time.monotonic() - began
    first.communicate(timeout=900)
    right = first.returncode == 0 and second.returncode == 2 and "another judge" in text
    return Figure("second in a folder refused, s", f"{took:.2f}", f"< {within:g}", right and took < within)


def openings(folder: Path, rounds: int) -> Figure:
    """How many of four processes that open a new store at the same moment are turned away."""
    failed = 0
    for number in range(rounds):
        start = time.monotonic() + 0.02

        def opens(_: int, path: Path = folder / f"new{number}.sqlite", start: float = start) -> int:
            while time.monotonic() < start:
                pass
            VerdictStore(path).close()
            return 0

        failed += sum(child.wait() != 0 for child in [Child(opens) for _ in range(4)])
    return Figure(f"turned away from a new store, of {4 * rounds}", failed, "0", failed == 0)


def figures(requests: Provider, first: RunSetup, pairs: int, processes: int) -> list[Figure]:
    folders = [first.out.with_name(f"run{number}") for number in range(processes + 1)]
    setups = [replace(first, out=out) for out in folders]
    runs = [killing.command(here) for here in setups[:-1]]
    wait_for(requests, pairs // 2)
    runs.append(killing.command(setups[-1]))
    codes = sorted({run.wait(900) for run in runs})
    output = [run.output for run in runs]
    alike = len({(out / "judgments.jsonl").read_bytes() for out in folders if codes == [0]})
    busy = sum("locked" in text or "busy" in text for text in output)
    if codes != [0]:
        print(*output, sep="\n")
    return [
        Figure("processes", len(runs), "", ok=True),
        Figure("requests", requests.count, f"{pairs}", requests.count == pairs),
        Figure("exit codes", codes, "[0]", codes == [0]),
        Figure("busy errors shown", busy, "0", busy == 0),
        Figure("different judgments", alike, "1", alike == 1),
    ]


def main() -> int:
    """Runs them and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60, help="new stores that four processes open at once")
    parser.add_argument("--within", type=float, default=2.0, help="seconds; 0 leaves this figure out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, provider(answer, Path(name)) as server:
        first = killing.run_setup(Path(name) / "together", server.url, arguments.pairs, concurrency=16)
        killing.warm_up(Path(name) / "warm")
        result = [
            openings(Path(name), arguments.rounds),
            *figures(server, first, arguments.pairs, arguments.processes),
        ]
        if not arguments.within:
            return report(result)
        alone = killing.run_setup(Path(name) / "alone", server.url, 400, concurrency=4)
        return report([*result, refused(server, alone, arguments.within)])


if __name__ == "__main__":
    sys.exit(main())
