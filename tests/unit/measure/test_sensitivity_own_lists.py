"""Why engines are not divided by their own lists: two engines, two queries, the other order."""

from __future__ import annotations

import pytest

from judge.measure.measures import parse_measures
from judge.measure.sensitivity import OwnListReversal, check_own_lists, list_needed_measures
from judge.records import Scale
from tests.unit.measure.judged_dataset import JudgedDataset
from tests.unit.measure.tables import NAN, tabulate_scores

FROM_1 = Scale("graded", top=3, relevant_from=1)
#: A finds much; B finds one page that A has in second place, and on the other query one weak result.
LISTS = {
    "A": {"q1": [1, 3, 3, 2, 2], "q2": [3, 0, 3, 2, 2]},
    "B": {"q1": [3, 0, 0, 0, 0], "q2": [1]},
}
SHARED = {("A", "q1", 1): "page/A", ("B", "q1", 0): "page/B"}


def make_toy(measures: str) -> JudgedDataset:
    """The two engines, scored by `measures` and what they have to be held against."""
    names = {
        (engine, query, rank): SHARED.get((engine, query, rank), f"{engine}{query}{rank}")
        for engine, queries in LISTS.items()
        for query, grades in queries.items()
        for rank in range(len(grades))
    }
    returned = {
        engine: {
            query: [names[engine, query, rank] for rank in range(len(grades))]
            for query, grades in queries.items()
        }
        for engine, queries in LISTS.items()
    }
    grades = {(query, name): LISTS[engine][query][rank] for (engine, query, rank), name in names.items()}
    wanted = parse_measures(measures)
    needed = [str(measure) for measure in dict.fromkeys((*wanted, *list_needed_measures(wanted, 5)))]
    return JudgedDataset(returned, [grades], FROM_1, 5, " ".join(needed))


def check_toy(measures: str) -> OwnListReversal | None:
    return check_own_lists(make_toy(measures).compute_scores(), 5, ())


def test_own_lists_would_put_the_worse_engine_first() -> None:
    by_gain, by_relevance = check_toy("nDCG@5"), check_toy("AP@5")
    assert by_gain is not None
    assert by_relevance is not None
    assert (by_gain.measure, by_gain.own) == ("nDCG@5", "nDCG(own)@5")
    assert (by_relevance.measure, by_relevance.own) == ("AP@5", "AP(own)@5")
    assert by_gain.alone == pytest.approx((0.876, 1.0), abs=5e-4)
    assert by_gain.pooled == pytest.approx((0.852, 0.280), abs=5e-4)
    assert by_relevance.alone == pytest.approx((0.902, 1.0), abs=5e-4)
    assert by_relevance.pooled == pytest.approx((0.822, 0.200), abs=5e-4)
    for each in (by_gain, by_relevance):
        assert (each.better, each.worse, each.n) == ("A", "B", 2)
        assert each.relevant == pytest.approx((4.5, 1.0))


def test_the_first_measure_that_shows_it_is_told() -> None:
    assert check_toy("P@5 AP@5 nDCG@5") == check_toy("AP@5")
    assert check_toy("P@5 RR@5 sDCG@5") is None


def test_measures_without_what_they_are_held_against_are_passed_over() -> None:
    assert (
        check_own_lists(make_toy("P@5").compute_scores().select_measures(parse_measures("P@5")), 5, ())
        is None
    )
    alone = JudgedDataset(make_toy("nDCG@5").returned, make_toy("nDCG@5").grades, FROM_1, 5, "nDCG@5 AP@5")
    assert check_own_lists(alone.compute_scores(), 5, ()) is None


def test_counterparts_keep_the_parameters_and_name_each_once() -> None:
    names = [
        str(measure)
        for measure in list_needed_measures(parse_measures("nDCG@5 AP(rel=2)@3 P@5 AP(own)@5 nDCG"), 10)
    ]
    assert names == ["nDCG(own)@5", "P@5", "AP(own,rel=2)@3", "P(rel=2)@3", "nDCG(own)", "P@10"]
    assert list_needed_measures(parse_measures("P@5 RR@5"), 10) == ()


#: nDCG, its own-list twin and P of two engines on three queries, to be written as columns.
MEASURES = "nDCG@5 nDCG(own)@5 P@5"


def check_columns(*engines: list[tuple[float, float, float]]) -> OwnListReversal | None:
    """What is found in (pooled, own, P) of every engine on every query."""
    return check_own_lists(
        tabulate_scores([[[query] for query in engine] for engine in engines], measures=MEASURES), 5, ()
    )


def test_engines_that_stand_alike_both_ways_need_no_word() -> None:
    assert check_columns([(0.9, 0.9, 1.0)], [(0.5, 0.8, 0.4)]) is None
    assert check_columns([(0.9, 1.0, 1.0)], [(0.5, 1.0, 0.4)]) is None
    assert check_columns([(0.9, 0.9, 1.0)]) is None
    assert check_columns([(NAN, NAN, NAN)], [(NAN, NAN, NAN)]) is None


def test_of_many_engines_the_two_that_would_be_best_are_told() -> None:
    result = check_columns([(0.5, 0.9, 0.4)], [(0.9, 0.8, 1.0)], [(0.7, 0.7, 0.8)])
    assert result is not None
    assert (result.better, result.worse) == ("b", "a")
    assert (result.pooled, result.alone) == ((0.9, 0.5), (0.8, 0.9))
    assert result.relevant == pytest.approx((5.0, 2.0))


def test_the_swap_must_be_seen_on_the_queries_that_both_have() -> None:
    """Engine a looks best by its own lists only because it broke on the second query."""
    assert check_columns([(0.5, 0.9, 0.4), (NAN, NAN, NAN)], [(0.6, 0.95, 1.0), (0.8, 0.5, 1.0)]) is None
    result = check_columns([(0.5, 0.9, 0.4), (NAN, NAN, NAN)], [(0.6, 0.8, 1.0), (0.8, 0.5, 1.0)])
    assert result is not None
    assert (result.n, result.pooled, result.alone) == (1, (0.6, 0.5), (0.8, 0.9))
    assert check_columns([(0.9, 0.5, 1.0), (NAN, NAN, NAN)], [(NAN, NAN, NAN), (0.8, 0.9, 1.0)]) is None


def test_a_measure_that_shows_no_swap_does_not_hide_the_next_one_that_does() -> None:
    """By nDCG b is first alone only where a broke; by AP it is where both answered."""
    a = [(0.9, 0.8, 1.0, 0.9, 0.7), (NAN,) * 5]
    b = [(0.5, 0.7, 0.4, 0.5, 0.9), (0.5, 1.0, 0.4, 0.5, 0.9)]
    scores = tabulate_scores(
        [[[query] for query in engine] for engine in (a, b)], measures=f"{MEASURES} AP@5 AP(own)@5"
    )
    result = check_own_lists(scores, 5, ())
    assert result is not None
    assert (result.measure, result.better, result.worse, result.n) == ("AP@5", "a", "b", 1)
