"""Diversity of lists: distinct sites, near-duplicates and similarity, with numbers worked by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from judge.analysis.dimension_summary import DimensionMean, QueryValues, average_values, summarise_dimension
from judge.dimensions.diversity import compare_snippets, measure_list, order_by_mmr
from judge.measure.engine_agreement import rbo
from judge.records import Snippet


def make_snippet(text: str, url: str = "") -> Snippet:
    return Snippet(id=text, text=text, url=url)


def measure(snippets: tuple[Snippet, ...], depth: int) -> QueryValues:
    return measure_list(snippets, compare_snippets(snippets), depth)


def test_the_values_of_a_list() -> None:
    # "abcd" has the 3-grams "abc" and "bcd"; "abce" shares the first of 3; "wxyz" shares none.
    texts = ("abcd", "abce", "wxyz", "abcd")
    urls = ("https://a.example.com", "https://b.example.com", "https://other.org", "https://a.example.com")
    assert measure(tuple(map(make_snippet, texts, urls)), 4) == {
        "sites@4": 2.0,
        "near-duplicates@4": 0.25,
        # The pairs 12, 13, 14, 23, 24, 34.
        "similarity@4": pytest.approx((1 / 3 + 0 + 1 + 0 + 1 / 3 + 0) / 6),
    }
    one = measure((make_snippet("abcd", "https://a.example"),), 1)
    assert one == {"sites@1": 1.0, "near-duplicates@1": 0.0, "similarity@1": None}


def test_what_is_unknown_has_no_value() -> None:
    assert measure((make_snippet("a"),), 10)["sites@10"] is None
    assert measure((), 10) == {"sites@10": 0.0, "near-duplicates@10": None, "similarity@10": None}


def test_mmr_moves_a_repeated_result_down() -> None:
    similarity = np.array([[1, 0.9, 0.2], [0.9, 1, 0], [0.2, 0, 1]])
    # After the first: 2/3 - 0.9 is less than 1/3 - 0.2.
    assert order_by_mmr(similarity) == [0, 2, 1]
    # With relevance alone the order stays, with similarity alone ties go to the higher rank.
    assert order_by_mmr(similarity, 1.0) == [0, 1, 2]
    assert order_by_mmr(similarity, 0.0) == [0, 2, 1]
    assert order_by_mmr(np.eye(0)) == []


class CountedCells(np.ndarray):
    """A matrix that counts how many of its cells are read."""

    cells = 0

    def __getitem__(self, index: Any) -> Any:
        part = np.asarray(self)[index]
        CountedCells.cells += part.size
        return part


def test_the_mmr_order_reads_each_similarity_once() -> None:
    size = 50
    similarity = np.random.default_rng(1).random((size, size)).view(CountedCells)
    assert sorted(order_by_mmr(similarity)) == list(range(size))
    assert CountedCells.cells == size**2


def test_the_mmr_order_is_scored_on_the_same_pool(tmp_path: Path) -> None:
    texts = ("Paris is the capital of France", "Paris is the capital of France!", "A city by the Seine")
    rows = [
        {
            "query": "capital of France",
            "engine": engine,
            "snippet": text,
            "docno": text,
            "expected": list(names),
        }
        for engine, order in (("a", texts), ("b", texts[1:]))
        for text in order
        for names in [texts[::2]]
    ]
    result = judge.run(rows, "expected", out=str(tmp_path / "run"), measures=["nDCG@3"], diversity=True)
    dimension = result.summary.dimensions["diversity"]
    # Relevant at ranks 1 and 3 of a; in the order of MMR, the repeated text is last.
    assert result.summary.engines["a"].measures["nDCG@3"].mean == pytest.approx(1.5 / (1 + 1 / np.log2(3)))
    assert dimension.find_mean("a", "MMR nDCG@3").mean == pytest.approx(1.0)
    assert dimension.find_mean("b", "MMR nDCG@3").mean == result.summary.engines["b"].measures["nDCG@3"].mean
    (pair,) = dimension.pairs
    assert (pair.a, pair.b, pair.measure, pair.mean.queries) == ("a", "b", "RBO@10", 1)
    assert pair.mean.mean == pytest.approx(rbo(texts, texts[1:]))


def test_the_interval_of_the_sites_ends_at_the_depth(tmp_path: Path) -> None:
    """One list has 3 sites, the other 9; t with 1 degree of freedom gives 6 ± 38."""
    rows = [
        {
            "query": f"query {sites}",
            "engine": "a",
            "snippet": f"text {site}",
            "url": f"https://s{site}.example",
        }
        for sites in (3, 9)
        for site in range(sites)
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), diversity=True)
    mean = result.summary.dimensions["diversity"].find_mean("a", "sites@10")
    assert (mean.mean, mean.ci95) == (6.0, (0.0, 10.0))


def test_a_mean_is_over_the_queries_with_a_value() -> None:
    mean = average_values([1.0, None, 2.0, 3.0])
    assert (mean.mean, mean.queries) == (2.0, 3)
    # The 97.5% quantile of t with 2 degrees of freedom is 4.302653; the standard error is 1 / sqrt(3).
    assert mean.ci95 == pytest.approx((0.0, 2 + 4.302653 / 3**0.5), abs=1e-6)
    assert average_values([0.1, 0.1, 0.1]).ci95 is None
    thirds = [number / 3 for number in range(40)]
    assert average_values(thirds) == average_values(thirds[::-1]) == average_values(thirds[7:] + thirds[:7])
    assert average_values([2.0]) == DimensionMean(2.0, None, 1)
    assert average_values([None]) == DimensionMean(None, None, 0)


def test_an_engine_without_values_is_in_the_summary() -> None:
    result = summarise_dimension({("a", "q"): {"m": 1.0}}, ["a", "b"])
    assert result.summary.measures == ["m"]
    assert (
        result.summary.find_mean("b", "m") == result.summary.engines["b"]["m"] == DimensionMean(None, None, 0)
    )
