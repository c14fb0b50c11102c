"""How this night's queries differ from the baseline's: scores over different queries cannot be compared.

Pure functions of queries and judgments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from judge.analysis.loaded_run import LoadedRun
from judge.measure.formulas import Floats, Ints
from judge.messages import Message
from judge.nightly.record import NoRelevantShares, QueryDrift
from judge.records import Query

_RANDOM_SPLITS = 200
_SEED = 0
_TIE = 1e-12
#: Below this p the texts of the queries differ by more than chance explains.
_ALPHA = 0.01


def measure_query_drift(tonight: LoadedRun, baseline: LoadedRun) -> QueryDrift:
    """Return how this night's queries differ from those of the baseline."""
    now, before = tonight.data.queries, baseline.data.queries
    shared = len(shared_query_ids(now, before))
    distance, by_chance, p = text_distance(_sorted_texts(now), _sorted_texts(before))
    return QueryDrift(
        tonight=len(now),
        baseline=len(before),
        shared=shared,
        new=len(now) - shared,
        gone=len(before) - shared,
        shared_share=shared / len(before) if before else 0.0,
        no_relevant=NoRelevantShares(
            tonight=_no_relevant_share(tonight), baseline=_no_relevant_share(baseline)
        ),
        distance=distance,
        distance_by_chance=by_chance,
        p=p,
    )


def shared_query_ids(tonight: Mapping[str, Query], baseline: Mapping[str, Query]) -> frozenset[str]:
    """Return the ids under which both ask the same text."""
    return frozenset(
        id_ for id_, query in tonight.items() if id_ in baseline and baseline[id_].text == query.text
    )


def describe_query_drift(drift: QueryDrift) -> Iterator[str]:
    """Yield the remarks that a reader of the scores needs about the queries."""
    if drift.new or drift.gone:
        yield Message(
            "{shared:,} of the baseline's {baseline:,} queries are asked tonight ({new:,} new, {gone:,}"
            " gone): engines are compared on the shared queries only",
            shared=drift.shared,
            baseline=drift.baseline,
            new=drift.new,
            gone=drift.gone,
        )
    p, distance, by_chance = drift.p, drift.distance, drift.distance_by_chance
    if p is not None and p < _ALPHA and distance is not None and by_chance is not None:
        yield Message(
            "this night's queries differ in kind from the baseline's: the distance of their characters is"
            " {distance:.3f}, {by_chance:.3f} by chance",
            distance=distance,
            by_chance=by_chance,
        )


def _no_relevant_share(run: LoadedRun) -> float | None:
    """Return the share of queries without a snippet known to be relevant; None without queries."""
    least = run.spec.scale.relevant_from
    relevant = {
        judgment.query_id
        for judgment in run.judgments
        if judgment.grade is not None and judgment.grade >= least
    }
    queries = run.data.queries
    return sum(id_ not in relevant for id_ in queries) / len(queries) if queries else None


def text_distance(
    one: Sequence[str], other: Sequence[str]
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the distance of the texts, its mean by chance, and the p value of the distance.

    The distance is the Jensen-Shannon divergence in bits (0 to 1) of the frequencies of character 2-grams
    and 3-grams. Two samples of one source are not at distance 0 either, so the same texts are assigned to
    two nights of these sizes at random, 200 times. All are None where a side has no text.
    """
    grams, text_of_gram = _count_grams([*one, *other])
    if not one or not other or not len(grams):
        return None, None, None
    rng = np.random.default_rng(_SEED)
    side = np.repeat([0, 1], [len(one), len(other)])
    distance = _divergence(grams, side[text_of_gram])
    by_chance = np.array(
        [_divergence(grams, rng.permutation(side)[text_of_gram]) for _ in range(_RANDOM_SPLITS)]
    )
    p = (1 + (by_chance >= distance - _TIE).sum()) / (1 + _RANDOM_SPLITS)
    return distance, float(by_chance.mean()), float(p)


def _sorted_texts(queries: Mapping[str, Query]) -> list[str]:
    return sorted(query.text for query in queries.values())


def _count_grams(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """Return (grams,) the number of each character gram, and (grams,) the index of its text."""
    numbers: dict[str, int] = {}
    pairs = [
        (numbers.setdefault(gram, len(numbers)), at) for at, text in enumerate(texts) for gram in _grams(text)
    ]
    table: Ints = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _grams(text: str) -> Iterator[str]:
    framed = f" {' '.join(text.casefold().split())} "
    for size in (2, 3):
        yield from (framed[at : at + size] for at in range(len(framed) - size + 1))


def _divergence(grams: Ints, side: Ints) -> float:
    kinds = int(grams.max()) + 1
    counts = np.stack([np.bincount(grams[side == which], minlength=kinds) for which in (0, 1)]).astype(float)
    if not counts.sum(1).all():
        return 1.0
    shares = counts / counts.sum(1, keepdims=True)
    return max(0.0, _entropy(shares.mean(0)) - (_entropy(shares[0]) + _entropy(shares[1])) / 2)


def _entropy(shares: Floats) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log2(positive)).sum())
