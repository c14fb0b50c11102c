"""Models that score instead of writing a reply, so they give no reason: rerankers and decision models.

A reranker scores how relevant a text is to a query. Its request holds one query and one text, and the reply
is the score as it came; `RerankAssessor` turns scores into grades. A decision model is a language model that
is asked for the grade alone. The log-probabilities of one token give the probability of each grade; the grade
is the most probable one.
"""

import asyncio
import importlib
import json
import unicodedata
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from math import exp, isfinite
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from judge.errors import ParametersRejected, RequestRejected, SetupError, advise_install
from judge.messages import Message
from judge.models import error_mapping
from judge.models.chat_messages import as_mapping, make_content_error, read_count
from judge.models.error_mapping import JsonBody
from judge.models.http_connections import HttpConnections
from judge.models.providers import LocalModel, Model
from judge.models.redaction import redact
from judge.models.server import Server
from judge.records import Completion, Lang, Params, Prompt, ScaleName, Usage, parse_score

_LIBRARY = "sentence_transformers"
#: Where DashScope has its rerankers; other servers have `/rerank`.
_DASHSCOPE_PATH = "/services/rerank/text-rerank/text-rerank"


class Reranker:
    """A reranker behind HTTP: DashScope, Cohere, or a server with `/rerank` (vLLM, Jina, TEI).

    A server of TEI (Text Embeddings Inference) has a request of its own, which is used after the server
    refused the common one.
    """

    is_local = False
    params: Params = MappingProxyType({})

    def __init__(self, provider: str, model: str, server: Server) -> None:
        self.name = f"rerank:{provider}:{model}"
        self.endpoint = server.endpoint
        self._model = model
        self._is_dashscope = provider == "dashscope"
        self._is_tei = False
        self._secrets = server.secrets
        self._connections = HttpConnections(server, _DASHSCOPE_PATH if self._is_dashscope else "/rerank")

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the relevance score of the snippet as text; raise a subclass of `CallError` without one."""
        is_tei, texts = self._is_tei, {"query": prompt.query, "documents": [prompt.snippet]}
        request = {"model": self._model, **({"input": texts} if self._is_dashscope else texts)}
        if is_tei:
            request = {"query": prompt.query, "texts": [prompt.snippet]}
        json_body = await self._connections.post(request, list_name="results")  # TEI sends a list
        if isinstance(json_body, error_mapping.ErrorResponse):
            if json_body.status == 422 and "texts" in json_body.message and not is_tei:
                self._is_tei = True
                raise ParametersRejected("unsupported", error_mapping.shorten(json_body.message))
            raise error_mapping.classify(json_body, *self._secrets, endpoint=self.endpoint)
        return self._read(json_body)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._connections.aclose()

    def _read(self, json_body: JsonBody) -> Completion:
        results = as_mapping(json_body.get("output") if self._is_dashscope else json_body).get("results")
        result = as_mapping(results[0]) if isinstance(results, list) and results else {}
        score = result.get("relevance_score", result.get("score"))
        tokens = read_count(as_mapping(json_body.get("usage")), "total_tokens")
        usage = None if tokens is None else Usage(prompt_tokens=tokens)
        # The request has one text, so another index is that of the response to another request.
        is_of_text = result.get("index", 0) == 0
        if not is_of_text or type(score) not in (int, float) or parse_score(str(score)) is None:
            raise make_content_error(json_body, usage, *self._secrets)
        request_id = json_body.get("id") or json_body.get("request_id")
        return Completion(
            text=str(score),
            model=redact(str(json_body.get("model") or self._model), *self._secrets),
            finish_reason="stop",
            params=self.params,
            usage=usage,
            request_id=redact(str(request_id), *self._secrets) if request_id else None,
        )


class LocalReranker(LocalModel):
    """A cross-encoder of sentence-transformers in this process; `load` returns its scoring function.

    The model is loaded by the first request, from files alone. Raises SetupError without the library.
    """

    def __init__(self, model: str, load: Callable[[str], Callable[[str, str], float]] | None = None) -> None:
        if load is None:
            check_sentence_transformers("rerank:local")
        self.name = f"rerank:local:{model}"
        self._model = model
        self._load = load or _load_cross_encoder
        self._lock = asyncio.Lock()
        self._score: Callable[[str, str], float] | None = None

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the relevance score of the snippet as text."""
        async with self._lock:  # its threads share all processors
            if self._score is None:
                self._score = await asyncio.to_thread(self._load, self._model)
            score = await asyncio.to_thread(self._score, prompt.query, prompt.snippet)
        if not isfinite(score):
            raise RequestRejected("bad_request", f"{self.name} gives the score {score}")
        return Completion(str(score), self._model, "stop", self.params, Usage())


def _load_cross_encoder(name: str) -> Callable[[str, str], float]:
    encoder = load_sentence_transformer("CrossEncoder", name)
    import torch

    def score(query: str, text: str) -> float:
        return float(encoder.predict([(query, text)], activation_fn=torch.nn.Sigmoid())[0])

    return score


def check_sentence_transformers(provider: str, library: str = _LIBRARY) -> None:
    """Raise SetupError when the library of the local models of `provider` is not installed."""
    if find_spec(library) is None:
        raise SetupError(
            "{provider}: models need an extra: {command}", provider=provider, command=advise_install("rerank")
        )


def load_sentence_transformer(kind: Literal["CrossEncoder", "SentenceTransformer"], name: str) -> Any:  # noqa: ANN401 - a class of the library
    """Return the model called `name`: a folder, or a model in the cache of Hugging Face.

    Nothing is downloaded, and weights in Python's pickle format are refused. Raises SetupError when the model
    cannot be loaded.
    """
    model_class = getattr(importlib.import_module(_LIBRARY), kind)
    try:
        return model_class(name, local_files_only=True, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError) as error:
        raise SetupError(
            "{model}: cannot be loaded ({error}); download it first: hf download {model}",
            model=name,
            error=error_mapping.shorten(str(error)),
        ) from error


#: The token of each grade.
TOKENS: Mapping[ScaleName, tuple[str, ...]] = {"binary": ("no", "yes"), "graded": ("0", "1", "2", "3")}
#: The most by which rounding lifts the log-probability of a certain token above 0.
_ROUNDING = 0.01
#: Below this log-probability, a probability is 0.
_SMALLEST = -1e4
_REASONS: Mapping[Lang, str] = {
    "zh": "各等级的概率：{shares}；决策模型不给出理由。",
    "en": "Probabilities of the grades: {shares}; a decision model gives no reason.",
}


class DecisionModel:
    """A chat `model` that returns log-probabilities, whose first token is the verdict."""

    def __init__(self, model: Model) -> None:
        self.name = f"decision:{model.name}"
        self.endpoint, self.is_local = model.endpoint, model.is_local
        self.params: Params = model.params
        self._model = model

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the verdict as JSON, with the probabilities; raise CallError if the token is not a grade."""
        completion = await self._model.complete(prompt)
        tokens = TOKENS[prompt.scale.name]
        probabilities = read_probabilities(completion.logprobs, tokens)
        if probabilities is None:
            candidates = _read_candidates(completion.logprobs)
            detail = Message(
                "the server returned no log-probabilities; omit 'decision:', or take another server"
            )
            if candidates:
                detail = Message("the first token, {token!r}, is no grade", token=candidates[0][0][:20])
            raise RequestRejected("bad_request", detail, usage=completion.usage)
        grade = probabilities.index(max(probabilities))
        shares = ", ".join(f"{at}: {share:.1%}" for at, share in enumerate(probabilities))
        by_scale = {"verdict": tokens[grade]} if prompt.scale.name == "binary" else {"grade": grade}
        reply = {"reason": _REASONS[prompt.lang].format(shares=shares), **by_scale}
        text = json.dumps({**reply, "probabilities": probabilities}, ensure_ascii=False)
        return msgspec.structs.replace(completion, text=text, finish_reason="stop", logprobs=None)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._model.aclose()


def read_probabilities(logprobs: object, tokens: tuple[str, ...]) -> list[float] | None:
    """Return the probability of each of `tokens` among them; None unless the most probable token is one.

    `logprobs` is that of a choice, in the form of OpenAI. Spaces, case and width of a token do not count.
    """
    sums = dict.fromkeys(tokens, 0.0)
    candidates = [
        (unicodedata.normalize("NFKC", token).strip().casefold(), logprob)
        for token, logprob in _read_candidates(logprobs)
    ]
    for token, logprob in candidates:
        if token in sums:
            sums[token] += exp(max(logprob, _SMALLEST))
    total = sum(sums.values())
    return [value / total for value in sums.values()] if total and candidates[0][0] in sums else None


def _read_candidates(logprobs: object) -> list[tuple[str, float]]:
    """Return the candidates for the first token with their log-probabilities, the most probable one first.

    With a token or a log-probability that cannot be read, the most probable one is not known: return none.
    """
    content = as_mapping(logprobs).get("content")
    listed = as_mapping(content[0]).get("top_logprobs") if isinstance(content, list) and content else None
    candidates = []
    for candidate in map(as_mapping, listed if isinstance(listed, list) else ()):
        token, logprob = candidate.get("token"), candidate.get("logprob")
        if not isinstance(token, str) or not isinstance(logprob, int | float) or not logprob <= _ROUNDING:
            return []
        candidates.append((token, logprob))
    return sorted(candidates, key=itemgetter(1), reverse=True)
