"""The alignment: its loss, its gradient, its ranks and its verdict, against numbers worked by hand."""

import numpy as np
import pytest

from judge.dimensions.align import (
    AFTER,
    BEFORE,
    FOLDS,
    MARGIN,
    JudgedPool,
    align_embeddings,
    compute_gradient,
    compute_triplet_loss,
    draw_triplets,
    train_map,
)
from judge.measure.numeric import Floats
from judge.records import BINARY, Pair, Query, Snippet

QUERIES, SNIPPETS, SIGNAL, NOISE = 40, 8, 4, 4


def make_pool(queries: int = QUERIES) -> JudgedPool:
    """Return a pool with the first two snippets of each query relevant."""
    pairs = tuple(
        tuple(
            Pair(Query(f"q{q}", f"query {q}", "", "en"), Snippet(f"s{q}.{s}", f"text {q}.{s}"))
            for s in range(SNIPPETS)
        )
        for q in range(queries)
    )
    grades = {(pair.query.id, pair.snippet.id): int(at < 2) for own in pairs for at, pair in enumerate(own)}
    return JudgedPool(pairs, grades, BINARY)


def make_vectors(noise: float, has_signal: bool = True) -> Floats:
    """Return vectors whose first dimensions say what is relevant; the others are noise."""
    generator = np.random.default_rng(1)
    rows = []
    for _ in range(QUERIES):
        topic = generator.normal(size=SIGNAL)
        signals = [topic, topic, topic, *(generator.normal(size=(SNIPPETS - 2, SIGNAL)))]
        if not has_signal:
            signals = list(generator.normal(size=(SNIPPETS + 1, SIGNAL)))
        rows += [np.concatenate([signal, generator.normal(size=NOISE) * noise]) for signal in signals]
    return np.array(rows)


def test_the_loss_of_a_worked_example() -> None:
    # cos(a, p) = 0.6 and cos(a, n) = 0.8: distances 0.4 and 0.2, so 0.4 - 0.2 + 0.5 = 0.7.
    # cos(a, p) = 1 and cos(a, n) = 0: distances 0 and 1, so 0 - 1 + 0.5 < 0, which is 0.
    anchor = np.array([[2.0, 0.0], [0.0, 3.0]])
    positive = np.array([[3.0, 4.0], [0.0, 1.0]])
    negative = np.array([[4.0, 3.0], [5.0, 0.0]])
    assert compute_triplet_loss(anchor, positive, negative, 0.5) == pytest.approx([0.7, 0.0])


def test_the_gradient_equals_finite_differences() -> None:
    generator = np.random.default_rng(0)
    vectors, matrix = generator.normal(size=(6, 3)), np.eye(3) + generator.normal(size=(3, 3)) / 5
    triplets = np.array([[0, 1, 2], [0, 3, 2], [4, 5, 1]])

    def compute_loss(at: Floats) -> float:
        mapped = vectors @ at.T
        return float(compute_triplet_loss(*(mapped[column] for column in triplets.T)).mean())

    numeric = np.zeros_like(matrix)
    for place in np.ndindex(matrix.shape):
        step = np.zeros_like(matrix)
        step[place] = 1e-6
        numeric[place] = (compute_loss(matrix + step) - compute_loss(matrix - step)) / 2e-6
    assert compute_loss(matrix) > 0
    assert compute_gradient(matrix, vectors, triplets) == pytest.approx(numeric, abs=1e-6)


def test_training_lowers_the_loss_and_needs_no_vector_of_others() -> None:
    vectors = make_vectors(noise=2.0)
    triplets = np.array([[0, 1, at] for at in range(3, 9)])
    learned = train_map(vectors, triplets)

    def compute_loss(at: Floats) -> float:
        return float(compute_triplet_loss(*(vectors[column] @ at.T for column in triplets.T)).mean())

    assert compute_loss(learned) < compute_loss(np.eye(SIGNAL + NOISE)) / 2
    assert train_map(vectors[:9], triplets) == pytest.approx(learned, abs=0)


def test_a_map_that_suppresses_noise_helps() -> None:
    pool, vectors = make_pool(), make_vectors(noise=3.0)
    aligned = align_embeddings("fake", pool, vectors)
    name, measure = next(iter(aligned.summary.measures.items()))
    assert (name, measure.outcome) == ("RR", "helps")
    assert measure.before is not None
    assert measure.after == pytest.approx(measure.before + (measure.difference or 0))
    assert measure.ci95 is not None
    assert 0 < measure.ci95[0] < (measure.difference or 0) < measure.ci95[1]
    assert aligned.matrix.shape == (SIGNAL + NOISE, SIGNAL + NOISE)
    # The same seed gives the same map; another one another split.
    assert align_embeddings("fake", pool, vectors).matrix == pytest.approx(aligned.matrix, abs=0)
    assert align_embeddings("fake", pool, vectors, seed=1).summary != aligned.summary


def test_nothing_is_learned_from_noise() -> None:
    aligned = align_embeddings("fake", make_pool(), make_vectors(noise=1.0, has_signal=False))
    assert aligned.summary.measures["RR"].outcome == "not separated"


def test_the_means_are_those_of_ir_measures() -> None:
    """Rankings before and after are computed again here, with maps of the same parts of the queries."""
    import ir_measures
    from ir_measures import RR, Qrel, ScoredDoc, Success

    pool, vectors = make_pool(), make_vectors(noise=3.0)
    generator = np.random.default_rng(0)
    triplets = draw_triplets(pool, generator)
    order = generator.permutation(QUERIES)
    runs: dict[str, list[ScoredDoc]] = {BEFORE: [], AFTER: []}
    for part in range(FOLDS):
        others = np.setdiff1d(order, order[part::FOLDS])
        learned = train_map(vectors, np.concatenate([triplets[query] for query in others]))
        for name, matrix in ((BEFORE, np.eye(SIGNAL + NOISE)), (AFTER, learned)):
            for query in order[part::FOLDS]:
                own = vectors[query * (SNIPPETS + 1) : (query + 1) * (SNIPPETS + 1)] @ matrix.T
                own /= np.linalg.norm(own, axis=1, keepdims=True)
                runs[name] += [
                    ScoredDoc(f"q{query}", f"s{query}.{s}", own[0] @ own[s + 1]) for s in range(SNIPPETS)
                ]
    qrels = [Qrel(*key, grade) for key, grade in pool.grades.items()]
    measures = align_embeddings("fake", pool, vectors).summary.measures
    for name, run in runs.items():
        expected = ir_measures.calc_aggregate([RR, Success @ 4], qrels, run)
        for measure, key in ((RR, "RR"), (Success @ 4, "Success@4")):
            assert getattr(measures[key], name) == pytest.approx(expected[measure], abs=1e-12)


def test_the_margin_is_that_of_the_page() -> None:
    assert MARGIN == 0.2
