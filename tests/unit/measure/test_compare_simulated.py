"""Comparisons on thousands of datasets whose truth is known: which winners are named, how often wrongly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import scipy

from judge.measure.compare import PairComparison, compare_engines
from tests.unit.measure.missing import Judged, Pair, simulate_engines
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


QUERIES = 150
#: The engines' noise: alike, and with the first about .05 better by nDCG@10 (.050 over 3,000 queries).
ALIKE, BETTER = (1.0, 1.0, 1.0), (0.79, 1.0, 1.0)

#: Which pairs have no grade, chosen with a generator.
Missing = Callable[[Judged, np.random.Generator], set[Pair]]


def leave_out_at_random(share: float) -> Missing:
    """Leave out a share of all pairs."""

    def choose(data: Judged, rng: np.random.Generator) -> set[Pair]:
        pairs = sorted(data.judgments)
        return {pairs[at] for at in rng.choice(len(pairs), round(share * len(pairs)), replace=False)}

    return choose


def leave_out_of_engine(engine: str, share: float, odds: float) -> Missing:
    """Leave out a share of an engine's pairs, relevant ones `odds` times as often as the others."""

    def choose(data: Judged, rng: np.random.Generator) -> set[Pair]:
        pairs = data.list_returned(engine)
        weight = np.array([odds if data.grades[pair] >= 2 else 1.0 for pair in pairs])
        chosen = rng.choice(len(pairs), round(share * len(pairs)), replace=False, p=weight / weight.sum())
        return {pairs[at] for at in chosen}

    return choose


@dataclass(frozen=True)
class Named:
    """In how many of the data sets engines were named: any, the first over the second, one that is worse."""

    datasets: int
    some: int
    first: int
    wrong: int


def count_named(datasets: int, noises: tuple[float, ...], missing: Missing, queries: int = QUERIES) -> Named:
    """Count the data sets in which engines are named better by nDCG@10."""
    some = first = wrong = 0
    for seed in range(datasets):
        data = simulate_engines(queries, noises, seed, variation=0.4)
        scores = data.compute_scores("nDCG@10", missing(data, np.random.default_rng(seed)))
        better = {(pair.a, pair.b) for pair in compare_engines(scores) if pair.outcome == "better"}
        some += bool(better)
        first += ("A", "B") in better
        wrong += any(pair[1] == "A" for pair in better)
    return Named(datasets, some, first, wrong)


@pytest.mark.parametrize(
    ("datasets", "most"), [pytest.param(8, 1, id="8"), pytest.param(40, 4, id="40", marks=pytest.mark.slow)]
)
def test_good_pairs_that_are_unjudged_name_no_other_engine(datasets: int, most: int) -> None:
    """Three engines alike, 5% of B's pairs unjudged, relevant ones nine times as often."""
    assert count_named(datasets, ALIKE, leave_out_of_engine("B", 0.05, 9.0)).some <= most


@pytest.mark.parametrize(
    ("datasets", "queries", "fewer"),
    [pytest.param(10, 120, 2, id="10"), pytest.param(25, QUERIES, 5, id="25", marks=pytest.mark.slow)],
)
def test_a_few_unjudged_pairs_leave_a_difference_to_be_found(datasets: int, queries: int, fewer: int) -> None:
    """A is .05 better: complete and with 1% unjudged it is named about as often."""
    complete, some = (
        count_named(datasets, BETTER, leave_out_at_random(share), queries) for share in (0.0, 0.01)
    )
    assert complete.wrong == some.wrong == 0
    assert some.first >= complete.first - fewer > 0


@pytest.mark.slow
@pytest.mark.parametrize("odds", [1.0, 9.0])
def test_in_many_datasets_few_winners_are_false(odds: float) -> None:
    """As above in 400 data sets; with odds of 9 imputation leaves B's mean about .004 too low."""
    result = count_named(400, ALIKE, leave_out_of_engine("B", 0.05, odds))
    print(f"false winners: {result.some / result.datasets:.1%}")
    assert result.some <= 0.05 * result.datasets


@pytest.mark.slow
def test_power_with_some_pairs_unjudged() -> None:
    """How often the better engine is named over one of the others; it falls with what is unjudged."""
    power = []
    for share in (0.0, 0.01, 0.02, 0.05):
        result = count_named(200, BETTER, leave_out_at_random(share))
        print(f"{share:.0%} unjudged: power {result.first / result.datasets:.0%}, wrong {result.wrong}")
        assert result.wrong == 0
        power.append(result.first / result.datasets)
    assert power[0] > 0.7
    assert min(power[1:3]) > power[0] - 0.1
    assert power[3] > 0.4
