"""Human labels and user feedback: reading them from files, and matching labels with a run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Literal

from judge.dataset.clean import EMPTY_SNIPPET, TEXT_CUT, TEXT_MISSING
from judge.dataset.textfile import (
    Warn,
    check_cell_count,
    check_column_names,
    detect_separator,
    normalise_column_name,
    read_records,
    read_text_file,
)
from judge.dataset.validation import escape_column, unescape_candidates
from judge.errors import InputError
from judge.messages import Message, SeparatedNames, join_messages
from judge.records import BINARY, GRADED, Dataset, Pair, Pool, Scale, ScaleName

#: Columns of a CSV that can name the labelled item; the first one in the file counts.
ITEM_COLUMNS = ("snippet_id", "document", "docno")
_UNSURE = ("", "?", "unsure", "不确定")
_WORDS = {"yes": 1, "是": 1, "no": 0, "否": 0}
# Spreadsheets write 2 as 2.0, in half of Europe as 2,0.
_WHOLE = re.compile(r"([0-9]{1,9})(?:[.,]0*)?")
_JUNK = re.compile(r"-[0-9]+")
_LABEL_FORMATS = Message(
    "labels are TREC qrels (query_id, iteration, docno, grade) or a CSV whose header names 'query_id',"
    " 'snippet_id' (or 'document', 'docno') and 'grade'"
)


@dataclass(frozen=True, slots=True)
class Label:
    """A grade by a person. `item` names a snippet or a document; `location` is `file:line` for messages.

    `word` is True when the grade was yes or no.
    """

    query_id: str
    item: str
    grade: int
    location: str
    word: bool = False


@dataclass(frozen=True, slots=True)
class MatchedLabels:
    """Labels by pair: `grades` by (query id, snippet id), in the order of the pool.

    `conflicting` are the pairs with the highest of several grades of their documents.
    """

    grades: Mapping[tuple[str, str], int]
    unmatched: tuple[Label, ...]
    conflicting: tuple[tuple[str, str], ...] = ()

    def list_warnings(self) -> list[str]:
        """Return the warning that labels of one pair differ, if they do."""
        if not self.conflicting:
            return []
        message = Message(
            "pairs whose documents have different labels: {count:,}, the first is of query {query_id!r};"
            " the highest label counts, because equal texts are one pair",
            count=len(self.conflicting),
            query_id=self.conflicting[0][0],
        )
        return [message]


@dataclass(frozen=True, slots=True)
class _RunNames:
    """The names of the queries, snippets and documents of a run in label files."""

    queries: Mapping[str, str]
    snippets: frozenset[tuple[str, str]]
    documents: Mapping[tuple[str, str], frozenset[str]]


def read_labels(path: Path, warn: Warn | None = None) -> tuple[Label, ...]:
    """Return the labels in a file of TREC qrels or a CSV, gzipped or not, in its order, each item once.

    The first line tells the format, and the separator of a CSV (comma, semicolon, tab). In a CSV an empty
    grade, `?` and `unsure` are not labels; yes and no (是, 否) are 1 and 0. In qrels, -1 is not a label (in
    trec_eval: pooled and not judged) and lower numbers are 0 (junk pages in the TREC Web Track). `warn` is
    that of `read_lines`. Raise InputError with file, line, field and value for any other grade that is no
    whole number from 0, for two grades of one item, and for a file without a label.
    """
    if path.suffix.casefold() in (".xlsx", ".xls", ".parquet"):
        raise InputError("{file}: labels are not read from such a file; save them as CSV", file=path)
    text = read_text_file(path, warn)
    if not text.strip():
        raise InputError("{file}: is empty; {formats}", file=path, formats=_LABEL_FORMATS)
    separator = detect_separator(text, "query_id", normalise_column_name)
    labels = tuple(
        _drop_duplicates(
            chain.from_iterable(starmap(parse_label, read_label_rows(path, text, separator)))
            if separator
            else _read_qrels(path, text)
        )
    )
    if not labels:
        raise InputError(
            "{file}: contains no label; fill in the column 'grade', then run the command again", file=path
        )
    return labels


def match_labels(labels: Sequence[Label], dataset: Dataset, pool: Pool) -> MatchedLabels:
    """Return the labels by pair of `pool`.

    An item is the id of a snippet or the name of a document in `pool.documents`, as it is or as the TREC
    files and spreadsheets of the run write it. The label of a document applies to every snippet of the
    query that shows it. The label of a snippet has priority over that of its document; of several documents
    with one snippet the highest grade counts. Raise InputError when no label matches a pair.
    """
    names = _collect_names(dataset, pool)
    own: dict[tuple[str, str], int] = {}
    inherited: dict[tuple[str, str], int] = {}
    unmatched = []
    conflicting: dict[tuple[str, str], None] = {}
    for label in labels:
        pairs, is_own = _find_pairs(label, names)
        grades_of_kind = own if is_own else inherited
        for pair in pairs:
            if grades_of_kind.get(pair, label.grade) != label.grade:
                conflicting[pair] = None
            grades_of_kind[pair] = max(label.grade, grades_of_kind.get(pair, 0))
        if not pairs:
            unmatched.append(label)
    if len(unmatched) == len(labels):
        raise InputError(_describe_no_match(labels, pool, names))
    grades = {**inherited, **own}
    keys = (pair.key for pair in pool.pairs)
    return MatchedLabels(
        {key: grades[key] for key in keys if key in grades},
        tuple(unmatched),
        tuple(pair for pair in conflicting if pair not in own),
    )


def select_labellable(pool: Pool) -> tuple[Pair, ...]:
    """Return the pairs that people can label: those with a readable text."""
    return tuple(
        pair for pair in pool.pairs if {EMPTY_SNIPPET, TEXT_MISSING, TEXT_CUT}.isdisjoint(pair.snippet.flags)
    )


def _read_qrels(path: Path, text: str) -> Iterator[Label]:
    for number, line in enumerate(text.split("\n"), start=1):
        columns = re.findall(r"[^ \t\r]+", line)
        if not columns:
            continue
        location = f"{path}:{number}"
        if len(columns) != 4:
            raise InputError(
                "{place}: is {line!r}; {formats}",
                place=location,
                line=line.strip()[:60],
                formats=_LABEL_FORMATS,
            )
        query_id, _, docno, grade = columns
        if grade != "-1":
            yield from parse_label(location, query_id, docno, "0" if _JUNK.fullmatch(grade) else grade)


def read_label_rows(
    path: Path, text: str, separator: str, value: str = "grade"
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the location, the query id, the item and the column `value` of each row of a CSV."""
    rows = read_records(path, text, separator)
    location, header = next(rows)
    names = [normalise_column_name(cell) for cell in header]
    if value == "grade" and "grade" not in names and {"docno", "score"} <= {*names}:  # as in BEIR
        value = "score"
    columns = _find_columns(location, names, value)
    for location, cells in rows:
        # Spreadsheets leave out empty cells at a row's end, or add some.
        filled = cells if any(cells[len(header) :]) else cells[: len(header)]
        padded = [*filled, *[""] * (len(header) - len(filled))]
        check_cell_count(location, padded, len(header), separator)
        query_id, item, grade = (padded[column] for column in columns.values())
        for name, cell in zip(columns, (query_id, item), strict=False):
            if grade and not cell:
                raise InputError(
                    "{place}: field {name!r} is {value!r} and the row has the {column} {grade!r:.80}; fill in"
                    " {name!r}",
                    place=location,
                    name=name,
                    value=cell,
                    column=value,
                    grade=grade,
                )
        yield location, query_id, item, grade


def _find_columns(location: str, header: Sequence[str], value: str) -> dict[str, int]:
    """Return the indexes of query, item and `value` by column name, in this order."""
    item = next((name for name in ITEM_COLUMNS if name in header), None)
    if value == "grade" and "feedback" in header and "grade" not in header:
        raise InputError(
            "{place}: feedback of users is not a label; compare it with: judge score RUN --feedback FILE",
            place=location,
        )
    if item is None or value not in header:
        missing = value if item else join_messages(ITEM_COLUMNS, "{left} or {right}")
        raise InputError(
            "{place}: there is no column {missing}; the columns are {columns!r:.160}",
            place=location,
            missing=missing,
            columns=list(header),
        )
    wanted = ("query_id", item, value)
    check_column_names(location, [name for name in header if name in wanted])
    return {name: header.index(name) for name in wanted}


def parse_label(location: str, query_id: str, item: str, text: str) -> Iterator[Label]:
    """Yield the label with the grade in `text`, nothing for an unsure one; raise InputError for no grade."""
    # Chinese keyboards write full-width digits and question marks.
    plain = unicodedata.normalize("NFKC", text).strip().casefold()
    if plain in _UNSURE:
        return
    whole = _WHOLE.fullmatch(plain)
    if not whole and plain not in _WORDS:
        raise InputError(
            "{place}: field 'grade' is {value!r:.80}, not a whole number from 0; write one, or ? where you"
            " are unsure",
            place=location,
            value=text,
        )
    grade = int(whole[1]) if whole else _WORDS[plain]
    # The reader of datasets normalises ids in the same way.
    yield Label(unicodedata.normalize("NFC", query_id), item, grade, location, not whole)


def _drop_duplicates(labels: Iterable[Label]) -> Iterator[Label]:
    """Yield the first label of each item; raise InputError when a later one differs."""
    first_labels: dict[tuple[str, str], Label] = {}
    for label in labels:
        first = first_labels.setdefault((label.query_id, label.item), label)
        if first is label:
            yield label
        elif first.grade != label.grade:
            raise InputError(
                "{place}: field 'grade' of {item!r:.240} for query {query_id!r} is {grade} here and"
                " {other_grade} at {other_place}; keep one",
                place=label.location,
                item=label.item,
                query_id=label.query_id,
                grade=label.grade,
                other_grade=first.grade,
                other_place=first.location,
            )


def _collect_names(dataset: Dataset, pool: Pool) -> _RunNames:
    """Return the names of a run; a name as it is has priority over its form in TREC files."""
    snippet_ids: dict[tuple[str, str], set[str]] = {}
    for ranking in dataset.rankings:
        documents = pool.documents.get(ranking.key, ())
        for snippet, document in zip(ranking.snippets, documents, strict=False):
            snippet_ids.setdefault((ranking.query_id, document), set()).add(snippet.id)
    exact = {key: frozenset(ids) for key, ids in snippet_ids.items()}
    escaped = {(query_id, escape_column(document)): ids for (query_id, document), ids in exact.items()}
    return _RunNames(
        {escape_column(query_id): query_id for query_id in dataset.queries}
        | {query_id: query_id for query_id in dataset.queries},
        frozenset(pair.key for pair in pool.pairs),
        escaped | exact,
    )


def _find_pairs(label: Label, names: _RunNames) -> tuple[list[tuple[str, str]], bool]:
    """Return the pairs of a label, and True when it names a snippet."""
    matching = (names.queries[name] for name in unescape_candidates(label.query_id) if name in names.queries)
    query_id = next(matching, None)
    if query_id is None:
        return [], False
    for item in unescape_candidates(label.item):
        if (query_id, item) in names.snippets:
            return [(query_id, item)], True
        if (query_id, item) in names.documents:
            return [(query_id, snippet_id) for snippet_id in names.documents[query_id, item]], False
    return [], False


def _describe_no_match(labels: Sequence[Label], pool: Pool, names: _RunNames) -> str:
    """Return the message that no label matches: an example of each side."""
    if not (labels and pool.pairs):
        return Message(
            "{labels} labels and {pairs} pairs of the run: there is nothing to compare",
            labels=len(labels),
            pairs=len(pool.pairs),
        )
    label, key = labels[0], (pool.pairs[0].query.id, pool.pairs[0].snippet.id)
    document = next(
        name for (query_id, name), ids in names.documents.items() if query_id == key[0] and key[1] in ids
    )
    return Message(
        "{label.location}: none of the rows ({count:,}) is about this run. This one has query"
        " {label.query_id!r:.80} and {label.item!r:.80}; the run has, say, query {query_id!r:.80} with"
        " snippet {snippet_id!r} of document {document!r:.80}. Is the file of another run?",
        label=label,
        count=len(labels),
        query_id=key[0],
        snippet_id=key[1],
        document=document,
    )


def choose_label_scale(
    grades: Iterable[int], run: Scale | None, name: ScaleName | None, labels: Iterable[Label] = ()
) -> Scale:
    """Return the scale of people's `grades`: the one called `name`, else that of the `run` if they fit it.

    They do not fit when a grade is above it, or when `labels`, the rows of the file, say yes or no and the
    run is graded. Then, and without a run, the scale is binary up to grade 1, else graded. A scale called
    like the run's has the run's `relevant_from`. Raises InputError for another `name`, for a grade above the
    scale, and for yes where the grade 1 is not relevant.
    """
    if name not in (None, "graded", "binary"):
        raise InputError("--labels-scale is {value!r}; it is graded or binary", value=name)
    top, labels = max(grades), tuple(labels)
    fits = run is not None and top <= run.top and not any(label.word for label in labels)
    name = name or (run.name if run and fits else "graded" if top > 1 else "binary")
    scale = run if run and name == run.name else BINARY if name == "binary" else GRADED
    word = next((label for label in labels if label.word and label.grade), None)
    if word and scale.relevant_from > 1:
        raise InputError(
            "{place}: the grade is yes, and other grades of the file are numbers, or the scale is graded;"
            " write a number for each, or only yes and no",
            place=word.location,
        )
    if top > scale.top:
        label = next((label for label in labels if label.grade > scale.top), None)
        what = (
            Message("{place}: has grade {grade}", place=label.location, grade=label.grade)
            if label
            else Message("a label has grade {grade}", grade=top)
        )
        raise InputError(
            "{what}; the {scale} scale ends at {top}", what=what, scale=scale.name, top=scale.top
        )
    return scale


#: The kinds of user feedback: thumbs and clicks. They are not labels of people who graded.
FeedbackKind = Literal["thumbs", "clicks"]
_SIGNALS: Mapping[str, tuple[FeedbackKind, int]] = {
    "up": ("thumbs", 1),
    "down": ("thumbs", -1),
    "click": ("clicks", 1),
    "skip": ("clicks", -1),
    "赞": ("thumbs", 1),
    "踩": ("thumbs", -1),
    "点击": ("clicks", 1),
    "跳过": ("clicks", -1),
}


@dataclass(frozen=True, slots=True)
class Feedback:
    """The labels that follow from the feedback of users, by kind; `warnings` are about the file.

    A label is 1 where most of the feedback is positive, and 0 where most is negative.
    """

    labels: Mapping[FeedbackKind, tuple[Label, ...]]
    warnings: tuple[str, ...] = ()


def read_feedback(path: Path) -> Feedback:
    """Return the feedback in a CSV of one row an event.

    An item with as many positive as negative events is left out. The header names 'query_id', 'snippet_id'
    (or 'document', 'docno') and 'feedback'. Raise InputError with file, line, field and value for any other
    feedback, and for a file without any, or with as many positive as negative events for every item.
    """
    warnings: list[str] = []
    text = read_text_file(path, warnings.append)
    separator = detect_separator(text, "query_id", normalise_column_name)
    if not separator:
        raise InputError(
            "{file}: user feedback is a CSV whose header names 'query_id', 'snippet_id' (or 'document',"
            " 'docno') and 'feedback'",
            file=path,
        )
    sums: dict[tuple[FeedbackKind, str, str], tuple[int, str]] = {}
    for location, query_id, item, value in read_label_rows(path, text, separator, "feedback"):
        word = unicodedata.normalize("NFKC", value).strip().casefold()
        if not word:
            continue
        if word not in _SIGNALS:
            raise InputError(
                "{place}: field 'feedback' is {value!r:.80}; write one of {names}",
                place=location,
                value=value,
                names=SeparatedNames(_SIGNALS),
            )
        kind, sign = _SIGNALS[word]
        key = kind, unicodedata.normalize("NFC", query_id), item
        total, place = sums.get(key, (0, location))
        sums[key] = total + sign, place
    if not sums:
        raise InputError("{file}: holds no feedback; fill in the column 'feedback'", file=path)
    labels: dict[FeedbackKind, list[Label]] = {}
    for (kind, query_id, item), (total, place) in sums.items():
        labels.setdefault(kind, []).extend([Label(query_id, item, int(total > 0), place)] if total else ())
    decided = {kind: tuple(of_kind) for kind, of_kind in labels.items() if of_kind}
    if not decided:
        raise InputError(
            "{file}: every item has as many positive as negative events, which say nothing about it",
            file=path,
        )
    return Feedback(decided, tuple(warnings))
