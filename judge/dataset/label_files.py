"""Files of people's grades: labels, feedback of users, and examples for a prompt."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Literal

from judge.dataset import clean, csv_tables
from judge.dataset.clean import RawSnippet, TextOptions
from judge.dataset.dataset_files import read_rows
from judge.dataset.field_values import unescape_candidates
from judge.dataset.labels import (
    Label,
    LabelSet,
    check_same_grade,
    choose_label_scale,
    describe_assumed_scale,
    match_labels,
)
from judge.dataset.parsed_rows import ParsedRow, parse_row
from judge.dataset.query_builder import choose_language
from judge.dataset.rows import RowFormat
from judge.dataset.text_files import Warn, read_text_file
from judge.errors import InputError
from judge.injection.patterns import INJECTION_FLAGS
from judge.messages import Message, NameList, SeparatedNames, join_messages
from judge.records import BINARY, Dataset, Example, Pair, Pool, Query, Scale, ScaleName

#: Columns of a CSV that can name the labelled item; the first one in the file counts.
_ITEM_COLUMNS = ("snippet_id", "document", "docno")
_UNSURE = ("", "?", "unsure", "不确定")
_WORDS = {"yes": 1, "是": 1, "no": 0, "否": 0}
# Spreadsheets write 2 as 2.0, in half of Europe as 2,0.
_WHOLE = re.compile(r"([0-9]{1,9})(?:[.,]0*)?")
_JUNK = re.compile(r"-[0-9]+")
_LABEL_FORMATS = Message(
    "labels are TREC qrels (query_id, iteration, docno, grade) or a CSV whose header names 'query_id',"
    " 'snippet_id' (or 'document', 'docno') and 'grade'"
)


def read_labels(path: Path, warn: Warn) -> tuple[Label, ...]:
    """Return the labels in a file of TREC qrels or a CSV, gzipped or not, in its order, each item once.

    The first line decides the format, and the separator of a CSV (comma, semicolon, tab). In a CSV an empty
    grade, `?` and `unsure` are not labels; yes and no (是, 否) are 1 and 0. In qrels, -1 is not a label (in
    trec_eval: pooled and not judged) and lower numbers are 0 (junk pages in the TREC Web Track). `warn` is
    that of `read_lines`. Raise InputError with file, line, field and value for any other grade that is no
    whole number from 0, and for two grades of one item. Raise it, too, for a file without a label.
    """
    text = read_text_file(path, warn)
    if not text.strip():
        raise InputError("{file}: is empty; {formats}", file=path, formats=_LABEL_FORMATS)
    separator = csv_tables.detect_separator(text, "query_id", csv_tables.normalise_column_name)
    rows = _read_label_rows(path, text, separator) if separator else _read_qrels(path, text)
    labels = tuple(_drop_duplicates(filter(None, starmap(_parse_label, rows))))
    if not labels:
        raise InputError(
            "{file}: contains no label; fill in the column 'grade', then run the same command again",
            file=path,
        )
    return labels


def load_labels(
    path: Path,
    dataset: Dataset,
    pool: Pool,
    run_scale: Scale,
    scale_name: ScaleName | None = None,
    *,
    option: str = "labels-scale",
) -> LabelSet:
    """Return the labels in a file that are about pairs of `pool`, with all warnings.

    Without a `scale_name`, a warning says which scale is assumed where the grades leave it open, and that
    `option` states it. Raise InputError as `read_labels`, `match_labels` and `choose_label_scale` do.
    """
    warnings: list[str] = []
    rows = read_labels(path, warnings.append)
    labels = match_labels(rows, dataset, pool, run_scale, scale_name, source=path.name)
    of_scale = describe_assumed_scale(labels, option) if scale_name is None else ()
    return replace(labels, warnings=(*warnings, *labels.warnings, *of_scale))


def load_label_file(path: Path, scale_name: ScaleName | None = None, *, names_path: bool = False) -> LabelSet:
    """Return the labels in a file by (query id, item), without a run; warnings are those of `load_labels`.

    Their source is the name of the file, or its path with `names_path`. Raise InputError as
    `read_labels` and `choose_label_scale` do.
    """
    warnings: list[str] = []
    rows = read_labels(path, warnings.append)
    grades = {(row.query_id, row.item): row.grade for row in rows}
    scale = choose_label_scale(grades.values(), None, scale_name, rows)
    labels = LabelSet(grades, scale, str(path) if names_path else path.name)
    of_scale = describe_assumed_scale(labels, "labels-scale") if scale_name is None else ()
    return replace(labels, warnings=(*warnings, *of_scale))


def _read_qrels(path: Path, text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the location, the query id, the document and the grade of each line."""
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
            yield location, query_id, docno, "0" if _JUNK.fullmatch(grade) else grade


def _read_label_rows(
    path: Path, text: str, separator: str, value: str = "grade"
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the location, the query id, the item and the column `value` of each row of a CSV."""
    rows = csv_tables.read_records(path, text, separator)
    location, header = next(rows, (str(path), []))
    names = [csv_tables.normalise_column_name(cell) for cell in header]
    if value == "grade" and "grade" not in names and {"docno", "score"} <= {*names}:  # as in BEIR
        value = "score"
    item = _choose_item_column(location, names, value)
    for location, cells in rows:
        # Spreadsheets leave out empty cells at a row's end, or add some.
        if any(cells[len(header) :]):
            csv_tables.check_cell_count(location, cells, len(header), separator)
        row = dict(zip_longest(names, cells[: len(header)], fillvalue=""))
        for name in ("query_id", item):
            if row[value] and not row[name]:
                raise InputError(
                    "{place}: field {name!r} is empty and the row has the {column} {grade!r:.80}; fill in"
                    " {name!r}",
                    place=location,
                    name=name,
                    column=value,
                    grade=row[value],
                )
        yield location, row["query_id"], row[item], row[value]


def _choose_item_column(location: str, header: Sequence[str], value: str) -> str:
    """Return the column that names the labelled items; raise InputError where it or `value` is missing."""
    item = next((name for name in _ITEM_COLUMNS if name in header), None)
    if value == "grade" and "feedback" in header and "grade" not in header:
        raise InputError(
            "{place}: feedback of users is not a label; compare it with: judge score RUN --feedback FILE",
            place=location,
        )
    missing = [name for name in ("query_id", value) if name not in header]
    if item is None or missing:
        items = () if item else (join_messages(_ITEM_COLUMNS, "{left} or {right}"),)
        raise csv_tables.make_header_error(location, NameList([*missing, *items]), header)
    csv_tables.check_column_names(location, [name for name in header if name in ("query_id", item, value)])
    return item


def _parse_label(location: str, query_id: str, item: str, text: str) -> Label | None:
    """Return the label with the grade in `text`, None for an unsure one; raise InputError for no grade."""
    # Chinese keyboards write full-width digits and question marks.
    plain = unicodedata.normalize("NFKC", text).strip().casefold()
    if plain in _UNSURE:
        return None
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
    return Label(unicodedata.normalize("NFC", query_id), item, grade, location, not whole)


def _drop_duplicates(labels: Iterable[Label]) -> Iterator[Label]:
    """Yield the first label of each item; raise InputError when a later one differs."""
    first_labels: dict[tuple[str, str], Label] = {}
    for label in labels:
        first = first_labels.setdefault((label.query_id, label.item), label)
        check_same_grade(label, first)
        if first is label:
            yield label


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
    separator = csv_tables.detect_separator(text, "query_id", csv_tables.normalise_column_name) or ","
    sums: dict[tuple[FeedbackKind, str, str], tuple[int, str]] = {}
    for location, query_id, item, value in _read_label_rows(path, text, separator, "feedback"):
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
    labels: dict[FeedbackKind, list[Label]] = {}
    for (kind, query_id, item), (total, place) in sums.items():
        if total:
            labels.setdefault(kind, []).append(Label(query_id, item, int(total > 0), place))
    if not labels:
        raise InputError(
            "{file}: has no usable feedback: the column 'feedback' is empty, or every item has"
            " as many positive as negative events",
            file=path,
        )
    return Feedback({kind: tuple(of_kind) for kind, of_kind in labels.items()}, tuple(warnings))


def read_examples(path: Path, scale: Scale, options: TextOptions, warn: Warn) -> tuple[Example, ...]:
    """Return the examples in a file like a dataset that also has the fields `grade` and `reason`.

    The file of `judge agree --plan` has `comment` instead of `reason`. Rows without a grade or a reason are
    left out. So are those that repeat a pair with its grade, and those with a snippet that may be an attack
    on the assessor. Texts are cleaned as in a dataset with the same options. `warn` gets the warnings: those
    of `read_rows`, and the number of possible attacks. Raise InputError with file, line, field and value for
    a row that is not an example of `scale`, and for two grades of one pair. Raise it, too, for a file without
    an example.
    """
    examples: dict[tuple[str, str], Example] = {}
    labels: dict[tuple[str, str], Label] = {}
    attacks: list[tuple[str, str]] = []
    for number, row in enumerate(read_rows(path, RowFormat(is_of_dataset=False), warn)):
        parsed = parse_row(number, row)
        example = _read_example(parsed, scale, options)
        if example is None:
            continue
        if flags := INJECTION_FLAGS.intersection(example.pair.snippet.flags):
            attacks.append((parsed.locate_field("snippet"), SeparatedNames(sorted(flags))))
            continue
        query, snippet = example.pair.query, example.pair.snippet
        key = query.text, snippet.id
        label = Label(query.text, snippet.text or snippet.title, example.grade, parsed.location)
        check_same_grade(label, labels.setdefault(key, label))
        examples.setdefault(key, example)
    remarks = [
        Message(
            "examples that are left out because their snippet may attack the assessor: {count:,}, first"
            " {place} ({flags})",
            count=len(attacks),
            place=place,
            flags=kinds,
        )
        for place, kinds in attacks[:1]
    ]
    if not examples:
        problem = Message(
            "{file}: contains no example; fill in query, snippet, grade and reason in each row", file=path
        )
        raise InputError(join_messages([problem, *remarks]))
    for remark in remarks:
        warn(remark)
    return tuple(examples.values())


def _read_example(row: ParsedRow, scale: Scale, options: TextOptions) -> Example | None:
    """Return the example in a row, None where it lacks a grade or a reason."""
    label = _parse_label(row.location, row.query_id, "", row.extra.get("grade", ""))
    if label is None:
        return None
    if label.grade > scale.top or (label.is_yes_no and scale != BINARY):
        raise InputError(
            "{place}: field 'grade' is {value!r}; the {scale} scale has the grades 0 to {top}",
            place=row.location,
            value=row.extra["grade"],
            scale=scale.name,
            top=scale.top,
        )
    reason = clean.clean_query(row.extra.get("reason") or row.extra.get("comment", ""))
    return Example(_make_pair(row, options), label.grade, reason) if reason else None


def _make_pair(row: ParsedRow, options: TextOptions) -> Pair:
    """Return the pair of a row; raise InputError without a query, or without a title and a snippet."""
    query = clean.clean_query(unescape_candidates(row.query)[0])
    raw = RawSnippet(*(unescape_candidates(text)[0] for text in row.snippet or RawSnippet("")))
    snippet = clean.clean_snippet(raw, max_chars=options.max_chars, query=query, dates=options.dates)
    if not (query and (snippet.text or snippet.title)):
        raise InputError(
            "{place} has no readable text; an example needs a query and a snippet",
            place=row.locate_field("snippet" if query else "query"),
        )
    language = choose_language(options.lang, query, [snippet])
    return Pair(Query(row.query_id, query, row.query, language, row.reference), snippet)
