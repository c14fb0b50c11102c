"""The wires of rerankers for `LoopbackServer`: a text with `grade=N` has the score N / 4 + 0.1."""

import json
import re
from typing import Any

from tests.support.fake_server import ChatRequest, Reply


def rerank(request: ChatRequest) -> Reply:
    """Reply in the format of Cohere, Jina and vLLM, or of DashScope if the request is in DashScope's."""
    body: dict[str, Any] = request.body or {}
    is_dashscope = "input" in body
    source = body["input"] if is_dashscope else body
    results = [
        {"index": at, "relevance_score": compute_score(text)} for at, text in enumerate(source["documents"])
    ]
    answer = {"output": {"results": results}} if is_dashscope else {"results": results}
    return Reply(body=json.dumps({**answer, "id": "r1", "usage": {"total_tokens": 9}}))


def rerank_as_tei(request: ChatRequest) -> Reply:
    """Reply in the format of Text Embeddings Inference, which takes `texts` and returns an array."""
    body: dict[str, Any] = request.body or {}
    if "texts" not in body:
        error = "Failed to deserialize the JSON body into the target type: missing field `texts`"
        return Reply(status=422, body=error)
    return Reply(body=json.dumps([{"index": 0, "score": compute_score(body["texts"][0])}]))


def compute_score(text: str) -> float:
    """Return the score of a text: by the grade that it states, else 0.9 about Paris and 0 otherwise."""
    match = re.search(r"grade=(\d)", text)
    return int(match[1]) / 4 + 0.1 if match else 0.9 if "Paris" in text else 0.0
