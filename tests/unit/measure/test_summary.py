"""Means over queries, and what stands beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.records import BINARY
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import JudgedDataset


@pytest.fixture
def nightly_dataset() -> JudgedDataset:
    """Two engines, five queries: one breaks, one returns nothing, one finds nothing, one is unjudged."""
    return JudgedDataset(
        {
            "A": {"q1": ["a", "a", "b"], "q2": ["a"], "q3": ["x"], "q4": [], "q5": ["u"]},
            "B": {"q1": ["b"], "q2": None, "q3": ["y"], "q4": ["a"]},
        },
        [
            {
                ("q1", "a"): 1,
                ("q1", "b"): 0,
                ("q2", "a"): 1,
                ("q3", "x"): 0,
                ("q3", "y"): 0,
                ("q4", "a"): 1,
                ("q5", "u"): None,
            }
        ],
        BINARY,
        measures="nDCG@10 P@1",
    )


def test_what_came_back_is_counted(nightly_dataset: JudgedDataset) -> None:
    a, b = nightly_dataset.summarise().values()
    assert (a.queries, a.answered, a.empty, a.errors, a.absent) == (5, 4, 1, 0, 0)
    assert (b.queries, b.answered, b.empty, b.errors, b.absent) == (5, 3, 0, 1, 1)
    assert [a.judged, a.duplicates] == pytest.approx([5 / 6, 1 / 6])
    assert (b.judged, b.duplicates) == (1, 0)


def test_a_mean_says_over_how_many_queries_and_why_not_over_all(nightly_dataset: JudgedDataset) -> None:
    a, b = nightly_dataset.summarise().values()
    ndcg = a.measures["nDCG@10"]
    assert [ndcg.mean, ndcg.n, ndcg.undefined, ndcg.unknown] == pytest.approx([2 / 3, 3, 1, 1])
    assert (a.measures["P@1"].mean, a.measures["P@1"].n) == (0.5, 4)
    ndcg = b.measures["nDCG@10"]
    assert (ndcg.mean, ndcg.n, ndcg.undefined, ndcg.unknown) == (0.5, 2, 1, 0)
    for engine in (a, b):
        for mean in engine.measures.values():
            assert engine.queries == mean.n + mean.undefined + mean.unknown + engine.errors + engine.absent


def test_the_paired_mean_leaves_out_what_one_engine_lacks(nightly_dataset: JudgedDataset) -> None:
    a, b = (engine.measures["nDCG@10"] for engine in nightly_dataset.summarise().values())
    assert (a.paired, a.paired_n) == (0.5, 2)
    assert (b.paired, b.paired_n) == (0.5, 2)


def test_repeats_are_averaged_within_a_query_first() -> None:
    """q1 has a value in both repeats, q2 in the first alone; each query weighs the same."""
    dataset = JudgedDataset(
        {"A": {"q1": ["a"], "q2": ["b"]}},
        [{("q1", "a"): 1, ("q2", "b"): 1}, {("q1", "a"): 0, ("q2", "b"): None}],
        BINARY,
        measures="P@1",
    )
    (a,) = dataset.summarise().values()
    assert (a.measures["P@1"].mean, a.measures["P@1"].n) == (0.75, 2)
    assert a.judged == 0.75


def test_bounds_are_means_over_the_same_queries() -> None:
    dataset = JudgedDataset(
        {"A": {"q1": ["a", "u"], "q2": ["b"]}},
        [{("q1", "a"): 1, ("q1", "u"): None, ("q2", "b"): 1}],
        BINARY,
        measures="P@2",
    )
    mean = dataset.summarise()["A"].measures["P@2"]
    assert (get_low_end(mean.bounds), mean.mean, get_high_end(mean.bounds)) == (0.5, 0.75, 0.75)


def test_a_mean_over_nothing_is_unknown() -> None:
    (broke,) = JudgedDataset({"A": {"q": None}}, [], measures="P@1").summarise().values()
    mean = broke.measures["P@1"]
    assert (
        mean.mean,
        get_low_end(mean.bounds),
        get_high_end(mean.bounds),
        mean.n,
        mean.paired,
        mean.paired_n,
    ) == (
        None,
        None,
        None,
        0,
        None,
        0,
    )
    assert (broke.judged, broke.duplicates, broke.errors) == (None, None, 1)


def test_no_engine_has_no_summary() -> None:
    assert JudgedDataset({}, []).summarise() == {}


def test_engines_are_summed_up_in_one_order(nightly_dataset: JudgedDataset) -> None:
    turned = replace(
        nightly_dataset, returned={engine: nightly_dataset.returned[engine] for engine in ("B", "A")}
    )
    assert turned.summarise() == nightly_dataset.summarise()
