"""Owns which values a strip of the trend shows, so that slopes compare between strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.nightly.history import Value
from judge.report.charts.axis import make_axis

#: The least that a strip spans: less would make a mountain of noise.
_LEAST = 0.02


@dataclass(frozen=True, slots=True)
class Window:
    """The values from `low` on that a strip shows, `span` of them."""

    low: float
    span: float

    def at(self, value: float) -> float:
        """Where the value is, from 0 below to 1 on top."""
        return min(1.0, max(0.0, (value - self.low) / self.span))

    def ticks(self, *, signed: bool = False) -> tuple[tuple[float, str], ...]:
        """The round values inside: where each is and how it is written."""
        along = make_axis([self.low, self.low + self.span], 4)
        inside = (tick for tick in along.ticks if self.low <= tick <= self.low + self.span)
        return tuple((self.at(tick), along.label(tick, signed=signed)) for tick in inside)


def windows(strips: Sequence[Sequence[Value]], *, alike: bool, zero: bool) -> list[Window]:
    """What each strip shows of its values; `alike` gives all the same span, so that slopes compare."""
    ends = [_ends(values, zero=zero) for values in strips]
    spans = [max(_LEAST, 1.1 * (high - low)) for low, high in ends]
    widest = max(spans, default=1.0)
    return [
        Window((low + high - span) / 2, span)
        for (low, high), span in zip(ends, [widest] * len(ends) if alike else spans, strict=True)
    ]


def _ends(values: Sequence[Value], *, zero: bool) -> tuple[float, float]:
    numbers = [end for each in values for end in (each.value, *(each.interval or ()))]
    numbers += [0.0] if zero or not numbers else []
    return min(numbers), max(numbers)
