"""The chart of repeats: how far the mean of each engine moves when the same pool is judged again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from judge.analysis.summary import EngineStability, MeasureStability, RepeatStability, Summary
from judge.messages import Text, text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.axis import AXIS_HEIGHT, Axis, PlotArea, add_tooltip, make_axis
from judge.report.charts.svg import (
    MAX_ENGINES,
    Caption,
    Chart,
    dot,
    figure,
    format_percent,
    note_omitted,
    row_label,
    tag,
    text_element,
)
from judge.runs.record_json import to_json

_NAMES = 0.31
_MARKS = (0.34, 0.48)
_TOP = 20
#: The height that an engine's repeats share, first on top, and the space between two engines.
_STRIP = 18
_SPACE = 14

Row = Mapping[str, Any]
Means = Sequence[float | None]


def draw_repeats(summary: Summary) -> Chart | None:
    """Return each engine's mean in each repeat by the deciding measure; None with one repeat only."""
    stability = summary.stability
    measure = sentences.deciding(to_json(summary)) or summary.measures[0]
    if summary.repeats < 2 or not stability or measure not in stability.measures:
        return None
    repeated = stability.measures[measure]
    means = {
        engine: repeated.engines[engine].means
        for engine in sentences.standing(to_json(summary), measure)
        if engine in repeated.engines
    }
    if all(mean is None for row in means.values() for mean in row):
        return None
    title = text("Stability over repeats")
    caption = Caption("repeats", title, _describe(stability, repeated, svg.mean_name(measure)))
    head = (
        svg.ENGINE,
        *(text("repeat {at}", at=at) for at in range(1, stability.repeats + 1)),
        text("range"),
    )
    rows = tuple(_cells(engine, repeated.engines[engine]) for engine in means)
    return Chart(
        caption.id, title, caption.desc, _picture(caption, means, svg.mean_name(measure)), head, rows
    )


def _cells(engine: str, row: EngineStability) -> tuple[str, ...]:
    means = (svg.format_number(mean, ".4f") for mean in row.means)
    return (display_text.one_line(engine), *means, svg.format_number(row.range, ".4f"))


def _describe(stability: RepeatStability, repeated: MeasureStability, measure: str) -> Text:
    en = f"Mean {measure} of each engine in each of {stability.repeats} repeats, the first on top"
    zh = f"各引擎在每次重复判定中的 {measure} 均值，自上而下为第 1 至第 {stability.repeats} 次"
    if repeated.largest_difference is not None:
        moved = f"{repeated.largest_difference:.4f}"
        en += f": it moves by up to {moved}"
        zh += f"：最多相差 {moved}"
    en, zh = f"{en}.", f"{zh}。"
    flips, tau = stability.flip_rate.value, repeated.smallest_tau
    if flips is not None:
        en += f" Judged again, {flips:.1%} of the verdicts (relevant or not) change."
        zh += f"再判一次，{flips:.1%} 的结论（相关与否）会变。"
    if tau is not None:
        same = tau >= 1 - 1e-9
        en += f" The engines' order {'is the same in every repeat' if same else 'changes between repeats'}."
        zh += "每次重复里引擎的名次都一样。" if same else "各次重复之间引擎的名次有变化。"
    return Text(en, zh)


def _picture(caption: Caption, means: Mapping[str, Means], measure: str) -> Markup:
    drawn_means = list(means.items())[:MAX_ENGINES]
    row = _STRIP + _SPACE
    bottom = _TOP + row * len(drawn_means)
    along = make_axis(mean for _, row_means in drawn_means for mean in row_means if mean is not None)
    panel = PlotArea(along, *_MARKS, _TOP, bottom)
    left_out = len(means) - len(drawn_means)
    parts = [
        tag("text", measure, class_="head", x=0, y=12),
        text_element(text("range"), class_="note", x=format_percent(1), y=12, text_anchor="end"),
        panel.grid(),
    ]
    for at, (engine, row_means) in enumerate(drawn_means):
        middle = _TOP + row * (at + 0.5)
        parts.append(row_label(engine, 15, _NAMES, middle))
        parts.append(panel.of([_strip(along, engine, row_means, middle)]))
        parts.append(
            tag(
                "text",
                _range(row_means),
                class_="number",
                x=format_percent(1),
                y=middle + 4,
                text_anchor="end",
            )
        )
    parts.append(note_omitted(left_out, bottom + AXIS_HEIGHT + 16, text("engines")))
    return figure(caption, bottom + AXIS_HEIGHT + (24 if left_out else 0), *parts)


def _range(means: Means) -> str:
    present = [mean for mean in means if mean is not None]
    return svg.format_number(max(present) - min(present) if present else None)


def _strip(along: Axis, engine: str, means: Means, middle: float) -> Markup:
    """Return the repeats of an engine from top to bottom, joined in their order."""
    spacing = _STRIP / max(1, len(means) - 1)
    first = middle - spacing * (len(means) - 1) / 2
    points = [(along.at(mean), first + spacing * at) for at, mean in enumerate(means) if mean is not None]
    title = f"{display_text.one_line(engine)}: {', '.join(svg.format_number(mean, '.4f') for mean in means)}"
    return add_tooltip(title, *_lines(points), *(dot(x, y, "dot", 3) for x, y in points))


def _lines(points: Sequence[tuple[float, float]]) -> Iterator[Markup]:
    for (x1, y1), (x2, y2) in pairwise(points):
        yield tag("line", x1=format_percent(x1), x2=format_percent(x2), y1=y1, y2=y2, class_="whisker")
