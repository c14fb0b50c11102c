"""LiteLLM: `acompletion` in a loop of workers."""

import asyncio

from tests.benchmarks.peers.client_process import Workload, judge_concurrently, make_messages, run_client


def drive(work: Workload) -> int:
    import litellm

    litellm.telemetry = False

    async def judge(row: dict[str, str]) -> str:
        answer = await litellm.acompletion(
            model="openai/m",
            api_base=work.url,
            api_key="none",
            messages=make_messages(row),
            temperature=0,
            max_tokens=400,
            num_retries=0,
            timeout=60,
        )
        return str(answer.choices[0].message.content)

    return asyncio.run(judge_concurrently(work, judge))


if __name__ == "__main__":
    run_client("litellm", drive)
