"""Correcting the assessor in datasets whose truth is known: it must come out, and as often as promised."""

from collections.abc import Callable

import numpy as np
import pytest

from judge.measure.formulas import sum_precision
from judge.measure.numeric import Bools, Floats
from judge.measure.ppi import CorrectedDifference, CorrectedEngineMean, correct_engines
from tests.unit.measure.tables import correct_known_mean

#: How often the assessor calls a relevant result relevant, and an irrelevant one irrelevant.
TPR = np.array([0.92, 0.95])
TNR = np.array([0.85, 0.70])
#: P@10 of A and B by people's grades.
TRUTH = np.array([0.597, 0.4994])
QUERIES = 1000

JudgedDataset = tuple[Floats, Floats]


def draw_precision_dataset(chance: np.random.Generator) -> JudgedDataset:
    """(engines, queries) P@10 of A and B by people and by an assessor that is too kind to B."""
    hardness = chance.uniform(-0.3, 0.3, QUERIES)
    likely = TRUTH[:, None] + hardness + chance.uniform(-0.1, 0.1, (2, QUERIES))
    relevant = chance.binomial(10, likely)
    confirmed = chance.binomial(relevant, TPR[:, None])
    invented = chance.binomial(10 - relevant, 1 - TNR[:, None])
    return relevant / 10, (confirmed + invented) / 10


def draw_pooled_ap_dataset(chance: np.random.Generator) -> JudgedDataset:
    """AP@5 of A and B: on every third query the pool holds nothing relevant, and the assessor misses it."""
    hardness = chance.normal(-2.2, 1.3, QUERIES)
    likely = 1 / (1 + np.exp(-np.stack([hardness + 0.4, hardness])))
    relevant = chance.random((2, QUERIES, 5)) < likely[..., None]
    draw = chance.random(relevant.shape)
    seen = np.where(relevant, draw < TPR[:, None, None], draw > TNR[:, None, None])
    return compute_pooled_ap(relevant), compute_pooled_ap(seen)


def compute_pooled_ap(relevant: Bools) -> Floats:
    pool = relevant.sum((0, 2)).astype(np.float64)
    return sum_precision(relevant.astype(np.float64)) / np.where(pool > 0, pool, np.nan)


def label_first(n: int) -> Bools:
    """Labels on the first queries: as good a random sample as any, since queries are drawn at random."""
    return np.arange(QUERIES) < n


def covers_truth(row: CorrectedEngineMean | CorrectedDifference, truth: float) -> bool:
    return row.ci95 is not None and row.ci95[0] <= truth <= row.ci95[1]


@pytest.mark.slow
def test_an_assessor_that_errs_differently_per_engine_is_put_right() -> None:
    datasets = 1000
    fooled = 0
    result = {n: {"confirmed": 0, "reversed": 0, "decided": 0, "open": 0} for n in (50, 100)}
    wrong = dict.fromkeys(result, 0)
    chance = np.random.default_rng(0)
    for _ in range(datasets):
        people, assessor = draw_precision_dataset(chance)
        for n, outcomes in result.items():
            (pair,) = correct_engines(["A", "B"], label_first(n), people, assessor).comparisons
            outcomes[pair.outcome] += 1
            better = pair.a if pair.outcome == "confirmed" else pair.b
            wrong[n] += pair.outcome != "open" and better == "B"
        fooled += pair.a == "B"
    print(f"\nassessor alone prefers B in {fooled} of {datasets} datasets; {result}; wrong winner {wrong}")
    assert fooled > 0.9 * datasets
    for n in result:
        assert wrong[n] <= 0.025 * datasets
    assert result[50]["reversed"] > 0.85 * datasets
    assert result[100]["reversed"] > 0.9 * datasets


def measure_coverage(n: int, datasets: int) -> float:
    """The share of datasets whose interval holds the true difference; the estimate has no bias."""
    chance = np.random.default_rng(n)
    result = []
    for _ in range(datasets):
        people, assessor = draw_precision_dataset(chance)
        y, f = people[0] - people[1], assessor[0] - assessor[1]
        result.append(correct_known_mean(y[:n], f[:n], f[n:]))
    truth = float(TRUTH[0] - TRUTH[1])
    cover = float(np.mean([covers_truth(one, truth) for one in result]))
    bias = float(np.mean([one.corrected for one in result])) - truth
    print(f"\nn={n}: covers {cover:.4f}, bias {bias:+.5f}")
    assert abs(bias) < 0.15 / datasets**0.5
    return cover


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 100])
def test_the_interval_of_a_difference_covers_as_often_as_it_says(n: int) -> None:
    assert 0.942 <= measure_coverage(n, 6000) <= 0.96


def test_the_interval_of_20_labelled_queries_covers_quickly_checked() -> None:
    """Among 1,500 datasets chance moves the share by 0.0056 (one standard deviation)."""
    assert 0.934 <= measure_coverage(20, 1500) <= 0.97


@pytest.mark.slow
def test_the_intervals_of_all_pairs_hold_at_once() -> None:
    """Four engines, skewed AP, 20 labelled queries: one wrong interval is one too many."""
    datasets, engines, queries = 2500, 4, 300
    chance = np.random.default_rng(7)
    shift = np.array([0.6, 0.3, 0.0, 0.0])

    def make_dataset(size: int) -> JudgedDataset:
        hardness = chance.normal(-0.5, 1.0, size)
        likely = 1 / (1 + np.exp(-(hardness + shift[:, None])))
        relevant = chance.random((engines, size, 5)) < likely[..., None]
        seen = np.where(relevant, chance.random(relevant.shape) < 0.9, chance.random(relevant.shape) < 0.2)
        return compute_pooled_ap(relevant), compute_pooled_ap(seen)

    true = np.nanmean(make_dataset(1_000_000)[0], axis=1)
    complete = 0
    for _ in range(datasets):
        people, assessor = make_dataset(queries)
        pairs = correct_engines(list("abcd"), np.arange(queries) < 20, people, assessor).comparisons
        complete += all(
            covers_truth(pair, float(true["abcd".index(pair.a)] - true["abcd".index(pair.b)]))
            for pair in pairs
        )
    print(f"\nall intervals hold in {complete / datasets:.4f}")
    assert 0.94 <= complete / datasets <= 0.985


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised_when_engines_are_equal() -> None:
    datasets = 4000
    chance = np.random.default_rng(1)
    named = 0
    for _ in range(datasets):
        relevant = chance.binomial(10, chance.uniform(0.2, 0.8, QUERIES), (2, QUERIES))
        seen = chance.binomial(relevant, TPR[:, None]) + chance.binomial(10 - relevant, 1 - TNR[:, None])
        (pair,) = correct_engines(["A", "B"], label_first(50), relevant / 10, seen / 10).comparisons
        named += pair.outcome != "open"
    print(f"\na winner among equals: {named / datasets:.4f}")
    assert named <= 0.07 * datasets


def correct_where_both_defined(people: Floats, assessor: Floats, n: int) -> CorrectedEngineMean:
    """The simpler treatment that was not chosen: labelled queries where both have a value."""
    y, f, rest = people[:n], assessor[:n], assessor[n:]
    both = ~np.isnan(y) & ~np.isnan(f)
    return correct_known_mean(y[both], f[both], rest[~np.isnan(rest)])


def correct_as_chosen(people: Floats, assessor: Floats, n: int) -> CorrectedEngineMean:
    return correct_engines(["A"], label_first(n), people[None], assessor[None]).engines["A"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("treatment", "sound"),
    [(correct_as_chosen, True), (correct_where_both_defined, False)],
    ids=["chosen", "both defined"],
)
def test_disagreeing_where_nothing_is_relevant_moves_no_mean(
    treatment: Callable[[Floats, Floats, int], CorrectedEngineMean], sound: bool
) -> None:
    n, datasets = 50, 3000
    chance = np.random.default_rng(2)
    truth = float(np.mean([np.nanmean(draw_pooled_ap_dataset(chance)[0][0]) for _ in range(4000)]))
    result = []
    for _ in range(datasets):
        people, assessor = draw_pooled_ap_dataset(chance)
        result.append(treatment(people[0], assessor[0], n))
    bias = np.mean([one.corrected for one in result]) - truth
    cover = np.mean([covers_truth(one, truth) for one in result])
    width_of = (one.ci95[1] - one.ci95[0] for one in result if one.ci95 is not None)
    width = np.mean(list(width_of))
    print(
        f"\n{treatment.__name__}: truth {truth:.4f}, bias {bias:+.4f}, covers {cover:.4f}, width {width:.4f}"
    )
    assert (abs(bias) < 0.005) == sound
    assert (cover >= 0.93) == sound
