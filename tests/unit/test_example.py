"""Holds the shipped example to what the demo promises to show."""

import json
import re
from typing import Any

from judge import example
from tests.support.cases import check_each

QUERIES: list[dict[str, Any]] = [
    json.loads(line) for line in example.find_dataset().read_text(encoding="utf-8").splitlines()
]
RESULTS: list[tuple[str, str, dict[str, str]]] = [
    (query["query_id"], engine, result)
    for query in QUERIES
    for engine, results in query["engines"].items()
    if isinstance(results, list)
    for result in results
]


def is_chinese(text: str) -> bool:
    return re.search(r"[\u4e00-\u9fff]", text) is not None


def test_twelve_queries_half_of_them_chinese_each_answered_by_the_same_three_engines() -> None:
    assert len({query["query_id"] for query in QUERIES}) == len(QUERIES) == 12
    assert sum(is_chinese(query["query"]) for query in QUERIES) == 6
    assert {tuple(query["engines"]) for query in QUERIES} == {("lantern", "compass", "magpie")}


def test_one_engine_returns_nothing_once_and_one_breaks_once() -> None:
    answers = [(engine, result) for query in QUERIES for engine, result in query["engines"].items()]
    assert [engine for engine, each in answers if each == []] == ["magpie"]
    errors = [(engine, results["error"]) for engine, results in answers if isinstance(results, dict)]
    assert [engine for engine, _ in errors] == ["compass"]
    assert errors[0][1].startswith("HTTP 503")
    assert {len(actual) for _, actual in answers if isinstance(actual, list) and actual} <= {4, 5, 6}


def test_one_query_is_a_single_ambiguous_word_and_some_have_a_known_answer() -> None:
    assert [
        query["query"] for query in QUERIES if " " not in query["query"] and query["query"].isascii()
    ] == ["Mercury"]
    assert [query["query_id"] for query in QUERIES if "reference" in query] == ["zh-05", "en-05"]


@check_each("markup", ["<em>", "<br>", "&nbsp;", "&amp;", "&mdash;", "<code>"])
def test_snippets_carry_the_markup_that_engines_send(markup: str) -> None:
    assert any(markup in result["snippet"] + result["title"] for _, _, result in RESULTS)


def test_engines_share_pages_under_different_addresses_so_that_pooling_saves_calls() -> None:
    pairs = {(query_id, result["title"], result["snippet"]) for query_id, _, result in RESULTS}
    addresses = {(query_id, result["url"]) for query_id, _, result in RESULTS}
    assert len(pairs) < 0.6 * len(RESULTS)
    assert len(addresses) > 1.3 * len(pairs)


def test_every_address_is_in_a_reserved_domain() -> None:
    hosts = {re.sub(r"^https?://([^/]+).*$", r"\1", result["url"]) for _, _, result in RESULTS}
    assert [host for host in hosts if not re.search(r"(\.example|(^|\.)example\.(com|net|org))$", host)] == []


def test_one_snippet_speaks_to_the_assessor() -> None:
    assert len({result["snippet"] for _, _, result in RESULTS if "FOR THE AI" in result["snippet"]}) == 1
