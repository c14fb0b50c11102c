"""Owns the chart of grades: what each engine shows at each rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from markupsafe import Markup

from judge.messages import Text
from judge.report import display_text, sentences
from judge.report.charts import svg
from judge.report.charts.svg import (
    MAX_ENGINES,
    NOTHING,
    Caption,
    Chart,
    box,
    draw_legend,
    figure,
    format_percent,
    inset,
    join,
    line,
    note_omitted,
    row_label,
    tag,
    text_element,
)

#: How many ranks are shown.
MAX_RANKS = 20
_NAMES = 0.27
_BARS = (0.29, 0.56)
_ROW = 52
_BAR = 40
_HATCH = "chart-grades-hatch"

Row = Mapping[str, Any]
#: A grade, or that a result has none.
Slot: TypeAlias = int | Literal["unjudged"]


@dataclass(slots=True)
class GradeCounts:
    """How often each engine shows each grade at each rank: judgments, over `queries` times `repeats`.

    `longest` is the length of the longest list, down to `depth`.
    """

    repeats: int
    depth: int
    queries: int = 0
    longest: int = 0
    counts: Counter[tuple[str, int, Slot]] = field(default_factory=Counter)

    def add(self, entry: Row) -> None:
        """Takes in a query of results.json."""
        self.queries += 1
        for engine, answer in entry["engines"].items():
            self.longest = max(self.longest, min(self.depth, len(answer["snippets"])))
            for snippet in answer["snippets"][: self.depth]:
                self._snippet(engine, snippet)

    def _snippet(self, engine: str, snippet: Row) -> None:
        grades = [each["grade"] for each in snippet["judgments"] if each["grade"] is not None]
        for grade in grades:
            self.counts[engine, snippet["rank"], grade] += 1
        if len(grades) < self.repeats:
            self.counts[engine, snippet["rank"], "unjudged"] += self.repeats - len(grades)

    def shares(self, engine: str, rank: int, slots: Sequence[Slot]) -> list[float]:
        """The share of all queries that each slot has at the rank; what is missing returned nothing there."""
        return [self.counts[engine, rank, slot] / (self.queries * self.repeats) for slot in slots]

    def relevant(self, engine: str, relevant_from: int, top: int) -> float | None:
        """The share of the engine's graded results that are relevant; None when none is graded."""
        ranks = range(1, self.longest + 1)
        graded = [sum(self.counts[engine, rank, grade] for rank in ranks) for grade in range(top + 1)]
        return sum(graded[relevant_from:]) / sum(graded) if any(graded) else None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What is drawn: engines and ranks, and what a grade is and when it is relevant."""

    engines: tuple[str, ...]
    ranks: range
    scale: str
    relevant_from: int
    found: GradeCounts

    @property
    def top(self) -> int:
        return len(svg.GRADE_NAMES[self.scale]) - 1

    @property
    def slots(self) -> list[Slot]:
        """From the ground up: the best grade first, then the others, then what has no grade."""
        return [*range(self.top, -1, -1), "unjudged"]


def draw_grade_shares(summary: Row, found: GradeCounts) -> Chart | None:
    """The grades by engine and rank, best engine first; None when nothing was returned."""
    if not found.counts:
        return None
    order = tuple(sentences.standing(summary, sentences.deciding(summary) or summary["measures"][0]))
    ranks = range(1, min(MAX_RANKS, found.longest) + 1)
    drawn = _Drawn(order, ranks, summary["scale"], summary["relevant_from"], found)
    caption = Caption("grades", Text("Grades by rank", "各名次的等级分布"), _said(drawn))
    return Chart(
        caption.id, caption.title, caption.desc, _picture(caption, drawn), _head(drawn), _rows(drawn)
    )


def _said(drawn: _Drawn) -> Text:
    known = [
        (share, display_text.isolate(engine))
        for engine in drawn.engines
        if (share := drawn.found.relevant(engine, drawn.relevant_from, drawn.top)) is not None
    ]
    en = "The grades of what each engine shows at each rank, as shares of all queries"
    zh = "各引擎在每个名次上的结果评为哪一级，以占全部查询的比例表示"
    if known:
        most, least = max(known), min(known)
        en += f": {svg.format_share(most[0])} of the graded results of {most[1]} are relevant"
        zh += f"：判出等级的结果里，{most[1]} 有 {svg.format_share(most[0])} 相关"
        if len(known) > 1:
            en += f", and {svg.format_share(least[0])} of those of {least[1]}"
            zh += f"，{least[1]} 有 {svg.format_share(least[0])}"
    en += ". Below the heavy line is relevant; a gap at the top is where nothing came back."
    zh += "。粗线以下为相关；顶端的空缺表示没有返回结果。"
    if drawn.found.longest > MAX_RANKS:
        en += f" The first {MAX_RANKS} of {drawn.found.longest} ranks are shown."
        zh += f"共 {drawn.found.longest} 个名次，只画前 {MAX_RANKS} 个。"
    return Text(en, zh)


def _head(drawn: _Drawn) -> tuple[Text, ...]:
    named = (_named(slot, drawn.scale) for slot in drawn.slots)
    return (svg.ENGINE, Text("rank", "名次"), *named, Text("no result", "没有结果"))


def _rows(drawn: _Drawn) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            display_text.one_line(engine),
            str(rank),
            *map(_percent, _filled(drawn.found.shares(engine, rank, drawn.slots))),
        )
        for engine in drawn.engines
        for rank in drawn.ranks
    )


def _filled(shares: Sequence[float]) -> list[float]:
    return [*shares, max(0.0, 1 - sum(shares))]


def _percent(share: float) -> str:
    return svg.format_share(share) if share > 1e-9 else NOTHING


def _picture(caption: Caption, drawn: _Drawn) -> Markup:
    shown = drawn.engines[:MAX_ENGINES]
    keys, top = _key(drawn)
    bottom = top + _ROW * len(shown)
    left_out = len(drawn.engines) - len(shown)
    return figure(
        caption,
        bottom + 22 + (22 if left_out else 0),
        _hatch(),
        keys,
        *(part for at, engine in enumerate(shown) for part in _engine(drawn, engine, top + _ROW * at)),
        inset(*_BARS, *_ranks(drawn.ranks, bottom + 12)),
        text_element(Text("rank", "名次"), class_="tick", x=0, y=bottom + 12),
        note_omitted(left_out, bottom + 36, Text("engines", "个引擎")),
    )


def _hatch() -> Markup:
    """The pattern of what is unjudged, which no colour or printer can take for a grade."""
    lines = tag("path", d="M-1 1L1 -1M0 4L4 0M3 5L5 3", class_="hatch")
    return tag(
        "defs",
        tag("pattern", lines, id=_HATCH, width=4, height=4, patternUnits="userSpaceOnUse"),
    )


def _key(drawn: _Drawn) -> tuple[Markup, float]:
    """The key, and where it ends."""
    lines = []
    for at, slot in enumerate(drawn.slots):
        x, y = (at % 3) * 112.0, 14 + 18 * (at // 3)
        lines.append(draw_legend(y, (x, _swatch(slot, drawn.top), _named(slot, drawn.scale))))
    relevant = Text("relevant", "相关")
    lines.append(text_element(relevant, class_="note", x=format_percent(1), y=y + 22, text_anchor="end"))
    return join(lines), y + 28


def _named(slot: Slot, scale: str) -> Text:
    if isinstance(slot, str):
        return svg.UNJUDGED
    said = svg.GRADE_NAMES[scale][slot]
    return Text(f"{slot} {said.en}", f"{slot} {said.zh}")


def _swatch(slot: Slot, top: int) -> Markup:
    return tag("rect", x=1, y=-6, width=16, height=12, class_=_kind(slot, top), fill=_fill(slot))


def _kind(slot: Slot, top: int) -> str:
    return "unjudged" if isinstance(slot, str) else f"segment {svg.grade_class(slot, top)}"


def _fill(slot: Slot) -> str | None:
    return f"url(#{_HATCH})" if slot == "unjudged" else None


def _engine(drawn: _Drawn, engine: str, top: float) -> Iterator[Markup]:
    """One engine's bars, its name before them and its share of relevant results behind."""
    middle = top + _ROW / 2 + 4
    yield row_label(engine, 13, _NAMES, top + _ROW / 2)
    yield inset(*_BARS, *(_bar(drawn, engine, rank, top + (_ROW - _BAR) / 2) for rank in drawn.ranks))
    share = svg.format_share(drawn.found.relevant(engine, drawn.relevant_from, drawn.top))
    yield tag("text", share, class_="number", x=format_percent(1), y=middle, text_anchor="end")


def _bar(drawn: _Drawn, engine: str, rank: int, top: float) -> Markup:
    """One rank's shares, stacked from the best grade up, with a line where relevant ends."""
    shares = drawn.found.shares(engine, rank, drawn.slots)
    width = 1 / len(drawn.ranks)
    x, filled = width * (rank - 1 + 0.06), width * 0.88
    tops = list(accumulate(shares))
    parts = [
        tag(
            "rect", x=format_percent(x), width=format_percent(filled), y=top + _BAR * (1 - end), height=_BAR * share,
            class_=_kind(slot, drawn.top), fill=_fill(slot),
        )
        for slot, share, end in zip(drawn.slots, shares, tops, strict=True)
        if share
    ]  # fmt: skip
    y = top + _BAR * (1 - tops[drawn.top - drawn.relevant_from])
    said = ", ".join(
        f"{slot if isinstance(slot, int) else '?'}: {svg.format_share(share)}"
        for slot, share in zip(drawn.slots, shares, strict=True)
        if share
    )
    ground = box(x, filled, top, _BAR, "ground")
    mark = line(x, x + filled, y, y, "relevant")
    return tag(
        "g", tag("title", f"{display_text.one_line(engine)} @{rank}: {said or NOTHING}"), ground, *parts, mark
    )


def _ranks(ranks: range, y: float) -> Iterator[Markup]:
    """The numbers of the ranks; of many, the first and every fifth."""
    for rank in ranks:
        if len(ranks) <= 10 or rank == 1 or rank % 5 == 0:
            at = format_percent((rank - 0.5) / len(ranks))
            yield tag("text", str(rank), class_="tick", x=at, y=y, text_anchor="middle")
