"""Tables of the report: engines, pairs of engines, segments and dimensions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judge.analysis.dimension_summary import DimensionMean, DimensionNote
from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison, describe_outcome
from judge.measure.engine_summary import MeasureMean
from judge.measure.measures import name_mean
from judge.measure.segments import SegmentMean
from judge.messages import Bilingual, Translator, build_text, make_text
from judge.report.comparison_sentences import COMPARISON_TITLES, list_comparison_figures
from judge.report.display_text import (
    fit_on_line,
    format_number,
    format_range,
    name_dimension,
    translate_remark,
)

#: How many comparisons a table lists; summary.json has them all.
_MAX_COMPARISONS = 60
#: The titles of the counts of what came back by field, and those that are shares.
COUNT_COLUMNS = {
    "answered": make_text("answered"),
    "empty": make_text("empty"),
    "errors": make_text("errors"),
    "absent": make_text("no row"),
    "judged": make_text("judged"),
    "duplicates": make_text("duplicates"),
    "unique": make_text("unique"),
}
_SHARES = frozenset({"judged", "duplicates", "unique"})
_COMPARISON_HEAD = (make_text("pair"), make_text("result"), *COMPARISON_TITLES, make_text("detectable"))


class Cell(NamedTuple):
    """The text of a cell, and a text in small letters under it."""

    main: Bilingual
    under: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table whose rows begin with a name; `more` rows are left out.

    Under it stand `remarks`, and under that of a dimension its notes with their texts.
    """

    caption: Bilingual
    head: tuple[Bilingual, ...]
    rows: Sequence[tuple[str, tuple[Cell, ...]]]
    more: int = 0
    remarks: Sequence[Bilingual] = ()
    notes: Sequence[tuple[DimensionNote, Bilingual]] = ()


def _make_cell(value: float | None, format_spec: str = ".4f", under: str = "") -> Cell:
    return Cell(Bilingual.repeat(format_number(value, format_spec)), under)


#: What columns of what came back mean, by their titles.
COLUMN_NOTES = {
    "errors": make_text("errors: queries on which the engine failed"),
    "no row": make_text(
        "no row: queries for which the dataset has no row of the engine; they are left out for it"
    ),
    "duplicates": make_text("duplicates: the share of results that repeat a page"),
    "unique": make_text("unique: the share of the pool's pages that no other engine returned"),
    "ms p95": make_text("ms: response time; 95 of 100 take no longer than p95"),
    "tokens": make_text(
        "tokens: the approximate size of the titles and snippets that an engine returned for a query"
    ),
}


#: The columns of the figures of an engine that may be unknown: title, figure, part of it, format.
_FIGURE_COLUMNS = (
    (make_text("score mean"), "rerank_relevancy", "mean", ".4f"),
    (make_text("score max"), "rerank_relevancy", "max", ".4f"),
    (make_text("ms median"), "latency_ms", "median", ",.0f"),
    (make_text("ms p95"), "latency_ms", "p95", ",.0f"),
    (make_text("tokens"), "tokens", "mean", ",.0f"),
)


class ReturnColumn(NamedTuple):
    """A column of what came back: its title, the value of each engine, and their format."""

    title: Bilingual
    values: Sequence[float | None]
    format_spec: str


def iter_return_columns(summary: Summary, counts: Iterable[str]) -> Iterator[ReturnColumn]:
    """Yield the columns of what came back, best engine first.

    They are those `counts` of `COUNT_COLUMNS` that are not 0 for all engines, then a reranker's scores,
    response times and tokens where known.
    """
    rows = [summary.engines[name] for name in summary.sort_engines(summary.main_measure)]
    for name in counts:
        values = [getattr(row, name) for row in rows]
        # The share of judged results is there at 0 too, because it is the coverage of the means.
        if any(value is not None if name == "judged" else value for value in values):
            yield ReturnColumn(COUNT_COLUMNS[name], values, ".1%" if name in _SHARES else ",")
    for title, figure, part, format_spec in _FIGURE_COLUMNS:
        # Tokens are listed beside response times alone.
        if any(getattr(row, "latency_ms" if figure == "tokens" else figure) for row in rows):
            yield ReturnColumn(
                title, [getattr(getattr(row, figure), part, None) for row in rows], format_spec
            )


def make_engines_table(summary: Summary) -> PageTable:
    """Return one row for each engine, best first: means with intervals, and the number of queries.

    It is that of the main measure; a mean of another measure has its own where that differs.
    """
    measures = (Bilingual.repeat(name_mean(measure)) for measure in summary.measures)
    head = (make_text("engine"), *measures, make_text("queries"))
    rows = []
    for engine in summary.sort_engines(summary.main_measure):
        means = summary.engines[engine].measures
        queries = means[summary.main_measure].n
        cells = [
            _format_mean(mean, None if mean.n == queries else mean.n)
            for mean in map(means.__getitem__, summary.measures)
        ]
        cells.append(_make_cell(queries, ","))
        rows.append((engine, tuple(cells)))
    return PageTable(make_text("Engines: means with 95% interval"), head, rows)


def make_returns_table(summary: Summary) -> PageTable:
    """Return one row for each engine, best first: what it returned; the remarks say what columns mean."""
    columns = list(iter_return_columns(summary, COUNT_COLUMNS))
    rows = [
        (engine, tuple(_make_cell(column.values[at], column.format_spec) for column in columns))
        for at, engine in enumerate(summary.sort_engines(summary.main_measure))
    ]
    titles = [column.title for column in columns]
    notes = [COLUMN_NOTES[title.en] for title in titles if title.en in COLUMN_NOTES]
    return PageTable(make_text("What came back"), (make_text("engine"), *titles), rows, remarks=notes)


def _format_mean(mean: MeasureMean | SegmentMean | DimensionMean, queries: int | None = None) -> Cell:
    """Return the cell of a mean, with its interval and, where it is given, its number of queries."""
    parts = (format_range(mean.ci95, ".4f") if mean.ci95 else "", f"n = {queries:,}" if queries else "")
    return _make_cell(mean.mean, under=", ".join(filter(None, parts)) if mean.mean is not None else "")


def iter_comparison_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of all comparisons for each measure that compares engines."""
    deciding = summary.deciding_measure
    for measure in dict.fromkeys(row.measure for row in summary.comparisons):
        rows = summary.select_comparisons(measure)
        caption = make_text(
            "Pairs by {measure}" if measure == deciding else "Pairs by {measure} (descriptive)",
            measure=name_mean(measure),
        )
        first_rows = tuple(
            (f"{row.a} − {row.b}", _list_comparison_cells(row)) for row in rows[:_MAX_COMPARISONS]
        )
        yield PageTable(caption, _COMPARISON_HEAD, first_rows, len(rows) - len(first_rows))


def _list_comparison_cells(row: PairComparison) -> tuple[Cell, ...]:
    return (
        Cell(build_text(describe_outcome, row)),
        *(Cell(Bilingual.repeat(figure)) for figure in list_comparison_figures(row)),
        _make_cell(row.detectable, ".3f", format_number(row.detectable_doubled, ".3f")),
    )


def iter_segment_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of the engines' means in each segment for each column that divides the queries."""
    measure = summary.main_measure
    for column, values in summary.segments.items():
        caption = make_text("By {column}: mean {measure}", column=column, measure=name_mean(measure))
        order = summary.sort_engines(measure)
        rows = []
        for value, part in values.items():
            means = [part.engines.get(engine, {}).get(measure) for engine in order]
            cells = [
                _format_mean(mean, mean.n if mean.n != part.queries else None) if mean else _make_cell(None)
                for mean in means
            ]
            leads = [f"{row.a} > {row.b}" for row in part.comparisons if row.winner]
            separated = (
                Bilingual(*(mark.join(leads) for mark in make_text("; "))) if leads else make_text("none")
            )
            rows.append((value, (_make_cell(part.queries, ","), *cells, Cell(separated))))
        head = (
            Bilingual.repeat(column),
            make_text("queries"),
            *map(Bilingual.repeat, order),
            make_text("separated"),
        )
        yield PageTable(caption, head, rows)


def iter_dimension_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield the tables of each dimension."""
    order = summary.sort_engines(summary.main_measure)
    for name, dimension in summary.dimensions.items():
        head = (
            make_text("engine"),
            *(build_text(Translator.name_measure, measure_name) for measure_name in dimension.measures),
        )
        rows = []
        for engine in (name for name in order if name in dimension.engines):
            means = [dimension.find_mean(engine, measure) for measure in dimension.measures]
            rows.append((engine, tuple(_format_mean(mean, mean.queries) for mean in means)))
        remarks = [build_text(translate_remark, remark) for remark in dimension.remarks]
        caption = build_text(name_dimension, name)
        notes = [(note, Bilingual(*map(fit_on_line, make_text(note.text)))) for note in dimension.notes]
        yield PageTable(caption, head, rows if dimension.measures else (), 0, remarks, notes)
        for measure, engine_pairs in dimension.group_engine_pairs(order).items():
            rows = [
                (f"{pair.a} / {pair.b}", (_format_mean(pair.mean, pair.mean.queries),))
                for pair in engine_pairs
            ]
            head = (make_text("engines"), build_text(Translator.name_measure, measure))
            yield PageTable(caption, head, rows)
