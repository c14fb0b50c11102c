"""CSV."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from judge.errors import InputError
from judge.filesystem import read_bytes

# An apostrophe may stand before all of these already; one more keeps two texts from becoming one cell.
# Some spreadsheets drop a tab or a line break in front and look at what follows it.
_FORMULA = re.compile(r"['\s\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n]")
# Digits that aren't a plain whole number, or too long a one: 007, 1.10, 3-2, 12:30, 6e12, 1234567890123456.
_NUMBER = re.compile(
    r"'*(?!(?:0|[1-9][0-9]{0,10})\Z)[(.]?[0-9][0-9 .,:/%()+-]*(?:[eE][0-9+-][0-9 .,:/%()+-]*)?\Z"
)


def escape_column(text: str) -> str:
    """`text` without the blanks that would split a column of a TREC file, other letters kept."""
    return "".join(
        char if char.isalnum() or char in "-_.#:~=+@,;" else quote(char, safe="", errors="surrogatepass")
        for char in text
    )


def escape_cell(text: str) -> str:
    """`text` so that no spreadsheet takes it for a formula."""
    return "'" + text if _FORMULA.match(text) else text


def protect_cell(text: str) -> str:
    """`text` so that a spreadsheet saves what it opened: no formula, no number or date to write anew.

    Different texts give different cells. Words that some country's spreadsheet takes for a date
    (`Mar-1`) are left alone.
    """
    return "'" + text if _FORMULA.match(text) or _NUMBER.match(text) else text


def unescape_candidates(found: str) -> tuple[str, ...]:
    """The texts that a cell may have been made from, likeliest first.

    Some spreadsheets drop the apostrophe that `cell` put before a text, some keep it.
    """
    if not found.startswith("'"):
        return (found,)
    bare = found[1:]
    return (bare, found) if protect_cell(bare) == found else (found, bare)


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
