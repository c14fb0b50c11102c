"""What the labelling page gets from the server: its state, a written CSV, the report after the last label."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from judge.analysis.label_agreement import LabelAgreement
from judge.annotate.label_log import LabelDecision
from judge.measure.intervals import StatisticValue
from judge.records import Pair, ScaleName
from judge.report.display_text import escape_hidden


@dataclass(frozen=True, slots=True)
class ShownPair:
    """What a person sees of a pair, with hidden characters made visible; a text that is missing is empty."""

    query_id: str
    snippet_id: str
    lang: str
    query: str
    reference: str
    today: str
    title: str
    date: str
    snippet: str

    @classmethod
    def from_pair(cls, pair: Pair, today: str | None) -> Self:
        """Return what is shown of a pair; `today` is the date in the run's prompts."""
        query, snippet = pair.query, pair.snippet
        return cls(
            query_id=query.id,
            snippet_id=snippet.id,
            lang=query.lang,
            query=escape_hidden(query.text),
            reference=escape_hidden(query.reference or ""),
            today=today or "",
            title=escape_hidden(snippet.title),
            date=escape_hidden(snippet.date),
            snippet=escape_hidden(snippet.text),
        )


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The decision that "undo" takes back, and the index of its pair, None for a pair outside the task."""

    id: str
    at: int | None


@dataclass(frozen=True, slots=True)
class PairPosition:
    """The place of a pair: of its query among those to label, and within its query."""

    query_number: int
    queries: int
    pair_number: int
    pairs_of_query: int


@dataclass(frozen=True, slots=True)
class PageState:
    """All that the page shows; `at`, `pair`, `decision` and `position` are None when all pairs are labelled.

    `total`, `labelled` and `unsure` count pairs. `at` and `next` are indexes of pairs: of the one shown, and
    of the next one to label. The decision on a `sealed` pair is final.
    """

    who: str
    run: str
    scale: ScaleName
    top: int
    total: int
    labelled: int
    unsure: int
    next: int | None
    last: LastDecision | None
    finished: bool
    at: int | None
    pair: ShownPair | None
    decision: LabelDecision | None
    sealed: bool
    position: PairPosition | None


@dataclass(frozen=True, slots=True)
class WrittenLabels:
    """The CSV of labels, and the command that compares it with the run."""

    labelled: int
    path: str
    command: str


@dataclass(frozen=True, slots=True)
class ShownAgreement:
    """What the page shows of the agreement of the model with the person."""

    assessor: str
    pairs: int
    queries: int
    confusion: tuple[tuple[int, ...], ...]
    same_grade: StatisticValue
    kappa_quadratic: StatisticValue
    same_verdict: StatisticValue
    kappa_relevant: StatisticValue
    bias_relevant: StatisticValue

    @classmethod
    def from_agreement(cls, agreement: LabelAgreement) -> Self:
        """Return the part of an agreement that the page shows."""
        return cls(*(getattr(agreement, field.name) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class FinalReport(WrittenLabels):
    """What the page shows after the last label; `agreement` is None when there is nothing to compare.

    `strength` describes its kappa by language, None without a kappa.
    """

    agreement: ShownAgreement | None
    strength: Mapping[str, str] | None


#: What the server answers to a request of the page.
PageAnswer = PageState | WrittenLabels
