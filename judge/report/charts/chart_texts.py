"""Owns the words that charts share: measures, grades, numbers, names in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from judge.messages import Text
from judge.report import sentences
from judge.report.charts.svg import NOTHING

#: What each grade of a scale is called in a word or two, from grade 0 up.
GRADES = {
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


def mean_of(measure: str) -> str:
    """The measure's name as one of a mean: the mean of AP is MAP."""
    return f"MAP{measure[2:]}" if measure == "AP" or measure.startswith("AP@") else measure


def fixed(value: float | None, form: str = ".3f") -> str:
    """A number, or a dash where there is none; with a true minus."""
    return NOTHING if value is None else format(value, form).replace("-", "−")


def between(ends: Sequence[float | None] | None, form: str = ".3f") -> str:
    """Both ends of a range, or a dash."""
    return f"{fixed(ends[0], form)} … {fixed(ends[1], form)}" if ends else NOTHING


def chance(p: float | None) -> str:
    """A p value, or a dash."""
    return NOTHING if p is None else sentences.chance(p)


def share(value: float | None) -> str:
    """A share as a percentage, or a dash."""
    return NOTHING if value is None else f"{value:.0%}"


def grade_class(grade: int, top: int) -> str:
    """The class of a grade's colour: the top grade of any scale looks the same, and so does 0."""
    return f"grade-{round(3 * grade / top)}"
