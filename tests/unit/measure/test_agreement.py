"""An assessor against people: by hand, published examples, other libraries, and where it says nothing."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.measure.agreement import (
    Agreement,
    cohen_kappa,
    collapse_grades,
    count_coincidences,
    count_confusions,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement,
)
from judge.measure.grades_by_pair import PairedGrades
from judge.measure.intervals import StatisticValue
from judge.measure.numeric import Floats, Ints
from judge.records import BINARY, GRADED, Scale
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.tables import make_ints, make_paired_grades

TWO_SIDES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)

#: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", D: four observers, twelve units.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def split_sides(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    people, assessor = np.array(pairs, dtype=np.int64).T
    return people, assessor


def count_confusion(people: Ints, assessor: Ints, levels: int) -> Ints:
    """The table of one query."""
    table: Ints = count_confusions(np.zeros_like(people), people, assessor, levels).sum(0)
    return table


def count_ratings(ratings: Floats, levels: int) -> Ints:
    """(units, levels) of (raters, units), NaN where a rater gave nothing."""
    counts: Ints = np.stack([(ratings == level).sum(0) for level in range(levels)], axis=1)
    return counts


def compute_alpha(counts: Ints) -> float:
    return float(krippendorff_alpha(count_coincidences(counts).sum(0)))


def test_confusion_has_a_row_for_each_grade_of_people() -> None:
    table = count_confusion(make_ints(0, 0, 2, 1), make_ints(0, 2, 2, 2), 3)
    assert table.tolist() == [[1, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_each_query_has_its_table() -> None:
    tables = count_confusions(make_ints(7, 3, 7), make_ints(0, 1, 1), make_ints(1, 1, 1), 2)
    assert tables.tolist() == [[[0, 0], [0, 1]], [[0, 1], [0, 1]]]
    assert count_confusions(make_ints(), make_ints(), make_ints(), 2).shape == (0, 2, 2)
    assert count_confusion(make_ints(), make_ints(), 2).tolist() == [[0, 0], [0, 0]]


def test_each_side_is_collapsed_at_its_own_threshold() -> None:
    table = np.arange(16).reshape(4, 4)
    assert collapse_grades(table, 2, 1).tolist() == [
        [0 + 4, 1 + 2 + 3 + 5 + 6 + 7],
        [8 + 12, 9 + 10 + 11 + 13 + 14 + 15],
    ]
    assert collapse_grades(table, 0, 4).tolist() == [[0, 0], [120, 0]]


def test_cohen_by_hand() -> None:
    """Agreement 0.7; by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5."""
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


@given(TWO_SIDES)
def test_cohen_equals_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    assume(len({grade for pair in pairs for grade in pair}) > 1)
    people, assessor = split_sides(pairs)
    table, labels = count_confusion(people, assessor, 4), range(4)
    for quadratic, weights in ((False, None), (True, "quadratic")):
        expected = cohen_kappa_score(people, assessor, labels=labels, weights=weights)
        assert cohen_kappa(table, quadratic=quadratic) == pytest.approx(expected, abs=1e-12)


@given(TWO_SIDES)
def test_two_raters_coincidences_are_their_confusion_both_ways(pairs: list[tuple[int, int]]) -> None:
    people, assessor = split_sides(pairs)
    table = count_confusion(people, assessor, 4)
    summed = count_coincidences(count_ratings(np.stack([people, assessor]).astype(np.float64), 4)).sum(0)
    assert summed.tolist() == (table + table.T).tolist()


def test_krippendorffs_own_example() -> None:
    rows = [line.replace(".", "nan").split() for line in OBSERVERS.strip().splitlines()]
    result = compute_alpha(count_ratings(np.array(rows, dtype=np.float64) - 1, 5))
    assert result == pytest.approx(0.815, abs=5e-4)
    assert compute_alpha(count_ratings(np.array(rows, dtype=np.float64), 9)) == pytest.approx(result)


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 3, np.nan]), min_size=3, max_size=3), min_size=2, max_size=20)
)
def test_alpha_equals_truescore(units: list[list[float]]) -> None:
    from truescore.agreement import krippendorff_alpha as truescore_alpha

    ratings = np.array(units, dtype=np.float64)
    pairable = ratings[(~np.isnan(ratings)).sum(1) > 1]
    assume(len(pairable) > 1 and len(np.unique(pairable[~np.isnan(pairable)])) > 1)
    counts = count_ratings(ratings.T, 4)
    assert compute_alpha(counts) == pytest.approx(truescore_alpha(pairable.T, level="ordinal"), abs=1e-12)


def test_a_lone_rating_adds_no_coincidence() -> None:
    assert not count_coincidences(np.array([[0, 1, 0], [0, 0, 0]])).any()


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=20))
def test_fleiss_equals_statsmodels(units: list[list[int]]) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

    assume(len({grade for unit in units for grade in unit}) > 1)
    counts = count_ratings(np.array(units, dtype=np.float64).T, 3)
    assert fleiss_kappa(counts) == pytest.approx(statsmodels_fleiss(counts), abs=1e-12)


def test_where_chance_agreement_is_complete_nothing_is_known() -> None:
    always = np.array([[0, 0], [0, 9]])
    nothing = np.zeros((2, 2))
    for table in (always, nothing):
        assert np.isnan(cohen_kappa(table))
        assert np.isnan(cohen_kappa(table, quadratic=True))
        assert np.isnan(krippendorff_alpha(table + table.T))
    assert np.isnan(fleiss_kappa(np.array([[0, 3], [0, 3]])))
    assert np.isnan(fleiss_kappa(np.zeros((0, 2), dtype=np.int64)))


def test_a_constant_side_agrees_by_chance_alone() -> None:
    assert cohen_kappa(np.array([[0, 6], [0, 4]])) == 0
    assert cohen_kappa(np.array([[0, 6], [0, 0]])) == 0


@given(TWO_SIDES, TWO_SIDES)
def test_many_tables_at_once_are_the_same_as_one_by_one(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    tables = np.stack([count_confusion(*split_sides(pairs), 4) for pairs in (first, second)])
    both = tables + np.swapaxes(tables, -2, -1)
    for at, table in enumerate(tables):
        assert np.array_equal(cohen_kappa(tables)[at], cohen_kappa(table), equal_nan=True)
        assert np.array_equal(collapse_grades(tables, 2, 1)[at], collapse_grades(table, 2, 1))
        ordinal = krippendorff_alpha(both.astype(np.float64))[at]
        assert np.array_equal(ordinal, krippendorff_alpha(both[at].astype(np.float64)), equal_nan=True)


def draw_labelled(queries: int = 30, *, per_query: int = 20, seed: int = 0) -> PairedGrades:
    """An assessor that mostly agrees, more on some queries than on others."""
    chance = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), per_query)
    people = chance.integers(0, 4, query.size)
    lenience = np.repeat(chance.integers(-1, 2, queries), per_query)
    slip = np.where(chance.random(query.size) < 0.4, lenience, 0)
    return PairedGrades(query, people, np.clip(people + slip, 0, 3))


def list_estimates(result: Agreement) -> dict[str, StatisticValue]:
    named = {each.name: getattr(result, each.name) for each in fields(result)}
    named |= {f"kappa_at {grade}": one for grade, one in result.kappa_at.items()}
    return {name: one for name, one in named.items() if isinstance(one, StatisticValue)}


@pytest.fixture(scope="module")
def two_queries() -> Agreement:
    """Two queries, eight pairs on four grades."""
    rows = [(0, 0, 0), (0, 0, 1), (0, 1, 2), (0, 2, 2), (1, 2, 0), (1, 3, 3), (1, 3, 2), (1, 0, 0)]
    return measure_agreement(make_paired_grades(*rows), GRADED, GRADED)


def test_pairs_are_counted_by_grade(two_queries: Agreement) -> None:
    assert (two_queries.pairs, two_queries.queries) == (8, 2)
    assert two_queries.confusion == ((2, 1, 0, 0), (0, 0, 1, 0), (1, 0, 1, 0), (0, 0, 1, 1))


def test_shares_and_biases_by_hand(two_queries: Agreement) -> None:
    """4 of 8 grades alike; 6 of 8 on one side; errors +1 +1 -2 -1; 4 relevant for both, 3 in common."""
    assert two_queries.same_grade.value == 0.5
    assert two_queries.same_verdict.value == 0.75
    assert two_queries.bias.value == -1 / 8
    assert two_queries.bias_relevant.value == 0
    assert (two_queries.precision.value, two_queries.recall.value) == (0.75, 0.75)
    assert two_queries.kappa_relevant.value == two_queries.kappa_at["2"].value == pytest.approx(0.5)


def test_equals_scikit_learn_and_truescore() -> None:
    from sklearn.metrics import cohen_kappa_score, precision_score, recall_score
    from truescore.agreement import krippendorff_alpha

    pairs = draw_labelled()
    people, assessor = pairs.people, pairs.assessor
    result = measure_agreement(pairs, GRADED, replace(GRADED, relevant_from=3))
    expected = {
        "kappa": cohen_kappa_score(people, assessor),
        "kappa_quadratic": cohen_kappa_score(people, assessor, weights="quadratic"),
        "alpha": krippendorff_alpha(np.stack([people, assessor]), level="ordinal"),
        "bias": (assessor - people).mean(),
        "kappa_relevant": cohen_kappa_score(people >= 2, assessor >= 3),
        "precision": precision_score(people >= 2, assessor >= 3),
        "recall": recall_score(people >= 2, assessor >= 3),
        **{f"kappa_at {grade}": cohen_kappa_score(people >= grade, assessor >= grade) for grade in (1, 2, 3)},
    }
    values = {name: list_estimates(result)[name].value for name in expected}
    assert values == pytest.approx(expected, abs=1e-12)


def test_every_interval_is_around_its_value() -> None:
    for name, one in list_estimates(measure_agreement(draw_labelled(), GRADED, GRADED)).items():
        assert one.value is not None, name
        assert one.ci95 is not None, name
        assert one.ci95[0] < one.value < one.ci95[1], name
        assert not one.why, name


def test_pairs_of_a_query_are_no_independent_evidence() -> None:
    """The same pairs with every pair a query of its own: an interval that is much too narrow."""
    pairs = draw_labelled(20)
    by_query = measure_agreement(pairs, GRADED, GRADED).bias
    by_pair = measure_agreement(replace(pairs, query=np.arange(pairs.query.size)), GRADED, GRADED).bias
    assert by_query.value == by_pair.value
    assert measure_width(by_query) > 2 * measure_width(by_pair)


def measure_width(one: StatisticValue) -> float:
    assert one.ci95 is not None
    return one.ci95[1] - one.ci95[0]


def test_a_binary_assessor_is_held_to_relevant_or_not() -> None:
    """People's grades 0-3, yes or no of the assessor: yes is relevant whatever people's threshold."""
    from sklearn.metrics import cohen_kappa_score

    pairs = draw_labelled()
    people, assessor = pairs.people, (pairs.assessor >= 1).astype(np.int64)
    result = measure_agreement(replace(pairs, assessor=assessor), GRADED, BINARY)
    for name in ("same_grade", "kappa_quadratic", "alpha", "bias"):
        assert list_estimates(result)[name].value is None
        assert "different scales" in (list_estimates(result)[name].why or "")
    assert len(result.confusion) == 4
    assert all(len(row) == 2 for row in result.confusion)
    assert result.kappa.value == pytest.approx(cohen_kappa_score(people, assessor), abs=1e-12)
    for grade, kappa in result.kappa_at.items():
        assert kappa.value == pytest.approx(cohen_kappa_score(people >= int(grade), assessor), abs=1e-12)
    assert result.kappa_relevant == result.kappa_at["2"]
    assert result.bias_relevant.value == pytest.approx(assessor.mean() - (people >= 2).mean())


def test_complete_chance_agreement_says_why_kappa_is_unknown() -> None:
    result = measure_agreement(make_paired_grades((0, 2, 2), (1, 2, 2), (2, 2, 2)), GRADED, GRADED)
    for one in (
        result.kappa,
        result.kappa_quadratic,
        result.alpha,
        result.kappa_relevant,
        *result.kappa_at.values(),
    ):
        assert (one.value, one.ci95) == (None, None)
        assert "agreement by chance is complete" in (one.why or "")
    assert (result.same_grade.value, result.same_verdict.value, result.bias.value) == (1, 1, 0)


def test_nothing_relevant_leaves_precision_and_recall_unknown() -> None:
    result = measure_agreement(make_paired_grades((0, 0, 0), (1, 1, 0)), GRADED, GRADED)
    assert (result.precision.value, result.precision.why) == (None, "the assessor calls nothing relevant")
    assert (result.recall.value, result.recall.why) == (None, "people call nothing relevant")


def test_one_query_has_values_and_no_intervals() -> None:
    result = measure_agreement(make_paired_grades((5, 0, 1), (5, 3, 3), (5, 1, 1)), GRADED, GRADED)
    assert result.queries == 1
    assert result.kappa.value is not None
    assert result.kappa.ci95 is None
    assert result.kappa.why == "it comes from one query, so there is no interval"


def test_a_share_from_one_of_many_queries_has_no_interval() -> None:
    rows = [(query, 0, 0) for query in range(30)] + [(0, 3, 3), (0, 3, 3), (0, 0, 3)]
    rows += [(query, 0, 0) for query in range(30)] + [(1, 3, 0)]
    result = measure_agreement(make_paired_grades(*rows), GRADED, GRADED)
    assert result.precision == StatisticValue(2 / 3, None, "it comes from one query, so there is no interval")
    assert result.recall.value == 2 / 3
    assert result.recall.ci95 is not None
    assert result.kappa.ci95 is not None


def test_without_a_pair_nothing_is_known() -> None:
    result = measure_agreement(make_paired_grades(), GRADED, BINARY)
    assert (result.pairs, result.queries, result.confusion) == (0, 0, ((0, 0),) * 4)
    assert all(one.value is None and one.why for one in list_estimates(result).values())
    assert "no pair" in (result.kappa.why or "")


@pytest.mark.parametrize(
    ("people", "assessor", "row"),
    [(GRADED, BINARY, (0, 3, 2)), (BINARY, GRADED, (0, 2, 3)), (GRADED, GRADED, (0, -1, 0))],
)
def test_a_grade_off_its_sides_scale_is_refused(
    people: Scale, assessor: Scale, row: tuple[int, int, int]
) -> None:
    with pytest.raises(ValueError, match="not from 0 to"):
        measure_agreement(make_paired_grades(row), people, assessor)


def test_the_order_of_the_pairs_does_not_matter() -> None:
    pairs = draw_labelled()
    turned = np.random.default_rng(1).permutation(pairs.query.size)
    again = PairedGrades(pairs.query[turned], pairs.people[turned], pairs.assessor[turned])
    assert measure_agreement(again, GRADED, GRADED) == measure_agreement(pairs, GRADED, GRADED)


def test_complete_agreement_is_as_sure_as_there_are_queries() -> None:
    """On 10 queries nobody differed; the assessor calls something relevant on 4 of them."""
    rows = [(query, grade, grade) for query in range(10) for grade in ((0, 3) if query < 4 else (0, 1))]
    result = measure_agreement(make_paired_grades(*rows), GRADED, GRADED)
    for one, queries in (
        (result.same_grade, 10), (result.same_verdict, 10), (result.precision, 4), (result.recall, 4)
    ):  # fmt: skip
        assert (one.value, get_high_end(one.ci95)) == (1, 1)
        assert get_low_end(one.ci95) == pytest.approx(0.025 ** (1 / queries))
    assert result.kappa.ci95 == (1, 1)
