"""Diversity of lists: distinct sites, near-duplicates and similarity, with numbers worked by hand."""

from __future__ import annotations

import pytest

from judge.analysis.dimension_result import DimensionMean, average_values, summarise_dimension
from judge.dimensions.diversity import find_site, measure_list
from judge.records import Ranking, Snippet
from tests.support.cases import check_each


def snippet(text: str, url: str = "") -> Snippet:
    return Snippet(id=text, text=text, title="", date="", url=url, raw_text=text, raw_title="")


@check_each(
    ("url", "site"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk"),
        ("https://a.edu.cn", "a.edu.cn"),
        ("https://name.github.io/x", "name.github.io"),
        ("http://WWW.Example.com:8080/", "example.com"),
        ("http://10.0.0.1/x", "10.0.0.1"),
        ("http://[::1]/x", "::1"),
        ("http://localhost/", "localhost"),
        ("no address", None),
        ("http://[broken", None),
    ],
)
def test_a_site_is_the_registrable_domain(url: str, site: str | None) -> None:
    assert find_site(url) == site


def test_the_values_of_a_list() -> None:
    # " abcd" has the 3-grams " ab", "abc", "bcd"; " abce" shares the first 2 of 4; " wxyz" shares none.
    texts = ("abcd", "abce", "wxyz", "abcd")
    urls = ("https://a.example.com", "https://b.example.com", "https://other.org", "https://a.example.com")
    ranking = Ranking("e", "q", tuple(map(snippet, texts, urls)))
    assert measure_list(ranking, 4) == {
        "sites@4": 2.0,
        "near-duplicates@4": 0.25,
        # The pairs 12, 13, 14, 23, 24, 34.
        "similarity@4": pytest.approx((0.5 + 0 + 1 + 0 + 0.5 + 0) / 6),
    }
    assert measure_list(ranking, 1) == {"sites@1": 1.0, "near-duplicates@1": 0.0, "similarity@1": None}


def test_what_is_unknown_has_no_value() -> None:
    assert measure_list(Ranking("e", "q", (snippet("a"),)), 10)["sites@10"] is None
    empty = measure_list(Ranking("e", "q", ()), 10)
    assert empty == {"sites@10": 0.0, "near-duplicates@10": None, "similarity@10": None}


def test_a_mean_is_over_the_queries_with_a_value() -> None:
    mean = average_values([1.0, None, 2.0, 3.0])
    assert (mean.mean, mean.queries) == (2.0, 3)
    # The 97.5 % quantile of t with 2 degrees of freedom is 4.302653; the standard error is 1 / sqrt(3).
    assert mean.ci95 == pytest.approx((0.0, 2 + 4.302653 / 3**0.5), abs=1e-6)
    assert average_values([2.0]) == DimensionMean(2.0, None, 1)
    assert average_values([None]) == DimensionMean(None, None, 0)


def test_an_engine_without_values_is_in_the_summary() -> None:
    result = summarise_dimension({("a", "q"): {"m": 1.0}}, ["a", "b"])
    assert result.summary.measures == ["m"]
    assert (
        result.summary.find_mean("b", "m") == result.summary.engines["b"]["m"] == DimensionMean(None, None, 0)
    )
