"""What a run prints of its dimensions: one table each, with the means of the engines."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from judge.analysis.dimension_result import DimensionSummary
from judge.analysis.summary import Summary
from judge.cli.render.cells import escape_line, format_number, format_range, make_table, print_table
from judge.messages import Translator
from judge.report import sentences

#: How many notes of a dimension a run prints.
_NOTES = 3


def print_dimensions(summary: Summary, console: Console, t: Translator) -> None:
    """Print each dimension, the engines best first."""
    order = sentences.sort_engines(summary, summary.measures[0])
    for name, dimension in summary.dimensions.items():
        print_dimension(name, dimension, order, console, t)


def print_dimension(
    name: str, dimension: DimensionSummary, order: Iterable[str], console: Console, t: Translator
) -> None:
    """Print one row an engine, the remarks and the first notes.

    A row has the means, the first one with its interval and over how many queries it is.
    """
    if dimension.measures:
        first, *others = dimension.measures
        table = make_table(t(name), first, t("95 % interval"), t("queries"), *others)
        for engine in (engine for engine in order if engine in dimension.engines):
            mean = dimension.find_mean(engine, first)
            numbers = (format_number(mean.mean), format_range(t, mean.ci95), f"{mean.queries:,}")
            rest = (format_number(dimension.find_mean(engine, other).mean) for other in others)
            table.add_row(escape_line(engine), *numbers, *rest)
        print_table(table, console)
    for remark in dimension.remarks:
        console.print(escape_line(t("{name}: {value}", name=t(name), value=t(remark))))
    for note in dimension.notes[:_NOTES]:
        about = "  {note.query_id}: {note.text}"
        if note.engine is not None:
            about = t("  {note.engine} on {note.query_id}: {note.text}")
        console.print(escape_line(about.format(note=note)))
    if len(dimension.notes) > _NOTES:
        more = len(dimension.notes) - _NOTES
        console.print(escape_line(t("  … and {count:,} more in report.html", count=more)))
