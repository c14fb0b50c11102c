"""The charts of differences: between each pair of engines, and between the two best on each query."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison
from judge.measure.measures import name_mean
from judge.measure.numeric import TIE
from judge.messages import Bilingual, build_text, join_sentences, make_text
from judge.report import display_text
from judge.report.charts import svg
from judge.report.charts.svg import AXIS_HEIGHT, ROW_HEIGHT, Chart, Picture, PlotArea, ValueRange
from judge.report.display_text import fit_on_line, format_number, format_range
from judge.report.result_tables import Column, ResultTable
from judge.runs.results_file import QueryEntry

#: How many comparisons the picture shows.
_SHOWN = 15
_MARKS_END, _OUTCOMES_START = 0.72, 0.75
_TOP = 36
_OUTCOMES = {
    "better": make_text("ahead"),
    "not separated": make_text("not separated"),
    "undetermined": make_text("undetermined"),
}

#: The most bars that are drawn; of more queries, neighbours share one.
MAX_BARS = 400
#: With more bars than this no gap is left between them.
_APART = 120
_NUMBERS = 0.1
_BARS_TOP = 26
_BARS_HEIGHT = 150


def draw_comparisons(summary: Summary) -> Chart | None:
    """Return the comparisons by the deciding measure, those of the best engine first; None without any."""
    measure = summary.deciding_measure
    comparisons = summary.select_comparisons(measure)
    if not any(comparison.n for comparison in comparisons):
        return None
    name = name_mean(measure)
    outcomes = Counter(comparison.outcome for comparison in comparisons)
    undetermined = outcomes["undetermined"]
    description = make_text(
        "Engine by engine on the same queries, by {measure}. Pairs that differ significantly: {apart:,} of"
        " {pairs:,}. A lead counts when its interval, which allows for all pairs, does not contain 0{rest}.",
        measure=name,
        apart=outcomes["better"],
        pairs=len(comparisons),
        rest=make_text("; {count:,} depend on unjudged snippets", count=undetermined) if undetermined else "",
    )
    description = join_sentences([description, *svg.describe_omitted(len(comparisons), _SHOWN)])
    picture = _draw_comparisons_picture(comparisons[:_SHOWN], name)
    title = make_text("Differences between engines")
    return svg.make_chart("pairs", title, description, picture, "pairs-1")


def _make_range(comparison: PairComparison) -> ValueRange | None:
    return svg.make_range(comparison.difference, comparison.interval, comparison.bounds)


def _draw_comparisons_picture(comparisons: Sequence[PairComparison], measure: str) -> Picture:
    by_best = groupby(comparisons, key=lambda comparison: comparison.a)
    groups = [(engine, list(rows)) for engine, rows in by_best]
    bottom = _TOP + ROW_HEIGHT * (len(groups) + len(comparisons))
    ranges = filter(None, map(_make_range, comparisons))
    numbers = [number for value_range in ranges for number in value_range.numbers]
    width = _MARKS_END - svg.MARKS_START
    area = PlotArea(svg.make_axis([0.0, *numbers], 4), svg.MARKS_START, width, _TOP + ROW_HEIGHT - 4, bottom)
    legend = (
        (0.0, svg.DOT, _OUTCOMES["better"]),
        (70.0, svg.HOLLOW, make_text("not ahead")),
        (165.0, svg.WHISKER, make_text("95% interval, {mean}", mean=measure)),
    )
    parts = [svg.draw_legend(14, *legend), area.draw_grid(signed=True)]
    y = _TOP + ROW_HEIGHT / 2
    for engine, rows in groups:
        parts.append(svg.draw_label(f"{engine} −", "first single", 0, y - ROW_HEIGHT / 2, 1))
        heights = [y + ROW_HEIGHT * at for at in range(1, len(rows) + 1)]
        parts.append(svg.draw_row_names([comparison.b for comparison in rows], heights))
        for comparison, height in zip(rows, heights, strict=True):
            parts += _draw_comparison(comparison, area, height)
        y = heights[-1] + ROW_HEIGHT
    return Picture(bottom + AXIS_HEIGHT, parts)


def _draw_comparison(comparison: PairComparison, area: PlotArea, y: float) -> Iterator[Markup]:
    ahead = comparison.outcome == "better"
    if cell := _make_range(comparison):
        size = f"{format_number(cell.value, '+.4f')} ({format_range(comparison.interval, '+.4f')})"
        title = f"{fit_on_line(comparison.a)} − {fit_on_line(comparison.b)}: {size}"
        mark = svg.draw_whisker(area.axis, y, cell, "dot" if ahead else "dot hollow")
        yield area.place([svg.add_tooltip(title, mark)])
    outcome = _OUTCOMES[comparison.outcome] if comparison.n or ahead else make_text("nothing shared")
    yield svg.draw_text(outcome, "outcome ahead" if ahead else "outcome", _OUTCOMES_START, y + 4)


@dataclass(slots=True)
class QueryDifferences:
    """The value of engine `a` minus the value of engine `b` by `measure`, query by query.

    The ids and texts of the queries are kept while each of them still gets a bar.
    """

    a: str
    b: str
    measure: str
    values: array[float] = field(default_factory=lambda: array("d"))
    queries: list[tuple[str, str]] = field(default_factory=list)

    def add(self, entry: QueryEntry) -> None:
        """Add a query of results.json if both engines have a value."""
        entries = (entry.engines.get(engine) for engine in (self.a, self.b))
        a, b = (engine_entry.scores.get(self.measure) if engine_entry else None for engine_entry in entries)
        if a is None or b is None:
            return
        self.values.append(a - b)
        if len(self.values) <= MAX_BARS:
            self.queries.append((entry.query_id, entry.query))
        else:
            self.queries.clear()

    def count(self) -> tuple[int, int, int]:
        """Return on how many queries `a` is ahead, both are equal, and `b` is ahead."""
        ahead = sum(value > TIE for value in self.values)
        behind = sum(value < -TIE for value in self.values)
        return ahead, len(self.values) - ahead - behind, behind


@dataclass(frozen=True, slots=True)
class DifferenceBar:
    """A mean difference, the id or the places of its queries, and the text of its query."""

    value: float
    name: str
    text: str = ""


def start_differences(summary: Summary) -> QueryDifferences | None:
    """Return an empty collection for the two engines with the highest means; None when there are no two."""
    measure = summary.deciding_measure
    order = summary.sort_engines(measure) if measure else []
    means = [summary.engines[engine].measures[measure].mean for engine in order[:2]]
    return QueryDifferences(order[0], order[1], measure) if len(means) == 2 and None not in means else None


def draw_query_differences(differences: QueryDifferences) -> Chart | None:
    """Return the differences, largest first; None when the engines share no query with a value."""
    queries = len(differences.values)
    if not queries:
        return None
    bars = make_bars(differences)
    a, b = display_text.isolate(differences.a), display_text.isolate(differences.b)
    ahead, equal, behind = differences.count()
    shared = make_text(
        " Each of the {bars} bars is the mean of about {queries} neighbouring queries.",
        bars=MAX_BARS,
        queries=svg.format_length(queries / MAX_BARS),
    )
    description = make_text(
        "{measure} of {a} minus that of {b} on {queries}, sorted: {a} is ahead on {ahead:,}, equal on"
        " {equal:,}, behind on {behind:,}.{shared}",
        a=a,
        b=b,
        measure=differences.measure,
        queries=build_text(display_text.format_query_count, queries),
        ahead=ahead,
        equal=equal,
        behind=behind,
        shared=shared if queries > MAX_BARS else "",
    )
    columns = [Column(Bilingual.repeat(f"{a} − {b}"), [bar.value for bar in bars], "+.4f")]
    if differences.queries:
        texts = [Bilingual.repeat(display_text.isolate(bar.text)) for bar in bars]
        columns.insert(0, Column(make_text("text"), texts))
    title = make_text("The two best, query by query")
    return svg.make_chart(
        "queries",
        title,
        description,
        _draw_bars_picture(differences, bars),
        ResultTable(title, make_text("query"), [display_text.isolate(bar.name) for bar in bars], columns),
    )


def make_bars(differences: QueryDifferences) -> list[DifferenceBar]:
    """Return at most `MAX_BARS` bars, largest difference first, of equal numbers of queries (± 1)."""
    if differences.queries:
        ordered = sorted(
            zip(differences.values, differences.queries, strict=True), key=lambda bar: (-bar[0], bar[1])
        )
        return [DifferenceBar(value, *map(fit_on_line, names)) for value, names in ordered]
    ordered_values = sorted(differences.values, reverse=True)
    count = len(ordered_values)
    edges = [at * count // MAX_BARS for at in range(MAX_BARS + 1)]
    return [
        DifferenceBar(
            sum(ordered_values[first:last]) / (last - first),
            f"{first + 1:,}–{last:,}" if last - first > 1 else f"{last:,}",
        )
        for first, last in pairwise(edges)
    ]


def _draw_bars_picture(differences: QueryDifferences, bars: Sequence[DifferenceBar]) -> Picture:
    axis = svg.make_axis([0.0, *(bar.value for bar in bars)], 4)
    bottom = _BARS_TOP + _BARS_HEIGHT
    area = PlotArea(axis, _NUMBERS, 1 - _NUMBERS, _BARS_TOP, bottom)
    zero = area.find_height(0.0)
    ahead, _, behind = differences.count()
    first, second = (
        make_text("{short} ahead on {count:,}", short=display_text.isolate(engine), count=count)
        for engine, count in ((differences.a, ahead), (differences.b, behind))
    )
    parts = [
        svg.draw_label(first, "head single", _NUMBERS, 0, 1 - _NUMBERS),
        area.draw_levels(signed=True),
        area.place([*_draw_bars(area, bars), svg.draw_line(0, 1, zero, zero, "zero")]),
        svg.draw_label(second, "head row single", _NUMBERS, bottom + 4, 1 - _NUMBERS),
    ]
    return Picture(bottom + 4 + ROW_HEIGHT, parts)


def _draw_bars(area: PlotArea, bars: Sequence[DifferenceBar]) -> Iterator[Markup]:
    width, zero = 1 / len(bars), area.find_height(0.0)
    filled = 0.8 if len(bars) <= _APART else 1.0
    for at, bar in enumerate(bars):
        y = area.find_height(bar.value)
        title = display_text.shorten_middle(f"{bar.name} {bar.text}".strip(), 80)
        yield svg.draw_box(
            width * (at + (1 - filled) / 2),
            width * filled,
            min(y, zero),
            abs(y - zero),
            "bar" if bar.value >= 0 else "bar other",
            svg.make_tag("title", f"{title}: {format_number(bar.value, '+.3f')}"),
        )
