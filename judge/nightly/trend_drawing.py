"""The drawing of a trend: rows over the same nights, one above the other, with what changed through all.

Intervals and lines are in a part of the picture that stretches with the column. Dots, letters and numbers,
which keep their shape, are placed in percent of the width and pixels of the height.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import median

from markupsafe import Markup

from judge.messages import Bilingual, Translator, build_text, make_text
from judge.nightly.night_texts import STATUS_TEXTS
from judge.nightly.record import NightRecord
from judge.nightly.trend import TrendValue
from judge.nightly.trend_changes import CHANGE_TEXTS, Change, Kind, find_breaks, find_changes
from judge.report.charts import svg
from judge.report.charts.plot import Axis, PlotArea, make_axis
from judge.report.charts.svg import Picture
from judge.report.display_text import format_number, format_range

#: A break of more than this many usual intervals between nights is a gap.
_GAP_INTERVALS = 3
#: The margins left (for numbers) and right of the rows, as fractions of the column.
_LEFT = 0.14
_RIGHT = 0.02
_WIDTH = 1 - _LEFT - _RIGHT
#: Heights in pixels.
_KEY = 20
_LETTERS = 16
_TITLE = 24
_HEIGHT = 76
_SPACE = 14
_DATES = 22
#: The width of the stretched part in its own units.
_UNITS = 1000.0
#: With more points than this, only an alarm, a night without a decision and a single point have a dot.
_MAX_DOTS = 62
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

    @cached_property
    def gaps(self) -> set[int]:
        """The nights that come so long after the one before that no line joins them."""
        intervals = [(after.date - before.date).days for before, after in pairwise(self.nights)]
        usual = median(intervals) if intervals else 0
        return {at for at, days in enumerate(intervals, 1) if days > _GAP_INTERVALS * usual}


@dataclass(frozen=True, slots=True)
class TrendRow:
    """The values of a row night by night, those of the baseline, and the nights with an alarm.

    `decided` is False where the regression test could not decide.
    """

    label: Markup
    engine: str
    values: Sequence[TrendValue | None]
    baselines: Sequence[float | None]
    alarms: Sequence[bool]
    decided: Sequence[bool]

    @property
    def measured(self) -> list[TrendValue]:
        """The values of the nights that have one."""
        return [value for value in self.values if value]


@dataclass(frozen=True, slots=True)
class _Point:
    """A value on a night: `x` is across, from 0 to 1.

    `y`, the ends of its interval and `baseline` are pixels below the top of the row. `baseline_id` says which
    baseline it is, and `baseline_x` where the night is that became it, None for another one. `gaps` counts
    the gaps before the night. `decided` is that of the row, `title` the tooltip.
    """

    x: float
    y: float
    interval: tuple[float, float] | None
    baseline: float | None
    baseline_id: str
    baseline_x: float | None
    gaps: int
    title: str
    alarm: bool
    decided: bool


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
    note = svg.note_omitted_engines(len(rows), bottom + _DATES + 14)
    return Picture(bottom + _DATES + (_KEY if note else 0), [*parts, *note])


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
            area.place([*zero_line, *_draw_runs(list(_iter_runs(timeline, row, axis, kind)), top)]),
        )
    )


def _iter_runs(timeline: Timeline, row: TrendRow, axis: Axis, kind: Kind) -> Iterator[list[_Point]]:
    """Yield the points that a line joins: not over nights without a value, gaps, and breaking changes."""

    def locate(value: float) -> float:
        return _HEIGHT * (1 - axis.locate(value))

    run: list[_Point] = []
    breaks = timeline.gaps | find_breaks(timeline.nights, timeline.changes, kind)
    # A baseline that is a night has the day as its name.
    days = (night.date.isoformat() for night in timeline.nights)
    position_of = dict(zip(days, timeline.positions, strict=True))
    for at, value in enumerate(row.values):
        if run and (value is None or at in breaks):
            yield run
            run = []
        if value:
            night, baseline = timeline.nights[at], row.baselines[at]
            status = make_text("night: {status}", status=STATUS_TEXTS[night.status])
            point = _Point(
                x=timeline.positions[at],
                y=locate(value.value),
                interval=(locate(value.ci95[0]), locate(value.ci95[1])) if value.ci95 else None,
                baseline=None if baseline is None else locate(baseline),
                baseline_id=night.baseline.id if night.baseline else "",
                baseline_x=position_of.get(night.baseline.name) if night.baseline else None,
                gaps=sum(gap <= at for gap in timeline.gaps),
                title=f"{night.date} {row.engine} {format_value(value, '.4f')}; {status.en} / {status.zh}",
                alarm=row.alarms[at],
                decided=row.decided[at],
            )
            run.append(point)
    if run:
        yield run


def _draw_runs(runs: Sequence[Sequence[_Point]], top: float) -> Iterator[Markup]:
    yield svg.make_tag(
        "svg",
        *(part for run in runs if len(run) > 1 for part in _draw_intervals(run)),
        *_draw_baselines([point for run in runs for point in run]),
        *(_draw_path(((point.x, point.y) for point in run), "trend") for run in runs if len(run) > 1),
        x="0%",
        y=top,
        width="100%",
        height=_HEIGHT,
        viewBox=f"0 0 {svg.format_length(_UNITS)} {_HEIGHT}",
        preserveAspectRatio="none",
    )
    few = sum(map(len, runs)) <= _MAX_DOTS
    for run in runs:
        # An interval between points without one has no area, so it is drawn as a line.
        alone = [group[0] for group in _group_by_interval(run) if len(group) == 1]
        for point in run:
            has_whisker = point.interval is not None and point in alone
            if few or point.alarm or not point.decided or len(run) == 1 or has_whisker:
                yield _draw_point(point, top, has_whisker=has_whisker)


def _group_by_interval(run: Sequence[_Point]) -> Iterator[list[_Point]]:
    """Yield the points that follow each other in a run and all have an interval, or all have none."""
    for _, points in groupby(run, key=lambda point: point.interval is not None):
        yield list(points)


def _draw_intervals(run: Sequence[_Point]) -> Iterator[Markup]:
    """Yield the intervals of a run, in the stretched part."""
    for points in _group_by_interval(run):
        intervals = [(point.x, *point.interval) for point in points if point.interval]
        if len(intervals) > 1:
            upper = [(x, high) for x, _, high in intervals]
            lower = [(x, low) for x, low, _ in reversed(intervals)]
            yield _draw_path([*upper, *lower], "interval", "Z")


def _draw_baselines(points: Sequence[_Point]) -> Iterator[Markup]:
    """Yield the line of each baseline, in the stretched part; it ends at gaps, not at other changes."""
    for _, group in groupby(points, key=attrgetter("gaps")):
        for levels in _iter_levels([*group]):
            # The line is level until a night whose shared queries give the baseline another mean.
            steps = [corner for (_, before), (x, up) in pairwise(levels) for corner in ((x, before), (x, up))]
            yield _draw_path([levels[0], *steps], "base")


def _iter_levels(points: Sequence[_Point]) -> Iterator[list[tuple[float, float]]]:
    """Yield the places and the heights of each baseline, at least a short line for a single night.

    It begins on the night that became the baseline, unless that was compared with a later baseline.
    """
    last = points[0].x
    with_baseline = (point for point in points if point.baseline is not None)
    for _, group in groupby(with_baseline, key=attrgetter("baseline_id")):
        first, *others = group
        levels = [(point.x, point.baseline or 0.0) for point in (first, *others)]
        if first.baseline_x is not None and last <= first.baseline_x < first.x:
            levels.insert(0, (first.baseline_x, levels[0][1]))
        last = levels[-1][0]
        if len(levels) == 1:
            levels = [(x, levels[0][1]) for x in (max(0.0, first.x - _DASH), min(1.0, first.x + _DASH))]
        yield levels


def _draw_path(places: Iterable[tuple[float, float]], kind: str, end: str = "") -> Markup:
    corners = (f"{svg.format_length(_UNITS * x)} {svg.format_length(y)}" for x, y in places)
    return svg.make_tag("path", d=f"M{'L'.join(corners)}{end}", class_=kind)


def _draw_point(point: _Point, top: float, *, has_whisker: bool) -> Markup:
    y = top + point.y
    parts: list[str] = []
    if has_whisker and point.interval:
        low, high = point.interval
        parts.append(svg.draw_line(point.x, point.x, top + low, top + high, "whisker"))
    parts.append(svg.draw_dot(point.x, y, "dot" if point.decided else "dot hollow", 3))
    if point.alarm:
        mark = svg.make_tag("path", d="M-6 -14H6L0 -4Z", class_="alarm")
        parts.append(svg.make_tag("svg", mark, x=svg.format_percent(point.x), y=y, overflow="visible"))
    return svg.add_tooltip(point.title, *parts)


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
