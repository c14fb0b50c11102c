"""Diversity of an engine's lists: distinct sites, near-duplicates, similarity, MMR and RBO. It makes no call.

Snippets are compared by their resemblance, the Jaccard index of the sets of their character 3-grams (Broder
1997). A near-duplicate resembles a snippet at a higher rank by `NEAR_DUPLICATE` or more. The intra-list
similarity is the mean resemblance of all pairs of a list (Ziegler et al. 2005).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from operator import add

import numpy as np

from judge.analysis.dimension_result import (
    DimensionResult,
    EnginePair,
    QueryValues,
    average_values,
    summarise_dimension,
)
from judge.analysis.loaded_run import LoadedRun
from judge.analysis.run_analysis import score_run
from judge.dimensions.sites import find_site
from judge.measure.formulas import Floats, finite_or_none, largest_value
from judge.measure.measures import Measure
from judge.measure.rank_correlation import rbo
from judge.records import Ranking, Snippet

#: From this resemblance on a snippet is a near-duplicate.
NEAR_DUPLICATE = 0.8
#: How much relevance weighs against similarity in MMR.
TRADE_OFF = 0.5


def measure_diversity(run: LoadedRun) -> DimensionResult:
    """Return the diversity of each list, down to the depth of the run, and the overlap of the lists."""
    depth, values, diversified = run.pool.depth, {}, []
    ranges = {f"{name}@{depth}": (0.0, 1.0) for name in ("near-duplicates", "similarity")}
    for ranking in run.data.rankings:
        if ranking.error is None:
            snippets = ranking.snippets[:depth]
            similarity = compare_snippets(snippets)
            values[ranking.engine, ranking.query_id] = measure_list(snippets, similarity, depth)
            order = order_by_mmr(similarity)
            diversified.append((ranking, order))
    if diversified and (measure := next((each for each in run.spec.measures if each.compares_engines), None)):
        for key, value in _score_orders(run, measure, diversified).items():
            values[key] = {**values[key], f"MMR {measure}": value}
        ranges[f"MMR {measure}"] = 0.0, largest_value(measure, run.spec.scale, depth)
    return summarise_dimension(values, run.data.engines, pairs=tuple(_compare_engines(run)), ranges=ranges)


def measure_list(snippets: Sequence[Snippet], similarity: Floats, depth: int) -> QueryValues:
    """Return the values of one list; sites are unknown where a result has no URL."""
    sites = [find_site(snippet.url) for snippet in snippets]
    above = np.tril(similarity, -1)
    pairs = similarity[np.triu_indices(len(snippets), 1)]
    return {
        f"sites@{depth}": None if None in sites else float(len(set(sites))),
        f"near-duplicates@{depth}": float((above >= NEAR_DUPLICATE).any(1).mean()) if snippets else None,
        f"similarity@{depth}": float(pairs.mean()) if pairs.size else None,
    }


def compare_snippets(snippets: Sequence[Snippet]) -> Floats:
    """Return the (snippets, snippets) resemblance of titles and texts."""
    grams = [_split_grams(f"{snippet.title} {snippet.text}") for snippet in snippets]
    similarity = np.eye(len(grams))
    for a, b in combinations(range(len(grams)), 2):
        similarity[a, b] = similarity[b, a] = resemblance(grams[a], grams[b])
    return similarity


def order_by_mmr(similarity: Floats, trade_off: float = TRADE_OFF) -> list[int]:
    """Return the places of a list in the order of maximal marginal relevance (Carbonell & Goldstein 1998).

    The next result has the largest `trade_off` * relevance - (1 - `trade_off`) * the largest similarity to a
    result before it. Relevance falls evenly from 1 at the first rank of the list to 1/n at the last one.
    """
    relevance = np.arange(len(similarity), 0, -1) / max(1, len(similarity))
    order: list[int] = []
    while len(order) < len(similarity):
        nearest = similarity[:, order].max(1, initial=0.0)
        value = trade_off * relevance - (1 - trade_off) * nearest
        value[order] = -np.inf
        order.append(int(value.argmax()))
    return order


def _score_orders(
    run: LoadedRun, measure: Measure, orders: Iterable[tuple[Ranking, list[int]]]
) -> dict[tuple[str, str], float | None]:
    """Return the value of each list in another order, None where it has none."""
    rankings, documents = [], {}
    for ranking, order in orders:
        key = ranking.engine, ranking.query_id
        rankings.append(replace(ranking, snippets=tuple(ranking.snippets[place] for place in order)))
        documents[key] = tuple(run.pool.documents[key][place] for place in order)
    data, pool = replace(run.data, rankings=tuple(rankings)), replace(run.pool, documents=documents)
    scores = score_run(replace(run, data=data, pool=pool), [measure])
    value, _, _ = scores.average_repeats()
    return {
        (engine, query_id): finite_or_none(value[row, column, 0])
        for row, engine in enumerate(scores.engines)
        for column, query_id in enumerate(scores.queries)
        if (engine, query_id) in documents
    }


def _compare_engines(run: LoadedRun) -> Iterator[EnginePair]:
    """Yield the mean RBO of the lists of every two engines, over the queries where neither is empty."""
    lists = {key: tuple(dict.fromkeys(names)) for key, names in run.pool.documents.items() if names}
    for a, b in combinations(run.data.engines, 2):
        values = [
            rbo(lists[a, query_id], lists[b, query_id])
            for query_id in run.data.queries
            if (a, query_id) in lists and (b, query_id) in lists
        ]
        yield EnginePair(a, b, f"RBO@{run.pool.depth}", average_values(values, 0.0, 1.0))


def _split_grams(text: str) -> frozenset[str]:
    """Return the character 3-grams of a text, the text itself where it is shorter."""
    if len(text) < 3:
        return frozenset((text,))
    return frozenset(map(add, map(add, text, text[1:]), text[2:]))


def resemblance(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard index of two sets that are not both empty."""
    both = len(a & b)
    return both / (len(a) + len(b) - both)
