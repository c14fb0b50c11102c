"""Owns the chart of means: every engine's mean by every measure, with what it could be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from judge.measure.measures import parse_measure
from judge.report import words
from judge.report.charts import chart_texts
from judge.report.charts.axis import make_axis
from judge.report.charts.chart import ENGINES, Caption, Chart, figure, key, rest
from judge.report.charts.marks import (
    AXIS,
    BOUNDS,
    DOT,
    ROW,
    WHISKER,
    PlotArea,
    Ranged,
    pointed,
    ranged,
    whisker,
)
from judge.report.charts.svg import NOTHING, Text, join, label, name, percent, tag
from judge.report.page import sanitize

#: The columns of the picture: names, then marks, then numbers that end at the right edge.
_NAMES = 0.31
_MARKS = (0.34, 0.5)
#: Further measures stand side by side, so many in a band.
_BAND = 4
_SMALL = 18
_GAP = 0.035
_TOP = 48

Row = Mapping[str, Any]


def chart(summary: Row) -> Chart | None:
    """The means by the measures that engines can be compared by; None when there is nothing to show."""
    measures = compared(summary)
    order = words.standing(summary, measures[0]) if measures else []
    if not any(_cell(summary, engine, measure) for engine in order for measure in measures):
        return None
    caption = Caption(
        "means", Text("Means of the engines", "各引擎的均值"), _said(summary, order, measures[0])
    )
    head = (chart_texts.ENGINE, *(Text(mean, mean) for measure in measures for mean in _heads(measure)))
    rows = tuple((sanitize.name(engine), *_cells(summary, engine, measures)) for engine in order)
    return Chart(
        caption.id, caption.title, caption.desc, _picture(caption, summary, order, measures), head, rows
    )


def compared(summary: Row) -> list[str]:
    """The measures that engines can be compared by, the deciding one first."""
    first = words.deciding(summary)
    named = [measure for measure in summary["measures"] if parse_measure(measure).compares_engines]
    return sorted(named, key=lambda measure: measure != first)


def _cell(summary: Row, engine: str, measure: str) -> Ranged | None:
    cell = summary["engines"][engine]["measures"][measure]
    return ranged(cell["mean"], cell["ci95"], cell["bounds"])


def _said(summary: Row, order: Sequence[str], measure: str) -> Text:
    mean = chart_texts.mean_of(measure)
    found = [(sanitize.isolated(engine), _cell(summary, engine, measure)) for engine in order]
    known = [(engine, cell) for engine, cell in found if cell]
    if not known:
        return Text(f"No engine has a mean {mean}.", f"没有引擎有 {mean} 均值。")
    (best, first), (last, least) = known[0], known[-1]
    en = f"Mean {mean} over the queries, highest first: {best} {_range(first, 'en')}"
    zh = f"各引擎在所有查询上的 {mean} 均值，从高到低：{best} 最高，{_range(first, 'zh')}"
    if len(known) > 1:
        en += f", down to {last} {_range(least, 'en')}"
        zh += f"；{last} 最低，{_range(least, 'zh')}"
        return Text(
            f"{en}. Whether two engines differ is decided pair by pair, not by whether lines overlap.",
            f"{zh}。两个引擎是否真有差别，要看两两比较，不能只看区间是否重叠。",
        )
    return Text(f"{en}.", f"{zh}。")


def _range(cell: Ranged, lang: str) -> str:
    mean = chart_texts.fixed(cell.value)
    if cell.interval is None:
        return mean
    low, high = map(chart_texts.fixed, cell.interval)
    return f"{mean} (95 %: {low} to {high})" if lang == "en" else f"{mean}（95 % 区间 {low} 到 {high}）"


def _heads(measure: str) -> tuple[str, ...]:
    return chart_texts.mean_of(measure), "95 %", "n"


def _cells(summary: Row, engine: str, measures: Sequence[str]) -> Iterator[str]:
    for measure in measures:
        cell = _cell(summary, engine, measure)
        yield _value(cell, ".4f")
        yield chart_texts.between(cell.interval if cell else None)
        yield str(summary["engines"][engine]["measures"][measure]["n"])


def _value(cell: Ranged | None, form: str = ".3f") -> str:
    """The mean, and how low and how high the unjudged could make it."""
    if cell is None:
        return NOTHING
    mean = chart_texts.fixed(cell.value, form)
    return f"{mean} [{chart_texts.between(cell.bounds)}]" if cell.bounds else mean


@dataclass(frozen=True, slots=True)
class _Shown:
    """The engines that the picture shows, best first, and every mean of theirs."""

    engines: Sequence[str]
    cells: Mapping[tuple[str, str], Ranged | None]

    def panel(
        self, measure: str, across: tuple[float, float], down: tuple[float, float], steps: int
    ) -> PlotArea:
        """Where the measure's means are drawn, on a scale that holds them all."""
        cells = (self.cells[engine, measure] for engine in self.engines)
        along = make_axis((number for cell in cells if cell for number in cell.numbers), steps)
        top, row = down
        return PlotArea(along, *across, top, top + row * len(self.engines))

    def marks(self, panel: PlotArea, measure: str) -> Iterator[Markup]:
        """Every engine's mean by the measure, in its row of the panel."""
        row = (panel.bottom - panel.top) / len(self.engines)
        for at, engine in enumerate(self.engines):
            if cell := self.cells[engine, measure]:
                mean = f"{chart_texts.mean_of(measure)} {_value(cell)} ({chart_texts.between(cell.interval)})"
                mark = whisker(panel.scale, panel.top + row * (at + 0.5), cell, "dot", row / 6)
                yield pointed(f"{sanitize.name(engine)}: {mean}", mark)

    def names(self, top: float, row: float) -> Markup:
        """The names of the engines, in rows."""
        return join(
            label(engine, 15, _NAMES, top + row * (at + 0.5)) for at, engine in enumerate(self.engines)
        )


def _picture(caption: Caption, summary: Row, order: Sequence[str], measures: Sequence[str]) -> Markup:
    engines = order[:ENGINES]
    cells = {(engine, each): _cell(summary, engine, each) for engine in engines for each in measures}
    shown = _Shown(engines, cells)
    first, *others = measures
    parts = [
        _heading(first, unsure=any(cell and cell.bounds for cell in cells.values())),
        *_main(shown, first),
    ]
    y = _TOP + ROW * len(engines) + AXIS + 14
    for at in range(0, len(others), _BAND):
        parts += _band(shown, others[at : at + _BAND], min(len(others), _BAND), y)
        y += _SMALL * (len(engines) + 1) + AXIS + 10
    left_out = len(order) - len(engines)
    parts.append(rest(left_out, y + 2, Text("engines", "个引擎")))
    return figure(caption, y + (8 if left_out else -8), *parts)


def _heading(measure: str, *, unsure: bool) -> Markup:
    entries = [(0.0, DOT, Text("mean", "均值")), (70.0, WHISKER, Text("95 % interval", "95 % 区间"))]
    if unsure:
        entries.append((190.0, BOUNDS, Text("unjudged, worst to best", "未判定的上下限")))
    return join([tag("text", chart_texts.mean_of(measure), class_="head", x=0, y=12), key(32, *entries)])


def _main(shown: _Shown, measure: str) -> Iterator[Markup]:
    """The deciding measure: names, marks, and the means as numbers."""
    panel = shown.panel(measure, _MARKS, (_TOP, ROW), 5)
    yield shown.names(_TOP, ROW)
    yield panel.grid()
    yield panel.of(shown.marks(panel, measure))
    for at, engine in enumerate(shown.engines):
        cell, y = shown.cells[engine, measure], _TOP + ROW * (at + 0.5) + 4
        value = chart_texts.fixed(cell.value if cell else None)
        yield tag("text", value, class_="number", x=percent(1), y=y, text_anchor="end")


def _band(shown: _Shown, measures: Sequence[str], columns: int, y: float) -> Iterator[Markup]:
    """Further measures side by side, each on its own scale, the engines in the same order."""
    top = y + _SMALL
    yield shown.names(top, _SMALL)
    width = (1 - _MARKS[0]) / columns
    for at, measure in enumerate(measures):
        x = _MARKS[0] + at * width
        panel = shown.panel(measure, (x, width - _GAP), (top, _SMALL), 3)
        yield name(chart_texts.mean_of(measure), 7, class_="head small", x=percent(x), y=y + 12)
        yield panel.grid(ends=True)
        yield panel.of(shown.marks(panel, measure))
