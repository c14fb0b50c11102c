"""Owns how a chart is drawn: escaped elements, places in percent of the column, texts in two languages.

Across, a chart is laid out in percent, so it fills any column while its text keeps its size; down, in
pixels. Nothing has a style of its own: classes name what a thing is, charts.css says how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from unicodedata import east_asian_width

from markupsafe import Markup, escape

from judge.report import display_text

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
