"""Putting an assessor right: by hand, against truescore and scipy, and by what must not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from truescore.compare import ppi_compare
from truescore.correct import ppi_estimate

from judge.errors import InputError
from judge.measure.calibrate import (
    ENOUGH_LABELLED,
    LEAST_LABELLED,
    Corrected,
    calibrate,
    corrected_mean,
    plan,
)
from judge.measure.formulas import Bools, Floats


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def numbers(corrected: Corrected) -> list[float]:
    return [corrected.estimate, corrected.low, corrected.high, corrected.se, corrected.weight, corrected.p]


def graded(n: int, rest: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """P@10 by people and by an assessor that mostly agrees; the human values of the rest are dropped."""
    chance = np.random.default_rng(seed)
    relevant = chance.binomial(10, chance.uniform(0.2, 0.8, n + rest))
    seen = chance.binomial(relevant, 0.9) + chance.binomial(10 - relevant, 0.2)
    return relevant[:n] / 10, seen[:n] / 10, seen[n:] / 10


def test_four_labelled_and_four_others_by_hand() -> None:
    """cov(y, f) = 1/6, var(f) = 15/56, n/N = 1: lambda = 14/45."""
    found = corrected_mean(floats(1, 0, 1, 1), floats(1, 0, 0, 1), floats(1, 1, 0, 1))
    assert found.weight == pytest.approx(14 / 45)
    assert found.estimate == pytest.approx(3 / 4 + 14 / 45 * (3 / 4 - 1 / 2))
    # var(y - lambda f) / 4 + lambda² var(F) / 4
    assert found.se == pytest.approx((4339 / 97200 + 588 / 97200) ** 0.5)
    margin = 3.182446 * found.se  # t, three degrees of freedom
    assert [found.low, found.high] == pytest.approx([found.estimate - margin, found.estimate + margin])
    assert (found.labelled, found.undefined, found.rest, found.filled) == (4, 0, 4, 0)


@pytest.mark.parametrize("n", [20, 50, 200])
def test_truescore_agrees(n: int) -> None:
    """Its covariance divides by n, ours by n - 1: lambdas differ by that ratio, and nothing else does."""
    human, assessor, rest = graded(n, 400)
    everything, labelled = np.concatenate([assessor, rest]), np.arange(n)
    found = corrected_mean(human, assessor, rest)
    theirs = ppi_estimate(everything, human, labelled)
    assert theirs.lambda_ == pytest.approx(found.weight * (n - 1) / n)
    assert theirs.point == pytest.approx(found.estimate, abs=0.003)
    same = ppi_estimate(everything, human, labelled, lambda_=found.weight)
    normal, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, n - 1)
    assert same.point == pytest.approx(found.estimate, abs=1e-12)
    assert (same.high - same.low) / (2 * normal) == pytest.approx(found.se, abs=1e-12)
    assert (found.high - found.low) / (2 * t) == pytest.approx(found.se, abs=1e-12)


def test_truescore_agrees_about_a_difference() -> None:
    (ya, fa, ra), (yb, fb, rb) = graded(100, 400, 1), graded(100, 400, 2)
    found = corrected_mean(ya - yb, fa - fb, ra - rb)
    theirs = ppi_compare(np.concatenate([fa, ra]), np.concatenate([fb, rb]), ya, yb, np.arange(100))
    assert theirs.difference == pytest.approx(found.estimate, abs=0.001)
    assert theirs.p_value == pytest.approx(found.p, abs=0.01)


@pytest.mark.parametrize(
    ("assessor", "rest"),
    [
        (graded(30, 0)[1], floats()),
        (graded(30, 0)[1], floats(0.5)),
        (np.full(30, 0.7), np.full(50, 0.7)),
        (0.1 + 1e-17 * np.arange(30), np.full(50, 0.1)),
    ],
    ids=["no rest", "one other query", "constant assessor", "but for rounding"],
)
def test_without_a_telling_assessor_it_is_the_t_test_on_human_values(assessor: Floats, rest: Floats) -> None:
    human = graded(30, 0)[0] - 0.4
    found = corrected_mean(human, assessor, rest, level=0.9)
    theirs = stats.ttest_1samp(human, 0)
    interval = theirs.confidence_interval(0.9)
    expected = [human.mean(), interval.low, interval.high, stats.sem(human), 0, theirs.pvalue]
    assert numbers(found) == pytest.approx(expected)


def test_an_assessor_that_is_always_right_makes_every_query_a_labelled_one() -> None:
    """The labelled spread as all do here (variance 2), so that lambda is N / (n + N) to the letter."""
    human = floats(-1, 1)
    rest = 1 + floats(-1, 1) * 1.5**0.5
    found = corrected_mean(human, human, rest)
    assert found.weight == pytest.approx(1 / 2)
    assert found.estimate == pytest.approx(np.concatenate([human, rest]).mean())


def test_an_assessor_that_is_always_wrong_is_ignored() -> None:
    human, assessor, rest = graded(50, 100)
    found = corrected_mean(human, 1 - assessor, 1 - rest)
    assert found.weight == 0
    assert found.estimate == pytest.approx(human.mean())


def test_human_values_without_spread_leave_no_doubt() -> None:
    _, assessor, rest = graded(20, 100)
    same = corrected_mean(np.zeros(20), assessor, rest)
    assert numbers(same) == [0, 0, 0, 0, 0, 1]
    ahead = corrected_mean(np.full(20, 0.25), assessor, rest)
    assert numbers(ahead) == [0.25, 0.25, 0.25, 0, 0, 0]


def test_a_difference_of_rounding_errors_is_none() -> None:
    human = np.where(np.arange(20) < 3, 0.0, 0.3 - 0.1 - 0.2)
    assert corrected_mean(human, np.zeros(20), np.zeros(5)).p == 1


@pytest.mark.parametrize(
    ("human", "assessor", "rest", "level"),
    [
        (floats(1, 0), floats(1), floats(1), 0.95),
        (floats(1), floats(1), floats(1), 0.95),
        (np.zeros((2, 2)), np.zeros((2, 2)), floats(1), 0.95),
        (floats(1, 0), floats(1, 0), np.zeros((2, 2)), 0.95),
        (floats(1, np.nan), floats(1, 0), floats(1), 0.95),
        (floats(1, 0), floats(1, np.nan), floats(1), 0.95),
        (floats(1, 0), floats(1, 0), floats(np.inf), 0.95),
        (floats(1, 0), floats(1, 0), floats(1), 1.0),
    ],
)
def test_what_cannot_be_corrected_is_refused(
    human: Floats, assessor: Floats, rest: Floats, level: float
) -> None:
    with pytest.raises(ValueError, match=r"expected|finite|level"):
        corrected_mean(human, assessor, rest, level=level)


values = st.integers(0, 20).map(lambda value: value / 20)


@given(
    labelled=st.lists(st.tuples(values, values), min_size=2, max_size=30),
    rest=st.lists(values, max_size=30),
    shift=st.floats(-100, 100),
)
def test_a_constant_added_by_the_assessor_moves_nothing(
    labelled: Sequence[tuple[float, float]], rest: Sequence[float], shift: float
) -> None:
    human, assessor = np.array(labelled).T
    others = floats(*rest)
    found = corrected_mean(human, assessor, others)
    moved = corrected_mean(human, assessor + shift, others + shift)
    # All but p, which jumps to 1 where rounding errors are all there is.
    assert numbers(moved)[:5] == pytest.approx(numbers(found)[:5], abs=1e-9)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=30), st.lists(values, max_size=30))
def test_the_estimate_moves_no_further_than_the_assessor_says(
    labelled: list[tuple[float, float]], rest: list[float]
) -> None:
    human, assessor = np.array(labelled).T
    others = floats(*rest)
    found = corrected_mean(human, assessor, others)
    said = others.mean() - assessor.mean() if rest else 0.0
    assert 0 <= found.weight <= 1
    assert abs(found.estimate - human.mean()) <= abs(said) + 1e-12


# ---- engines


def engines_world(n: int = 60, rest: int = 200) -> tuple[list[str], Bools, Floats, Floats]:
    """Three engines; the assessor overrates c, which people think the worst."""
    chance = np.random.default_rng(3)
    shape = (3, n + rest)
    likely = np.array([[0.7], [0.6], [0.4]]) + chance.uniform(-0.2, 0.2, n + rest)
    relevant = chance.binomial(10, likely, shape)
    lenience = np.array([[0.1], [0.1], [0.9]])
    seen = chance.binomial(relevant, 0.95) + chance.binomial(10 - relevant, lenience, shape)
    labelled = np.zeros(n + rest, bool)
    labelled[chance.permutation(n + rest)[:n]] = True
    return ["a", "b", "c"], labelled, np.where(labelled, relevant / 10, np.nan), seen / 10


def test_orders_are_confirmed_reversed_or_left_open() -> None:
    found = calibrate(*engines_world())
    assert [engine.engine for engine in found.engines] == ["a", "b", "c"]
    outcomes = {(pair.a, pair.b): pair.outcome for pair in found.pairs}
    assert outcomes == {("a", "b"): "confirmed", ("c", "a"): "reversed", ("c", "b"): "reversed"}
    assert all(pair.assessor > 0 for pair in found.pairs)
    names, labelled, human, assessor = engines_world()
    # People see the engines alike, whatever the assessor says.
    human[:, labelled] = np.random.default_rng(0).permuted(human[:, labelled], axis=0)
    assert {pair.outcome for pair in calibrate(names, labelled, human, assessor).pairs} == {"open"}


@pytest.mark.parametrize(("ahead", "outcome"), [(0.47, "open"), (0.49, "confirmed")])
def test_an_order_is_confirmed_at_the_level_of_five_percent(ahead: float, outcome: str) -> None:
    """Differences of ahead ± 1 on 20 queries: t = ahead · √19, and 2.093 is the quantile."""
    human = np.stack([ahead + np.tile(floats(-1, 1), 10), np.zeros(20)])
    assessor = np.stack([np.ones(20), np.zeros(20)])
    (pair,) = calibrate(["a", "b"], np.ones(20, bool), human, assessor).pairs
    assert pair.outcome == outcome


def test_engines_and_pairs_are_corrected_means() -> None:
    names, labelled, human, assessor = engines_world()
    found = calibrate(names, labelled, human, assessor)
    for at, engine in enumerate(found.engines):
        parts = human[at, labelled], assessor[at, labelled], assessor[at, ~labelled]
        assert numbers(engine.corrected) == pytest.approx(numbers(corrected_mean(*parts)))
        assert engine.assessor == pytest.approx(assessor[at].mean())
        assert engine.assessor_n == 260
    pair = found.pairs[1]
    y, f = human[2] - human[0], assessor[2] - assessor[0]
    expected = corrected_mean(y[labelled], f[labelled], f[~labelled])
    assert numbers(pair.corrected) == pytest.approx(numbers(expected))
    assert pair.assessor == pytest.approx(f.mean())
    assert pair.assessor_n == 260


def test_p_is_adjusted_over_all_pairs() -> None:
    found = calibrate(*engines_world())
    least, middle, most = sorted(found.pairs, key=lambda pair: pair.corrected.p)
    assert least.p_holm == pytest.approx(3 * least.corrected.p)
    assert middle.p_holm == pytest.approx(max(least.p_holm, 2 * middle.corrected.p))
    assert most.p_holm == pytest.approx(max(middle.p_holm, most.corrected.p))


def test_the_order_of_engines_changes_nothing() -> None:
    names, labelled, human, assessor = engines_world()
    human[1, :5] = np.nan
    assessor[2, 3:9] = np.nan
    found = calibrate(names, labelled, human, assessor)
    turned = [2, 0, 1]
    assert calibrate([names[at] for at in turned], labelled, human[turned], assessor[turned]) == found


def test_the_order_of_queries_changes_nothing_but_rounding() -> None:
    names, labelled, human, assessor = engines_world()
    found = calibrate(names, labelled, human, assessor)
    turned = calibrate(names, labelled[::-1], human[:, ::-1], assessor[:, ::-1])
    for one, other in zip(found.pairs, turned.pairs, strict=True):
        assert (one.a, one.b, one.outcome) == (other.a, other.b, other.outcome)
        assert numbers(one.corrected) == pytest.approx(numbers(other.corrected))


def test_a_tie_of_the_assessor_goes_by_name() -> None:
    _, labelled, human, assessor = engines_world()
    # Equal but for rounding: without care the sign of 1e-17 would choose.
    twins = np.stack([assessor[0] + 1e-16 * np.arange(260), assessor[0]])
    (pair,) = calibrate(["y", "x"], labelled, human[:2], twins).pairs
    assert (pair.a, pair.b) == ("x", "y")
    assert pair.outcome == "reversed"
    (pair,) = calibrate(["x", "y"], labelled, human[[0, 0]], assessor[[0, 0]]).pairs
    assert (pair.corrected.estimate, pair.corrected.p, pair.p_holm, pair.outcome) == (0, 1, 1, "open")


def test_one_engine_has_no_pairs() -> None:
    _, labelled, human, assessor = engines_world()
    found = calibrate(["a"], labelled, human[:1], assessor[:1])
    assert (len(found.engines), found.pairs) == (1, ())


# ---- values that are missing


def test_a_query_without_a_value_by_people_weighs_nothing() -> None:
    """With no rest it is the t test on the labelled queries that have a value."""
    human, assessor, _ = graded(40, 0)
    human[::4] = np.nan
    (engine,) = calibrate(["e"], np.ones(40, bool), human[None], assessor[None]).engines
    theirs = stats.ttest_1samp(human[~np.isnan(human)], 0)
    found = engine.corrected
    interval = theirs.confidence_interval(0.95)
    assert [found.estimate, found.low, found.high, found.p] == pytest.approx(
        [np.nanmean(human), interval.low, interval.high, theirs.pvalue]
    )
    assert (found.labelled, found.undefined, found.rest, found.filled) == (30, 10, 0, 0)


def test_the_mean_stands_in_where_the_assessor_has_no_value() -> None:
    names, labelled, human, assessor = engines_world()
    assessor[0, ::7] = np.nan
    gap = np.isnan(assessor[0])
    filled = np.where(gap, np.nanmean(assessor[0]), assessor[0])
    found = calibrate(["a"], labelled, human[:1], assessor[:1]).engines[0]
    whole = calibrate(["a"], labelled, human[:1], filled[None]).engines[0]
    assert numbers(found.corrected) == pytest.approx(numbers(whole.corrected))
    assert (found.corrected.filled, found.assessor_n) == (gap.sum(), 260 - gap.sum())
    assert found.assessor == pytest.approx(np.nanmean(assessor[0]))
    pair = calibrate(names, labelled, human, assessor).pairs[0]
    assert (pair.corrected.filled, pair.assessor_n) == (gap.sum(), 260 - gap.sum())


def test_a_mean_over_some_queries_by_hand() -> None:
    """Half of the labelled queries have a value, so each that has one counts twice.

    Of y = (1, 0, none, none) the errors about the mean are 2 (1/2, -1/2, 0, 0). The assessor's values
    are (1, 0, 0, 0) there and (1, 0, 0, 1) on the rest, about their mean 2 (f - 3/8). Each 20 times over:
    cov = 40/79, var = 150/159, lambda = cov / (2 var).
    """
    human = np.tile(floats(1, 0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan), 20)
    assessor = np.tile(floats(1, 0, 0, 0, 1, 0, 0, 1), 20)
    labelled = np.tile(np.arange(8) < 4, 20)
    found = calibrate(["e"], labelled, human[None], assessor[None]).engines[0].corrected
    weight = (40 / 79) / (2 * 150 / 159)
    assert found.weight == pytest.approx(weight)
    assert found.estimate == pytest.approx(1 / 2 + weight * 2 * (1 / 2 - 1 / 4))
    assert (found.labelled, found.undefined, found.rest, found.filled) == (40, 40, 80, 0)


def test_human_values_of_queries_that_are_not_labelled_are_ignored() -> None:
    names, labelled, human, assessor = engines_world()
    found = calibrate(names, labelled, human, assessor)
    assert calibrate(names, labelled, np.where(labelled, human, 0.9), assessor) == found


def test_too_few_labels_are_refused_with_what_to_do() -> None:
    names, labelled, human, assessor = engines_world(LEAST_LABELLED - 1)
    message = r"^19 of 19 labelled .* engine 'a', .* needs 20: `judge agree RUN --plan 50`"
    with pytest.raises(InputError, match=message):
        calibrate(names, labelled, human, assessor)
    names, labelled, human, assessor = engines_world(30)
    human[0, np.flatnonzero(labelled)[:6]] = np.nan
    human[1, np.flatnonzero(labelled)[6:12]] = np.nan
    with pytest.raises(InputError, match=r"^18 of 30 labelled .* engines 'a' and 'b'"):
        calibrate(names, labelled, human, assessor)


def test_few_labels_are_warned_of() -> None:
    assert calibrate(*engines_world(ENOUGH_LABELLED)).warnings == ()
    (warning,) = calibrate(*engines_world(ENOUGH_LABELLED - 1)).warnings
    assert warning.startswith("49 of 49 labelled queries have a value for engine 'a'; with fewer than 50")


def test_an_assessor_without_any_value_is_refused() -> None:
    names, labelled, human, assessor = engines_world()
    assessor[1] = np.nan
    with pytest.raises(InputError, match="no query has a value by the assessor's grades for engine 'b'"):
        calibrate(names, labelled, human, assessor)


def test_arrays_that_do_not_fit_are_refused() -> None:
    names, labelled, human, assessor = engines_world()
    for wrong in (
        (names[:2], labelled, human, assessor),
        (["a", "a", "c"], labelled, human, assessor),
        ([], labelled, human[:0], assessor[:0]),
        (names, labelled[1:], human, assessor),
        (names, labelled, human[:, 1:], assessor),
        (names, labelled, np.where(labelled, np.inf, human), assessor),
    ):
        with pytest.raises(ValueError, match=r"expected|infinite"):
            calibrate(*wrong)


# ---- the plan

QUERIES = [f"q{number}" for number in range(200)]


def test_a_plan_can_be_extended_and_knows_no_order_of_queries() -> None:
    assert plan(QUERIES, 50)[:20] == plan(QUERIES, 20)
    assert plan(QUERIES[::-1] + QUERIES, 50) == plan(QUERIES, 50)
    assert len(set(plan(QUERIES, 200))) == 200
    assert set(plan(QUERIES, 20)) != set(plan(QUERIES, 20, seed=1))


def test_a_plan_is_the_same_on_every_machine() -> None:
    """The hashes' own order, by sha256sum: what is labelled stays planned after an upgrade."""
    assert plan(["a", "b", "c", "d", "é"], 5) == ("c", "a", "b", "é", "d")


def test_every_query_is_drawn_as_often() -> None:
    drawn = Counter(query for seed in range(2000) for query in plan(QUERIES[:20], 5, seed))
    assert stats.chisquare([drawn[query] for query in QUERIES[:20]]).pvalue > 0.01


@pytest.mark.parametrize("count", [0, -1, 201])
def test_a_plan_of_none_or_more_than_there_are_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"plan of {count} queries .* has 200"):
        plan(QUERIES, count)
