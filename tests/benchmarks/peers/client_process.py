"""The process of one client: read the rows, let the client judge them, and print what that took.

Peers run this in their own environments, so it imports only the standard library:

    python -m tests.benchmarks.peers.NAME URL ROWS.jsonl CONCURRENCY

Connections to other machines are refused. The current folder is an empty one.
"""

import asyncio
import importlib
import ipaddress
import json
import re
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stopwatch:
    """Wall and CPU seconds between `start` and the first `stop` after it; None before that."""

    wall: float | None = None
    cpu: float | None = None
    _started: tuple[float, float] = (0.0, 0.0)

    def start(self) -> None:
        """Start again."""
        self.wall = self.cpu = None
        self._started = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Keep the seconds since the start; a second stop changes nothing."""
        if self.wall is None:
            wall, cpu = self._started
            self.wall, self.cpu = time.perf_counter() - wall, time.process_time() - cpu


@dataclass(frozen=True)
class Workload:
    """What a client judges: `rows`, which the file `data` holds too, `concurrency` calls at once."""

    url: str
    data: Path
    concurrency: int
    rows: tuple[dict[str, str], ...]
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def group_queries(self) -> dict[str, list[str]]:
        """Return the snippets of each query."""
        snippets: dict[str, list[str]] = {}
        for row in self.rows:
            snippets.setdefault(row["query"], []).append(row["snippet"])
        return snippets


async def judge_concurrently(work: Workload, judge: Callable[[dict[str, str]], Awaitable[str]]) -> int:
    """Judge the rows with `concurrency` workers; `judge` returns a reply. Return the number of grades."""
    left = iter(work.rows)
    grades = []

    async def judge_rows() -> None:
        for row in left:
            grades.append(json.loads(await judge(row))["grade"])

    await asyncio.gather(*(judge_rows() for _ in range(work.concurrency)))
    return len(grades)


def make_messages(row: dict[str, str]) -> list[dict[str, str]]:
    """Return the prompt that the loops of this folder send for a row."""
    return [
        {"role": "system", "content": "Judge how well the snippet answers the query. " * 25},
        {"role": "user", "content": f"Query: {row['query']}\n{row['snippet']}"},
    ]


def refuse_other_machines(event: str, arguments: tuple[object, ...]) -> None:
    """Raise `ConnectionRefusedError` for a connection to another machine (an audit hook)."""
    if event != "socket.connect" or getattr(arguments[0], "family", None) == socket.AF_UNIX:
        return
    address = arguments[1]
    host = str(address[0]) if isinstance(address, tuple) else str(address)
    if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
        raise ConnectionRefusedError(f"a benchmark connects only to this machine, not to {host!r}")


def run_client(library: str, drive: Callable[[Workload], int]) -> None:
    """Import `library`, let `drive` judge the rows of the command line, and print the figures as JSON.

    `drive` returns the number of grades. A client that prepares more than its own objects starts the
    stopwatch itself.
    """
    sys.addaudithook(refuse_other_machines)
    url, data, concurrency = sys.argv[1:]
    with Path(data).open(encoding="utf-8") as lines:
        rows = tuple(json.loads(line) for line in lines)
    work = Workload(url, Path(data), int(concurrency), rows)
    before = time.process_time()
    importlib.import_module(library)
    import_cpu = time.process_time() - before
    work.stopwatch.start()
    grades = drive(work)
    work.stopwatch.stop()
    # Linux: the peak of this program; `ru_maxrss` may be that of the process that started it.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    figures = {
        "grades": grades,
        "wall": work.stopwatch.wall,
        "cpu": work.stopwatch.cpu,
        "process_cpu": time.process_time(),
        "import_cpu": import_cpu,
        "peak_rss": int(peak[1]) / 1024 if peak else None,
    }
    print(json.dumps(figures), flush=True)
