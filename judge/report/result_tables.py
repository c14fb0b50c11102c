"""The tables of results. Each is made once; the terminal, the report and the numbers of its charts show it.

To add a column to a table, add a `Column` to the function that makes the table.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import floor, log10
from typing import Literal, NamedTuple, TypeAlias

from judge.analysis.dimension_summary import DimensionMean, DimensionSummary
from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison, describe_outcome
from judge.measure.engine_summary import MeasureMean
from judge.measure.intervals import Interval
from judge.measure.measures import name_mean
from judge.measure.segments import SegmentMean
from judge.messages import Bilingual, Translator, build_text, make_text, round_count
from judge.report.comparison_sentences import is_unsure
from judge.report.display_text import (
    OUTCOME_SIGNS,
    format_number,
    format_plain_number,
    format_plain_range,
    format_range,
    name_dimension,
)


class CountedMean(NamedTuple):
    """A mean, and its number of queries where no other column has that."""

    mean: float | None
    queries: int | None


#: What a cell shows; None is no value.
Value: TypeAlias = float | Interval | CountedMean | str | Bilingual | None
Place: TypeAlias = Literal["terminal", "page"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title and a value for each row; numbers are written by `format_spec`.

    Words, which a page writes from the left, are `Bilingual`; a `str` is a number that is formatted already.

    `note` explains it. A column that is `only` in one place is left out in the other. One that `is_beside`
    stays beside the column before it where a terminal splits the table. On a page, one that `is_under` stands
    in small letters under the values of the column before it.
    """

    title: Bilingual
    values: Sequence[Value]
    format_spec: str = ".4f"
    note: Bilingual | None = None
    only: Place | None = None
    is_beside: bool = False
    is_under: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the values are words."""
        return any(isinstance(value, Bilingual) for value in self.values)

    def list_texts(self, place: Place) -> list[Bilingual]:
        """Return the values as they are shown in a place."""
        return [_format_value(value, self.format_spec, place) for value in self.values]


def _format_value(value: Value, format_spec: str, place: Place) -> Bilingual:
    is_on_page = place == "page"
    match value:
        case Bilingual():
            return value
        case str():
            return Bilingual.repeat(value)
        case CountedMean(mean, queries):
            brackets = f" ({queries:,})" if queries and not is_on_page else ""
            return Bilingual.repeat(_format_value(mean, format_spec, place).en + brackets)
        case tuple() if is_on_page:
            return Bilingual.repeat(format_range(value, format_spec))
        case tuple():
            return build_text(format_plain_range, value, format_spec)
    return Bilingual.repeat((format_number if is_on_page else format_plain_number)(value, format_spec))


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table whose rows have `names`, and which leaves out `more` rows.

    `names_title` is above the names; on a terminal, which shows no caption, `short_title` if there is one.
    """

    caption: Bilingual
    names_title: Bilingual
    names: Sequence[str]
    columns: Sequence[Column]
    more: int = 0
    short_title: Bilingual | None = None

    def list_columns(self, place: Place) -> list[Column]:
        """Return the columns that are shown in a place."""
        return [column for column in self.columns if column.only in (None, place)]

    def list_notes(self, place: Place) -> list[Bilingual]:
        """Return what the columns that are shown in a place mean."""
        return [column.note for column in self.list_columns(place) if column.note]

    @property
    def head(self) -> list[Column]:
        """The columns after the names on a page, without those under another one."""
        return [column for column in self.list_columns("page") if not column.is_under]

    @property
    def rows(self) -> Iterator[tuple[str, list[tuple[Bilingual, list[Bilingual]]]]]:
        """The names on a page, with the text of each cell and the lines in small letters under it."""
        cells: list[list[tuple[Bilingual, list[Bilingual]]]] = [[] for _ in self.names]
        for column in self.list_columns("page"):
            for row, value, text in zip(cells, column.values, column.list_texts("page"), strict=True):
                if not column.is_under:
                    row.append((text, []))
                elif value is not None:
                    row[-1][1].append(text)
        return zip(self.names, cells, strict=True)


ENGINE = make_text("engine")
INTERVAL = make_text("95% interval")
#: How many comparisons a page lists, by the measure that decides and by another; summary.json has them all.
MAX_COMPARISONS, _MAX_DESCRIPTIVE = 200, 60


def iter_mean_columns(
    title: Bilingual,
    means: Sequence[MeasureMean | SegmentMean | DimensionMean],
    in_column: Sequence[int] | None = None,
    format_spec: str = ".4f",
) -> Iterator[Column]:
    """Yield the column of means, and those of their intervals and numbers of queries.

    `in_column` are the numbers of another column, None without one; then a mean has its own number only where
    that differs, in brackets on a terminal, which does not show its interval.
    """
    values = [mean.mean for mean in means]
    counts = [mean.queries if isinstance(mean, DimensionMean) else mean.n for mean in means]
    own_counts = [
        count if value is not None and count != other else None
        for value, count, other in zip(
            values, counts, counts if in_column is None else in_column, strict=True
        )
    ]
    yield Column(title, list(map(CountedMean, values, own_counts)), format_spec)
    note = make_text("95% interval: with a probability of 95%, the interval contains the true mean")
    only: Place | None = None if in_column is None else "page"
    intervals = [mean.ci95 for mean in means]
    yield Column(INTERVAL, intervals, format_spec, note, only, is_beside=True, is_under=True)
    if in_column is None:
        note = make_text("queries: the number of queries in the mean")
        yield Column(make_text("queries"), counts, ",", note, is_beside=True)
    else:
        texts = [f"n = {count:,}" if count else None for count in own_counts]
        yield Column(make_text("queries"), texts, only="page", is_under=True)


def make_engines_table(summary: Summary, measures: Container[str] = ()) -> ResultTable:
    """Return one row for each engine, best first: its means by every measure.

    On a terminal, those by `measures` (none: the main one) have an interval. The numbers of queries are those
    of the first of them.
    """
    order = summary.sort_engines(summary.main_measure)
    detailed = [measure for measure in summary.measures if measure in measures] or [summary.main_measure]
    means = {name: [summary.engines[engine].measures[name] for engine in order] for name in summary.measures}
    counts = [mean.n for mean in means[detailed[0]]]
    columns = (
        iter_mean_columns(Bilingual.repeat(name_mean(name)), row, None if name in detailed else counts)
        for name, row in means.items()
    )
    caption = make_text("Engines: means with 95% interval")
    return ResultTable(caption, ENGINE, order, list(chain.from_iterable(columns)))


def make_returns_table(summary: Summary) -> ResultTable:
    """Return one row for each engine, best first: what it returned.

    It has no column of a count that is 0 for all engines, and none of a figure that is known of none.
    """
    order = summary.sort_engines(summary.main_measure)
    rows = [summary.engines[engine] for engine in order]
    errors = make_text("errors: queries on which the engine failed")
    no_row = make_text(
        "no row: queries for which the dataset has no row of the engine; they are left out for it"
    )
    duplicates = make_text("duplicates: the share of results that repeat a page")
    unique = make_text("unique: the share of the pool's pages that no other engine returned")
    counts = (
        Column(make_text("answered"), [row.answered for row in rows], ","),
        Column(make_text("empty"), [row.empty for row in rows], ","),
        Column(make_text("errors"), [row.errors for row in rows], ",", errors),
        Column(make_text("no row"), [row.absent for row in rows], ",", no_row),
        Column(make_text("duplicates"), [row.duplicates for row in rows], ".1%", duplicates),
        Column(make_text("unique"), [row.unique for row in rows], ".1%", unique),
    )
    columns = [column for column in counts if any(column.values)]
    # The share of judged results is there at 0 too, because it is the coverage of the means.
    if any(row.judged is not None for row in rows):
        columns.insert(0, Column(make_text("judged"), [row.judged for row in rows], ".1%"))
    if any(scores := [row.rerank_relevancy for row in rows]):
        columns.append(Column(make_text("score mean"), [score.mean if score else None for score in scores]))
        columns.append(Column(make_text("score max"), [score.max if score else None for score in scores]))
    if any(latencies := [row.latency_ms for row in rows]):
        medians = [latency.median if latency else None for latency in latencies]
        p95 = [latency.p95 if latency else None for latency in latencies]
        note = make_text("ms: response time; 95 of 100 take no longer than p95")
        columns.append(Column(make_text("ms median"), medians, ",.0f"))
        columns.append(Column(make_text("ms p95"), p95, ",.0f", note))
        # Tokens are listed beside response times alone.
        tokens = [row.tokens.mean if row.tokens else None for row in rows]
        note = make_text(
            "tokens: the approximate size of the titles and snippets that an engine returned for a query"
        )
        columns.append(Column(make_text("tokens"), tokens, ",.0f", note))
    caption, short_title = make_text("What came back"), make_text("what came back")
    return ResultTable(caption, ENGINE, order, columns, short_title=short_title)


def make_comparison_tables(
    summary: Summary, measure: str, max_comparisons: int
) -> tuple[ResultTable, ResultTable]:
    """Return two tables with one row for each comparison by `measure`, at most `max_comparisons`.

    The first says which engine is ahead and by how much, the second what more queries or grades would show.
    """
    comparisons = summary.select_comparisons(measure)
    rows = comparisons[:max_comparisons]
    caption = make_text(
        "by {measure}" if measure == summary.deciding_measure else "by {measure} (descriptive)",
        measure=name_mean(measure),
    )
    signed = [f"{row.a} {OUTCOME_SIGNS[row.outcome]} {row.b}" for row in rows]
    names = [f"{row.a} - {row.b}" for row in rows]
    pair, more = make_text("pair"), len(comparisons) - len(rows)
    return (
        ResultTable(caption, pair, signed, _list_figures(rows), more, short_title=caption),
        ResultTable(caption, pair, names, _list_plans(rows), short_title=make_text("to plan")),
    )


def _list_figures(comparisons: Sequence[PairComparison]) -> list[Column]:
    """Return the columns that say which engine is ahead and by how much."""
    interval = make_text(
        "95% interval of a difference: with a probability of 95%, those of all differences by a measure"
        " together contain the true differences"
    )
    result = make_text(
        "result: an engine is ahead where the interval excludes 0, which is when the adjusted p is below 0.05"
    )
    outcomes = [build_text(describe_outcome, row) for row in comparisons]
    return [
        Column(make_text("result"), outcomes, note=result, only="page"),
        Column(make_text("difference"), [row.difference for row in comparisons], "+.4f"),
        Column(INTERVAL, [row.interval for row in comparisons], "+.4f", interval, is_beside=True),
        Column(
            make_text("won/tied/lost"), [f"{row.wins:,}/{row.ties:,}/{row.losses:,}" for row in comparisons]
        ),
        Column(make_text("adjusted p"), [row.p_adjusted for row in comparisons], "p"),
    ]


def _list_plans(comparisons: Sequence[PairComparison]) -> list[Column]:
    """Return the columns that say what more queries or grades would show."""
    d_z = make_text("d_z: the mean difference divided by its standard deviation over the queries")
    detectable = make_text(
        "detectable: the true difference that a test detects in 4 of 5 cases with so many queries"
    )
    twice = make_text("twice: the same for twice as many queries")
    needed = make_text(
        "needed: how many queries separate the pair, if the true difference is the largest in its"
        " interval; no value: the run has that many, or the pair has no t test"
    )
    counts = [row.at_least_queries and round_count(row.at_least_queries) for row in comparisons]
    plan = [
        Column(Bilingual.repeat("d_z"), [row.d_z for row in comparisons], "+.2f", d_z, only="terminal"),
        Column(make_text("detectable"), [row.detectable for row in comparisons], ".3f", detectable),
        Column(
            make_text("twice"), [row.detectable_doubled for row in comparisons], ".3f", twice, only="terminal"
        ),
        Column(make_text("needed"), counts, note=needed, only="terminal"),
    ]
    if any(map(is_unsure, comparisons)):
        worst = make_text(
            "worst case: the lowest and highest difference over all grades of unjudged snippets; an engine"
            " is ahead only where they exclude 0, too, and a tenth of the distance to each widens the 95%"
            " interval on its side"
        )
        bounds = [row.bounds if is_unsure(row) else None for row in comparisons]
        plan.append(Column(make_text("worst case"), bounds, "+.4f", worst))
    return plan


def iter_comparison_tables(summary: Summary) -> Iterator[ResultTable]:
    """Yield a table of comparisons for each measure that compares engines, as a page shows it."""
    for measure in dict.fromkeys(row.measure for row in summary.comparisons):
        is_deciding = measure == summary.deciding_measure
        limit = MAX_COMPARISONS if is_deciding else _MAX_DESCRIPTIVE
        figures, plan = make_comparison_tables(summary, measure, limit)
        yield replace(figures, names=plan.names, columns=[*figures.columns, *plan.columns])


def list_comparison_notes(tables: Sequence[ResultTable]) -> list[Bilingual]:
    """Return what the columns of tables of comparisons mean, and which measure decides."""
    notes = dict.fromkeys(note for table in tables for note in table.list_notes("page"))
    if len(tables) > 1:
        notes[make_text("The first measure decides, the others are descriptive.")] = None
    return list(notes)


def iter_segment_tables(summary: Summary) -> Iterator[ResultTable]:
    """Yield a table of the engines' means in each segment for each column that divides the queries."""
    measure = summary.main_measure
    for column, segments in summary.segments.items():
        rows = list(segments.values())
        counts = [row.queries for row in rows]
        columns = [Column(make_text("queries"), counts, ",")]
        for engine in summary.sort_engines(measure):
            none = SegmentMean(None, None, 0)
            means = [row.engines.get(engine, {}).get(measure, none) for row in rows]
            columns += iter_mean_columns(Bilingual.repeat(engine), means, counts)
        leads = [[f"{pair.a} > {pair.b}" for pair in row.comparisons if pair.winner] for row in rows]
        separated = [
            Bilingual(*(mark.join(names) for mark in make_text("; "))) if names else make_text("none")
            for names in leads
        ]
        columns.append(Column(make_text("separated"), separated))
        caption = make_text("By {column}: mean {measure}", column=column, measure=name_mean(measure))
        yield ResultTable(caption, Bilingual.repeat(column), list(segments), columns)


def iter_dimension_tables(
    name: str, dimension: DimensionSummary, order: Sequence[str]
) -> Iterator[ResultTable]:
    """Yield a table with one row for each engine, in `order`, and one with one row for each pair of them."""
    caption = build_text(name_dimension, name)
    engines = [engine for engine in order if engine in dimension.engines]
    columns: list[Column] = []
    counts = None
    for measure in dimension.measures:
        means = [dimension.find_mean(engine, measure) for engine in engines]
        title = build_text(Translator.name_measure, measure)
        columns += iter_mean_columns(title, means, counts, _choose_format(means))
        counts = counts or [mean.queries for mean in means]
    if columns:
        yield ResultTable(caption, ENGINE, engines, columns, short_title=caption)
    for measure, pairs in dimension.group_engine_pairs(order).items():
        title, means = build_text(Translator.name_measure, measure), [pair.mean for pair in pairs]
        columns = list(iter_mean_columns(title, means, format_spec=_choose_format(means)))
        yield ResultTable(caption, make_text("engines"), [f"{pair.a} / {pair.b}" for pair in pairs], columns)


def _choose_format(means: Iterable[DimensionMean]) -> str:
    """Return the format that shows three digits of the smallest mean, with 3 decimals for a mean up to 1.

    A measure of a dimension may be a share, a number of days or an amount of money.
    """
    smallest = min((abs(mean.mean) for mean in means if mean.mean is not None), default=0.0)
    decimals = 3 if smallest <= 1 else max(0, 2 - floor(log10(smallest)))
    return f",.{decimals}f"


def make_repeat_table(summary: Summary) -> ResultTable:
    """Return one row for each engine, best first: its means over the repeats by the main measure."""
    stability = summary.stability
    engines = stability.measures[summary.main_measure].engines if stability else {}
    order = [engine for engine in summary.sort_engines(summary.main_measure) if engine in engines]
    rows = [engines[engine] for engine in order]
    columns = [
        Column(make_text("repeat {at}", at=at), means, only="page")
        for at, means in enumerate(zip(*(row.means for row in rows), strict=True), start=1)
    ]
    sd = make_text("SD: the standard deviation of the means of the repeats")
    ends = [_find_ends(row.means) for row in rows]
    icc = make_text("ICC: similarity of an engine's values by query in all repeats; 1 means equal")
    same = make_text(
        "same within 0.01: a p below 0.05 shows that the means of any two repeats differ by less than 0.01"
    )
    columns += [
        Column(make_text("range"), [row.range for row in rows], only="page"),
        Column(make_text("mean"), [row.mean for row in rows]),
        Column(Bilingual.repeat("SD"), [row.sd for row in rows], note=sd),
        Column(make_text("lowest to highest"), ends, only="terminal"),  # a page lists all repeats
        Column(Bilingual.repeat("ICC"), [row.icc for row in rows], ".3f", icc),
        Column(make_text("same within 0.01: p"), [row.tost_p for row in rows], "p", same),
    ]
    caption = make_text("over the repeats")
    return ResultTable(caption, ENGINE, order, columns, short_title=caption)


def _find_ends(means: Iterable[float | None]) -> Interval | None:
    present = [mean for mean in means if mean is not None]
    return (min(present), max(present)) if present else None
