"""What a run costs that asks nothing: `judge run` again and `judge score`, over datasets of growing size.

    python -m tests.benchmarks.rerun [--folder DIR] [PAIRS…]

Each size is a dataset of 5 engines and 10 results a query, 40 distinct snippets a query, half of them in
Chinese, and a store that has a verdict for each pair. Each command is a process of its own: CPU seconds
(user and system), wall seconds and peak memory are what the system counts for it. The first `judge run`
has no cache; the second is the re-run. `--folder` keeps datasets and stores for the next time. The bytecode
of all modules is compiled before, as an installation does it.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from judge import run_input

MODEL = ("-m", "openai:bench", "--base-url", "http://127.0.0.1:9/v1")
DISTINCT, ENGINES, DEPTH = 40, 5, 10
ENGLISH = "the a pale gums sign of anaemia puppy vet may show when blood test low iron red cells diet".split()
CHINESE = "茶绿红水温泡法味香山叶春夏新陈价格地产品种喝健康作用方式时间家店网文章介绍如何选择保存"


def write_dataset(path: Path, pairs: int) -> None:
    """Write the rows of about `pairs` distinct pairs: 40 snippets a query, 50 results."""
    draw = random.Random(pairs)
    with path.open("w", encoding="utf-8") as file:
        for query in range(pairs // DISTINCT):
            chinese = query % 2 == 0
            words = CHINESE if chinese else ENGLISH
            text = ("" if chinese else " ").join
            name = f"查询{query}" if chinese else f"query number {query}"
            snippets = [
                f"{at} {text(draw.choices(words, k=120 if chinese else 40))}" for at in range(DISTINCT)
            ]
            order = draw.sample(range(DISTINCT), DISTINCT)
            for engine in range(ENGINES):
                for rank in range(1, DEPTH + 1):
                    at = order[(engine * DISTINCT // ENGINES + rank) % DISTINCT]
                    row = {
                        "query_id": f"q{query}", "query": name, "engine": f"engine{engine}", "rank": rank,
                        "title": f"{name} {at}", "url": f"https://site{at}.example/{query}",
                        "snippet": snippets[at],
                    }  # fmt: skip
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


async def fill_store(folder: Path) -> None:
    """Store a verdict for each pair of the dataset, through the store's own functions."""
    from judge import factory
    from judge.assess.assessor import Assignment
    from judge.assess.assignment_plan import AssignmentPlan
    from judge.config.run import Config
    from judge.records import ANSWERED, Call, Usage
    from judge.store.leases import Lease
    from judge.store.store import StoredVerdict, VerdictStore

    config = Config.load(
        None,
        data=str(folder / "data.jsonl"),
        model=MODEL[1],
        base_url=MODEL[3],
        out=str(folder / "fill" / "run"),
    )
    [assessor] = factory.build_assessors(config, needs_key=False)
    plan = AssignmentPlan(run_input.load_pooled_dataset(config).pool.pairs, assessor, 1)
    draw = random.Random(1)
    with VerdictStore(folder / "verdicts.sqlite") as store:

        async def save(assignment: Assignment) -> None:
            usage = Usage(prompt_tokens=400, completion_tokens=60)
            grade = draw.choices(range(4), [6, 3, 2, 1])[0]
            reason = f"The snippet covers part {grade} of what the query is looking for, and says how."
            reply = json.dumps({"reason": reason, "grade": grade})
            verdict = StoredVerdict(
                grade, reason, (), reply, {"temperature": 0.0, "max_tokens": 400}, usage, "bench", None
            )
            info = plan.assessor.make_key_info(assignment)
            await store.save(Lease(assignment.key), info, verdict, [Call(ANSWERED, usage)])

        for block in plan.read_blocks():
            await asyncio.gather(*(save(assignment) for assignment in block.for_model))


def measure(command: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MB of a process that must succeed."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "judge", *command],
        stdout=subprocess.DEVNULL,
        env=environ,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def make_environment(bytecode: Path) -> dict[str, str]:
    """The environment of the measured processes, which keep their bytecode in the folder `bytecode`."""
    environ = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPYCACHEPREFIX": str(bytecode)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ


def run_size(
    folder: Path, pairs: int, environ: Mapping[str, str]
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield name and cost of each command over a dataset of `pairs`."""
    folder.mkdir(parents=True, exist_ok=True)
    data, run = str(folder / "data.jsonl"), str(folder / "run")
    if not (folder / "filled").exists():
        write_dataset(folder / "data.jsonl", pairs)
        subprocess.run([sys.executable, "-m", "tests.benchmarks.rerun", "--fill", str(folder)], check=True)
        (folder / "filled").touch()
    for name, command in (
        ("first run", ("run", data, *MODEL, "--out", run)),
        ("run again", ("run", data, *MODEL, "--out", run)),
        ("score", ("score", run)),
    ):
        yield name, measure(command, environ)


def main() -> None:
    """Print one line for each size and command, then how much more the larger size takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", nargs="*", type=int, default=[1_000, 10_000, 50_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill:
        asyncio.run(fill_store(options.fill))
        return
    costs: dict[str, dict[int, tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        environ = make_environment(Path(temporary, "bytecode"))
        list(run_size(Path(temporary, "first"), DISTINCT, environ))  # the first commands compile the modules
        folder = options.folder or Path(temporary)
        print(f"{'pairs':>9}  {'command':<10} {'CPU s':>8} {'wall s':>8} {'MB':>6} {'µs a pair':>10}")
        for pairs in options.pairs:
            for name, cost in run_size(folder / str(pairs), pairs, environ):
                costs.setdefault(name, {})[pairs] = cost
                cpu, wall, memory = cost
                print(
                    f"{pairs:>9,}  {name:<10} {cpu:8.2f} {wall:8.2f} {memory:6.0f} {1e6 * cpu / pairs:10.0f}",
                    flush=True,
                )
    for name, by_size in costs.items():
        for small, large in pairwise(sorted(by_size)):
            cpu, _, memory = (more / less for more, less in zip(by_size[large], by_size[small], strict=True))
            print(f"{name}: × {large / small:.3g} pairs takes × {cpu:.2f} CPU, × {memory:.2f} memory")


if __name__ == "__main__":
    main()
