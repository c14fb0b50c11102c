"""Owns where numbers go: scales whose ticks are round, and how a number is written along them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

#: Below this a span is rounding, not a difference.
_FLAT = 1e-9
#: How much is shown around values that are all the same.
_AROUND = 0.1


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers along a line: `ticks` are round and evenly spaced, the first and the last are its ends."""

    ticks: tuple[float, ...]
    decimals: int

    def at(self, value: float) -> float:
        """Where the value is, as a fraction of the line: 0 at its first tick, 1 at its last, none beyond."""
        first, last = self.ticks[0], self.ticks[-1]
        return min(1.0, max(0.0, (value - first) / (last - first)))

    def label(self, tick: float, *, signed: bool = False, short: bool = False) -> str:
        """The tick as it is written: `signed` with a plus, too, but for 0, `short` without closing zeros."""
        text = f"{abs(tick):.{self.decimals}f}"
        if short or (signed and not tick):
            text = text.rstrip("0").rstrip(".") if self.decimals else text
        sign = "−" if tick < 0 else "+" if signed and tick > 0 else ""
        return sign + (text or "0")


def make_axis(values: Iterable[float], count: int = 5) -> Axis:
    """A scale that holds all values, with about `count` steps of 1, 2 or 5 times a power of ten.

    Values that are all the same, or none, get a scale around them that stays within 0 to 1 if they do.
    """
    known = list(values) or [0.0, 1.0]
    low, high = min(known), max(known)
    if high - low < _FLAT:
        inside = low >= 0 and high <= 1
        low, high = low - _AROUND, high + _AROUND
        low, high = (max(0.0, low), min(1.0, high)) if inside else (low, high)
    times, power = step(high - low, count)
    size = times * 10.0**power
    # A value that is a tick but for rounding needs no further one.
    first, last = floor(low / size + _FLAT), ceil(high / size - _FLAT)
    decimals = max(0, -power)
    ticks = tuple(round(place * times * 10.0**power, decimals) for place in range(first, last + 1))
    return Axis(ticks, decimals)


def step(span: float, count: int) -> tuple[int, int]:
    """The smallest round step of which `count` cover the span: (times, power) of times * 10^power."""
    power = floor(log10(span / count))
    times = next(times for times in (1, 2, 5, 10) if times * 10.0**power * count >= span * (1 - _FLAT))
    return (1, power + 1) if times == 10 else (times, power)
