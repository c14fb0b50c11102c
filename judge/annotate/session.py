"""One person's labelling of one run: the pairs in their order, the next one, the progress, the result.

The records of what the page gets from the server come first.

The page shows what the assessor saw. Engine, rank, address and the model's verdict never leave this module,
and the order does not depend on them.
"""

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Self

from judge.analysis.judged_run import JudgedRun
from judge.analysis.label_agreement import LabelAgreement, compare_with_labels
from judge.annotate.label_log import LabelDecision, LabelLog
from judge.dataset import csv_tables, text_files
from judge.dataset.field_values import unescape_candidates
from judge.dataset.labels import LabelSet, select_labellable
from judge.errors import InputError
from judge.files.json_text import hash_parts
from judge.measure.intervals import StatisticValue
from judge.measure.ppi import ENOUGH_LABELLED, draw_queries_to_label
from judge.messages import build_text
from judge.records import Pair, PairKey, Pool, ScaleName
from judge.report.assessor_sentences import name_strength
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


def draw_pairs_to_label(pool: Pool, count: int = ENOUGH_LABELLED) -> tuple[PairKey, ...]:
    """Return the pairs of `count` random queries, or of all queries where there are fewer.

    They are the pairs that `judge agree --plan` draws, so that more can be labelled later. Raises InputError
    when the pool has nothing to label.
    """
    keys: dict[str, list[PairKey]] = {}
    for pair in select_labellable(pool):
        keys.setdefault(pair.query.id, []).append(pair.key)
    if not keys:
        raise InputError("the run has no pair to label")
    chosen = draw_queries_to_label(list(keys), min(count, len(keys)))
    return tuple(key for query_id in chosen for key in keys[query_id])


def read_plan(path: Path, pool: Pool) -> tuple[PairKey, ...]:
    """Return the pairs of a plan, each once and in its order.

    A plan is the CSV that `judge agree --plan` writes; only `query_id` and `snippet_id` of its columns count.
    Raises InputError with file and line when it cannot be read or names a pair that the run does not have.
    Snippets without text are left out.
    """
    # A wrong guess of the encoding gives ids that no pair of the run has.
    text = text_files.read_text_file(path, lambda _: None)
    separator = csv_tables.detect_separator(text, "query_id", csv_tables.normalise_column_name) or ","
    rows = csv_tables.read_records(path, text, separator)
    header = [csv_tables.normalise_column_name(cell) for cell in next(rows, ("", []))[1]]
    if not {"query_id", "snippet_id"} <= set(header):
        raise InputError(
            "{file}: is not a plan: it needs the columns query_id and snippet_id, and has {columns!r:.160};"
            " make a plan with: judge agree RUN --plan N",
            file=path,
            columns=header,
        )
    labellable = {pair.key for pair in select_labellable(pool)}
    run_pairs = {pair.key for pair in pool.pairs}
    planned_keys: dict[PairKey, None] = {}
    for location, cells in rows:
        row = defaultdict(str, zip(header, cells, strict=False))
        query_cell, snippet_cell = row["query_id"], row["snippet_id"]
        # A spreadsheet may have changed the cells.
        names = product(unescape_candidates(query_cell), unescape_candidates(snippet_cell))
        key = next((name for name in names if name in run_pairs), None)
        if key is None:
            raise InputError(
                "{place}: query {query!r:.80} with snippet {snippet!r:.80} is not a pair of this run; use a"
                " plan of this run",
                place=location,
                query=query_cell,
                snippet=snippet_cell,
            )
        if key in labellable:
            planned_keys[key] = None
    if not planned_keys:
        raise InputError("{file}: contains no pair; make a plan with: judge agree RUN --plan N", file=path)
    return tuple(planned_keys)


def order_pairs(pool: Pool, keys: Sequence[PairKey], who: str) -> tuple[Pair, ...]:
    """Return the pairs `keys` of the pool: queries as they come, each query's snippets shuffled for `who`."""
    pairs = {pair.key: pair for pair in pool.pairs}
    order_of_query = {query_id: at for at, query_id in enumerate(dict.fromkeys(key[0] for key in keys))}
    ordered = sorted(keys, key=lambda key: (order_of_query[key[0]], hash_parts([who, *key], 16)))
    return tuple(pairs[key] for key in ordered)


class LabelConflict(InputError):
    """The pair has another decision than the page showed."""


@dataclass(frozen=True)
class AnnotationSession:
    """The labels of one person for the run in folder `run`.

    `pairs` are those to label, in order: all pairs of a query before those of the next query. `today` is the
    date in the run's prompts, `plan` the file of a draw of pairs.
    """

    run: Path
    loaded: JudgedRun
    pairs: tuple[Pair, ...]
    labels: LabelLog
    today: str | None = None
    plan: Path | None = None

    def __post_init__(self) -> None:
        """Raise InputError when a label of the file is above the scale of the run."""
        top = self.loaded.spec.scale.top
        for decision in self.labels.current.values():
            if decision.grade is not None and decision.grade > top:
                raise InputError(
                    "{file}: a label has grade {grade}, and the scale of the run is 0-{top}; give another"
                    " --who",
                    file=self.labels.path,
                    grade=decision.grade,
                    top=top,
                )

    @cached_property
    def index_of(self) -> dict[PairKey, int]:
        """The index of each pair to label."""
        return {pair.key: at for at, pair in enumerate(self.pairs)}

    def describe_state(self, at: int | None = None) -> PageState:
        """Return all that the page shows, with the pair at index `at`, or with the next pair to label.

        Raises InputError for an index that does not exist.
        """
        current, sealed, scale = self.labels.current, self.labels.sealed, self.loaded.spec.scale
        following = next((index for key, index in self.index_of.items() if key not in current), None)
        at = following if at is None else at
        if at is not None and not 0 <= at < len(self.pairs):
            raise InputError(
                "there is no pair {index}; the last is {last}", index=at, last=len(self.pairs) - 1
            )
        decisions = [current[key] for key in self.index_of if key in current]
        last = self.labels.last
        pair = None if at is None else self.pairs[at]
        decision = current.get(pair.key) if pair else None
        return PageState(
            who=self.labels.who,
            run=self.run.resolve().name,
            scale=scale.name,
            top=scale.top,
            total=len(self.pairs),
            labelled=len(decisions),
            unsure=sum(decision.grade is None for decision in decisions),
            next=following,
            last=LastDecision(last.id, self.index_of.get(last.key)) if last else None,
            finished=self.index_of.keys() <= sealed,
            at=at,
            pair=ShownPair.from_pair(pair, self.today) if pair else None,
            decision=decision,
            sealed=pair is not None and pair.key in sealed,
            position=self._find_position(pair) if pair else None,
        )

    @cached_property
    def _pairs_by_query(self) -> Mapping[str, Sequence[PairKey]]:
        """The pairs to label of each query."""
        pairs: dict[str, list[PairKey]] = {}
        for query_id, snippet_id in self.index_of:
            pairs.setdefault(query_id, []).append((query_id, snippet_id))
        return pairs

    def label(self, decision: LabelDecision, replaces: str | None) -> PageState:
        """Store a decision and return the state after it.

        `replaces` is the id of the decision that the page showed for the pair, None when it showed none.
        Raises LabelConflict when another decision counts now, InputError for a pair that is not a task or a
        grade off the scale, and what `LabelLog.add` raises.
        """
        if decision.key not in self.index_of:
            raise InputError("this pair is not among those to label")
        if decision.grade is not None and not 0 <= decision.grade <= self.loaded.spec.scale.top:
            raise InputError(
                "grade {grade} is not on the scale 0-{top}",
                grade=decision.grade,
                top=self.loaded.spec.scale.top,
            )
        current = self.labels.current.get(decision.key)
        if not self.labels.has(decision) and (current.id if current else None) != replaces:
            raise LabelConflict("this pair was labelled in another tab since it was shown here")
        self.labels.add(decision)
        return self.describe_state()

    def undo(self, decision_id: str) -> PageState:
        """Take a decision back and return the state at its pair; raise what `LabelLog.undo` raises."""
        decision = self.labels.undo(decision_id)
        return self.describe_state(self.index_of.get(decision.key))

    def export(self) -> WrittenLabels:
        """Write the labels as CSV."""
        return WrittenLabels(self.labelled, str(self.labels.write_table(self.loaded.pool)), self.command)

    def finish(self) -> FinalReport:
        """Export, make the decisions final, and compare them with the model's grades.

        Raises InputError while a pair is not labelled, because a person who has seen the model's grades does
        not label blind.
        """
        left = len(self.index_of.keys() - self.labels.current.keys())
        if left:
            raise InputError("{count:,} pairs are not labelled yet; label them first", count=left)
        agreement = self._compute_agreement()
        self.labels.seal()
        kappa = agreement.kappa_relevant.value if agreement else None
        strength = None if kappa is None else build_text(name_strength, kappa)._asdict()
        written = self.export()
        return FinalReport(written.labelled, written.path, written.command, agreement, strength)

    @property
    def labelled(self) -> int:
        """The number of pairs to label that have a decision."""
        return len(self.index_of.keys() & self.labels.current.keys())

    @property
    def command(self) -> str:
        """The command that compares the run with these labels."""
        words = ["judge", "agree", str(self.run), "--qrels", str(self.labels.table)]
        words += ["--labels-scale", self.loaded.spec.scale.name]
        return shlex.join([*words, "--plan", str(self.plan)] if self.plan else words)

    def _compute_agreement(self) -> ShownAgreement | None:
        """Return the agreement; None when no pair has a grade that the assessor has not read."""
        run_pairs = {pair.key for pair in self.loaded.pool.pairs}
        labelled = {
            key: decision.grade for key, decision in self.labels.current.items() if decision.grade is not None
        }
        grades = {key: grade for key, grade in labelled.items() if key in run_pairs}
        if not grades:
            return None
        unmatched = tuple(key for key in labelled if key not in run_pairs)
        labels = LabelSet(grades, self.loaded.spec.scale, self.labels.table.name, unmatched)
        try:
            return ShownAgreement.from_agreement(compare_with_labels(self.loaded, labels))
        except InputError:  # all of them are examples in the prompts
            return None

    def _find_position(self, pair: Pair) -> PairPosition:
        queries, pairs = list(self._pairs_by_query), self._pairs_by_query[pair.query.id]
        return PairPosition(
            query_number=queries.index(pair.query.id) + 1,
            queries=len(queries),
            pair_number=pairs.index(pair.key) + 1,
            pairs_of_query=len(pairs),
        )
