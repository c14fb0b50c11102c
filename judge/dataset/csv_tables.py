"""Tables as CSV with any separator: their header, their records, and the names of their columns."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from judge.dataset.text_files import Warn, read_lines
from judge.errors import InputError
from judge.messages import Message, SeparatedNames, cut_value

_SEPARATORS = ",;\t|"
_BEIR_COLUMNS = {"query-id": "query_id", "corpus-id": "docno"}
#: A header with line breaks inside quotes has at most this many lines.
_HEADER_LINES = 100


def read_table(path: Path, column: str, warn: Warn) -> Iterator[tuple[str, list[str]]]:
    """Yield the location and the cells of each record that is not blank; the first one is the header.

    The separator is the one with which the header has `column`, else the most frequent one. `warn` and the
    errors are those of `read_lines`. Raise InputError, too, where a record has not as many cells as the
    header.
    """
    texts: Iterator[str] = (text for _, text in read_lines(path, warn))
    start = next(texts, "")
    if "\r" in start.rstrip("\r\n"):  # lines that end with carriage returns alone
        start = start.replace("\r\n", "\n").replace("\r", "\n")
    texts = chain(io.StringIO(start, newline="\n"), texts)
    first, skipped = _find_header(texts)
    header = "".join(first)
    separator = detect_separator(header, column) or max(_SEPARATORS, key=header.count)
    quoted = separator in ",;" or _is_quoted(path, separator)
    columns = 0
    for location, cells in _split_records(path, chain(first, texts), separator, skipped, quoted=quoted):
        if columns and any(cell.strip() for cell in cells):
            check_cell_count(location, cells, columns, separator)
            yield location, cells
        elif not columns:
            columns = len(cells)
            yield location, cells


def _is_quoted(path: Path, separator: str) -> bool:
    """Return whether quotation marks enclose cells in a file with tabs or bars.

    Many tools write texts between these as they are. Then the marks are part of the texts, and the rows have
    the same number of cells only without regard to them.
    """

    def has_equal_rows(*, quoted: bool) -> bool:
        texts = (text for _, text in read_lines(path, lambda _: None))
        first, skipped = _find_header(texts)
        records = _split_records(path, chain(first, texts), separator, skipped, quoted=quoted)
        with suppress(InputError):
            return len({len(cells) for _, cells in records}) == 1
        return False

    return has_equal_rows(quoted=True) or not has_equal_rows(quoted=False)


def _find_header(texts: Iterator[str]) -> tuple[list[str], int]:
    """Return the lines of the header, and the number of lines before it.

    Blank lines and `sep=;` of Excel are skipped. A line break inside quotes does not end the header.
    """
    skipped = 0
    for text in texts:
        if not text.strip() or re.fullmatch(r"sep=[^\w\s]|sep=\t", text.rstrip("\r\n")):
            skipped += 1
            continue
        lines = [text]
        for more in islice(texts, _HEADER_LINES if text.count('"') % 2 else 0):
            lines.append(more)
            if more.count('"') % 2:
                break
        return lines, skipped
    return [], skipped


def detect_separator(text: str, column: str, read_name: Callable[[str], str] = str) -> str | None:
    """Return the separator with which the first record that is not blank has `column`, None without one.

    `sep=;` is no record. `read_name` returns the name of a column from its cell.
    """
    csv.field_size_limit(1 << 30)
    for separator in _SEPARATORS:
        texts = io.StringIO(text, newline="")
        first, _ = _find_header(texts)
        records = csv.reader(chain(first, texts), delimiter=separator)
        header = next((cells for cells in records if any(map(str.strip, cells))), [])
        if column in map(read_name, header):
            return separator
    return None


def normalise_column_name(cell: str) -> str:
    """Return the name of a column from its header cell, without blanks and case; BEIR's as those of judge."""
    name = cell.strip().casefold()
    return _BEIR_COLUMNS.get(name, name)


def read_records(path: Path, text: str, separator: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every record that is not blank, as `_split_records` does, its cells without blanks."""
    texts = io.StringIO(text, newline="")
    first, skipped = _find_header(texts)
    for location, cells in _split_records(path, chain(first, texts), separator, skipped):
        stripped = [cell.strip() for cell in cells]
        if any(stripped):
            yield location, stripped


def check_column_names(location: str, names: Iterable[str]) -> None:
    """Raise InputError where two columns have the same name; a column may have none."""
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            raise InputError(
                "{place}: column {name!r:.80} is given twice; rename one", place=location, name=name
            )
        seen.add(name)


def make_header_error(
    location: str, missing: str, cells: Sequence[str], advice: str = "", *, wanted: Collection[str] = ()
) -> InputError:
    """Return the error of a header without a column, with `advice` unless another cause is likely.

    A single cell that is none of the names `wanted` is no header, or one with another separator.
    """
    if any(re.search("[，；]", cell) for cell in cells):
        advice = Message("Separate the columns with half-width commas")
    elif len(names := list(filter(None, cells))) == 1 and normalise_column_name(names[0]) not in wanted:
        advice = Message(
            "The first row must be the header, and commas, semicolons, tabs or bars separate its columns"
        )
    return InputError(
        "{place}: the header lacks {missing}; its columns are {columns}. {advice}",
        place=location,
        missing=missing,
        columns=SeparatedNames(cut_value(repr(cell), 60) for cell in cells[:20]),
        advice=advice or Message("Rename the columns that hold these"),
    )


def check_cell_count(location: str, cells: Sequence[str], columns: int, separator: str) -> None:
    """Raise InputError where a row does not have one cell for each of the `columns` of the header."""
    if len(cells) != columns:
        raise InputError(
            "{place}: the number of cells is {cells}, and that of the header {columns}; quote cells that hold"
            " {separator!r} or line breaks",
            place=location,
            cells=len(cells),
            columns=columns,
            separator=separator,
        )


def _split_records(
    path: Path, lines: Iterable[str], separator: str, skipped: int = 0, *, quoted: bool = True
) -> Iterator[tuple[str, list[str]]]:
    """Yield every record that has a cell: the location `file:line` of its first line, and its cells.

    `skipped` lines of the file came before. If it is not `quoted`, quotation marks are part of the cells.
    Raise InputError where the lines are not CSV.
    """
    reader = csv.reader(
        lines, delimiter=separator, strict=True, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    )
    while True:
        location = f"{path}:{skipped + reader.line_num + 1}"
        try:
            cells = next(reader, None)
        except csv.Error:  # whose words are for programmers
            raise InputError(
                "{place}: is not CSV; put cells with quotes or line breaks in quotes, double the quotes"
                " inside them, and end lines with LF or CRLF",
                place=location,
            ) from None
        if cells is None:
            return
        if cells:
            yield location, cells
