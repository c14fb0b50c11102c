"""Owns what a chart is: a picture, what it says in words, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from judge.messages import Text
from judge.report.charts.svg import LANGS, join, tag, text_element

#: How many engines a picture shows; its table has all.
ENGINES = 12
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


def key(y: float, *entries: tuple[float, Markup, Text]) -> Markup:
    """What marks mean, in a line: how many pixels from the left each is, drawn around (9, 0), and what."""
    return join(
        tag("svg", mark, text_element(said, class_="note", x=22, y=4), x=x, y=y, overflow="visible")
        for x, mark, said in entries
    )


def rest(count: int, y: float, what: Text, where: Text = TABLE) -> Markup:
    """A line that says what the picture leaves out, where it leaves out any."""
    if count <= 0:
        return Markup("")
    en, zh = f"and {count:,} more {what.en}: see {where.en}", f"另有 {count:,} {what.zh}，见{where.zh}"
    return text_element(Text(en, zh), class_="note", x=0, y=y)
