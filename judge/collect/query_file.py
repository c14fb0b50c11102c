"""Files of queries for a collection: .jsonl, .csv, .tsv and .txt."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.dataset import clean
from judge.dataset.delimited import read_text, records
from judge.dataset.identifiers import identifier, query_id_of
from judge.dataset.readers import lines, parse_object
from judge.errors import InputError

FORMS = ".jsonl, .csv, .tsv (id, tab, query) or .txt (a query a line)"
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query: `text` as engines get it, `row` with all of its columns."""

    id: str
    text: str
    row: Mapping[str, Any]


def read_queries(path: Path) -> list[QueryRow]:
    """Return the queries of a file, in order; raise InputError that names file, line, field and value."""
    readers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".csv": _csv, ".tsv": _tsv, ".txt": _txt}
    if path.suffix.lower() not in readers:
        raise InputError(f"{path}: unknown file type {path.suffix!r}; queries are {FORMS}")
    if not path.is_file():
        raise InputError(f"{path}: no such file" if not path.exists() else f"{path}: is not a file")
    places: dict[str, str] = {}
    queries = []
    for place, row in readers[path.suffix.lower()](path):
        query = _parse_query(place, row)
        if query.id in places:
            raise InputError(
                f"{place}: query {query.id!r} ({query.text!r:.80}) was at {places[query.id]} already;"
                " give every query once, with an id of its own"
            )
        places[query.id] = place
        queries.append(query)
    if not queries:
        raise InputError(f"{path}: holds no queries")
    return queries


def _parse_query(place: str, row: Mapping[str, Any]) -> QueryRow:
    text = row.get("query")
    if not isinstance(text, str):
        wrong = "is missing" if text is None else f"is {text!r:.80}, not text"
        raise InputError(f"{place}: field 'query' {wrong}; every query needs its text")
    if not clean.query(text):
        raise InputError(f"{place}: field 'query' is {text!r:.80}, which has no visible text")
    if _SURROGATE.search(text):
        raise InputError(f"{place}: field 'query' is {text!r:.80}, which holds half of a surrogate pair")
    query_id = identifier(place, "query_id", row.get("query_id"), query_id_of(text))
    columns = {name: value for name, value in row.items() if name not in ("query", "query_id", "engines")}
    not_finite = [
        name for name, value in columns.items() if isinstance(value, float) and not math.isfinite(value)
    ]
    if not_finite:
        name = not_finite[0]
        raise InputError(f"{place}: field {name!r} is {columns[name]!r}, which is no JSON value")
    return QueryRow(query_id, text.strip(), {"query_id": query_id, "query": text, **columns})


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in lines(path):
        yield place, parse_object(place, text)


def _txt(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in lines(path):
        yield place, {"query": text}


def _tsv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in lines(path):
        query_id, tab, query = text.partition("\t")
        if not tab:
            raise InputError(f"{place}: has no tab; a line is the query's id, a tab, the query")
        yield place, {"query_id": query_id, "query": query}


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = read_text(path)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    header: Sequence[str] = ()
    for place, cells in records(path, text, separator):
        if not header:
            header = _header(place, cells)
        elif len(cells) != len(header):
            raise InputError(
                f"{place}: has {len(cells)} cells for {len(header)} columns; quote cells that hold"
                f" {separator!r}"
            )
        else:
            yield place, {name: cell for name, cell in zip(header, cells, strict=True) if name and cell}


def _header(place: str, cells: Sequence[str]) -> Sequence[str]:
    repeated = [cell for cell in cells if cell and cells.count(cell) > 1]
    if repeated:
        raise InputError(f"{place}: column {repeated[0]!r} is given twice; rename one")
    if "query" not in cells:
        raise InputError(f"{place}: there is no column 'query'; the columns are {cells!r:.160}")
    return cells
