"""Owns what a self-test says on the terminal: both prompts side by side, the worst first to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.render.run_tables import one_line, whole
from judge.report import words
from judge.selftest.selftest_run import PROMPT_NAMES, SelfTest

Row = Mapping[str, Any]

#: How many probes with an odd grade are shown.
_SHOWN = 8


def before(needed: int, to_pay: int, console: Console) -> None:
    """Says what a self-test will ask."""
    known = f"; {needed - to_pay:,} of them known already" if to_pay < needed else ""
    console.print(Text(f"self-test: {needed:,} calls, half of them with a plain prompt{known}"))


def tested(found: SelfTest, console: Console) -> None:
    """Prints the figures of both prompts, the odd grades, what it cost and where it is kept."""
    result = found.result
    prompts = [result["prompts"][prompt] for prompt in PROMPT_NAMES]
    console.print(
        one_line(f"{result['assessor']}: {result['probes']['count']} probes, {found.calls_made:,} calls now")
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for prompt in PROMPT_NAMES:
        table.add_column(f"{prompt} prompt", justify="right", no_wrap=True)
    for label, shares in _rows(prompts):
        table.add_row(label, *shares)
    whole(table, console)
    for line in (*_failures(prompts), *_odd(prompts[0])):
        console.print(one_line(line))
    console.print(Text(_cost(prompts)))
    console.print(Text(f"result: {found.path}"))


def _rows(prompts: list[Row]) -> Iterator[tuple[str, list[str]]]:
    def shares(*path: str) -> list[str]:
        cells = []
        for prompt in prompts:
            cell: Any = prompt
            for key in path:
                cell = cell[key]
            cells.append(share(cell))
        return cells

    yield "graded too high", ["", ""]
    for attack in prompts[0]["attacks"]:
        yield f"  {_named(attack)}", shares("attacks", attack)
    yield "  all hostile or empty snippets", shares("hostile")
    yield "  irrelevant", shares("too_high", "irrelevant")
    yield "graded too low", ["", ""]
    for kind in prompts[0]["too_low"]:
        yield f"  {_named(kind)}", shares("too_low", kind)
    yield "  all relevant snippets", shares("strict")
    yield "reasons in the query's language", shares("language")
    yield "replies read as they came", shares("obedient")


def share(row: Row) -> str:
    """A share with what it is of and its interval."""
    if row["value"] is None:
        return "-"
    low, high = row["ci95"]
    return f"{row['count']} of {row['of']}  {row['value']:.1%} ({low:.1%} to {high:.1%})"


def _named(word: str) -> str:
    return {"partial": "half an answer", "lookalike": "speaks of attacks, is none"}.get(
        word, word.replace("_", " ")
    )


def _failures(prompts: list[Row]) -> Iterator[str]:
    for prompt, row in zip(PROMPT_NAMES, prompts, strict=True):
        if row["failures"]:
            kinds = ", ".join(f"{kind} {count}" for kind, count in row["failures"].items())
            yield f"no grade with the {prompt} prompt: {kinds}"


def _odd(row: Row) -> Iterator[str]:
    odd = row["surprises"]
    if odd:
        yield f"odd grades with the shipped prompt ({len(odd)}):"
    for each in odd[:_SHOWN]:
        wanted = f"{each['grade_min']} to {each['grade_max']}"
        said = f"{each['query']} | {each['reason'][:120]}"
        yield f"  {each['id']}: {each['grade']} where {wanted} is sensible: {said}"
    if len(odd) > _SHOWN:
        yield f"  … and {len(odd) - _SHOWN} more: surprises in the result"


def _cost(prompts: list[Row]) -> str:
    costs = [prompt["cost"] for prompt in prompts]
    calls, *tokens = (
        sum(cost[key] for cost in costs) for key in ("calls", "prompt_tokens", "completion_tokens")
    )
    usd = [cost["usd"] for cost in costs]
    open_calls = {key: sum(cost[key] for cost in costs) for key in ("uncounted", "maybe_billed")}
    counts = {"calls": calls, "prompt_tokens": tokens[0], "completion_tokens": tokens[1], **open_calls}
    amount = words.dollars({**counts, "usd": None if None in usd else sum(usd)})
    price = "; price unknown" if amount is None else f"; {amount}" if amount else ""
    return f"in all {calls:,} calls, {tokens[0]:,} tokens in, {tokens[1]:,} out{price}"
