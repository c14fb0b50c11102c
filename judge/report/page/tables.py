"""Tables of the report: engines, pairs of engines, segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judge.analysis.run_analysis import describe_outcome
from judge.analysis.summary import (
    EngineResult,
    MeasureMean,
    PairComparison,
    SegmentMean,
    SegmentResult,
    Summary,
)
from judge.messages import CHINESE, Text, text
from judge.report import sentences
from judge.report.charts.svg import format_number, format_p_value, format_range, mean_name

#: How many pairs of engines a table lists; summary.json has them all.
MAX_PAIRS = 60


class Cell(NamedTuple):
    """The text of a cell, and a text in small letters under it."""

    main: Text
    under: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table whose rows begin with a name; `more` rows are left out."""

    caption: Text
    head: tuple[Text, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    more: int = 0


def has_values(summary: Summary, field: str) -> bool:
    """Return whether `field` has a value other than 0 for one engine at least."""
    return any(getattr(row, field) for row in summary.engines.values())


def same_text(text: str) -> Text:
    """Return a text that is the same in both languages."""
    return Text(text, text)


def number_cell(value: float | None, form: str = ".4f") -> Cell:
    """Return a cell with a number, or a dash."""
    return Cell(same_text(format_number(value, form)))


_COUNTS = {
    "answered": text("answered"),
    "empty": text("empty"),
    "errors": text("errors"),
    "absent": text("not asked"),
}
_SHARES = {
    "judged": text("judged"),
    "duplicates": text("duplicates"),
    "unique": text("unique"),
}
#: Latency and tokens of the answers, where they were measured.
_LATENCY_HEAD = (text("ms, median"), text("tokens"))


def engines_table(summary: Summary) -> PageTable:
    """Return one row for each engine, best first: means with intervals, and what the engine returned."""
    measures = summary.measures
    counts, shares = (
        {key: text for key, text in kind.items() if has_values(summary, key)} for kind in (_COUNTS, _SHARES)
    )
    timed = has_values(summary, "latency_ms")
    rows = []
    for engine in sentences.sort_engines(summary, sentences.find_main_measure(summary)):
        row = summary.engines[engine]
        means = [_mean(row.measures[measure]) for measure in measures]
        numbers = [Cell(same_text(f"{getattr(row, key):,}")) for key in counts]
        numbers += [number_cell(getattr(row, key), ".1%") for key in shares]
        rows.append((engine, (*means, *numbers, *(_latency_and_tokens(row) if timed else ()))))
    head = (*(same_text(mean_name(measure)) for measure in measures), *counts.values(), *shares.values())
    head += _LATENCY_HEAD if timed else ()
    caption = text("Engines: means with 95 % range, and what came back")
    return PageTable(caption, (text("engine"), *head), tuple(rows))


def _latency_and_tokens(row: EngineResult) -> tuple[Cell, Cell]:
    """Return the latency (median, and the 95th percentile under it) and the mean number of tokens."""
    latency, tokens = row.latency_ms, row.tokens
    return (
        Cell(same_text(f"{latency.median:,.0f}"), f"95 %: {latency.p95:,.0f}")
        if latency
        else number_cell(None),
        Cell(same_text(f"{tokens.mean:,.0f}")) if tokens else number_cell(None),
    )


def _mean(cell: MeasureMean | SegmentMean) -> Cell:
    if cell.mean is None:
        return number_cell(None)
    return Cell(same_text(f"{cell.mean:.4f}"), format_range(cell.ci95) if cell.ci95 else "")


def pair_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of all pairs of engines for each measure that compares engines."""
    for measure in dict.fromkeys(row.measure for row in summary.comparisons):
        rows = [row for row in summary.comparisons if row.measure == measure]
        decides = measure == sentences.find_deciding_measure(summary)
        caption = Text(
            f"Pairs by {mean_name(measure)}" + ("" if decides else " (descriptive)"),
            f"两两比较：{mean_name(measure)}" + ("" if decides else "（仅供参考）"),
        )
        drawn_rows = tuple((f"{row.a} − {row.b}", _pair(row)) for row in rows[:MAX_PAIRS])
        yield PageTable(caption, _PAIR_HEAD, drawn_rows, len(rows) - len(drawn_rows))


_PAIR_HEAD = (
    text("pair"),
    text("result"),
    text("difference"),
    text("95 % range"),
    text("won / tied / lost"),
    text("p, adjusted"),
    text("worst case"),
    text("detectable"),
)


def _pair(row: PairComparison) -> tuple[Cell, ...]:
    outcome = Text(row.verdict, describe_outcome(CHINESE, row))
    return (
        Cell(outcome),
        number_cell(row.difference, "+.4f"),
        Cell(same_text(format_range(row.ci95, "+.4f"))),
        Cell(same_text(f"{row.wins:,} / {row.ties:,} / {row.losses:,}")),
        Cell(same_text(format_p_value(row.p_adjusted))),
        Cell(same_text(format_range(row.bounds, "+.4f") if sentences.is_unsure(row) else "–")),
        Cell(
            same_text(format_number(row.detectable, ".3f")),
            format_number(row.detectable_doubled, ".3f"),
        ),
    )


def segment_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of the engines' means in each segment for each column that divides the queries."""
    measure = sentences.find_main_measure(summary)
    for column, values in summary.segments.items():
        caption = text("By {column}: mean {measure}", column=column, measure=mean_name(measure))
        order = sentences.sort_engines(summary, measure)
        rows = tuple((value, _segment(part, order, measure)) for value, part in values.items())
        head = (
            same_text(column),
            text("queries"),
            *map(same_text, order),
            text("separated"),
        )
        yield PageTable(caption, head, rows)


def _segment(part: SegmentResult, order: Sequence[str], measure: str) -> tuple[Cell, ...]:
    means = [part.engines.get(engine, {}).get(measure) for engine in order]
    verdicts = [row.verdict for row in part.comparisons if row.winner]
    text = Text("; ".join(verdicts) or "none", "；".join(verdicts) or "无")
    cells = [_mean(mean) if mean else number_cell(None) for mean in means]
    return (Cell(same_text(f"{part.queries:,}")), *cells, Cell(text))
