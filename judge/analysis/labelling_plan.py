"""The file that people fill in with their own grades: what an assessor sees, and nothing else.

Neither engine nor rank nor verdict is in it, and its order says nothing of them. What comes back is
read by `judge.dataset.labels`.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from judge.dataset.labels import select_labellable
from judge.dataset.spreadsheet import escape_cell, protect_cell
from judge.dataset.validation import short_hash
from judge.errors import InputError
from judge.records import Dataset, Pool, Snippet
from judge.runs.folder import RunFolder

COLUMNS = ("query_id", "query", "reference", "snippet_id", "title", "date", "snippet", "grade", "comment")
# Halves of surrogate pairs have no bytes; control characters end a cell, or the file, for some readers.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
#: Excel spills what is longer over the rows below.
_LONGEST = 32_000


def rows(data: Dataset, pool: Pool, query_ids: Sequence[str], seed: int = 0) -> Iterator[tuple[str, ...]]:
    """The cells of one row for each distinct pair of these queries, named by `COLUMNS`.

    Queries come in the order given, each once; a query's snippets in an order that follows from
    `seed` and their ids alone. `grade` and `comment` are empty. Addresses are left out: the assessor
    does not see them, and some tell the engine. So are snippets without text: there is nothing to
    judge. Raises InputError for a query that is not in the run.
    """
    shown: dict[str, list[Snippet]] = {query_id: [] for query_id in query_ids}
    for query_id in shown:
        if query_id not in data.queries:
            raise InputError(f"query {query_id!r} is not in the run")
    for pair in select_labellable(pool):
        if pair.query.id in shown:
            shown[pair.query.id].append(pair.snippet)
    for query_id, snippets in shown.items():
        query = data.queries[query_id]
        about = (query_id, query.text, query.reference or "")
        for each in _shuffled(snippets, seed, query_id):
            yield (*about, each.id, each.title, each.date, each.text, "", "")


def write(path: Path, data: Dataset, pool: Pool, query_ids: Sequence[str], seed: int = 0) -> Path:
    """Writes `rows` as a CSV that spreadsheets open as it is meant, and gives its path.

    UTF-8 with the mark that makes Excel show Chinese; no cell is a formula. Raises InputError when
    `path` exists, for it may hold labels; StoreError when the disk doesn't take it.
    """
    if os.path.lexists(path):
        raise InputError(f"{path}: exists, and people's labels may be in it; name another file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    lines.writerows(
        [_dated(text) if name == "date" else fitting(text) for name, text in zip(COLUMNS, row, strict=True)]
        for row in rows(data, pool, query_ids, seed)
    )
    return RunFolder(path.parent).write(path.name, ["\ufeff", text.getvalue()])


def _shuffled(snippets: Iterable[Snippet], seed: int, query_id: str) -> list[Snippet]:
    return sorted(snippets, key=lambda each: short_hash([str(seed), query_id, each.id], 16))


def _dated(text: str) -> str:
    """A date is for the eye alone: however a spreadsheet writes it, it is not read back."""
    return escape_cell(_fit(text))


def fitting(text: str) -> str:
    """`text` as a cell that spreadsheets open, and save, as it is meant."""
    return protect_cell(_fit(text))


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)[:_LONGEST]
