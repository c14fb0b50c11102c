"""Owns `judge compare` on the terminal: all that is known of the engines, plain words first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.dataset.clean import visible
from judge.errors import InputError
from judge.measure.measures import parse
from judge.report import words
from judge.report.table import between, share, title

Row = Mapping[str, Any]

_LEGEND = (
    "How to read it: all numbers are over queries, one engine against the other on the same ones."
    " The 95 % range is where the mean would fall with other queries of the same kind."
    " p is how often chance alone makes a difference as large; p (Holm) allows for looking at several"
    " pairs (a range looks at one), and an engine is named only below 0.05."
    " 'detectable' is the smallest difference that so many queries show 4 times out of 5."
)


def comparison(summary: Row, console: Console, measures: Iterable[str] | None, pairs: int) -> None:
    """Prints the answer, then the numbers behind it.

    At most `pairs` pairs are shown for each of `measures` (None: the first that engines are compared
    by). Raises InputError when the run has no such measure.
    """
    chosen = _chosen(summary, measures)
    for line in _head(summary):
        console.print(Text(visible(line)))
    console.print(_counts(summary))
    console.print(_means(summary))
    for measure in chosen:
        rows = [row for row in summary["comparisons"] if row["measure"] == measure]
        if rows:
            console.print(_pairs(title(measure), rows[:pairs]))
        if len(rows) > pairs:
            console.print(Text(f"… and {len(rows) - pairs:,} more pairs: --pairs {len(rows)} or --json"))
    for line in _tail(summary):
        console.print(Text(visible(line)))
    console.print()
    console.print(Text(_LEGEND, style="dim"))


def _chosen(summary: Row, measures: Iterable[str] | None) -> Sequence[str]:
    known = list(dict.fromkeys(row["measure"] for row in summary["comparisons"]))
    if measures is None:
        return known[:1]
    chosen = [str(parse(name)) for name in measures]
    for name in chosen:
        if known and name not in known:
            raise InputError(f"engines were not compared by {name}; they were by {', '.join(known)}")
    return chosen


def _head(summary: Row) -> Iterator[str]:
    yield from summary.get("remarks", ())
    yield (
        f"{summary['queries']:,} queries, {len(summary['engines'])} engines, judged down to rank"
        f" {summary['depth']} by {summary['assessor']}, {summary['repeats']} repeat(s);"
        f" {summary['pairs']:,} pairs, {summary['coverage']:.1%} judged"
    )
    headline = words.headline(summary)
    if headline:
        yield headline
    if summary["within_lists"]:
        yield summary["within_lists"]["why"]


def _counts(summary: Row) -> Table:
    table = _table(
        "what came back", "answered", "empty", "broke", "absent", "judged", "repeated", "only here"
    )
    for engine in words.standing(summary, summary["measures"][0]):
        row = summary["engines"][engine]
        counts = (str(row[name]) for name in ("answered", "empty", "errors", "absent"))
        shares = (share(row[name]) for name in ("judged", "duplicates", "unique"))
        table.add_row(Text(visible(engine)), *counts, *shares)
    return table


def _means(summary: Row) -> Table:
    table = _table("mean (95 % range)", *map(title, summary["measures"]))
    for engine in words.standing(summary, summary["measures"][0]):
        cells = summary["engines"][engine]["measures"].values()
        table.add_row(Text(visible(engine)), *map(_mean, cells))
    return table


def _mean(cell: Row) -> str:
    if cell["mean"] is None:
        return "-"
    return f"{cell['mean']:.4f} ({between(cell['ci95'])})" if cell["ci95"] else f"{cell['mean']:.4f}"


def _pairs(name: str, rows: Iterable[Row]) -> Table:
    table = _table(f"by {name}", "a - b", "95 % range", "d_z", "won/tied/lost", "p", "p (Holm)", "detectable")
    table.add_column("so", overflow="fold")
    for row in rows:
        table.add_row(
            Text(visible(f"{row['a']} - {row['b']}")),
            _number(row["difference"], "+.4f"),
            between(row["ci95"], "+.4f"),
            _number(row["d_z"], "+.2f"),
            f"{row['wins']}/{row['ties']}/{row['losses']}",
            _number(row["p"], ".4f"),
            _number(row["p_holm"], ".4f"),
            _number(row["detectable"], ".4f"),
            Text(visible(row["verdict"])),
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _tail(summary: Row) -> Iterator[str]:
    deciding = words.deciding(summary) or summary["measures"][0]
    for column, values in summary["slices"].items():
        for value, part in values.items():
            name = f"{column} {value} ({part['queries']:,} queries)"
            yield f"{name}, {title(deciding)}: {_part(part, deciding)}"
    if summary["stability"]:
        yield from words.stability(summary["stability"], deciding)


def _part(part: Row, measure: str) -> str:
    means = {engine: row[measure]["mean"] for engine, row in part["engines"].items()}
    best_first = sorted((-mean, engine) for engine, mean in means.items() if mean is not None)
    shown = [f"{engine} {-mean:.3f}" for mean, engine in best_first]
    found = [row["verdict"] for row in part["comparisons"] if row["winner"]]
    return f"{', '.join(shown)}; {', '.join(found) if found else 'none separated'}"
