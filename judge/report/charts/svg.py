"""Owns how a chart is drawn: escaped elements, places in percent of the column, texts in two languages.

Across, a chart is laid out in percent, so it fills any column while its text keeps its size; down, in
pixels. Nothing has a style of its own: classes name what a thing is, charts.css says how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import east_asian_width

from markupsafe import Markup, escape

from judge.report import display_text, words

#: How a page names the languages.
LANGS = {"en": "en", "zh": "zh-Hans"}
#: What stands where there is no value.
NOTHING = "–"
_ELLIPSIS = "…"
#: How high a row's name may be, in pixels.
_LABEL = 22


class Text(NamedTuple):
    """The same words in English and Chinese."""

    en: str
    zh: str


def tag(element: str, *inside: str, **attributes: str | float | None) -> Markup:
    """An SVG element; texts and values are escaped, `class_` is class, `stroke_width` stroke-width.

    What is already Markup stays as it is. An attribute that is None is left out.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), value if isinstance(value, str) else format_length(value)
        )
        for name, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(element, written, join(inside))


def join(parts: Iterable[str]) -> Markup:
    """The parts one after another, each escaped unless it is Markup."""
    return Markup("").join(map(escape, parts))


def format_length(value: float) -> str:
    """A length: two decimals at most, no more digits than needed."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def format_percent(fraction: float) -> str:
    """A fraction of the width as SVG writes it."""
    return f"{format_length(100 * fraction)}%"


def shorten_name(text: str, limit: int) -> str:
    """Untrusted text in at most `limit` columns, a Chinese character being two: both its ends are kept."""
    text = display_text.one_line(text)
    widths = [2 if east_asian_width(char) in "WF" else 1 for char in text]
    if sum(widths) <= limit:
        return text
    head = _fitting(widths, limit // 2)
    tail = _fitting(widths[::-1], limit - 1 - sum(widths[:head]))
    return text[:head] + _ELLIPSIS + text[len(text) - tail :]


def _fitting(widths: Iterable[int], room: int) -> int:
    """How many of the first characters fit into the room."""
    count = 0
    for width in widths:
        room -= width
        if room < 0:
            break
        count += 1
    return count


def text_element(said: Text, **attributes: str | float | None) -> Markup:
    """Text in both languages, of which the page shows one; just one where they are the same."""
    if said.en == said.zh:
        return tag("text", said.en, **attributes)
    kind = attributes.pop("class_", None)
    return join(
        tag("text", text, class_=f"{kind} {lang}" if kind else lang, lang=LANGS[lang], **attributes)
        for lang, text in said._asdict().items()
    )


def name_element(text: str, limit: int, **attributes: str | float | None) -> Markup:
    """An untrusted name, with the whole of it where one points at it.

    It is written in at most `limit` columns where the page is narrow, and twice as many elsewhere.
    """
    title, kind = tag("title", display_text.one_line(text)), attributes.pop("class_", "name")
    brief, ample = shorten_name(text, limit), shorten_name(text, 2 * limit)
    if brief == ample:
        return tag("text", title, brief, class_=kind, **attributes)
    return join(
        tag("text", title, short, class_=f"{kind} {width}", **attributes)
        for short, width in ((brief, "brief"), (ample, "ample"))
    )


def row_label(text: str, limit: int, width: float, y: float, indent: float = 0) -> Markup:
    """A row's untrusted name around `y` pixels, kept within the row and a `width` of the column."""
    inside = name_element(text, limit, x=indent, y=_LABEL / 2 + 4)
    return tag("svg", inside, x="0%", y=y - _LABEL / 2, width=format_percent(width), height=_LABEL)


def line(x1: float, x2: float, y1: float, y2: float, kind: str) -> Markup:
    """A line; `x` are fractions of the width, `y` pixels."""
    return tag("line", x1=format_percent(x1), x2=format_percent(x2), y1=y1, y2=y2, class_=kind)


def box(x: float, width: float, y: float, height: float, kind: str, *inside: str) -> Markup:
    """A rectangle; `x` and `width` are fractions of the width, `y` and `height` pixels."""
    return tag(
        "rect", *inside, x=format_percent(x), width=format_percent(width), y=y, height=height, class_=kind
    )


def dot(x: float, y: float, kind: str, radius: float = 4) -> Markup:
    """A circle; `x` is a fraction of the width."""
    return tag("circle", cx=format_percent(x), cy=y, r=radius, class_=kind)


def inset(x: float, width: float, *inside: str) -> Markup:
    """A part of the chart, from `x` on and `width` wide, inside which fractions count anew."""
    return tag("svg", *inside, x=format_percent(x), width=format_percent(width), overflow="visible")


#: How many engines a picture shows; its table has all.
MAX_ENGINES = 12
#: Where the others are.
TABLE = Text("the table", "数据表")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of the report.

    `svg` fills the column it stands in and has a fixed height in pixels; with `charts.css` it follows
    the page's colours. It is named by the English title inside; where the page is Chinese, its
    aria-labelledby and aria-describedby should end in -zh instead of -en. `rows` under `head` are the
    numbers that it is drawn from, as text: numbers, names and signs that need no language. Names are
    untrusted, though nothing hides in them; those within sentences stand between `legible.ISOLATE` and `END`.
    """

    id: str
    title: Text
    desc: Text
    svg: Markup
    head: tuple[Text, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Caption:
    """What a chart is called in the page, and what it shows and says, in a sentence or two."""

    id: str
    title: Text
    desc: Text


def figure(caption: Caption, height: float, *parts: str) -> Markup:
    """The parts as one picture, named and described in both languages."""
    mark = f"chart-{caption.id}"
    said = [
        tag(kind, text, id=f"{mark}-{kind}-{lang}", lang=LANGS[lang])
        for kind, both in (("title", caption.title), ("desc", caption.desc))
        for lang, text in both._asdict().items()
    ]
    return tag(
        "svg",
        *said,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        id=mark,
        class_="chart",
        role="img",
        aria_labelledby=f"{mark}-title-en",
        aria_describedby=f"{mark}-desc-en",
        width="100%",
        height=height,
    )


def draw_legend(y: float, *entries: tuple[float, Markup, Text]) -> Markup:
    """What marks mean, in a line: how many pixels from the left each is, drawn around (9, 0), and what."""
    return join(
        tag("svg", mark, text_element(said, class_="note", x=22, y=4), x=x, y=y, overflow="visible")
        for x, mark, said in entries
    )


def note_omitted(count: int, y: float, what: Text, where: Text = TABLE) -> Markup:
    """A line that says what the picture leaves out, where it leaves out any."""
    if count <= 0:
        return Markup("")
    en, zh = f"and {count:,} more {what.en}: see {where.en}", f"另有 {count:,} {what.zh}，见{where.zh}"
    return text_element(Text(en, zh), class_="note", x=0, y=y)


#: What each grade of a scale is called in a word or two, from grade 0 up.
GRADE_NAMES = {
    "graded": (
        Text("off topic", "无关"),
        Text("on topic only", "仅沾话题"),
        Text("part of it", "部分回答"),
        Text("full answer", "完整回答"),
    ),
    "binary": (Text("no", "否"), Text("yes", "是")),
}
UNJUDGED = Text("unjudged", "未判定")
ENGINE = Text("engine", "引擎")


def mean_name(measure: str) -> str:
    """The measure's name as one of a mean: the mean of AP is MAP."""
    return f"MAP{measure[2:]}" if measure == "AP" or measure.startswith("AP@") else measure


def format_number(value: float | None, form: str = ".3f") -> str:
    """A number, or a dash where there is none; with a true minus."""
    return NOTHING if value is None else format(value, form).replace("-", "−")


def format_range(ends: Sequence[float | None] | None, form: str = ".3f") -> str:
    """Both ends of a range, or a dash."""
    return f"{format_number(ends[0], form)} … {format_number(ends[1], form)}" if ends else NOTHING


def format_p_value(p: float | None) -> str:
    """A p value, or a dash."""
    return NOTHING if p is None else words.chance(p)


def format_share(value: float | None) -> str:
    """A share as a percentage, or a dash."""
    return NOTHING if value is None else f"{value:.0%}"


def grade_class(grade: int, top: int) -> str:
    """The class of a grade's colour: the top grade of any scale looks the same, and so does 0."""
    return f"grade-{round(3 * grade / top)}"
