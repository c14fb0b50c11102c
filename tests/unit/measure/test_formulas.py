"""Published and hand-worked numbers. Each list stands alone, so that the pool is the list unless said."""

from collections.abc import Sequence
from math import log

import pytest

from judge.errors import InputError
from judge.measure.formulas import find_largest_value
from judge.measure.measures import parse_measures
from judge.records import BINARY, GRADED, Scale
from tests.unit.measure.judged_dataset import compute_value, compute_values, make_one_list, make_side_by_side


def mark_relevant(ranks: set[int], length: int) -> list[int]:
    return [int(rank in ranks) for rank in range(1, length + 1)]


def test_recall_grows_with_the_cutoff() -> None:
    dataset = make_one_list(
        mark_relevant({2, 4, 5, 7}, 8), " ".join(f"R@{k}" for k in range(1, 9)), scale=BINARY
    )
    assert list(compute_values(dataset).values()) == [0, 0.25, 0.25, 0.5, 0.75, 0.75, 1, 1]


@pytest.mark.parametrize(
    ("ranks", "rr", "ap"),
    [({2, 4, 5, 7}, 1 / 2, 0.5428571429), ({1, 4, 5, 7}, 1, 0.6678571429), ({5, 8}, 1 / 5, 0.225)],
)
def test_reciprocal_rank_and_average_precision(ranks: set[int], rr: float, ap: float) -> None:
    dataset = make_one_list(mark_relevant(ranks, 8), "RR@8 AP@8", scale=BINARY)
    assert list(compute_values(dataset).values()) == pytest.approx([rr, ap], abs=1e-10)


@pytest.mark.parametrize(
    ("grades", "mean"), [([1, 1, 1, 0], 11 / 18), ([1, 1, 0], 0.75), ([1, 0, 0, 1], 0.625), ([0, 0], 0)]
)
def test_granular_rr_averages_over_all_relevant_results(grades: list[int], mean: float) -> None:
    dataset = make_one_list(grades, "RR(granular) RR(granular)@1", scale=BINARY)
    assert list(compute_values(dataset).values()) == pytest.approx([mean, grades[0]])


@pytest.mark.parametrize(
    ("measure", "scale", "largest"),
    [
        ("RBP(p=0.8)@10", GRADED, 1 - 0.8**10),
        # 7 / (8^rank · rank) over all ranks sums up to 7 · log(8 / 7), of which 8e-11 are below rank 10.
        ("ERR@10", GRADED, 7 * log(8 / 7)),
        ("ERR@2", BINARY, 1 / 2 + 1 / 4 / 2),
        ("P@5", BINARY, 1.0),
    ],
)
def test_the_largest_value_is_that_of_a_list_of_the_top_grade(
    measure: str, scale: Scale, largest: float
) -> None:
    (parsed,) = parse_measures((measure,))
    assert find_largest_value(parsed, scale, 20) == pytest.approx(largest, abs=1e-10)
    dataset = make_one_list([scale.top] * 20, measure, scale=scale)
    assert list(compute_values(dataset).values()) == pytest.approx([largest], abs=1e-10)


def test_yes_no_yes_yes_no_yes() -> None:
    dataset = make_one_list([1, 0, 1, 1, 0, 1], "AP(own)@10 AP@10 SetP P@10 P@5", scale=BINARY)
    assert list(compute_values(dataset).values()) == pytest.approx(
        [0.7708333333, 0.7708333333, 4 / 6, 0.4, 0.6]
    )


def test_relevant_results_of_others_lower_pooled_ap_alone() -> None:
    dataset = make_side_by_side({"A": [1, 0, 1, 1, 0, 1], "B": [1, 1]}, "AP@10 AP(own)@10", scale=BINARY)
    assert compute_values(dataset, "A") == pytest.approx({"AP@10": 0.5138888889, "AP(own)@10": 0.7708333333})


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("nDCG(own)@2", 0.4095),
        ("nDCG(own)@8", 0.7237),
        ("nDCG(own,dcg='exp-log2')@2", 0.4805),
        ("nDCG(own,dcg='exp-log2')@8", 0.6494),
    ],
)
def test_ndcg_takes_its_ideal_from_the_whole_list(measure: str, expected: float) -> None:
    scale = Scale("graded", top=7, relevant_from=1)
    assert compute_value(make_one_list([0, 7, 2, 4, 6, 1, 4, 3], measure, scale=scale)) == pytest.approx(
        expected, abs=5e-5
    )


def test_dcg_and_its_ideal_rank_by_rank() -> None:
    grades = [3, 2, 3, 0, 1]
    dcg, ideal = [3, 4.2619, 5.7619, 5.7619, 6.1487], [3, 4.8928, 5.8928, 6.3235, 6.3235]
    ndcg = [1, 0.8710, 0.9778, 0.9112, 0.9724]
    depths = range(1, 6)
    result = compute_values(
        make_one_list(grades, " ".join(f"DCG@{k} nDCG@{k} nDCG(own)@{k}" for k in depths))
    )
    best = compute_values(make_one_list(sorted(grades, reverse=True), " ".join(f"DCG@{k}" for k in depths)))
    assert [result[f"DCG@{k}"] for k in depths] == pytest.approx(dcg, abs=5e-5)
    assert list(best.values()) == pytest.approx(ideal, abs=5e-5)
    assert [result[f"nDCG@{k}"] for k in depths] == pytest.approx(ndcg, abs=5e-5)
    assert [result[f"nDCG(own)@{k}"] for k in depths] == pytest.approx(ndcg, abs=5e-5)


def test_exponential_gain() -> None:
    dataset = make_one_list([3, 2, 3, 0, 1], "DCG(dcg='exp-log2')@5 nDCG(dcg='exp-log2')@5")
    assert list(compute_values(dataset).values()) == pytest.approx([12.7796, 0.9575], abs=5e-5)


def test_two_of_three_expected_results() -> None:
    dataset = make_side_by_side(
        {"engine": [1, 1, 0], "other": [1]}, "Success@3 SetP R@3 AP@3 nDCG@3", scale=BINARY
    )
    assert list(compute_values(dataset).values()) == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3, 0.7653606369])


def test_one_hit_is_a_perfect_order_and_a_poor_list() -> None:
    dataset = make_side_by_side(
        {"engine": [1], "other": [1, 1]}, "nDCG@3 nDCG(own)@3 AP@3 AP(own)@3", scale=BINARY
    )
    assert list(compute_values(dataset).values()) == pytest.approx([0.4692787, 1, 1 / 3, 1])


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        # 3/8 · 1/1, then (1 - 3/8) · 7/8 · 1/2, then (1 - 3/8) · (1 - 7/8) · 1/8 · 1/3
        ([2, 3, 1], 0.375 + 0.625 * 0.875 / 2 + 0.625 * 0.125 * 0.125 / 3),
        ([3, 3], 0.875 + 0.125 * 0.875 / 2),
        ([0, 0], 0.0),
    ],
)
def test_expected_reciprocal_rank(grades: Sequence[int], expected: float) -> None:
    assert compute_value(make_one_list(grades, "ERR@10")) == pytest.approx(expected)


def test_expected_reciprocal_rank_is_scaled_by_the_top_grade() -> None:
    assert compute_value(make_one_list([0, 1], "ERR", scale=BINARY)) == 0.25


def test_rank_biased_precision() -> None:
    dataset = make_one_list([2, 0, 3, 1], "RBP(p=0.8) RBP(p=0.5)@2 RBP(rel=1,p=0.5)")
    assert list(compute_values(dataset).values()) == pytest.approx(
        [0.2 * (1 + 0.64), 0.5, 0.5 * (1 + 0.25 + 0.125)]
    )


def test_scaled_dcg_has_a_fixed_ideal() -> None:
    full = 3 * (1 + 1 / 1.584962500721156 + 1 / 2)
    dataset = make_side_by_side({"engine": [3, 0, 1], "other": [3, 3, 3]}, "sDCG@3")
    assert compute_value(dataset) == pytest.approx(3.5 / full)
    assert compute_value(dataset, "other") == 1
    assert compute_value(make_one_list([1, 1], "sDCG@2", scale=BINARY)) == 1


def test_precision_divides_by_the_cutoff_however_short_the_list() -> None:
    assert compute_value(make_one_list([2, 3], "P@5")) == pytest.approx(0.4)


def test_relevant_is_the_scales_word_unless_rel_says_otherwise() -> None:
    assert compute_values(make_one_list([1, 2, 3], "P@3 P(rel=1)@3 P(rel=3)@3")) == pytest.approx(
        {"P@3": 2 / 3, "P(rel=1)@3": 1, "P(rel=3)@3": 1 / 3}
    )
    with pytest.raises(InputError, match=r"rel=2 is above 1, the top grade \(binary\)"):
        compute_value(make_one_list([1], "P(rel=2)@1", scale=BINARY))


def test_success_and_reciprocal_rank_stop_at_the_cutoff() -> None:
    dataset = make_one_list([0, 0, 2], "Success@2 Success@3 RR@2 RR@3 RR")
    assert list(compute_values(dataset).values()) == pytest.approx([0, 1, 0, 1 / 3, 1 / 3])


def test_judged_divides_by_what_was_returned() -> None:
    dataset = make_one_list([3, None, 0], "Judged@2 Judged@10", scale=GRADED)
    assert list(compute_values(dataset).values()) == pytest.approx([0.5, 2 / 3])
