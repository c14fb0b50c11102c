"""SVG elements of charts, and charts made of them.

Widths are percentages, so that a chart fills any column while its text keeps its size; heights are
pixels. Elements have classes and no styles: charts.css holds the styles.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup, escape

from judge.messages import Bilingual, make_text
from judge.report import display_text
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
    name = display_text.fit_on_line(text) if isinstance(text, str) else None
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
    Names in it and in sentences are untrusted and stand between `display_text.ISOLATE` and `END`.
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
