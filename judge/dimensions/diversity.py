"""Diversity of an engine's lists: distinct sites, near-duplicates, and similarity. It makes no call.

Snippets are compared by their resemblance, the Jaccard index of the sets of their character 3-grams (Broder
1997). A near-duplicate resembles a snippet at a higher rank by `NEAR_DUPLICATE` or more. The intra-list
similarity is the mean resemblance of all pairs of a list (Ziegler et al. 2005).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from statistics import fmean
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from judge.analysis.dimension_result import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.loaded_run import LoadedRun
from judge.records import Ranking

#: From this resemblance on a snippet is a near-duplicate.
NEAR_DUPLICATE = 0.8
_LENGTH = 3


def measure_diversity(run: LoadedRun) -> DimensionResult:
    """Return the diversity of each list, down to the depth of the run."""
    values = {
        (ranking.engine, ranking.query_id): measure_list(ranking, run.pool.depth)
        for ranking in run.data.rankings
        if ranking.error is None
    }
    return summarise_dimension(values, run.data.engines)


def measure_list(ranking: Ranking, depth: int) -> QueryValues:
    """Return the values of one list; sites are unknown where a result has no URL."""
    snippets = ranking.snippets[:depth]
    sites = [find_site(snippet.url) for snippet in snippets]
    grams = [_split_grams(f"{snippet.title} {snippet.text}") for snippet in snippets]
    pairs = {(a, b): resemblance(grams[a], grams[b]) for a, b in combinations(range(len(grams)), 2)}
    repeated = {b for (_, b), value in pairs.items() if value >= NEAR_DUPLICATE}
    return {
        f"sites@{depth}": None if None in sites else float(len(set(sites))),
        f"near-duplicates@{depth}": len(repeated) / len(snippets) if snippets else None,
        f"similarity@{depth}": fmean(pairs.values()) if pairs else None,
    }


def find_site(url: str) -> str | None:
    """Return the registrable domain of a URL by the public suffix list, else its host, None without one."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    if not host or ":" in host or host.rpartition(".")[2].isdigit():
        return host  # an address of a machine has no registrable domain
    return _load_suffixes().privatesuffix(host) or host


@cache
def _load_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _split_grams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + _LENGTH] for start in range(max(1, len(text) - _LENGTH + 1)))


def resemblance(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard index of two sets that are not both empty."""
    both = len(a & b)
    return both / (len(a) + len(b) - both)
