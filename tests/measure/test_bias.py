"""Whom an assessor's errors favour: by hand, what chance explains, and what it doesn't."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from judge.measure.agreement import Paired
from judge.measure.bias import ALPHA, engine_bias, widest_gap
from judge.measure.estimates import Estimate
from judge.measure.formulas import Ints


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def paired(*rows: tuple[int, int, int]) -> Paired:
    """Rows of query, people's grade, assessor's grade."""
    return Paired(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


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
    # The interval is that of the two, whoever else there is.
    assert two.difference == gap.difference
    assert two.p_holm is not None
    assert gap.p_holm is not None
    # The least p that ten thousand resamples show, once and for each of three pairs.
    assert two.p_holm == pytest.approx(1 / 10_001)
    assert gap.p_holm == pytest.approx(3 / 10_001)


def test_equal_biases_are_no_gap() -> None:
    shown = paired((0, 1, 2), (1, 1, 2), (0, 0, 1), (1, 0, 1))
    gap = widest_gap(("B", "A"), ints(0, 0, 1, 1), shown)
    assert gap is not None
    assert (gap.favoured, gap.other) == ("A", "B")
    assert gap.difference == Estimate(0, 0, 0)
    assert gap.p_holm == 1


def test_p_is_exact_for_few_queries() -> None:
    """Six queries, on each of which B is favoured: two of the 64 ways to choose signs are as extreme."""
    rows = [(query, 0, grade) for query in range(6) for grade in (0, 1)]
    gap = widest_gap("AB", np.tile(ints(0, 1), 6), paired(*rows))
    assert gap is not None
    assert gap.p_holm == 2 / 64
    seen = np.random.default_rng(0).integers(0, 4, (2, 9))
    rows = [(query, 0, int(grade)) for query in range(9) for grade in seen[:, query]]
    gap = widest_gap("AB", np.tile(ints(0, 1), 9), paired(*rows))
    theirs = stats.permutation_test(
        (seen[0], seen[1]), lambda a, b: (a - b).mean(), permutation_type="samples", n_resamples=2**9
    )
    assert gap is not None
    assert gap.p_holm == pytest.approx(theirs.pvalue)


def test_a_wide_gap_that_may_be_chance_comes_after_one_that_is_none() -> None:
    """C's only result got 3 too many; B's got one too many on each of 20 queries, A's none."""
    rows = [(query, 0, grade) for query in range(20) for grade in (0, 1)]
    engine = np.append(np.tile(ints(0, 1), 20), 2)
    gap = widest_gap("ABC", engine, paired(*rows, (0, 0, 3)))
    assert gap is not None
    assert (gap.favoured, gap.other, gap.difference.value) == ("B", "A", 1)
    assert gap.p_holm is not None
    assert gap.p_holm < ALPHA


def test_two_that_never_met_can_t_be_told_from_chance() -> None:
    gap = widest_gap("AB", ints(0, 1), paired((0, 0, 1), (1, 0, 0)))
    assert gap is not None
    assert (gap.favoured, gap.difference.value, gap.p_holm) == ("A", 1, None)


def test_favoured_by_result_and_not_by_query_is_neither() -> None:
    """On one query B has 40 results with one grade too many, on 19 others one with one too few."""
    rows = [(0, 0, 1)] * 40 + [(query, 1, 0) for query in range(1, 20)]
    both = paired(*rows, *((query, 1, 1) for query in range(20)))
    gap = widest_gap("AB", np.append(np.ones(59, np.int64), np.zeros(20, np.int64)), both)
    assert gap is not None
    assert (gap.favoured, gap.p_holm) == ("B", 1)


def test_one_query_gives_an_engine_no_range_whatever_the_others_have() -> None:
    rows = [(query, 0, query % 2) for query in range(20)]
    a, b = engine_bias("AB", np.append(np.zeros(20, np.int64), 1), paired(*rows, (3, 0, 2)))
    assert a.bias.low is not None
    assert (b.results, b.queries, b.bias.value, b.bias.low) == (1, 1, 2, None)
    assert "one query" in b.bias.why


def test_an_engine_s_range_is_its_own_however_many_there_are() -> None:
    chance = np.random.default_rng(1)
    query, engine = np.repeat(np.arange(30), 6), np.tile(np.repeat(np.arange(3), 2), 30)
    human = chance.integers(0, 3, query.size)
    shown = Paired(query, human, human + chance.integers(0, 2, query.size))
    alone = engine == 1
    (one,) = engine_bias("B", engine[alone] - 1, Paired(query[alone], human[alone], shown.assessor[alone]))
    assert engine_bias("ABC", engine, shown)[1] == one


@pytest.mark.slow
@pytest.mark.parametrize(("engines", "queries", "worlds"), [(2, 20, 1000), (5, 20, 600), (20, 20, 200)])
def test_equal_engines_are_rarely_called_favoured(engines: int, queries: int, worlds: int) -> None:
    """Errors come by the query, so that results of one query are no independent evidence."""
    chance = np.random.default_rng(0)
    names = [f"e{number:02}" for number in range(engines)]
    query = np.repeat(np.arange(queries), engines * 5)
    engine = np.tile(np.repeat(np.arange(engines), 5), queries)
    named = 0
    for _ in range(worlds):
        human = chance.integers(0, 4, query.size)
        kind = np.repeat(chance.random((queries, engines)) < 0.15, 5, axis=1).ravel()
        slip = kind | (chance.random(query.size) < 0.2)
        gap = widest_gap(names, engine, Paired(query, human, np.minimum(3, human + slip)))
        named += gap is not None and gap.p_holm is not None and gap.p_holm < ALPHA
    print(f"\n{engines} equal engines: one is called favoured in {named / worlds:.3f} of the worlds")
    assert named <= 0.065 * worlds


def test_a_gap_is_between_two() -> None:
    assert widest_gap(("A", "B"), ints(0, 0), paired((0, 1, 2), (1, 1, 2))) is None
    assert widest_gap((), ints(), paired()) is None
