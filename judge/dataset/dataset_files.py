"""Dataset files: JSON lines, JSON, CSV, XLSX and Parquet, each read into the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.dataset import text_files
from judge.dataset.csv_tables import check_column_names, make_header_error, read_table
from judge.dataset.rows import InputRow, RowFormat, convert_values
from judge.dataset.text_files import Warn
from judge.dataset.workbooks import read_sheet
from judge.errors import InputError, SetupError, advise_install, explain_error
from judge.messages import Message, NameList

if TYPE_CHECKING:
    import pyarrow

#: Rows of a Parquet file that are in memory at a time.
_BATCH_ROWS = 100
FILE_TYPES = Message(".jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz")


def read_rows(path: Path, row_format: RowFormat, warn: Warn) -> Iterator[InputRow]:
    """Return the rows of a dataset file; its suffix and its first record tell the format.

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
    for location, cells in read_sheet(path, warn):
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
