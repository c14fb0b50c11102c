"""Text files from other sources: their encodings, limits on unpacked size and lines, and tables as CSV."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

from judge.errors import InputError, explain_error
from judge.filesystem import open_for_read
from judge.messages import Message, SeparatedNames

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What receives a warning.
Warn = Callable[[str], object]
#: The maximum number of characters of a line: a line holds one record.
_MAX_LINE_CHARS = 64 << 20
#: A gzip file, or a workbook, may unpack to this many bytes, or this many times its own size if that is more.
MAX_UNPACKED, MAX_RATIO = 1 << 30, 100
_CHUNK = 1 << 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_GZIP = b"\x1f\x8b"
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]+")


class _BoundedReader(io.RawIOBase):
    """The content of a gzip file; raises InputError after `most` bytes."""

    def __init__(self, unpacked: IO[bytes], path: Path, most: int) -> None:
        self._unpacked, self._path, self._most = unpacked, path, most
        self._left = most

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into `buffer` and return the number of bytes."""
        content = self._unpacked.read(len(memoryview(buffer)))
        memoryview(buffer)[: len(content)] = content
        self._left -= len(content)
        if self._left < 0:
            raise InputError(
                "{file}: unpacks to more than {most:,} bytes; if it is meant to, unpack it first",
                file=self._path,
                most=self._most,
            )
        return len(content)

    def close(self) -> None:
        """Close the gzip file, too."""
        self._unpacked.close()
        super().close()


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Raise InputError for errors of the system or a damaged archive while `path` is read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("{file}: no such file", file=path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("{file}: cannot be read: {error}", file=path, error=explain_error(error)) from error


def check_is_file(path: Path) -> None:
    """Raise InputError where `path` is not a regular file."""
    with translate_read_errors(path):
        if not path.is_file():
            problem = Message("is not a file") if path.exists() else Message("no such file")
            raise InputError("{file}: {problem}", file=path, problem=problem)


def find_format(path: Path) -> str:
    """Return the suffix of a file in lower case, such as `.csv`; of a gzip file the suffix before `.gz`."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix == ".gz" else suffix


def open_bytes(path: Path, most: int | None = None) -> IO[bytes]:
    """Return the bytes of a regular file; a gzip file is unpacked to at most `most` bytes."""
    file = open_for_read(path, follow=True)
    if path.suffix.lower() != ".gz" and file.read(len(_GZIP)) != _GZIP:
        file.seek(0)
        return file
    file.close()
    most = max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size) if most is None else most
    return io.BufferedReader(_BoundedReader(cast("IO[bytes]", gzip.open(path, "rb")), path, most), 1 << 16)


#: The first bytes of a ZIP file, such as an XLSX workbook.
_ZIP = b"PK\x03\x04"


def read_lines(path: Path, warn: Warn | None = None) -> Iterator[tuple[int, str]]:
    """Yield every line of the file with its number, from 1; lines end at line feeds only.

    The encoding is UTF-8, UTF-16 with a byte-order mark, or GB18030 where it cannot be UTF-8. The last is a
    guess, and `warn` receives a warning; without `warn` a guess raises InputError. Raise InputError for any
    other encoding, and for a file that cannot be read.
    """
    with translate_read_errors(path):
        with open_bytes(path) as start:
            if start.read(len(_ZIP)) == _ZIP:
                raise InputError(
                    "{file}: is an XLSX workbook or another ZIP file, not text; save it as CSV", file=path
                )
        encoding = _detect_encoding(path)
        if encoding == "gb18030":
            if warn is None:
                raise InputError("{file}: is not UTF-8; save the file as UTF-8", file=path)
            warn(
                Message(
                    "{file}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong",
                    file=path,
                )
            )
        try:
            with io.TextIOWrapper(open_bytes(path), encoding, newline="\n") as file:
                for number, line in number_lines(file, path):
                    # The decoder of GB18030 keeps the byte-order mark.
                    yield number, line.removeprefix("\ufeff") if number == 1 else line
        except UnicodeDecodeError:
            raise _make_decode_error(path, encoding) from None


def read_text_file(path: Path, warn: Warn | None = None) -> str:
    """Return the text of a file; `warn` and the errors are those of `read_lines`."""
    return "".join(text for _, text in read_lines(path, warn))


def number_lines(file: TextIO, path: Path) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1; raise InputError for one above `_MAX_LINE_CHARS`."""
    for number, line in enumerate(iter(partial(file.readline, _MAX_LINE_CHARS + 1), ""), start=1):
        if len(line) > _MAX_LINE_CHARS:
            raise InputError(
                "{file}:{number}: the line has more than {most:,} characters; a line holds one record",
                file=path,
                number=number,
                most=_MAX_LINE_CHARS,
            )
        yield number, line


def _detect_encoding(path: Path) -> str:
    """Return the name of the encoding of the file; raise InputError for an unknown one."""
    with open_bytes(path) as file:
        head = file.read(4)
        if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
            raise InputError("{file}: is UTF-32; save it as UTF-8", file=path)
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if head.startswith(mark):
                return encoding
        if _is_utf8(head, file):
            return "utf-8"
    if _may_be_gb18030(path):
        return "gb18030"
    raise _make_decode_error(path, "utf-8")


def _is_utf8(head: bytes, file: IO[bytes]) -> bool:
    """Return True when the file, or its part before a line that is too long, is valid UTF-8."""
    decoder, length = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        decoder.decode(head)
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
            line_end = chunk.rfind(b"\n")
            length = length + len(chunk) if line_end < 0 else len(chunk) - line_end
            if length > 4 * _MAX_LINE_CHARS:
                return True  # `number_lines` refuses it
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _may_be_gb18030(path: Path) -> bool:
    """Return True when the file is valid GB18030, and probably not damaged UTF-8, a Latin encoding or Big5.

    Damaged UTF-8 has more valid characters than invalid ones. In a Latin text a byte that is not ASCII is
    followed by an ASCII letter, which GB18030 reads as the second byte of a character; in Chinese at most a
    third of the second bytes are ASCII. Of the characters in Big5, GB18030 reads half as private-use ones.
    """
    chinese = codecs.getincrementaldecoder("gb18030")()
    broken = codecs.getincrementaldecoder("utf-8")("replace")
    letters = ascii_letters = private = valid = invalid = 0
    with open_bytes(path) as file:
        while True:
            chunk = file.read(_CHUNK)
            try:
                other = "".join(_NOT_ASCII.findall(chinese.decode(chunk, final=not chunk)))
            except UnicodeDecodeError:
                return False
            letters += len(other)
            private += len(other) - len(_PRIVATE_USE.sub("", other))
            ascii_letters += sum(0x40 <= byte < 0x80 for byte in other.encode("gb18030"))
            utf8 = "".join(_NOT_ASCII.findall(broken.decode(chunk, final=not chunk)))
            invalid += utf8.count("\ufffd")
            valid += len(utf8) - utf8.count("\ufffd")
            if not chunk:
                is_chinese = ascii_letters <= letters * 2 / 3 and private <= letters / 10
                return valid <= invalid and is_chinese


def _make_decode_error(path: Path, encoding: str) -> InputError:
    """Return the error that names the line and its byte, both from 1, of the first invalid character."""
    # The byte in the line is counted without the mark that "utf-16" writes first.
    name, without_mark = ("utf-16", "utf-16-le") if encoding == "utf-16" else ("utf-8", "utf-8")
    decoder = codecs.getincrementaldecoder(name)()
    number, size, is_valid = 1, 0, True
    with open_bytes(path) as file:
        while is_valid and (chunk := file.read(_CHUNK)):
            text, is_valid = _decode_valid_part(decoder, chunk)
            _, line_end, line = text.rpartition("\n")
            number += text.count("\n")
            size = len(line.encode(without_mark)) + (0 if line_end else size)
    return InputError(
        "{file}:{number}: is not {encoding} at byte {byte}; save the file as UTF-8",
        file=path,
        number=number,
        encoding=name.upper(),
        byte=size + 1,
    )


def _decode_valid_part(decoder: codecs.IncrementalDecoder, chunk: bytes) -> tuple[str, bool]:
    """Return the text of a chunk up to the first invalid character, and whether there is none."""
    state = decoder.getstate()
    try:
        return decoder.decode(chunk), True
    except UnicodeDecodeError as error:
        valid = error.start - len(state[0])  # the error counts from the bytes that the decoder still had
        decoder.setstate(state)
        return decoder.decode(chunk[: max(valid, 0)]), False


_SEPARATORS = ",;\t|"
_BEIR_COLUMNS = {"query-id": "query_id", "corpus-id": "docno"}
_SEPARATOR_NAMES = {",": Message("commas"), "\t": Message("tabs")}
#: A header with line breaks inside quotes has at most this many lines.
_HEADER_LINES = 100


def read_table(path: Path, column: str, warn: Warn | None) -> Iterator[tuple[str, list[str]]]:
    """Yield the location and the cells of each record that is not blank; the first one is the header.

    The separator is the one with which the header has `column`, else the most frequent one. `warn` and the
    errors are those of `read_lines`. Raise InputError, too, where a record has not as many cells as the
    header.
    """
    texts: Iterator[str] = (text for _, text in read_lines(path, warn))
    start = next(texts, "")
    if "\r" in start.rstrip("\r\n"):  # lines that end with carriage returns alone
        texts = chain(io.StringIO(start.replace("\r\n", "\n").replace("\r", "\n"), newline="\n"), texts)
    else:
        texts = chain([start], texts)
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


def make_header_error(location: str, missing: str, cells: Sequence[str], advice: str = "") -> InputError:
    """Return the error of a header without a column, with `advice` unless another cause is likely."""
    if any(re.search("[，；]", cell) for cell in cells):
        advice = Message("Separate the columns with half-width commas")
    elif len(list(filter(None, cells))) == 1:
        advice = Message("The first row must be the header, with a column for each field")
    return InputError(
        "{place}: the header lacks {missing}; its columns are {columns}. {advice}",
        place=location,
        missing=missing,
        columns=SeparatedNames(f"{cell!r:.60}" for cell in cells[:20]),
        advice=advice or Message("Rename the right one"),
    )


def check_cell_count(location: str, cells: Sequence[str], columns: int, separator: str) -> None:
    """Raise InputError where a row does not have one cell for each of the `columns` of the header."""
    if len(cells) != columns:
        raise InputError(
            "{place}: has {cells} cells for {columns} columns of the header; quote cells that hold"
            " {separator} or line breaks",
            place=location,
            cells=len(cells),
            columns=columns,
            separator=_SEPARATOR_NAMES.get(separator, repr(separator)),
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
        except csv.Error as error:
            problem = explain_error(error)
            if problem.startswith("new-line character seen"):  # Python's words are for its own users
                problem = Message("a carriage return stands outside of quotes")
            raise InputError(
                "{place}: is not CSV: {error}; put cells with quotes or line breaks in quotes, double the"
                " quotes inside them, and end lines with LF or CRLF",
                place=location,
                error=problem,
            ) from None
        if cells is None:
            return
        if cells:
            yield location, cells
