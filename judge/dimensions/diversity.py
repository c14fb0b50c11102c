"""Diversity of an engine's lists: distinct sites, near-duplicates, similarity, MMR and RBO.

Only embeddings of a server make calls.

Snippets are compared by their resemblance, the Jaccard index of the sets of their character 3-grams (Broder
1997). A near-duplicate resembles a snippet at a higher rank by `_NEAR_DUPLICATE` or more. The intra-list
similarity is the mean resemblance of all pairs of a list (Ziegler et al. 2005). With embeddings, snippets are
compared by their cosine instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from judge.analysis.dimension_summary import (
    DimensionResult,
    EnginePair,
    QueryValues,
    average_values,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun, score_lists
from judge.dimensions.dimension import DimensionOptions
from judge.dimensions.sites import find_site
from judge.errors import InputError
from judge.measure.engine_agreement import rbo
from judge.measure.formulas import find_largest_value
from judge.measure.numeric import Floats
from judge.messages import Message
from judge.records import ListKey, Snippet

#: From this resemblance on a snippet is a near-duplicate.
_NEAR_DUPLICATE = 0.8
#: How much relevance weighs against similarity in MMR.
_TRADE_OFF = 0.5


def measure_diversity(run: JudgedRun, _: object) -> DimensionResult:
    """Return the diversity of each list, down to the depth of the run, and the overlap of the lists."""
    depth, lists = run.pool.depth, run.lists
    ranges = {f"sites@{depth}": (0.0, float(depth))}
    similarities = {key: compare_snippets(snippets) for key, snippets in lists.items()}
    values = {key: measure_list(snippets, similarities[key], depth) for key, snippets in lists.items()}
    return _summarise_with_mmr(run, similarities, values, ranges, engine_pairs=_compare_engines(run))


def measure_embedding_diversity(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return similarity and MMR by the cosine of embeddings; a result without text enters no similarity.

    Raises RunIncomplete when the server of the embeddings fails.
    """
    depth, embed, lists = run.pool.depth, options.embed, run.lists
    texts = {
        snippet.id: f"{snippet.title}\n{snippet.text}".strip()
        for snippet in chain.from_iterable(lists.values())
    }
    texts = {name: text for name, text in texts.items() if text}
    if embed is None or len(texts) < 2:
        return summarise_dimension({}, run.dataset.engines)
    try:
        vectors = embed(list(texts.values()))
    except InputError as error:
        if options.diversity_embeddings != "lsa":
            raise
        return summarise_dimension({}, run.dataset.engines, (error.message,))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    units = dict(zip(texts, vectors, strict=True))
    nowhere = np.full(vectors.shape[1], np.nan)
    values: dict[ListKey, QueryValues] = {}
    similarities = {}
    for key, snippets in lists.items():
        rows = np.array([units.get(snippet.id, nowhere) for snippet in snippets]).reshape(-1, len(nowhere))
        similarities[key] = np.nan_to_num(rows @ rows.T)
        embedded = rows[~np.isnan(rows[:, 0])]
        values[key] = {f"similarity@{depth}": _average_similarity(embedded @ embedded.T)}
    ranges = {f"similarity@{depth}": (-1.0, 1.0)}
    remark = Message("the embeddings are {name}", name=options.diversity_embeddings)
    return _summarise_with_mmr(run, similarities, values, ranges, remarks=(remark,))


def measure_list(snippets: Sequence[Snippet], similarity: Floats, depth: int) -> QueryValues:
    """Return the values of one list; sites are unknown where a result has no URL."""
    sites = [find_site(snippet.url) for snippet in snippets]
    above = np.tril(similarity, -1)
    return {
        f"sites@{depth}": None if None in sites else float(len(set(sites))),
        f"near-duplicates@{depth}": float((above >= _NEAR_DUPLICATE).any(1).mean()) if snippets else None,
        f"similarity@{depth}": _average_similarity(similarity),
    }


def _average_similarity(similarity: Floats) -> float | None:
    similarities = similarity[np.triu_indices(len(similarity), 1)]
    return float(similarities.mean()) if similarities.size else None


def compare_snippets(snippets: Sequence[Snippet]) -> Floats:
    """Return the (snippets, snippets) resemblance of titles and texts."""
    texts = [" ".join(filter(None, (snippet.title, snippet.text))) for snippet in snippets]
    # A text of fewer than 3 characters is its own gram: never no gram.
    grams = [set(map("".join, zip(text, text[1:], text[2:], strict=False))) or {text} for text in texts]
    similarity = np.eye(len(grams))
    for a, b in combinations(range(len(grams)), 2):
        both = len(grams[a] & grams[b])
        similarity[a, b] = similarity[b, a] = both / (len(grams[a]) + len(grams[b]) - both)
    return similarity


def order_by_mmr(similarity: Floats, trade_off: float = _TRADE_OFF) -> list[int]:
    """Return the indices of a list in the order of maximal marginal relevance (Carbonell & Goldstein 1998).

    The next result has the largest `trade_off` * relevance - (1 - `trade_off`) * the largest similarity to a
    result before it. Relevance falls evenly from 1 at the first rank of the list to 1/n at the last one.
    """
    relevance = np.arange(len(similarity), 0, -1) / max(1, len(similarity))
    order: list[int] = []
    nearest = np.zeros(len(similarity))
    while len(order) < len(similarity):
        value = trade_off * relevance - (1 - trade_off) * nearest
        value[order] = -np.inf
        order.append(int(value.argmax()))
        np.maximum(nearest, similarity[:, order[-1]], out=nearest)
    return order


def _summarise_with_mmr(
    run: JudgedRun,
    similarities: Mapping[ListKey, Floats],
    values: Mapping[ListKey, QueryValues],
    ranges: Mapping[str, tuple[float, float]],
    *,
    remarks: Iterable[str] = (),
    engine_pairs: Iterable[EnginePair] = (),
) -> DimensionResult:
    """Return the result, to which what each list scores in the order of MMR is added."""
    measure = next((measure for measure in run.spec.measures if measure.compares_engines), None)
    if measure and similarities:
        rankings = []
        for ranking in run.dataset.rankings:
            if ranking.key in similarities:
                order = order_by_mmr(similarities[ranking.key])
                snippets = tuple(ranking.snippets[index] for index in order)
                documents = tuple(ranking.documents[index] for index in order)
                rankings.append(replace(ranking, snippets=snippets, documents=documents))
        data = replace(run.dataset, rankings=tuple(rankings))
        scores, name = score_lists(replace(run, dataset=data), measure), f"MMR {measure}"
        values = {key: {**row, name: scores[key]} for key, row in values.items()}
        ranges = {**ranges, name: (0.0, find_largest_value(measure, run.spec.scale, run.pool.depth))}
    return summarise_dimension(values, run.dataset.engines, remarks, ranges=ranges, engine_pairs=engine_pairs)


def _compare_engines(run: JudgedRun) -> Iterator[EnginePair]:
    """Yield the mean RBO of the lists of every two engines, over the queries where neither is empty."""
    lists = {
        ranking.key: tuple(dict.fromkeys(ranking.documents))
        for ranking in run.dataset.rankings
        if ranking.documents
    }
    for a, b in combinations(run.dataset.engines, 2):
        values = [
            rbo(lists[a, query_id], lists[b, query_id])
            for query_id in run.dataset.queries
            if (a, query_id) in lists and (b, query_id) in lists
        ]
        yield EnginePair(a, b, f"RBO@{run.pool.depth}", average_values(values, 0.0, 1.0))
