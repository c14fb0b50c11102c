"""How close to the ideal a whole run and the model adapters come, and what CPU a pair costs.

    python -m tests.benchmarks.throughput [--pairs 2000] [--concurrency 64] [--latency 0.5] [NAME…]

The server runs in a process of its own, so that CPU is the client's alone. The ideal is a client that
costs nothing and is never short of pairs: concurrency / latency pairs a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event

from judge import pipeline
from judge.config.run import Config
from judge.models import open_model
from judge.records import GRADED, Judgment, Prompt, RepeatProgress, Sampling
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["reason", "grade"],
    "additionalProperties": False,
}
VERDICT = json.dumps({"reason": "片段直接回答了查询。" * 5, "grade": 2}, ensure_ascii=False)
PROMPT = Prompt(
    "Judge. " * 170, "查询: 茶\n片段: " + "绿茶" * 300, SCHEMA, "graded/zh", "茶", "绿茶", "zh", GRADED
)

Call = Callable[[], Awaitable[object]]
Close = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Load:
    """What a client is put through: `pairs` calls, `concurrency` at once, `latency` seconds each."""

    pairs: int
    concurrency: int
    latency: float

    @property
    def ideal(self) -> float:
        """Pairs a second of a client without costs."""
        return self.concurrency / self.latency


def bare(url: str, _: Load) -> tuple[Call, Close]:
    """The loop that everybody writes: AsyncOpenAI as it comes."""
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, timeout=60)

    async def call() -> object:
        answer = await client.chat.completions.create(
            model="m",
            messages=[{"role": "system", "content": PROMPT.system}, {"role": "user", "content": PROMPT.user}],
            temperature=0,
            max_tokens=400,
            response_format={"type": "json_object"},
        )
        return answer.choices[0].message.content

    return call, client.close


def adapter(kind: str) -> Callable[[str, Load], tuple[Call, Close]]:
    """Our adapter `kind`, opened as the command line does."""

    def opened(url: str, load: Load) -> tuple[Call, Close]:
        native = kind in ("dashscope", "langchain:tongyi")
        model = open_model(
            f"{kind}:m",
            base_url=url.replace("/v1", "/api/v1") if native else url,
            environ={},
            sampling=Sampling(temperature=0.0, max_tokens=400),
            timeout=60,
            concurrency=load.concurrency,
        )
        return (lambda: model.complete(PROMPT)), model.aclose

    return opened


RUN = "judge run"
KINDS = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
CLIENTS = {"AsyncOpenAI loop": bare} | {kind: adapter(kind) for kind in KINDS}


def serve(address: Queue[str], stop: Event, latency: float) -> None:
    """The provider, until `stop` is set."""

    def answer(_: ChatRequest) -> Reply:
        return Reply(text=VERDICT, delay=latency)

    with LoopbackServer(answer, record=False) as server:
        address.put(server.openai_url)
        stop.wait()


@contextmanager
def server_process(latency: float) -> Iterator[str]:
    """The OpenAI address of a provider in another process that takes `latency` seconds a call."""
    context = multiprocessing.get_context("spawn")
    address, stop = context.Queue(), context.Event()
    process = context.Process(target=serve, args=(address, stop, latency))
    process.start()
    yield address.get(timeout=30)
    stop.set()
    process.join()


async def drive(call: Call, close: Close, load: Load) -> tuple[float, float]:
    """Wall seconds and CPU seconds of `load`, after one call that warms up imports and sockets."""
    await call()
    left = iter(range(load.pairs))

    async def worker() -> None:
        for _ in left:
            await call()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(load.concurrency)))
    spent = time.perf_counter() - wall, time.process_time() - cpu
    await close()
    return spent


class Stopwatch:
    """Takes the time from the first question to the last durable judgment."""

    def begin(self, total: int, done: int) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        pass

    def set_status(self, status: str) -> None:
        pass

    def end_repeat(self, repeat: RepeatProgress) -> None:
        pass

    def end(self) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu


def whole_run(url: str, load: Load) -> tuple[float, float]:
    """Wall and CPU seconds of judging in `judge run`: prompts, retries, reading replies, the store."""
    rows = [
        {"query_id": f"q{n // 10}", "query": f"茶 {n // 10}", "engine": "a", "snippet": str(n) + "绿茶" * 300}
        for n in range(load.pairs)
    ]
    stopwatch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(model="openai:m", base_url=url, concurrency=load.concurrency, out=f"{folder}/runs/x")
        pipeline.run(config, rows=rows, progress=stopwatch)
    return stopwatch.wall, stopwatch.cpu


def main() -> None:
    """Runs the clients one after the other and prints a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join((RUN, *CLIENTS))
    parser.add_argument("clients", nargs="*", metavar="NAME", help=f"of {names}; all by default")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.5)
    asked = parser.parse_args()
    load = Load(asked.pairs, asked.concurrency, asked.latency)
    print(
        f"{load.pairs} pairs, {load.concurrency} at once, {load.latency:g} s each: ideal {load.ideal:.2f} s"
    )
    with server_process(load.latency) as url:
        for name in asked.clients or (RUN, *CLIENTS):
            if name == RUN:
                wall, cpu = whole_run(url, load)
            else:
                wall, cpu = asyncio.run(drive(*CLIENTS[name](url, load), load))
            rate, each = load.pairs / wall, 1000 * cpu / load.pairs
            share = rate / load.ideal
            print(f"{name:18} {rate:7.1f} pairs/s   {share:.3f} of ideal   {each:.2f} CPU ms a pair")


if __name__ == "__main__":
    main()
