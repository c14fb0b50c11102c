"""Owns values with their ranges, drawn in rows on a common scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.report.charts.axis import Axis
from judge.report.charts.svg import box, dot, format_percent, inset, join, line, tag

_FLAT = 1e-12
#: The height of a row in pixels, and of the numbers under a panel.
ROW = 24
AXIS = 22

#: Marks as a key shows them, around (9, 0).
DOT = tag("circle", cx=9, cy=0, r=4, class_="dot")
HOLLOW = tag("circle", cx=9, cy=0, r=3.5, class_="dot hollow")
WHISKER = tag("path", d="M1 0H17M1 -4V4M17 -4V4", class_="whisker")
BOUNDS = tag("rect", x=1, y=-6, width=16, height=12, class_="bounds")


@dataclass(frozen=True, slots=True)
class Ranged:
    """A value, its 95 % interval, and the bounds that unjudged snippets leave it, where they leave any."""

    value: float
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None

    @property
    def numbers(self) -> tuple[float, ...]:
        """Every number that is drawn."""
        return self.value, *(self.interval or ()), *(self.bounds or ())


def ranged(
    value: float | None, interval: Sequence[float] | None, bounds: Sequence[float | None] | None
) -> Ranged | None:
    """The value as summary.json holds it with its ranges; None where there is none."""
    if value is None:
        return None
    low, high = bounds or (None, None)
    unsure = None
    if low is not None and high is not None and max(value - low, high - value) > _FLAT:
        unsure = low, high
    return Ranged(value, (interval[0], interval[1]) if interval else None, unsure)


def whisker(scale: Axis, y: float, cell: Ranged, kind: str, radius: float = 4) -> Markup:
    """The value as a dot of that kind, its interval as a line, its bounds as a band; y is the middle."""
    parts = []
    if cell.bounds:
        first, last = map(scale.at, cell.bounds)
        parts.append(box(first, last - first, y - radius - 2, 2 * radius + 4, "bounds"))
    if cell.interval:
        first, last = map(scale.at, cell.interval)
        parts.append(line(first, last, y, y, "whisker"))
        parts += [line(end, end, y - radius, y + radius, "whisker") for end in (first, last)]
    parts.append(dot(scale.at(cell.value), y, kind, radius))
    return join(parts)


def pointed(title: str, *parts: str) -> Markup:
    """Marks that say what they are where one points at them."""
    return tag("g", tag("title", title), *parts)


@dataclass(frozen=True, slots=True)
class PlotArea:
    """Where rows are drawn: `x` and `width` are fractions of the column, `top` and `bottom` pixels."""

    scale: Axis
    x: float
    width: float
    top: float
    bottom: float

    def of(self, parts: Iterable[str]) -> Markup:
        """The parts, placed by fractions of the panel's width."""
        return inset(self.x, self.width, *parts)

    def grid(self, *, signed: bool = False, ends: bool = False) -> Markup:
        """The lines of the scale and its numbers beneath; `ends` writes the first and the last alone."""
        ticks = self.scale.ticks
        written = (ticks[0], ticks[-1]) if ends else ticks
        lines = (self._line(tick, "zero" if signed and tick == 0 else "grid") for tick in ticks)
        anchors = ("start", "end") if ends else ("middle",) * len(ticks)
        texts = (self.scale.label(tick, signed=signed, short=ends) for tick in written)
        return self.of((*lines, *map(self._number, written, texts, anchors)))

    def _line(self, tick: float, kind: str) -> Markup:
        at = self.scale.at(tick)
        return line(at, at, self.top, self.bottom, kind)

    def _number(self, tick: float, text: str, anchor: str) -> Markup:
        at = format_percent(self.scale.at(tick))
        return tag("text", text, class_="tick", x=at, y=self.bottom + 15, text_anchor=anchor)
