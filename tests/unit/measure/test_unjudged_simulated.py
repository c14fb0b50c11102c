"""Which winners are named when some pairs are unjudged, on datasets whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from judge.measure.compare import compare_engines
from tests.unit.measure.missing import Judged, Pair, simulate_engines

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
    [
        pytest.param(10, 120, 2, id="10"),
        pytest.param(25, QUERIES, 5, id="25", marks=pytest.mark.slow),
    ],
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
