"""What `judge agree` prints: whether the assessor judges as people do, plain words first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.render.rank_correlation_tables import correction, orders
from judge.cli.render.run_tables import between
from judge.dataset.clean import escape_controls
from judge.errors import InputError
from judge.measure.measures import parse_measure
from judge.report import words
from judge.report.words import counted

Row = Mapping[str, Any]


def agreement(found: Row, console: Console, measure: str | None = None) -> None:
    """Prints the answer, the table of grades, and what people's labels make of the engines.

    `measure` chooses whose order and correction is shown. Raises InputError when it is not in `found`.
    """
    deciding = _deciding(found, measure)
    _say(console, (*_answer(found), *_favoured(found)))
    console.print(_confusion(found), _statistics(found), sep="\n")
    _say(console, _reasons(found))
    if found["engines"]:
        console.print(_bias(found))
    if deciding is not None:
        _say(console, orders(found["orders"][deciding], deciding))
        if deciding in found["calibration"]:
            without_text = found["queries_without_text"]
            _say(console, correction(found["calibration"][deciding], deciding, without_text))
    console.print()
    for line in _references(found["references"]):
        console.print(Text(line, style="dim"))


def _say(console: Console, lines: Iterable[str | Table]) -> None:
    for line in lines:
        console.print(line if isinstance(line, Table) else Text(escape_controls(line)))


def _deciding(found: Row, measure: str | None) -> str | None:
    measured = list(found["orders"])
    if measure is None:
        return next(iter(measured), None)
    name = str(parse_measure(measure))
    if name not in measured:
        known = ", ".join(measured) or "none"
        raise InputError(
            f"{name} compares no engines here; the measures that do: {known};"
            " judge score RUN --save --measures"
            " takes others"
        )
    return name


def _answer(found: Row) -> Iterator[str]:
    yield (
        f"{counted(found['pairs'], 'pair')} of {counted(found['queries'], 'query', 'queries')} have a grade"
        f" from people ({_SCALES[found['people_scale']]}) and one from {found['assessor']}; of"
        f" {counted(found['wholly_labelled_queries'], 'query', 'queries')} people graded every pair"
    )
    if found["unmatched_labels"]:
        labels = counted(found["unmatched_labels"], "label")
        yield f"left out, being about nothing that is judged here: {labels}"
    if found["empty_pairs"]:
        empty = counted(found["empty_pairs"], "pair")
        yield f"left out, for the snippet has no text and grade 0 by rule: {empty}"
    if found["people_scale"] == "graded" and found["highest_label"] in (0, 1):
        yield "no label is above 1; if people said yes or no, add --labels-scale binary"
    kappa, same = found["kappa_relevant"], found["same_verdict"]
    if kappa["value"] is None:
        yield f"Agreement on relevant or not: {kappa['why']}."
    else:
        yield (
            f"On relevant or not they agree {words.strength(kappa['value'])}: the same on"
            f" {same['value']:.1%} of the pairs, kappa {kappa['value']:.3f}{words.interval(kappa['ci95'])},"
            " where 0 is chance and 1 is always."
        )
        if kappa["ci95"] and found["queries"] < words.FEW:
            yield f"{words.NARROW}."
    side = _clear_side(found["bias_relevant"])
    if side:
        people, assessor = _relevant_shares(found)
        kind = "generous" if side > 0 else "strict"
        yield (
            f"The assessor is more {kind} than people: it calls {assessor:.1%} of the pairs relevant,"
            f" people {people:.1%}."
        )


def _clear_side(cell: Row) -> int:
    """1 or -1 when the whole interval is above or below 0, else 0."""
    low, high = cell["ci95"] or (0.0, 0.0)
    return (low > 0) - (high < 0)


def _relevant_shares(found: Row) -> tuple[float, float]:
    """The shares of the pairs that people and the assessor call relevant."""
    rows: Sequence[Sequence[int]] = found["confusion"]
    people = sum(map(sum, rows[found["people_relevant_from"] :]))
    assessor = sum(sum(row[found["relevant_from"] :]) for row in rows)
    return people / found["pairs"], assessor / found["pairs"]


def _favoured(found: Row) -> Iterator[str]:
    gap = found["widest_gap"]
    if gap is None:
        return
    cell, favoured, other = gap["difference"], gap["favoured"], gap["other"]
    size = f"{cell['value']:.3f}{words.interval(cell['ci95'])} {_unit(found)}"
    if _clear_side(cell) > 0:
        yield (
            f"The assessor favours {favoured} over {other} by {size}, more than chance explains: a difference"
            " between engines may come from that."
        )
    else:
        why = "" if cell["ci95"] else f" ({cell['why']})"
        yield (
            f"No engine is clearly favoured; of all pairs the widest gap is {favoured} over {other},"
            f" {size}{why}."
        )


def _unit(found: Row) -> str:
    """What engines' biases are measured in."""
    of_grades = found["bias"]["value"] is not None and len(found["confusion"][0]) > 2
    return "grades a result" if of_grades else "in the share of results called relevant"


def _confusion(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = found["confusion"]
    table.add_column("people's grade \\ the assessor's")
    for grade in range(len(rows[0])):
        table.add_column(str(grade), justify="right")
    for grade, row in enumerate(rows):
        table.add_row(str(grade), *(f"{count:,}" for count in row))
    return table


_SCALES = {"graded": "0 to 3", "binary": "yes or no"}

_NAMES = {
    "same_grade": "same grade",
    "kappa": "kappa",
    "kappa_quadratic": "kappa, near misses count less (quadratic)",
    "alpha": "alpha, near misses count less (ordinal)",
    "bias": "mean of assessor's grade - people's",
    "same_verdict": "relevant or not: same",
    "kappa_relevant": "relevant or not: kappa",
    "bias_relevant": "share relevant, assessor's - people's",
    "precision": "of the assessor's relevant, relevant to people",
    "recall": "of people's relevant, found by the assessor",
}


def _cells(found: Row) -> dict[str, Row]:
    """Every statistic by its name in print."""
    differ = len(found["confusion"]) != len(found["confusion"][0])
    names = {**_NAMES, "kappa": "kappa of bare numbers (scales differ)"} if differ else _NAMES
    named = {name: found[key] for key, name in names.items()}
    at = {f"kappa, relevant from grade {grade}": cell for grade, cell in found["kappa_at"].items()}
    return named | at


def _statistics(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agreement", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("95 % range", justify="right", no_wrap=True)
    for name, cell in _cells(found).items():
        value = "-" if cell["value"] is None else f"{cell['value']:.4f}"
        table.add_row(name, value, between(cell["ci95"]))
    return table


def _reasons(found: Row) -> Iterator[str]:
    """Why a number or its range is missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, cell in _cells(found).items():
        if "why" in cell:
            missing.setdefault(cell["why"], []).append(name)
    for why, names in missing.items():
        few = names if len(names) <= 3 else [names[0], f"{len(names) - 1} more"]
        yield f"- ({'; '.join(few)}): {why}"


def _bias(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("assessor's - people's, by engine", overflow="fold")
    for name in ("mean", "95 % range", "results"):
        table.add_column(name, justify="right", no_wrap=True)
    for engine, row in found["engines"].items():
        cell = row["bias"]
        value = "-" if cell["value"] is None else f"{cell['value']:+.4f}"
        table.add_row(
            Text(escape_controls(engine)), value, between(cell["ci95"], "+.3f"), f"{row['results']:,}"
        )
    return table


def _references(found: Sequence[Row]) -> Iterator[str]:
    names = {
        "kappa": "kappa on 4 grades",
        "kappa_relevant": "kappa on relevant or not",
        "tau": "tau",
    }
    yield "For comparison, what others measured:"
    for row in found:
        value = f"{row['low']}" if row["low"] == row["high"] else f"{row['low']} to {row['high']}"
        yield f"  {names[row['statistic']]} {value}: {row['what']} ({row['source']})"
