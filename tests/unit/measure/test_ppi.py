"""Putting an assessor right: whose order is borne out, what is missing, and what must not matter."""

from collections import Counter

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import InputError
from judge.measure.numeric import Bools, Floats
from judge.measure.ppi import (
    ENOUGH_LABELLED,
    MIN_LABELLED,
    MIN_VALUES,
    compute_two_sided_p,
    correct_engines,
    draw_queries_to_label,
)
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.tables import correct_known_mean, draw_graded, list_numbers, make_floats


def draw_engines(n: int = 60, rest: int = 200) -> tuple[list[str], Bools, Floats, Floats]:
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
    result = correct_engines(*draw_engines())
    assert list(result.engines) == ["a", "b", "c"]
    outcomes = {(pair.a, pair.b): pair.outcome for pair in result.comparisons}
    assert outcomes == {("a", "b"): "confirmed", ("c", "a"): "reversed", ("c", "b"): "reversed"}
    assert all(pair.assessor > 0 for pair in result.comparisons)
    names, labelled, people, assessor = draw_engines()
    # People see the engines alike, whatever the assessor says.
    people[:, labelled] = np.random.default_rng(0).permuted(people[:, labelled], axis=0)
    assert {pair.outcome for pair in correct_engines(names, labelled, people, assessor).comparisons} == {
        "open"
    }


def test_corrected_means_and_intervals_are_cut_at_the_largest_value() -> None:
    """The interval of a is .682 to .739, that of b .598 to .663, and that of a - b .030 to .126."""
    calibration = correct_engines(*draw_engines())
    cut = correct_engines(*draw_engines(), largest=0.6)
    for engine, mean in cut.engines.items():
        before = calibration.engines[engine]
        ends = [min(end, 0.6) for end in (before.corrected, *(before.ci95 or ()))]
        assert [mean.corrected, *(mean.ci95 or ())] == ends
    assert cut.engines["a"].ci95 == (0.6, 0.6)
    assert cut.comparisons == calibration.comparisons
    narrow = correct_engines(*draw_engines(), largest=0.1)
    first, second, _ = (pair.ci95 for pair in narrow.comparisons)
    assert first == pytest.approx((0.0295095, 0.1), abs=1e-7)
    assert second == (-0.1, -0.1)  # c - a is -.359 to -.215


@pytest.mark.parametrize(("ahead", "outcome"), [(0.47, "open"), (0.49, "confirmed")])
def test_an_order_is_confirmed_at_the_level_of_five_percent(ahead: float, outcome: str) -> None:
    """Differences of ahead ± 1 on 20 queries: t = ahead · √19, and 2.093 is the quantile."""
    people = np.stack([ahead + np.tile(make_floats(-1, 1), 10), np.zeros(20)])
    assessor = np.stack([np.ones(20), np.zeros(20)])
    (pair,) = correct_engines(["a", "b"], np.ones(20, bool), people, assessor).comparisons
    assert pair.outcome == outcome


def test_engines_and_pairs_are_corrected_means() -> None:
    names, labelled, people, assessor = draw_engines()
    result = correct_engines(names, labelled, people, assessor)
    for at, engine in enumerate(result.engines.values()):
        parts = people[at, labelled], assessor[at, labelled], assessor[at, ~labelled]
        assert list_numbers(engine) == pytest.approx(list_numbers(correct_known_mean(*parts)))
        assert engine.assessor == pytest.approx(assessor[at].mean())
        assert engine.assessor_n == 260
    pair = result.comparisons[1]
    y, f = people[2] - people[0], assessor[2] - assessor[0]
    # Three pairs: each interval leaves out its difference in a third of 5% of all cases.
    expected = correct_known_mean(y[labelled], f[labelled], f[~labelled], level=1 - 0.05 / 3)
    assert list_numbers(pair) == pytest.approx(list_numbers(expected))
    assert pair.assessor == pytest.approx(f.mean())
    assert pair.assessor_n == 260


def test_p_is_adjusted_over_all_pairs() -> None:
    from statsmodels.stats.multitest import multipletests

    pairs = correct_engines(*draw_engines()).comparisons
    raw = [pair.p for pair in pairs]
    assert [pair.p_adjusted for pair in pairs] == pytest.approx(multipletests(raw, method="bonferroni")[1])


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_a_verdict_is_what_the_interval_shows(seed: int, engines: int) -> None:
    chance = np.random.default_rng(seed)
    shape = engines, 60
    people = chance.binomial(5, chance.uniform(0.3, 0.7, (engines, 1)), shape) / 5
    assessor = np.clip(people + chance.normal(0, 0.2, shape), 0, 1)
    names = [f"e{number}" for number in range(engines)]
    for pair in correct_engines(names, np.arange(60) < 25, people, assessor).comparisons:
        low, high = get_low_end(pair.ci95), get_high_end(pair.ci95)
        assert low is not None
        assert high is not None
        assert pair.p_adjusted is not None
        assert pair.outcome == ("confirmed" if low > 0 else "reversed" if high < 0 else "open")
        assert (pair.p_adjusted < 0.05) == (pair.outcome != "open")


@pytest.mark.parametrize(("different", "outcome"), [(5, "open"), (6, "confirmed")])
def test_two_that_people_tell_apart_on_few_queries_get_no_verdict(different: int, outcome: str) -> None:
    """On 20 labelled queries; by the t test six equal differences give p = 0.010, five p = 0.021."""
    people = np.zeros((2, 40))
    people[0, :different] = 1
    assessor = np.stack([np.ones(40), np.zeros(40)])
    (pair,) = correct_engines(["a", "b"], np.arange(40) < 20, people, assessor).comparisons
    assert (pair.outcome, pair.different) == (outcome, different)
    assert (get_low_end(pair.ci95) is None) == (pair.p_adjusted is None) == (outcome == "open")


def test_the_order_of_engines_changes_nothing() -> None:
    names, labelled, people, assessor = draw_engines()
    people[1, :5] = np.nan
    assessor[2, 3:9] = np.nan
    result = correct_engines(names, labelled, people, assessor)
    turned = [2, 0, 1]
    assert correct_engines([names[at] for at in turned], labelled, people[turned], assessor[turned]) == result


def test_the_order_of_queries_changes_nothing_but_rounding() -> None:
    names, labelled, people, assessor = draw_engines()
    result = correct_engines(names, labelled, people, assessor)
    turned = correct_engines(names, labelled[::-1], people[:, ::-1], assessor[:, ::-1])
    for one, other in zip(result.comparisons, turned.comparisons, strict=True):
        assert (one.a, one.b, one.outcome) == (other.a, other.b, other.outcome)
        assert list_numbers(one) == pytest.approx(list_numbers(other))


@pytest.mark.parametrize("names", [["x", "y"], ["y", "x"]])
def test_where_the_assessor_has_no_order_people_s_labels_decide(names: list[str]) -> None:
    """The first is the better one by people, and whatever it is called, the answer is the same."""
    _, labelled, people, assessor = draw_engines()
    # Equal but for rounding: without care the sign of 1e-17 would choose.
    twins = np.stack([assessor[0] + 1e-16 * np.arange(260), assessor[0]])
    (pair,) = correct_engines(names, labelled, people[:2], twins).comparisons
    assert ((pair.a, pair.b), pair.outcome) == (tuple(names), "decided")
    assert pair.corrected > 0
    assert pair.p_adjusted is not None
    assert pair.p_adjusted < 0.05


def test_a_tie_that_people_s_labels_leave_is_open() -> None:
    _, labelled, people, assessor = draw_engines()
    (pair,) = correct_engines(["y", "x"], labelled, people[[0, 0]], assessor[[0, 0]]).comparisons
    assert ((pair.a, pair.b), pair.outcome) == (("x", "y"), "open")
    assert (pair.corrected, get_low_end(pair.ci95), pair.p_adjusted) == (0, None, None)
    # The second is a little better, for people, than chance alone would make it: still open, and first.
    little = people[0] + np.where(np.arange(260) % 2, 0.11, -0.1)
    for names in (["x", "y"], ["y", "x"]):
        (pair,) = correct_engines(
            names, labelled, np.stack([people[0], little]), assessor[[0, 0]]
        ).comparisons
        assert (pair.b, pair.a, pair.outcome) == (*names, "open")
        assert str(pair.assessor) == "0.0"


def test_one_engine_has_no_pairs() -> None:
    _, labelled, people, assessor = draw_engines()
    result = correct_engines(["a"], labelled, people[:1], assessor[:1])
    assert (len(result.engines), result.comparisons) == (1, ())


# ---- values that are missing


def test_a_query_without_a_value_by_people_weighs_nothing() -> None:
    """With no rest it is the t test on the labelled queries that have a value."""
    people, assessor, _ = draw_graded(40, 0)
    people[::4] = np.nan
    (result,) = correct_engines(["e"], np.ones(40, bool), people[None], assessor[None]).engines.values()
    theirs = scipy.stats.ttest_1samp(people[~np.isnan(people)], 0)
    interval = theirs.confidence_interval(0.95)
    assert [result.corrected, *(result.ci95 or ()), compute_two_sided_p(result)] == pytest.approx(
        [np.nanmean(people), interval.low, interval.high, theirs.pvalue]
    )
    assert (result.labelled, result.undefined, result.rest, result.filled) == (30, 10, 0, 0)


def test_the_mean_stands_in_where_the_assessor_has_no_value() -> None:
    names, labelled, people, assessor = draw_engines()
    assessor[0, ::7] = np.nan
    gap = np.isnan(assessor[0])
    filled = np.where(gap, np.nanmean(assessor[0]), assessor[0])
    result = correct_engines(["a"], labelled, people[:1], assessor[:1]).engines["a"]
    full = correct_engines(["a"], labelled, people[:1], filled[None]).engines["a"]
    assert list_numbers(result) == pytest.approx(list_numbers(full))
    assert (result.filled, result.assessor_n) == (gap.sum(), 260 - gap.sum())
    assert result.assessor == pytest.approx(np.nanmean(assessor[0]))
    pair = correct_engines(names, labelled, people, assessor).comparisons[0]
    assert (pair.filled, pair.assessor_n) == (gap.sum(), 260 - gap.sum())


def test_a_mean_over_some_queries_by_hand() -> None:
    """Half of the labelled queries have a value, so each that has one counts twice.

    Of y = (1, 0, none, none) the errors about the mean are 2 (1/2, -1/2, 0, 0). The assessor's values
    are (1, 0, 0, 0) there and (1, 0, 0, 1) on the rest, about their mean 2 (f - 3/8). Each 20 times over:
    cov = 40/79, var = 150/159, lambda = cov / (2 var).
    """
    people = np.tile(make_floats(1, 0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan), 20)
    assessor = np.tile(make_floats(1, 0, 0, 0, 1, 0, 0, 1), 20)
    labelled = np.tile(np.arange(8) < 4, 20)
    result = correct_engines(["e"], labelled, people[None], assessor[None]).engines["e"]
    weight = (40 / 79) / (2 * 150 / 159)
    assert result.weight == pytest.approx(weight)
    assert result.corrected == pytest.approx(1 / 2 + weight * 2 * (1 / 2 - 1 / 4))
    assert (result.labelled, result.undefined, result.rest, result.filled) == (40, 40, 80, 0)


def test_values_by_people_of_queries_that_are_not_labelled_are_ignored() -> None:
    names, labelled, people, assessor = draw_engines()
    result = correct_engines(names, labelled, people, assessor)
    assert correct_engines(names, labelled, np.where(labelled, people, 0.9), assessor) == result


def test_too_few_labels_are_refused_with_what_to_do() -> None:
    names, labelled, people, assessor = draw_engines(MIN_LABELLED - 1)
    message = "needs 20 wholly labelled queries and has 19; label 1 more: judge agree RUN --plan 20 draws"
    with pytest.raises(InputError, match=message):
        correct_engines(names, labelled, people, assessor)
    names, labelled, people, assessor = draw_engines(24)
    people[0, np.flatnonzero(labelled)[:5]] = np.nan
    people[1, np.flatnonzero(labelled)[5:10]] = np.nan
    message = "^14 of 24 labelled queries have a value for 'a' and 'b' .* needs 15; label at least 1 more"
    with pytest.raises(InputError, match=message):
        correct_engines(names, labelled, people, assessor)


def test_labelled_queries_where_people_find_nothing_relevant_count_as_labelled() -> None:
    names, labelled, people, assessor = draw_engines(20)
    people[:, np.flatnonzero(labelled)[:5]] = np.nan
    result = correct_engines(names, labelled, people, assessor)
    assert {(each.labelled, each.undefined) for each in result.engines.values()} == {(15, 5)}


@pytest.mark.parametrize(
    ("queries", "advice"),
    [
        (20, "judge agree RUN --plan 20 draws 20 queries"),
        (19, "label 1 more: judge more queries; this run has only 19"),
    ],
)
def test_no_more_queries_are_advised_than_there_are(queries: int, advice: str) -> None:
    names, labelled, people, assessor = draw_engines(MIN_LABELLED - 1)
    some = [*np.flatnonzero(labelled), *np.flatnonzero(~labelled)][:queries]
    with pytest.raises(InputError, match=advice):
        correct_engines(names, labelled[some], people[:, some], assessor[:, some])


def test_a_run_with_too_few_queries_is_not_told_to_label_more_than_it_has() -> None:
    names, labelled, people, assessor = draw_engines(MIN_LABELLED - 1)
    some = [*np.flatnonzero(labelled)[:6], *np.flatnonzero(~labelled)[:9]]
    with pytest.raises(InputError, match="judge more queries; this run has only 15"):
        correct_engines(names, labelled[some], people[:, some], assessor[:, some])


def test_few_labels_are_warned_of() -> None:
    assert correct_engines(*draw_engines(ENOUGH_LABELLED)).warnings == ()
    (warning,) = correct_engines(*draw_engines(ENOUGH_LABELLED - 1)).warnings
    assert warning.startswith("only 49 labelled queries have a value for 'a'; with fewer than 50")


def test_an_assessor_without_any_value_is_refused() -> None:
    names, labelled, people, assessor = draw_engines()
    assessor[1] = np.nan
    with pytest.raises(InputError, match="no query has a value by the assessor's grades for 'b'"):
        correct_engines(names, labelled, people, assessor)


# ---- the plan

QUERIES = [f"q{number}" for number in range(200)]


def test_a_plan_can_be_extended_and_knows_no_order_of_queries() -> None:
    assert draw_queries_to_label(QUERIES, 50)[:20] == draw_queries_to_label(QUERIES, 20)
    assert draw_queries_to_label(QUERIES[::-1] + QUERIES, 50) == draw_queries_to_label(QUERIES, 50)
    assert len(set(draw_queries_to_label(QUERIES, 200))) == 200
    assert set(draw_queries_to_label(QUERIES, 20)) != set(draw_queries_to_label(QUERIES, 20, seed=1))


def test_a_plan_is_the_same_on_every_machine() -> None:
    """The hashes' own order, by sha256sum: what is labelled stays planned after an upgrade."""
    assert draw_queries_to_label(["a", "b", "c", "d", "é"], 5) == ("c", "a", "b", "é", "d")


def test_every_query_is_drawn_as_often() -> None:
    drawn = Counter(query for seed in range(2000) for query in draw_queries_to_label(QUERIES[:20], 5, seed))
    assert scipy.stats.chisquare([drawn[query] for query in QUERIES[:20]]).pvalue > 0.01


def test_a_plan_is_enough_where_people_find_nothing_on_some_queries() -> None:
    """By people 8% of 200 queries have nothing relevant; a plan of 20 seldom has fewer than 15 values."""
    chance = np.random.default_rng(0)
    refused = sum(
        int((chance.permutation(200) >= 16)[:MIN_LABELLED].sum()) < MIN_VALUES for _ in range(2_000)
    )
    assert refused < 0.005 * 2_000


def test_a_run_without_a_text_to_label_has_no_plan() -> None:
    with pytest.raises(InputError, match="cannot draw a plan: the run has no query with a text to label"):
        draw_queries_to_label([], 5)


@pytest.mark.parametrize("count", [0, -1, 201])
def test_a_plan_of_none_or_more_than_there_are_is_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"cannot draw a plan of {count} queries: the run has 200"):
        draw_queries_to_label(QUERIES, count)
