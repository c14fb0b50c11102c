"""Dataset files: JSON lines, JSON, CSV, XLSX and Parquet, each read into the same rows."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import date, datetime, time
from itertools import repeat, zip_longest
from pathlib import Path
from typing import IO, Any

from judge.dataset import rows, text_files
from judge.dataset.csv_tables import check_column_names, make_header_error, read_table
from judge.dataset.rows import InputRow
from judge.dataset.text_files import Warn, read_text_file
from judge.errors import InputError, SetupError, advise_install, explain_error
from judge.messages import Message, NameList, OptionName, SeparatedNames, join_messages

FILE_TYPES = Message(".jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz")


def read_rows(path: Path, columns: Mapping[str, str], warn: Warn | None) -> Iterator[InputRow]:
    """Yield the rows of a dataset file; its suffix and its first record tell the format.

    `columns` maps fields to their names in the file where these differ; `warn` receives warnings, for which
    InputError is raised without it. Raise InputError, with the location, for a file that cannot be read.
    """
    readers: Mapping[str, Callable[[Path, Mapping[str, str], Warn | None], Iterator[InputRow]]] = {
        **dict.fromkeys((".jsonl", ".ndjson"), _read_jsonl),
        **dict.fromkeys((".csv", ".tsv"), _read_csv),
        ".json": _read_json,
        ".xlsx": _read_xlsx,
        ".parquet": _read_parquet,
    }
    text_files.check_is_file(path)
    if text_files.find_format(path) == ".txt":
        raise InputError(
            "{file}: a .txt file can hold queries, but no results; get the results of queries first:"
            " {command}. A dataset is {types}, or TREC files (--topics, --docs, --run)",
            file=path,
            command="judge collect FILE --engine NAME",
            types=FILE_TYPES,
        )
    if text_files.find_format(path) not in readers:
        raise InputError(
            "{file}: unknown file type {suffix!r}; a dataset is {types}, or TREC files (--topics, --docs,"
            " --run)",
            file=path,
            suffix=text_files.find_format(path),
            types=FILE_TYPES,
        )
    return readers[text_files.find_format(path)](path, columns, warn)


def _read_jsonl(path: Path, columns: Mapping[str, str], warn: Warn | None) -> Iterator[InputRow]:
    for location, text in rows.read_nonblank_lines(path, warn):
        yield from rows.expand_record(location, rows.parse_object(location, text), columns)


def _read_json(path: Path, columns: Mapping[str, str], warn: Warn | None) -> Iterator[InputRow]:
    """Yield the rows of a JSON array of records, as test frameworks write it."""
    text = read_text_file(path, warn)
    records = rows.parse_row_json(str(path), text) if text.strip() else []
    if isinstance(records, dict):
        records = records.get("test_cases", records.get("testCases", [records]))
    if not isinstance(records, list):
        raise InputError(
            "{file}: holds {type}, not a list of records", file=path, type=type(records).__name__
        )
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise InputError(
                "{file}: record {number} is {value!r:.80}, not an object",
                file=path,
                number=number,
                value=record,
            )
        yield from rows.expand_record(f"{path}: record {number}", record, columns)


def _read_csv(path: Path, columns: Mapping[str, str], warn: Warn | None) -> Iterator[InputRow]:
    header: list[str] = []
    for location, cells in read_table(path, columns.get("query", "query"), warn):
        if not header:
            header = _check_header(location, cells, columns)
        else:
            yield from rows.expand_cells(location, header, _name_cells(header, cells, columns), columns)


def _check_header(location: str, cells: list[str], columns: Mapping[str, str]) -> list[str]:
    """Return the names of the columns; raise InputError where one is missing or given twice."""
    check_column_names(location, cells)
    if rows.is_test_case(cells, columns):
        return cells
    required = {name: name for name in ("query", "snippet") if name not in columns}
    if "error" in cells:
        required.pop("snippet", None)
    missing = {field: name for field, name in {**columns, **required}.items() if name not in cells}
    if missing:
        option = f"--columns {','.join(f'{field}=NAME' for field in missing)}"
        if list(missing.values()) == ["snippet"] and (
            queries := rows.explain_missing_snippets(location, list(filter(None, cells)), option)
        ):
            raise InputError(queries)
        advice = Message(
            "Rename the right one (upper case, lower case and blanks count), or say which one it is:"
            " {option}",
            option=OptionName(option),
        )
        raise make_header_error(location, NameList(map(repr, missing.values())), cells, advice)
    return cells


def _name_cells(header: list[str], cells: list[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the cells by column without empty ones; a snippet may be empty."""
    snippet = columns.get("snippet", "snippet")
    named = zip(header, cells, strict=True)
    return {name: cell for name, cell in named if name and (cell or name == snippet)}


def _read_xlsx(path: Path, columns: Mapping[str, str], warn: Warn | None) -> Iterator[InputRow]:
    """Yield the rows of the first visible sheet of a workbook, with all cells as text."""
    header: list[str] = []
    sheet_warnings: list[str] = []
    for location, cells in _read_sheet(path, sheet_warnings.append):
        if not any(cells):
            continue
        if not header:
            while cells and not cells[-1]:
                cells.pop()
            try:
                header = _check_header(location, cells, columns)
            except InputError as error:
                raise InputError(join_messages([error.message, *sheet_warnings])) from None
            for warning in sheet_warnings:
                if warn:
                    warn(warning)
            continue
        if any(cells[len(header) :]):
            raise InputError(
                "{place}: has cells to the right of the last named column; name their columns, or delete"
                " them",
                place=location,
            )
        padded = [*cells[: len(header)], *([""] * (len(header) - len(cells)))]
        yield from rows.expand_cells(location, header, _name_cells(header, padded, columns), columns)


def _read_parquet(path: Path, columns: Mapping[str, str], _: Warn | None) -> Iterator[InputRow]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise SetupError(
            "{file}: Parquet needs pyarrow: {command}", file=path, command=advise_install("parquet")
        ) from None
    snippet = columns.get("snippet", "snippet")
    try:
        with text_files.translate_read_errors(path), text_files.open_bytes(path) as file:
            packed = not file.seekable()  # gzip, whatever its name
            source = parquet.ParquetFile(io.BytesIO(file.read()) if packed else path)
            _check_header(str(path), source.schema_arrow.names, columns)
            number = 0
            for batch in source.iter_batches():
                for record in batch.to_pylist():
                    number += 1
                    values = rows.convert_values(record, columns).items()
                    cells = {name: value for name, value in values if value is not None or name == snippet}
                    yield from rows.expand_cells(f"{path}: row {number}", record.keys(), cells, columns)
    except pyarrow.ArrowException as error:
        raise InputError("{file}: is not Parquet: {error}", file=path, error=explain_error(error)) from error


#: What openpyxl, the XML parser and zipfile raise for a damaged or encrypted workbook.
_WORKBOOK_ERRORS = (
    *(zipfile.BadZipFile, LookupError, ValueError, ArithmeticError, SyntaxError, AttributeError, TypeError),
    RuntimeError,
)
#: How a file of Excel 97 begins, and one that Excel has encrypted.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The notation of Excel for characters that XML cannot contain, such as a carriage return.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def _read_sheet(path: Path, warn: Warn) -> Iterator[tuple[str, list[str]]]:
    """Yield the location `path: sheet 'NAME' row N` and the texts of each row of the first visible sheet.

    A formula is never evaluated: its cell has the value saved in the file. Raise InputError for a file that
    is not a workbook and for a formula without a saved value, SetupError without the extra.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise SetupError(
            "{file}: XLSX needs openpyxl: {command}", file=path, command=advise_install("xlsx")
        ) from None
    with text_files.translate_read_errors(path), text_files.open_bytes(path) as file:
        packed = not file.seekable()  # gzip, whatever its name
        content: IO[bytes] = io.BytesIO(file.read()) if packed else file
        try:
            _check_workbook(path, content)
            yield from _read_sheet_rows(path, content, warn)
        except _WORKBOOK_ERRORS as error:
            raise InputError(
                "{file}: is not an XLSX workbook: {error}", file=path, error=explain_error(error)
            ) from error


def _check_workbook(path: Path, content: IO[bytes]) -> None:
    if content.read(len(_OLE)) == _OLE:
        raise InputError(
            "{file}: is a workbook with a password, or one of the format XLS; save it as XLSX without a"
            " password",
            file=path,
        )
    size = content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > (most := max(text_files.MAX_UNPACKED, text_files.MAX_RATIO * size)):
        raise InputError(
            "{file}: unpacks to {unpacked:,} bytes, more than {most:,}; save it as CSV",
            file=path,
            unpacked=unpacked,
            most=most,
        )


def _read_sheet_rows(path: Path, content: IO[bytes], warn: Warn) -> Iterator[tuple[str, list[str]]]:
    from openpyxl import load_workbook

    with closing(load_workbook(content, read_only=True)) as book:
        visible = [each for each in book.worksheets if each.sheet_state == "visible"]
        if not visible:
            raise InputError(
                "{file}: the workbook has no sheet with cells; put the rows in its first sheet", file=path
            )
        sheet = visible[0]
        if visible[1:]:
            warn(
                Message(
                    "{file}: only its first visible sheet {name!r} is read, not {others}",
                    file=path,
                    name=sheet.title,
                    others=SeparatedNames(repr(each.title) for each in visible[1:]),
                )
            )
        sheet.reset_dimensions()  # the size in the file may be wrong
        is_empty = True
        with closing(load_workbook(content, read_only=True, data_only=True)) as saved_book:
            saved = saved_book[sheet.title]
            saved.reset_dimensions()
            saved_rows = saved.iter_rows() if _has_formulas(content) else repeat(())
            rows_with_values = zip(sheet.iter_rows(), saved_rows, strict=False)
            for number, (row, saved_row) in enumerate(rows_with_values, start=1):
                location = f"{path}: sheet {sheet.title!r} row {number}"
                cells = zip_longest(row, saved_row[: len(row)])
                texts = [_format_cell(_read_cell(location, cell, saved)) for cell, saved in cells]
                is_empty &= not any(texts)
                yield location, texts
            if is_empty and book.worksheets[1:]:
                raise InputError(
                    "{file}: sheet {name!r} is empty, and only the first visible sheet is read, not {others};"
                    " move the sheet with the rows to the front, and show it",
                    file=path,
                    name=sheet.title,
                    others=SeparatedNames(repr(each.title) for each in book.worksheets if each is not sheet),
                )


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


def _read_cell(location: str, cell: Any, saved_cell: Any) -> Any:  # noqa: ANN401  # a cell may hold any value
    """Return the value of a cell; for a formula the saved value, which may be an empty text."""
    if cell.data_type != "f":
        return cell.value
    if saved_cell is None or (saved_cell.value is None and saved_cell.data_type != "str"):
        raise InputError(
            "{place}: cell {cell} has a formula without a saved value; open the workbook in a spreadsheet"
            " program and save it, or replace the formula with its value",
            place=location,
            cell=cell.coordinate,
        )
    return saved_cell.value


def _format_cell(value: object) -> str:
    """Return the value of a cell as in CSV: midnight as a date, a whole number without a fraction."""
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
