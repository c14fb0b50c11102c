"""Embeddings of texts: of a server, of a local model, or by latent semantic analysis (LSA)."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.client.retry import RequestLimits, make_retry_policy
from judge.errors import CallError, InputError, RunIncomplete
from judge.files.cache import FileCache, make_cache_path, make_key
from judge.measure.numeric import Floats
from judge.models.error_mapping import ErrorResponse, classify, make_transport_error
from judge.models.http_connections import HttpConnections
from judge.models.providers import DASHSCOPE, OPENAI, check_embeddings
from judge.models.scoring_models import check_sentence_transformers, load_sentence_transformer
from judge.models.server import ServerAccess

if TYPE_CHECKING:
    from scipy import sparse

#: Dimensions of LSA, and the lengths of its character n-grams: words of Chinese, parts of English words.
LSA_DIMENSIONS, _NGRAM_LENGTHS = 128, (1, 2, 3)
#: Texts of a request. DashScope takes no more than 10.
_BATCH_SIZES = {"openai": 100, "dashscope": 10}
#: Requests at a time, and seconds for each.
CONCURRENCY, TIMEOUT = 8, 60.0
_ATTEMPTS, _MAX_WAIT = 5, 600.0


def open_embedder(spec: str, access: ServerAccess, store: Path) -> Callable[[Sequence[str]], Floats]:
    """Return a function from texts to (texts, dimensions) embeddings; a server's are cached beside `store`.

    It raises InputError for a model that cannot be loaded, RunIncomplete when the server fails. Raises
    InputError for an unknown provider, SetupError without a key or a library.
    """
    check_embeddings(spec)
    provider, _, name = spec.partition(":")
    if spec == "lsa":
        return compute_lsa
    if provider == "local":
        check_sentence_transformers("local")

        def embed_locally(texts: Sequence[str]) -> Floats:
            model = load_sentence_transformer("SentenceTransformer", name)
            return np.asarray(model.encode(list(texts)), dtype=np.float64)

        return embed_locally
    return partial(
        _embed_with_cache, _EmbeddingClient(provider, name, access), FileCache(make_cache_path(store))
    )


def compute_lsa(texts: Sequence[str], dimensions: int = LSA_DIMENSIONS) -> Floats:
    """Return the LSA of texts: the truncated SVD of the tf-idf of their character n-grams.

    Deerwester et al. 1990. There are fewer dimensions where the texts or their n-grams are too few.
    """
    from scipy.sparse.linalg import svds

    matrix = _compute_tf_idf(texts)
    rank = min(dimensions, *(size - 1 for size in matrix.shape))
    if rank < 1 or not matrix.count_nonzero():  # an n-gram of all texts has the weight 0
        raise InputError("{count} texts have too few letters in common for lsa", count=len(texts))
    _, _, axes = svds(matrix, k=rank, rng=np.random.default_rng(0))
    vectors: Floats = matrix @ axes.T
    return vectors


def _compute_tf_idf(texts: Sequence[str]) -> sparse.csr_array[Any]:
    """Return the (texts, n-grams) weights (1 + log tf) * log(texts / df), of the n-grams in several texts."""
    from scipy import sparse

    columns: dict[str, int] = {}
    indices: list[int] = []
    counts: list[int] = []
    ends = [0]
    for text in texts:
        folded = " ".join(text.casefold().split())
        grams = Counter(
            folded[at : at + size] for size in _NGRAM_LENGTHS for at in range(len(folded) - size + 1)
        )
        indices += [columns.setdefault(gram, len(columns)) for gram in grams]
        counts += grams.values()
        ends.append(len(indices))
    frequency = np.bincount(indices, minlength=len(columns))
    shape = len(texts), len(columns)
    matrix = sparse.csr_array((1 + np.log(counts), indices, ends), shape=shape)
    several = np.flatnonzero(frequency > 1)
    weighted = matrix[:, several] @ sparse.diags_array(np.log(len(texts) / frequency[several]))
    norms = np.sqrt(weighted.power(2).sum(1))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ weighted)


def _embed_with_cache(client: _EmbeddingClient, cache: FileCache, texts: Sequence[str]) -> Floats:
    source = client.provider, client.name, client.endpoint
    key = make_key("embeddings", *source, list(texts), is_computed=False)
    lines = cache.read(key)
    if lines is None:
        vectors = asyncio.run(client.embed(texts)).astype(np.float32)
        cache.write(key, (f"{base64.b64encode(row.tobytes()).decode()}\n" for row in vectors))
    else:
        vectors = np.array([np.frombuffer(base64.b64decode(line), dtype=np.float32) for line in lines])
    return vectors.astype(np.float64)


class _EmbeddingClient:
    """The embeddings of an OpenAI-compatible server: `/embeddings`."""

    def __init__(self, provider: str, name: str, access: ServerAccess) -> None:
        server = access.open_server(DASHSCOPE if provider == "dashscope" else OPENAI)
        if provider == "dashscope":
            server = server.move(server.url.replace("/api/v1", "/compatible-mode/v1"))
        self.endpoint = server.endpoint
        self.provider, self.name = provider, name
        self._batch_size = _BATCH_SIZES[provider]
        self._secrets = server.secrets
        self._limits = RequestLimits(access.concurrency, _ATTEMPTS, _MAX_WAIT, shutdown_timeout=0.0)
        self._connections = HttpConnections(server, "/embeddings")

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return the embeddings of all texts; raise RunIncomplete when the server gives none."""
        free = asyncio.Semaphore(self._limits.concurrency)

        async def embed_batch(start: int) -> Floats:
            retry = make_retry_policy(self._limits, asyncio.sleep, lambda: True)
            async with free:
                return await retry(self._request, texts[start : start + self._batch_size])

        try:
            async with asyncio.TaskGroup() as group:
                starts = range(0, len(texts), self._batch_size)
                tasks = [group.create_task(embed_batch(start)) for start in starts]
        except* CallError as errors:
            error = errors.exceptions[0]
            raise RunIncomplete(
                "{model} at {server}: {error}", model=self.name, server=self.endpoint, error=error
            ) from None
        finally:
            await self._connections.aclose()
        arrays = [task.result() for task in tasks]
        if len({array.shape[1] for array in arrays}) > 1:
            raise RunIncomplete(
                "{model} at {server}: the embeddings have different lengths",
                model=self.name,
                server=self.endpoint,
            )
        return np.concatenate(arrays)

    async def _request(self, texts: Sequence[str]) -> Floats:
        """Return the (texts, dimensions) vectors of a response, which names the text of each by `index`."""
        request = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        json_body = await self._connections.post(request)
        if isinstance(json_body, ErrorResponse):
            raise classify(json_body, *self._secrets, endpoint=self.endpoint)
        try:
            rows = {int(row["index"]): row["embedding"] for row in json_body["data"]}
            vectors = np.array([rows[at] for at in range(len(texts))], dtype=np.float64)
        except (LookupError, TypeError, ValueError):
            raise make_transport_error(f"the response does not hold {len(texts)} embeddings") from None
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise make_transport_error("the response holds an embedding that is no list of numbers")
        return vectors
