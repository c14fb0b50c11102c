"""Imputed grades against a slow independent calculation, and what they do to means and differences."""

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.measure.arrays import NO_GRADE
from judge.measure.imputation import IMPUTATIONS, compute_grade_probabilities, impute_grades
from judge.measure.numeric import Floats, Ints
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each, count_examples
from tests.unit.measure.missing import Judged, measure_bias, simulate_engines

MEASURES = "nDCG@10 AP@10 P@5 RR@10"
NOISES = (0.6, 0.8, 1.0, 1.2, 1.4)


def draw_pool(seed: int, queries: int, pairs: int, engines: int, top: int = 3) -> tuple[Ints, Ints, Floats]:
    """Return query, grade and discounts of `pairs` pairs, about a quarter without a grade."""
    rng = np.random.default_rng(seed)
    discounts = rng.choice([0, 1, 1 / np.log2(3), 1 / 2], size=(pairs, engines))
    grade = rng.integers(0, top + 1, pairs)
    return rng.integers(0, queries, pairs), np.where(rng.random(pairs) < 0.25, NO_GRADE, grade), discounts


def compute_naive_shares(query: Ints, grade: Ints, discounts: Floats, top: int) -> Floats:
    """Calculate the shares pair by pair, the regression by least squares on added rows."""
    judged = [at for at in range(grade.size) if grade[at] != NO_GRADE]
    overall = sum(int(grade[at]) for at in judged) / len(judged)

    def average_others(at: int, *, without: bool) -> float:
        mine = [int(grade[j]) for j in judged if query[j] == query[at] and not (without and j == at)]
        return (sum(mine) + 0.5 * overall) / (len(mine) + 0.5)

    def list_features(at: int, mean: float) -> list[float]:
        height = float(discounts[at].sum())
        returned = float(np.count_nonzero(discounts[at]))
        return [mean, height * mean, returned, height, height**2, *discounts[at].tolist()]

    rows = np.array([list_features(at, average_others(at, without=True)) for at in judged])
    centre = rows.mean(0)
    penalised = np.vstack([rows - centre, np.sqrt(5) * np.eye(centre.size)])
    targets = np.append(grade[judged] - overall, np.zeros(centre.size))
    slopes = np.linalg.lstsq(penalised, targets, rcond=None)[0]

    def predict(at: int, *, without: bool) -> float:
        row = np.array(list_features(at, average_others(at, without=without)))
        return min(max(float(overall + (row - centre) @ slopes), 0.0), float(top))

    shares = np.zeros((grade.size, top + 1))
    for at in set(range(grade.size)) - set(judged):
        near, far = np.zeros(top + 1), np.zeros(top + 1)
        for j in judged:
            if query[j] == query[at]:
                difference = predict(j, without=False) - predict(at, without=False)
                near[grade[j]] += exp(-0.5 * (difference / (top / 40)) ** 2)
            difference = predict(j, without=True) - predict(at, without=False)
            far[grade[j]] += exp(-0.5 * (difference / (top / 20)) ** 2)
        weights = near + 0.1 * far / far.sum()
        shares[at] = weights / weights.sum()
    return shares


@check_each("seed", range(8))
@check_each("top", [1, 3])
def test_shares_are_those_of_a_slow_calculation(seed: int, top: int) -> None:
    """But for the predictions of pairs of other queries, which are rounded."""
    query, grade, discounts = draw_pool(seed, queries=5, pairs=60, engines=3, top=top)
    shares = compute_grade_probabilities(query, grade, discounts, top)
    expected = compute_naive_shares(query, grade, discounts, top)
    assert np.abs(shares - expected).max() < 0.01
    assert shares[grade == NO_GRADE].sum(1) == pytest.approx(1)


def test_the_donors_of_the_query_outweigh_all_others() -> None:
    """Two of grade 3 in the query, a thousand of grade 0 elsewhere: 2 against at most 0.1."""
    query = np.array([0, 0, 0] + [1] * 1000)
    grade = np.array([NO_GRADE, 3, 3] + [0] * 1000)
    shares = compute_grade_probabilities(query, grade, np.ones((1003, 1)), 3)
    assert shares[0, 3] >= 2 / 2.1
    assert shares[0, 1] == shares[0, 2] == 0


@check_each("donors", [1, 2, 7])
@check_each("grade", range(4))
def test_donors_of_one_grade_give_that_grade(donors: int, grade: int) -> None:
    pairs = [("q", f"d{at}") for at in range(donors + 1)]
    grades = np.array([[NO_GRADE]] + [[grade]] * donors)
    drawn = impute_grades(pairs, grades, np.linspace(0.1, 1, donors + 1)[:, None], 3)
    assert drawn.tolist() == [[grade] * IMPUTATIONS]


def test_a_query_without_a_grade_takes_those_of_others() -> None:
    drawn = impute_grades([("q", "x"), ("r", "y")], np.array([[NO_GRADE], [2]]), np.ones((2, 1)), 3)
    assert drawn.tolist() == [[2] * IMPUTATIONS]


def test_each_repeat_is_imputed_from_its_own_grades() -> None:
    pairs = [("q", "x"), ("q", "y")]
    drawn = impute_grades(pairs, np.array([[NO_GRADE, NO_GRADE], [0, 3]]), np.ones((2, 1)), 3)
    assert drawn.tolist() == [[0] * IMPUTATIONS, [3] * IMPUTATIONS]


def test_repeats_with_equal_grades_have_equal_draws() -> None:
    query, grade, discounts = draw_pool(2, queries=5, pairs=60, engines=3)
    pairs = [(f"q{query}", f"d{at}") for at, query in enumerate(query.tolist())]
    drawn = impute_grades(pairs, np.column_stack([grade, grade]), discounts, 3)
    assert (drawn[::2] == drawn[1::2]).all()
    assert (drawn[::2] == impute_grades(pairs, grade[:, None], discounts, 3)).all()


def test_without_any_grade_all_grades_are_equally_likely() -> None:
    pairs = [("q", f"d{at}") for at in range(50)]
    drawn = impute_grades(pairs, np.full((50, 1), NO_GRADE), np.ones((50, 1)), 3)
    assert {tuple(np.bincount(row, minlength=4).tolist()) for row in drawn} == {(5, 5, 5, 5)}


def test_draws_take_each_grade_as_often_as_its_share() -> None:
    """Of one pair within one draw; over many pairs, within chance."""
    query, grade, discounts = draw_pool(1, queries=40, pairs=4000, engines=4)
    pairs = [(f"q{query}", f"d{at}") for at, query in enumerate(query.tolist())]
    drawn = impute_grades(pairs, grade[:, None], discounts, 3)
    numbered = np.unique([name for name, _ in pairs], return_inverse=True)[1]
    shares = compute_grade_probabilities(numbered, grade, discounts, 3)[grade == NO_GRADE]
    often = np.stack([(drawn == level).mean(1) for level in range(4)], axis=1)
    assert np.abs(often - shares).max() <= 1 / IMPUTATIONS + 1e-9
    assert np.abs(often.mean(0) - shares.mean(0)).max() < 0.003
    # No draw is like another one, and each is as good as all: about 1,000 grades of sd about 1.
    assert np.abs(drawn.mean(0) - drawn.mean()).max() < 4 * drawn.std() / np.sqrt(len(drawn))
    assert np.abs(np.corrcoef(drawn.T) - np.eye(IMPUTATIONS)).max() < 0.5


@settings(max_examples=count_examples(15))
@given(st.integers(0, 10_000))
def test_the_order_of_pairs_engines_and_queries_changes_no_grade(seed: int) -> None:
    query, grade, discounts = draw_pool(seed, queries=3, pairs=30, engines=3)
    pairs = [(f"q{query}", f"d{at}") for at, query in enumerate(query.tolist())]
    rng = np.random.default_rng(seed)
    order = rng.permutation(30)
    drawn = impute_grades(pairs, grade[:, None], discounts, 3)
    again = impute_grades(
        [pairs[at] for at in order], grade[order, None], discounts[order][:, rng.permutation(3)], 3
    )
    missing = np.flatnonzero(grade == NO_GRADE)
    place = {int(at): row for row, at in enumerate(at for at in order if grade[at] == NO_GRADE)}
    assert drawn.tolist() == [again[place[int(at)]].tolist() for at in missing]


def test_unjudged_at_random_moves_no_mean_of_engines_with_short_lists() -> None:
    """5% of the pairs of one engine, each pair once; lists of one result are wholly unjudged then."""
    full = simulate_engines(150, NOISES[::2], 1)
    lists = {
        engine: {
            query: names[: 1 if (at + row) % 4 == 0 else None]
            for at, (query, names) in enumerate(own.items())
        }
        for row, (engine, own) in enumerate(full.lists.items())
    }
    for moved in measure_bias(Judged(lists, full.grades, full.scale), "nDCG@10 AP@10 P@5", 20, 1).values():
        assert abs(moved.mean) < 0.001 + 2 * moved.mean_se
        assert abs(moved.difference) < 0.001 + 2 * moved.difference_se


def test_a_query_without_a_grade_and_an_engine_without_one_have_no_value() -> None:
    full = simulate_engines(20, NOISES[:2], 1)
    unjudged = {*full.list_returned("B"), *(pair for pair in full.list_returned("A") if pair[0] == "q3")}
    value = full.compute_scores("P@5", unjudged).value[..., 0, 0]
    shared = set(full.list_returned("A")) & set(full.list_returned("B"))
    assert shared, "the engines share pairs, so A has no grade for some"
    assert np.isnan(value[1]).all()
    assert np.isnan(value[0]).tolist() == [query == "q3" for query in full.compute_scores("P@5").queries]


def test_unjudged_at_random_moves_no_mean_and_no_difference() -> None:
    """10% of the pairs of one engine, each pair once, over engines: at most .002."""
    result = measure_bias(simulate_engines(150, NOISES[::2], 1), "nDCG@10 AP@10 P@5", 10, 1)
    assert len(result) == 3
    for moved in result.values():
        assert abs(moved.mean) < 0.002
        assert abs(moved.difference) < 0.002


@pytest.mark.slow
@pytest.mark.parametrize("engines", [3, 5])
@pytest.mark.parametrize("scale", [BINARY, GRADED], ids=lambda scale: scale.name)
def test_unjudged_at_random_moves_nothing_in_many_data_sets(engines: int, scale: Scale) -> None:
    """5% of an engine's pairs, over eight data sets, graded and binary: less than .001."""
    noises = NOISES if engines == 5 else NOISES[::2]
    result = [
        measure_bias(simulate_engines(150, noises, seed, scale=scale), MEASURES, 20, seed)
        for seed in range(8)
    ]
    for measure in ("nDCG@10", "AP@10", "P@5", "RR@10"):
        mean, difference = (
            float(np.mean([getattr(each[measure], name) for each in result]))
            for name in ("mean", "difference")
        )
        print(f"{engines} engines, {measure}: mean {mean:+.4f}, difference {difference:+.4f}")
        assert measure == "RR@10" or max(abs(mean), abs(difference)) < 0.001
