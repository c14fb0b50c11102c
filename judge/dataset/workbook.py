"""Workbooks (XLSX): the rows of the first sheet as texts."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time
from itertools import repeat
from pathlib import Path
from typing import IO, Any

from judge.dataset import textfile
from judge.errors import InputError, SetupError

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
