"""RAGElo: its `reasoner` evaluator over an experiment, which it saves after each document by default."""

from tests.benchmarks.peers.client_process import Workload, run_client


def drive(work: Workload) -> int:
    from ragelo import Experiment, get_llm_provider, get_retrieval_evaluator

    experiment = Experiment(experiment_name="benchmark", rich_print=False)
    for number, (query, snippets) in enumerate(work.group_queries().items()):
        experiment.add_query(query, query_id=str(number))
        for rank, snippet in enumerate(snippets):
            experiment.add_retrieved_doc(snippet, query_id=str(number), doc_id=f"{number}.{rank}", agent="a")
    provider = get_llm_provider(
        "openai", api_key="none", api_base=work.url, model="m", temperature=0, max_tokens=400
    )
    evaluator = get_retrieval_evaluator(
        "reasoner", llm_provider=provider, n_processes=work.concurrency, rich_print=False
    )
    work.stopwatch.start()
    evaluator.evaluate_experiment(experiment)
    work.stopwatch.stop()
    documents = [document for query in experiment for document in query.retrieved_docs.values()]
    return sum(bool(document.evaluations) for document in documents)


if __name__ == "__main__":
    run_client("ragelo", drive)
