"""Run several `judge run` at once on one store, in folders of their own, and count the paid calls.

    python -m tests.fault_injection.shared_store [--pairs 3000] [--processes 4] [--rounds 60] [--within 2]

The runs start at the same moment on a store that does not exist yet. Another one starts when they have
judged half of the pairs.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from judge.store.store import VerdictStore
from tests.fault_injection import killing, table
from tests.fault_injection.killing import Child, RunSetup
from tests.fault_injection.provider import Provider, reply_with_pair, start_provider
from tests.fault_injection.table import Figure, print_figures
from tests.support.command_line import start_process, wait_for_requests
from tests.support.factories import delay_reply

answer = delay_reply(reply_with_pair, 0.05)


def measure_second_run(provider: Provider, setup: RunSetup, within: float) -> Figure:
    """Return the seconds after which a second run in the folder of a running one is refused."""
    before, first = provider.count, start_process(*setup.words)
    wait_for_requests(lambda: provider.count, before + 1)
    started, second = time.monotonic(), start_process(*setup.words)
    _, text = second.communicate(timeout=60)
    seconds = time.monotonic() - started
    first.communicate(timeout=900)
    right = first.returncode == 0 and second.returncode == 2 and "another judge" in text
    return Figure(
        "second in a folder refused, s", f"{seconds:.2f}", f"< {within:g}", right and seconds < within
    )


def measure_opening(folder: Path, rounds: int) -> Figure:
    """Return how many of four processes that open a new store at the same moment fail."""
    failed = 0
    for number in range(rounds):
        start = time.monotonic() + 0.02

        def open_store(_: int, path: Path = folder / f"new{number}.sqlite", start: float = start) -> int:
            while time.monotonic() < start:
                pass
            VerdictStore(path).close()
            return 0

        failed += sum(child.wait() != 0 for child in [Child(open_store) for _ in range(4)])
    return Figure.expect_equal(f"failed to open a new store, of {4 * rounds}", failed, 0)


def measure_runs(provider: Provider, first: RunSetup, pairs: int, processes: int) -> list[Figure]:
    folders = [first.out.with_name(f"run{number}") for number in range(processes + 1)]
    setups = [replace(first, out=out) for out in folders]
    runs = [killing.start_command(setup) for setup in setups[:-1]]
    wait_for_requests(lambda: provider.count, pairs // 2)
    runs.append(killing.start_command(setups[-1]))
    codes = sorted({run.wait(900) for run in runs})
    output = [run.output for run in runs]
    different = len({(out / "judgments.jsonl").read_bytes() for out in folders if codes == [0]})
    busy = sum("locked" in text or "busy" in text for text in output)
    if codes != [0]:
        print(*output, sep="\n")
    return [
        Figure("processes", len(runs)),
        Figure.expect_equal("requests", provider.count, pairs),
        Figure.expect_equal("exit codes", codes, [0]),
        Figure.expect_equal("busy errors in the output", busy, 0),
        Figure.expect_equal("different files of judgments", different, 1),
    ]


def main() -> int:
    """Start the runs and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60, help="new stores that four processes open at once")
    parser.add_argument("--within", type=float, default=2.0, help="seconds; 0 leaves this figure out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, start_provider(answer, Path(name)) as provider:
        first = killing.make_run_setup(Path(name) / "together", provider.url, arguments.pairs, concurrency=16)
        killing.warm_up(Path(name) / "warm")
        result = [
            measure_opening(Path(name), arguments.rounds),
            *measure_runs(provider, first, arguments.pairs, arguments.processes),
        ]
        if not arguments.within:
            return print_figures(result)
        alone = killing.make_run_setup(Path(name) / "alone", provider.url, 400, concurrency=4)
        return print_figures([*result, measure_second_run(provider, alone, arguments.within)])


if __name__ == "__main__":
    sys.exit(main())
