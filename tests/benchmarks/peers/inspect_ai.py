"""Inspect: one sample a pair, `generate()`, and a scorer that reads the grade."""

import json

from tests.benchmarks.peers.client_process import Workload, make_messages, run_client


def drive(work: Workload) -> int:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
    from inspect_ai.scorer import Score, Target, mean, scorer
    from inspect_ai.solver import TaskState, generate

    @scorer(metrics=[mean()])  # type: ignore[untyped-decorator]
    def make_grader() -> object:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value=json.loads(state.output.completion)["grade"])

        return score

    samples = []
    for row in work.rows:
        system, user = (message["content"] for message in make_messages(row))
        samples.append(Sample(input=[ChatMessageSystem(content=system), ChatMessageUser(content=user)]))
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=make_grader())
    model = get_model("openai/m", base_url=work.url, api_key="none", responses_api=False)
    work.stopwatch.start()
    (log,) = eval(
        task,
        model=model,
        max_connections=work.concurrency,
        max_samples=work.concurrency,
        temperature=0,
        max_tokens=400,
        display="none",
        log_dir="logs",
    )
    work.stopwatch.stop()
    return sum(bool(sample.scores) for sample in log.samples or [])


if __name__ == "__main__":
    run_client("inspect_ai", drive)
