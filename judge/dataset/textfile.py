"""Text files from other sources: encoding, unpacked size and length of lines, all limited."""

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

#: The maximum number of characters of a line: a line holds one record.
MAX_LINE_CHARS = 64 << 20
#: A gzip file may unpack to this many bytes, or this many times its own size if that is more.
_MAX_UNPACKED, _MAX_RATIO = 1 << 30, 100
_CHUNK = 1 << 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NOT_ASCII = re.compile("[^\x00-\x7f]+")


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
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("{file}: cannot be read: {error}", file=path, error=error) from error


def open_bytes(path: Path, most: int | None = None) -> IO[bytes]:
    """Return the bytes of a file; a `.gz` is unpacked to at most `most` bytes."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    most = max(_MAX_UNPACKED, _MAX_RATIO * path.stat().st_size) if most is None else most
    return io.BufferedReader(_BoundedReader(cast("IO[bytes]", gzip.open(path, "rb")), path, most), 1 << 16)


def open_text(path: Path) -> tuple[TextIO, list[str]]:
    """Return the text of a file, with lines that end at line feeds only, and warnings.

    The encoding is UTF-8, UTF-16 with a byte-order mark, or GB18030 where it cannot be UTF-8, which is a
    guess with a warning. Raise InputError for any other encoding; OSError, EOFError or zlib.error for a
    file that cannot be read.
    """
    encoding, warnings = _detect_encoding(path), []
    if encoding == "gb18030":
        warnings.append(f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong")
    return io.TextIOWrapper(open_bytes(path), encoding, newline="\n"), warnings


def number_lines(file: TextIO, path: Path, longest: int = MAX_LINE_CHARS) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, from 1; raise InputError for a line above `longest` characters."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise InputError(
                "{file}:{number}: the line has more than {most:,} characters; a line holds one record",
                file=path,
                number=number,
                most=longest,
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
        if _decodes(head, file, "utf-8"):
            return "utf-8"
    if _may_be_gb18030(path):
        return "gb18030"
    number, start = _find_first_error(path)
    raise InputError(
        "{file}:{number}: is not UTF-8 at byte {byte}; save the file as UTF-8",
        file=path,
        number=number,
        byte=start,
    )


def _decodes(head: bytes, file: IO[bytes], encoding: str) -> bool:
    """Return True when the file, or its part before a line that is too long, is valid in `encoding`."""
    decoder, length = codecs.getincrementaldecoder(encoding)(), 0
    try:
        decoder.decode(head)
        while chunk := file.read(_CHUNK):
            decoder.decode(chunk)
            line_end = chunk.rfind(b"\n")
            length = length + len(chunk) if line_end < 0 else len(chunk) - line_end
            if length > 4 * MAX_LINE_CHARS:
                return True  # `number_lines` refuses it
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _may_be_gb18030(path: Path) -> bool:
    """Return True when the file is valid GB18030, and probably neither damaged UTF-8 nor a Latin encoding.

    Damaged UTF-8 has more valid characters than invalid ones. In a Latin text a byte that is not ASCII is
    followed by an ASCII letter, which GB18030 reads as the second byte of a character; in Chinese at most a
    third of the second bytes are ASCII.
    """
    chinese = codecs.getincrementaldecoder("gb18030")()
    broken = codecs.getincrementaldecoder("utf-8")("replace")
    letters = ascii_letters = valid = invalid = 0
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
            invalid += utf8.count("\ufffd")
            valid += len(utf8) - utf8.count("\ufffd")
            if not chunk:
                return valid <= invalid and ascii_letters <= letters * 2 / 3


def _find_first_error(path: Path) -> tuple[int, int]:
    """Return the line and its byte, both from 1, of the first invalid UTF-8."""
    with open_bytes(path) as file:
        number = 0
        while line := file.readline(MAX_LINE_CHARS):
            number += 1
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, error.start + 1
    return number, 1
