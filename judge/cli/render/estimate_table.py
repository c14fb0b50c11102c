"""Owns the words that an estimate is told in on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10
from typing import Any

from rich.console import Console
from rich.text import Text

from judge.cli.render.run_tables import one_line
from judge.report import sentences


def show(asked: Mapping[str, Any], console: Console) -> None:
    """Prints what a run would ask of each assessor, what it would cost and how long it would take."""
    size = f"{asked['results']:,} results, {asked['pairs']:,} pairs, {asked['repeats']} repeat(s)"
    console.print(Text(size))
    for remark in asked["remarks"]:
        console.print(one_line(remark))
    for name, found in asked["assessors"].items():
        if len(asked["assessors"]) > 1:
            console.print(one_line(f"{name}:"))
        for line in _expected(found):
            console.print(one_line(line))
    if len(asked["assessors"]) > 1:
        console.print(Text(_all(list(asked["assessors"].values()))))


def _all(each: Sequence[Mapping[str, Any]]) -> str:
    """What a panel's members come to together, who judge one after the other."""
    sums = {
        name: sum(found[name] for found in each)
        for name in ("calls", "prompt_tokens", "completion_tokens", "seconds")
    }
    known = all(found["usd"] is not None for found in each)
    price = f"about {_usd(sum(found['usd'] for found in each))}" if known else "price unknown"
    return (
        f"together: {sums['calls']:,} calls, about {sums['prompt_tokens']:,} tokens in and"
        f" {sums['completion_tokens']:,} out, {price}, about {_duration(sums['seconds'])}"
    )


def _expected(found: Mapping[str, Any]) -> Iterator[str]:
    again = f", and about {found['again']:,} more for retries and re-asks" if found["again"] else ""
    known = f"{found['judgments']:,} judgments: {found['known']:,} known"
    yield f"{known}, {found['calls']:,} calls to pay{again}"
    if not found["calls"]:
        return
    tokens = f"about {found['prompt_tokens']:,} tokens in, {found['completion_tokens']:,} out"
    yield f"{tokens} ({_basis(found)})"
    yield _dollars(found)
    pace, latency = found["pace"], found["latency"]
    why = f"at the {pace:.1f} calls/s of the last time, which another --concurrency changes" if pace else ""
    why = why or f"if a call takes {latency:g} s"
    yield f"about {_duration(found['seconds'])} {why}"


def _basis(found: Mapping[str, Any]) -> str:
    learned = (
        f"from {sentences.counted(found['learned_from'], 'earlier call')}" if found["learned_from"] else ""
    )
    rule = "by rule of thumb; a run of a few calls, e.g. --max-calls 50, tells better"
    if learned and found["by_rule"]:
        return f"{learned}, {found['by_rule']:,} prompts {rule}"
    return learned or rule


def _dollars(found: Mapping[str, Any]) -> str:
    price = found["price"]
    if price is None:
        return "price unknown: add --price INPUT,OUTPUT (USD per million tokens) or --prices FILE"
    day = f" as of {price['as_of']}" if price["as_of"] else ""
    return (
        f"about {_usd(found['usd'])}, a million tokens being ${price['input']:g} in,"
        f" ${price['cached']:g} cached, ${price['output']:g} out{day} ({price['source']})"
    )


def _usd(sum_of_money: float) -> str:
    """Cents, and as many more digits as a small sum has before its first two."""
    digits = 2 if sum_of_money <= 0 else max(2, 1 - floor(log10(sum_of_money)))
    return f"${sum_of_money:.{digits}f}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
