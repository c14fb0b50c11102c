"""The chart of means: the mean of every engine by every measure, with interval and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.measure.measures import parse_measure
from judge.messages import Text, text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.axis import (
    AXIS_HEIGHT,
    BOUNDS,
    DOT,
    ROW_HEIGHT,
    WHISKER,
    PlotArea,
    ValueRange,
    add_tooltip,
    draw_whisker,
    make_axis,
    make_range,
)
from judge.report.charts.svg import (
    MAX_ENGINES,
    NOTHING,
    Caption,
    Chart,
    draw_legend,
    figure,
    format_percent,
    join,
    name_element,
    note_omitted,
    row_label,
    tag,
)
from judge.runs.record_json import to_json

#: The columns of the picture: names, then marks, then numbers that end at the right edge.
_NAMES = 0.31
_MARKS = (0.34, 0.5)
#: Further measures stand side by side, so many in a band.
_BAND = 4
_SMALL = 18
_GAP = 0.035
_TOP = 48


def draw_means(summary: Summary) -> Chart | None:
    """Return the means by the measures that engines can be compared by; None when there is no mean."""
    measures = comparable_measures(summary)
    order = sentences.standing(to_json(summary), measures[0]) if measures else []
    if not any(_cell(summary, engine, measure) for engine in order for measure in measures):
        return None
    caption = Caption("means", text("Means of the engines"), _describe(summary, order, measures[0]))
    head = (svg.ENGINE, *(Text(mean, mean) for measure in measures for mean in _heads(measure)))
    rows = tuple((display_text.one_line(engine), *_cells(summary, engine, measures)) for engine in order)
    return Chart(
        caption.id, caption.title, caption.desc, _picture(caption, summary, order, measures), head, rows
    )


def comparable_measures(summary: Summary) -> list[str]:
    """Return the measures that engines can be compared by, the deciding one first."""
    first = sentences.deciding(to_json(summary))
    named = [measure for measure in summary.measures if parse_measure(measure).compares_engines]
    return sorted(named, key=lambda measure: measure != first)


def _cell(summary: Summary, engine: str, measure: str) -> ValueRange | None:
    cell = summary.engines[engine].measures[measure]
    return make_range(cell.mean, cell.ci95, cell.bounds)


def _describe(summary: Summary, order: Sequence[str], measure: str) -> Text:
    mean = svg.mean_name(measure)
    ranges = [(display_text.isolate(engine), _cell(summary, engine, measure)) for engine in order]
    cells_with_mean = [(engine, cell) for engine, cell in ranges if cell]
    if not cells_with_mean:
        return text("No engine has a mean {mean}.", mean=mean)
    (best, first), (last, least) = cells_with_mean[0], cells_with_mean[-1]
    en = f"Mean {mean} over the queries, highest first: {best} {_range(first, 'en')}"
    zh = f"各引擎在所有查询上的 {mean} 均值，从高到低：{best} 最高，{_range(first, 'zh')}"
    if len(cells_with_mean) > 1:
        en += f", down to {last} {_range(least, 'en')}"
        zh += f"；{last} 最低，{_range(least, 'zh')}"
        return Text(
            f"{en}. Whether two engines differ is decided pair by pair, not by whether lines overlap.",
            f"{zh}。两个引擎是否真有差别，要看两两比较，不能只看区间是否重叠。",
        )
    return Text(f"{en}.", f"{zh}。")


def _range(cell: ValueRange, lang: str) -> str:
    mean = svg.format_number(cell.value)
    if cell.interval is None:
        return mean
    low, high = map(svg.format_number, cell.interval)
    return f"{mean} (95 %: {low} to {high})" if lang == "en" else f"{mean}（95 % 区间 {low} 到 {high}）"


def _heads(measure: str) -> tuple[str, ...]:
    return svg.mean_name(measure), "95 %", "n"


def _cells(summary: Summary, engine: str, measures: Sequence[str]) -> Iterator[str]:
    for measure in measures:
        cell = _cell(summary, engine, measure)
        yield _value(cell, ".4f")
        yield svg.format_range(cell.interval if cell else None)
        yield str(summary.engines[engine].measures[measure].n)


def _value(cell: ValueRange | None, form: str = ".3f") -> str:
    """Return the mean as text, with the range that unjudged snippets leave."""
    if cell is None:
        return NOTHING
    mean = svg.format_number(cell.value, form)
    return f"{mean} [{svg.format_range(cell.bounds)}]" if cell.bounds else mean


@dataclass(frozen=True, slots=True)
class _ShownMeans:
    """The engines in the picture, best first, and all their means."""

    engines: Sequence[str]
    cells: Mapping[tuple[str, str], ValueRange | None]

    def panel(
        self, measure: str, across: tuple[float, float], down: tuple[float, float], steps: int
    ) -> PlotArea:
        """Return the area for the means by the measure, on an axis that holds them all."""
        cells = (self.cells[engine, measure] for engine in self.engines)
        along = make_axis((number for cell in cells if cell for number in cell.numbers), steps)
        top, row = down
        return PlotArea(along, *across, top, top + row * len(self.engines))

    def marks(self, panel: PlotArea, measure: str) -> Iterator[Markup]:
        """Yield the mean of each engine by the measure, in its row of the area."""
        row = (panel.bottom - panel.top) / len(self.engines)
        for at, engine in enumerate(self.engines):
            if cell := self.cells[engine, measure]:
                mean = f"{svg.mean_name(measure)} {_value(cell)} ({svg.format_range(cell.interval)})"
                mark = draw_whisker(panel.scale, panel.top + row * (at + 0.5), cell, "dot", row / 6)
                yield add_tooltip(f"{display_text.one_line(engine)}: {mean}", mark)

    def names(self, top: float, row: float) -> Markup:
        """Return the names of the engines, in rows."""
        return join(
            row_label(engine, 15, _NAMES, top + row * (at + 0.5)) for at, engine in enumerate(self.engines)
        )


def _picture(caption: Caption, summary: Summary, order: Sequence[str], measures: Sequence[str]) -> Markup:
    engines = order[:MAX_ENGINES]
    cells = {(engine, measure): _cell(summary, engine, measure) for engine in engines for measure in measures}
    means = _ShownMeans(engines, cells)
    first, *others = measures
    parts = [
        _heading(first, unsure=any(cell and cell.bounds for cell in cells.values())),
        *_main(means, first),
    ]
    y = _TOP + ROW_HEIGHT * len(engines) + AXIS_HEIGHT + 14
    for at in range(0, len(others), _BAND):
        parts += _band(means, others[at : at + _BAND], min(len(others), _BAND), y)
        y += _SMALL * (len(engines) + 1) + AXIS_HEIGHT + 10
    left_out = len(order) - len(engines)
    parts.append(note_omitted(left_out, y + 2, text("engines")))
    return figure(caption, y + (8 if left_out else -8), *parts)


def _heading(measure: str, *, unsure: bool) -> Markup:
    entries = [(0.0, DOT, text("mean")), (70.0, WHISKER, text("95 % interval"))]
    if unsure:
        entries.append((190.0, BOUNDS, text("unjudged, worst to best")))
    return join([tag("text", svg.mean_name(measure), class_="head", x=0, y=12), draw_legend(32, *entries)])


def _main(means: _ShownMeans, measure: str) -> Iterator[Markup]:
    """Yield the deciding measure: names, marks, and the means as numbers."""
    panel = means.panel(measure, _MARKS, (_TOP, ROW_HEIGHT), 5)
    yield means.names(_TOP, ROW_HEIGHT)
    yield panel.grid()
    yield panel.of(means.marks(panel, measure))
    for at, engine in enumerate(means.engines):
        cell, y = means.cells[engine, measure], _TOP + ROW_HEIGHT * (at + 0.5) + 4
        value = svg.format_number(cell.value if cell else None)
        yield tag("text", value, class_="number", x=format_percent(1), y=y, text_anchor="end")


def _band(means: _ShownMeans, measures: Sequence[str], columns: int, y: float) -> Iterator[Markup]:
    """Yield further measures side by side, each on its own axis, the engines in the same order."""
    top = y + _SMALL
    yield means.names(top, _SMALL)
    width = (1 - _MARKS[0]) / columns
    for at, measure in enumerate(measures):
        x = _MARKS[0] + at * width
        panel = means.panel(measure, (x, width - _GAP), (top, _SMALL), 3)
        yield name_element(svg.mean_name(measure), 7, class_="head small", x=format_percent(x), y=y + 12)
        yield panel.grid(ends=True)
        yield panel.of(means.marks(panel, measure))
