"""What `judge align` prints: measures before and after the map, and whether it helps."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from judge.cli.render.cells import escape_line, format_number, format_range, make_table, print_table
from judge.dimensions.align import AlignmentSummary
from judge.messages import Translator
from judge.report.charts.svg import name_mean


def print_alignment(summary: AlignmentSummary, run: Path, console: Console, t: Translator) -> None:
    """Print the measures of held-out queries, what they mean, and where the map is."""
    console.print(
        escape_line(
            t(
                "{summary.queries:,} queries with relevant and other snippets; {summary.snippets:,} snippets,"
                " {summary.triplets:,} triplets; {summary.embeddings} has {summary.dimensions:,} dimensions",
                summary=summary,
            )
        )
    )
    table = make_table(t("held-out queries"), t("before"), t("after"), t("difference"), t("95 % interval"))
    for name, measure in summary.measures.items():
        numbers = (format_number(measure.before), format_number(measure.after))
        difference = format_number(measure.difference, "+.4f")
        table.add_row(name_mean(name), *numbers, difference, format_range(t, measure.ci95, "+.4f"))
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
    console.print(escape_line(sentence[measure.outcome]))
    console.print(escape_line(t("map: {file}", file=run / "alignment.npy")))
