"""The clients of `throughput` that run in judge's own environment, each in a process of its own.

python -m tests.benchmarks.clients NAME URL ROWS.jsonl CONCURRENCY
"""

import asyncio
import gc
import json
import sys
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.peers.client_process import Workload, judge_concurrently, make_messages, run_client

RUN = "judge"
#: A run whose store holds that the server answered an earlier run: it begins without probes.
RUN_KNOWN = "judge, known server"
PROBE = "aiohttp loop with a journal"
SDKS = ("AsyncOpenAI", "AsyncOpenAI on aiohttp")
ADAPTERS = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
_LIBRARIES = {
    RUN: "judge.pipeline",
    RUN_KNOWN: "judge.pipeline",
    PROBE: "aiohttp",
    **dict.fromkeys(SDKS, "openai"),
}


def drive_probe(work: Workload) -> int:
    from tests.benchmarks import aiohttp_loop

    journal = Path("journal")
    asyncio.run(aiohttp_loop.judge_rows(work.url, work.rows, work.concurrency, journal))
    return journal.read_bytes().count(b"\n")


def drive_sdk(work: Workload, name: str) -> int:
    """Ask with the loop that everybody writes: AsyncOpenAI, as it comes or on aiohttp."""
    import openai

    async def judge_rows() -> int:
        transport = openai.DefaultAioHttpClient() if name == SDKS[1] else None
        client = openai.AsyncOpenAI(
            api_key="none", base_url=work.url, max_retries=0, timeout=60, http_client=transport
        )

        async def judge(row: dict[str, str]) -> str:
            system, user = (message["content"] for message in make_messages(row))
            answer = await client.chat.completions.create(
                model="m",
                messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                temperature=0,
                max_tokens=400,
                response_format={"type": "json_object"},
            )
            return answer.choices[0].message.content or ""

        grades = await judge_concurrently(work, judge)
        await client.close()
        return grades

    return asyncio.run(judge_rows())


def drive_adapter(work: Workload, kind: str) -> int:
    """Ask with the adapter `kind`, opened as the command line does."""
    from judge.models.providers import open_model
    from judge.models.server import ServerAccess
    from judge.records import GRADED, Prompt, Sampling

    native = kind in ("dashscope", "langchain:tongyi")

    async def judge_rows() -> int:
        model = open_model(
            f"{kind}:m",
            ServerAccess(
                work.url.replace("/v1", "/api/v1") if native else work.url,
                {"OPENAI_API_KEY": "key-of-the-benchmark"},
                timeout=60,
                concurrency=work.concurrency,
            ),
            Sampling(temperature=0.0, max_tokens=400),
        )

        async def judge(row: dict[str, str]) -> str:
            user = f"Query: {row['query']}\n{row['snippet']}"
            prompt = Prompt("Judge. " * 170, user, {"type": "object"}, "v", "", "", "en", GRADED)
            return (await model.complete(prompt)).text

        grades = await judge_concurrently(work, judge)
        await model.aclose()
        return grades

    return asyncio.run(judge_rows())


def drive_judge(work: Workload, name: str) -> int:
    """Run `judge run`, for `RUN_KNOWN` after a run of one other pair."""
    from judge import pipeline
    from judge.client.progress import ProgressListener
    from judge.config.run import Config

    class JudgingTime(ProgressListener):
        """Times judging, from the first request to the last durable judgment."""

        def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
            work.stopwatch.start()

        def end(self) -> None:
            work.stopwatch.stop()

    config = Config(
        model="openai:m", base_url=work.url, concurrency=work.concurrency, data=str(work.data), out="runs/x"
    )
    if name == RUN_KNOWN:
        row = {**work.rows[0], "query": "the query of an earlier run"}
        Path("earlier.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        pipeline.run(replace(config, data="earlier.jsonl", out="runs/earlier"))
    return pipeline.run(config, progress=JudgingTime()).summary.judged


def main() -> None:
    """Let the client that the command line names judge the rows."""
    name = sys.argv.pop(1)
    if name in (RUN, RUN_KNOWN):  # as the command does, before it imports what a run needs
        from judge.config.environment import save_cpu_time

        gc.set_threshold(200_000)
        save_cpu_time()

    def drive(work: Workload) -> int:
        if name in (RUN, RUN_KNOWN):
            return drive_judge(work, name)
        if name == PROBE:
            return drive_probe(work)
        return drive_sdk(work, name) if name in SDKS else drive_adapter(work, name)

    run_client(_LIBRARIES.get(name, "judge.models.providers"), drive)


if __name__ == "__main__":
    main()
