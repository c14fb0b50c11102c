"""Owns the file formats: each turns into the same rows, one a result, with the place they came from."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from judge.dataset import textfile
from judge.dataset.readers import read_sheet
from judge.errors import InputError, SetupError

FILE_TYPES = ".jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz"
_FIELDS = frozenset(
    {"query", "query_id", "engine", "rank", "snippet", "title", "url", "date", "reference", "error", "docno"}
)
#: What `--columns` may name; a row's error has no other name.
COLUMN_FIELDS = tuple(sorted(_FIELDS))
#: What a nested row says of its query, and of each result.
_QUERY_FIELDS = frozenset({"query", "query_id", "reference"})
_DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "commas", "\t": "tabs"}
#: A header line that goes on behind line breaks inside quotes ends after so many.
_HEADER_LINES = 100

Warn = Callable[[str], object]

#: What tells a test case of DeepEval from other rows.
_TEST_CASE_FIELDS = frozenset({"input", "retrieval_context", "retrievalContext"})


@dataclass(frozen=True, slots=True)
class InputRow:
    """One result as it was given: values untyped, `place` is `file:line` for messages.

    Without a `snippet` key in `values` the row only says that the engine was asked: with an `error`
    it broke, without one it returned nothing, or what other rows say; `latency_ms` is how long it took.
    """

    place: str
    values: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> str:
        """Return what the file calls field `name`."""
        return self.columns.get(name, name)

    def at(self, name: str) -> str:
        """Return where field `name` stands, for messages."""
        return f"{self.place}: field {self.column(name)!r}"


def read_rows(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    """The rows of a dataset file; the form is told from its ending and its first record.

    `columns` gives the file's own name of a field that is called otherwise there; `warn` takes warnings.
    """
    readers: Mapping[str, Callable[[Path, Mapping[str, str], Warn], Iterator[InputRow]]] = {
        **dict.fromkeys((".jsonl", ".ndjson"), _read_jsonl),
        **dict.fromkeys((".csv", ".tsv"), _read_csv),
        ".json": _read_json,
        ".xlsx": _read_xlsx,
        ".parquet": _read_parquet,
    }
    with textfile.translate_read_errors(path):
        if not path.is_file():
            raise InputError(f"{path}: no such file" if not path.exists() else f"{path}: is not a file")
    packed = path.suffix.lower() == ".gz"
    ending = path.with_suffix("").suffix.lower() if packed else path.suffix.lower()
    if ending not in readers:
        raise InputError(
            f"{path}: unknown file type {path.suffix!r}; a dataset is {FILE_TYPES}, or TREC files"
        )
    return readers[ending](path, columns, warn)


def read_mappings(given: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """The rows of a dataset that is in memory already."""
    for number, record in enumerate(given, start=1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"row {number}: is {record!r:.80}, not a mapping;"
                " of a data frame, pass frame.to_dict('records')"
            )
        plain = {name: _to_python(name, value) for name, value in record.items()}
        yield from _expand(f"row {number}", plain, columns)


def _to_python(name: str, value: Any) -> Any:  # noqa: ANN401 - a row holds what its maker put there
    """The value in Python's own types. What isn't equal to itself is how data frames write "absent".

    That is NaN, NA and NaT. A NaN is no rank, though.
    """
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    absent = (value == value) is not True and not (name == "rank" and isinstance(value, float))
    return None if absent else value


def read_nonblank_lines(path: Path, warn: Callable[[str], object] | None = None) -> Iterator[tuple[str, str]]:
    """`(path:line, text)` of every line that isn't blank; `.gz` files are unpacked.

    Lines end at line feeds alone: other separators may stand inside a JSON string. `warn` takes a
    warning where the encoding is a guess; without it a guess is refused.
    """
    for number, text in _decoded(path, warn):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def _decoded(path: Path, warn: Callable[[str], object] | None = None) -> Iterator[tuple[int, str]]:
    """Every line of the file with its number, as it stands there."""
    with textfile.translate_read_errors(path):
        file, warnings = textfile.open_text(path)
        with file:
            for warning in warnings:
                if warn is None:
                    raise InputError(f"{path}: is not UTF-8; save the file as UTF-8")
                warn(warning)
            yield from textfile.number_lines(file, path)


def parse_object(place: str, text: str) -> dict[str, Any]:
    """The JSON object in `text`; raises InputError when it is none, or names a key twice."""
    value = _parse(place, text)
    if not isinstance(value, dict):
        raise InputError(f"{place}: is {type(value).__name__} {text[:60]!r}, not an object {{…}}")
    return value


def _parse(place: str, text: str) -> Any:  # noqa: ANN401 - what JSON holds is known by looking
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{place}: field {twice!r} is given twice in one object")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        where = place if error.lineno == 1 else f"{place}, line {error.lineno}"
        raise InputError(
            f"{where}: is not JSON: {error.msg} at column {error.colno}: {text[:60]!r}"
        ) from None
    except RecursionError:
        raise InputError(f"{place}: is not JSON that can be read: it nests too deep") from None
    except ValueError:
        raise InputError(f"{place}: is not JSON that can be read: a number has too many digits") from None


def _read_jsonl(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    for place, text in read_nonblank_lines(path, warn):
        yield from _expand(place, parse_object(place, text), columns)


def _read_json(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    """A JSON array of records, as test frameworks write it."""
    text = "".join(text for _, text in _decoded(path, warn))
    records = _parse(str(path), text) if text.strip() else []
    if isinstance(records, dict):
        records = records.get("test_cases", records.get("testCases", [records]))
    if not isinstance(records, list):
        raise InputError(f"{path}: holds {type(records).__name__}, not a list of records")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: record {number} is {record!r:.80}, not an object")
        yield from _expand(f"{path}: record {number}", record, columns)


def _read_csv(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    csv.field_size_limit(1 << 30)
    texts = (text for _, text in _decoded(path, warn))
    first, skipped = _find_header_line(texts)
    delimiter = _detect_delimiter(first, columns)
    reader = csv.reader(chain([first], texts), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        # A record may take several lines; the first one is where a person looks for it.
        place = f"{path}:{skipped + reader.line_num + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{place}: is not CSV: {error}") from None
        if cells is None:
            return
        if cells and not header:
            header = _check_header(place, cells, columns)
            skipped += first.count("\n") - 1
        elif cells:
            yield _flat(place, _read_cells(place, header, cells, delimiter, columns), columns)


def _find_header_line(texts: Iterator[str]) -> tuple[str, int]:
    """Return the line that names the columns, and how many lines stand before it.

    Blank lines and Excel's `sep=;` are no header. A line break inside quotes doesn't end it.
    """
    skipped = 0
    for text in texts:
        if not text.strip() or re.fullmatch(r"sep=[^\w\s]|sep=\t", text.rstrip("\r\n")):
            skipped += 1
            continue
        for more in islice(texts, _HEADER_LINES if text.count('"') % 2 else 0):
            text += more
            if text.count('"') % 2 == 0:
                break
        return text, skipped
    return "", skipped


def _detect_delimiter(header: str, columns: Mapping[str, str]) -> str:
    """Return the delimiter by which `header` names a query, else the one that stands there most often."""
    query = columns.get("query", "query")
    for delimiter in _DELIMITERS:
        cells = next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter), [])
        if len(cells) > 1 and query in cells:
            return delimiter
    return max(_DELIMITERS, key=header.count)


def _check_header(place: str, cells: list[str], columns: Mapping[str, str]) -> list[str]:
    """Return the names of the columns; raises InputError where one is missing or given twice."""
    seen: set[str] = set()
    for cell in filter(None, cells):
        if cell in seen:
            raise InputError(f"{place}: column {cell!r:.80} is given twice; rename one")
        seen.add(cell)
    missing = [name for name in columns.values() if name not in seen]
    for name in ("query", "snippet"):
        if name not in columns and name not in seen and not (name == "snippet" and "error" in seen):
            missing.append(name)
    if missing:
        raise InputError(
            f"{place}: there is no column {missing[0]!r}; the columns are {cells[:20]!r:.160}. Name the right"
            f" one: --columns {_find_field(missing[0], columns)}=NAME"
        )
    return cells


def _find_field(column: str, columns: Mapping[str, str]) -> str:
    return next((name for name, given in columns.items() if given == column), column)


def _read_cells(
    place: str, header: list[str], cells: list[str], delimiter: str, columns: Mapping[str, str]
) -> dict[str, str]:
    """What a row says; an empty cell is nothing said, except for a snippet, which may be empty."""
    if len(cells) != len(header):
        more = "more" if len(cells) > len(header) else "fewer"
        raise InputError(
            f"{place}: has {more} cells than the header has columns, {len(cells)} for {len(header)};"
            f" quote cells that hold {_DELIMITER_NAMES.get(delimiter, repr(delimiter))} or line breaks"
        )
    snippet = columns.get("snippet", "snippet")
    named = zip(header, cells, strict=True)
    return {name: cell for name, cell in named if name and (cell or name == snippet)}


def _read_xlsx(path: Path, columns: Mapping[str, str], _: Warn) -> Iterator[InputRow]:
    """The rows of a workbook's first sheet; every cell is taken as the text that it shows."""
    header: list[str] = []
    for place, cells in read_sheet(path):
        if not any(cells):
            continue
        if not header:
            while cells and not cells[-1]:
                cells.pop()
            header = _check_header(place, cells, columns)
            continue
        if any(cells[len(header) :]):
            raise InputError(f"{place}: has cells to the right of the last named column")
        padded = [*cells[: len(header)], *([""] * (len(header) - len(cells)))]
        yield _flat(place, _read_cells(place, header, padded, ",", columns), columns)


def _read_parquet(path: Path, columns: Mapping[str, str], _: Warn) -> Iterator[InputRow]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise SetupError(f"{path}: Parquet needs pyarrow: pip install 'search-judge[parquet]'") from None
    snippet = columns.get("snippet", "snippet")
    try:
        with textfile.translate_read_errors(path), textfile.open_bytes(path) as file:
            packed = path.suffix.lower() == ".gz"
            source = parquet.ParquetFile(io.BytesIO(file.read()) if packed else path)
            _check_header(str(path), source.schema_arrow.names, columns)
            number = 0
            for batch in source.iter_batches():
                for record in batch.to_pylist():
                    number += 1
                    given = {
                        name: value for name, value in record.items() if value is not None or name == snippet
                    }
                    yield _flat(f"{path}: row {number}", given, columns)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: is not Parquet: {error}") from error


def _expand(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    if "engines" in record:
        return _read_nested(place, record, columns)
    if columns.get("query", "query") not in record and not _TEST_CASE_FIELDS.isdisjoint(record):
        return _read_test_case(place, record)
    return iter([_flat(place, record, columns)])


def _rename_fields(record: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the record with the fields in `columns` under their own names instead of the file's."""
    if not columns:
        return record
    taken = {*columns, *columns.values()}
    rest = {name: value for name, value in record.items() if name not in taken}
    return {**rest, **{name: record[given] for name, given in columns.items() if given in record}}


def _flat(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> InputRow:
    record = _rename_fields(record, columns)
    values = {name: value for name, value in record.items() if name in _FIELDS}
    extra = {name: value for name, value in record.items() if name not in _FIELDS}
    row = InputRow(place, values, extra, columns)
    if values.get("error") in (None, ""):
        values.pop("error", None)
        if "snippet" not in values:
            raise InputError(
                f"{row.at('snippet')} is missing; a row needs"
                f" {row.column('query')!r} and {row.column('snippet')!r}"
            )
    elif not values.get("snippet"):
        values.pop("snippet", None)
    return row


def _read_nested(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """One query with the answers of several engines."""
    of_query = {name: given for name, given in columns.items() if name in _QUERY_FIELDS}
    record = _rename_fields(record, of_query)
    engines = record["engines"]
    if not isinstance(engines, dict) or not engines:
        raise InputError(f"{place}: field 'engines' is {engines!r:.80}; it maps each engine to its results")
    asked = {name: record[name] for name in ("query", "query_id", "reference") if name in record}
    extra = {name: value for name, value in record.items() if name not in {*_FIELDS, "engines"}}
    for engine, answer in engines.items():
        here = f"{place}: engine {engine!r}"
        if isinstance(answer, dict) and isinstance(answer.get("error"), str) and answer["error"]:
            yield InputRow(here, {**asked, "engine": engine, "error": answer["error"]}, extra, columns)
            continue
        took = {}
        if isinstance(answer, dict) and "results" in answer:
            took = {"latency_ms": answer["latency_ms"]} if "latency_ms" in answer else {}
            answer = answer["results"]
        if not isinstance(answer, list):
            raise InputError(
                f'{here}: is {answer!r:.80}; write a list of results, {{"results": […], "latency_ms": 312.4}}'
                ' or {"error": "why"}'
            )
        row = InputRow(here, {**asked, "engine": engine, **took}, extra, columns)
        yield row
        yield from _read_results(row, {**asked, "engine": engine}, answer)


def _read_results(row: InputRow, asked: Mapping[str, Any], answer: list[Any]) -> Iterator[InputRow]:
    """The results in `answer`, which belong to the query and engine of `row`."""
    columns = {name: given for name, given in row.columns.items() if name not in _QUERY_FIELDS}
    for rank, result in enumerate(answer, start=1):
        here = f"{row.place}: result {rank}"
        given = {"snippet": result} if isinstance(result, str) else result
        given = _rename_fields(given, columns) if isinstance(result, dict) else given
        if not isinstance(given, dict) or "snippet" not in given:
            raise InputError(
                f"{here}: is {result!r:.80}; a result is a text, or an object with a"
                f" {row.column('snippet')!r}"
            )
        kept = {name: given[name] for name in ("snippet", "title", "url", "date", "docno") if name in given}
        yield InputRow(here, {**kept, **asked, "rank": given.get("rank", rank)}, row.extra, row.columns)


def _read_test_case(place: str, record: Mapping[str, Any]) -> Iterator[InputRow]:
    """A DeepEval test case: `input` is the query, `retrieval_context` one engine's snippets."""
    if "input" not in record:
        raise InputError(f"{place}: field 'input' is missing; a test case needs 'input', which is the query")
    context = record.get("retrieval_context", record.get("retrievalContext"))
    if not isinstance(context, list):
        raise InputError(
            f"{place}: field 'retrieval_context' is {context!r:.80}, not a list of texts;"
            " an empty list says that nothing was returned"
        )
    metadata = record.get("metadata") or record.get("additional_metadata") or {}
    known = metadata if isinstance(metadata, dict) else {}
    asked: dict[str, Any] = {"query": record["input"]}
    for name in ("query_id", "engine"):
        value = record.get(name, known.get(name))
        if value is not None:
            asked[name] = value
    expected = record.get("expected_output", record.get("expectedOutput"))
    if expected:
        asked["reference"] = expected
    row = InputRow(place, asked)
    yield row
    yield from _read_results(row, asked, context)
