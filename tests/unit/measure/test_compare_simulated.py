"""Comparisons on thousands of datasets whose truth is known: which winners are named, how often wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy

from judge.measure.compare import PairComparison, compare_engines
from tests.unit.measure.tables import tabulate_scores

DATASETS = 2000


def simulate_datasets(engines: int, queries: int, ahead: float = 0.0) -> Iterator[tuple[PairComparison, ...]]:
    """P@10 of engines on easy and hard queries; the first is `ahead` of the others, which are alike."""
    rng = np.random.default_rng(21)
    for _ in range(DATASETS):
        easy = rng.beta(1, 1, queries)
        chance = np.stack([np.clip(easy + ahead, 0, 1), *[easy] * (engines - 1)])
        yield compare_engines(tabulate_scores(rng.binomial(10, chance) / 10, measures="P@10"))


@pytest.mark.slow
def test_alike_engines_are_named_in_no_more_than_one_dataset_of_twenty() -> None:
    """Five engines, a hundred queries: ten pairs, any of which would be a false alarm."""
    named = sum(any(pair.outcome == "better" for pair in pairs) for pairs in simulate_datasets(5, 100))
    print(f"datasets with a false alarm: {named / DATASETS:.2%}")
    # Were the rate 5%, more than this would be seen once in a thousand runs.
    assert named <= scipy.stats.binom.ppf(0.999, DATASETS, 0.05)
    assert named >= scipy.stats.binom.ppf(0.001, DATASETS, 0.01)


@pytest.mark.slow
def test_a_difference_that_is_called_detectable_is_found_four_times_out_of_five() -> None:
    """Two engines, a hundred queries, .05 apart: found as often as the power for its size says."""
    result, promised = 0, []
    for (pair,) in simulate_datasets(2, 100, ahead=0.05):
        result += pair.outcome == "better" and pair.a == "a"
        assert pair.detectable is not None
        promised.append(pair.detectable)
    true = float(np.mean(np.clip(np.linspace(0, 1, 100_001) + 0.05, 0, 1)) - 0.5)
    # The power of a z test whose power is .8 at what was called detectable.
    size = true / float(np.mean(promised)) * (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8))
    power = float(scipy.stats.norm.cdf(size - scipy.stats.norm.ppf(0.975)))
    print(f"found: {result / DATASETS:.1%}, promised {power:.1%}")
    assert result / DATASETS == pytest.approx(power, abs=0.04)
