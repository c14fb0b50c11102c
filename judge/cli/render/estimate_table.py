"""What `judge estimate` prints: calls, tokens, price and time for each assessor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from rich.console import Console
from rich.text import Text

from judge.assess.estimate import RunEstimate
from judge.cli.render.cells import escape_line
from judge.english import format_count
from judge.pipeline import RunForecast


def print_forecast(forecast: RunForecast, console: Console) -> None:
    """Print what a run would ask of each assessor, what it would cost and how long it would take."""
    size = f"{forecast.results:,} results, {forecast.pairs:,} pairs, {forecast.repeats} repeat(s)"
    console.print(Text(size))
    for remark in forecast.remarks:
        console.print(escape_line(remark))
    for name, estimate in forecast.assessors.items():
        if len(forecast.assessors) > 1:
            console.print(escape_line(f"{name}:"))
        for line in _lines(estimate):
            console.print(escape_line(line))
    if len(forecast.assessors) > 1:
        console.print(Text(_total(list(forecast.assessors.values()))))


def _total(estimates: Sequence[RunEstimate]) -> str:
    """Return the sum over the members of a panel, which judge one after the other."""
    calls = sum(estimate.calls for estimate in estimates)
    prompt = sum(estimate.prompt_tokens for estimate in estimates)
    completion = sum(estimate.completion_tokens for estimate in estimates)
    prices = [estimate.usd for estimate in estimates if estimate.usd is not None]
    price = f"about {_usd(sum(prices))}" if len(prices) == len(estimates) else "price unknown"
    return (
        f"together: {calls:,} calls, about {prompt:,} tokens in and {completion:,} out, {price},"
        f" about {_duration(sum(estimate.seconds for estimate in estimates))}"
    )


def _lines(estimate: RunEstimate) -> Iterator[str]:
    again = f", and about {estimate.again:,} more for retries and re-asks" if estimate.again else ""
    stored = f"{estimate.judgments:,} judgments: {estimate.known:,} known"
    yield f"{stored}, {estimate.calls:,} calls to pay{again}"
    if not estimate.calls:
        return
    tokens = f"about {estimate.prompt_tokens:,} tokens in, {estimate.completion_tokens:,} out"
    yield f"{tokens} ({_basis(estimate)})"
    yield _price(estimate)
    if estimate.pace:
        why = f"at the {estimate.pace:.1f} calls/s of the last time, which another --concurrency changes"
    else:
        why = f"if a call takes {estimate.latency:g} s"
    yield f"about {_duration(estimate.seconds)} {why}"


def _basis(estimate: RunEstimate) -> str:
    earlier = estimate.learned_from
    learned = f"from {format_count(earlier, 'earlier call')}" if earlier else ""
    rule = "by rule of thumb; a run of a few calls, e.g. --max-calls 50, tells better"
    if learned and estimate.by_rule:
        return f"{learned}, {estimate.by_rule:,} prompts {rule}"
    return learned or rule


def _price(estimate: RunEstimate) -> str:
    price = estimate.price
    if price is None or estimate.usd is None:
        return "price unknown: add --price INPUT,OUTPUT (USD per million tokens) or --prices FILE"
    day = f" as of {price.as_of}" if price.as_of else ""
    return (
        f"about {_usd(estimate.usd)}, a million tokens being ${price.input:g} in,"
        f" ${price.cached:g} cached, ${price.output:g} out{day} ({price.source})"
    )


def _usd(amount: float) -> str:
    """Return an amount with two decimals, or with two significant digits where it is below a cent."""
    digits = 2 if amount <= 0 else max(2, 1 - floor(log10(amount)))
    return f"${amount:.{digits}f}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
