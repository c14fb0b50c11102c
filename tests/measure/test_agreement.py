"""An assessor against people: by hand, against scikit-learn and truescore, and where nothing can be said."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score
from truescore.agreement import krippendorff_alpha

from judge.measure.agreement import (
    REFERENCES,
    Agreement,
    Paired,
    agreement,
    engine_bias,
    widest_gap,
)
from judge.measure.estimates import Estimate
from judge.measure.formulas import Ints
from judge.records import BINARY, GRADED, Scale


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def paired(*rows: tuple[int, int, int]) -> Paired:
    """Rows of query, people's grade, assessor's grade."""
    return Paired(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def labelled(queries: int = 30, *, per_query: int = 20, seed: int = 0) -> Paired:
    """An assessor that mostly agrees, more on some queries than on others."""
    chance = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), per_query)
    human = chance.integers(0, 4, query.size)
    lenience = np.repeat(chance.integers(-1, 2, queries), per_query)
    slip = np.where(chance.random(query.size) < 0.4, lenience, 0)
    return Paired(query, human, np.clip(human + slip, 0, 3))


def estimates(found: Agreement) -> dict[str, Estimate]:
    named = {each.name: getattr(found, each.name) for each in fields(found)}
    named |= {f"kappa_at {grade}": one for grade, one in found.kappa_at.items()}
    return {name: one for name, one in named.items() if isinstance(one, Estimate)}


@pytest.fixture(scope="module")
def two() -> Agreement:
    """Two queries, eight pairs on four grades."""
    rows = [(0, 0, 0), (0, 0, 1), (0, 1, 2), (0, 2, 2), (1, 2, 0), (1, 3, 3), (1, 3, 2), (1, 0, 0)]
    return agreement(paired(*rows), GRADED, GRADED)


def test_pairs_are_counted_by_grade(two: Agreement) -> None:
    assert (two.pairs, two.queries) == (8, 2)
    assert two.table == ((2, 1, 0, 0), (0, 0, 1, 0), (1, 0, 1, 0), (0, 0, 1, 1))


def test_shares_and_biases_by_hand(two: Agreement) -> None:
    """4 of 8 grades alike; 6 of 8 on one side; errors +1 +1 -2 -1; 4 relevant for both, 3 in common."""
    assert two.same_grade.value == 0.5
    assert two.same_side.value == 0.75
    assert two.bias.value == -1 / 8
    assert two.bias_relevant.value == 0
    assert (two.precision.value, two.recall.value) == (0.75, 0.75)
    assert two.kappa_relevant.value == two.kappa_at[2].value == pytest.approx(0.5)


def test_equals_scikit_learn_and_truescore() -> None:
    pairs = labelled()
    human, assessor = pairs.human, pairs.assessor
    found = agreement(pairs, GRADED, replace(GRADED, relevant_from=3))
    expected = {
        "kappa": cohen_kappa_score(human, assessor),
        "quadratic": cohen_kappa_score(human, assessor, weights="quadratic"),
        "alpha": krippendorff_alpha(np.stack([human, assessor]), level="ordinal"),
        "bias": (assessor - human).mean(),
        "kappa_relevant": cohen_kappa_score(human >= 2, assessor >= 3),
        "precision": precision_score(human >= 2, assessor >= 3),
        "recall": recall_score(human >= 2, assessor >= 3),
        **{f"kappa_at {grade}": cohen_kappa_score(human >= grade, assessor >= grade) for grade in (1, 2, 3)},
    }
    values = {name: estimates(found)[name].value for name in expected}
    assert values == pytest.approx(expected, abs=1e-12)


def test_every_interval_is_around_its_value() -> None:
    for name, one in estimates(agreement(labelled(), GRADED, GRADED)).items():
        assert one.value is not None, name
        assert one.low is not None, name
        assert one.high is not None, name
        assert one.low < one.value < one.high, name
        assert not one.why, name


def test_pairs_of_a_query_are_no_independent_evidence() -> None:
    """The same pairs with every pair a query of its own: an interval that is much too narrow."""
    pairs = labelled(20)
    by_query = agreement(pairs, GRADED, GRADED).bias
    by_pair = agreement(replace(pairs, query=np.arange(pairs.query.size)), GRADED, GRADED).bias
    assert by_query.value == by_pair.value
    assert width(by_query) > 2 * width(by_pair)


def width(one: Estimate) -> float:
    assert one.high is not None
    assert one.low is not None
    return one.high - one.low


def test_a_binary_assessor_is_held_to_relevant_or_not() -> None:
    """People's grades 0-3, yes or no of the assessor: yes is relevant whatever people's threshold."""
    pairs = labelled()
    human, assessor = pairs.human, (pairs.assessor >= 1).astype(np.int64)
    found = agreement(replace(pairs, assessor=assessor), GRADED, BINARY)
    for name in ("same_grade", "quadratic", "alpha", "bias"):
        assert estimates(found)[name].value is None
        assert "different scales" in estimates(found)[name].why
    assert len(found.table) == 4
    assert all(len(row) == 2 for row in found.table)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(human, assessor), abs=1e-12)
    for grade, kappa in found.kappa_at.items():
        assert kappa.value == pytest.approx(cohen_kappa_score(human >= grade, assessor), abs=1e-12)
    assert found.kappa_relevant == found.kappa_at[2]
    assert found.bias_relevant.value == pytest.approx(assessor.mean() - (human >= 2).mean())


def test_complete_chance_agreement_says_why_kappa_is_unknown() -> None:
    found = agreement(paired((0, 2, 2), (1, 2, 2), (2, 2, 2)), GRADED, GRADED)
    for one in (found.kappa, found.quadratic, found.alpha, found.kappa_relevant, *found.kappa_at.values()):
        assert (one.value, one.low, one.high) == (None, None, None)
        assert "chance agreement is complete" in one.why
    assert (found.same_grade.value, found.same_side.value, found.bias.value) == (1, 1, 0)


def test_nothing_relevant_leaves_precision_and_recall_unknown() -> None:
    found = agreement(paired((0, 0, 0), (1, 1, 0)), GRADED, GRADED)
    assert (found.precision.value, found.precision.why) == (None, "the assessor calls nothing relevant")
    assert (found.recall.value, found.recall.why) == (None, "people call nothing relevant")


def test_one_query_has_values_and_no_intervals() -> None:
    found = agreement(paired((5, 0, 1), (5, 3, 3), (5, 1, 1)), GRADED, GRADED)
    assert found.queries == 1
    assert found.kappa.value is not None
    assert (found.kappa.low, found.kappa.high) == (None, None)
    assert found.kappa.why == "it comes from one query, which gives no range"


def test_without_a_pair_nothing_is_known() -> None:
    found = agreement(paired(), GRADED, BINARY)
    assert (found.pairs, found.queries, found.table) == (0, 0, ((0, 0),) * 4)
    assert all(one.value is None and one.why for one in estimates(found).values())
    assert "no pair" in found.kappa.why


@pytest.mark.parametrize(
    ("people", "assessor", "row"),
    [(GRADED, BINARY, (0, 3, 2)), (BINARY, GRADED, (0, 2, 3)), (GRADED, GRADED, (0, 4, 0))],
)
def test_a_grade_off_its_sides_scale_is_refused(
    people: Scale, assessor: Scale, row: tuple[int, int, int]
) -> None:
    with pytest.raises(ValueError, match="grade"):
        agreement(paired(row), people, assessor)


def test_the_order_of_the_pairs_does_not_matter() -> None:
    pairs = labelled()
    turned = np.random.default_rng(1).permutation(pairs.query.size)
    again = Paired(pairs.query[turned], pairs.human[turned], pairs.assessor[turned])
    assert agreement(again, GRADED, GRADED) == agreement(pairs, GRADED, GRADED)


def test_each_engine_has_its_own_bias() -> None:
    """The assessor gives A half a grade too much, B what people give, C was never labelled."""
    shown = paired((0, 1, 2), (0, 2, 2), (1, 0, 1), (1, 3, 3), (0, 1, 1), (1, 2, 2), (2, 0, 0))
    a, b, c = engine_bias(("A", "B", "C"), ints(0, 0, 0, 0, 1, 1, 1), shown)
    assert (a.engine, a.results, a.queries, a.bias.value) == ("A", 4, 2, 0.5)
    assert (b.engine, b.results, b.queries, b.bias.value) == ("B", 3, 3, 0)
    assert (c.results, c.queries, c.bias.value) == (0, 0, None)
    assert c.bias.why == "none of its results has both grades"


def test_the_widest_gap_is_between_the_most_and_the_least_favoured() -> None:
    chance = np.random.default_rng(0)
    query, engine = np.repeat(np.arange(60), 15), np.tile(np.repeat(np.arange(3), 5), 60)
    human = chance.integers(0, 3, query.size)
    more = chance.random(query.size) < np.array([0.1, 0.7, 0.3])[engine]
    shown = Paired(query, human, human + more)
    biases = engine_bias("ABC", engine, shown)
    gap = widest_gap("ABC", engine, shown)
    assert gap is not None
    assert (gap.favoured, gap.other) == ("B", "A")
    favoured, other = biases[1].bias.value, biases[0].bias.value
    assert favoured is not None
    assert other is not None
    assert gap.difference.value == pytest.approx(favoured - other)
    assert gap.difference.low is not None
    assert 0.4 < gap.difference.low < favoured - other

    alone = engine != 2
    two = widest_gap("AB", engine[alone], Paired(query[alone], human[alone], shown.assessor[alone]))
    assert two is not None
    assert two.difference.value == gap.difference.value
    # With one pair of engines there is no choosing to allow for.
    assert width(two.difference) < width(gap.difference)


def test_equal_biases_are_no_gap() -> None:
    shown = paired((0, 1, 2), (1, 1, 2), (0, 0, 1), (1, 0, 1))
    gap = widest_gap(("B", "A"), ints(0, 0, 1, 1), shown)
    assert gap is not None
    assert (gap.favoured, gap.other) == ("A", "B")
    assert gap.difference == Estimate(0, 0, 0)


def test_a_gap_is_between_two() -> None:
    assert widest_gap(("A", "B"), ints(0, 0), paired((0, 1, 2), (1, 1, 2))) is None
    assert widest_gap((), ints(), paired()) is None


def test_references_are_ranges_with_a_source() -> None:
    for reference in REFERENCES:
        assert 0 < reference.low <= reference.high < 1
        assert "arXiv" in reference.source
