"""Labels on drawn pairs: weights, probabilities and draws by hand, no bias, and intervals that hold."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from judge.errors import InputError
from judge.measure import pair_sampling
from judge.measure.measures import parse_measure
from judge.measure.numeric import Floats, Ints
from judge.measure.pair_sampling import LabelledDraw, estimate_difference
from judge.records import BINARY, GRADED
from tests.support.cases import check_each

#: 1 / log2(1 + rank)
DISCOUNTS = np.array([1.0, 0.6309297535714575, 0.5])


@check_each(
    "measure, weights, gains",
    [
        ("P@3", [1 / 3] * 3, [0, 0, 1, 1]),
        ("P(rel=1)@2", [1 / 2] * 2, [0, 1, 1, 1]),
        ("DCG@3", DISCOUNTS, [0, 1, 2, 3]),
        ("DCG(dcg='exp-log2')@3", DISCOUNTS, [0, 1, 3, 7]),
        ("sDCG@3", DISCOUNTS / DISCOUNTS.sum(), [0, 1 / 3, 2 / 3, 1]),
        ("RBP(p=0.5)@3", [1 / 2, 1 / 4, 1 / 8], [0, 0, 1, 1]),
    ],
)
def test_weights_and_gains_make_up_the_measure(
    measure: str, weights: list[float], gains: list[float]
) -> None:
    name = parse_measure(measure)
    assert pair_sampling.compute_rank_weights(name, 10, 10) == pytest.approx(weights)
    assert pair_sampling.compute_rank_weights(name, 10, 1) == pytest.approx(weights[:1])
    assert pair_sampling.compute_unit_gains(name, GRADED) == pytest.approx(gains)


def test_the_weights_of_many_ranks_take_little_memory() -> None:
    tracemalloc.start()
    weights = pair_sampling.compute_rank_weights(parse_measure("P@1000"), 1000, 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert weights.sum() == pytest.approx(1)
    assert peak < 200 * weights.nbytes  # a matrix has 1000 times as many


@check_each("measure", ["nDCG@10", "AP@10", "RR@10", "ERR@10", "R@10", "Success@5", "SetP", "Judged@10"])
def test_a_measure_that_is_no_sum_is_refused(measure: str) -> None:
    with pytest.raises(InputError, match="is not a sum over ranks"):
        pair_sampling.compute_rank_weights(parse_measure(measure), 10, 10)


def test_the_prior_is_the_share_of_relevant_labels_at_each_grade() -> None:
    mean, sd = pair_sampling.predict_gains(np.array([0.0, 1.0]), BINARY.name)
    shares = np.array([621 / 12136, 3546 / 8476, 4167 / 20612])
    assert mean == pytest.approx(shares)
    spread = np.sqrt(shares * (1 - shares))
    assert sd == pytest.approx([max(spread[0], spread[2] / 2), spread[1], spread[2]])


def test_probabilities_are_proportional_to_size_and_at_most_1() -> None:
    # 2 * 6 / 10 is above 1: that unit is certain, and one draw is left for sizes of 4 in all.
    sizes = np.array([6.0, 1.0, 1.0, 2.0])
    assert pair_sampling.compute_inclusion_probabilities(sizes, 2) == pytest.approx([1, 1 / 4, 1 / 4, 1 / 2])
    assert pair_sampling.compute_inclusion_probabilities(sizes, 1) == pytest.approx([0.6, 0.1, 0.1, 0.2])
    assert pair_sampling.compute_inclusion_probabilities(sizes, 4).tolist() == [1, 1, 1, 1]
    assert pair_sampling.compute_inclusion_probabilities(sizes, 9).tolist() == [1, 1, 1, 1]


def test_a_shared_draw_is_uniform_for_a_tenth() -> None:
    weights = np.array([[3.0, 4.0], [0.0, 5.0], [1e-9, 0.0]])
    # 5, 5 and 0 of 10: half of 0.9 each, and a third of 0.1.
    sizes = pair_sampling.compute_sizes(weights, np.ones(3))
    assert sizes == pytest.approx([0.45 + 0.1 / 3, 0.45 + 0.1 / 3, 0.1 / 3])
    assert pair_sampling.compute_sizes(weights[:, :1], np.ones(3)) == pytest.approx([3, 0, 1e-9])


def test_a_draw_has_its_size_and_units_have_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    for size in (rng.exponential(1, 37), np.ones(40), rng.exponential(1, 37) ** 4):
        probability = pair_sampling.compute_inclusion_probabilities(size, 12)
        starts = (np.arange(2000) + 0.5) / 2000
        drawn = np.array([pair_sampling.draw_units(probability, start) for start in starts])
        assert set(drawn.sum(1)) == {12}
        assert drawn.mean(0) == pytest.approx(probability, abs=1 / 1000)


class JudgedDataset:
    """Two lists without a common document on each query, and an assessor that errs in favour of one."""

    def __init__(self, seed: int, queries: int, units: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.queries = queries
        self.query = np.repeat(np.arange(queries), 2 * units)
        sign = np.tile(np.repeat([1.0, -1.0], units), queries)
        self.weight: Floats = sign * np.tile(1 / np.log2(np.arange(units) + 2), 2 * queries)
        ease = np.repeat(rng.normal(0, 0.8, queries), 2 * units)
        self.people: Ints = rng.binomial(3, 1 / (1 + np.exp(-ease - 0.2 * sign)))
        noise = rng.integers(-1, 2, self.people.size) + (sign < 0) * rng.integers(0, 2, self.people.size)
        self.grade: Ints = np.clip(self.people + noise, 0, 3)
        self.truth = float((self.weight * self.people).sum()) / queries

    def label(self, probability: Floats, drawn: Floats, known: Floats | None = None) -> LabelledDraw:
        gain = np.where(drawn > 0, self.people, np.nan) if known is None else known
        return LabelledDraw(
            self.queries,
            self.query,
            self.weight,
            self.grade,
            drawn / probability,
            probability == 1,
            gain,
            3.0,
        )

    def draw(self, count: int, start: float) -> LabelledDraw:
        _, sd = pair_sampling.predict_gains(np.arange(4.0), "graded")
        size = pair_sampling.compute_sizes(self.weight[:, None], sd[self.grade])
        probability = pair_sampling.compute_inclusion_probabilities(size, count)
        return self.label(probability, pair_sampling.draw_units(probability, start).astype(np.float64))


def test_the_estimate_has_no_bias_over_all_draws_of_a_biased_assessor() -> None:
    dataset = JudgedDataset(1, 30)
    _, sd = pair_sampling.predict_gains(np.arange(4.0), "graded")
    size = pair_sampling.compute_sizes(dataset.weight[:, None], sd[dataset.grade])
    ends = np.cumsum(pair_sampling.compute_inclusion_probabilities(size, 60)) % 1
    # Between two of these starts the draw is the same, so these are all draws there are.
    edges = np.unique(np.concatenate([[0.0, 1.0], 1 - ends]))
    result = [estimate_difference(dataset.draw(60, start)) for start in (edges[:-1] + edges[1:]) / 2]
    mean = float(np.average([each.mean for each in result], weights=np.diff(edges)))
    by_assessor = float((dataset.weight * dataset.grade).sum()) / dataset.queries
    assert abs(by_assessor - dataset.truth) > 0.5
    # The fitted gains leave a bias of the order 1 / labels, far below the standard error.
    assert abs(mean - dataset.truth) < 0.1 * np.mean([each.se[0] for each in result])


def test_all_labels_give_the_difference_itself() -> None:
    dataset = JudgedDataset(2, 20)
    result = estimate_difference(dataset.draw(dataset.query.size, 0.5))
    assert result.mean == pytest.approx(dataset.truth)
    by_query = np.bincount(dataset.query, dataset.weight * dataset.people)
    assert result.se[0] == pytest.approx(np.sqrt(np.var(by_query, ddof=1) / 20))
    assert result.df == 19


def test_a_missing_label_is_bounded_by_all_its_grades() -> None:
    dataset = JudgedDataset(3, 20)
    draw = dataset.draw(80, 0.3)
    missing = np.flatnonzero(draw.inverse > 0)[[4, 11]]
    gain = draw.gain.copy()
    gain[missing] = np.nan
    result = estimate_difference(
        LabelledDraw(20, draw.query, draw.weight, draw.group, draw.inverse, draw.certain, gain, 3.0)
    )
    width = (np.abs(draw.weight) * draw.inverse)[missing].sum() * 3.0 / 20
    assert result.bounds[1] - result.bounds[0] == pytest.approx(width)
    assert result.bounds[0] < result.mean < result.bounds[1]
    low, high = result.make_interval(0.95) or (0, 0)
    assert low < result.bounds[0]
    assert high > result.bounds[1]


def test_no_unit_is_no_difference_and_no_label_is_unknown() -> None:
    none, no = np.array([]), np.array([], np.int64)
    result = estimate_difference(LabelledDraw(20, no, none, no, none, none.astype(bool), none, 3.0))
    assert (result.mean, result.bounds, result.test(), result.make_interval(0.95)) == (0, (0, 0), 1.0, None)
    dataset = JudgedDataset(3, 20)
    result = estimate_difference(dataset.label(np.ones(240), np.ones(240), np.full(240, np.nan)))
    assert np.isnan([result.mean, *result.bounds]).all()
    assert (result.test(), result.make_interval(0.95), result.different) == (1.0, None, 0)


def test_queries_count_as_different_where_the_estimate_is_not_0() -> None:
    """Both lists show two results; on the first 2 of 5 labelled queries one gets a label above the others."""
    query, weight = np.repeat(np.arange(5), 2), np.tile([1.0, -1.0], 5)
    gain = np.array([1.0, 0, 0, 1, 1, 1, 0, 0, 1, 1])
    ones = np.ones(10)
    draw = LabelledDraw(6, query, weight, np.zeros(10, np.int64), ones, ones.astype(bool), gain, 1.0)
    assert estimate_difference(draw).different == 2


def test_the_interval_excludes_0_exactly_when_the_test_rejects() -> None:
    for seed in range(60):
        result = estimate_difference(JudgedDataset(seed, 25).draw(70, 0.37))
        low, high = result.make_interval(0.95) or (0, 0)
        assert (low > 0 or high < 0) == (result.test() < 0.05)


def test_intervals_hold_the_difference_over_all_queries() -> None:
    """400 runs of 60 queries from one population; the binomial error is 1.1 points."""
    truth = JudgedDataset(10_000, 20_000).truth
    rng = np.random.default_rng(5)
    covered = 0
    for seed in range(400):
        low, high = estimate_difference(JudgedDataset(seed, 60).draw(100, rng.random())).make_interval(
            0.95
        ) or (0, 0)
        covered += low <= truth <= high
    assert 0.925 <= covered / 400 <= 0.98


def test_the_planned_number_of_labels_is_the_smallest_that_fits() -> None:
    dataset = JudgedDataset(4, 40)
    mean, sd = pair_sampling.predict_gains(np.arange(4.0), "graded")
    size = pair_sampling.compute_sizes(dataset.weight[:, None], sd[dataset.grade])
    predicted, spreads = (dataset.weight * of_grade[dataset.grade] for of_grade in (mean, sd))
    expected = pair_sampling.ExpectedDifference(0.05, dataset.query, 40, predicted, spreads)
    count = expected.count_needed_labels(0.7, size)
    widths = [
        expected.expect_half_width(pair_sampling.compute_inclusion_probabilities(size, each))
        for each in (count - 1, count)
    ]
    assert widths[0] > 0.7 >= widths[1]
    # Without a probability of 1 it is 1.959964 * sqrt(S^2 / n + B^2 / N).
    total, spread = np.bincount(dataset.query, predicted), np.abs(spreads).sum() / 40
    few = pair_sampling.compute_inclusion_probabilities(size, 20)
    by_hand = 1.959964 * np.sqrt(spread**2 / 20 + np.var(total, ddof=1) / 40)
    assert few.max() < 1
    assert expected.expect_half_width(few) == pytest.approx(by_hand)
    # Of 5 engines, each of the 10 pairs has a tenth of the error in one of two looks: 0.25%.
    wider = replace(expected, alpha=0.05 / 10 / 2).expect_half_width(few)
    assert wider == pytest.approx(by_hand * 3.023341 / 1.959964)
    with pytest.raises(InputError, match="needs more queries: with all 480 pairs"):
        expected.count_needed_labels(0.01, size)
