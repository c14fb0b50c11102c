"""The chart of quality against price: one point for each engine with a price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.analysis.dimension_result import PRICE
from judge.analysis.summary import Summary
from judge.messages import Text, join_sentences, text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.svg import MAX_ENGINES, Axis, Chart, Picture, ValueRange
from judge.report.display_text import format_number, format_range

#: The plot as fractions of the column, and its top and bottom in pixels.
_LEFT, _WIDTH = 0.08, 0.9
_TOP, _BOTTOM = 52.0, 272.0
#: Labels closer than this, as a fraction of the width and in pixels, would overlap.
_NEAR, _LINE = 0.35, 14.0
#: From here on a label stands left of its point.
_TURN = 0.6


@dataclass(frozen=True, slots=True)
class _Point:
    engine: str
    usd: float
    mean: ValueRange

    def describe(self, measure: str) -> str:
        """Return the numbers of the point as text."""
        value = f"{format_number(self.mean.value)} ({format_range(self.mean.interval)})"
        engine = display_text.fit_on_line(self.engine)
        return f"{engine}: ${self.usd:,.2f}, {svg.name_mean(measure)} {value}"


def draw_quality_and_price(summary: Summary) -> Chart | None:
    """Return the first measure against the price of 1,000 queries, best first; None without a price."""
    costs = summary.dimensions.get("costs")
    measure = sentences.find_main_measure(summary)
    if not costs:
        return None
    points, others = [], []
    for engine in sentences.sort_engines(summary, measure):
        result = summary.engines[engine].measures[measure]
        mean = svg.make_range(result.mean, result.ci95, None)
        usd = costs.find_mean(engine, PRICE).mean
        if mean and usd is not None:
            points.append(_Point(engine, usd, mean))
        else:
            others.append(engine)
    if not points:
        return None
    name = svg.name_mean(measure)
    description = [
        text(
            "Mean {mean} against the price of 1,000 queries: the best engine is at the top, the cheapest at"
            " the left.",
            mean=name,
        )
    ]
    if others:
        names = ", ".join(map(display_text.isolate, others))
        description.append(text("Not shown, because the price or the mean is unknown: {names}.", names=names))
    rows = tuple(
        (
            display_text.fit_on_line(point.engine),
            f"{point.usd:,.2f}",
            format_number(point.mean.value, ".4f"),
            format_range(point.mean.interval),
        )
        for point in points
    )
    return svg.make_chart(
        "prices",
        text("Quality against price"),
        join_sentences(description),
        Picture(_BOTTOM + 36, list(_draw_picture(points, measure))),
        (svg.ENGINE, text("USD per 1,000 queries"), Text(name, name), Text("95 %", "95 %")),
        rows,
    )


def _draw_picture(points: Sequence[_Point], measure: str) -> Iterator[Markup]:
    drawn_points = points[:MAX_ENGINES]
    across = svg.make_axis([0.0, *(point.usd for point in drawn_points)])
    up = svg.make_axis(number for point in drawn_points for number in point.mean.numbers)
    yield svg.draw_text(svg.name_mean(measure), "head", 0, 12)
    yield svg.draw_legend(32, (0.0, svg.DOT, text("mean")), (70.0, svg.WHISKER, text("95 % interval")))
    for tick in up.ticks:
        y = _locate(up, tick)
        yield svg.draw_line(_LEFT, _LEFT + _WIDTH, y, y, "grid")
        yield svg.draw_text(up.format_tick(tick), "tick", _LEFT - 0.015, y + 4, "end")
    for tick in across.ticks:
        x = _LEFT + _WIDTH * across.locate(tick)
        yield svg.draw_text(across.format_tick(tick), "tick", x, _BOTTOM + 16, "middle")
    yield svg.draw_text(text("USD per 1,000 queries"), "note", _LEFT + _WIDTH, _BOTTOM + 32, "end")
    placed: list[tuple[float, float]] = []
    for point in drawn_points:
        x, y = _LEFT + _WIDTH * across.locate(point.usd), _locate(up, point.mean.value)
        marks = [svg.draw_dot(x, y, "dot")]
        if point.mean.interval:
            low, high = (_locate(up, end) for end in point.mean.interval)
            marks.insert(0, svg.draw_line(x, x, low, high, "whisker"))
        yield svg.add_tooltip(point.describe(measure), *marks)
        # The best point is first, so a label moves down past those that are there.
        while any(abs(x - left) < _NEAR and abs(y - top) < _LINE for left, top in placed):
            y += 1
        placed.append((x, y))
        yield _draw_label(point.engine, x, y)
    if note := svg.note_omitted_engines(len(points), _BOTTOM + 32):
        yield from note


def _locate(axis: Axis, value: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * axis.locate(value)


def _draw_label(engine: str, x: float, y: float) -> Markup:
    name = svg.shorten_name(engine, 20)
    if x < _TURN:
        return svg.draw_inset(x, 1 - x, svg.draw_text(name, "name", "8", y + 4))
    return svg.draw_inset(0, x, svg.draw_inset(1, 0, svg.draw_text(name, "name", "-8", y + 4, "end")))
