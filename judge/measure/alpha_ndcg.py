"""alpha-nDCG over the points that documents state (Clarke et al. 2008), as ndeval of TREC computes it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

from judge.measure.formulas import Bools, Floats

#: How much a repeated point counts less.
ALPHA = 0.5


def compute_alpha_ndcg(ranking: Sequence[Bools], pool: Sequence[Bools], depth: int) -> float | None:
    """Return alpha-nDCG of `ranking` down to `depth`; None when no document of the pool states a point.

    Each document is a (points,) array of what it states. The ideal order is the greedy one of the `pool`.
    """
    ideal = _sum_gains(_order_greedily(list(pool), depth))
    return _sum_gains(ranking[:depth]) / ideal if ideal else None


def _gain(document: Bools, seen: Floats) -> float:
    return float((document * (1 - ALPHA) ** seen).sum())


def _sum_gains(documents: Sequence[Bools]) -> float:
    """Return alpha-DCG: the gain at rank r is divided by log2(1 + r)."""
    total, seen = 0.0, np.zeros(len(documents[0]) if documents else 0)
    for rank, document in enumerate(documents, start=1):
        total += _gain(document, seen) / log2(1 + rank)
        seen = seen + document
    return total


def _order_greedily(documents: list[Bools], depth: int) -> list[Bools]:
    order: list[Bools] = []
    seen = np.zeros(len(documents[0]) if documents else 0)
    while documents and len(order) < depth:
        best = max(range(len(documents)), key=lambda place: _gain(documents[place], seen))
        order.append(documents.pop(best))
        seen = seen + order[-1]
    return order
