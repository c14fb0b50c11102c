"""Controls: reference points beside the engines, which are never compared, ranked or pooled.

`control:mismatched` gives queries the snippets of other queries, drawn at random: the share that the assessor
calls relevant is its false-positive rate on this data, without labels. `control:ideal` is the best order of
the pool by the known grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from judge.analysis.summary import Controls
from judge.dataset.labels import select_labellable
from judge.dataset.pool import make_pair
from judge.measure.resampling import measure_share
from judge.models.lexical import extract_terms
from judge.records import Dataset, Judgment, Pair, Pool, Ranking, Scale

#: Draws for each pair that is wanted, before fewer pairs than wanted are accepted.
_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class MismatchedPairs:
    """Pairs of a query and a snippet of another one, by (query_id, snippet_id); none is in the pool."""

    pairs: Mapping[tuple[str, str], Pair]

    def add_to(self, pool: Pool) -> Pool:
        """Return the pool with these pairs at its end, for judging."""
        # The digest names the pool without them, and keys are cached under it.
        return replace(pool, pairs=(*pool.pairs, *self.pairs.values()), digest="") if self.pairs else pool

    def remove_from(self, judgments: Iterable[Judgment]) -> tuple[Judgment, ...]:
        """Return the judgments of other pairs."""
        return tuple(each for each in judgments if (each.query_id, each.snippet_id) not in self.pairs)

    def summarise(self, judgments: Iterable[Judgment], scale: Scale, bound: float) -> Controls:
        """Return the false-positive rate, over the pairs with a grade in the first repeat."""
        grades = [
            each.grade
            for each in judgments
            if each.repeat == 1 and each.grade is not None and (each.query_id, each.snippet_id) in self.pairs
        ]
        relevant = sum(grade >= scale.relevant_from for grade in grades)
        return Controls(len(self.pairs), measure_share(relevant, len(grades)), bound)


def draw_mismatched_pairs(data: Dataset, pool: Pool, count: int) -> MismatchedPairs:
    """Return up to `count` pairs of a query and the snippet that another query got at a rank from an engine.

    The two queries have one language and no term in common, so that the snippet does not answer both. There
    are fewer pairs where few such queries exist. A larger draw contains every smaller one.
    """
    if not count:
        return MismatchedPairs({})
    lists: dict[str, dict[str, Ranking]] = {}
    for ranking in data.rankings:
        if ranking.snippets and ranking.error is None:
            lists.setdefault(ranking.query_id, {})[ranking.engine] = ranking
    readable = {(pair.query.id, pair.snippet.id) for pair in select_labellable(pool)}
    pooled = {(pair.query.id, pair.snippet.id) for pair in pool.pairs}
    ids, rng = sorted(lists), np.random.default_rng(0)
    terms = {query_id: extract_terms(data.queries[query_id].text).keys() for query_id in ids}
    pairs: dict[tuple[str, str], Pair] = {}
    for _ in range(_ATTEMPTS * count if len(ids) > 1 else 0):
        query_id, other_id = (ids[at] for at in rng.integers(len(ids), size=2))
        engines = sorted(lists[other_id])
        ranking = lists[other_id][engines[rng.integers(len(engines))]]
        snippet = ranking.snippets[rng.integers(min(pool.depth, len(ranking.snippets)))]
        if (
            data.queries[query_id].lang == data.queries[other_id].lang
            and terms[query_id].isdisjoint(terms[other_id])
            and (other_id, snippet.id) in readable
            and (query_id, snippet.id) not in pooled
        ):
            pairs[query_id, snippet.id] = make_pair(data, query_id, snippet)
        if len(pairs) == count:
            break
    return MismatchedPairs(pairs)
