"""DeepEval: `ContextualRelevancyMetric` with `evaluate`, one test case a query.

DeepEval counts test cases, not calls: a test case of ten snippets has up to ten calls at once.
"""

import math

from tests.benchmarks.peers.client_process import Workload, run_client


def drive(work: Workload) -> int:
    from deepeval.evaluate import AsyncConfig, DisplayConfig, evaluate
    from deepeval.metrics import BaseMetric, ContextualRelevancyMetric
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    queries = work.group_queries()
    cases = [
        LLMTestCase(input=query, actual_output="-", retrieval_context=[*snippets])
        for query, snippets in queries.items()
    ]
    model = OpenAIModel(
        model="m",
        api_key="none",
        base_url=work.url.replace("/v1", "/verdicts/v1"),
        cost_per_input_token=0,
        cost_per_output_token=0,
    )
    metrics: list[BaseMetric] = [ContextualRelevancyMetric(model=model)]
    per_case = max(map(len, queries.values()))
    work.stopwatch.start()
    result = evaluate(
        cases,
        metrics,
        async_config=AsyncConfig(max_concurrent=math.ceil(work.concurrency / per_case)),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    )
    work.stopwatch.stop()
    judged = (case.metrics_data and case.metrics_data[0].score is not None for case in result.test_results)
    return per_case * sum(map(bool, judged))


if __name__ == "__main__":
    run_client("deepeval", drive)
