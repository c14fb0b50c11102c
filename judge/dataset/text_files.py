"""Text files from other sources: their encodings, limits on unpacked size and lines, and JSON in them."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from judge.errors import InputError, explain_error
from judge.files.filesystem import open_for_read
from judge.files.json_text import RepeatedKey, make_object
from judge.messages import Message
from judge.records import JsonDict

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What receives a warning.
Warn = Callable[[str], object]
#: The maximum number of characters of a line: a line holds one record.
_MAX_LINE_CHARS = 64 << 20
#: A gzip, XLSX or Parquet file may unpack to so many bytes, or so many times its own size if that is more.
_MAX_UNPACKED, _MAX_RATIO = 1 << 30, 100
_CHUNK = 1 << 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_GZIP = b"\x1f\x8b"
#: How files begin that are no text: gzipped twice, XLSX, XLS; and text in UTF-32.
_NOT_READ = (_GZIP, b"PK\x03\x04", b"\xd0\xcf\x11\xe0", codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]+")
#: `json.loads` would make one for each line.
_JSON_DECODER = json.JSONDecoder(object_pairs_hook=make_object)


def check_unpacked_size(path: Path, unpacked: int, max_bytes: int | None = None) -> None:
    """Raise InputError where a packed file unpacks to more than `max_bytes`, so that it fills no memory."""
    if max_bytes is None:
        max_bytes = max(_MAX_UNPACKED, _MAX_RATIO * path.stat().st_size)
    if unpacked > max_bytes:
        raise InputError(
            "{file}: unpacks to more than {max_bytes:,} bytes; if that is intended, save it unpacked, or as"
            " CSV",
            file=path,
            max_bytes=max_bytes,
        )


class _BoundedReader(io.RawIOBase):
    """The content of a gzip file; raises InputError after `max_bytes` bytes."""

    def __init__(self, unpacked: IO[bytes], path: Path, max_bytes: int | None) -> None:
        self._unpacked, self._path, self._max_bytes = unpacked, path, max_bytes
        self._size = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into `buffer` and return the number of bytes."""
        content = self._unpacked.read(len(memoryview(buffer)))
        memoryview(buffer)[: len(content)] = content
        self._size += len(content)
        check_unpacked_size(self._path, self._size, self._max_bytes)
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
    return find_format(path.with_suffix("")) if suffix == ".gz" else suffix


def open_bytes(path: Path, max_bytes: int | None = None) -> IO[bytes]:
    """Return the bytes of a regular file; a gzip file is unpacked to at most `max_bytes` bytes."""
    file = open_for_read(path, follow=True)
    if path.suffix.lower() != ".gz" and file.read(len(_GZIP)) != _GZIP:
        file.seek(0)
        return file
    file.close()
    return io.BufferedReader(
        _BoundedReader(cast("IO[bytes]", gzip.open(path, "rb")), path, max_bytes), 1 << 16
    )


@contextmanager
def open_archive(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for a library that reads it in any order; translate errors, as `translate_read_errors`."""
    with translate_read_errors(path), open_bytes(path) as file:
        # One that is gzipped, whatever its name, is read at once.
        yield file if file.seekable() else io.BytesIO(file.read())


def read_lines(path: Path, warn: Warn) -> Iterator[tuple[int, str]]:
    """Yield every line of the file with its number, from 1; lines end at line feeds only.

    The encoding is UTF-8, UTF-16 with a byte-order mark, or GB18030 where it cannot be UTF-8. GB18030 is not
    certain, so `warn` receives a warning. Raise InputError for any other encoding, and for a file that cannot
    be read.
    """
    with translate_read_errors(path):
        encoding = _detect_encoding(path)
        if encoding == "gb18030":
            warn(
                Message(
                    "{file}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong",
                    file=path,
                )
            )
        try:
            with io.TextIOWrapper(open_bytes(path), encoding, newline="\n") as text:
                for number, line in number_lines(text, path):
                    # The decoder of GB18030 keeps the byte-order mark.
                    yield number, line.removeprefix("\ufeff") if number == 1 else line
        except UnicodeDecodeError:
            raise _make_decode_error(path, encoding) from None


def read_nonblank_lines(path: Path, warn: Warn) -> Iterator[tuple[str, str]]:
    """Yield `path:line` and the text of every line that is not blank; `.gz` files are unpacked.

    Lines end at line feeds only: other separators can be inside a JSON string. `warn` and the errors are
    those of `read_lines`.
    """
    for number, text in read_lines(path, warn):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def read_text_file(path: Path, warn: Warn) -> str:
    """Return the text of a file; `warn` and the errors are those of `read_lines`."""
    return "".join(text for _, text in read_lines(path, warn))


def parse_object(location: str, text: str) -> JsonDict:
    """Return the JSON object in a line, `text`; raise InputError for other JSON, or a duplicate key."""
    is_cut = text.strip() in ("{", "[")  # the first line of JSON that has several
    value = None if is_cut else parse_json(location, text)
    if not isinstance(value, dict):
        raise InputError(
            "{place}: is {text!r}, not an object {{…}}; write one whole object in each line; the name of a"
            " dataset that is one list of objects ends in .json",
            place=location,
            text=text[:60],
        )
    return value


def parse_json(location: str, text: str, *, names_line: bool = False) -> Any:  # noqa: ANN401 - JSON may hold any value
    """Return the value in `text`; raise InputError where it is not JSON or gives one key twice.

    With `names_line`, `location` is that of a file, and the error has the line, too.
    """
    try:
        # The error of `json.loads` names a byte-order mark.
        return json.loads(text) if text.startswith("\ufeff") else _JSON_DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(
            "{where}: is not JSON: {error} (column {column}): {text!r}",
            where=f"{location}:{error.lineno}" if names_line else location,
            error=Message(error.msg),
            column=error.colno if names_line else error.pos + 1,
            text=error.doc[max(0, error.pos - 40) :][:60],
        ) from None
    except RepeatedKey as error:
        raise InputError(
            "{place}: field {field!r} is given twice in one object; keep one", place=location, field=error.key
        ) from None
    except (RecursionError, ValueError):
        raise InputError(
            "{place}: cannot be read as JSON: it nests too deep, or a number has too many digits",
            place=location,
        ) from None


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
        # In UTF-16, one byte of the first character, which is ASCII in a header and in JSON, is 0.
        if head.startswith(_NOT_READ) or head[:2].count(0) == 1:
            raise InputError(
                "{file}: is not text in UTF-8, or in UTF-16 with a byte-order mark: it begins with"
                " {head!r}; save it as UTF-8, or a table as CSV in UTF-8",
                file=path,
                head=head,
            )
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if head.startswith(mark):
                return encoding
        with suppress(UnicodeDecodeError):
            chunks, length = chain([head], iter(partial(file.read, _CHUNK), b"")), 0
            for text in codecs.iterdecode(chunks, "utf-8"):
                length = 0 if "\n" in text else length + len(text)
                if length > _MAX_LINE_CHARS:  # `number_lines` refuses the line
                    break
            return "utf-8"
    if _may_be_gb18030(path):
        return "gb18030"
    raise _make_decode_error(path, "utf-8")


def _may_be_gb18030(path: Path) -> bool:
    """Return True when the file is valid GB18030, and probably not damaged UTF-8, a Latin encoding or Big5.

    Damaged UTF-8 has more valid characters than invalid ones. In a Latin text a byte that is not ASCII is
    followed by an ASCII letter, which GB18030 reads as the second byte of a character. In Chinese at most a
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
    """Return the error that names the line and its byte, both from 1, of the first invalid character.

    Of UTF-16 it is the first one that is, or is replaced by, U+FFFD.
    """
    # The byte in the line is counted without the mark that "utf-16" writes first.
    name, errors, invalid, without_mark = ("utf-8", "surrogateescape", "[\udc80-\udcff]", "utf-8")
    if encoding == "utf-16":
        name, errors, invalid, without_mark = ("utf-16", "replace", "\ufffd", "utf-16-le")
    with io.TextIOWrapper(open_bytes(path), name, errors, newline="\n") as text:
        lines = number_lines(text, path)
        number, line = next(((number, line) for number, line in lines if re.search(invalid, line)), (1, ""))
    return InputError(
        "{file}:{number}: is not {encoding} at byte {byte}; save the file as UTF-8",
        file=path,
        number=number,
        encoding=name.upper(),
        byte=len(re.split(invalid, line, maxsplit=1)[0].encode(without_mark)) + 1,
    )
