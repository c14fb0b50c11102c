"""Workbooks (XLSX): the texts of the cells of the first visible sheet."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, time
from itertools import repeat, zip_longest
from pathlib import Path
from typing import IO, Any

from judge.dataset import text_files
from judge.dataset.field_values import format_time
from judge.dataset.text_files import Warn
from judge.errors import InputError, SetupError, advise_install, explain_error
from judge.messages import Message, SeparatedNames

#: What openpyxl, the XML parser and zipfile raise for a damaged or encrypted workbook.
_WORKBOOK_ERRORS = (
    *(zipfile.BadZipFile, LookupError, ValueError, ArithmeticError, SyntaxError, AttributeError, TypeError),
    RuntimeError,
)
#: The rows that a sheet can have. Without the limit, a row number in a small file can stand for any number.
_MAX_ROWS = 1_048_576
#: The notation of Excel for characters that XML cannot contain, such as a carriage return.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def read_sheet(path: Path, warn: Warn) -> Iterator[tuple[str, list[str]]]:
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
