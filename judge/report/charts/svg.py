"""SVG elements of charts, axes, marks with intervals along an axis, and charts made of them.

Widths are percentages, so that a chart fills any column while its text keeps its size; heights are
pixels. Elements have classes and no styles: charts.css holds the styles.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple, Self

from markupsafe import Markup, escape

from judge.measure.numeric import TIE
from judge.messages import Bilingual, make_text
from judge.report.display_text import fit_on_line, set_minus_signs
from judge.report.result_tables import ResultTable

#: How a page names the languages.
_LANGS = {"en": "en", "zh": "zh-Hans"}
#: How many engines a picture shows; its table has all.
MAX_ENGINES = 12
#: What each grade of a scale is called in a word or two, from grade 0 up.
GRADE_NAMES = {
    "graded": (
        make_text("off topic"),
        make_text("on topic only"),
        make_text("part of it"),
        make_text("full answer"),
    ),
    "binary": (make_text("no"), make_text("yes")),
}
UNJUDGED = make_text("unjudged")
#: The height of a row in pixels, and of the numbers under a panel.
ROW_HEIGHT = 24
AXIS_HEIGHT = 22


def make_tag(element: str, *inside: str, **attributes: str | float | None) -> Markup:
    """Return an SVG element with escaped texts and values.

    `class_` becomes class, `stroke_width` becomes stroke-width. Markup stays as it is; an attribute that is
    None is left out.
    """
    # A page has thousands of elements; Markup.format takes four times as long.
    written_attributes = "".join(
        f" {name.rstrip('_').replace('_', '-')}="
        f'"{escape(value) if isinstance(value, str) else format_length(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{element}{written_attributes}>{join_markup(inside)}</{element}>")  # noqa: S704 - all is escaped


def join_markup(parts: Iterable[str]) -> Markup:
    """Return the parts one after another, each escaped unless it is Markup."""
    return Markup("".join(map(escape, parts)))  # noqa: S704 - all is escaped


def format_length(value: float) -> str:
    """Return a length with at most two decimals and no zeros at the end."""
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def format_percent(fraction: float) -> str:
    """Return a fraction of the width as an SVG percentage."""
    return f"{format_length(100 * fraction)}%"


def _list_forms(text: Bilingual | str, class_: str | None) -> list[tuple[str, str | None, str | None]]:
    """Return the words, the class and the lang of each element for a text; one where both are equal."""
    texts = Bilingual.repeat(text) if isinstance(text, str) else text
    if texts.en == texts.zh:
        return [(texts.en, class_, None)]
    prefix = f"{class_} " if class_ else ""
    return [(words, prefix + lang, _LANGS[lang]) for lang, words in texts._asdict().items()]


def draw_text(
    text: Bilingual | str, class_: str, x: float | str, y: float, anchor: str | None = None
) -> Markup:
    """Return a text of `class_`; `x` is a fraction of the width, or pixels as text.

    A text in both languages is two elements, of which the page shows one.
    """
    place = format_percent(x) if isinstance(x, float | int) else x
    return join_markup(
        make_tag("text", words, class_=classes, lang=lang, x=place, y=y, text_anchor=anchor)
        for words, classes, lang in _list_forms(text, class_)
    )


def draw_label(
    text: Bilingual | str, class_: str, x: float, y: float, width: float, height: float = ROW_HEIGHT
) -> Markup:
    """Return a name, or a text with names, in a box: `x` and `width` are fractions of the width.

    A long one breaks into two lines, or is cut with an ellipsis as charts.css says; the tooltip of a name has
    all of it. A name may be untrusted.
    """
    name = fit_on_line(text) if isinstance(text, str) else None
    forms = (
        make_tag("bdi", words, class_=lang_class, lang=lang)
        for words, lang_class, lang in _list_forms(name or text, None)
    )
    label = make_tag("div", *forms, class_=f"label {class_}", title=name)
    across = {"x": format_percent(x), "width": format_percent(width)}
    return make_tag("foreignObject", label, **across, y=y, height=height)


def draw_line(x1: float, x2: float, y1: float, y2: float, class_: str) -> Markup:
    """Return a line; `x` are fractions of the width, `y` pixels."""
    return make_tag("line", x1=format_percent(x1), x2=format_percent(x2), y1=y1, y2=y2, class_=class_)


def draw_box(
    x: float, width: float, y: float, height: float, class_: str, *inside: str, **more: str | float | None
) -> Markup:
    """Return a rectangle; `x` and `width` are fractions of the width, `y` and `height` pixels."""
    across = {"x": format_percent(x), "width": format_percent(width)}
    return make_tag("rect", *inside, **across, y=y, height=height, class_=class_, **more)


def draw_dot(x: float, y: float, class_: str, radius: float = 4) -> Markup:
    """Return a circle; `x` is a fraction of the width."""
    return make_tag("circle", cx=format_percent(x), cy=y, r=radius, class_=class_)


def draw_inset(x: float, width: float, *inside: str) -> Markup:
    """Return a part of the chart; fractions inside it count from `x` on and are of its `width`."""
    return make_tag("svg", *inside, x=format_percent(x), width=format_percent(width), overflow="visible")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of the report.

    `svg` fills the column that holds it and has a fixed height in pixels; charts.css gives it colours. Its
    aria-labelledby and aria-describedby name the English texts; on a Chinese page they end in -zh instead of
    -en. `table` has the numbers behind the picture, or is the id of the table of the page that has them.
    Names in it and in sentences are untrusted and are between `display_text.ISOLATE` and `END`.
    """

    id: str
    title: Bilingual
    desc: Bilingual
    svg: Markup
    table: ResultTable | str


class Picture(NamedTuple):
    """The elements of a chart, and its height in pixels."""

    height: float
    parts: Sequence[Markup]


def make_chart(
    id_: str, title: Bilingual, desc: Bilingual, picture: Picture, table: ResultTable | str
) -> Chart:
    """Return the chart; its picture is named by `title` and described by `desc` in both languages."""
    mark = f"chart-{id_}"
    descriptions = [
        make_tag(kind, words, id=f"{mark}-{kind}-{lang}", lang=_LANGS[lang])
        for kind, both in (("title", title), ("desc", desc))
        for lang, words in both._asdict().items()
    ]
    drawing = make_tag(
        "svg",
        *descriptions,
        *picture.parts,
        xmlns="http://www.w3.org/2000/svg",
        id=mark,
        class_="chart",
        role="img",
        aria_labelledby=f"{mark}-title-en",
        aria_describedby=f"{mark}-desc-en",
        width="100%",
        height=picture.height,
    )
    return Chart(id_, title, desc, drawing, table)


def draw_legend(y: float, *entries: tuple[float, Markup, Bilingual]) -> Markup:
    """Return a legend on one line; an entry is its distance from the left, a mark around (9, 0), a text."""
    return join_markup(
        make_tag("svg", mark, draw_text(text, "note", "22", 4), x=x, y=y, overflow="visible")
        for x, mark, text in entries
    )


def describe_omitted(rows: int, drawn: int) -> list[Bilingual]:
    """Return a sentence for the description of a picture that leaves out some of its rows, if it does."""
    if rows <= drawn:
        return []
    values = {"drawn": drawn, "rows": rows}
    return [make_text("The picture shows the first {drawn} of {rows:,} rows; the table has more.", **values)]


def name_grade(grade: int, name: Bilingual) -> Bilingual:
    """Return the number of a grade with its name."""
    return Bilingual(f"{grade} {name.en}", f"{grade} {name.zh}")


def add_tooltip(title: str, *parts: str) -> Markup:
    """Return the marks with a text that the browser shows when the pointer is on them."""
    return make_tag("g", make_tag("title", title), *parts)


#: Below this a span is rounding, not a difference.
_FLAT = 1e-9
#: How much is shown around values that are all the same.
_AROUND = 0.1
#: The width of the names of rows, as a fraction of the column, and where the marks after them start.
NAMES_WIDTH, MARKS_START = 0.31, 0.34


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers along a line from `low` to `high`; `ticks` are round and evenly spaced."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def locate(self, value: float) -> float:
        """Return the position of the value: 0 at the low end, 1 at the high one, clipped to both."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def cut(self, low: float, high: float) -> Self:
        """Return the part of the axis from `low` to `high`."""
        ticks = tuple(tick for tick in self.ticks if low <= tick <= high)
        return type(self)(low, high, ticks, self.decimals)

    def format_tick(self, tick: float, *, signed: bool = False, short: bool = False) -> str:
        """Return the tick as text: `signed` adds a plus, except for 0; `short` drops zeros at the end."""
        text = f"{abs(tick):.{self.decimals}f}"
        if self.decimals and (short or (signed and not tick)):
            text = text.rstrip("0").rstrip(".")
        sign = "-" if tick < 0 else "+" if signed and tick > 0 else ""
        return set_minus_signs(sign + text)


def make_axis(values: Iterable[float], count: int = 5) -> Axis:
    """Return an axis that holds all values, with about `count` steps of 1, 2 or 5 times a power of ten.

    Its first and last tick are its ends.

    Values that are all equal, or none, get an axis around them that stays within 0 to 1 if they do.
    """
    numbers = list(values) or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    if high - low < _FLAT:
        inside = low >= 0 and high <= 1
        low, high = low - _AROUND, high + _AROUND
        low, high = (max(0.0, low), min(1.0, high)) if inside else (low, high)
    times, power = choose_step(high - low, count)
    size = times * 10.0**power
    # A value that is a tick but for rounding needs no further one.
    first, last = floor(low / size + _FLAT), ceil(high / size - _FLAT)
    decimals = max(0, -power)
    ticks = tuple(round(index * times * 10.0**power, decimals) for index in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, decimals)


def choose_step(span: float, count: int) -> tuple[int, int]:
    """Return (times, power): the smallest round step, times * 10^power, of which `count` cover the span."""
    power = floor(log10(span / count))
    times = next(times for times in (1, 2, 5, 10) if times * 10.0**power * count >= span * (1 - _FLAT))
    return (1, power + 1) if times == 10 else (times, power)


#: Marks as a key shows them, around (9, 0).
DOT = make_tag("circle", cx=9, cy=0, r=4, class_="dot")
HOLLOW = make_tag("circle", cx=9, cy=0, r=3.5, class_="dot hollow")
IDEAL = make_tag("path", d="M9 -7V7", class_="ideal")
WHISKER = make_tag("path", d="M1 0H17M1 -4V4M17 -4V4", class_="whisker")
BOUNDS = make_tag("rect", x=1, y=-6, width=16, height=12, class_="bounds")
MEAN_LEGEND = ((0.0, DOT, make_text("mean")), (70.0, WHISKER, make_text("95% interval")))


@dataclass(frozen=True, slots=True)
class ValueRange:
    """A value, its 95% interval, and its bounds when unjudged snippets leave it bounds."""

    value: float
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None

    @property
    def numbers(self) -> tuple[float, ...]:
        """Every number that is drawn."""
        return self.value, *(self.interval or ()), *(self.bounds or ())


def make_range(
    value: float | None, interval: Sequence[float] | None, bounds: Sequence[float | None] | None
) -> ValueRange | None:
    """Return the value of summary.json with its interval and bounds; None where there is no value."""
    if value is None:
        return None
    lowest, highest = bounds or (None, None)
    unsure = None
    if lowest is not None and highest is not None and max(value - lowest, highest - value) > TIE:
        unsure = lowest, highest
    return ValueRange(value, (interval[0], interval[1]) if interval else None, unsure)


def draw_whisker(axis: Axis, y: float, cell: ValueRange, class_: str, radius: float = 4) -> Markup:
    """Return a dot of `class_` with its interval as a line and its bounds as a bar around height `y`."""
    parts = []
    if cell.bounds:
        first, last = map(axis.locate, cell.bounds)
        parts.append(draw_box(first, last - first, y - radius - 2, 2 * radius + 4, "bounds"))
    if cell.interval:
        first, last = map(axis.locate, cell.interval)
        parts.append(draw_line(first, last, y, y, "whisker"))
        parts += [draw_line(end, end, y - radius, y + radius, "whisker") for end in (first, last)]
    parts.append(draw_dot(axis.locate(cell.value), y, class_, radius))
    return join_markup(parts)


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The area for marks: `x` and `width` are fractions of the column, `top` and `bottom` pixels.

    Its axis goes along the width of rows of marks, or upwards for marks at heights.
    """

    axis: Axis
    x: float
    width: float
    top: float
    bottom: float

    def place(self, parts: Iterable[str]) -> Markup:
        """Return the parts, placed by fractions of the width of the area."""
        return draw_inset(self.x, self.width, *parts)

    def draw_grid(self, *, signed: bool = False, ends: bool = False) -> Markup:
        """Return the grid lines and the numbers under them; `ends` writes the first and last number only.

        Where the page is narrow, every other number is left out; the one of a tick at 0 stays.
        """
        ticks = self.axis.ticks
        parity = ticks.index(0.0) % 2 if 0.0 in ticks else 0
        numbers = zip((ticks[0], ticks[-1]), ("start", "end"), strict=True)
        parts = []
        for tick in ticks:
            at, class_ = self.axis.locate(tick), "zero" if signed and tick == 0 else "grid"
            parts.append(draw_line(at, at, self.top, self.bottom, class_))
        for at, (tick, anchor) in enumerate(numbers if ends else ((tick, "middle") for tick in ticks)):
            number = self.axis.format_tick(tick, signed=signed, short=ends)
            class_ = "tick" if ends or at % 2 == parity else "tick ample"
            parts.append(draw_text(number, class_, self.axis.locate(tick), self.bottom + 15, anchor))
        return self.place(parts)

    def find_height(self, value: float) -> float:
        """Return the height of a value on an axis that goes upwards."""
        return self.bottom - (self.bottom - self.top) * self.axis.locate(value)

    def draw_levels(self, *, signed: bool = False) -> Markup:
        """Return grid lines from left to right, except at 0 if `signed`, and the numbers left of them."""
        heights = [(tick, self.find_height(tick)) for tick in self.axis.ticks]
        lines = (draw_line(0, 1, y, y, "grid") for tick, y in heights if tick or not signed)
        numbers = (
            draw_text(self.axis.format_tick(tick, signed=signed), "tick", self.x - 0.015, y + 4, "end")
            for tick, y in heights
        )
        return join_markup([self.place(lines), *numbers])

    def list_rows(self, count: int) -> list[float]:
        """Return the heights of the middles of `count` rows that share the area."""
        row = (self.bottom - self.top) / count
        return [self.top + row * (at + 0.5) for at in range(count)]

    def draw_rows(
        self, names: Sequence[str], marks: Iterable[Markup], numbers: Sequence[str]
    ) -> Iterator[Markup]:
        """Yield the names of the rows, the grid, the marks, and a number at the right edge of each row."""
        rows = self.list_rows(len(names))
        yield draw_row_names(names, rows)
        yield self.draw_grid()
        yield self.place(marks)
        yield from (
            draw_text(number, "number", 1, y + 4, "end") for number, y in zip(numbers, rows, strict=True)
        )


def draw_row_names(names: Sequence[str], rows: Iterable[float], height: float = ROW_HEIGHT) -> Markup:
    """Return the names of engines left of their rows of a `height`, around the heights `rows`."""
    class_ = "row" if height >= ROW_HEIGHT else "row single"
    return join_markup(
        draw_label(name, class_, 0, y - height / 2, NAMES_WIDTH, height)
        for name, y in zip(names, rows, strict=True)
    )
