"""Comparing engines: every number of a pair, who is named, and what keeps one from being named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from judge.measure.compare import ALPHA, Comparison, compare
from judge.measure.formulas import Floats
from judge.records import BINARY
from tests.measure.tables import NAN, tabled
from tests.measure.world import World

#: What belongs to a pair whatever the other pairs of its measure are.
_OWN = ("n", "difference", "low", "high", "least", "most", "sd", "effect", "wins", "ties", "losses", "p")


def only(*engines: Any, **options: Any) -> Comparison:
    """The comparison of two engines by one measure."""
    (pair,) = compare(tabled(engines, **options))
    return pair


def normal(seed: int, engines: int, queries: int, ahead: float = 0.0) -> Floats:
    """Scores around one half; each engine is `ahead` of the next."""
    easy = np.random.default_rng(seed).normal(0.5, 0.1, (engines, queries))
    scores: Floats = np.clip(easy - ahead * np.arange(engines)[:, None], 0, 1)
    return scores


# --- the numbers of a pair


def test_a_pair_worked_out_by_hand() -> None:
    """Differences 0 .25 .5 -.25; of the eight signings of .25 .5 .25 six sums are .5 or more away."""
    pair = only([0.5, 0.5, 1, 0], [0.5, 0.25, 0.5, 0.25])
    assert (pair.measure, pair.a, pair.b, pair.n) == ("P@5", "a", "b", 4)
    assert (pair.wins, pair.ties, pair.losses) == (2, 1, 1)
    assert pair.difference == pytest.approx(0.125)
    assert pair.sd == pytest.approx((0.3125 / 3) ** 0.5)
    assert pair.effect == pytest.approx(0.125 / (0.3125 / 3) ** 0.5)
    assert (pair.p, pair.p_holm) == (0.75, 0.75)
    assert (pair.least, pair.most) == (pair.difference, pair.difference)
    assert pair.outcome == "not separated"


@pytest.mark.parametrize("queries", [2, 5, 9, 13])
def test_p_is_scipys_exact_one(queries: int) -> None:
    a, b = normal(queries, 2, queries)

    def mean(x: Floats, y: Floats) -> float:
        return float((x - y).mean())

    theirs = stats.permutation_test((a, b), mean, permutation_type="samples", n_resamples=2**queries)
    assert only(a, b).p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_interval_is_scipys_bca() -> None:
    a, b = normal(3, 2, 40, ahead=0.1)
    theirs = stats.bootstrap((a - b,), np.mean, n_resamples=10_000, rng=np.random.default_rng(0))
    pair = only(a, b)
    assert (pair.low, pair.high) == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_an_engine_that_broke_leaves_only_its_pairs() -> None:
    scores = tabled([[1, 1, 1, 1], [0, 0, NAN, 0], [0.5, NAN, 0.5, 0.5]])
    pairs = {(pair.a, pair.b): pair for pair in compare(scores)}
    assert {key: pair.n for key, pair in pairs.items()} == {("a", "b"): 3, ("a", "c"): 3, ("c", "b"): 2}
    assert pairs["a", "b"].difference == 1.0
    assert pairs["c", "b"].difference == 0.5


def test_repeats_are_averaged_within_a_query_before_anything_else() -> None:
    """Per query a is ahead by .5 and behind by .25; single repeats would give three wins of four."""
    pair = only([[1, 0.5], [0.5, 0.5]], [[0, 0.5], [1, 0.5]])
    assert (pair.n, pair.wins, pair.losses) == (2, 1, 1)
    assert pair.difference == pytest.approx(0.125)
    missing = only([[1, NAN], [0.5, 0.5]], [[0, 0.5], [NAN, NAN]])
    assert (missing.n, missing.difference) == (1, 0.75)


def test_the_first_engine_has_the_higher_mean() -> None:
    low, high = [0.1, 0.2, 0.3], [0.5, 0.2, 0.4]
    for engines in ((low, high), (high, low)):
        pair = only(*engines)
        assert pair.difference == pytest.approx(0.5 / 3)
        assert (pair.wins, pair.ties, pair.losses) == (2, 1, 0)
        assert pair.a == "ab"[engines.index(high)]


def test_the_first_engine_is_so_on_the_queries_that_both_have() -> None:
    """Over all its queries b has the higher mean, for it broke where it is hard."""
    pair = only([0.2, 0.2, 0.2, 0.9], [NAN, NAN, NAN, 0.8])
    assert (pair.a, pair.b, pair.n) == ("a", "b", 1)
    assert pair.difference == pytest.approx(0.1)


def test_of_equal_engines_the_first_by_name_stands_first() -> None:
    """Thirds that add up to one another only on paper."""
    pair = only([1 / 3, 2 / 3, 0.1], [2 / 3, 1 / 3, 0.1])
    assert (pair.a, pair.b) == ("a", "b")
    assert pair.difference == pytest.approx(0, abs=1e-15)


def test_pairs_come_by_the_standing_of_their_engines() -> None:
    pairs = compare(tabled([[0.2, 0.3], [0.9, 0.8], [0.5, 0.5], [NAN, NAN]], engines="wxyz"))
    assert [pair.a + pair.b for pair in pairs[:3]] == ["xy", "xw", "xz"]
    assert [{pair.a, pair.b} for pair in pairs[3:]] == [{"w", "y"}, {"y", "z"}, {"w", "z"}]


# --- many pairs


def test_p_is_adjusted_over_the_pairs_of_one_measure() -> None:
    values = np.stack([normal(1, 4, 12, ahead=0.05), normal(2, 4, 12)], axis=-1)[:, :, None]
    found = compare(tabled(values, measures="P@5 P@10"))
    assert [pair.measure for pair in found] == ["P@5"] * 6 + ["P@10"] * 6
    for six in (found[:6], found[6:]):
        raw = [pair.p for pair in six]
        assert [pair.p_holm for pair in six] == pytest.approx(multipletests(raw, method="holm")[1])


def test_a_pair_without_a_common_query_is_no_member_of_the_family() -> None:
    pairs = compare(
        tabled([[0.9, 0.8, 0.9, 0.7, 0.9, 0.8, NAN], [0.1, 0.3, 0, 0, 0, 0.1, NAN], [NAN] * 6 + [1]])
    )
    met = [pair for pair in pairs if pair.n]
    assert len(met) == 1
    assert met[0].p_holm == met[0].p == 2 / 64
    for pair in pairs:
        if not pair.n:
            numbers = (pair.difference, pair.low, pair.high, pair.least, pair.most, pair.sd, pair.effect)
            assert {*numbers, pair.p, pair.p_holm, pair.detectable, pair.more} == {None}
            assert (pair.wins, pair.ties, pair.losses) == (0, 0, 0)
            assert pair.outcome == "undetermined"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.permutations(range(4)))
def test_a_pair_does_not_depend_on_the_others_or_on_names(seed: int, order: list[int]) -> None:
    values = normal(seed, 4, 15, ahead=0.03)
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = NAN
    turned = compare(tabled(values[order], engines="".join("abcd"[at] for at in order)))
    straight = compare(tabled(values))
    assert {frozenset((p.a, p.b)): p for p in turned} == {frozenset((p.a, p.b)): p for p in straight}
    for pair in straight:
        alone = only(*(values["abcd".index(name)] for name in sorted((pair.a, pair.b))))
        assert [getattr(alone, name) for name in _OWN] == [getattr(pair, name) for name in _OWN]


def test_very_many_engines_can_still_be_told_apart() -> None:
    """528 pairs: the first must have a p below .05 / 528, less than one of 10,000 resamples."""
    steps = np.random.default_rng(9).uniform(0.9, 1.1, (33, 24)).cumsum(0) / 40
    pairs = compare(tabled(steps, engines="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg"))
    assert len(pairs) == 33 * 32 / 2
    assert {pair.outcome for pair in pairs} == {"better"}


# --- which measures, which engines


def test_only_measures_that_engines_can_be_compared_by_are() -> None:
    values = np.broadcast_to(normal(1, 2, 5)[:, :, None, None], (2, 5, 1, 5))
    measures = "AP(own)@5 SetP sDCG@5 Judged@5 RR@5"
    assert [pair.measure for pair in compare(tabled(values, measures=measures))] == ["sDCG@5", "RR@5"]
    assert compare(tabled(values[..., :3], measures="AP(own)@5 SetP Judged@5")) == ()


def test_one_engine_is_compared_with_nobody() -> None:
    assert compare(tabled([[0.5, 0.7]])) == ()


# --- who is named


def test_the_better_engine_is_named_when_chance_is_unlikely() -> None:
    pair = only(*normal(1, 2, 30, ahead=0.15))
    assert (pair.a, pair.outcome, pair.more) == ("a", "better", None)
    assert pair.p_holm is not None
    assert pair.p_holm < ALPHA


def judged_in_part(b: list[int]) -> World:
    """Eight queries: a shows one relevant result and one that nobody graded, b shows grades `b`."""
    queries = [f"q{number}" for number in range(8)]
    return World(
        {
            "a": {query: ["hit", "unknown"] for query in queries},
            "b": {query: ["one", "two"] for query in queries},
        },
        [
            {(query, name): grade for query in queries for name, grade in zip(("one", "two"), b, strict=True)}
            | {(query, "hit"): 1 for query in queries}
            | {(query, "unknown"): None for query in queries}
        ],
        BINARY,
        measures="P@2",
    )


def test_a_difference_that_unjudged_snippets_could_take_away_names_nobody() -> None:
    """By what is judged of it a has 1.0, at the least .5; b has .5."""
    (pair,) = compare(judged_in_part([1, 0]).scores())
    assert (pair.difference, pair.least, pair.most) == (0.5, 0.0, 0.5)
    assert pair.p_holm == 2 / 256
    assert pair.outcome == "undetermined"


def test_a_difference_that_no_grades_could_turn_is_one() -> None:
    (pair,) = compare(judged_in_part([0, 0]).scores())
    assert (pair.difference, pair.least, pair.most) == (1.0, 0.5, 1.0)
    assert pair.outcome == "better"


def test_bounds_that_are_wider_than_chance_leave_no_number_of_queries_to_ask_for() -> None:
    a, b = normal(4, 2, 12)
    narrow = only(a, b, low=[a - 0.01, b - 0.01], high=[a + 0.01, b + 0.01])
    assert narrow.outcome == "not separated"
    assert narrow.more is not None
    assert narrow.most - narrow.least == pytest.approx(0.04)  # type: ignore[operator]
    wide = only(a, b, low=[a - 0.2, b - 0.2], high=[a + 0.2, b + 0.2])
    assert (wide.outcome, wide.more) == ("undetermined", None)


def test_a_difference_that_nothing_unjudged_could_turn_asks_for_more_queries() -> None:
    """The bounds are wider than the interval, but neither end is below 0: chance alone is in the way."""
    b = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    a = b + np.linspace(0.018, 0.022, 5)
    pair = only(a, b, low=[a - 0.005, b - 0.005], high=[a + 0.005, b + 0.005])
    assert [pair.least, pair.most] == pytest.approx([0.01, 0.03])
    assert None not in (pair.low, pair.high)
    assert pair.high - pair.low < 0.02  # type: ignore[operator]
    assert (pair.p, pair.outcome, pair.more) == (2 / 32, "not separated", 1)


def nothing_relevant_known(unknown: int | None) -> World:
    """Eight queries that a wins; thirty where all is worth nothing but b's second result, `unknown`."""
    won, lost = [f"q{number}" for number in range(8)], [f"z{number:02}" for number in range(30)]
    return World(
        {"a": {query: ["a1"] for query in won + lost}, "b": {query: ["b1", "b2"] for query in won + lost}},
        [
            {(query, name): int(name == "a1") for query in won for name in ("a1", "b1", "b2")}
            | {(query, name): 0 for query in lost for name in ("a1", "b1")}
            | {(query, "b2"): unknown for query in lost}
        ],
        BINARY,
        measures="nDCG@2",
    )


def test_queries_that_only_unjudged_snippets_could_make_count_can_take_a_difference_away() -> None:
    (pair,) = compare(nothing_relevant_known(None).scores())
    (truth,) = compare(nothing_relevant_known(1).scores())
    assert (pair.a, pair.n, pair.difference, pair.most, pair.outcome) == ("a", 8, 1, 1, "undetermined")
    assert (truth.a, truth.n, truth.outcome) == ("b", 38, "better")
    assert pair.least == pytest.approx(-(truth.difference or 0))
    (pair,) = compare(nothing_relevant_known(0).scores())
    assert (pair.a, pair.n, pair.least, pair.most, pair.outcome) == ("a", 8, 1, 1, "better")


def test_lists_without_one_grade_widen_the_bounds_and_never_move_the_mean_out() -> None:
    """On the last query a returned something that nobody graded: anything from 0 to 1."""
    pair = only([0.6] * 7 + [NAN], [0.5] * 7 + [1], low=[[0.6] * 7 + [0], [0.5] * 7 + [1]],
                high=[[0.6] * 7 + [1], [0.5] * 7 + [1]])  # fmt: skip
    assert pair.n == 7
    assert pair.difference == pytest.approx(0.1)
    assert pair.least == pytest.approx((0.7 - 1) / 8)
    assert pair.most == pytest.approx(0.1)
    assert pair.outcome == "undetermined"


@pytest.mark.parametrize("seed", range(20))
def test_queries_that_may_count_never_round_the_mean_out_of_its_bounds(seed: int) -> None:
    """Left out, they change no digit of the mean: on them a is further ahead than anywhere else."""
    a, b = normal(seed, 2, 40, ahead=0.1)
    gaps = np.random.default_rng(seed).random(40) < 0.3
    b[gaps] = 0
    pair = only(np.where(gaps, NAN, a), b, low=[np.where(gaps, 0.9, a), b], high=[np.where(gaps, 1, a), b])
    assert (pair.a, pair.n) == ("a", 40 - gaps.sum())
    assert pair.difference is not None
    assert pair.least is not None
    assert pair.least <= pair.difference
    assert pair.least == pytest.approx(pair.difference, abs=1e-12)


# --- what it would take


@pytest.mark.parametrize(("engines", "queries"), [(2, 8), (2, 50), (3, 20), (5, 200)])
def test_the_detectable_difference_is_statsmodels(engines: int, queries: int) -> None:
    pairs = compare(tabled(normal(5, engines, queries)))
    for pair in pairs:
        effect = TTestPower().solve_power(nobs=queries, alpha=ALPHA / len(pairs), power=0.8)
        assert pair.detectable == pytest.approx(effect * pair.sd, rel=1e-6)


def test_more_queries_are_what_the_power_of_a_paired_t_test_asks_for() -> None:
    pair = only(*normal(6, 2, 40, ahead=0.01))
    assert pair.outcome == "not separated"
    assert pair.effect is not None
    assert pair.more is not None

    def power(queries: int) -> float:
        return float(TTestPower().power(abs(pair.effect or 0), queries, ALPHA))

    assert power(pair.more + 40) >= 0.8 > power(pair.more + 39)


@pytest.mark.parametrize("queries", [2, 3, 4, 5])
def test_few_queries_can_not_separate_however_clear_they_are(queries: int) -> None:
    """Of six queries that all point one way two of 64 sign flips are as far: the first p below .05."""
    clear = [0.9 - 0.001 * number for number in range(queries)]
    pair = only(clear, [0.0] * queries)
    assert pair.outcome == "not separated"
    assert pair.more == 6 - queries
    assert only([0.9, 0.8, 0.9, 0.7, 0.8, 0.9], [0.0] * 6).outcome == "better"


def test_more_pairs_ask_for_more_sign_flips() -> None:
    """Ten pairs: 2 / 2^n falls below .005 at n = 9, where all ten pairs are clear."""
    ladder = np.arange(5)[:, None] * 0.2 + np.linspace(0, 0.01, 9) * np.arange(1, 6)[:, None]
    assert {pair.outcome for pair in compare(tabled(ladder))} == {"better"}
    fewer = compare(tabled(ladder[:, :8]))
    assert {pair.outcome for pair in fewer} == {"not separated"}
    assert {pair.more for pair in fewer} == {1}


def test_never_fewer_than_one_more_query_is_asked_for() -> None:
    """Six are enough for a mean of this size; a loss by a hair makes four of 64 sign flips as far."""
    pair = only([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0.001])
    assert (pair.p, pair.outcome, pair.more) == (4 / 64, "not separated", 1)


# --- nothing to tell apart


def test_engines_that_never_differ_are_not_separated_by_any_number_of_queries() -> None:
    pair = only([0.3, 0.7, 0.1], [0.3, 0.7, 0.1])
    assert (pair.difference, pair.low, pair.high, pair.sd, pair.p) == (0, 0, 0, 0, 1)
    assert (pair.effect, pair.detectable, pair.more) == (None, None, None)
    assert (pair.ties, pair.outcome) == (3, "not separated")


@pytest.mark.parametrize("step", [0.25, 0.1])
def test_differences_that_are_all_the_same_have_no_spread(step: float) -> None:
    """.1 is no sum of powers of two: the differences differ in their last digit."""
    high = np.array([0.5, 0.7, 0.9])
    pair = only(high, high - step)
    assert pair.difference == pytest.approx(step)
    assert (pair.sd, pair.effect, pair.detectable) == (0, None, None)
    assert (pair.p, pair.outcome, pair.more) == (0.25, "not separated", 3)
    many = np.linspace(0.5, 1, 30)
    pair = only(many, many - step)
    assert (pair.outcome, pair.sd, pair.detectable) == ("better", 0, 0)


def test_one_query_has_a_difference_and_no_spread() -> None:
    pair = only([0.9], [0.4])
    assert (pair.n, pair.wins, pair.p, pair.outcome) == (1, 1, 1, "not separated")
    assert {pair.sd, pair.low, pair.high, pair.effect, pair.detectable, pair.more} == {None}


def test_engines_that_have_no_value_at_all_are_undetermined() -> None:
    pair = only([NAN, NAN], [NAN, NAN])
    assert (pair.a, pair.b, pair.n, pair.outcome) == ("a", "b", 0, "undetermined")
