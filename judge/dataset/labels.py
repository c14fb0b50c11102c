"""Owns what people said of a run's pairs: reading their labels, and finding the pairs they are about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.dataset.clean import EMPTY_SNIPPET, TEXT_CUT, TEXT_MISSING
from judge.dataset.spreadsheet import (
    detect_separator,
    escape_column,
    normalise_column_name,
    read_csv_text,
    read_records,
    unescape_candidates,
)
from judge.errors import InputError
from judge.records import Dataset, Pair, Pool

#: What a CSV may call the thing that has a grade; the first that it has a column for counts.
ITEM_COLUMNS = ("snippet_id", "document", "docno")
_UNSURE = ("", "?", "unsure", "不确定")
_WORDS = {"yes": 1, "是": 1, "no": 0, "否": 0}
# Spreadsheets write 2 as 2.0, in half of Europe as 2,0.
_WHOLE = re.compile(r"([0-9]{1,9})(?:[.,]0*)?")
_JUNK = re.compile(r"-[0-9]+")
_LABEL_FORMATS = (
    "labels are TREC qrels (query_id, iteration, docno, grade) or a CSV whose header names 'query_id',"
    " 'snippet_id' (or 'document', 'docno') and 'grade'"
)


@dataclass(frozen=True, slots=True)
class Label:
    """One person's grade. `item` names a snippet or a document; `place` is `file:line` for messages.

    `word` says that it was a yes or a no.
    """

    query_id: str
    item: str
    grade: int
    place: str
    word: bool = False


@dataclass(frozen=True, slots=True)
class MatchedLabels:
    """Labels on the pairs they are about: `grades` by (query_id, snippet_id), in the pool's order."""

    grades: Mapping[tuple[str, str], int]
    unmatched: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class _RunNames:
    """What labels may call a run's queries, snippets and documents."""

    queries: Mapping[str, str]
    snippets: frozenset[tuple[str, str]]
    documents: Mapping[tuple[str, str], frozenset[str]]


def read_labels(path: Path) -> tuple[Label, ...]:
    """The labels in a file of TREC qrels or a CSV, gzipped or not, in the file's order, each pair once.

    Which of the two it is shows in its first line, a CSV's separator (comma, semicolon, tab) too. A
    CSV's grade that is empty, `?` or `unsure` is no label; yes and no (是, 否) are 1 and 0. In qrels,
    -1 is no label (trec_eval's sign for pooled and not judged) and lower numbers are 0 (junk pages in
    the TREC Web Track). Raises InputError naming file, line, field and value for any other grade that
    is no whole number from 0, for two grades of one item, and for a file without a label.
    """
    text = read_csv_text(path)
    if not text.strip():
        raise InputError(f"{path}: is empty; {_LABEL_FORMATS}")
    separator = detect_separator(text)
    found = tuple(
        _drop_duplicates(_read_csv(path, text, separator) if separator else _read_qrels(path, text))
    )
    if not found:
        raise InputError(f"{path}: holds no label; write grades into it, then ask again")
    return found


def match_labels(labels: Sequence[Label], dataset: Dataset, pool: Pool) -> MatchedLabels:
    """Each label on the pairs of `pool` that it is about.

    An item is a snippet's id or a document's name in `pool.documents`, as it is or as the run's TREC
    files and spreadsheets write it. A document's label goes to every snippet of the query that shows
    it. A snippet's own label comes before its document's; of several documents that one snippet
    shows, the highest grade counts. Raises InputError when not one label is about a pair.
    """
    names = _collect_names(dataset, pool)
    own: dict[tuple[str, str], int] = {}
    inherited: dict[tuple[str, str], int] = {}
    unmatched = []
    for label in labels:
        pairs, is_own = _find_pairs(label, names)
        given = own if is_own else inherited
        for pair in pairs:
            given[pair] = max(label.grade, given.get(pair, 0))
        if not pairs:
            unmatched.append(label)
    if len(unmatched) == len(labels):
        raise InputError(_describe_no_match(labels, pool, names))
    grades = {**inherited, **own}
    keys = ((pair.query.id, pair.snippet.id) for pair in pool.pairs)
    return MatchedLabels({key: grades[key] for key in keys if key in grades}, tuple(unmatched))


def select_labellable(pool: Pool) -> tuple[Pair, ...]:
    """The pairs that people can judge: those that show something to be read."""
    return tuple(
        pair for pair in pool.pairs if {EMPTY_SNIPPET, TEXT_MISSING, TEXT_CUT}.isdisjoint(pair.snippet.flags)
    )


def _read_qrels(path: Path, text: str) -> Iterator[Label]:
    for number, line in enumerate(text.split("\n"), start=1):
        columns = re.findall(r"[^ \t\r]+", line)
        if not columns:
            continue
        place = f"{path}:{number}"
        if len(columns) != 4:
            raise InputError(f"{place}: is {line.strip()[:60]!r}; {_LABEL_FORMATS}")
        query_id, _, docno, said = columns
        if said != "-1":
            yield from _parse_label(place, query_id, docno, "0" if _JUNK.fullmatch(said) else said)


def _read_csv(path: Path, text: str, separator: str) -> Iterator[Label]:
    rows = read_records(path, text, separator)
    place, header = next(rows)
    columns = _find_columns(place, [normalise_column_name(cell) for cell in header])
    for place, cells in rows:
        if any(cells[len(header) :]):
            raise InputError(
                f"{place}: has more cells than the header has columns, {len(cells)} for {len(header)};"
                f" quote cells that hold {separator!r} or line breaks"
            )
        # Spreadsheets leave out empty cells at a row's end.
        padded = cells + [""] * (len(header) - len(cells))
        query_id, item, said = (padded[column] for column in columns.values())
        for name, value in zip(columns, (query_id, item), strict=False):
            if said and not value:
                raise InputError(
                    f"{place}: field {name!r} is {value!r} beside the grade {said!r:.80}; say what it is for"
                )
        yield from _parse_label(place, query_id, item, said)


def _find_columns(place: str, header: Sequence[str]) -> dict[str, int]:
    """Where query, item and grade stand, by the columns' names, in this order."""
    item = next((name for name in ITEM_COLUMNS if name in header), None)
    if item is None or "grade" not in header:
        missing = "grade" if item else " or ".join(ITEM_COLUMNS)
        raise InputError(f"{place}: there is no column {missing}; the columns are {list(header)!r:.160}")
    wanted = ("query_id", item, "grade")
    for name in wanted:
        if header.count(name) > 1:
            raise InputError(f"{place}: column {name!r} is given twice; rename one")
    return {name: header.index(name) for name in wanted}


def _parse_label(place: str, query_id: str, item: str, said: str) -> Iterator[Label]:
    """The label, unless whoever gave it was not sure."""
    # Chinese keyboards write full-width digits and question marks.
    plain = unicodedata.normalize("NFKC", said).strip().casefold()
    if plain in _UNSURE:
        return
    whole = _WHOLE.fullmatch(plain)
    if not whole and plain not in _WORDS:
        raise InputError(
            f"{place}: field 'grade' is {said!r:.80}, not a whole number from 0; write one, or nothing or"
            " ? where nobody can say"
        )
    grade = int(whole[1]) if whole else _WORDS[plain]
    # The dataset's reader keeps ids in this one spelling.
    yield Label(unicodedata.normalize("NFC", query_id), item, grade, place, not whole)


def _drop_duplicates(labels: Iterable[Label]) -> Iterator[Label]:
    """Each item's first label; raises InputError when a later one differs."""
    seen: dict[tuple[str, str], Label] = {}
    for label in labels:
        first = seen.setdefault((label.query_id, label.item), label)
        if first is label:
            yield label
        elif first.grade != label.grade:
            raise InputError(
                f"{label.place}: field 'grade' of {label.item!r:.240} for query {label.query_id!r} is"
                f" {label.grade} here and {first.grade} at {first.place}; keep one"
            )


def _collect_names(dataset: Dataset, pool: Pool) -> _RunNames:
    """A name as it is comes before one as TREC files write it."""
    shown: dict[tuple[str, str], set[str]] = {}
    for ranking in dataset.rankings:
        documents = pool.documents.get((ranking.engine, ranking.query_id), ())
        for snippet, document in zip(ranking.snippets, documents, strict=False):
            shown.setdefault((ranking.query_id, document), set()).add(snippet.id)
    exact = {key: frozenset(ids) for key, ids in shown.items()}
    escaped = {(query_id, escape_column(document)): ids for (query_id, document), ids in exact.items()}
    return _RunNames(
        {escape_column(query_id): query_id for query_id in dataset.queries}
        | {query_id: query_id for query_id in dataset.queries},
        frozenset((pair.query.id, pair.snippet.id) for pair in pool.pairs),
        escaped | exact,
    )


def _find_pairs(label: Label, names: _RunNames) -> tuple[list[tuple[str, str]], bool]:
    """The pairs that the label is about, and whether it names a snippet itself."""
    known = (names.queries[name] for name in unescape_candidates(label.query_id) if name in names.queries)
    query_id = next(known, None)
    if query_id is None:
        return [], False
    for item in unescape_candidates(label.item):
        if (query_id, item) in names.snippets:
            return [(query_id, item)], True
        if (query_id, item) in names.documents:
            return [(query_id, snippet_id) for snippet_id in names.documents[query_id, item]], False
    return [], False


def _describe_no_match(labels: Sequence[Label], pool: Pool, names: _RunNames) -> str:
    """Why no label is about the run: an example of each side."""
    if not (labels and pool.pairs):
        return f"{len(labels)} labels and {len(pool.pairs)} pairs of the run: there is nothing to compare"
    label, key = labels[0], (pool.pairs[0].query.id, pool.pairs[0].snippet.id)
    document = next(
        name for (query_id, name), ids in names.documents.items() if query_id == key[0] and key[1] in ids
    )
    return (
        f"{label.place}: none of {len(labels):,} labels is about this run. This one has query"
        f" {label.query_id!r:.80} and {label.item!r:.80}; the run has, say, query {key[0]!r:.80} with"
        f" snippet {key[1]!r} of document {document!r:.80}. Are they labels of another run?"
    )
