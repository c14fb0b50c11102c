"""Alignment: a linear map of embeddings, learned from verdicts, that ranks relevant snippets higher.

The map is trained on triplets (query, relevant snippet, other snippet of the query) with the margin triplet
loss and the cosine distance (Schroff et al. 2015), by Adam (Kingma & Ba 2015) from the identity. It is
measured on queries that it was not trained on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun
from judge.errors import InputError
from judge.measure.compare import compare_engines
from judge.measure.engine_summary import average_engines
from judge.measure.grades_by_pair import GradesByPair, compute_median_grades, convert_to_judgments
from judge.measure.measures import parse_measures
from judge.measure.numeric import Bools, Floats, Ints
from judge.measure.score import score_rankings
from judge.records import Pair, Ranking, Scale

#: The measures of an alignment; the first one decides.
_MEASURES = ("RR", "Success@4")
BEFORE, AFTER = "before", "after"
#: Of this many parts of the queries, each is measured by a map that is trained on the others.
FOLDS = 5
_MIN_QUERIES = 10
MARGIN, STEPS, LEARNING_RATE = 0.2, 30, 0.01
#: The most triplets of a query.
_MAX_TRIPLETS = 64
#: The decay of the two moments of Adam.
_DECAY, _SQUARE_DECAY = 0.9, 0.999
_TINY = 1e-12

Effect = Literal["helps", "harms", "not separated"]


@dataclass(frozen=True, slots=True)
class JudgedPool:
    """The judged pairs of the queries that have relevant and other snippets, and their grades."""

    pairs: tuple[tuple[Pair, ...], ...]
    grades: GradesByPair
    scale: Scale

    @property
    def texts(self) -> list[str]:
        """The texts to embed: each query, followed by its snippets."""
        texts = []
        for pairs in self.pairs:
            texts.append(pairs[0].query.text)
            texts += [f"{pair.snippet.title}\n{pair.snippet.text}".strip() for pair in pairs]
        return texts

    @property
    def starts(self) -> list[int]:
        """The index of each query in `texts`; its snippets follow."""
        return list(accumulate((1 + len(pairs) for pairs in self.pairs[:-1]), initial=0))

    def is_relevant(self, pair: Pair) -> bool:
        """Return whether the median grade of a pair is relevant."""
        return self.grades[pair.key] >= self.scale.relevant_from


@dataclass(frozen=True, slots=True)
class AlignedMeasure:
    """The means of a measure before and after the map, and the mean `difference` after - before.

    `ci95` is a simultaneous interval over queries, as for two engines, None where too few queries differ;
    `outcome` says if it excludes 0.
    """

    before: float | None
    after: float | None
    difference: float | None
    ci95: tuple[float, float] | None
    outcome: Effect


@dataclass(frozen=True, slots=True)
class AlignmentSummary:
    """What alignment.json holds: how the map was trained, and its measures by name, the deciding one first.

    The measures of a query are those of a map that was trained on other queries, in one of `folds` parts.
    """

    embeddings: str
    dimensions: int
    queries: int
    snippets: int
    triplets: int
    seed: int
    folds: int
    margin: float
    steps: int
    learning_rate: float
    measures: Mapping[str, AlignedMeasure]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The summary, and the (dimensions, dimensions) map of all queries: a vector v becomes `matrix @ v`."""

    summary: AlignmentSummary
    matrix: Floats


def select_judged_pool(run: JudgedRun) -> JudgedPool:
    """Return the judged pairs of queries where the order of snippets matters; raise InputError if too few."""
    grades = compute_median_grades(run.judgments)
    by_query: dict[str, list[Pair]] = {}
    for pair in run.pool.pairs:
        if pair.key in grades:
            by_query.setdefault(pair.query.id, []).append(pair)
    pool = JudgedPool(tuple(map(tuple, by_query.values())), grades, run.spec.scale)
    mixed = tuple(pairs for pairs in pool.pairs if len(set(map(pool.is_relevant, pairs))) > 1)
    if len(mixed) < _MIN_QUERIES:
        raise InputError(
            "{count} of {queries} queries have relevant and other snippets, and an alignment needs {least};"
            " judge more queries",
            count=len(mixed),
            queries=len(run.dataset.queries),
            least=_MIN_QUERIES,
        )
    return replace(pool, pairs=mixed)


def align_embeddings(embeddings: str, pool: JudgedPool, vectors: Floats, seed: int = 0) -> Alignment:
    """Return the alignment of the `embeddings` of `pool.texts`; `seed` draws the parts and the triplets."""
    generator = np.random.default_rng(seed)
    triplets = draw_triplets(pool, generator)
    order = generator.permutation(len(pool.pairs))
    identity = np.eye(vectors.shape[1])
    rankings = []
    for part in range(FOLDS):
        held_out = order[part::FOLDS]
        others = np.setdiff1d(order, held_out)
        learned = train_map(vectors, np.concatenate([triplets[query] for query in others]))
        for engine, matrix in ((BEFORE, identity), (AFTER, learned)):
            rankings += _rank_snippets(pool, vectors, matrix, engine, held_out)
    every = np.concatenate(triplets)
    summary = AlignmentSummary(
        embeddings=embeddings,
        dimensions=vectors.shape[1],
        queries=len(pool.pairs),
        snippets=sum(map(len, pool.pairs)),
        triplets=len(every),
        seed=seed,
        folds=FOLDS,
        margin=MARGIN,
        steps=STEPS,
        learning_rate=LEARNING_RATE,
        measures=_measure_rankings(pool, rankings),
    )
    return Alignment(summary, train_map(vectors, every))


def _measure_rankings(pool: JudgedPool, rankings: Sequence[Ranking]) -> dict[str, AlignedMeasure]:
    """Return the measures of the rankings after the map, compared with those before as two engines."""
    depth = max(4, *map(len, pool.pairs))
    judgments = convert_to_judgments(pool.grades)
    measures = parse_measures(_MEASURES)
    scores = score_rankings(rankings, judgments, measures, pool.scale, depth=depth)
    means = average_engines(scores)
    aligned = {}
    for comparison in compare_engines(scores):
        sign = 1 if comparison.a == AFTER else -1
        ends = sorted(sign * end for end in comparison.interval or ())
        outcomes: Mapping[str | None, Effect] = {AFTER: "helps", BEFORE: "harms"}
        aligned[comparison.measure] = AlignedMeasure(
            before=means[BEFORE][comparison.measure].mean,
            after=means[AFTER][comparison.measure].mean,
            difference=None if comparison.difference is None else sign * comparison.difference,
            ci95=(ends[0], ends[1]) if ends else None,
            outcome=outcomes.get(comparison.winner, "not separated"),
        )
    return aligned


def compute_triplet_loss(
    anchor: Floats, positive: Floats, negative: Floats, margin: float = MARGIN
) -> Floats:
    """Return the (triplets,) losses max(0, d(anchor, positive) - d(anchor, negative) + margin).

    The arguments are (triplets, dimensions); d is the cosine distance 1 - cos.
    """
    anchor, positive, negative = (_normalise(vectors)[0] for vectors in (anchor, positive, negative))
    losses: Floats = np.maximum(0.0, margin - (anchor * positive).sum(1) + (anchor * negative).sum(1))
    return losses


def compute_gradient(matrix: Floats, vectors: Floats, triplets: Ints) -> Floats:
    """Return the gradient of the mean triplet loss by `matrix`, of (triplets, 3) indexes of `vectors`."""
    units, lengths = _normalise(vectors @ matrix.T)
    losses = compute_triplet_loss(*(units[column] for column in triplets.T))
    anchor, positive, negative = triplets[losses > 0].T
    slopes = np.zeros_like(units)
    np.add.at(slopes, anchor, units[negative] - units[positive])
    np.add.at(slopes, positive, -units[anchor])
    np.add.at(slopes, negative, units[anchor])
    # The part along a vector changes its length alone, which the cosine does not see.
    slopes = (slopes - (slopes * units).sum(1, keepdims=True) * units) / lengths
    gradient: Floats = slopes.T @ vectors / len(triplets)
    return gradient


def train_map(vectors: Floats, triplets: Ints) -> Floats:
    """Return the (dimensions, dimensions) map after all steps of Adam; (triplets, 3) index `vectors`."""
    used, indexes = np.unique(triplets, return_inverse=True)
    vectors, triplets = vectors[used], indexes.reshape(triplets.shape)
    matrix = np.eye(vectors.shape[1])
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        gradient = compute_gradient(matrix, vectors, triplets)
        mean = _DECAY * mean + (1 - _DECAY) * gradient
        square = _SQUARE_DECAY * square + (1 - _SQUARE_DECAY) * gradient**2
        scale = np.sqrt(square / (1 - _SQUARE_DECAY**step)) + 1e-8
        matrix = matrix - LEARNING_RATE * mean / (1 - _DECAY**step) / scale
    return matrix


def _normalise(vectors: Floats) -> tuple[Floats, Floats]:
    """Return vectors of length 1, and the lengths as a column; a vector of 0 stays."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
    return vectors / lengths, lengths


def draw_triplets(pool: JudgedPool, generator: np.random.Generator) -> list[Ints]:
    """Return for each query (triplets, 3) indices of query, relevant and other snippet in `pool.texts`."""
    drawn = []
    for start, pairs in zip(pool.starts, pool.pairs, strict=True):
        relevant: Bools = np.array([pool.is_relevant(pair) for pair in pairs])
        indices = start + 1 + np.arange(len(pairs))
        grid = np.meshgrid([start], indices[relevant], indices[~relevant], indexing="ij")
        triplets = np.stack([axis.ravel() for axis in grid], axis=1)
        drawn.append(generator.permutation(triplets)[:_MAX_TRIPLETS])
    return drawn


def _rank_snippets(
    pool: JudgedPool, vectors: Floats, matrix: Floats, engine: str, queries: Ints
) -> list[Ranking]:
    """Return the snippets of each of `queries`, by the cosine to the query after the map."""
    starts, rankings = pool.starts, []
    for query in queries:
        pairs = pool.pairs[query]
        units, _ = _normalise(vectors[starts[query] : starts[query] + 1 + len(pairs)] @ matrix.T)
        order = np.argsort(-(units[1:] @ units[0]), kind="stable")
        snippets = tuple(pairs[index].snippet for index in order)
        documents = tuple(snippet.id for snippet in snippets)
        rankings.append(Ranking(engine, pairs[0].query.id, snippets, documents=documents))
    return rankings
