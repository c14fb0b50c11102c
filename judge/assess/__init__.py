"""Judging of pairs: prompts, assessor, the run over a pool, the estimate before it.

    judging                             judge a pool, pair by pair
    batch, batch_client                 judge it in batches; the requests about a batch, and its replies
    pair_runner                         lease pairs, and judge each; stop a run after many failures in a row
    assessor                            judge one pair with a prompt
    rerank_assessor, deepeval_assessor  judge one pair with a reranker, or with a metric of DeepEval
    question_assessor                   ask other questions than for a pair's grade
    assignment_plan                     the pairs of a pool in each repeat, and their keys
    prompts, prompt_examples            render a prompt; add labelled examples to it
    estimate                            the calls and the cost of a run before it begins

Nothing here depends on engines or ranks.
"""
