"""How close judge comes to the ideal rate and what a pair costs, beside simple request loops and other tools.

    python -m tests.benchmarks.throughput [--pairs 2000] [--rounds 3] [--cells 64x50,…] [--peers all]
        [--json FILE] [--docs] [--check FILE] [NAME…]

The server runs on one core, each client in a process of its own on another one, one after the other in each
round. Peers run in environments of their own, which the first run makes, and in the first round only: the
slowest one needs minutes for a cell. No client connects to another machine. `Figures` in figures.py defines
each column. Standard error shows each measurement as it ends.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.benchmarks import performance_page
from tests.benchmarks.clients import ADAPTERS, PROBE, RUN, RUN_KNOWN, SDKS
from tests.benchmarks.figures import (
    Cell,
    CellFigures,
    Machine,
    Measurement,
    Results,
    find_regressions,
    load_results,
    summarise,
    write_results,
)
from tests.benchmarks.peers.environments import DEFAULT_FOLDER, PEERS, QUIET, AbsentPeer, make_environment

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).with_name("throughput.json")
DEFAULT = (PROBE, *SDKS, RUN, RUN_KNOWN)
_EN = "tea leaf water brews green cup minutes hot taste the of and with for is in a steep fresh grown".split()
_ZH = "茶叶水温绿茶冲泡分钟口感新鲜产地种植香气的在与和是可以建议适合清淡"
#: Seconds after which a client counts as stuck.
_TIMEOUT = 600


@dataclass(frozen=True)
class Client:
    """A name, and the command of its process, less the workload."""

    name: str
    command: tuple[str, ...]


class FailedClient(Exception):
    """A client ended with an error or without all grades; the text says which."""


def make_rows(pairs: int) -> list[dict[str, str]]:
    """Return a dataset of `pairs` results, ten a query, half in Chinese, with snippets of 600 characters."""
    chance = random.Random(1)
    rows = []
    for number in range(pairs):
        query, zh = number // 10, number // 10 % 2
        words = ("".join(chance.choices(_ZH, k=600)) if zh else " ".join(chance.choices(_EN, k=200)))[:600]
        text = f"第{query}个问题：怎样泡绿茶" if zh else f"how to brew green tea, question {query}"
        rows.append({"query_id": f"q{query}", "query": text, "engine": "a", "snippet": f"{number} {words}"})
    return rows


class Server:
    """The server's process: its address, and what it received."""

    def __init__(self, url: str, commands: IO[str], answers: IO[str]) -> None:
        self.url = url
        self._commands = commands
        self._answers = answers

    def take_counts(self) -> tuple[int, int]:
        """Return the calls since the last time, and the characters of their messages."""
        print(file=self._commands, flush=True)
        counts = json.loads(self._answers.readline())
        return counts["calls"], counts["characters"]


@contextmanager
def start_server(latency: float, core: int) -> Iterator[Server]:
    """Start the server on `core`."""
    command = [sys.executable, "-m", "tests.benchmarks.chat_server", str(latency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        os.sched_setaffinity(process.pid, {core})
        assert process.stdin is not None
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip(), process.stdin, process.stdout)
        process.stdin.close()


def measure(client: Client, server: Server, cell: Cell, data: Path, core: int) -> Measurement:
    """Let `client` judge the rows of `data` in a new process on `core`, in an empty folder.

    Raises:
        FailedClient: it does not end well in ten minutes, or has not all grades.

    """
    workload = (server.url, str(data), str(cell.concurrency))
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **QUIET, "PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(ROOT),
            "OPENAI_API_KEY": "key-of-the-benchmark", "LANG": "C.UTF-8",
        }  # fmt: skip
        log = Path(folder, "errors")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [*client.command, *workload], stdout=subprocess.PIPE, stderr=errors, text=True,
                cwd=folder, env=environment,
            )  # fmt: skip
            os.sched_setaffinity(process.pid, {core})
            try:
                output, _ = process.communicate(timeout=_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise FailedClient(f"no result in {_TIMEOUT} seconds") from None
        calls, characters = server.take_counts()
        if process.returncode:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise FailedClient(f"exit code {process.returncode}: {''.join(last)}")
    figures = json.loads(output.splitlines()[-1])
    if (grades := figures.pop("grades")) != cell.pairs:
        raise FailedClient(f"{grades} grades for {cell.pairs} pairs")
    return Measurement(**figures, calls=calls, characters=characters)


def measure_cell(cell: Cell, clients: Sequence[Client], rounds: int, absent: dict[str, str]) -> CellFigures:
    """Put the clients through `cell`, one after the other in each round; peers in the first round only.

    A peer that fails is added to `absent`, and has no figures in this cell and later ones.

    Raises:
        FailedClient: a client that is not a peer fails.

    """
    cores = sorted(os.sched_getaffinity(0))
    measurements: dict[str, list[Measurement]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, start_server(cell.latency, cores[0]) as server:
        data = Path(folder, "rows.jsonl")
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in make_rows(cell.pairs))
        data.write_text("".join(lines), encoding="utf-8")
        for at in range(rounds):
            for client in clients:
                if client.name in PEERS and (at or client.name in absent):
                    continue
                try:
                    measurement = measure(client, server, cell, data, cores[-1])
                except FailedClient as error:
                    if client.name not in PEERS:
                        raise
                    absent[client.name] = f"{cell.name}: {error}"
                else:
                    measurements[client.name].append(measurement)
                    print(f"{cell.name} round {at + 1} {client.name}: {measurement}", file=sys.stderr)
    return CellFigures(cell, {name: summarise(cell, each) for name, each in measurements.items()})


def list_clients(names: Sequence[str], folder: Path) -> tuple[list[Client], dict[str, str]]:
    """Return the clients of these names, and why a peer is absent; `folder` has the environments."""
    clients, absent = [], {}
    for name in names:
        if name not in PEERS:
            clients.append(Client(name, (sys.executable, "-m", "tests.benchmarks.clients", name)))
            continue
        try:
            python = make_environment(PEERS[name], folder)
        except AbsentPeer as error:
            absent[name] = str(error)
        else:
            clients.append(Client(name, (str(python), "-m", f"tests.benchmarks.peers.{PEERS[name].module}")))
    return clients, absent


def run_benchmark(cells: Sequence[Cell], names: Sequence[str], rounds: int, folder: Path) -> Results:
    """Measure the clients of these names in each cell; the environments of peers are in `folder`."""
    clients, absent = list_clients(names, folder)
    load_before = os.getloadavg()[0]
    figures = tuple(measure_cell(cell, clients, rounds, absent) for cell in cells)
    versions = {name: " ".join(PEERS[name].packages) for name in names if name in PEERS}
    versions |= {"judge": importlib.metadata.version("search-judge")}
    versions |= {package: importlib.metadata.version(package) for package in ("openai", "aiohttp")}
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    processor = re.search(r"model name\s*: (.+)", cpuinfo)
    machine = Machine(
        processor=processor[1] if processor else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        day=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        load_before=round(load_before, 1),
        load_after=round(os.getloadavg()[0], 1),
    )
    return Results(machine, rounds, versions, absent, figures)


def print_results(results: Results) -> None:
    """Print a table for each cell."""
    machine = results.machine
    print(f"{machine.processor}, {machine.cores} cores, Python {machine.python}, {machine.day};", end=" ")
    print(
        f"load {machine.load_before} before, {machine.load_after} after; medians of {results.rounds} rounds"
    )
    for each in results.cells:
        cell = each.cell
        print(f"{cell.pairs} pairs, {cell.concurrency} calls at once, {cell.latency * 1000:g} ms each")
        print(f"  {'':28}    eff   CPU ms   all in   calls  tokens     MiB  import s")
        for name, row in each.clients.items():
            print(
                f"  {name:28} {row.eff:6.3f} {row.cpu_ms:8.3f} {row.all_in_ms:8.3f} {row.calls:7.3f} "
                f"{row.tokens:7.0f} {row.peak_rss:7.0f} {row.import_s:9.2f}"
            )
    for name, reason in results.absent.items():
        print(f"absent: {name}: {reason}")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and write the figures; return 1 if the check fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", metavar="NAME", help=f"of {', '.join((*DEFAULT, *ADAPTERS))}")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cells", default="64x50,64x500,256x500", help="concurrency x milliseconds, …")
    parser.add_argument("--peers", default="", help=f"all, or of {','.join(PEERS)}; default: none")
    parser.add_argument("--environments", type=Path, default=DEFAULT_FOLDER, help="folder of the peers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--docs", action="store_true", help=f"write {STORED.name}, and docs/*/performance.md")
    parser.add_argument(
        "--check", type=Path, metavar="FILE", help="fail if a ratio to the loop is 20%% worse"
    )
    options = parser.parse_args(words)
    peers = list(PEERS) if options.peers == "all" else [name for name in options.peers.split(",") if name]
    if unknown := {*peers, *options.clients} - {*DEFAULT, *ADAPTERS, *PEERS}:
        parser.error(f"unknown client {sorted(unknown)}")
    cells = [
        Cell(options.pairs, int(concurrency), float(milliseconds) / 1000)
        for concurrency, milliseconds in (cell.split("x") for cell in options.cells.split(","))
    ]
    stored = load_results(options.check) if options.check else None
    if stored and not {each.cell for each in stored.cells} & set(cells):
        parser.error(
            f"--check: {options.check} has no cell of this run; it has {[each.cell for each in stored.cells]}"
        )
    results = run_benchmark(
        cells, [*(options.clients or DEFAULT), *peers], options.rounds, options.environments
    )
    print_results(results)
    if options.json:
        write_results(results, options.json)
    if options.docs:
        write_results(results, STORED)
        performance_page.write_pages(results, ROOT / "docs")
    regressions = list(find_regressions(stored, results)) if stored else []
    print(*regressions, sep="\n", end="\n" if regressions else "")
    return 1 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
