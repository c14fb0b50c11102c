"""Another treatment of the data: flagged snippets, and engines divided by their own lists; worked by hand."""

from dataclasses import astuple

import numpy as np
import pytest

from judge.measure.columns import tabulate_judgments
from judge.measure.measures import parse_measures
from judge.measure.sensitivity import (
    FlaggedEffect,
    FlaggedMeans,
    FlaggedWinners,
    OwnListReversal,
    check_own_lists,
    list_needed_measures,
    measure_flagged_sensitivity,
)
from judge.records import Scale
from tests.unit.measure.judged_dataset import JudgedDataset
from tests.unit.measure.tables import NAN, tabulate_scores

#: Loud shows one page that pleads for its grade and nothing else that is good; Quiet has one good page.
PLEADING = JudgedDataset(
    {"loud": {"q": ["plea", "x1"]}, "quiet": {"q": ["y1", "good"]}},
    [{("q", "plea"): 3, ("q", "x1"): 0, ("q", "y1"): 0, ("q", "good"): 3}],
    depth=2,
    measures="P@2 RR@2",
)


def measure_effect(dataset: JudgedDataset, *flagged: tuple[str, str]) -> FlaggedEffect | None:
    results = dataset.tabulate()
    judgments = tabulate_judgments(dataset.make_judgments(), results)
    marked = np.array([pair in flagged for pair in results.list_pairs()] + [False], bool)[results.pair]
    return measure_flagged_sensitivity(dataset.compute_scores(), results, judgments, dataset.scale, marked)


def test_nothing_flagged_is_nothing_to_say() -> None:
    assert measure_effect(PLEADING) is None


def test_measures_that_compare_no_engines_have_no_order() -> None:
    dataset = JudgedDataset(PLEADING.returned, PLEADING.grades, depth=2, measures="Judged@2")
    assert measure_effect(dataset, ("q", "plea")) is None


def test_the_first_measure_is_weighed_and_a_tie_is_no_swap() -> None:
    result = measure_effect(PLEADING, ("q", "plea"))
    assert result is not None
    assert (result.measure, result.pairs) == ("P@2", 1)
    assert result.engines == {"loud": FlaggedMeans(0.5, 0.0, 0.0), "quiet": FlaggedMeans(0.5, 0.5, 0.5)}
    assert (result.swapped, result.order_changes) == ((), False)


def test_an_order_that_stands_on_pleading_is_found() -> None:
    dataset = JudgedDataset(PLEADING.returned, PLEADING.grades, depth=2, measures="RR@2")
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert result.engines == {"loud": FlaggedMeans(1.0, 0.0, 0.0), "quiet": FlaggedMeans(0.5, 0.5, 0.5)}
    assert (result.swapped, result.order_changes) == ((("loud", "quiet"),), True)


def test_a_lead_that_is_too_small_to_count_is_not_lost() -> None:
    # Of 64 queries loud has a relevant result for three, quiet for two: 0.047 to 0.031.
    queries = [f"q{number:02}" for number in range(64)]
    relevant = {("q00", "loud"), ("q01", "loud"), ("q02", "quiet")}
    grades = {
        (query, name): 3 * ((query, name) in relevant) for query in queries for name in ("loud", "quiet")
    }
    grades |= {("q03", "loud"): 3, ("q03", "quiet"): 3}
    dataset = JudgedDataset(
        {name: {query: [name] for query in queries} for name in ("loud", "quiet")},
        [grades],
        depth=1,
        measures="P@1",
    )
    result = measure_effect(dataset, ("q00", "loud"), ("q01", "loud"))
    assert result is not None
    assert result.engines["loud"].zeroed == 1 / 64 < 2 / 64 == result.engines["quiet"].zeroed
    assert (result.swapped, result.order_changes) == ((("loud", "quiet"),), False)


def test_what_is_dropped_lets_the_rest_move_up_and_what_is_zeroed_does_not() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["plea", "good"]}, "b": {"q": ["good/b", "bad"]}},
        [{("q", "plea"): 0, ("q", "good"): 3, ("q", "good/b"): 3, ("q", "bad"): 0}],
        depth=2,
        measures="RR@2",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert result.engines["a"] == FlaggedMeans(0.5, 0.5, 1.0)
    assert not result.order_changes


def test_a_failed_judgment_of_a_flagged_snippet_is_zeroed_too_and_others_stay_unknown() -> None:
    dataset = JudgedDataset(
        {"a": {"q": ["plea"], "r": ["x"]}, "b": {"q": ["y"], "r": None}},
        [{("q", "plea"): None, ("q", "y"): 3, ("r", "x"): None}],
        depth=2,
        measures="P@2",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert {name: (means.unchanged, means.zeroed) for name, means in result.engines.items()} == {
        "a": (None, 0.0),
        "b": (0.5, 0.5),
    }


def test_queries_without_anything_flagged_keep_their_values_and_every_repeat_counts() -> None:
    grades = {("q", "plea"): 3, ("q", "y"): 0, ("r", "x"): 3, ("r", "z"): 0}
    dataset = JudgedDataset(
        {"a": {"q": ["plea"], "r": ["x"]}, "b": {"q": ["y"], "r": ["z"]}},
        [grades, {**grades, ("r", "x"): 0}],
        depth=1,
        measures="P@1",
    )
    result = measure_effect(dataset, ("q", "plea"))
    assert result is not None
    assert astuple(result.engines["a"]) == pytest.approx((0.75, 0.25, 0.25))


def test_a_winner_that_is_named_only_because_of_flagged_snippets_is_a_change() -> None:
    queries = [f"q{number:02}" for number in range(24)]
    dataset = JudgedDataset(
        {
            "a": {query: [f"{query}plea", f"{query}fair"] for query in queries},
            "b": {query: [f"{query}poor", f"{query}worse"] for query in queries},
        },
        [
            {
                (query, f"{query}{name}"): grade
                for place, query in enumerate(queries)
                for name, grade in (("plea", 3), ("fair", 2 * (place < 4)), ("poor", 0), ("worse", 0))
            }
        ],
        depth=2,
        measures="P@2",
    )
    result = measure_effect(dataset, *((query, f"{query}plea") for query in queries))
    assert result is not None
    assert result.winners == FlaggedWinners("a", None, None)
    assert (result.swapped, result.order_changes) == ((), True)


FROM_1 = Scale("graded", top=3, relevant_from=1)
#: A finds much; B finds one page that A has in second place, and on the other query one weak result.
LISTS = {"A": {"q1": [1, 3, 3, 2, 2], "q2": [3, 0, 3, 2, 2]}, "B": {"q1": [3, 0, 0, 0, 0], "q2": [1]}}
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
