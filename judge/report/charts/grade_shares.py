"""The chart of grades: the share of each grade at each rank, for each engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, TypeAlias

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.messages import Text, text
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
from judge.runs.record_json import to_json
from judge.runs.results import QueryEntry, SnippetEntry

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
    """Counts of grades by engine and rank, over `queries` times `repeats` judgments.

    `longest` is the length of the longest list, down to `depth`.
    """

    repeats: int
    depth: int
    queries: int = 0
    longest: int = 0
    counts: Counter[tuple[str, int, Slot]] = field(default_factory=Counter)

    def add(self, entry: QueryEntry) -> None:
        """Add a query of results.json."""
        self.queries += 1
        for engine, answer in entry.engines.items():
            self.longest = max(self.longest, min(self.depth, len(answer.snippets)))
            for snippet in answer.snippets[: self.depth]:
                self._snippet(engine, snippet)

    def _snippet(self, engine: str, snippet: SnippetEntry) -> None:
        grades = [judgment.grade for judgment in snippet.judgments if judgment.grade is not None]
        for grade in grades:
            self.counts[engine, snippet.rank, grade] += 1
        if len(grades) < self.repeats:
            self.counts[engine, snippet.rank, "unjudged"] += self.repeats - len(grades)

    def shares(self, engine: str, rank: int, slots: Sequence[Slot]) -> list[float]:
        """Return the share of each slot among all queries; the rest returned nothing at this rank."""
        return [self.counts[engine, rank, slot] / (self.queries * self.repeats) for slot in slots]

    def relevant(self, engine: str, relevant_from: int, top: int) -> float | None:
        """Return the share of relevant results among the graded results; None when none is graded."""
        ranks = range(1, self.longest + 1)
        graded = [sum(self.counts[engine, rank, grade] for rank in ranks) for grade in range(top + 1)]
        return sum(graded[relevant_from:]) / sum(graded) if any(graded) else None


@dataclass(frozen=True, slots=True)
class _Picture:
    """What the picture shows: engines, ranks, the scale and the counts."""

    engines: tuple[str, ...]
    ranks: range
    scale: str
    relevant_from: int
    counts: GradeCounts

    @property
    def top(self) -> int:
        return len(svg.GRADE_NAMES[self.scale]) - 1

    @property
    def slots(self) -> list[Slot]:
        """Return the slots from the bottom of a bar: the best grade first, the unjudged results last."""
        return [*range(self.top, -1, -1), "unjudged"]


def draw_grade_shares(summary: Summary, counts: GradeCounts) -> Chart | None:
    """Return the grades by engine and rank, best engine first; None when no engine returned a result."""
    if not counts.counts:
        return None
    order = tuple(
        sentences.standing(to_json(summary), sentences.deciding(to_json(summary)) or summary.measures[0])
    )
    ranks = range(1, min(MAX_RANKS, counts.longest) + 1)
    picture = _Picture(order, ranks, summary.scale, summary.relevant_from, counts)
    caption = Caption("grades", text("Grades by rank"), _describe(picture))
    return Chart(
        caption.id, caption.title, caption.desc, _draw(caption, picture), _head(picture), _rows(picture)
    )


def _describe(picture: _Picture) -> Text:
    relevant_shares = [
        (share, display_text.isolate(engine))
        for engine in picture.engines
        if (share := picture.counts.relevant(engine, picture.relevant_from, picture.top)) is not None
    ]
    en = "The grades of what each engine shows at each rank, as shares of all queries"
    zh = "各引擎在每个名次上的结果评为哪一级，以占全部查询的比例表示"
    if relevant_shares:
        most, least = max(relevant_shares), min(relevant_shares)
        en += f": {svg.format_share(most[0])} of the graded results of {most[1]} are relevant"
        zh += f"：判出等级的结果里，{most[1]} 有 {svg.format_share(most[0])} 相关"
        if len(relevant_shares) > 1:
            en += f", and {svg.format_share(least[0])} of those of {least[1]}"
            zh += f"，{least[1]} 有 {svg.format_share(least[0])}"
    en += ". Below the heavy line is relevant; a gap at the top is where nothing came back."
    zh += "。粗线以下为相关；顶端的空缺表示没有返回结果。"
    if picture.counts.longest > MAX_RANKS:
        en += f" The first {MAX_RANKS} of {picture.counts.longest} ranks are shown."
        zh += f"共 {picture.counts.longest} 个名次，只画前 {MAX_RANKS} 个。"
    return Text(en, zh)


def _head(picture: _Picture) -> tuple[Text, ...]:
    named = (_slot_name(slot, picture.scale) for slot in picture.slots)
    return (svg.ENGINE, text("rank"), *named, text("no result"))


def _rows(picture: _Picture) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            display_text.one_line(engine),
            str(rank),
            *map(_percent, _with_remainder(picture.counts.shares(engine, rank, picture.slots))),
        )
        for engine in picture.engines
        for rank in picture.ranks
    )


def _with_remainder(shares: Sequence[float]) -> list[float]:
    return [*shares, max(0.0, 1 - sum(shares))]


def _percent(share: float) -> str:
    return svg.format_share(share) if share > 1e-9 else NOTHING


def _draw(caption: Caption, picture: _Picture) -> Markup:
    engines = picture.engines[:MAX_ENGINES]
    keys, top = _key(picture)
    bottom = top + _ROW * len(engines)
    left_out = len(picture.engines) - len(engines)
    return figure(
        caption,
        bottom + 22 + (22 if left_out else 0),
        _hatch(),
        keys,
        *(part for at, engine in enumerate(engines) for part in _engine(picture, engine, top + _ROW * at)),
        inset(*_BARS, *_ranks(picture.ranks, bottom + 12)),
        text_element(text("rank"), class_="tick", x=0, y=bottom + 12),
        note_omitted(left_out, bottom + 36, text("engines")),
    )


def _hatch() -> Markup:
    """Return the pattern for unjudged results. A pattern differs from every grade without colour, too."""
    lines = tag("path", d="M-1 1L1 -1M0 4L4 0M3 5L5 3", class_="hatch")
    return tag(
        "defs",
        tag("pattern", lines, id=_HATCH, width=4, height=4, patternUnits="userSpaceOnUse"),
    )


def _key(picture: _Picture) -> tuple[Markup, float]:
    """Return the legend and the height where it ends."""
    lines = []
    for at, slot in enumerate(picture.slots):
        x, y = (at % 3) * 112.0, 14 + 18 * (at // 3)
        lines.append(draw_legend(y, (x, _swatch(slot, picture.top), _slot_name(slot, picture.scale))))
    relevant = text("relevant")
    lines.append(text_element(relevant, class_="note", x=format_percent(1), y=y + 22, text_anchor="end"))
    return join(lines), y + 28


def _slot_name(slot: Slot, scale: str) -> Text:
    if isinstance(slot, str):
        return svg.UNJUDGED
    name = svg.GRADE_NAMES[scale][slot]
    return Text(f"{slot} {name.en}", f"{slot} {name.zh}")


def _swatch(slot: Slot, top: int) -> Markup:
    return tag("rect", x=1, y=-6, width=16, height=12, class_=_kind(slot, top), fill=_fill(slot))


def _kind(slot: Slot, top: int) -> str:
    return "unjudged" if isinstance(slot, str) else f"segment {svg.grade_class(slot, top)}"


def _fill(slot: Slot) -> str | None:
    return f"url(#{_HATCH})" if slot == "unjudged" else None


def _engine(picture: _Picture, engine: str, top: float) -> Iterator[Markup]:
    """Yield the name of one engine, its bars and its share of relevant results."""
    middle = top + _ROW / 2 + 4
    yield row_label(engine, 13, _NAMES, top + _ROW / 2)
    yield inset(*_BARS, *(_bar(picture, engine, rank, top + (_ROW - _BAR) / 2) for rank in picture.ranks))
    share = svg.format_share(picture.counts.relevant(engine, picture.relevant_from, picture.top))
    yield tag("text", share, class_="number", x=format_percent(1), y=middle, text_anchor="end")


def _bar(picture: _Picture, engine: str, rank: int, top: float) -> Markup:
    """Yield the shares at one rank, stacked from the best grade up, and the line where relevant ends."""
    shares = picture.counts.shares(engine, rank, picture.slots)
    width = 1 / len(picture.ranks)
    x, filled = width * (rank - 1 + 0.06), width * 0.88
    tops = list(accumulate(shares))
    parts = [
        tag(
            "rect", x=format_percent(x), width=format_percent(filled),
            y=top + _BAR * (1 - end), height=_BAR * share,
            class_=_kind(slot, picture.top), fill=_fill(slot),
        )
        for slot, share, end in zip(picture.slots, shares, tops, strict=True)
        if share
    ]  # fmt: skip
    y = top + _BAR * (1 - tops[picture.top - picture.relevant_from])
    shares_text = ", ".join(
        f"{slot if isinstance(slot, int) else '?'}: {svg.format_share(share)}"
        for slot, share in zip(picture.slots, shares, strict=True)
        if share
    )
    ground = box(x, filled, top, _BAR, "ground")
    mark = line(x, x + filled, y, y, "relevant")
    return tag(
        "g",
        tag("title", f"{display_text.one_line(engine)} @{rank}: {shares_text or NOTHING}"),
        ground,
        *parts,
        mark,
    )


def _ranks(ranks: range, y: float) -> Iterator[Markup]:
    """Yield the numbers of the ranks; of many, the first and every fifth."""
    for rank in ranks:
        if len(ranks) <= 10 or rank == 1 or rank % 5 == 0:
            at = format_percent((rank - 0.5) / len(ranks))
            yield tag("text", str(rank), class_="tick", x=at, y=y, text_anchor="middle")
