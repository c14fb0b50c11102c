"""The charts of grades: their shares at each rank for each engine, and people's against the assessor's."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Literal, TypeAlias

from markupsafe import Markup

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import Summary
from judge.messages import Bilingual, build_text, join_sentences, make_text
from judge.report import display_text
from judge.report.charts import svg
from judge.report.charts.svg import MAX_ENGINES, Chart, Picture
from judge.report.display_text import NOTHING, format_share
from judge.report.result_tables import ENGINE, Column, ResultTable
from judge.runs.results_file import QueryEntry

_MAX_SHOWN_RANKS = 20
#: Where the bars end: before them are the names, after them numbers that end at the right edge.
_BARS_END = 0.85
_ROW = 52
_BAR = 40
_HATCH = "chart-grades-hatch"

#: The columns and rows of the confusion matrix.
_PEOPLE = 0.3
_TOP = 44
_CELL = 40
#: How dark the fullest cell is: its text must stay readable.
_DARKEST = 0.4

#: A grade, or that a result has none.
Slot: TypeAlias = int | Literal["unjudged"]


@dataclass(slots=True)
class GradeCounts:
    """Counts of grades by engine and rank in the run of `summary`, over `queries` times its repeats.

    `longest` is the length of the longest list, down to the depth.
    """

    summary: Summary
    queries: int = 0
    longest: int = 0
    counts: Counter[tuple[str, int, Slot]] = field(default_factory=Counter)

    def add(self, entry: QueryEntry) -> None:
        """Add a query of results.json."""
        self.queries += 1
        depth, repeats = self.summary.depth, self.summary.repeats
        for engine, answer in entry.engines.items():
            self.longest = max(self.longest, min(depth, len(answer.snippets)))
            for snippet in answer.snippets[:depth]:
                grades = [judgment.grade for judgment in snippet.judgments if judgment.grade is not None]
                for grade in grades:
                    self.counts[engine, snippet.rank, grade] += 1
                if len(grades) < repeats:
                    self.counts[engine, snippet.rank, "unjudged"] += repeats - len(grades)

    @property
    def engines(self) -> list[str]:
        """The engines, best first."""
        return self.summary.sort_engines(self.summary.main_measure)

    @property
    def ranks(self) -> range:
        """The ranks that are shown."""
        return range(1, min(_MAX_SHOWN_RANKS, self.longest) + 1)

    @property
    def top(self) -> int:
        """The highest grade."""
        return len(svg.GRADE_NAMES[self.summary.scale]) - 1

    @property
    def slots(self) -> list[Slot]:
        """The slots from the bottom of a bar: the best grade first, the unjudged results last."""
        return [*range(self.top, -1, -1), "unjudged"]

    def name_slot(self, slot: Slot) -> Bilingual:
        """Return the number of a grade with its name, or that a result is unjudged."""
        names = svg.GRADE_NAMES[self.summary.scale]
        return svg.UNJUDGED if isinstance(slot, str) else svg.name_grade(slot, names[slot])

    def style_slot(self, slot: Slot) -> tuple[str, str | None]:
        """Return the class of a slot and its fill."""
        if isinstance(slot, str):
            return "unjudged", f"url(#{_HATCH})"
        # The top grades of all scales have one colour.
        return f"segment grade-{round(3 * slot / self.top)}", None

    def compute_shares(self, engine: str, rank: int) -> list[float]:
        """Return the share of each slot among all queries; the rest returned nothing at this rank."""
        judgments = self.queries * self.summary.repeats
        return [self.counts[engine, rank, slot] / judgments for slot in self.slots]

    def compute_relevant(self, engine: str) -> float | None:
        """Return the share of relevant results among the graded results; None when none is graded."""
        ranks = range(1, self.longest + 1)
        graded = [sum(self.counts[engine, rank, grade] for rank in ranks) for grade in range(self.top + 1)]
        return sum(graded[self.summary.relevant_from :]) / sum(graded) if any(graded) else None


def draw_grade_shares(graded: GradeCounts) -> Chart | None:
    """Return the grades by engine and rank, best engine first; None when no engine returned a result."""
    if not graded.counts:
        return None
    places = list(product(graded.engines, graded.ranks))
    shares = [graded.compute_shares(*place) for place in places]
    by_slot = zip(*([*row, 1 - sum(row)] for row in shares), strict=True)
    titles = [*map(graded.name_slot, graded.slots), make_text("no result")]
    columns = [
        Column(make_text("rank"), [rank for _, rank in places], "d"),
        *(
            Column(slot, [share if share > 1e-9 else None for share in row], ".0%")
            for slot, row in zip(titles, by_slot, strict=True)
        ),
    ]
    title = make_text("Grades by rank")
    return svg.make_chart(
        "grades",
        title,
        join_sentences(_describe_grades(graded)),
        _draw_grades_picture(graded),
        ResultTable(title, ENGINE, [display_text.isolate(engine) for engine, _ in places], columns),
    )


def _describe_grades(graded: GradeCounts) -> Iterator[Bilingual]:
    shares = [
        (share, display_text.isolate(engine))
        for engine in graded.engines
        if (share := graded.compute_relevant(engine)) is not None
    ]
    relevant = Bilingual("", "")
    if shares:
        (most, best), (least, last) = max(shares), min(shares)
        relevant = make_text(
            ": {most:.0%} of the graded results of {best} are relevant, and {least:.0%} of those of {last}"
            if len(shares) > 1
            else ": {most:.0%} of the graded results of {best} are relevant",
            most=most,
            best=best,
            least=least,
            last=last,
        )
    yield make_text(
        "The grades of what each engine shows at each rank, as shares of all queries{relevant}.",
        relevant=relevant,
    )
    yield make_text(
        "Grades below the heavy line are relevant. A gap at the top means that the list has no result there."
    )
    if graded.longest > _MAX_SHOWN_RANKS:
        ranks = graded.longest
        yield make_text("The first {shown} of {ranks} ranks are shown.", shown=_MAX_SHOWN_RANKS, ranks=ranks)
    yield from svg.describe_omitted(len(graded.engines), MAX_ENGINES)


def _draw_grades_picture(graded: GradeCounts) -> Picture:
    # A pattern differs from every grade without colour, too.
    lines = svg.make_tag("path", d="M-1 1L1 -1M0 4L4 0M3 5L5 3", class_="hatch")
    pattern = svg.make_tag("pattern", lines, id=_HATCH, width=4, height=4, patternUnits="userSpaceOnUse")
    parts = [svg.make_tag("defs", pattern)]
    for at, slot in enumerate(graded.slots):
        x, y = (at % 3) * 112.0, 14 + 18 * (at // 3)
        class_, fill = graded.style_slot(slot)
        swatch = svg.make_tag("rect", x=1, y=-6, width=16, height=12, class_=class_, fill=fill)
        parts.append(svg.draw_legend(y, (x, swatch, graded.name_slot(slot))))
    parts.append(svg.draw_text(make_text("relevant"), "note", 1, y + 22, "end"))
    top = y + 28
    engines = graded.engines[:MAX_ENGINES]
    bars = svg.MARKS_START, _BARS_END - svg.MARKS_START
    for engine in engines:
        share = format_share(graded.compute_relevant(engine))
        parts += [
            svg.draw_row_names([engine], [top + _ROW / 2]),
            svg.draw_inset(*bars, *(_draw_bar(graded, engine, rank, top) for rank in graded.ranks)),
            svg.draw_text(share, "number", 1, top + _ROW / 2 + 4, "end"),
        ]
        top += _ROW
    # Of many ranks, the first and every fifth are numbered.
    numbers = [
        svg.draw_text(str(rank), "tick", (rank - 0.5) / len(graded.ranks), top + 12, "middle")
        for rank in graded.ranks
        if len(graded.ranks) <= 10 or rank == 1 or rank % 5 == 0
    ]
    parts += [svg.draw_inset(*bars, *numbers), svg.draw_text(make_text("rank"), "tick", 0, top + 12)]
    return Picture(top + 22, parts)


def _draw_bar(graded: GradeCounts, engine: str, rank: int, top: float) -> Markup:
    """Return the shares at one rank, stacked from the best grade up, and the line where relevant ends."""
    shares = graded.compute_shares(engine, rank)
    width, top = 1 / len(graded.ranks), top + (_ROW - _BAR) / 2
    x, filled = width * (rank - 1 + 0.06), width * 0.88
    ends = list(accumulate(shares))
    parts, names = [], []
    for slot, share, end in zip(graded.slots, shares, ends, strict=True):
        if share:
            class_, fill = graded.style_slot(slot)
            parts.append(svg.draw_box(x, filled, top + _BAR * (1 - end), _BAR * share, class_, fill=fill))
            names.append(f"{slot if isinstance(slot, int) else '?'}: {format_share(share)}")
    y = top + _BAR * (1 - ends[graded.top - graded.summary.relevant_from])
    return svg.make_tag(
        "g",
        svg.make_tag("title", f"{display_text.fit_on_line(engine)} @{rank}: {', '.join(names) or NOTHING}"),
        svg.draw_box(x, filled, top, _BAR, "ground"),
        *parts,
        svg.draw_line(x, x + filled, y, y, "relevant"),
    )


def draw_confusion_matrix(agreement: LabelAgreement) -> Chart | None:
    """Return the counts by the grades of both sides; None when no pair has a grade from both."""
    counts = agreement.confusion
    if not any(map(sum, counts)):
        return None
    people, assessor = (
        svg.GRADE_NAMES["binary" if side == 2 else "graded"] for side in (len(counts), len(counts[0]))
    )
    columns = [
        Column(svg.name_grade(grade, name), [row[grade] for row in counts], ",")
        for grade, name in enumerate(assessor)
    ]
    title = make_text("People and the assessor")
    return svg.make_chart(
        "agreement",
        title,
        join_sentences(_describe_agreement(agreement)),
        _draw_matrix_picture(agreement, [svg.name_grade(*named) for named in enumerate(people)]),
        ResultTable(title, make_text("people ↓  assessor →"), list(map(str, range(len(counts)))), columns),
    )


def _describe_agreement(agreement: LabelAgreement) -> Iterator[Bilingual]:
    yield make_text(
        "How people and the assessor graded {pairs}, as counts and as shares of each grade of people.",
        pairs=build_text(display_text.format_pair_count, agreement.pairs),
    )
    same, bias = agreement.same_grade.value, agreement.bias.value
    if same is not None:
        yield make_text("{same:.0%} have the same grade.", same=same)
    if bias and bias > 0:
        yield make_text("On average the assessor grades {bias:.2f} higher than people.", bias=bias)
    elif bias:
        yield make_text("On average the assessor grades {bias:.2f} lower than people.", bias=-bias)


def _draw_matrix_picture(agreement: LabelAgreement, people: Sequence[Bilingual]) -> Picture:
    """Return the matrix; a cell is as dark as its share in the row is large.

    Lines show where relevant begins on both sides: scores change only with grades across them.
    """
    counts = agreement.confusion
    width, bottom = 1 / len(counts[0]), _TOP + _CELL * len(counts)
    parts = [svg.draw_label(agreement.assessor, "head single", 0, 0, 1)]
    for column in range(len(counts[0])):
        parts.append(svg.draw_text(str(column), "name", width * (column + 0.5), 34, "middle"))
    for grade, row in enumerate(counts):
        y, total = _TOP + _CELL * grade, sum(row)
        for column, count in enumerate(row):
            share = count / total if total else None
            x, middle = width * column, width * (column + 0.5)
            parts += [
                svg.draw_box(x, width, y, _CELL, "heat", fill_opacity=_DARKEST * (share or 0.0)),
                svg.draw_text(f"{count:,}", "number", middle, y + 18, "middle"),
                svg.draw_text(format_share(share), "tick", middle, y + 33, "middle"),
            ]
    x, y = width * agreement.relevant_from, _TOP + _CELL * agreement.people_relevant_from
    parts += [svg.draw_line(x, x, _TOP, bottom, "relevant"), svg.draw_line(0, 1, y, y, "relevant")]
    names = (
        svg.draw_text(name, "name", 0, _TOP + _CELL * (grade + 0.5) + 4) for grade, name in enumerate(people)
    )
    head = svg.draw_text(make_text("people"), "head", 0, 34)
    return Picture(bottom + 4, [head, svg.draw_inset(_PEOPLE, 1 - _PEOPLE, *parts), *names])
