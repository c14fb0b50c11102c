"""What is printed of dimensions: the means of engines and of pairs of them, and what `judge align` found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judge.analysis.dimension_summary import DimensionSummary
from judge.cli.render.tables import Part, make_table
from judge.cli.terminal import t
from judge.measure.measures import name_mean
from judge.report.display_text import format_plain_number, format_plain_range, name_dimension
from judge.report.result_tables import iter_dimension_tables

if TYPE_CHECKING:
    from judge.dimensions.align import AlignmentSummary

#: How many notes of a dimension a run prints.
_NOTES = 3


def iter_dimension_parts(name: str, dimension: DimensionSummary, order: Sequence[str]) -> Iterator[Part]:
    """Yield one row an engine, one row a pair of engines, the remarks and the first notes."""
    title = name_dimension(t, name)
    yield from iter_dimension_tables(name, dimension, order)
    yield from (t("{name}: {value}", name=title, value=t(remark)) for remark in dimension.remarks)
    for note in dimension.notes[:_NOTES]:
        yield t(
            "  {query_id}: {text}" if note.engine is None else "  {engine} on {query_id}: {text}",
            engine=note.engine,
            query_id=note.query_id,
            text=t(note.text),
        )
    if len(dimension.notes) > _NOTES:
        yield t("  … and {count:,} more in report.html", count=len(dimension.notes) - _NOTES)


def iter_alignment_parts(summary: AlignmentSummary, run: Path) -> Iterator[Part]:
    """Yield the measures of held-out queries, what they mean, and where the map is."""
    yield t(
        "{summary.queries:,} queries with relevant and other snippets; {summary.snippets:,} snippets,"
        " {summary.triplets:,} triplets; {summary.embeddings} has {summary.dimensions:,} dimensions",
        summary=summary,
    )
    rows = (
        (
            name_mean(name),
            format_plain_number(measure.before, ".4f"),
            format_plain_number(measure.after, ".4f"),
            format_plain_number(measure.difference, "+.4f"),
            format_plain_range(t, measure.ci95, "+.4f"),
        )
        for name, measure in summary.measures.items()
    )
    titles = t("held-out queries"), t("before"), t("after"), t("difference"), t("95% interval")
    yield make_table(titles, rows)
    if any(measure.ci95 is None for measure in summary.measures.values()):
        yield t("There is no interval where too few queries differ.")
    name, measure = next(iter(summary.measures.items()))
    sentence = {
        "helps": t("The map helps: {measure} is higher after it.", measure=name_mean(name)),
        "harms": t("The map harms: {measure} is lower after it.", measure=name_mean(name)),
        "not separated": t(
            "It is open whether the map helps: {measure} before and after it is not separated (the difference"
            " may be chance).",
            measure=name_mean(name),
        ),
    }
    yield sentence[measure.outcome]
    yield t("map: {file}", file=run / "alignment.npy")
