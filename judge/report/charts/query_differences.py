"""The chart of queries: the difference between the two best engines on each query."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.messages import Text, text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.axis import Axis, make_axis
from judge.report.charts.svg import (
    Caption,
    Chart,
    figure,
    format_length,
    format_percent,
    inset,
    join,
    shorten_name,
    tag,
    text_element,
)
from judge.runs.record_json import to_json
from judge.runs.results import QueryEntry

#: The most bars that are drawn; of more queries, neighbours share one.
MAX_BARS = 400
_TIE = 1e-12
_NUMBERS = 0.1
_TOP = 26
_HEIGHT = 150
#: With more bars than this no gap is left between them.
_APART = 120


@dataclass(slots=True)
class QueryDifferences:
    """The value of engine `a` minus the value of engine `b` by `measure`, query by query.

    The ids and texts of the queries are kept while each of them still gets a bar.
    """

    a: str
    b: str
    measure: str
    values: array[float] = field(default_factory=lambda: array("d"))
    queries: list[tuple[str, str]] = field(default_factory=list)

    def add(self, entry: QueryEntry) -> None:
        """Add a query of results.json if both engines have a value."""
        a, b = (_score(entry, engine, self.measure) for engine in (self.a, self.b))
        if a is None or b is None:
            return
        self.values.append(a - b)
        if len(self.values) <= MAX_BARS:
            self.queries.append((entry.query_id, entry.query))
        else:
            self.queries.clear()


@dataclass(frozen=True, slots=True)
class DifferenceBar:
    """A mean difference, the id or the places of its queries, and the text of its query."""

    value: float
    name: str
    text: str = ""


def start_differences(summary: Summary) -> QueryDifferences | None:
    """Return an empty collection for the two engines with the highest means; None when there are no two."""
    measure = sentences.deciding(to_json(summary))
    order = sentences.standing(to_json(summary), measure) if measure else []
    means = {engine: summary.engines[engine].measures[measure].mean for engine in order[:2]}
    if len(means) < 2 or None in means.values():
        return None
    return QueryDifferences(order[0], order[1], measure)


def draw_query_differences(differences: QueryDifferences) -> Chart | None:
    """Return the differences, largest first; None when the engines share no query with a value."""
    if not differences.values:
        return None
    title = text("The two best, query by query")
    caption = Caption("queries", title, _describe(differences))
    bars = make_bars(differences)
    a, b = display_text.isolate(differences.a), display_text.isolate(differences.b)
    head = (
        text("query"),
        Text("", "") if len(differences.values) > MAX_BARS else text("text"),
        Text(f"{a} − {b}", f"{a} − {b}"),
    )
    rows = tuple((bar.name, bar.text, svg.format_number(bar.value, "+.4f")) for bar in bars)
    return Chart(caption.id, title, caption.desc, _picture(caption, differences, bars), head, rows)


def make_bars(differences: QueryDifferences) -> list[DifferenceBar]:
    """Return at most `MAX_BARS` bars, largest difference first, of equal numbers of queries (± 1)."""
    if differences.queries:
        ordered = sorted(
            zip(differences.values, differences.queries, strict=True), key=lambda each: (-each[0], each[1])
        )
        return [
            DifferenceBar(value, display_text.one_line(id_), display_text.one_line(query))
            for value, (id_, query) in ordered
        ]
    ordered_values = sorted(differences.values, reverse=True)
    count = len(ordered_values)
    edges = [at * count // MAX_BARS for at in range(MAX_BARS + 1)]
    return [
        DifferenceBar(
            sum(ordered_values[first:last]) / (last - first),
            f"{first + 1:,}–{last:,}" if last - first > 1 else f"{last:,}",
        )
        for first, last in pairwise(edges)
    ]


def _score(entry: QueryEntry, engine: str, measure: str) -> float | None:
    answer = entry.engines.get(engine)
    return answer.scores.get(measure) if answer else None


def _counts(values: Sequence[float]) -> tuple[int, int, int]:
    """Return on how many queries `a` is ahead, both are equal, and `b` is ahead."""
    ahead, behind = sum(value > _TIE for value in values), sum(value < -_TIE for value in values)
    return ahead, len(values) - ahead - behind, behind


def _describe(differences: QueryDifferences) -> Text:
    a, b, mean = display_text.isolate(differences.a), display_text.isolate(differences.b), differences.measure
    ahead, equal, behind = _counts(differences.values)
    n = len(differences.values)
    en = (
        f"What {a} is ahead of {b} by {mean} on each of {n:,} queries, sorted: ahead on {ahead:,}, equal on"
        f" {equal:,}, behind on {behind:,}."
    )
    zh = (
        f"{n:,} 条查询上 {a} 比 {b} 的 {mean} 高出多少，从大到小排列："
        f"领先 {ahead:,} 条，相同 {equal:,} 条，落后 {behind:,} 条。"
    )
    if n > MAX_BARS:
        queries_per_bar = format_length(n / MAX_BARS)
        en += f" Each of the {MAX_BARS} bars is the mean of about {queries_per_bar} neighbouring queries."
        zh += f"图中 {MAX_BARS} 根柱子，每根是相邻约 {queries_per_bar} 条查询的平均。"
    return Text(en, zh)


def _picture(caption: Caption, differences: QueryDifferences, bars: Sequence[DifferenceBar]) -> Markup:
    up = make_axis([0.0, *(bar.value for bar in bars)], 4)
    ahead, _, behind = _counts(differences.values)
    bottom = _TOP + _HEIGHT
    plot = inset(_NUMBERS, 1 - _NUMBERS, *_grid(up), *_bars(up, bars), _zero(up))
    return figure(
        caption,
        bottom + 26,
        _side(differences.a, ahead, class_="head", x=format_percent(_NUMBERS), y=12),
        plot,
        _numbers(up),
        _side(
            differences.b, behind, class_="head other", x=format_percent(1), y=bottom + 18, text_anchor="end"
        ),
    )


def _side(engine: str, count: int, **attributes: str | float | None) -> Markup:
    short = f"{display_text.ISOLATE}{shorten_name(engine, 22)}{display_text.END}"
    return text_element(text("{short} ahead on {count:,}", short=short, count=count), **attributes)


def _y(up: Axis, value: float) -> float:
    return _TOP + _HEIGHT * (1 - up.at(value))


def _grid(up: Axis) -> Iterator[Markup]:
    for tick in up.ticks:
        if tick:
            y = _y(up, tick)
            yield tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="grid")


def _zero(up: Axis) -> Markup:
    y = _y(up, 0.0)
    return tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="zero")


def _numbers(up: Axis) -> Markup:
    right = format_percent(_NUMBERS - 0.015)
    return join(
        tag(
            "text", up.label(tick, signed=True), class_="tick", x=right, y=_y(up, tick) + 4, text_anchor="end"
        )
        for tick in up.ticks
    )


def _bars(up: Axis, bars: Sequence[DifferenceBar]) -> Iterator[Markup]:
    width = 1 / len(bars)
    filled = 0.8 if len(bars) <= _APART else 1.0
    zero = _y(up, 0.0)
    for at, bar in enumerate(bars):
        y = _y(up, bar.value)
        title = shorten_name(f"{bar.name} {bar.text}".strip(), 80)
        yield tag(
            "rect",
            tag("title", f"{title}: {svg.format_number(bar.value, '+.3f')}"),
            x=format_percent(width * (at + (1 - filled) / 2)),
            width=format_percent(width * filled),
            y=min(y, zero),
            height=abs(y - zero),
            class_="bar" if bar.value >= 0 else "bar other",
        )
