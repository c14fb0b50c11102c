"""The chart of agreement: labels of people against grades of the assessor, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.analysis.label_agreement import LabelAgreement
from judge.messages import Text, text
from judge.report.charts import svg
from judge.report.charts.svg import (
    Caption,
    Chart,
    figure,
    format_percent,
    inset,
    name_element,
    tag,
    text_element,
)

_NAMES = 0.3
_TOP = 44
_CELL = 40
#: How dark the fullest cell is: its text must stay readable.
_DARKEST = 0.4


@dataclass(frozen=True, slots=True)
class _Table:
    """The counts (rows: people, columns: assessor) and the names of the grades on both sides."""

    counts: Sequence[Sequence[int]]
    people: Sequence[Text]
    assessor: Sequence[Text]

    @property
    def all(self) -> int:
        return sum(map(sum, self.counts))


def draw_confusion_matrix(agreement: LabelAgreement) -> Chart | None:
    """Return the confusion matrix of agreement.json; None when no pair has a grade from both sides."""
    table = _Table(
        agreement.confusion,
        _grade_names(len(agreement.confusion)),
        _grade_names(len(agreement.confusion[0])),
    )
    if not table.all:
        return None
    caption = Caption("agreement", text("People and the assessor"), _describe(agreement))
    head = (
        text("people ↓  assessor →"),
        *map(_number_name, range(len(table.assessor)), table.assessor),
    )
    rows = tuple((str(grade), *(f"{count:,}" for count in row)) for grade, row in enumerate(table.counts))
    return Chart(caption.id, caption.title, caption.desc, _picture(caption, agreement, table), head, rows)


def _grade_names(grades: int) -> Sequence[Text]:
    """Return the names of the grades of a scale with `grades` grades."""
    return svg.GRADE_NAMES["binary" if grades == 2 else "graded"]


def _number_name(grade: int, name: Text) -> Text:
    return Text(f"{grade} {name.en}", f"{grade} {name.zh}")


def _describe(agreement: LabelAgreement) -> Text:
    parts = [
        text(
            "How people and the assessor graded the same {pairs:,} pairs, as counts and as "
            "shares of each grade of people",
            pairs=agreement.pairs,
        ),
        *_describe_agreement(agreement),
    ]
    bias = agreement.bias.value
    if bias:
        way = text("higher") if bias > 0 else text("lower")
        parts.append(
            Text(
                f"On average the assessor grades {abs(bias):.2f} {way.en} than people",
                f"评测员给的等级平均比人工{way.zh} {abs(bias):.2f}",
            )
        )
    return Text("".join(f"{part.en}. " for part in parts).strip(), "".join(f"{part.zh}。" for part in parts))


def _describe_agreement(agreement: LabelAgreement) -> Iterator[Text]:
    """Yield sentences on how often both sides give the same grade and the same verdict."""
    same, verdict = agreement.same_grade.value, agreement.same_verdict.value
    if same is not None:
        yield text("{same} have the same grade", same=svg.format_share(same))
    if verdict is not None:
        share, kappa = svg.format_share(verdict), agreement.kappa_relevant.value
        en, zh = f"{share} have the same verdict, relevant or not", f"{share} 结论（相关与否）相同"
        if kappa is not None:
            en += f" (kappa {kappa:.2f})"
            zh += f"（kappa {kappa:.2f}）"
        yield Text(en, zh)


def _picture(caption: Caption, agreement: LabelAgreement, table: _Table) -> Markup:
    bottom = _TOP + _CELL * len(table.people)
    return figure(
        caption,
        bottom + 4,
        text_element(text("people"), class_="head", x=0, y=34),
        inset(_NAMES, 1 - _NAMES, *_columns(agreement, table), *_cells(table), *_borders(agreement, table)),
        *_rows(table),
    )


def _rows(table: _Table) -> Iterator[Markup]:
    for grade, name in enumerate(table.people):
        y = _TOP + _CELL * (grade + 0.5) + 4
        yield text_element(_number_name(grade, name), class_="name", x=0, y=y)


def _columns(agreement: LabelAgreement, table: _Table) -> Iterator[Markup]:
    yield name_element(agreement.assessor, 34, class_="head", x=0, y=12)
    for grade in range(len(table.assessor)):
        at = format_percent((grade + 0.5) / len(table.assessor))
        yield tag("text", str(grade), class_="name", x=at, y=34, text_anchor="middle")


def _cells(table: _Table) -> Iterator[Markup]:
    """Yield each count on a background that is as dark as its share in the row is large."""
    width = 1 / len(table.assessor)
    for at, row in enumerate(table.counts):
        y = _TOP + _CELL * at
        for column, count in enumerate(row):
            share = count / sum(row) if count else 0.0
            yield tag(
                "rect", class_="heat", fill_opacity=_DARKEST * share,
                x=format_percent(width * column), width=format_percent(width), y=y, height=_CELL,
            )  # fmt: skip
            centre = format_percent(width * (column + 0.5))
            yield tag("text", f"{count:,}", class_="number", x=centre, y=y + 18, text_anchor="middle")
            yield tag(
                "text", svg.format_share(share), class_="tick", x=centre, y=y + 33, text_anchor="middle"
            )


def _borders(agreement: LabelAgreement, table: _Table) -> Iterator[Markup]:
    """Yield the lines where relevant begins on both sides; scores change only with grades across them."""
    x = format_percent(agreement.relevant_from / len(table.assessor))
    y = _TOP + _CELL * agreement.people_relevant_from
    height = _TOP + _CELL * len(table.people)
    yield tag("line", x1=x, x2=x, y1=_TOP, y2=height, class_="relevant")
    yield tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="relevant")
