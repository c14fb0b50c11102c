"""The table of `judge trend`: a line per engine, and below it what happened on which night."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from judge.cli.render.tables import Part, make_table
from judge.cli.terminal import t
from judge.measure.measures import name_mean
from judge.nightly.night_texts import (
    SENTENCE_LENGTH,
    describe_nonsignificant_drops,
    format_plain,
    shorten_reason,
    write_headline,
)
from judge.nightly.record import EXIT_CODES, Status
from judge.nightly.trend import NightTrend, Trend, describe_unfinished
from judge.nightly.trend_changes import CHANGE_TEXTS, Change
from judge.nightly.trend_drawing import make_axes
from judge.report.charts.svg import Axis, make_axis
from judge.report.display_text import (
    fit_on_line,
    format_plain_number,
    format_plain_range,
    truncate_with_ellipsis,
)

#: The most nights that a line shows.
MAX_NIGHTS_IN_TABLE = 60
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
#: The changes that a status and its first reason name.
_NAMED_CHANGES: Mapping[Status, frozenset[Change]] = {
    "assessor drift": frozenset({"assessor", "model", "prompt"}),
    "queries changed": frozenset({"queries"}),
    "engine settings changed": frozenset({"engine settings"}),
}


def iter_trend_parts(trend: Trend) -> Iterator[Part]:
    """Yield the trend: what it shows, the engines night by night, and what happened."""
    yield from _describe_trend(trend)
    yield from _iter_tables(trend)
    yield from _iter_notes(trend)


def _describe_trend(trend: Trend) -> Iterator[str]:
    what = name_mean(trend.measure) if trend.measure else t("no measure")
    if trend.kind == "change":
        what += t(", change from the baseline on one pool")
    elif trend.measure:
        what += t(
            ", which does not depend on the pool, so nights can be compared; for others: --measure NAME"
        )
    yield t(
        "{nights}, {first} to {last}: {what}",
        nights=t.translate_plural("{count:,} night", "{count:,} nights", len(trend.nights)),
        first=trend.nights[0].date,
        last=trend.nights[-1].date,
        what=what,
    )
    if len(trend.nights) > MAX_NIGHTS_IN_TABLE:
        yield t("lines show the last {count} nights", count=MAX_NIGHTS_IN_TABLE)


def _iter_tables(trend: Trend) -> Iterator[Table]:
    """Yield the lines, night by night, and the numbers."""
    rows = list(_iter_rows(trend))
    lines = make_table([t("engine"), t("night by night")], [(name, Text(line)) for name, line, _ in rows])
    lines.columns[1].justify = "left"
    yield lines
    titles = t("engine"), t("first"), t("last"), t("min"), t("max"), t("queries"), t("to baseline")
    yield make_table(titles, [(name, *cells) for name, _, cells in rows if cells])


def _iter_rows(trend: Trend) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, line and numbers: the engines, what happened, and the canaries.

    Each line has a bar before a night whose values are not comparable with those of the night before.
    """
    signed = trend.kind == "change"
    nights = trend.nights[-MAX_NIGHTS_IN_TABLE:]

    def separate(cells: str) -> str:
        bars = ("│" if at and night.breaks else "" for at, night in enumerate(nights))
        return "".join(bar + cell for bar, cell in zip(bars, cells, strict=True))

    # The lines show the values only, so their range leaves out the intervals.
    drawn_cells = [
        [replace(value, ci95=None) for value in row.values[-MAX_NIGHTS_IN_TABLE:] if value]
        for row in trend.engines.values()
    ]
    axes = make_axes(drawn_cells, same_span=True, include_zero=signed)
    for (engine, row), axis in zip(trend.engines.items(), axes, strict=True):
        values = [value.value if value else None for value in row.values[-MAX_NIGHTS_IN_TABLE:]]
        format_spec = "+.3f" if signed else ".3f"
        numbers = [format_plain_number(end, format_spec) for end in (row.first, row.last, row.min, row.max)]
        queries = next((f"{value.n:,}" for value in reversed(row.values) if value), "-")
        change = "-"
        if row.to_baseline:
            change = format_plain_number(row.to_baseline.value, "+.3f")
            if row.to_baseline.ci95:
                change += f" ({format_plain_range(t, row.to_baseline.ci95, '+.3f')})"
        yield engine, separate(draw_sparkline(values, axis)), [*numbers, queries, change]
    yield t("status"), separate("".join(_SIGNS[night.status] for night in nights)), []
    yield t("changed"), separate("".join("^" if night.changed else " " for night in nights)), []
    shares = [share for share in trend.canaries if share is not None]
    if shares:
        line = draw_sparkline(trend.canaries[-MAX_NIGHTS_IN_TABLE:], make_axis([0.0, 1.0]))
        ends = (shares[0], shares[-1], min(shares), max(shares))
        yield t("canaries"), separate(line), [format_plain_number(end) for end in ends]


def draw_sparkline(values: Sequence[float | None], axis: Axis) -> str:
    """Return the values as bars of eight heights, with a blank where there is none."""
    top = len(_BARS) - 1
    return "".join(" " if value is None else _BARS[round(top * axis.locate(value))] for value in values)


def _iter_notes(trend: Trend) -> Iterator[str]:
    """Yield the last regression, the nights that numbers leave out, the cost, the signs, what happened."""
    yield format_plain(write_headline(t, trend.nights))
    if any(row.to_baseline for row in trend.engines.values()):
        yield t("to baseline: the change from the baseline on the night of the last value")
    if trend.left_out:
        yield t(
            "first, last, min and max of an engine leave out nights that are incomplete or lack its answers,"
            " and nights with other queries, engine settings or assessors than the baseline"
        )
    costs = [night.cost_total_usd for night in trend.nights if night.cost_total_usd is not None]
    unknown = len(trend.nights) - len(costs)
    of_unknown = t.translate_plural(
        "; the cost of {count:,} night is unknown", "; the cost of {count:,} nights is unknown", unknown
    )
    if sum(costs):
        yield t(
            "paid: ${usd:,.4f} in {nights}{unknown}",
            usd=sum(costs),
            nights=t.translate_plural("{count:,} night", "{count:,} nights", len(costs)),
            unknown=of_unknown if unknown else "",
        )
    elif unknown:
        yield t("cost unknown (no price)")
    yield t(
        "status: · fine, ! regression, ~ assessor drift, ? not compared or incomplete, - no baseline;"
        " ^ something changed"
    )
    if any(night.breaks for night in trend.nights[-MAX_NIGHTS_IN_TABLE:]):
        yield t("│ the values before and after it are not comparable")
    if any(share is not None for share in trend.canaries):
        yield t("canaries: the share that has the same grade as at the baseline")
    yield from _iter_news(trend.nights[-MAX_NIGHTS_IN_TABLE:])
    for sentence in trend.damaged:
        yield t("left out: {reason}", reason=truncate_with_ellipsis(t(sentence), SENTENCE_LENGTH))
    for day, command in trend.resume_commands.items():
        yield describe_unfinished(t, day, command)


def _iter_news(nights: Sequence[NightTrend]) -> Iterator[str]:
    """Yield a line for each night that is not fine, has drops to look at, or on which something changed."""
    for night in nights:
        in_status = _NAMED_CHANGES.get(night.status, ())
        parts = [t(CHANGE_TEXTS[change][1].en) for change in night.changed if change not in in_status]
        if EXIT_CODES[night.status]:
            status = t(night.status)
            if night.regressed:
                engines = t.join(map(fit_on_line, night.regressed))
                status = t("{status} of {engines}", status=status, engines=engines)
            reasons = night.other_reasons[:1]
            parts += [status, *(shorten_reason(reason, is_last=night is nights[-1]) for reason in reasons)]
        parts += map(format_plain, describe_nonsignificant_drops(t, night))
        if parts:
            yield f"{night.date}  {_SIGNS[night.status]}  {t('; ').join(parts)}"
