"""Dataset files: JSON lines, JSON, CSV, XLSX and Parquet, each read into the same rows."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import date, time
from itertools import repeat, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.dataset import text_files
from judge.dataset.csv_tables import check_column_names, make_header_error, read_table
from judge.dataset.field_values import format_time
from judge.dataset.rows import InputRow, RowFormat, convert_values
from judge.dataset.text_files import Warn
from judge.errors import InputError, SetupError, advise_install, explain_error
from judge.messages import Message, NameList, SeparatedNames

if TYPE_CHECKING:
    import pyarrow

#: Rows of a Parquet file that are in memory at a time.
_BATCH_ROWS = 100
#: What openpyxl, the XML parser and zipfile raise for a damaged or encrypted workbook.
_WORKBOOK_ERRORS = (
    *(zipfile.BadZipFile, LookupError, ValueError, ArithmeticError, SyntaxError, AttributeError, TypeError),
    RuntimeError,
)
#: The rows that a sheet can have. Without the limit, a row number in a small file can be any number.
_MAX_ROWS = 1_048_576
#: The notation of Excel for characters that XML cannot contain, such as a carriage return.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
FILE_TYPES = Message(".jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz")


def read_rows(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    """Return the rows of a dataset file; its suffix and its first record decide the format.

    `warn` receives warnings. Raise InputError, with the location, for a file that cannot be read.
    """
    readers: Mapping[str, Callable[[Path, RowFormat, Warn], Iterator[InputRow]]] = {
        **dict.fromkeys((".jsonl", ".ndjson"), _read_jsonl),
        **dict.fromkeys((".csv", ".tsv"), _read_csv),
        ".json": _read_json,
        ".xlsx": _read_xlsx,
        ".parquet": _read_parquet,
    }
    text_files.check_is_file(path)
    suffix = text_files.find_format(path)
    if suffix not in readers:
        raise InputError(
            "{file}: unknown file type {suffix!r}; a dataset is {types}, or TREC files (--topics, --docs,"
            " --run). If the file holds queries only, get their results first: {command}",
            file=path,
            suffix=suffix,
            types=FILE_TYPES,
            command="judge collect FILE --engine NAME",
        )
    return readers[suffix](path, row_format, warn)


def _read_jsonl(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    for location, text in text_files.read_nonblank_lines(path, warn):
        yield from row_format.expand_record(location, text_files.parse_object(location, text))


def _read_json(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    """Yield the rows of a JSON array of records, as test frameworks write it."""
    text = text_files.read_text_file(path, warn)
    records = text_files.parse_json(str(path), text, names_line=True) if text.strip() else []
    if isinstance(records, dict):
        records = records.get("test_cases", records.get("testCases", [records]))
    for number, record in enumerate(records if isinstance(records, list) else [records], start=1):
        if not isinstance(record, dict):
            raise InputError(
                "{file}: record {number} is {value!r:.80}, not an object",
                file=path,
                number=number,
                value=record,
            )
        yield from row_format.expand_record(f"{path}: record {number}", record)


def _read_csv(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    header: list[str] = []
    for location, cells in read_table(path, row_format.find_column("query"), warn):
        if not header:
            header = cells
            _check_header(location, header, row_format)
            continue
        yield from row_format.expand_cells(location, header, _name_cells(header, cells, row_format))


def _read_xlsx(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    """Yield the rows of the first visible sheet of a workbook, with all cells as text."""
    header: list[str] = []
    for location, cells in _read_sheet(path, warn):
        if not any(cells):
            continue
        if not header:
            header = cells
            while not header[-1]:
                header.pop()
            _check_header(location, header, row_format)
            continue
        if any(cells[len(header) :]):
            raise InputError(
                "{place}: has cells to the right of the last named column; name their columns, or delete"
                " them",
                place=location,
            )
        yield from row_format.expand_cells(location, header, _name_cells(header, cells, row_format))


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
    # They are about fonts, rules for input and dates out of range, and name a line of openpyxl.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"openpyxl\.")
    with text_files.open_archive(path) as content:
        try:
            with zipfile.ZipFile(content) as archive:
                text_files.check_unpacked_size(path, sum(member.file_size for member in archive.infolist()))
            yield from _read_sheet_rows(path, content, warn)
        except _WORKBOOK_ERRORS as error:
            raise InputError(
                "{file}: is not an XLSX workbook, has a password, or is damaged ({error}); save it as XLSX"
                " again, without a password",
                file=path,
                error=explain_error(error),
            ) from error


def _read_sheet_rows(path: Path, content: IO[bytes], warn: Warn) -> Iterator[tuple[str, list[str]]]:
    from openpyxl import load_workbook

    with closing(load_workbook(content, read_only=True)) as book:
        sheet, *others = [worksheet for worksheet in book.worksheets if worksheet.sheet_state == "visible"]
        if others:
            warn(
                Message(
                    "{file}: only its first visible sheet {name!r} is read, not {others}; to read another"
                    " one, move it to the front",
                    file=path,
                    name=sheet.title,
                    others=SeparatedNames(repr(worksheet.title) for worksheet in others),
                )
            )
        sheet.reset_dimensions()  # the size in the file may be wrong
        with closing(load_workbook(content, read_only=True, data_only=True)) as saved_book:
            saved = saved_book[sheet.title]
            saved.reset_dimensions()
            saved_rows = saved.iter_rows() if _has_formulas(content) else repeat(())
            rows_with_values = zip(sheet.iter_rows(), saved_rows, strict=False)
            for number, (row, saved_row) in enumerate(rows_with_values, start=1):
                if number > _MAX_ROWS:
                    raise InputError(
                        "{file}: sheet {name!r} has more than {most:,} rows; save it as CSV",
                        file=path,
                        name=sheet.title,
                        most=_MAX_ROWS,
                    )
                location = f"{path}: sheet {sheet.title!r} row {number}"
                cells = zip_longest(row, saved_row[: len(row)])
                yield location, [_format_cell(_read_cell(location, cell, saved)) for cell, saved in cells]


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
    if isinstance(value, date | time):
        return format_time(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), str(value))


def _read_parquet(path: Path, row_format: RowFormat, _: Warn) -> Iterator[InputRow]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise SetupError(
            "{file}: Parquet needs pyarrow: {command}", file=path, command=advise_install("parquet")
        ) from None
    rank, snippet = row_format.find_column("rank"), row_format.find_column("snippet")
    with text_files.open_archive(path) as content:
        try:
            source = parquet.ParquetFile(content)
            header = source.schema_arrow.names
            _check_header(str(path), header, row_format)
            number = unpacked = 0
            for batch in source.iter_batches(_BATCH_ROWS):
                unpacked += sum(map(_count_bytes, batch.columns))
                text_files.check_unpacked_size(path, unpacked)
                columns = [_list_values(path, *each) for each in zip(header, batch.columns, strict=True)]
                for record in zip(*columns, strict=True):
                    number += 1
                    values = convert_values(dict(zip(header, record, strict=True)), rank).items()
                    cells = {name: value for name, value in values if value is not None or name == snippet}
                    yield from row_format.expand_cells(f"{path}: row {number}", header, cells)
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # one of the system, not of pyarrow
                raise
            raise InputError(
                "{file}: is not a Parquet file, or is damaged ({error}); write it again",
                file=path,
                error=explain_error(error),
            ) from error


def _count_bytes(column: pyarrow.Array) -> int:
    """Return the size of the values of a column of Parquet, where a text that it repeats counts each time."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_map(kind):
        return _count_bytes(column.keys) + _count_bytes(column.items)
    if types.is_struct(kind):
        return sum(map(_count_bytes, column.flatten()))
    if types.is_nested(kind):
        return _count_bytes(column.flatten())
    if not types.is_dictionary(kind) or types.is_primitive(kind.value_type):
        return int(column.nbytes)
    sizes = compute.binary_length(column.dictionary.cast("large_binary"))
    return compute.sum(sizes.take(column.indices)).as_py() or 0


def _list_values(path: Path, name: str, column: pyarrow.Array) -> list[Any]:
    """Return the values of a column of Parquet; raise InputError for one that Python cannot have."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise InputError(
            "{file}: field {field!r} has an unreadable value: {error}; correct it, or remove the field",
            file=path,
            field=name,
            error=explain_error(error),
        ) from error
    return values


def _check_header(location: str, header: list[str], row_format: RowFormat) -> None:
    """Raise InputError where a column of the header is missing or given twice."""
    check_column_names(location, header)
    if row_format.is_test_case(header):
        return
    required = {name: name for name in ("query", "snippet") if name not in row_format.columns}
    if "error" in header:
        required.pop("snippet", None)
    columns = {**row_format.columns, **required}
    missing = {field: name for field, name in columns.items() if name not in header}
    if missing:
        advice = row_format.advise_rename(missing, list(filter(None, header)))
        listed = NameList(map(repr, missing.values()))
        raise make_header_error(location, listed, header, advice, wanted=row_format.fields)


def _name_cells(header: list[str], cells: list[str], row_format: RowFormat) -> dict[str, str]:
    """Return the cells by column without empty ones; a snippet may be empty, or missing at the end."""
    snippet = row_format.find_column("snippet")
    named = zip_longest(header, cells, fillvalue="")
    return {name: cell for name, cell in named if name and (cell or name == snippet)}
