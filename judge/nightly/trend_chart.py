"""The charts of the trend: every engine by a measure, night by night, and the canaries."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from judge.messages import Text, text
from judge.nightly.night_texts import STATUS_TEXTS, describe_letters, describe_trend
from judge.nightly.record import NightRecord
from judge.nightly.trend import Kind, TrendValue, all_engines, series, value_ranges
from judge.nightly.trend_drawing import Timeline, TrendRow, draw_rows, number_format
from judge.report import display_text
from judge.report.charts import svg
from judge.report.charts.svg import MAX_ENGINES, Chart, draw_name, draw_text, make_chart, make_tag
from judge.report.number_texts import NOTHING, format_number, format_range

#: The most nights that a picture shows.
NIGHTS = 366
_NIGHT = text("night")
_DOT = make_tag("circle", cx=9, cy=0, r=3, class_="dot")
_HOLLOW = make_tag("circle", cx=9, cy=0, r=3, class_="dot hollow")
_ALARM = make_tag("path", d="M3 -5H15L9 5Z", class_="alarm")
_BAND = make_tag("rect", x=1, y=-6, width=16, height=12, class_="band")
_BASE = make_tag("line", x1=1, x2=17, y1=0, y2=0, class_="base")


def draw_measure(nights: Sequence[NightRecord], measure: str, kind: Kind) -> Chart | None:
    """Return the chart of every engine's trend by the measure, None when no night has a value."""
    timeline = Timeline(nights[-NIGHTS:])
    rows = [_engine_row(timeline.nights, engine, measure, kind) for engine in all_engines(timeline.nights)]
    rows = [row for row in rows if row.measured]
    if not rows:
        return None
    mean, is_change = svg.name_mean(measure), kind == "change"
    title = text("{mean}, night by night", mean=mean)
    if is_change:
        title = text("{mean}, change from the baseline", mean=mean)
    id_ = "trend-" + "".join(char if char.isascii() and char.isalnum() else "-" for char in measure)
    drawn = rows[:MAX_ENGINES]
    ranges = value_ranges([row.measured for row in drawn], same_span=True, include_zero=is_change)
    pairs = list(zip(drawn, ranges, strict=True))
    picture = draw_rows(_measure_keys(rows, kind), timeline, pairs, kind, len(rows))
    form = number_format(kind)
    head = (_NIGHT, *(Text(text, text) for row in rows for text in (row.engine, "95 %", "n")))
    table = tuple(
        (night.date.isoformat(), *(cell for row in rows for cell in _cells(row.values[at], form)))
        for at, night in enumerate(timeline.nights)
    )
    desc = describe_trend(mean, kind, timeline.changes)
    return make_chart(id_, title, desc, picture, head, table)


def draw_canaries(nights: Sequence[NightRecord]) -> Chart | None:
    """Return the chart of the canaries: the unchanged share and the mean grade; None without any."""
    timeline = Timeline(nights[-NIGHTS:])
    canaries = [night.canaries for night in timeline.nights]
    if not any(canaries):
        return None
    title = text("The assessor: canaries")
    desc = text(
        "The same pairs, graded again every night. When their grades move, the assessor has changed, not an"
        " engine. Above: the share graded as in the baseline; below: the mean grade.{letters}",
        letters=describe_letters(timeline.changes),
    )
    labels = text("graded as in the baseline"), text("mean grade")
    shares = [night.unchanged if night else None for night in canaries]
    grades = [night.mean_grade if night else None for night in canaries]
    alarms = [bool(night and night.drift) for night in canaries]
    rows = [
        TrendRow(
            draw_text(label, "head", 0, 13),
            "",
            [None if figure is None else TrendValue(figure, None, 0) for figure in figures],
            [None] * len(canaries),
            alarms,
        )
        for label, figures in zip(labels, (shares, grades), strict=True)
    ]
    rows = [row for row in rows if row.measured]
    ranges = value_ranges([row.measured for row in rows], same_span=False, include_zero=False)
    keys = [(_DOT, text("a night")), (_ALARM, STATUS_TEXTS["assessor drift"])]
    picture = draw_rows(keys, timeline, list(zip(rows, ranges, strict=True)), "mean")
    head = (_NIGHT, *labels, text("pairs"), text("drift"))
    table = tuple(
        (
            night.date.isoformat(),
            format_number(share),
            format_number(grade),
            str(night.canaries.pairs) if night.canaries else NOTHING,
            "!" if alarm else "",
        )
        for night, share, grade, alarm in zip(timeline.nights, shares, grades, alarms, strict=True)
    )
    return make_chart("trend-canaries", title, desc, picture, head, table)


def _engine_row(nights: Sequence[NightRecord], engine: str, measure: str, kind: Kind) -> TrendRow:
    outcomes = [night.outcome_of(engine, measure) for night in nights]
    return TrendRow(
        draw_name(engine, 18, "head", 0, 13),
        display_text.fit_on_line(engine),
        series(nights, engine, measure, kind),
        [outcome.baseline if outcome and kind == "mean" else None for outcome in outcomes],
        [bool(outcome and outcome.verdict == "regression") for outcome in outcomes],
    )


def _measure_keys(rows: Sequence[TrendRow], kind: Kind) -> list[tuple[Markup, Text]]:
    """Return the marks of the picture with their meaning."""
    keys = [
        (_DOT, text("a night")),
        (_BAND, text("95 % interval")),
        (_HOLLOW, text("not decided")),
    ]
    if kind == "mean" and any(baseline is not None for row in rows for baseline in row.baselines):
        keys.append((_BASE, text("baseline")))
    if any(alarm for row in rows for alarm in row.alarms):
        keys.append((_ALARM, STATUS_TEXTS["regression"]))
    return keys


def _cells(value: TrendValue | None, form: str) -> tuple[str, str, str]:
    if value is None:
        return NOTHING, NOTHING, NOTHING
    return format_number(value.value, form), format_range(value.ci95, form), f"{value.n:,}"
