"""Latency and tokens of one engine, worked by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from judge.characters import estimate_tokens
from judge.measure.columns import tabulate_results
from judge.measure.engine_summary import EngineResult, Latency, TokenCount, summarise_engines
from judge.measure.measures import parse_measures
from judge.measure.score import score_rankings
from judge.records import GRADED, Ranking, Snippet


def make_snippet(raw_text: str, raw_title: str = "") -> Snippet:
    """A snippet that shows less than the engine returned."""
    return Snippet("s", "shown", "shown", raw_text=raw_text, raw_title=raw_title)


def make_answer(milliseconds: float | None, *snippets: Snippet, error: str | None = None) -> Ranking:
    """An answer that took so long."""
    return Ranking("brave", "q", snippets, error, milliseconds)


def summarise_answers(answers: Iterable[Ranking], depth: int = 3) -> EngineResult:
    """What is said of the engine that gave these answers, each to a query of its own."""
    rankings = [replace(answer, query_id=f"q{at}") for at, answer in enumerate(answers)]
    documents = {
        (each.engine, each.query_id): tuple(snippet.id for snippet in each.snippets[:depth])
        for each in rankings
    }
    scores = score_rankings(rankings, documents, [], parse_measures("P@1"), GRADED, depth=depth)
    return summarise_engines(scores, tabulate_results(rankings, documents, depth, with_tokens=True))["brave"]


def measure_latency(answers: Iterable[Ranking]) -> Latency | None:
    return summarise_answers(answers).latency_ms


def measure_tokens(answers: Iterable[Ranking], depth: int) -> TokenCount | None:
    return summarise_answers(answers, depth).tokens


def compute_no_snippet_share(answers: Iterable[Ranking], depth: int) -> float | None:
    return summarise_answers(answers, depth).no_snippet_share


def test_latency_is_the_median_and_what_95_percent_stay_under() -> None:
    answers = [make_answer(float(value)) for value in (500, 100, 300, 200, 400)]
    # Positions 0..4 of the sorted values; 0.95 * 4 = 3.8: 400 + 0.8 * 100.
    assert measure_latency(answers) == Latency(median=300.0, p95=480.0, n=5)
    assert measure_latency(reversed(answers)) == measure_latency(answers)


def test_latency_nobody_measured_is_unknown_and_a_failure_takes_no_time() -> None:
    assert measure_latency([make_answer(None), make_answer(9.0, error="timeout")]) is None
    assert measure_latency(
        [make_answer(None), make_answer(9.0, error="timeout"), make_answer(7.0)]
    ) == Latency(7.0, 7.0, 1)


def test_tokens_are_those_of_what_was_returned_down_to_the_depth() -> None:
    answer = make_answer(
        1.0, make_snippet("<b>红茶</b>", "tea 红"), make_snippet("green tea"), make_snippet("too deep")
    )
    total = sum(map(estimate_tokens, ("<b>红茶</b>", "tea 红", "green tea")))
    for answers, mean, n in (
        ([answer], total, 1),
        ([answer, make_answer(1.0)], total / 2, 2),
        ([answer, make_answer(1.0, error="broke")], total, 1),
    ):
        result = measure_tokens(answers, depth=2)
        assert result is not None
        assert result.mean == pytest.approx(mean)
        assert result.n == n
    assert measure_tokens([make_answer(1.0, error="broke")], depth=2) is None


def test_results_without_a_text_of_their_own_are_a_share() -> None:
    with_text = Snippet("1", "text", "title", raw_text="text", raw_title="title")
    without = Snippet("2", title="title", raw_title="title")
    rankings = [make_answer(None, with_text, without), make_answer(None, without, without, with_text)]
    assert compute_no_snippet_share(rankings, 2) == 0.75
    assert compute_no_snippet_share(rankings, 3) == 0.6
    unknown = Snippet("3", flags=("no_text",))
    assert compute_no_snippet_share([make_answer(None, with_text, unknown, without)], 3) == 0.5
    assert compute_no_snippet_share([make_answer(None, unknown)], 2) is None
    assert compute_no_snippet_share([make_answer(None, error="HTTP 503")], 2) is None
