"""Owns what an engine's answers take: the time that it needed, and the tokens that its results are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from judge.characters import estimate_tokens
from judge.records import Ranking


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an engine took in milliseconds over `n` queries: the median, and what 95 % stay under."""

    median: float
    p95: float
    n: int


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens the titles and snippets of an answer are, roughly: the mean over `n` queries."""

    mean: float
    n: int


def measure_latency(rankings: Iterable[Ranking]) -> Latency | None:
    """The latency of one engine, None when nobody measured it; queries on which it broke don't count."""
    took = [each.latency_ms for each in rankings if each.latency_ms is not None and each.error is None]
    if not took:
        return None
    median, p95 = np.percentile(took, [50, 95])
    return Latency(float(median), float(p95), len(took))


def measure_tokens(rankings: Iterable[Ranking], depth: int) -> TokenCount | None:
    """The tokens of one engine's results down to `depth`, as it returned them; None without an answer.

    An empty answer is 0 tokens; queries on which the engine broke don't count.
    """
    sizes = [_count_tokens(each, depth) for each in rankings if each.error is None]
    return TokenCount(math.fsum(sizes) / len(sizes), len(sizes)) if sizes else None


def _count_tokens(ranking: Ranking, depth: int) -> float:
    return math.fsum(
        estimate_tokens(snippet.raw_title) + estimate_tokens(snippet.raw_text)
        for snippet in ranking.snippets[:depth]
    )


def compute_no_snippet_share(rankings: Iterable[Ranking], depth: int) -> float | None:
    """The share of one engine's results down to `depth` without a text of their own, a title or not.

    None without a result that is known. A field that was renamed looks like this, and like nothing else does.
    """
    shown = [each for ranking in rankings for each in ranking.snippets[:depth] if "no_text" not in each.flags]
    return sum(not snippet.text for snippet in shown) / len(shown) if shown else None
