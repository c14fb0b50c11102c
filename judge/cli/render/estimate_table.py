"""What `judge estimate` prints: calls, tokens, price and time for each assessor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from rich.console import Console

from judge.assess.estimate import RunEstimate
from judge.cli.render.cells import escape_line
from judge.messages import Translator
from judge.pipeline import RunForecast


def print_forecast(forecast: RunForecast, console: Console, t: Translator) -> None:
    """Print what a run would ask of each assessor, what it would cost and how long it would take."""
    for line in _lines(forecast, t):
        console.print(escape_line(line))


def _lines(forecast: RunForecast, t: Translator) -> Iterator[str]:
    yield t(
        "{run.results:,} results, {run.pairs:,} pairs, {repeats}",
        run=forecast,
        repeats=t.plural("{count:,} repeat", "{count:,} repeats", forecast.repeats),
    )
    yield from map(t, forecast.remarks)
    several = len(forecast.assessors) > 1
    for name, estimate in forecast.assessors.items():
        if several:
            yield t("{name}:", name=name)
        yield from _describe_estimate(estimate, t)
    if several:
        yield _total(list(forecast.assessors.values()), t)


def _total(estimates: Sequence[RunEstimate], t: Translator) -> str:
    """Return the sum over the members of a panel, which judge one after the other."""
    prices = [estimate.usd for estimate in estimates if estimate.usd is not None]
    known = len(prices) == len(estimates)
    return t(
        "together: {calls:,} calls, about {prompt:,} tokens in and {completion:,} out, {price}, about"
        " {duration}",
        calls=sum(estimate.calls for estimate in estimates),
        prompt=sum(estimate.prompt_tokens for estimate in estimates),
        completion=sum(estimate.completion_tokens for estimate in estimates),
        price=t("about {amount}", amount=_usd(sum(prices), t)) if known else t("price unknown"),
        duration=_duration(sum(estimate.seconds for estimate in estimates), t),
    )


def _describe_estimate(estimate: RunEstimate, t: Translator) -> Iterator[str]:
    again = ""
    if estimate.again:
        again = t(", and about {count:,} more for retries and re-asks", count=estimate.again)
    yield t(
        "{run.judgments:,} judgments: {run.known:,} known, {run.calls:,} calls to pay{again}",
        run=estimate,
        again=again,
    )
    if estimate.submitted:
        yield t(
            "{count:,} of them are in batches at the server; judge run --batch collects these",
            count=estimate.submitted,
        )
    if not estimate.calls:
        return
    yield t(
        "about {run.prompt_tokens:,} tokens in, {run.completion_tokens:,} out ({basis})",
        run=estimate,
        basis=_basis(estimate, t),
    )
    yield _price(estimate, t)
    duration = _duration(estimate.seconds, t)
    if estimate.pace:
        yield t(
            "about {duration} at the {pace:.1f} calls/s of the last time, which another --concurrency"
            " changes",
            duration=duration,
            pace=estimate.pace,
        )
    else:
        yield t("about {duration} if a call takes {latency:g} s", duration=duration, latency=estimate.latency)
    if estimate.batches:
        known = estimate.batch_usd is not None
        yield t.plural(
            "with --batch: {price}, one batch, within 24 hours",
            "with --batch: {price}, {count} batches, within 24 hours",
            estimate.batches,
            price=t("about {amount}", amount=_usd(estimate.batch_usd or 0.0, t))
            if known
            else t("price unknown"),
        )


def _basis(estimate: RunEstimate, t: Translator) -> str:
    rule = t("by rule of thumb; a run of a few calls, e.g. --max-calls 50, tells better")
    if not estimate.learned_from:
        return rule
    learned = t.plural("from {count:,} earlier call", "from {count:,} earlier calls", estimate.learned_from)
    if not estimate.by_rule:
        return learned
    return t("{learned}, {count:,} prompts {rule}", learned=learned, count=estimate.by_rule, rule=rule)


def _price(estimate: RunEstimate, t: Translator) -> str:
    price = estimate.price
    if price is None or estimate.usd is None:
        return t("price unknown: add --price INPUT,OUTPUT (USD per million tokens) or --prices FILE")
    return t(
        "about {amount}, a million tokens being ${price.input:g} in, ${price.cached:g} cached,"
        " ${price.output:g} out{day} ({price.source})",
        amount=_usd(estimate.usd, t),
        price=price,
        day=t(" as of {day}", day=price.as_of) if price.as_of else "",
    )


def _usd(amount: float, t: Translator) -> str:
    """Return an amount with two decimals, or with two significant digits where it is below a cent."""
    digits = 2 if amount <= 0 else max(2, 1 - floor(log10(amount)))
    return t("${amount}", amount=f"{amount:.{digits}f}")


def _duration(seconds: float, t: Translator) -> str:
    if seconds < 120:
        return t("{seconds:.0f} s", seconds=seconds)
    if seconds < 7200:
        return t("{minutes:.0f} min", minutes=seconds / 60)
    return t("{hours:.1f} h", hours=seconds / 3600)
