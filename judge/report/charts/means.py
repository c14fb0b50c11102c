"""The charts of means: by every measure, in each repeat of judging, and against the price."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

from markupsafe import Markup

from judge.analysis.dimension_summary import PRICE
from judge.analysis.summary import Summary
from judge.measure.measures import name_mean, parse_measure
from judge.messages import Bilingual, Translator, build_text, join_sentences, make_text
from judge.report import display_text
from judge.report.charts import svg
from judge.report.charts.svg import (
    AXIS_HEIGHT,
    MAX_ENGINES,
    ROW_HEIGHT,
    Axis,
    Chart,
    Picture,
    PlotArea,
    ValueRange,
)
from judge.report.display_text import fit_on_line, format_number, format_range
from judge.report.result_tables import ENGINE, INTERVAL, Column, ResultTable, make_repeat_table

#: Where the marks end; before them are the names, after them numbers that end at the right edge.
_MARKS_END = 0.84
#: Further measures are side by side, this many in a band, so that their numbers are apart on a telephone.
_BAND = 2
_SMALL = 18
_GAP = 0.06
_TOP = 48
_REPEAT_TOP = 20
_PRICE = make_text("USD per 1,000 queries")


@dataclass(frozen=True, slots=True)
class _Means:
    """The engines, best first, and their means by every measure, the deciding measure first.

    `ideal` has the means of the best order of the pool, empty without controls.
    """

    engines: Sequence[str]
    measures: Sequence[str]
    cells: Mapping[tuple[str, str], ValueRange | None]
    ideal: Mapping[str, float]

    def make_area(self, measure: str, across: tuple[float, float], top: float, row: float) -> PlotArea:
        """Return the area for the means by the measure, on an axis that holds them all."""
        cells = (self.cells[engine, measure] for engine in self.engines)
        numbers = [number for cell in cells if cell for number in cell.numbers]
        numbers += [self.ideal[measure]] if measure in self.ideal else []
        axis = svg.make_axis(numbers, 5 if measure == self.measures[0] else 3)
        return PlotArea(axis, *across, top, top + row * len(self.engines))

    def draw_marks(self, area: PlotArea, measure: str) -> Iterator[Markup]:
        """Yield the mean of each engine by the measure, in its row of the area."""
        if (ideal := self.ideal.get(measure)) is not None:
            at = area.axis.locate(ideal)
            line = svg.draw_line(at, at, area.top, area.bottom, "ideal")
            yield svg.add_tooltip(f"control:ideal: {name_mean(measure)} {format_number(ideal)}", line)
        radius = (area.bottom - area.top) / len(self.engines) / 6
        for engine, y in zip(self.engines, area.list_rows(len(self.engines)), strict=True):
            if cell := self.cells[engine, measure]:
                mean = f"{name_mean(measure)} {_format_mean(cell)} ({format_range(cell.interval)})"
                mark = svg.draw_whisker(area.axis, y, cell, "dot", radius)
                yield svg.add_tooltip(f"{fit_on_line(engine)}: {mean}", mark)


def draw_means(summary: Summary) -> Chart | None:
    """Return the means by the measures that engines can be compared by; None when there is no mean."""
    comparing = [measure for measure in summary.measures if parse_measure(measure).compares_engines]
    measures = sorted(comparing, key=lambda measure: measure != summary.deciding_measure)
    order = summary.sort_engines(measures[0]) if measures else []
    cells: dict[tuple[str, str], ValueRange | None] = {}
    for engine, measure in product(order, measures):
        mean = summary.engines[engine].measures[measure]
        cells[engine, measure] = svg.make_range(mean.mean, mean.ci95, mean.bounds)
    if not any(cells.values()):
        return None
    ideal_means = summary.controls.ideal if summary.controls else {}
    ideal = {name: mean.mean for name, mean in ideal_means.items() if mean.mean is not None}
    description = _describe_means([(engine, cells[engine, measures[0]]) for engine in order], measures[0])
    return svg.make_chart(
        "means",
        make_text("Means of the engines"),
        join_sentences([description, *svg.describe_omitted(len(order), MAX_ENGINES)]),
        _draw_means_picture(_Means(order[:MAX_ENGINES], measures, cells, ideal)),
        "engines",
    )


def _describe_means(means: Sequence[tuple[str, ValueRange | None]], measure: str) -> Bilingual:
    name = name_mean(measure)
    present = [(display_text.isolate(engine), _describe_range(cell)) for engine, cell in means if cell]
    if not present:
        return make_text("No engine has a mean {mean}.", mean=name)
    (best, highest), (last, lowest) = present[0], present[-1]
    return make_text(
        "Mean {mean} over the queries, highest first: {best} {highest}."
        if len(present) == 1
        else "Mean {mean} over the queries, highest first: from {best} {highest} to {last} {lowest}. Whether"
        " engines differ is tested on their differences; whether lines overlap does not decide.",
        mean=name,
        best=best,
        highest=highest,
        last=last,
        lowest=lowest,
    )


def _describe_range(cell: ValueRange) -> Bilingual:
    mean = format_number(cell.value)
    if cell.interval is None:
        return Bilingual.repeat(mean)
    low, high = map(format_number, cell.interval)
    return make_text("{mean} (95%: {low} to {high})", mean=mean, low=low, high=high)


def _format_mean(cell: ValueRange) -> str:
    """Return the mean as text, with the range that unjudged snippets leave."""
    mean = format_number(cell.value)
    return f"{mean} [{format_range(cell.bounds)}]" if cell.bounds else mean


def _draw_means_picture(means: _Means) -> Picture:
    first, *others = means.measures
    legend = [*svg.MEAN_LEGEND]
    if any(cell and cell.bounds for (engine, _), cell in means.cells.items() if engine in means.engines):
        legend.append((190.0, svg.BOUNDS, make_text("unjudged, worst to best")))
    if means.ideal:
        legend.append((350.0 if len(legend) > 2 else 190.0, svg.IDEAL, make_text("best order of the pool")))
    marks = svg.MARKS_START, _MARKS_END - svg.MARKS_START
    area = means.make_area(first, marks, _TOP, ROW_HEIGHT)
    cells = [means.cells[engine, first] for engine in means.engines]
    numbers = [format_number(cell.value if cell else None) for cell in cells]
    parts = [
        svg.draw_text(name_mean(first), "head", 0, 12),
        svg.draw_legend(32, *legend),
        *area.draw_rows(means.engines, means.draw_marks(area, first), numbers),
    ]
    # The other measures, a band after the other, each on its own axis, the engines in the same order.
    y = area.bottom + AXIS_HEIGHT + 14
    width = (1 - marks[0]) / (min(len(others), _BAND) or 1)
    for at, measure in enumerate(others):
        x = marks[0] + at % _BAND * width
        area = means.make_area(measure, (x, width - _GAP), y + _SMALL, _SMALL)
        if at % _BAND == 0:
            parts.append(svg.draw_row_names(means.engines, area.list_rows(len(means.engines)), _SMALL))
        parts.append(svg.draw_label(name_mean(measure), "head single", x, y, width - _GAP, _SMALL))
        parts += [area.draw_grid(ends=True), area.place(means.draw_marks(area, measure))]
        if at % _BAND == _BAND - 1 or measure == others[-1]:
            y = area.bottom + AXIS_HEIGHT + 10
    return Picture(y - 8, parts)


def draw_repeats(summary: Summary) -> Chart | None:
    """Return each engine's mean in each repeat by the deciding measure; None with one repeat only."""
    stability = summary.stability
    measure = summary.main_measure
    if summary.repeats < 2 or not stability or measure not in stability.measures:
        return None
    engines = stability.measures[measure].engines
    means = {name: engines[name].means for name in summary.sort_engines(measure) if name in engines}
    if all(mean is None for row in means.values() for mean in row):
        return None
    largest = stability.measures[measure].largest_difference
    description = make_text(
        "Mean {measure} of each engine in each of {repeats} repeats{moved}.",
        measure=name_mean(measure),
        repeats=stability.repeats,
        moved="" if largest is None else make_text(": it moves by up to {largest:.4f}", largest=largest),
    )
    return svg.make_chart(
        "repeats",
        make_text("Stability over repeats"),
        join_sentences([description, *svg.describe_omitted(len(means), MAX_ENGINES)]),
        _draw_repeats_picture(means, name_mean(measure)),
        make_repeat_table(display_text.use_display_names(summary)),
    )


def _draw_repeats_picture(means: Mapping[str, Sequence[float | None]], measure: str) -> Picture:
    engines = [*means][:MAX_ENGINES]
    rows = [[mean for mean in means[engine] if mean is not None] for engine in engines]
    axis = svg.make_axis(chain.from_iterable(rows))
    width = _MARKS_END - svg.MARKS_START
    area = PlotArea(axis, svg.MARKS_START, width, _REPEAT_TOP, _REPEAT_TOP + ROW_HEIGHT * len(engines))
    numbers = [format_number(max(row) - min(row) if row else None) for row in rows]
    marks = (
        _draw_repeats(axis, engine, means[engine], y)
        for engine, y in zip(engines, area.list_rows(len(engines)), strict=True)
    )
    parts = [
        svg.draw_text(measure, "head", 0, 12),
        svg.draw_text(make_text("range"), "note", 1, 12, "end"),
        *area.draw_rows(engines, marks, numbers),
    ]
    return Picture(area.bottom + AXIS_HEIGHT, parts)


def _draw_repeats(axis: Axis, engine: str, means: Sequence[float | None], y: float) -> Markup:
    """Return a dot for the mean in each repeat, and a line from the lowest to the highest."""
    places = [axis.locate(mean) for mean in means if mean is not None]
    line = [svg.draw_line(min(places), max(places), y, y, "whisker")] if places else []
    title = f"{fit_on_line(engine)}: {', '.join(format_number(mean, '.4f') for mean in means)}"
    return svg.add_tooltip(title, *line, *(svg.draw_dot(x, y, "dot", 3) for x in places))


def draw_quality_and_price(summary: Summary) -> Chart | None:
    """Return the first measure and the price of 1,000 queries, best first; None without a price."""
    costs = summary.dimensions.get("costs")
    measure = summary.main_measure
    if not costs:
        return None
    prices: dict[str, tuple[float, ValueRange]] = {}
    others = []
    for engine in summary.sort_engines(measure):
        result = summary.engines[engine].measures[measure]
        mean = svg.make_range(result.mean, result.ci95, None)
        usd = costs.find_mean(engine, PRICE).mean
        if mean and usd is not None:
            prices[engine] = usd, mean
        else:
            others.append(display_text.isolate(engine))
    if not prices:
        return None
    name = name_mean(measure)
    description = [make_text("Mean {mean} and the price of 1,000 queries, the best engine first.", mean=name)]
    if others:
        names = build_text(Translator.list_names, others)
        description.append(
            make_text("Not shown, because the price or the mean is unknown: {names}.", names=names)
        )
    columns = [
        Column(_PRICE, [usd for usd, _ in prices.values()], ",.2f"),
        Column(Bilingual.repeat(name), [mean.value for _, mean in prices.values()]),
        Column(INTERVAL, [mean.interval for _, mean in prices.values()]),
    ]
    title = make_text("Quality and price")
    return svg.make_chart(
        "prices",
        title,
        join_sentences([*description, *svg.describe_omitted(len(prices), MAX_ENGINES)]),
        _draw_prices_picture(prices, name),
        ResultTable(title, ENGINE, list(map(display_text.isolate, prices)), columns),
    )


def _draw_prices_picture(prices: Mapping[str, tuple[float, ValueRange]], measure: str) -> Picture:
    """Return the means and, right of them, the prices as bars."""
    engines = [*prices][:MAX_ENGINES]
    bottom = _TOP + ROW_HEIGHT * len(engines)
    quality = svg.make_axis(number for engine in engines for number in prices[engine][1].numbers)
    price = svg.make_axis([0.0, *(prices[engine][0] for engine in engines)], 2)
    means = PlotArea(quality, svg.MARKS_START, 0.3, _TOP, bottom)
    bars = PlotArea(price, 0.7, 0.16, _TOP, bottom)
    rows = list(zip(engines, means.list_rows(len(engines)), strict=True))
    marks = (svg.draw_whisker(quality, y, prices[engine][1], "dot") for engine, y in rows)
    parts = [
        svg.draw_text(measure, "head", 0, 12),
        svg.draw_text(_PRICE, "note", 1, 36, "end"),
        svg.draw_legend(32, *svg.MEAN_LEGEND),
        *means.draw_rows(engines, marks, [f"{prices[engine][0]:,.2f}" for engine in engines]),
        bars.draw_grid(ends=True),
        bars.place(svg.draw_box(0, price.locate(prices[engine][0]), y - 5, 10, "bar") for engine, y in rows),
    ]
    return Picture(bottom + AXIS_HEIGHT, parts)
