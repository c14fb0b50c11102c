"""How an estimate is told."""

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from judge.assess.estimate import AssessorEstimate, RunEstimate
from judge.cli.render.assessor_tables import describe_estimate
from judge.cli.render.tables import print_parts
from judge.pricing.prices import FREE_PRICE, Price
from tests.support.cases import check_each

PRICE = Price(0.4, 1.2, 0.1, "2026-07-02", "https://prices.example")
ESTIMATE: dict[str, Any] = {
    "judgments": 2000,
    "known": 500,
    "calls": 1500,
    "retry_calls": 0,
    "prompt_tokens": 900_000,
    "completion_tokens": 90_000,
    "price": PRICE,
    "usd": 0.468,
    "seconds": 47.0,
    "earlier_calls": 1234,
    "by_rule": 0,
    "pace": 32.0,
    "concurrency": 64,
    "latency": 2.0,
}
RULE = "a rough estimate; for a better one, run a few calls first, e.g. --max-calls 50"


def render_estimate(*result: dict[str, Any]) -> list[str]:
    """The lines that are printed."""
    stream = io.StringIO()
    assessors = {f"openai:m{number}/graded": AssessorEstimate(**each) for number, each in enumerate(result)}
    lines = describe_estimate(RunEstimate(3000, 2000, 1, (), assessors))
    print_parts(lines, Console(file=stream, width=1000))
    return stream.getvalue().splitlines()


def test_an_estimate_says_what_it_goes_by() -> None:
    assert render_estimate(ESTIMATE) == [
        "3,000 results, 2,000 pairs to judge, 1 repeat",
        "2,000 judgments: 500 without a call, 1,500 calls to pay",
        "about 900,000 tokens in, 90,000 out (from 1,234 earlier calls)",
        "about $0.47; a million tokens cost $0.4 in, $0.1 cached, $1.2 out as of 2026-07-02"
        " (https://prices.example)",
        "about 47 s at 32.0 calls/s as in the last run; another --concurrency changes that",
    ]


def test_an_estimate_for_a_model_in_this_process_has_no_tokens_and_no_calls_to_pay() -> None:
    assert render_estimate({**ESTIMATE, "price": FREE_PRICE, "usd": 0.0}) == [
        "3,000 results, 2,000 pairs to judge, 1 repeat",
        "2,000 judgments: 500 without a call, 1,500 to make in this process, at no cost",
    ]


@check_each(
    ("changed", "line", "expected"),
    [
        ({"retry_calls": 30}, 1, "1,500 calls to pay, and about 30 more for retries and re-asks"),
        ({"earlier_calls": 0, "by_rule": 1500}, 2, f"({RULE})"),
        (
            {"by_rule": 70},
            2,
            "(from 1,234 earlier calls; a rough estimate for 70 prompts, whose language has few earlier"
            " calls)",
        ),
        ({"earlier_calls": 1}, 2, "(from 1 earlier call)"),
        ({"price": None, "usd": None}, 3, "price unknown: add --price INPUT,OUTPUT"),
        ({"price": replace(PRICE, as_of=None, source="--price")}, 3, "$1.2 out (--price)"),
        ({"usd": 0.0034}, 3, "about $0.0034; a million"),
        ({"usd": 1234.5}, 3, "about $1234.50; a million"),
        ({"usd": 0.0}, 3, "about $0.00; a million"),
        ({"pace": None, "seconds": 600.0}, 4, "about 10 min if a call takes 2 s and 64 are made at once"),
        ({"seconds": 9000.0}, 4, "about 2.5 h at 32.0 calls/s"),
    ],
)
def test_each_part_is_said_where_it_is_so(changed: dict[str, Any], line: int, expected: str) -> None:
    assert expected in render_estimate({**ESTIMATE, **changed})[line]


def test_the_plans_are_compared() -> None:
    assert render_estimate({**ESTIMATE, "batches": 1, "batch_usd": 0.234})[-1] == (
        "with --batch: about $0.23, one batch, within 24 hours"
    )
    lines = render_estimate(
        {**ESTIMATE, "price": None, "usd": None, "batches": 3, "judgments_in_batches": 40}
    )
    assert lines[-1] == "with --batch: price unknown, 3 batches, within 24 hours"
    assert lines[2] == "40 of them are in batches at the server; judge run --batch collects these"


def test_nothing_to_pay_is_one_line() -> None:
    assert render_estimate({**ESTIMATE, "calls": 0})[1:] == [
        "2,000 judgments: 500 without a call, 0 calls to pay"
    ]


def test_a_panel_is_told_by_member() -> None:
    lines = render_estimate(ESTIMATE, {**ESTIMATE, "price": None, "usd": None})
    assert [lines[1], lines[6]] == ["openai:m0/graded:", "openai:m1/graded:"]


def test_a_member_in_this_process_has_no_calls_in_the_sum() -> None:
    lines = render_estimate(ESTIMATE, {**ESTIMATE, "price": FREE_PRICE, "usd": 0.0})
    assert (
        lines[-1] == "together: 1,500 calls, about 900,000 tokens in and 90,000 out, about $0.47, about 47 s"
    )
