"""What is printed of dimensions: the means of engines and of pairs of them, and what `judge align` found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from judge.analysis.dimension_summary import DimensionMean, DimensionSummary
from judge.cli.render.tables import (
    escape_line,
    format_decimal,
    format_decimal_range,
    make_table,
    print_lines,
    print_table,
)
from judge.measure.measures import name_mean
from judge.messages import Translator
from judge.report.display_text import name_dimension

if TYPE_CHECKING:
    from judge.dimensions.align import AlignmentSummary

#: How many notes of a dimension a run prints.
_NOTES = 3


def print_dimension(
    name: str, dimension: DimensionSummary, order: Sequence[str], console: Console, t: Translator
) -> None:
    """Print one row an engine, one row a pair of engines, the remarks and the first notes.

    A row has the means, the first one with its interval and over how many queries it is; another one has its
    number of queries in brackets where it differs. Where a terminal is too narrow, the other means follow in
    tables of their own.
    """
    title = name_dimension(t, name)
    engines = [engine for engine in order if engine in dimension.engines]
    # The titles of the columns that stay beside a mean.
    beside = t("95% interval"), t("queries")
    if dimension.measures:
        table = _make_table(title, dimension, engines, t)
        print_table(table, console, beside)
        if any(")" in str(cell) for column in table.columns[4:] for cell in column.cells):
            legend = t("in brackets: the number of queries of a mean, where it is not that of the first one")
            console.print(escape_line(legend), style="dim")
    for measure, pairs in dimension.group_pairs(order).items():
        table = make_table(t("engines"), t.name_measure(measure), *beside)
        for pair in pairs:
            table.add_row(escape_line(f"{pair.a} / {pair.b}"), *_format_mean(pair.mean, t))
        print_table(table, console, beside)
    print_lines((t("{name}: {value}", name=title, value=t(each)) for each in dimension.remarks), console)
    for note in dimension.notes[:_NOTES]:
        about = t("  {query_id}: {text}", query_id=note.query_id, text=t(note.text))
        if note.engine is not None:
            place = {"engine": note.engine, "query_id": note.query_id}
            about = t("  {engine} on {query_id}: {text}", **place, text=t(note.text))
        console.print(escape_line(about))
    if len(dimension.notes) > _NOTES:
        more = len(dimension.notes) - _NOTES
        console.print(escape_line(t("  … and {count:,} more in report.html", count=more)))


def _make_table(name: str, dimension: DimensionSummary, engines: Sequence[str], t: Translator) -> Table:
    main, *others = dimension.measures
    head = t.name_measure(main), t("95% interval"), t("queries")
    table = make_table(name, *head, *map(t.name_measure, others))
    for engine in engines:
        mean = dimension.find_mean(engine, main)
        rest = (_format_other(dimension.find_mean(engine, other), mean.queries) for other in others)
        table.add_row(escape_line(engine), *_format_mean(mean, t), *rest)
    return table


def _format_other(mean: DimensionMean, queries: int) -> str:
    """Return the mean, with its number of queries where that is not `queries`."""
    number = format_decimal(mean.mean)
    return number if mean.mean is None or mean.queries == queries else f"{number} ({mean.queries:,})"


def _format_mean(mean: DimensionMean, t: Translator) -> tuple[str, str, str]:
    return format_decimal(mean.mean), format_decimal_range(t, mean.ci95), f"{mean.queries:,}"


def print_alignment(summary: AlignmentSummary, run: Path, console: Console, t: Translator) -> None:
    """Print the measures of held-out queries, what they mean, and where the map is."""
    counts = t(
        "{summary.queries:,} queries with relevant and other snippets; {summary.snippets:,} snippets,"
        " {summary.triplets:,} triplets; {summary.embeddings} has {summary.dimensions:,} dimensions",
        summary=summary,
    )
    console.print(escape_line(counts))
    table = make_table(t("held-out queries"), t("before"), t("after"), t("difference"), t("95% interval"))
    for name, measure in summary.measures.items():
        numbers = (format_decimal(measure.before), format_decimal(measure.after))
        difference = format_decimal(measure.difference, "+.4f")
        table.add_row(name_mean(name), *numbers, difference, format_decimal_range(t, measure.ci95, "+.4f"))
    print_table(table, console)
    if any(measure.ci95 is None for measure in summary.measures.values()):
        console.print(t("There is no interval where too few queries differ."))
    name, measure = next(iter(summary.measures.items()))
    mean = name_mean(name)
    sentence = {
        "helps": t("The map helps: {measure} is higher after it.", measure=mean),
        "harms": t("The map harms: {measure} is lower after it.", measure=mean),
        "not separated": t(
            "The map does not help: {measure} is not separated from before (the difference may be chance).",
            measure=mean,
        ),
    }
    print_lines([sentence[measure.outcome], t("map: {file}", file=run / "alignment.npy")], console)
