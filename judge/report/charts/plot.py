"""Axes, and marks with intervals in rows along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from judge.measure.numeric import TIE
from judge.messages import make_text
from judge.report.charts import svg
from judge.report.display_text import set_minus_signs

#: Below this a span is rounding, not a difference.
_FLAT = 1e-9
#: How much is shown around values that are all the same.
_AROUND = 0.1
#: The width of the names of rows, as a fraction of the column, and where the marks after them start.
NAMES_WIDTH, MARKS_START = 0.31, 0.34


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers along a line from `low` to `high`; `ticks` are round and evenly spaced."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def locate(self, value: float) -> float:
        """Return the position of the value: 0 at the low end, 1 at the high one, clipped to both."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def cut(self, low: float, high: float) -> Axis:
        """Return the part of the axis from `low` to `high`."""
        ticks = tuple(tick for tick in self.ticks if low <= tick <= high)
        return Axis(low, high, ticks, self.decimals)

    def format_tick(self, tick: float, *, signed: bool = False, short: bool = False) -> str:
        """Return the tick as text: `signed` adds a plus, except for 0; `short` drops zeros at the end."""
        text = f"{abs(tick):.{self.decimals}f}"
        if self.decimals and (short or (signed and not tick)):
            text = text.rstrip("0").rstrip(".")
        sign = "-" if tick < 0 else "+" if signed and tick > 0 else ""
        return set_minus_signs(sign + text)


def make_axis(values: Iterable[float], count: int = 5) -> Axis:
    """Return an axis that holds all values, with about `count` steps of 1, 2 or 5 times a power of ten.

    Its first and last tick are its ends.

    Values that are all equal, or none, get an axis around them that stays within 0 to 1 if they do.
    """
    numbers = list(values) or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    if high - low < _FLAT:
        inside = low >= 0 and high <= 1
        low, high = low - _AROUND, high + _AROUND
        low, high = (max(0.0, low), min(1.0, high)) if inside else (low, high)
    times, power = choose_step(high - low, count)
    size = times * 10.0**power
    # A value that is a tick but for rounding needs no further one.
    first, last = floor(low / size + _FLAT), ceil(high / size - _FLAT)
    decimals = max(0, -power)
    ticks = tuple(round(index * times * 10.0**power, decimals) for index in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, decimals)


def choose_step(span: float, count: int) -> tuple[int, int]:
    """Return (times, power): the smallest round step, times * 10^power, of which `count` cover the span."""
    power = floor(log10(span / count))
    times = next(times for times in (1, 2, 5, 10) if times * 10.0**power * count >= span * (1 - _FLAT))
    return (1, power + 1) if times == 10 else (times, power)


#: Marks as a key shows them, around (9, 0).
DOT = svg.make_tag("circle", cx=9, cy=0, r=4, class_="dot")
HOLLOW = svg.make_tag("circle", cx=9, cy=0, r=3.5, class_="dot hollow")
IDEAL = svg.make_tag("path", d="M9 -7V7", class_="ideal")
WHISKER = svg.make_tag("path", d="M1 0H17M1 -4V4M17 -4V4", class_="whisker")
BOUNDS = svg.make_tag("rect", x=1, y=-6, width=16, height=12, class_="bounds")
MEAN_LEGEND = ((0.0, DOT, make_text("mean")), (70.0, WHISKER, make_text("95% interval")))


@dataclass(frozen=True, slots=True)
class ValueRange:
    """A value, its 95% interval, and its bounds when unjudged snippets leave it bounds."""

    value: float
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None

    @property
    def numbers(self) -> tuple[float, ...]:
        """Every number that is drawn."""
        return self.value, *(self.interval or ()), *(self.bounds or ())


def make_range(
    value: float | None, interval: Sequence[float] | None, bounds: Sequence[float | None] | None
) -> ValueRange | None:
    """Return the value of summary.json with its interval and bounds; None where there is no value."""
    if value is None:
        return None
    lowest, highest = bounds or (None, None)
    unsure = None
    if lowest is not None and highest is not None and max(value - lowest, highest - value) > TIE:
        unsure = lowest, highest
    return ValueRange(value, (interval[0], interval[1]) if interval else None, unsure)


def draw_whisker(axis: Axis, y: float, cell: ValueRange, class_: str, radius: float = 4) -> Markup:
    """Return a dot of `class_` with its interval as a line and its bounds as a bar around height `y`."""
    parts = []
    if cell.bounds:
        first, last = map(axis.locate, cell.bounds)
        parts.append(svg.draw_box(first, last - first, y - radius - 2, 2 * radius + 4, "bounds"))
    if cell.interval:
        first, last = map(axis.locate, cell.interval)
        parts.append(svg.draw_line(first, last, y, y, "whisker"))
        parts += [svg.draw_line(end, end, y - radius, y + radius, "whisker") for end in (first, last)]
    parts.append(svg.draw_dot(axis.locate(cell.value), y, class_, radius))
    return svg.join_markup(parts)


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The area for marks: `x` and `width` are fractions of the column, `top` and `bottom` pixels.

    Its axis goes along the width of rows of marks, or upwards for marks at heights.
    """

    axis: Axis
    x: float
    width: float
    top: float
    bottom: float

    def place(self, parts: Iterable[str]) -> Markup:
        """Return the parts, placed by fractions of the width of the area."""
        return svg.draw_inset(self.x, self.width, *parts)

    def draw_grid(self, *, signed: bool = False, ends: bool = False) -> Markup:
        """Return the grid lines and the numbers under them; `ends` writes the first and last number only.

        Where the page is narrow, every other number is left out; the one of a tick at 0 stays.
        """
        ticks = self.axis.ticks
        parity = ticks.index(0.0) % 2 if 0.0 in ticks else 0
        numbers = zip((ticks[0], ticks[-1]), ("start", "end"), strict=True)
        parts = []
        for tick in ticks:
            at, class_ = self.axis.locate(tick), "zero" if signed and tick == 0 else "grid"
            parts.append(svg.draw_line(at, at, self.top, self.bottom, class_))
        for at, (tick, anchor) in enumerate(numbers if ends else ((tick, "middle") for tick in ticks)):
            number = self.axis.format_tick(tick, signed=signed, short=ends)
            class_ = "tick" if ends or at % 2 == parity else "tick ample"
            parts.append(svg.draw_text(number, class_, self.axis.locate(tick), self.bottom + 15, anchor))
        return self.place(parts)

    def find_height(self, value: float) -> float:
        """Return the height of a value on an axis that goes upwards."""
        return self.bottom - (self.bottom - self.top) * self.axis.locate(value)

    def draw_levels(self, *, signed: bool = False) -> Markup:
        """Return grid lines from left to right, except at 0 if `signed`, and the numbers left of them."""
        heights = [(tick, self.find_height(tick)) for tick in self.axis.ticks]
        lines = (svg.draw_line(0, 1, y, y, "grid") for tick, y in heights if tick or not signed)
        numbers = (
            svg.draw_text(self.axis.format_tick(tick, signed=signed), "tick", self.x - 0.015, y + 4, "end")
            for tick, y in heights
        )
        return svg.join_markup([self.place(lines), *numbers])

    def list_rows(self, count: int) -> list[float]:
        """Return the heights of the middles of `count` rows that share the area."""
        row = (self.bottom - self.top) / count
        return [self.top + row * (at + 0.5) for at in range(count)]

    def draw_rows(
        self, names: Sequence[str], marks: Iterable[Markup], numbers: Sequence[str]
    ) -> Iterator[Markup]:
        """Yield the names of the rows, the grid, the marks, and a number at the right edge of each row."""
        rows = self.list_rows(len(names))
        yield draw_row_names(names, rows)
        yield self.draw_grid()
        yield self.place(marks)
        yield from (
            svg.draw_text(number, "number", 1, y + 4, "end") for number, y in zip(numbers, rows, strict=True)
        )


def draw_row_names(names: Sequence[str], rows: Iterable[float], height: float = svg.ROW_HEIGHT) -> Markup:
    """Return the names of engines left of their rows of a `height`, around the heights `rows`."""
    class_ = "row" if height >= svg.ROW_HEIGHT else "row single"
    return svg.join_markup(
        svg.draw_label(name, class_, 0, y - height / 2, NAMES_WIDTH, height)
        for name, y in zip(names, rows, strict=True)
    )
