"""LangChain: `ChatOpenAI.ainvoke` in a loop of workers."""

import asyncio

from tests.benchmarks.peers.client_process import Workload, judge_concurrently, make_messages, run_client


def drive(work: Workload) -> int:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(
        model="m",
        base_url=work.url,
        api_key=SecretStr("none"),
        temperature=0,
        max_completion_tokens=400,
        max_retries=0,
        timeout=60,
    )

    async def judge(row: dict[str, str]) -> str:
        return str((await model.ainvoke(make_messages(row))).content)

    return asyncio.run(judge_concurrently(work, judge))


if __name__ == "__main__":
    run_client("langchain_openai", drive)
