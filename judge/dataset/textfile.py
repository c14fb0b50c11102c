"""Files of text or bytes from other people: their encoding, unpacked size and lines, all bounded."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

from judge.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: So many characters of a line are read: a line holds one record.
MAX_LINE_CHARS = 64 << 20
#: A packed file may become so many bytes, or so many times its own size if that is more.
_MAX_UNPACKED, _MAX_RATIO = 1 << 30, 100
_CHUNK = 1 << 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NOT_ASCII = re.compile("[^\x00-\x7f]+")


class _BoundedReader(io.RawIOBase):
    """A packed file's content, which raises InputError behind the byte number `most`."""

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
                f"{self._path}: unpacks to more than {self._most:,} bytes; if it is meant to, unpack it first"
            )
        return len(content)

    def close(self) -> None:
        """Close the packed file, too."""
        self._unpacked.close()
        super().close()


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Raise InputError for what the system or a damaged archive raises while `path` is read."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def open_bytes(path: Path, most: int | None = None) -> IO[bytes]:
    """Return the file's bytes, unpacked where it is a `.gz`, of which at most `most` come out."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    most = max(_MAX_UNPACKED, _MAX_RATIO * path.stat().st_size) if most is None else most
    return io.BufferedReader(_BoundedReader(cast("IO[bytes]", gzip.open(path, "rb")), path, most), 1 << 16)


def open_text(path: Path) -> tuple[TextIO, list[str]]:
    """Return the file's text, lines ending at line feeds alone, and a warning where the encoding is a guess.

    It is UTF-8, UTF-16 behind a byte-order mark, or GB18030 where it can't be UTF-8. Raises InputError
    for any other encoding, and OSError, EOFError and zlib.error for what can't be read.
    """
    encoding, warnings = _detect_encoding(path), []
    if encoding == "gb18030":
        warnings.append(f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong")
    return io.TextIOWrapper(open_bytes(path), encoding, newline="\n"), warnings


def number_lines(file: TextIO, path: Path, longest: int = MAX_LINE_CHARS) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1; raise InputError for one above `longest` characters."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise InputError(
                f"{path}:{number}: the line has more than {longest:,} characters; a line holds one record"
            )
        yield number, line


def _detect_encoding(path: Path) -> str:
    """Return the name of the file's encoding."""
    with open_bytes(path) as file:
        head = file.read(4)
        if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
            raise InputError(f"{path}: is UTF-32; save it as UTF-8")
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if head.startswith(mark):
                return encoding
        if _decodes(head, file, "utf-8"):
            return "utf-8"
    if _may_be_gb18030(path):
        return "gb18030"
    number, start = _find_first_error(path)
    raise InputError(f"{path}:{number}: is not UTF-8 at byte {start}; save the file as UTF-8")


def _decodes(head: bytes, file: IO[bytes], encoding: str) -> bool:
    """Whether all of the file, or all up to a line that is too long, is text in `encoding`."""
    decoder, length = codecs.getincrementaldecoder(encoding)(), 0
    try:
        decoder.decode(head)
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
            line_end = chunk.rfind(b"\n")
            length = length + len(chunk) if line_end < 0 else len(chunk) - line_end
            if length > 4 * MAX_LINE_CHARS:
                return True  # whoever reads the lines refuses it
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _may_be_gb18030(path: Path) -> bool:
    """Whether the file is valid GB18030, and looks neither like damaged UTF-8 nor like a Latin alphabet.

    Damaged UTF-8 has more characters in whole than in halves. In a Latin text a byte that is not ASCII
    stands before an ASCII letter, which GB18030 takes as the second byte of two; in Chinese a third of
    the second bytes are ASCII at most.
    """
    chinese = codecs.getincrementaldecoder("gb18030")()
    broken = codecs.getincrementaldecoder("utf-8")("replace")
    letters = ascii_letters = whole = halves = 0
    with open_bytes(path) as file:
        while True:
            chunk = file.read(_CHUNK)
            try:
                other = "".join(_NOT_ASCII.findall(chinese.decode(chunk, final=not chunk)))
            except UnicodeDecodeError:
                return False
            letters += len(other)
            ascii_letters += sum(0x40 <= byte < 0x80 for byte in other.encode("gb18030"))
            utf8 = "".join(_NOT_ASCII.findall(broken.decode(chunk, final=not chunk)))
            halves += utf8.count("\ufffd")
            whole += len(utf8) - utf8.count("\ufffd")
            if not chunk:
                return whole <= halves and ascii_letters <= letters * 2 / 3


def _find_first_error(path: Path) -> tuple[int, int]:
    """Return the line and the byte in it, both from 1, at which the file stops being UTF-8."""
    with open_bytes(path) as file:
        number = 0
        while line := file.readline(MAX_LINE_CHARS):
            number += 1
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, error.start + 1
    return number, 1
