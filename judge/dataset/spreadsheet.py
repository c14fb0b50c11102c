"""Spreadsheets: cells that they keep as text, and CSV files that they saved."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from judge.errors import InputError, explain_os_error
from judge.filesystem import read_bytes

# A text may begin with an apostrophe already; another one keeps two texts from becoming the same cell.
# Some spreadsheets ignore a tab or a line break at the beginning.
_FORMULA = re.compile(r"['\s\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n]")
# Digits that are not a plain whole number, or are too long: 007, 1.10, 3-2, 12:30, 6e12, 1234567890123456.
_NUMBER = re.compile(
    r"'*(?!(?:0|[1-9][0-9]{0,10})\Z)[(.]?[0-9][0-9 .,:/%()+-]*(?:[eE][0-9+-][0-9 .,:/%()+-]*)?\Z"
)
_RARE_IN_COLUMN = re.compile(r"[^\w.#:~=+@,;-]")


def escape_column(text: str) -> str:
    """Return `text` for a column of a TREC file: blanks and rare characters percent-encoded."""
    return _RARE_IN_COLUMN.sub(lambda match: quote(match[0], safe="", errors="surrogatepass"), text)


def escape_cell(text: str) -> str:
    """Return `text` so that spreadsheets do not read it as a formula."""
    return "'" + text if _FORMULA.match(text) else text


def protect_cell(text: str) -> str:
    """Return `text` so that a spreadsheet saves it unchanged: no formula, no number, no date.

    Different texts give different cells. Words that spreadsheets read as a date in some languages
    (`Mar-1`) stay as they are.
    """
    return "'" + text if _FORMULA.match(text) or _NUMBER.match(text) else text


def unescape_candidates(cell: str) -> tuple[str, ...]:
    """Return the texts that `protect_cell` may have turned into `cell`, the most likely one first.

    Some spreadsheets drop the apostrophe at the beginning of a cell, some keep it.
    """
    if not cell.startswith("'"):
        return (cell,)
    text = cell[1:]
    return (text, cell) if protect_cell(text) == cell else (cell, text)


_SEPARATORS = ",;\t"


def read_csv_text(path: Path) -> str:
    """Return the text of a UTF-8 file, gzipped or not; raise InputError with file and line."""
    try:
        content = read_bytes(path, follow=True)
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            "{file}:{line}: is not UTF-8; of a spreadsheet, save 'CSV UTF-8', of other files, convert them",
            file=path,
            line=line,
        ) from None
    except FileNotFoundError:
        raise InputError("{file}: no such file", file=path) from None
    except (OSError, EOFError, zlib.error) as error:
        why = explain_os_error(error) if isinstance(error, OSError) else error
        raise InputError("{file}: cannot be read: {error}", file=path, error=why) from error


def detect_separator(text: str) -> str | None:
    """Return the separator of a first line with the column `query_id`, None when there is no such line."""
    csv.field_size_limit(1 << 30)
    for separator in _SEPARATORS:
        records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = next((cells for cells in records if any(map(str.strip, cells))), [])
        if "query_id" in map(normalise_column_name, header):
            return separator
    return None


def normalise_column_name(cell: str) -> str:
    """Return the name of a column from its header cell, without blanks and case."""
    return cell.strip().casefold()


def read_records(path: Path, text: str, separator: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every record that is not blank: its location `file:line`, and its cells without blanks.

    Raise InputError where the text is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        location = f"{path}:{reader.line_num + 1}"
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError("{place}: is not CSV: {error}", place=location, error=error) from None
        if any(cells):
            yield location, cells
