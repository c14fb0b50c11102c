"""Files of queries for a collection: .jsonl, .csv, .tsv and .txt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.dataset import clean
from judge.dataset.rows import convert_values, parse_object, read_nonblank_lines
from judge.dataset.textfile import check_cell_count, check_column_names, read_csv_text, read_records
from judge.dataset.validation import make_query_id, parse_identifier
from judge.errors import InputError
from judge.messages import Message

_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query: `text` as engines get it, `row` with all of its columns."""

    id: str
    text: str
    row: Mapping[str, Any]


def read_query_file(path: Path) -> list[QueryRow]:
    """Return the queries of a file, in order; raise InputError that names file, line, field and value."""
    readers = {
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".csv": _read_csv,
        ".tsv": _read_tsv,
        ".txt": _read_txt,
    }
    if path.suffix.lower() not in readers:
        raise InputError(
            "{file}: unknown file type {suffix!r}; queries are .jsonl, .csv, .tsv (id, tab, query) or .txt (a"
            " query a line)",
            file=path,
            suffix=path.suffix,
        )
    if not path.is_file():
        problem = Message("is not a file") if path.exists() else Message("no such file")
        raise InputError("{file}: {problem}", file=path, problem=problem)
    places: dict[str, str] = {}
    queries = []
    for place, row in readers[path.suffix.lower()](path):
        query = _parse_query(place, row)
        if query.id in places:
            raise InputError(
                "{place}: query {query_id!r} ({query!r:.80}) is already at {other_place}; give each query"
                " once, with its own id",
                place=place,
                query_id=query.id,
                query=query.text,
                other_place=places[query.id],
            )
        places[query.id] = place
        queries.append(query)
    if not queries:
        raise InputError("{file}: holds no queries; write the queries in it", file=path)
    return queries


def _parse_query(place: str, row: Mapping[str, Any]) -> QueryRow:
    text = row.get("query")
    if not isinstance(text, str) or not clean.clean_query(text):
        description = Message("missing") if text is None else f"{text!r:.80}"
        raise InputError(
            "{place}: field 'query' is {value}; every query needs visible text",
            place=place,
            value=description,
        )
    if _SURROGATE.search(text):
        raise InputError(
            "{place}: field 'query' is {value!r:.80}, which holds half of a surrogate pair",
            place=place,
            value=text,
        )
    query_id = parse_identifier(place, "query_id", row.get("query_id"), make_query_id(text))
    columns = {name: value for name, value in row.items() if name not in ("query", "query_id", "engines")}
    return QueryRow(query_id, text.strip(), {"query_id": query_id, "query": text, **columns})


def _read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in read_nonblank_lines(path):
        yield place, convert_values(parse_object(place, text), {})


def _read_txt(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in read_nonblank_lines(path):
        yield place, {"query": text}


def _read_tsv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, text in read_nonblank_lines(path):
        query_id, tab, query = text.partition("\t")
        if not tab:
            raise InputError("{place}: has no tab; a line is the query's id, a tab, the query", place=place)
        yield place, {"query_id": query_id, "query": query}


def _read_csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = read_csv_text(path)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    header: Sequence[str] = ()
    for place, cells in read_records(path, text, separator):
        if header:
            check_cell_count(place, cells, len(header), separator)
            yield place, {name: cell for name, cell in zip(header, cells, strict=True) if name and cell}
            continue
        header = cells
        check_column_names(place, header)
        if "query" not in header:
            raise InputError(
                "{place}: there is no column 'query'; the columns are {columns!r:.160}",
                place=place,
                columns=header,
            )
