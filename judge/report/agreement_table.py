"""Owns `judge agree` on the terminal: whether the assessor judges as people do, plain words first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.dataset.clean import visible
from judge.report import words
from judge.report.table import between, title

Row = Mapping[str, Any]

#: Lines for Cohen's kappa that are easy to say (Landis & Koch 1977).
_KAPPA = ((0.81, "almost perfectly"), (0.61, "substantially"), (0.41, "moderately"), (0.21, "fairly"))


def agreement(found: Row, console: Console, measure: str | None = None) -> None:
    """Prints the answer, the table of grades, and what people's labels make of the engines."""
    for line in _answer(found):
        console.print(Text(visible(line)))
    console.print(_confusion(found))
    console.print(_statistics(found))
    deciding = measure or next(iter(found["orders"]), None)
    if found["engines"]:
        console.print(_bias(found))
    if deciding is not None:
        for line in _order(found["orders"][deciding], deciding):
            console.print(Text(visible(line)))
        _calibration(found["calibration"][deciding], deciding, console)
    console.print()
    for line in _references(found["references"]):
        console.print(Text(line, style="dim"))


def _answer(found: Row) -> Iterator[str]:
    yield (
        f"{found['pairs']:,} pairs of {found['queries']:,} queries have a grade from people and one from"
        f" {found['assessor']}; {found['wholly_labelled_queries']:,} queries are labelled whole"
    )
    if found["unmatched_labels"]:
        yield f"{found['unmatched_labels']:,} labels are about nothing in this run and are left out"
    kappa, same = found["kappa_relevant"], found["same_verdict"]
    if kappa["value"] is None:
        yield f"Agreement on relevant or not: {kappa['why']}"
        return
    word = next((word for least, word in _KAPPA if kappa["value"] >= least), "slightly, if at all")
    yield (
        f"On relevant or not they agree {word}: the same on {same['value']:.1%} of the pairs, kappa"
        f" {kappa['value']:.3f}{words.interval(kappa['ci95'])} (0 is chance, 1 is always)."
    )
    bias = found["bias_relevant"]
    if bias["value"] is not None and bias["ci95"] and not bias["ci95"][0] <= 0 <= bias["ci95"][1]:
        side = "generous" if bias["value"] > 0 else "strict"
        yield f"The assessor is more {side} than people: it calls {bias['value']:+.1%} of the pairs relevant."


def _confusion(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = found["confusion"]
    table.add_column("people \\ assessor")
    for grade in range(len(rows[0])):
        table.add_column(str(grade), justify="right")
    for grade, row in enumerate(rows):
        table.add_row(str(grade), *(f"{count:,}" for count in row))
    return table


_NAMES = {
    "same_grade": "same grade",
    "kappa": "kappa",
    "kappa_quadratic": "kappa, quadratic",
    "alpha": "alpha, ordinal",
    "bias": "assessor - people, grades",
    "same_verdict": "relevant or not: same",
    "kappa_relevant": "relevant or not: kappa",
    "bias_relevant": "assessor - people, share relevant",
    "precision": "of the assessor's relevant, relevant to people",
    "recall": "of people's relevant, found by the assessor",
}


def _statistics(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agreement", no_wrap=True)
    table.add_column("", justify="right")
    table.add_column("95 % range over queries", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    named = {name: found[key] for key, name in _NAMES.items()}
    named |= {f"kappa, relevant from {grade}": cell for grade, cell in found["kappa_at"].items()}
    for name, cell in named.items():
        value = "-" if cell["value"] is None else f"{cell['value']:.4f}"
        table.add_row(name, value, between(cell["ci95"]), cell.get("why", ""))
    return table


def _bias(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("assessor - people, by engine", overflow="fold")
    for name in ("mean", "95 % range", "results"):
        table.add_column(name, justify="right", no_wrap=True)
    for engine, row in found["engines"].items():
        cell = row["bias"]
        value = "-" if cell["value"] is None else f"{cell['value']:+.4f}"
        table.add_row(Text(visible(engine)), value, between(cell["ci95"], "+.3f"), f"{row['results']:,}")
    return table


def _order(found: Row, measure: str) -> Iterator[str]:
    if found["tau"]["value"] is None:
        yield f"{title(measure)}: the orders of the engines can't be compared: {found['tau']['why']}"
        return
    rank = "-" if found["tau_ap"] is None else f"{found['tau_ap']:.4f}"
    overlap = "-" if found["rbo"] is None else f"{found['rbo']:.4f}"
    yield (
        f"{title(measure)} on {found['queries']:,} queries: tau {found['tau']['value']:.4f}"
        f"{words.interval(found['tau']['ci95'])}, tau-ap {rank}, RBO {overlap} between the engines' orders"
    )
    swapped: Sequence[Sequence[str]] = found["swapped"]
    if swapped:
        shown = "; ".join(f"{a} before {b}" for a, b in swapped[:5])
        more = f"; {len(swapped) - 5:,} more" if len(swapped) > 5 else ""
        yield f"people put, and the assessor does not: {shown}{more}"


def _calibration(found: Row, measure: str, console: Console) -> None:
    if "why" in found:
        console.print(Text(visible(f"No correction of {title(measure)}: {found['why']}")))
        return
    for line in found["warnings"]:
        console.print(Text(visible(line)))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{title(measure)}, corrected by people's labels", overflow="fold")
    for name in ("assessor", "corrected", "95 % range", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("assessor's order", no_wrap=True)
    for engine, row in found["engines"].items():
        table.add_row(
            Text(visible(engine)), f"{row['assessor']:.4f}", f"{row['corrected']:.4f}", between(row["ci95"])
        )
    for row in found["comparisons"]:
        pair = Text(visible(f"{row['a']} - {row['b']}"))
        means = f"{row['assessor']:+.4f}", f"{row['corrected']:+.4f}", between(row["ci95"], "+.3f")
        table.add_row(pair, *means, f"{row['p_holm']:.4f}", row["outcome"])
    console.print(table)


def _references(found: Sequence[Row]) -> Iterator[str]:
    names = {"kappa": "kappa on 4 grades", "kappa_relevant": "kappa on relevant or not", "tau": "tau"}
    yield "For scale, measured by others:"
    for row in found:
        value = f"{row['low']}" if row["low"] == row["high"] else f"{row['low']} to {row['high']}"
        yield f"  {names[row['statistic']]} {value}: {row['what']} ({row['source']})"
