"""The drawing of a trend: rows over the same nights, one above the other, with what changed through all.

Intervals and lines are in a part of the picture that stretches with the column. Dots, letters and numbers,
which keep their shape, are placed in percent of the width and pixels of the height.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import groupby, pairwise
from statistics import median

from markupsafe import Markup

from judge.messages import Bilingual, Translator, build_text, make_text
from judge.nightly.night_texts import STATUS_TEXTS
from judge.nightly.record import NightRecord
from judge.nightly.trend import TrendValue
from judge.nightly.trend_changes import CHANGE_TEXTS, Change, Kind, find_breaks, find_changes
from judge.report.charts import svg
from judge.report.charts.svg import Axis, Picture, PlotArea, make_axis
from judge.report.display_text import format_number, format_range

#: The margins left (for numbers) and right of the rows, as fractions of the column.
_LEFT = 0.14
_RIGHT = 0.02
_WIDTH = 1 - _LEFT - _RIGHT
#: Heights in pixels.
_KEY = 20
_LETTERS = 16
_TITLE = 30  # the mark of an alarm on the highest value is below the text
_HEIGHT = 76
_SPACE = 14
_DATES = 22
#: The width of the stretched part in its own units.
_UNITS = 1000.0
#: With more points than this, only an alarm, a night without a decision and a single point have a dot.
_MAX_DOTS = 62
#: An interval between nights that is more than this many usual ones is a gap.
_GAP_INTERVALS = 3
#: Half the width of the line of a baseline on a single night, as a fraction of the row.
_DASH = 0.015
#: The least span of an axis: with less, noise would look like a change.
_MIN_SPAN = 0.02
#: The width of a letter on a narrow screen, as a fraction of the row.
_LETTER = 0.035


@dataclass(frozen=True)
class Timeline:
    """The nights of a chart, with what changed on each and where it is across (0 to 1)."""

    nights: Sequence[NightRecord]

    @cached_property
    def changes(self) -> tuple[tuple[Change, ...], ...]:
        """What changed on each night."""
        return find_changes(self.nights)

    @property
    def dates(self) -> list[str]:
        """The date of each night."""
        return [night.date.isoformat() for night in self.nights]

    @cached_property
    def positions(self) -> list[float]:
        """Where each night is across, by its date."""
        first, last = self.nights[0].date, self.nights[-1].date
        days = (last - first).days
        return [(night.date - first).days / days if days else 0.5 for night in self.nights]

    def find_breaks(self, kind: Kind) -> frozenset[int]:
        """Return the nights whose values of this kind are not comparable with those of the night before."""
        return find_breaks(self.nights, self.changes, kind)

    @cached_property
    def gaps(self) -> frozenset[int]:
        """The nights that come so long after the one before that no line joins them."""
        intervals = [(after.date - before.date).days for before, after in pairwise(self.nights)]
        usual = median(intervals) if intervals else 0
        return frozenset(at for at, days in enumerate(intervals, 1) if days > _GAP_INTERVALS * usual)


@dataclass(frozen=True, slots=True)
class TrendRow:
    """The values of a row night by night, those of the baseline, and the nights with an alarm.

    `decided` is False where the regression test could not decide. No line joins the nights of `breaks` with
    those before.
    """

    label: Markup
    engine: str
    values: Sequence[TrendValue | None]
    baselines: Sequence[float | None]
    alarms: Sequence[bool]
    decided: Sequence[bool]
    breaks: frozenset[int]

    @property
    def measured(self) -> list[TrendValue]:
        """The values of the nights that have one."""
        return [value for value in self.values if value]


def draw_rows(
    keys: Sequence[tuple[Markup, Bilingual]],
    timeline: Timeline,
    rows: Sequence[TrendRow],
    kind: Kind,
    *,
    same_span: bool,
) -> Picture:
    """Return the first rows under a key, with the changes drawn through all of them, above the dates.

    With `same_span` slopes compare between rows.
    """
    drawn = rows[: svg.MAX_ENGINES]
    axes = make_axes([row.measured for row in drawn], same_span=same_span, include_zero=kind == "change")
    top = _KEY * ((len(keys) + 1) // 2) + 4
    first = top + (_LETTERS if any(timeline.changes) else 0)
    tops = [first + at * (_TITLE + _HEIGHT + _SPACE) for at in range(len(drawn))]
    bottom = tops[-1] + _TITLE + _HEIGHT
    parts = [
        # Two keys a line: more do not fit on a narrow screen.
        *(
            svg.draw_legend(10 + _KEY * (at // 2), (150 * (at % 2), mark, meaning))
            for at, (mark, meaning) in enumerate(keys)
        ),
        svg.draw_inset(_LEFT, _WIDTH, *_draw_changes(timeline, top, tops)),
        *(_draw_row(timeline, row, axis, kind, y) for row, axis, y in zip(drawn, axes, tops, strict=True)),
        svg.draw_inset(
            _LEFT, _WIDTH, *_draw_dates(timeline.nights[0].date, timeline.nights[-1].date, bottom + 16)
        ),
    ]
    return Picture(bottom + _DATES, parts)


def make_axes(rows: Sequence[Sequence[TrendValue]], *, same_span: bool, include_zero: bool) -> list[Axis]:
    """Return an axis for each row of values; with `same_span` slopes compare between rows."""
    ends = []
    for values in rows:
        numbers = [end for value in values for end in (value.value, *(value.ci95 or ()))]
        numbers += [0.0] if include_zero or not numbers else []
        ends.append((min(numbers), max(numbers)))
    spans = [max(_MIN_SPAN, 1.1 * (high - low)) for low, high in ends]
    if same_span:
        spans = [max(spans, default=1.0)] * len(ends)
    axes = []
    for (low, high), span in zip(ends, spans, strict=True):
        start = (low + high - span) / 2
        if low >= 0 and high <= 1:  # no share is outside
            start = min(max(start, 0.0), max(0.0, 1 - span))
        axes.append(make_axis([start, start + span], 4).cut(start, start + span))
    return axes


def _draw_changes(timeline: Timeline, top: float, rows: Sequence[float]) -> Iterator[Markup]:
    """Yield a line through every row on a night of a change, and its letters where there is space."""
    free = -1.0
    for night, x, changed in zip(timeline.nights, timeline.positions, timeline.changes, strict=True):
        if not changed:
            continue
        letters = "".join(CHANGE_TEXTS[change][0] for change in changed)
        title = build_text(_title_changes, night.date, changed)
        # The lines leave out the titles of the rows.
        parts: list[str] = [svg.draw_line(x, x, y + _TITLE, y + _TITLE + _HEIGHT, "changed") for y in rows]
        half = _LETTER * len(letters) / 2
        centre = min(x, 1 + _RIGHT / _WIDTH - half)
        if centre - half >= free:
            parts.append(svg.draw_text(letters, "letter", centre, top + 10, "middle"))
            free = centre + half
        yield svg.make_tag("g", svg.make_tag("title", " / ".join(title)), *parts)


def _title_changes(t: Translator, day: date, changes: Iterable[Change]) -> str:
    names = t.list_names(t(CHANGE_TEXTS[change][1].en) for change in changes)
    return t("{name}: {value}", name=day, value=names)


def _draw_row(timeline: Timeline, row: TrendRow, axis: Axis, kind: Kind, y: float) -> Markup:
    top = y + _TITLE
    number_text = format_value(row.measured[-1], choose_number_format(kind, 3))
    area = PlotArea(axis, _LEFT, _WIDTH, top, top + _HEIGHT)
    is_signed = kind == "change"
    zero = area.find_height(0.0)
    zero_line = [svg.draw_line(0, 1, zero, zero, "zero")] * is_signed
    return svg.join_markup(
        (
            svg.make_tag("svg", row.label, x="0%", y=y, width="60%", height=_TITLE),
            svg.draw_text(number_text, "number", 1 - _RIGHT, y + 13, "end"),
            area.draw_levels(signed=is_signed),
            area.place([*zero_line, *_draw_runs(_Curve(timeline, row, area))]),
        )
    )


#: A value with the number of its night.
_Point = tuple[int, TrendValue]


@dataclass(frozen=True, slots=True)
class _Curve:
    """A row in its area."""

    timeline: Timeline
    row: TrendRow
    area: PlotArea

    def locate(self, at: int, value: float) -> tuple[float, float]:
        """Return the place of a value: across, from 0 to 1, and in pixels below the top of the row."""
        return self.timeline.positions[at], self.area.find_height(value) - self.area.top

    def iter_runs(self) -> Iterator[list[_Point]]:
        """Yield the points that a line joins: not over nights without a value, gaps, and breaking changes."""
        run: list[_Point] = []
        breaks = self.timeline.gaps | self.row.breaks
        for at, value in enumerate(self.row.values):
            if run and (value is None or at in breaks):
                yield run
                run = []
            if value:
                run.append((at, value))
        if run:
            yield run


def _draw_runs(curve: _Curve) -> Iterator[Markup]:
    runs = list(curve.iter_runs())
    lines = [run for run in runs if len(run) > 1]
    yield svg.make_tag(
        "svg",
        *(part for run in lines for part in _draw_intervals(curve, run)),
        *_draw_baselines(curve),
        *(_draw_path([curve.locate(at, value.value) for at, value in run], "trend") for run in lines),
        x="0%",
        y=curve.area.top,
        width="100%",
        height=_HEIGHT,
        viewBox=f"0 0 {svg.format_length(_UNITS)} {_HEIGHT}",
        preserveAspectRatio="none",
    )
    few = sum(map(len, runs)) <= _MAX_DOTS
    for run in runs:
        # An interval between points without one has no area, so it is drawn as a line.
        alone = [group[0] for group in _group_by_interval(run) if len(group) == 1]
        for at, value in run:
            has_whisker = (at, value) in alone and value.ci95 is not None
            if few or curve.row.alarms[at] or not curve.row.decided[at] or len(run) == 1 or has_whisker:
                yield _draw_point(curve, at, value, has_whisker=has_whisker)


def _group_by_interval(run: Sequence[_Point]) -> Iterator[list[_Point]]:
    """Yield the points that follow each other in a run and all have an interval, or all have none."""
    for _, points in groupby(run, key=lambda point: point[1].ci95 is not None):
        yield list(points)


def _draw_intervals(curve: _Curve, run: Sequence[_Point]) -> Iterator[Markup]:
    """Yield the intervals of a run, in the stretched part."""
    for points in _group_by_interval(run):
        intervals = [(at, *value.ci95) for at, value in points if value.ci95]
        if len(intervals) > 1:
            upper = [curve.locate(at, high) for at, _, high in intervals]
            lower = [curve.locate(at, low) for at, low, _ in reversed(intervals)]
            yield _draw_path([*upper, *lower], "interval", "Z")


def _draw_baselines(curve: _Curve) -> Iterator[Markup]:
    """Yield the line of each baseline, in the stretched part, also over gaps and other changes.

    It begins on the night that became the baseline, unless that was compared with a later baseline. A single
    night has a short line.
    """
    timeline, baselines = curve.timeline, curve.row.baselines
    # A baseline that is a night has the day as its name.
    position_of = dict(zip(timeline.dates, timeline.positions, strict=True))
    end = 0.0
    references = [(of.id, of.name) if (of := night.baseline) else ("", "") for night in timeline.nights]
    nights = [at for at, value in enumerate(curve.row.values) if value and baselines[at] is not None]
    for (_, name), group in groupby(nights, key=references.__getitem__):
        levels = [curve.locate(at, baselines[at] or 0.0) for at in group]
        (first, level), begin = levels[0], position_of.get(name)
        if begin is not None and end <= begin < first:
            levels.insert(0, (begin, level))
        end = levels[-1][0]
        if len(levels) == 1:
            levels = [(max(0.0, first - _DASH), level), (min(1.0, first + _DASH), level)]
        # The line is level until a night whose shared queries give the baseline another mean.
        steps = [corner for (_, before), (x, y) in pairwise(levels) for corner in ((x, before), (x, y))]
        yield _draw_path([levels[0], *steps], "base")


def _draw_path(places: Iterable[tuple[float, float]], kind: str, end: str = "") -> Markup:
    corners = (f"{svg.format_length(_UNITS * x)} {svg.format_length(y)}" for x, y in places)
    return svg.make_tag("path", d=f"M{'L'.join(corners)}{end}", class_=kind)


def _draw_point(curve: _Curve, at: int, value: TrendValue, *, has_whisker: bool) -> Markup:
    night, row, top = curve.timeline.nights[at], curve.row, curve.area.top
    x, y = curve.locate(at, value.value)
    parts: list[str] = []
    if has_whisker and value.ci95:
        low, high = (top + curve.locate(at, end)[1] for end in value.ci95)
        parts.append(svg.draw_line(x, x, low, high, "whisker"))
    parts.append(svg.draw_dot(x, top + y, "dot" if row.decided[at] else "dot hollow", 3))
    if row.alarms[at]:
        mark = svg.make_tag("path", d="M-6 -14H6L0 -4Z", class_="alarm")
        parts.append(svg.make_tag("svg", mark, x=svg.format_percent(x), y=top + y, overflow="visible"))
    status = make_text("night: {status}", status=STATUS_TEXTS[night.status])
    title = f"{night.date} {row.engine} {format_value(value, '.4f')}; {status.en} / {status.zh}"
    return svg.add_tooltip(title, *parts)


def _draw_dates(first: date, last: date, y: float) -> Iterator[Markup]:
    days = (last - first).days
    labels = [(0.0, first, "start"), (1.0, last, "end")] if days else [(0.5, first, "middle")]
    if days > 2:
        middle = first + timedelta(days=days // 2)
        labels.append(((middle - first).days / days, middle, "middle"))
    for x, day, anchor in labels:
        yield svg.draw_text(day.isoformat(), "tick", x, y, anchor)


def choose_number_format(kind: Kind, digits: int = 4) -> str:
    """Return the format of a value: changes have a sign."""
    return f"{'+' if kind == 'change' else ''}.{digits}f"


def format_value(value: TrendValue, format_spec: str) -> str:
    """Return the value with its interval."""
    mean = format_number(value.value, format_spec)
    return f"{mean} ({format_range(value.ci95, format_spec)})" if value.ci95 else mean
