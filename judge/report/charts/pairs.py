"""The chart of pairs: the difference between two engines and the decision on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from judge.analysis.summary import PairComparison, Summary
from judge.messages import Text, text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.axis import (
    AXIS_HEIGHT,
    DOT,
    HOLLOW,
    ROW_HEIGHT,
    WHISKER,
    PlotArea,
    ValueRange,
    add_tooltip,
    draw_whisker,
    make_axis,
    make_range,
)
from judge.report.charts.svg import (
    NOTHING,
    TABLE,
    Caption,
    Chart,
    draw_legend,
    figure,
    format_percent,
    name_element,
    note_omitted,
    row_label,
    text_element,
)
from judge.runs.record_json import to_json

#: How many pairs the picture shows, and how many its table; summary.json has all.
_SHOWN = 15
_LISTED = 200
_NAMES = 0.31
_MARKS = (0.34, 0.38)
_VERDICTS = 0.75
_TOP = 36
_SIGNS = {"better": ">", "not separated": "≈", "undetermined": "?"}
_AHEAD = text("ahead")
_NOT_SEPARATED = text("not separated")
_UNDETERMINED = text("undetermined")
_HEAD = (
    Text("a", "a"),
    text("> ahead, ≈ not separated, ? undetermined"),
    Text("b", "b"),
    Text("a − b", "a − b"),
    text("95 % interval"),
    text("bounds of what is unjudged"),
    text("a ahead / equal / b ahead"),
    text("p, adjusted"),
)


def draw_pairs(summary: Summary) -> Chart | None:
    """Return the pairs by the deciding measure, those of the best engine first; None without pairs."""
    measure = sentences.deciding(to_json(summary))
    rows = [row for row in summary.comparisons if row.measure == measure]
    if not any(row.n for row in rows):
        return None
    caption = Caption("pairs", text("Differences between engines"), _describe(rows, measure))
    picture = _picture(caption, rows, measure)
    return Chart(caption.id, caption.title, caption.desc, picture, _HEAD, tuple(map(_cells, rows[:_LISTED])))


def _describe(rows: Sequence[PairComparison], measure: str) -> Text:
    mean = svg.mean_name(measure)
    apart = sum(row.outcome == "better" for row in rows)
    unsure = sum(row.outcome == "undetermined" for row in rows)
    en = (
        f"Engine by engine on the same queries, by {mean}: {apart:,} of {len(rows):,} pairs differ"
        " significantly. A lead counts when its interval, which allows for all pairs, stays clear of zero"
    )
    zh = (
        f"在相同的查询上两两相减（{mean}）：{len(rows):,} 对引擎中有 {apart:,} 对差异显著。"
        "区间已考虑同时比较所有引擎对，不含零即为领先"
    )
    if unsure:
        en += f"; {unsure:,} depend on unjudged snippets"
        zh += f"；{unsure:,} 对取决于未判定的摘要"
    return Text(f"{en}.", f"{zh}。")


def _cells(row: PairComparison) -> tuple[str, ...]:
    return (
        display_text.one_line(row.a),
        _SIGNS[row.outcome],
        display_text.one_line(row.b),
        svg.format_number(row.difference, "+.4f"),
        svg.format_range(row.ci95, "+.4f"),
        svg.format_range(row.bounds, "+.4f") if (cell := _value_range(row)) and cell.bounds else NOTHING,
        f"{row.wins:,} / {row.ties:,} / {row.losses:,}",
        svg.format_p_value(row.p_adjusted),
    )


def _value_range(row: PairComparison) -> ValueRange | None:
    return make_range(row.difference, row.ci95, row.bounds)


def _picture(caption: Caption, rows: Sequence[PairComparison], measure: str) -> Markup:
    drawn_rows = rows[:_SHOWN]
    groups = [(engine, list(pairs)) for engine, pairs in groupby(drawn_rows, key=lambda row: row.a)]
    bottom = _TOP + ROW_HEIGHT * (len(groups) + len(drawn_rows))
    numbers = [number for row in drawn_rows if (cell := _value_range(row)) for number in cell.numbers]
    panel = PlotArea(make_axis([0.0, *numbers], 4), *_MARKS, _TOP + ROW_HEIGHT - 4, bottom)
    parts = [_heading(measure), panel.grid(signed=True)]
    y = _TOP + ROW_HEIGHT / 2
    for engine, pairs in groups:
        parts.append(name_element(f"{engine} −", 36, class_="name first", x=0, y=y + 4))
        for row in pairs:
            y += ROW_HEIGHT
            parts += _pair(row, panel, y)
        y += ROW_HEIGHT
    left_out = len(rows) - len(drawn_rows)
    where = TABLE if len(rows) <= _LISTED else text("summary.json")
    parts.append(note_omitted(left_out, bottom + AXIS_HEIGHT + 16, Text("pairs", "对"), where))
    return figure(caption, bottom + AXIS_HEIGHT + (24 if left_out else 0), *parts)


def _heading(measure: str) -> Markup:
    mean = svg.mean_name(measure)
    return draw_legend(
        14,
        (0.0, DOT, _AHEAD),
        (70.0, HOLLOW, text("not ahead")),
        (165.0, WHISKER, text("95 % interval, {mean}", mean=mean)),
    )


def _pair(row: PairComparison, panel: PlotArea, y: float) -> Iterator[Markup]:
    """Yield one pair: the name of the other engine, the difference, and the verdict."""
    yield row_label(row.b, 13, _NAMES, y, indent=12)
    better = row.outcome == "better"
    if cell := _value_range(row):
        size = f"{svg.format_number(cell.value, '+.4f')} ({svg.format_range(cell.interval, '+.4f')})"
        title = f"{display_text.one_line(row.a)} − {display_text.one_line(row.b)}: {size}"
        mark = draw_whisker(panel.scale, y, cell, "dot" if better else "dot hollow")
        yield panel.of([add_tooltip(title, mark)])
    yield text_element(
        _verdict(row), class_="verdict ahead" if better else "verdict", x=format_percent(_VERDICTS), y=y + 4
    )


def _verdict(row: PairComparison) -> Text:
    if row.outcome == "better":
        return _AHEAD
    if not row.n:
        return text("nothing shared")
    return _NOT_SEPARATED if row.outcome == "not separated" else _UNDETERMINED
