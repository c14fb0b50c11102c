"""Tables of the report: engines, pairs of engines, segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison, describe_outcome
from judge.measure.engine_summary import MeasureMean
from judge.measure.segments import SegmentMean, SegmentResult
from judge.messages import CHINESE, Text, text
from judge.report import sentences
from judge.report.charts.svg import name_mean
from judge.report.number_texts import NOTHING, format_number, format_p_value, format_range

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


def repeat_in_both(text: str) -> Text:
    """Return a text that is the same in both languages."""
    return Text(text, text)


def format_cell(value: float | None, form: str = ".4f", under: str = "") -> Cell:
    """Return a cell with a number, or a dash."""
    return Cell(repeat_in_both(format_number(value, form)), under)


#: The columns of what came back, with the forms of their numbers; each is there where it has a number but 0.
_COLUMNS = {
    "answered": (text("answered"), ","),
    "empty": (text("empty"), ","),
    "errors": (text("errors"), ","),
    "absent": (text("not asked"), ","),
    "judged": (text("judged"), ".1%"),
    "duplicates": (text("duplicates"), ".1%"),
    "unique": (text("unique"), ".1%"),
}


def make_engines_table(summary: Summary) -> PageTable:
    """Return one row for each engine, best first: means with intervals, and what the engine returned."""
    engines = summary.engines.values()
    columns = {key: column for key, column in _COLUMNS.items() if any(getattr(row, key) for row in engines)}
    head = [text("engine"), *(repeat_in_both(name_mean(measure)) for measure in summary.measures)]
    head += [name for name, _ in columns.values()]
    timed = any(row.latency_ms for row in engines)
    head += [text("ms, median"), text("tokens")] if timed else []
    scored = any(row.rerank_relevancy for row in engines)
    head += [text("score mean"), text("score max")] if scored else []
    rows = []
    for engine in sentences.sort_engines(summary, sentences.find_main_measure(summary)):
        row = summary.engines[engine]
        cells = [_format_mean(row.measures[measure]) for measure in summary.measures]
        cells += [format_cell(getattr(row, key), form) for key, (_, form) in columns.items()]
        if timed:
            latency, tokens = row.latency_ms, row.tokens
            p95 = f"95 %: {latency.p95:,.0f}" if latency else ""
            cells.append(format_cell(latency.median if latency else None, ",.0f", p95))
            cells.append(format_cell(tokens.mean if tokens else None, ",.0f"))
        if scored:
            relevancy = row.rerank_relevancy
            cells.append(format_cell(relevancy.mean if relevancy else None, ".4f"))
            cells.append(format_cell(relevancy.max if relevancy else None, ".4f"))
        rows.append((engine, tuple(cells)))
    caption = text("Engines: means with 95 % range, and what came back")
    return PageTable(caption, tuple(head), tuple(rows))


def _format_mean(mean: MeasureMean | SegmentMean) -> Cell:
    return format_cell(mean.mean, under=format_range(mean.ci95) if mean.ci95 else "")


def list_pair_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of all pairs of engines for each measure that compares engines."""
    deciding = sentences.find_deciding_measure(summary)
    for measure in dict.fromkeys(row.measure for row in summary.comparisons):
        rows = [row for row in summary.comparisons if row.measure == measure]
        caption = text("Pairs by {measure} (descriptive)", measure=name_mean(measure))
        if measure == deciding:
            caption = text("Pairs by {measure}", measure=name_mean(measure))
        shown = tuple((f"{row.a} − {row.b}", _list_pair_cells(row)) for row in rows[:MAX_PAIRS])
        yield PageTable(caption, _PAIR_HEAD, shown, len(rows) - len(shown))


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


def _list_pair_cells(row: PairComparison) -> tuple[Cell, ...]:
    return (
        Cell(Text(row.verdict, describe_outcome(CHINESE, row))),
        format_cell(row.difference, "+.4f"),
        Cell(repeat_in_both(format_range(row.ci95, "+.4f"))),
        Cell(repeat_in_both(f"{row.wins:,} / {row.ties:,} / {row.losses:,}")),
        Cell(repeat_in_both(format_p_value(row.p_adjusted, NOTHING))),
        Cell(repeat_in_both(format_range(row.bounds if sentences.is_unsure(row) else None, "+.4f"))),
        format_cell(row.detectable, ".3f", format_number(row.detectable_doubled, ".3f")),
    )


def list_segment_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of the engines' means in each segment for each column that divides the queries."""
    measure = sentences.find_main_measure(summary)
    for column, values in summary.segments.items():
        caption = text("By {column}: mean {measure}", column=column, measure=name_mean(measure))
        order = sentences.sort_engines(summary, measure)
        rows = tuple((value, _list_segment_cells(part, order, measure)) for value, part in values.items())
        head = (repeat_in_both(column), text("queries"), *map(repeat_in_both, order), text("separated"))
        yield PageTable(caption, head, rows)


def _list_segment_cells(part: SegmentResult, order: Sequence[str], measure: str) -> tuple[Cell, ...]:
    means = [part.engines.get(engine, {}).get(measure) for engine in order]
    verdicts = [row.verdict for row in part.comparisons if row.winner]
    separated = Text(*(mark.join(verdicts) for mark in text("; "))) if verdicts else text("none")
    cells = [_format_mean(mean) if mean else format_cell(None) for mean in means]
    return (format_cell(part.queries, ","), *cells, Cell(separated))
