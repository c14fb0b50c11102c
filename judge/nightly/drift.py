"""Owns how tonight's queries differ from the baseline's, since scores over different queries don't compare.

Pure: queries and judgments in, numbers out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.analysis.loaded_run import LoadedRun
from judge.measure.formulas import Floats, Ints
from judge.records import Query

_SPLITS = 200
_SEED = 0
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class QueryDrift:
    """How many queries tonight and the baseline ask, and how alike they are.

    A query is `shared` when both ask the same text under the same id; `new` and `gone` are those that
    one alone has. `no_relevant` is the share of queries, tonight and at the baseline, where no engine
    returned a snippet known to be relevant. `distance` is between the texts (see `distance`);
    `by_chance` is what it comes to on average when all texts are dealt to two nights at random, and
    `p` how often it comes to that much.
    """

    tonight: int
    baseline: int
    shared: int
    new: int
    gone: int
    no_relevant: tuple[float | None, float | None]
    distance: float | None
    by_chance: float | None
    p: float | None

    @property
    def shared_share(self) -> float:
        """The share of the baseline's queries that are asked tonight."""
        return self.shared / self.baseline if self.baseline else 0.0


def query_drift(tonight: LoadedRun, baseline: LoadedRun) -> QueryDrift:
    """How tonight's queries differ from those of the baseline."""
    now, then = tonight.data.queries, baseline.data.queries
    both = len(shared(now, then))
    seen, by_chance, p = distance(_texts(now), _texts(then))
    return QueryDrift(
        tonight=len(now),
        baseline=len(then),
        shared=both,
        new=len(now) - both,
        gone=len(then) - both,
        no_relevant=(no_relevant(tonight), no_relevant(baseline)),
        distance=seen,
        by_chance=by_chance,
        p=p,
    )


def shared(tonight: Mapping[str, Query], baseline: Mapping[str, Query]) -> frozenset[str]:
    """The ids under which both ask the same text."""
    return frozenset(
        id_ for id_, query in tonight.items() if id_ in baseline and baseline[id_].text == query.text
    )


def no_relevant(held: LoadedRun) -> float | None:
    """The share of queries where no engine returned a snippet known to be relevant; None without queries."""
    least = held.spec.scale.relevant_from
    lucky = {each.query_id for each in held.judgments if each.grade is not None and each.grade >= least}
    asked = held.data.queries
    return sum(id_ not in lucky for id_ in asked) / len(asked) if asked else None


def distance(one: Sequence[str], two: Sequence[str]) -> tuple[float, float, float] | tuple[None, None, None]:
    """How far the texts' characters are apart, how far by chance, and how often chance goes as far.

    The Jensen-Shannon divergence, in bits (0 to 1), of how often each run of two and three characters
    occurs. Two draws from one source are not at 0 either: the same texts dealt at random to two nights
    of these sizes, 200 times, say what chance does. None where a side has no text.
    """
    grams, owner = _grams([*one, *two])
    if not one or not two or not len(grams):
        return None, None, None
    rng = np.random.default_rng(_SEED)
    side = np.repeat([0, 1], [len(one), len(two)])
    seen = _divergence(grams, side[owner])
    dealt = np.array([_divergence(grams, rng.permutation(side)[owner]) for _ in range(_SPLITS)])
    return seen, float(dealt.mean()), float((1 + (dealt >= seen - _TIE).sum()) / (1 + _SPLITS))


def _texts(queries: Mapping[str, Query]) -> list[str]:
    return sorted(query.text for query in queries.values())


def _grams(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """Runs of characters as numbers, and which text each is of."""
    numbers: dict[str, int] = {}
    found = [
        (numbers.setdefault(gram, len(numbers)), at) for at, text in enumerate(texts) for gram in _of(text)
    ]
    pairs: Ints = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _of(text: str) -> Iterator[str]:
    framed = f" {' '.join(text.casefold().split())} "
    for size in (2, 3):
        yield from (framed[at : at + size] for at in range(len(framed) - size + 1))


def _divergence(grams: Ints, side: Ints) -> float:
    kinds = int(grams.max()) + 1
    counts = np.stack([np.bincount(grams[side == each], minlength=kinds) for each in (0, 1)]).astype(float)
    if not counts.sum(1).all():
        return 1.0
    shares = counts / counts.sum(1, keepdims=True)
    return max(0.0, _entropy(shares.mean(0)) - (_entropy(shares[0]) + _entropy(shares[1])) / 2)


def _entropy(shares: Floats) -> float:
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())


def worth_saying(found: QueryDrift) -> Iterator[str]:
    """What a reader must know of the queries before reading a score."""
    if found.new or found.gone:
        yield (
            f"{found.shared:,} of the baseline's {found.baseline:,} queries are asked tonight"
            f" ({found.new:,} new, {found.gone:,} gone): engines are compared on the shared ones alone"
        )
    if found.p is not None and found.p < 0.01 and found.distance is not None and found.by_chance is not None:
        yield (
            "tonight's queries are of another kind than the baseline's: their characters are"
            f" {found.distance:.3f} apart, {found.by_chance:.3f} by chance"
        )
