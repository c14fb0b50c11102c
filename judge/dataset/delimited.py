"""Owns reading what a spreadsheet saved: the text, what separates its cells, and its records."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from judge.errors import InputError
from judge.filesystem import read_bytes

_SEPARATORS = ",;\t"


def read_csv_text(path: Path) -> str:
    """The text of a file in UTF-8, gzipped or not; raises InputError naming file and line."""
    try:
        content = read_bytes(path, follow=True)
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: is not UTF-8; of a spreadsheet, save 'CSV UTF-8', of other files, convert them"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def detect_separator(text: str) -> str | None:
    """What separates the cells of a first line that names `query_id`; None when there is no such line."""
    csv.field_size_limit(1 << 30)
    for separator in _SEPARATORS:
        records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = next((cells for cells in records if any(map(str.strip, cells))), [])
        if "query_id" in map(normalise_column_name, header):
            return separator
    return None


def normalise_column_name(cell: str) -> str:
    """What a header's cell calls its column, however a spreadsheet wrote it."""
    return cell.strip().casefold()


def read_records(path: Path, text: str, separator: str) -> Iterator[tuple[str, list[str]]]:
    """Every record that isn't blank, with the place it begins at, `file:line`, and its trimmed cells.

    Raises InputError where the text is no CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        place = f"{path}:{reader.line_num + 1}"
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{place}: is not CSV: {error}") from None
        if any(cells):
            yield place, cells
