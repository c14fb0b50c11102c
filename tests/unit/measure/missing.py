"""Data sets that are judged in full, and the same with some pairs unjudged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from judge.measure.measures import parse_measures
from judge.measure.numeric import Floats
from judge.measure.score import Scores, compute_nan_mean, score_rankings
from judge.records import GRADED, Judgment, Ranking, Scale
from tests.unit.measure.judged_dataset import make_judgment, make_snippet

DEPTH = 10
Pair = tuple[str, str]


@dataclass(frozen=True)
class Judged:
    """Rankings of documents that are all judged: one snippet for each document."""

    lists: Mapping[str, Mapping[str, Sequence[str]]]
    grades: Mapping[Pair, int]
    scale: Scale

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The `lists` of the engines."""
        return [
            Ranking(engine, query, tuple(map(make_snippet, names)), documents=tuple(names))
            for engine, queries in self.lists.items()
            for query, names in queries.items()
        ]

    @cached_property
    def judgments(self) -> dict[Pair, Judgment]:
        """The judgment of each pair that an engine returned."""
        returned = {pair for engine in self.lists for pair in self.list_returned(engine)}
        return {pair: make_judgment(*pair, self.grades[pair]) for pair in returned}

    def list_returned(self, engine: str) -> list[Pair]:
        """Return the pairs that an engine returned, sorted."""
        return sorted({(query, name) for query, names in self.lists[engine].items() for name in names})

    def compute_scores(self, measures: str, unjudged: Collection[Pair] = ()) -> Scores:
        """Return the scores when the pairs in `unjudged` have no grade."""
        judgments = [each for pair, each in self.judgments.items() if pair not in unjudged]
        return score_rankings(self.rankings, judgments, parse_measures(measures), self.scale, depth=DEPTH)


@lru_cache(maxsize=16)
def simulate_engines(
    queries: int, noises: tuple[float, ...], seed: int, *, scale: Scale = GRADED, variation: float = 0.0
) -> Judged:
    """Return engines that rank 40 documents per query by relevance plus noise, one engine for each noise.

    Relevance is normal around the mean of the query. The best grade goes to about 6% of all documents,
    grade 0 to half. Engines return 10 of them, so most documents that are returned are in several lists.
    `variation` is the standard deviation of the logarithm of an engine's noise over the queries.
    """
    rng = np.random.default_rng(seed)
    documents = 40
    relevance = rng.normal(size=(queries, documents)) + 0.6 * rng.normal(size=(queries, 1))
    grade = np.digitize(relevance, [0.0, 0.9, 1.8] if scale is GRADED else [0.9])
    lists: dict[str, dict[str, list[str]]] = {}
    for engine, noise in zip("ABCDEFGH", noises, strict=False):
        noisy = noise * np.exp(variation * rng.normal(size=(queries, 1))) * rng.normal(size=relevance.shape)
        ranked = np.argsort(-(relevance + noisy), axis=1)[:, :DEPTH]
        lists[engine] = {f"q{query}": [f"d{at}" for at in row] for query, row in enumerate(ranked.tolist())}
    grades = {(f"q{query}", f"d{at}"): int(each) for (query, at), each in np.ndenumerate(grade)}
    return Judged(lists, grades, scale)


def iter_folds(data: Judged, parts: int, seed: int) -> Iterator[tuple[str, set[Pair]]]:
    """Yield each engine `parts` times, with a random part of its pairs: each pair once for each engine."""
    rng = np.random.default_rng(seed)
    for engine in data.lists:
        pairs = data.list_returned(engine)
        order = rng.permutation(len(pairs))
        for part in np.array_split(order, parts):
            yield engine, {pairs[at] for at in part}


@dataclass(frozen=True)
class Bias:
    """What unjudged pairs move by one measure, averaged over engines: mean, and difference to another engine.

    `mean_se` and `difference_se` are the standard errors over the folds.
    """

    mean: float
    mean_se: float
    difference: float
    difference_se: float


def measure_bias(data: Judged, measures: str, parts: int, seed: int) -> dict[str, Bias]:
    """Return the bias by each measure when 1 / `parts` of the pairs of one engine is unjudged.

    The design is balanced: each pair of each engine is unjudged exactly once. Differences are of the
    engine whose pairs are unjudged to each of the others.
    """
    complete = data.compute_scores(measures)
    truth = compute_nan_mean(complete.value[:, :, 0], axis=1)
    own, differences = [], []
    for engine, unjudged in iter_folds(data, parts, seed):
        error = compute_nan_mean(data.compute_scores(measures, unjudged).value[:, :, 0], axis=1) - truth
        at = complete.engines.index(engine)
        others = np.delete(error, at, axis=0)
        own.append(error[at])
        differences.append(error[at] - others.mean(0))
    means, errors = _estimate_mean(np.array(own)), _estimate_mean(np.array(differences))
    names = map(str, complete.measures)
    return {
        name: Bias(*(float(each) for each in numbers))
        for name, *numbers in zip(names, *means, *errors, strict=True)
    }


def _estimate_mean(sample: Floats) -> tuple[Floats, Floats]:
    """Return (measures,) the mean over the rows of `sample` and its standard error."""
    return sample.mean(0), sample.std(0, ddof=1) / np.sqrt(len(sample))
