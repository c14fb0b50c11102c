"""How close judge comes to the ideal rate, and what CPU a pair costs, beside loops that do less.

    python -m tests.benchmarks.throughput [--pairs 2000] [--rounds 3] [--cells 256x500,64x500,64x50] [NAME…]

The server runs on one core, each client in a process of its own on another one, one after the other in each
round. `eff` is the ideal time divided by the time from the first request to the last durable grade; the ideal
is ceil(pairs / concurrency) x latency. `CPU` is that of the client's process in that time, in milliseconds a
pair, and `all in` that of the whole process, with imports, reading the dataset, files and report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

RUN = "judge"
PROBE = "aiohttp loop with a journal"
ADAPTERS = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
SDKS = ("AsyncOpenAI", "AsyncOpenAI on aiohttp")
DEFAULT = (PROBE, *SDKS, RUN)
_EN = "tea leaf water brews green cup minutes hot taste the of and with for is in a steep fresh grown".split()
_ZH = "茶叶水温绿茶冲泡分钟口感新鲜产地种植香气的在与和是可以建议适合清淡"


Rows = Sequence[dict[str, str]]


@dataclass(frozen=True)
class Cell:
    """What a client goes through: `pairs` calls, `concurrency` at once, `latency` seconds each."""

    pairs: int
    concurrency: int
    latency: float

    @property
    def ideal(self) -> float:
        """The seconds of a client without costs."""
        return math.ceil(self.pairs / self.concurrency) * self.latency


@dataclass(frozen=True)
class Measurement:
    """Wall and CPU seconds of judging, and the CPU seconds of the whole process."""

    wall: float
    cpu: float
    process_cpu: float


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


def cpu_seconds() -> float:
    """Return the CPU seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def drive_sdk(name: str, url: str, cell: Cell, rows: Rows) -> None:
    """Ask with the loop that everybody writes: AsyncOpenAI, as it comes or on aiohttp."""
    import openai

    transport = openai.DefaultAioHttpClient() if name == SDKS[1] else None
    client = openai.AsyncOpenAI(
        api_key="none", base_url=url, max_retries=0, timeout=60, http_client=transport
    )
    left = iter(rows)

    async def work() -> None:
        for row in left:
            answer = await client.chat.completions.create(
                model="m",
                messages=[
                    {"role": "system", "content": "Judge how well the snippet answers the query. " * 25},
                    {"role": "user", "content": f"Query: {row['query']}\n{row['snippet']}"},
                ],
                temperature=0,
                max_tokens=400,
                response_format={"type": "json_object"},
            )
            assert json.loads(answer.choices[0].message.content or "")["grade"] == 2

    await asyncio.gather(*(work() for _ in range(cell.concurrency)))
    await client.close()


async def drive_adapter(kind: str, url: str, cell: Cell, rows: Rows) -> None:
    """Ask with the adapter `kind`, opened as the command line does."""
    from judge.models import open_model
    from judge.records import GRADED, Prompt, Sampling

    native = kind in ("dashscope", "langchain:tongyi")
    model = open_model(
        f"{kind}:m",
        base_url=url.replace("/v1", "/api/v1") if native else url,
        environ={"OPENAI_API_KEY": "key-of-the-benchmark"},
        sampling=Sampling(temperature=0.0, max_tokens=400),
        timeout=60,
        concurrency=cell.concurrency,
    )
    left = iter(rows)

    async def work() -> None:
        for row in left:
            user = f"Query: {row['query']}\n{row['snippet']}"
            await model.complete(Prompt("Judge. " * 170, user, {"type": "object"}, "v", "", "", "en", GRADED))

    await asyncio.gather(*(work() for _ in range(cell.concurrency)))
    await model.aclose()


class Stopwatch:
    """A progress listener that takes the time from the first question to the last durable judgment."""

    def begin(self, total: int, done: int) -> None:
        self.wall, self.cpu = time.perf_counter(), cpu_seconds()

    def add_judgment(self, judgment: object, usd: float | None) -> None:
        pass

    def set_status(self, status: str) -> None:
        pass

    def end_repeat(self, repeat: object) -> None:
        pass

    def end(self) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, cpu_seconds() - self.cpu


def run_judge(url: str, cell: Cell, data: Path, folder: str) -> tuple[float, float]:
    """Run `judge run` and return wall and CPU seconds of judging."""
    from judge import pipeline
    from judge.config.run import Config

    stopwatch = Stopwatch()
    config = Config(
        model="openai:m", base_url=url, concurrency=cell.concurrency, data=str(data), out=f"{folder}/runs/x"
    )
    result = pipeline.run(config, progress=stopwatch)
    assert result.summary.judged == cell.pairs
    return stopwatch.wall, stopwatch.cpu


def measure(name: str, url: str, cell: Cell, data: Path) -> Measurement:
    """Put the client `name` through `cell` with the rows in the file `data`, in this process."""
    os.environ["OPENAI_API_KEY"] = "key-of-the-benchmark"
    with tempfile.TemporaryDirectory() as folder:
        if name == RUN:
            wall, cpu = run_judge(url, cell, data, folder)
        else:
            rows = [json.loads(line) for line in data.open(encoding="utf-8")]
            wall, cpu = time.perf_counter(), cpu_seconds()
            if name == PROBE:
                from tests.benchmarks import aiohttp_loop

                journal = Path(folder, "journal")
                asyncio.run(aiohttp_loop.judge_rows(url, rows, cell.concurrency, journal))
            else:
                drive = drive_sdk if name in SDKS else drive_adapter
                asyncio.run(drive(name, url, cell, rows))
            wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    return Measurement(wall, cpu, cpu_seconds())


@contextmanager
def server_process(latency: float, core: int) -> Iterator[str]:
    """Start the server on `core` and return its address."""
    command = [sys.executable, "-m", "tests.benchmarks.chat_server", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(process.pid, {core})
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def measure_in_process(name: str, url: str, cell: Cell, data: Path, core: int) -> Measurement:
    """Return what `measure` returns in a new process on `core`."""
    cell_options = ["--pairs", str(cell.pairs), "--cells", f"{cell.concurrency}x{cell.latency * 1000:g}"]
    options = ["--url", url, "--data", str(data), *cell_options]
    command = [sys.executable, "-m", "tests.benchmarks.throughput", *options, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(process.pid, {core})
        output, _ = process.communicate()
    return Measurement(**json.loads(output.splitlines()[-1]))


def main() -> None:
    """Put the clients through the cells and print a table for each cell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = (*DEFAULT, *ADAPTERS)
    parser.add_argument("clients", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cells", default="256x500,64x500,64x50", help="concurrency x milliseconds, …")
    # Set in the process of a client.
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cells = [
        Cell(options.pairs, int(concurrency), float(milliseconds) / 1000)
        for concurrency, milliseconds in (cell.split("x") for cell in options.cells.split(","))
    ]
    if options.url:
        print(json.dumps(vars(measure(options.clients[0], options.url, cells[0], Path(options.data)))))
        return
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "rows.jsonl")
        rows = make_rows(options.pairs)
        data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        for cell in cells:
            print_cell(cell, options.clients or DEFAULT, options.rounds, data)


def print_cell(cell: Cell, names: Sequence[str], rounds: int, data: Path) -> None:
    """Put the clients through `cell`, one after the other in each round, and print the medians."""
    server_core, client_core = sorted(os.sched_getaffinity(0))[:2]
    print(f"{cell.pairs} pairs, {cell.concurrency} x {cell.latency * 1000:g} ms: ideal {cell.ideal:g} s")
    measurements = defaultdict(list)
    with server_process(cell.latency, server_core) as url:
        for _ in range(rounds):
            for name in names:
                measurements[name].append(measure_in_process(name, url, cell, data, client_core))
    for name, results in measurements.items():
        wall, cpu, process_cpu = (
            statistics.median(getattr(result, field) for result in results)
            for field in ("wall", "cpu", "process_cpu")
        )
        each, all_in = (1000 * seconds / cell.pairs for seconds in (cpu, process_cpu))
        print(f"  {name:28} eff {cell.ideal / wall:.3f}   CPU {each:6.3f}   all in {all_in:6.3f} ms a pair")


if __name__ == "__main__":
    main()
