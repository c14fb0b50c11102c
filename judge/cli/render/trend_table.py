"""The table of `judge trend`: a line per engine, and below it what happened on which night."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.render.cells import print_table
from judge.english import format_count, join_names
from judge.nightly.night_texts import CHANGE_TEXTS, describe_unfinished
from judge.nightly.record import EXIT_CODES, Status
from judge.nightly.trend import NightTrend, Trend, TrendRange, TrendValue, value_ranges
from judge.report.charts.svg import format_number, format_range
from judge.report.display_text import one_line, truncate_with_ellipsis

#: The most nights that a line shows.
NIGHTS = 60
_BARS = "▁▂▃▄▅▆▇█"
_SIGNS: Mapping[Status, str] = {
    "fine": "·",
    "regression": "!",
    "assessor drift": "~",
    "incomplete": "?",
    "queries changed": "?",
    "engine settings changed": "?",
    "no baseline": "-",
}
_SIGNS_TEXT = (
    "status: · fine, ! regression, ~ assessor drift, ? not decided, - no baseline; ^ something changed"
)
_REASON_LENGTH = 300


def print_trend(trend: Trend, console: Console) -> None:
    """Print the trend."""
    for line in _heading(trend):
        console.print(Text(line))
    print_table(_make_table(trend), console)
    for line in (*_notes(trend.nights), _SIGNS_TEXT, *_news(trend.nights[-NIGHTS:])):
        console.print(Text(line))
    for sentence in trend.damaged:
        console.print(Text(f"left out: {truncate_with_ellipsis(sentence, _REASON_LENGTH)}"))
    for day in trend.begun:
        console.print(Text(describe_unfinished(day).en))


def _heading(trend: Trend) -> list[str]:
    what = trend.measure or "no measure"
    if trend.kind == "change":
        what += ", change from the frozen baseline on one pool"
    first, last = trend.nights[0].date, trend.nights[-1].date
    heading = f"{format_count(len(trend.nights), 'night')}, {first} to {last}: {what}"
    return [heading, *([f"lines show the last {NIGHTS} nights"] if len(trend.nights) > NIGHTS else [])]


def _make_table(trend: Trend) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("engine", no_wrap=True)
    table.add_column("night by night", no_wrap=True)
    for title in ("first", "last", "min", "max", "queries", "to baseline"):
        table.add_column(title, justify="right", no_wrap=True)
    signed = trend.kind == "change"
    # The lines show the values only, so their range leaves out the intervals.
    drawn_cells = [
        [replace(value, ci95=None) for value in row.values[-NIGHTS:] if value]
        for row in trend.engines.values()
    ]
    ranges = value_ranges(drawn_cells, same_span=True, include_zero=signed)
    for (engine, row), axis in zip(trend.engines.items(), ranges, strict=True):
        line = sparkline([value.value if value else None for value in row.values[-NIGHTS:]], axis)
        numbers = (
            format_number(end, "+.3f" if signed else ".3f") for end in (row.first, row.last, row.min, row.max)
        )
        queries = next((f"{value.n:,}" for value in reversed(row.values) if value), format_number(None))
        cells = (line, *numbers, queries, _format_change(row.to_baseline))
        table.add_row(Text(one_line(engine)), *map(Text, cells))
    nights = trend.nights[-NIGHTS:]
    table.add_row("status", Text("".join(_SIGNS[night.status] for night in nights)))
    table.add_row("changed", Text("".join("^" if night.changed else " " for night in nights)))
    shares = [share for share in trend.canaries if share is not None]
    if shares:
        line = sparkline(trend.canaries[-NIGHTS:], TrendRange(0.0, 1.0))
        ends = (shares[0], shares[-1], min(shares), max(shares))
        table.add_row(
            Text("canaries as at the baseline"), Text(line), *(Text(format_number(end)) for end in ends)
        )
    return table


def sparkline(values: Sequence[float | None], axis: TrendRange) -> str:
    """Return the values as bars of eight heights, with a blank where there is none."""
    top = len(_BARS) - 1
    return "".join(" " if value is None else _BARS[round(top * axis.position(value))] for value in values)


def _format_change(change: TrendValue | None) -> str:
    if change is None:
        return format_number(None)
    return format_number(change.value, "+.3f") + (
        f" ({format_range(change.ci95, '+.3f')})" if change.ci95 else ""
    )


def _notes(nights: Sequence[NightTrend]) -> Iterator[str]:
    """Yield which nights the numbers leave out, and what all nights cost."""
    if any(night.status == "assessor drift" for night in nights):
        yield "first, last, min and max of engines are without nights of assessor drift"
    costs = [night.cost_total_usd for night in nights if night.cost_total_usd is not None]
    if costs:
        yield f"paid: ${sum(costs):,.4f} in {format_count(len(costs), 'night')}"


def _news(nights: Sequence[NightTrend]) -> Iterator[str]:
    """Yield a line for each night that is not fine or on which something changed."""
    for night in nights:
        parts = [CHANGE_TEXTS[change][1].en for change in night.changed]
        if EXIT_CODES[night.status]:
            if night.regressed:
                parts.append(
                    f"{night.status} of {join_names([one_line(engine) for engine in night.regressed])}"
                )
            else:
                parts += [
                    night.status,
                    *(truncate_with_ellipsis(reason, _REASON_LENGTH) for reason in night.reasons[:1]),
                ]
        if parts:
            yield f"{night.date}  {_SIGNS[night.status]}  {'; '.join(parts)}"
