"""Readers."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import date, datetime, time
from itertools import chain, islice, repeat
from pathlib import Path
from typing import IO, Any

from judge.dataset import textfile
from judge.dataset.rows import (
    InputRow,
    Warn,
    expand_record,
    flat_row,
    parse_json,
    parse_object,
    read_lines,
    read_nonblank_lines,
)
from judge.errors import InputError, SetupError

FILE_TYPES = ".jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz"
_DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "commas", "\t": "tabs"}
#: A header line that goes on behind line breaks inside quotes ends after so many.
_HEADER_LINES = 100


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


def _read_jsonl(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    for place, text in read_nonblank_lines(path, warn):
        yield from expand_record(place, parse_object(place, text), columns)


def _read_json(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    """A JSON array of records, as test frameworks write it."""
    text = "".join(text for _, text in read_lines(path, warn))
    records = parse_json(str(path), text) if text.strip() else []
    if isinstance(records, dict):
        records = records.get("test_cases", records.get("testCases", [records]))
    if not isinstance(records, list):
        raise InputError(f"{path}: holds {type(records).__name__}, not a list of records")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: record {number} is {record!r:.80}, not an object")
        yield from expand_record(f"{path}: record {number}", record, columns)


def _read_csv(path: Path, columns: Mapping[str, str], warn: Warn) -> Iterator[InputRow]:
    csv.field_size_limit(1 << 30)
    texts = (text for _, text in read_lines(path, warn))
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
            yield flat_row(place, _read_cells(place, header, cells, delimiter, columns), columns)


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
        yield flat_row(place, _read_cells(place, header, padded, ",", columns), columns)


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
                    yield flat_row(f"{path}: row {number}", given, columns)
    except pyarrow.ArrowException as error:
        raise InputError(f"{path}: is not Parquet: {error}") from error


#: A workbook may unpack to so many bytes, or so many times its own size if that is more.
_MAX_UNPACKED, _MAX_RATIO = 1 << 30, 100
#: How Excel writes a character that XML can't hold, such as a carriage return.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def read_sheet(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of the first sheet, with its place `path: sheet 'NAME' row N`, as texts.

    A formula is never evaluated: it counts as the value that was saved with it, or as its own text
    where none was. Raises InputError for what is no workbook, SetupError without the extra.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise SetupError(f"{path}: XLSX needs openpyxl: pip install 'search-judge[xlsx]'") from None
    with textfile.translate_read_errors(path), textfile.open_bytes(path) as file:
        packed = path.suffix.lower() == ".gz"
        content: IO[bytes] = io.BytesIO(file.read()) if packed else file
        try:
            _check_workbook_size(path, content)
            yield from _read_sheet_rows(path, content)
        except (zipfile.BadZipFile, KeyError, ValueError, SyntaxError, AttributeError, TypeError) as error:
            # What openpyxl and the XML parser raise for a damaged workbook.
            raise InputError(f"{path}: is not an XLSX workbook: {error}") from error


def _check_workbook_size(path: Path, content: IO[bytes]) -> None:
    """Raise InputError when the workbook would unpack to too much."""
    size = content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > (most := max(_MAX_UNPACKED, _MAX_RATIO * size)):
        raise InputError(f"{path}: unpacks to {unpacked:,} bytes, more than {most:,}; save it as CSV")


def _read_sheet_rows(path: Path, content: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    from openpyxl import load_workbook

    with closing(load_workbook(content, read_only=True)) as book:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size may be wrong
        with closing(load_workbook(content, read_only=True, data_only=True)) as saved_book:
            saved = saved_book.worksheets[0]
            saved.reset_dimensions()
            values = saved.iter_rows(values_only=True) if _has_formulas(content) else repeat(())
            for number, (row, known) in enumerate(zip(sheet.iter_rows(), values, strict=False), start=1):
                place = f"{path}: sheet {sheet.title!r} row {number}"
                yield place, [_format_cell(_cell_value(cell, known, at)) for at, cell in enumerate(row)]


def _has_formulas(content: IO[bytes]) -> bool:
    with zipfile.ZipFile(content) as archive:
        names = [name for name in archive.namelist() if re.match(r"xl/worksheets/[^/]+\.xml", name)]
        for name in names:
            with archive.open(name) as sheet:
                tail = b""
                while chunk := sheet.read(1 << 20):
                    if re.search(rb"<(?:\w+:)?f[ />]", tail + chunk):
                        return True
                    tail = chunk[-16:]
    return False


def _cell_value(cell: Any, known: tuple[Any, ...], at: int) -> Any:  # noqa: ANN401  # whatever a cell holds
    """Return the cell's value; of a formula the one that was saved with it, if there is one."""
    if cell.data_type == "f" and at < len(known) and known[at] is not None:
        return known[at]
    return cell.value


def _format_cell(value: object) -> str:
    """Return a cell's value as CSV has it: a midnight is its day, a whole number has no fraction."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), str(value))
