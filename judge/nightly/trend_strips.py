"""Owns how a trend is drawn: strips one above the other over the same nights, with what changed when.

Bands and lines stand in a part of the picture that stretches with the column; dots, letters and numbers,
which must keep their shape, stand in percent, as in every chart of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from markupsafe import Markup

from judge.messages import Text
from judge.report.charts.axis import add_tooltip
from judge.report.charts.svg import (
    Caption,
    dot,
    figure,
    format_length,
    format_percent,
    inset,
    join,
    line,
    note_omitted,
    tag,
    text_element,
)

#: What stands left of the strips and right of them, as fractions of the column.
_NUMBERS = 0.14
_RIGHT = 0.02
_KEY = 20
_LETTERS = 16
_TITLE = 24
_HEIGHT = 76
_GAP = 14
_DATES = 22
#: The stretched part counts its width so.
_WIDE = 1000.0
#: With more points than this, those without news have no dot.
_DOTS = 62
#: How much of the width a letter takes on a telephone.
_LETTER = 0.035


@dataclass(frozen=True, slots=True)
class Point:
    """A value on a night: `x` across from 0 to 1, `y` up from 0 to 1, as are the ends of its band.

    `base` is where the baseline is, `alarm` marks a regression, `sure` is False where the gate could not
    decide; `said` is shown where one points at it.
    """

    x: float
    y: float
    band: tuple[float, float] | None
    base: float | None
    said: str
    alarm: bool
    sure: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """What one strip shows: its name, its last value in words, its ticks (where, what), and its points.

    `runs` are the points that a line may join.
    """

    label: Markup
    last: str
    ticks: tuple[tuple[float, str], ...]
    zero: float | None
    runs: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """That something changed on a night: where across, a letter a change, and what."""

    x: float
    letters: str
    said: Text


def picture(
    caption: Caption,
    keys: Sequence[tuple[Markup, Text]],
    strips: Sequence[Strip],
    marks: Sequence[Mark],
    days: tuple[date, date],
    left_out: int = 0,
) -> Markup:
    """The strips under a key, with what changed drawn through all of them, above the dates.

    `left_out` engines have no strip.
    """
    top = _key_height(keys)
    first = top + (_LETTERS if marks else 0)
    tops = [first + at * (_TITLE + _HEIGHT + _GAP) for at in range(len(strips))]
    bottom = tops[-1] + _TITLE + _HEIGHT
    width = 1 - _NUMBERS - _RIGHT
    return figure(
        caption,
        bottom + _DATES + (_KEY if left_out else 0),
        _key(keys),
        inset(_NUMBERS, width, *_changes(marks, top, tops)),
        *map(_strip, strips, tops),
        inset(_NUMBERS, width, *_dates(days, bottom + 16)),
        note_omitted(left_out, bottom + _DATES + 14, Text("engines", "个引擎")),
    )


def _key_height(keys: Sequence[object]) -> int:
    return _KEY * ((len(keys) + 1) // 2) + 4


def _key(keys: Sequence[tuple[Markup, Text]]) -> Markup:
    """What marks mean, two in a line: on a telephone no more fit."""
    return join(
        tag(
            "svg",
            mark,
            text_element(said, class_="note", x=22, y=4),
            x=150 * (at % 2),
            y=10 + _KEY * (at // 2),
            overflow="visible",
        )
        for at, (mark, said) in enumerate(keys)
    )


def _changes(marks: Sequence[Mark], top: float, strips: Sequence[float]) -> Iterator[Markup]:
    """A line through every strip on a night that changed something, and its letters where there is room.

    It leaves out the words that stand above a strip.
    """
    free = -1.0
    for mark in marks:
        ends = [(strip + _TITLE, strip + _TITLE + _HEIGHT) for strip in strips]
        parts: list[str] = [line(mark.x, mark.x, low, high, "changed") for low, high in ends]
        room = _LETTER * len(mark.letters) / 2
        if mark.x - room >= free:
            parts.append(
                tag(
                    "text",
                    mark.letters,
                    class_="letter",
                    x=format_percent(mark.x),
                    y=top + 10,
                    text_anchor="middle",
                )
            )
            free = mark.x + room
        yield tag("g", tag("title", f"{mark.said.en} / {mark.said.zh}"), *parts)


def _strip(strip: Strip, y: float) -> Markup:
    top = y + _TITLE
    inside = inset(_NUMBERS, 1 - _NUMBERS - _RIGHT, *_grid(strip, top), *_runs(strip, top))
    return join(
        (
            tag("svg", strip.label, x="0%", y=y, width="60%", height=_TITLE),
            tag(
                "text", strip.last, class_="number", x=format_percent(1 - _RIGHT), y=y + 13, text_anchor="end"
            ),
            *_numbers(strip, top),
            inside,
        )
    )


def _y(top: float, up: float) -> float:
    return top + _HEIGHT * (1 - up)


def _grid(strip: Strip, top: float) -> Iterator[Markup]:
    for up, _ in strip.ticks:
        yield line(0, 1, _y(top, up), _y(top, up), "grid")
    if strip.zero is not None:
        yield line(0, 1, _y(top, strip.zero), _y(top, strip.zero), "zero")


def _numbers(strip: Strip, top: float) -> Iterator[Markup]:
    right = format_percent(_NUMBERS - 0.015)
    for up, text in strip.ticks:
        yield tag("text", text, class_="tick", x=right, y=_y(top, up) + 4, text_anchor="end")


def _runs(strip: Strip, top: float) -> Iterator[Markup]:
    yield tag(
        "svg",
        *(part for run in strip.runs for part in _drawn(run)),
        x="0%",
        y=top,
        width="100%",
        height=_HEIGHT,
        viewBox=f"0 0 {format_length(_WIDE)} {_HEIGHT}",
        preserveAspectRatio="none",
    )
    few = sum(map(len, strip.runs)) <= _DOTS
    for run in strip.runs:
        for point in run:
            if few or point.alarm or not point.sure or len(run) == 1:
                yield _pointed(point, top, alone=len(run) == 1)


def _drawn(run: Sequence[Point]) -> Iterator[Markup]:
    """The band, the baseline and the line of a run, in the stretched part."""
    if len(run) < 2:
        return
    banded = [point for point in run if point.band]
    there = [(point.x, point.band[1]) for point in banded if point.band]
    back = [(point.x, point.band[0]) for point in reversed(banded) if point.band]
    if banded:
        yield tag("path", d=_path([*there, *back]) + "Z", class_="band")
    based = [(point.x, point.base) for point in run if point.base is not None]
    if len(based) > 1:
        yield tag("path", d=_steps(based), class_="base")
    yield tag("path", d=_path([(point.x, point.y) for point in run]), class_="trend")


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(
        f"{format_length(_WIDE * x)} {format_length(_HEIGHT * (1 - up))}" for x, up in points
    )


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """A line that stays level until the night on which the baseline is another one."""
    corners = (((x, before), (x, up)) for (_, before), (x, up) in pairwise(points))
    return _path([points[0], *(each for corner in corners for each in corner)])


def _pointed(point: Point, top: float, *, alone: bool) -> Markup:
    y = _y(top, point.y)
    parts: list[str] = []
    if alone and point.band:
        low, high = (_y(top, end) for end in point.band)
        parts.append(line(point.x, point.x, low, high, "whisker"))
    parts.append(dot(point.x, y, "dot" if point.sure else "dot hollow", 3))
    if point.alarm:
        mark = tag("path", d="M-6 -14H6L0 -4Z", class_="alarm")
        parts.append(tag("svg", mark, x=format_percent(point.x), y=y, overflow="visible"))
    return add_tooltip(point.said, *parts)


def _dates(days: tuple[date, date], y: float) -> Iterator[Markup]:
    first, last = days
    apart = (last - first).days
    shown = [(0.0, first, "start"), (1.0, last, "end")] if apart else [(0.5, first, "middle")]
    if apart > 2:
        middle = first + timedelta(days=apart // 2)
        shown.append(((middle - first).days / apart, middle, "middle"))
    for x, day, anchor in shown:
        yield tag("text", day.isoformat(), class_="tick", x=format_percent(x), y=y, text_anchor=anchor)
