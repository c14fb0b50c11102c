"""Stability: what changes when the same pool is judged again, by hand and by published software."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy

from judge.measure.stability import EQUIVALENCE_MARGIN, RepeatStability, measure_stability
from judge.records import BINARY, GRADED, Judgment, Scale
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import make_judgment
from tests.unit.measure.tables import NAN, tabulate_scores

Table = Mapping[tuple[str, str], Sequence[int | None]]


def make_judgments(table: Table) -> list[Judgment]:
    """Every pair's grade in repeat 1, 2, …; None failed."""
    return [
        make_judgment(query, snippet, grade, repeat)
        for (query, snippet), grades in table.items()
        for repeat, grade in enumerate(grades, start=1)
    ]


def measure_table(table: Table, scale: Scale = GRADED, values: Any = None) -> RepeatStability:
    """What is said of `table`; `values` are the scores of the engines, (engines, queries, repeats)."""
    repeats = max(map(len, table.values()))
    result = measure_stability(
        tabulate_scores(np.ones((1, 1, repeats)) if values is None else values), make_judgments(table), scale
    )
    assert result is not None
    return result


def measure_scores(values: Any, measures: str = "P@5") -> Any:
    """What is said of (engines, queries, repeats) scores by their only measure."""
    result = measure_stability(tabulate_scores(values, measures=measures), [], GRADED)
    assert result is not None
    (measure,) = result.measures.values()
    return measure


#: Three repeats. Relevant from 2: the first pair flips in 2 of its 3 pairs of repeats, the second never,
#: the third in 2 of 3, the fourth never, though its grade changes in 2 of 3.
FOUR: Table = {("q1", "a"): [3, 1, 2], ("q1", "b"): [0, 0, 0], ("q2", "c"): [1, 1, 2], ("q2", "d"): [3, 3, 2]}


# --- verdicts


def test_rates_worked_out_by_hand() -> None:
    """Grades of the first pair differ three times, of the third and fourth twice, of twelve."""
    result = measure_table(FOUR)
    assert (result.repeats, result.pairs) == (3, 4)
    assert result.flip_rate.value == pytest.approx(4 / 12)
    assert result.grade_change_rate.value == pytest.approx(7 / 12)
    assert result.ever_flipped.value == pytest.approx(2 / 4)


def test_a_failure_leaves_the_repeats_that_succeeded() -> None:
    """Pair a was judged twice and flips once in one chance, pair b once and so never again."""
    result = measure_table({("q1", "a"): [3, None, 0], ("q1", "b"): [3, None, None], ("q2", "c"): [0, 0, 0]})
    assert result.pairs == 2
    assert result.flip_rate.value == pytest.approx(1 / 4)
    assert result.ever_flipped.value == pytest.approx(1 / 2)


def test_snippets_without_text_are_nobodys_verdict() -> None:
    empty = [replace(make_judgment("q1", "e", 0, repeat), flags=("empty_snippet",)) for repeat in (1, 2, 3)]
    with_them = measure_stability(
        tabulate_scores(np.ones((1, 1, 3))), [*make_judgments(FOUR), *empty], GRADED
    )
    assert with_them == measure_table(FOUR)


def test_a_pair_that_was_asked_again_in_one_repeat_has_the_grade_it_got() -> None:
    again = [*make_judgments(FOUR), make_judgment("q1", "a", None, 1)]
    assert measure_stability(tabulate_scores(np.ones((1, 1, 3))), again, GRADED) == measure_table(FOUR)


def test_one_repeat_says_nothing_of_stability() -> None:
    assert (
        measure_stability(tabulate_scores([[0.5, 0.6]]), make_judgments({("q1", "a"): [3]}), GRADED) is None
    )


def draw_noisy(seed: int, queries: int, scale: Scale, flip: float, missing: float = 0.0) -> Table:
    """Ten pairs a query, three repeats, each of which throws the dice for a share `flip` of the grades."""
    rng = np.random.default_rng(seed)
    table: dict[tuple[str, str], list[int | None]] = {}
    for query in range(queries):
        for pair in range(10):
            true = int(rng.integers(0, scale.top + 1))
            grades = np.where(rng.random(3) < flip, rng.integers(0, scale.top + 1, 3), true)
            failed = rng.random(3) < missing
            table[f"q{query}", f"s{pair}"] = [
                None if gone else int(grade) for grade, gone in zip(grades, failed, strict=True)
            ]
    return table


@pytest.mark.parametrize("scale", [GRADED, BINARY], ids=["graded", "binary"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_alpha_is_truescores(scale: Scale, missing: float) -> None:
    import truescore

    table = draw_noisy(1, 8, scale, 0.3, missing)
    rows = [[np.nan if grade is None else grade for grade in grades] for grades in table.values()]
    result = measure_table(table, scale)
    theirs = truescore.krippendorff_alpha(np.array(rows, dtype=float).T, level="ordinal")
    assert result.alpha.value == pytest.approx(float(getattr(theirs, "alpha", theirs)), abs=1e-12)
    value, (low, high) = result.alpha.value, result.alpha.ci95 or (None, None)
    assert low is not None
    assert value is not None
    assert high is not None
    assert low < value < high


def test_fleiss_is_statsmodels_over_the_pairs_that_every_repeat_judged() -> None:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    table = draw_noisy(2, 8, BINARY, 0.3, missing=0.1)
    complete = [grades for grades in table.values() if None not in grades]
    assert len(complete) < len(table)
    theirs = fleiss_kappa(aggregate_raters(np.array(complete))[0])
    assert measure_table(table, BINARY).fleiss_kappa == pytest.approx(theirs, abs=1e-12)


def test_fleiss_is_for_yes_and_no() -> None:
    assert measure_table(FOUR).fleiss_kappa is None


def test_the_flip_rate_surrounds_itself_and_counts_queries_not_pairs() -> None:
    """All ten pairs of a query flip together or not at all: the interval is that of eight queries."""
    rows = {(f"q{q}", f"s{s}"): ([3, 0] if q < 2 else [3, 3]) for q in range(8) for s in range(10)}
    result = measure_table(rows)
    assert result.flip_rate.value == 0.25
    assert result.flip_rate.ci95 is not None
    assert result.flip_rate.ci95[0] <= 0.0 + 1e-9
    assert result.flip_rate.ci95[1] >= 0.5


# --- nothing flips, nothing varies, nothing is there


@pytest.mark.parametrize("queries", [2, 20, 300])
def test_no_flip_at_all_still_leaves_some_possible(queries: int) -> None:
    """The exact bound of Clopper and Pearson for no success in `queries`."""
    result = measure_table({(f"q{number}", snippet): [3, 3] for number in range(queries) for snippet in "ab"})
    exact = scipy.stats.binomtest(0, queries).proportion_ci(0.95, method="exact").high
    for estimate in (result.flip_rate, result.grade_change_rate, result.ever_flipped):
        assert (estimate.value, get_low_end(estimate.ci95)) == (0, 0)
        assert get_high_end(estimate.ci95) == pytest.approx(1 - 0.025 ** (1 / queries))
        assert get_high_end(estimate.ci95) == pytest.approx(exact)


def test_queries_whose_pairs_were_never_judged_twice_are_none() -> None:
    """Whatever they are called: a query that isn't there can't be drawn."""
    table = draw_noisy(3, 6, GRADED, 0.4)
    expected = measure_table(table)
    for name in ("a", "q2b", "z"):
        assert measure_table({**table, (name, "s"): [3, None, None]}) == expected


def test_alpha_of_grades_that_are_all_the_same_is_undefined_and_says_why() -> None:
    result = measure_table({("q1", "a"): [2, 2], ("q2", "b"): [2, 2]}, values=np.ones((2, 2, 2)))
    assert result.alpha.value is None
    assert "all grades are the same" in (result.alpha.why or "")
    assert result.flip_rate.value == 0
    assert measure_table({("q1", "a"): [1, 1], ("q2", "b"): [1, 1]}, BINARY).fleiss_kappa is None


def test_one_query_has_rates_without_an_interval() -> None:
    result = measure_table({("q1", "a"): [3, 0], ("q1", "b"): [3, 3]})
    assert (result.flip_rate.value, result.flip_rate.ci95) == (0.5, None)
    assert "one query" in (result.flip_rate.why or "")


def test_nothing_judged_twice_is_unknown_and_says_why() -> None:
    result = measure_table({("q1", "a"): [0, None], ("q2", "b"): [None, 1]}, BINARY)
    assert result.pairs == 0
    for estimate in (result.flip_rate, result.grade_change_rate, result.ever_flipped):
        assert (estimate.value, estimate.why) == (None, "no pair was judged twice")
    assert result.alpha.value is None
    assert result.fleiss_kappa is None


def test_the_order_of_judgments_changes_nothing() -> None:
    table = draw_noisy(4, 6, GRADED, 0.3, missing=0.1)
    scores, given = tabulate_scores(np.ones((1, 1, 3))), make_judgments(table)
    turned = [given[at] for at in np.random.default_rng(5).permutation(len(given))]
    assert measure_stability(scores, turned, GRADED) == measure_stability(scores, given, GRADED)


# --- scores


def draw_scores(
    seed: int, queries: int, noise: float, engines: int = 2, repeats: int = 3
) -> np.ndarray[Any, Any]:
    """Engines of different strength whose values on a query waver from repeat to repeat."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0.5, 0.2, (engines, queries, 1)) + 0.1 * np.arange(engines)[:, None, None]
    return true + rng.normal(0, noise, (engines, queries, repeats))


def test_means_and_their_differences_by_hand() -> None:
    result = measure_scores([[[0.2, 0.4], [0.4, 0.4]], [[0.5, 0.5], [0.1, 0.3]]])
    first, second = result.engines.values()
    assert first.means == pytest.approx((0.3, 0.4))
    assert second.means == pytest.approx((0.3, 0.4))
    assert first.mean == pytest.approx(0.35)
    assert first.sd == pytest.approx(0.1 / 2**0.5)
    assert first.range == pytest.approx(0.1)
    assert result.largest_difference == pytest.approx(0.1)


def test_equivalence_is_statsmodels_tost_the_worst_of_all_pairs_of_repeats() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    values = draw_scores(1, 200, 0.05)
    result = measure_scores(values)
    for row, engine in enumerate(result.engines.values()):
        theirs = max(
            ttost_paired(values[row, :, one], values[row, :, two], -EQUIVALENCE_MARGIN, EQUIVALENCE_MARGIN)[0]
            for one, two in combinations(range(3), 2)
        )
        assert engine.tost_p == pytest.approx(theirs, abs=1e-12)
    assert result.tost_p == max(engine.tost_p for engine in result.engines.values())


def test_little_noise_over_many_queries_is_equivalent_and_much_is_not_shown_to_be() -> None:
    assert measure_scores(draw_scores(2, 500, 0.02)).equivalent is True
    assert measure_scores(draw_scores(2, 500, 0.3)).equivalent is False
    assert measure_scores(draw_scores(2, 1, 0.02)).equivalent is None


def test_repeats_that_are_a_margin_apart_are_not_the_same() -> None:
    """Without any noise: .009 lies inside the margin, .011 outside."""
    for distance, same in ((0.009, True), (0.011, False)):
        values = np.full((1, 30, 2), 0.5)
        values[:, :, 1] += distance
        assert measure_scores(values).equivalent is same


def test_the_icc_is_worked_out_from_an_analysis_of_variance() -> None:
    """The table of Shrout and Fleiss (1979): four judges rate six targets, ICC(2,1) = .29."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    (engine,) = measure_scores([ratings]).engines.values()
    assert engine.icc == pytest.approx(0.2898, abs=5e-5)


def test_the_smallest_tau_is_of_the_two_repeats_that_differ_most() -> None:
    """Repeat 3 turns one of three pairs round against repeat 1, repeat 2 none."""
    means = np.array([[0.1, 0.2, 0.1], [0.2, 0.3, 0.4], [0.3, 0.4, 0.3]])
    result = measure_scores(np.repeat(means[:, None, :], 2, axis=1))
    theirs = scipy.stats.kendalltau(means[:, 0], means[:, 2]).statistic
    assert result.smallest_tau == pytest.approx(theirs)
    assert result.smallest_tau == pytest.approx(1 / 3)
    assert measure_scores(draw_scores(1, 5, 0.1, engines=1)).smallest_tau is None


def test_an_engine_that_broke_in_part_keeps_what_it_has() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    values = draw_scores(3, 20, 0.05, engines=3)
    values[0] = NAN
    values[1, :5, 2] = NAN
    result = measure_scores(values)
    assert result.engines["a"].means == (None, None, None)
    assert (result.engines["a"].mean, result.engines["a"].sd, result.engines["a"].tost_p) == (
        None,
        None,
        None,
    )
    assert result.engines["b"].means[2] == pytest.approx(values[1, 5:, 2].mean())
    # The five queries without a value in the third repeat add to its mean what lies at the mean, and the
    # others their distance from it times 20 / 15.
    third = values[1, :, 2]
    mean = third[5:].mean()
    spread_out = np.where(np.isnan(third), mean, mean + (third - mean) * 20 / 15)
    columns = [values[1, :, 0], values[1, :, 1], spread_out]
    assert result.engines["b"].tost_p == pytest.approx(
        max(
            ttost_paired(one, two, -EQUIVALENCE_MARGIN, EQUIVALENCE_MARGIN)[0]
            for one, two in combinations(columns, 2)
        ),
        abs=1e-12,
    )
    assert result.smallest_tau is not None
    assert result.variance is None


def test_means_that_move_because_queries_come_and_go_are_not_the_same() -> None:
    """Repeat 2 finds something relevant on 30 queries more, on which A shows nothing of it."""
    values = np.full((1, 60, 2), NAN)
    values[0, :30] = 1.0
    values[0, 30:, 1] = 0.0
    result = measure_scores(values)
    assert result.engines["a"].means == (1.0, 0.5)
    assert result.largest_difference == 0.5
    assert result.tost_p == pytest.approx(1.0)
    assert result.equivalent is False


def test_a_repeat_without_values_leaves_open_whether_the_means_are_the_same() -> None:
    values = draw_scores(3, 20, 0.0, engines=2)
    values[1, :, 2] = NAN
    result = measure_scores(values)
    assert (result.engines["b"].tost_p, result.equivalent, result.smallest_tau) == (None, None, None)


def test_every_measure_is_looked_at() -> None:
    values = np.stack([draw_scores(4, 6, 0.1), draw_scores(5, 6, 0.2)], axis=-1)
    result = measure_stability(tabulate_scores(values, measures="P@5 AP(own)@5"), [], GRADED)
    assert result is not None
    assert list(result.measures) == ["P@5", "AP(own)@5"]
    assert result.measures["P@5"].variance is not None
