"""Lines in a file that stays open: each use reads them again, also after the file has left its folder."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, TypeVar

import msgspec

from judge.errors import StoreError, explain_error
from judge.messages import Message

Record = TypeVar("Record")
#: Bytes that are read at once, at least.
_CHUNK = 1 << 20
#: Temporary lines with fewer bytes have no file.
_IN_MEMORY = 1 << 20
_encode = msgspec.json.Encoder().encode


class StoredLines:
    """The lines in the first `size` bytes of an open file, which is closed with this object.

    Several iterations can go on at once, in any thread.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._lock = Lock()
        self.size = size
        weakref.finalize(self, _close, file)

    def __iter__(self) -> Iterator[bytes]:
        position, rest = 0, b""
        while position < self.size:
            # As much as there is of a long line: to add small parts to it copies it again and again.
            chunk = self.read(position, min(position + max(_CHUNK, len(rest)), self.size))
            position = position + len(chunk) if chunk else self.size
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in lines)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`."""
        with self._lock:
            self._file.seek(start)
            return self._file.read(end - start)


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # bytes that a full disk did not take are not needed
        file.close()


class TemporaryLines(StoredLines):
    """Lines in a temporary file in `folder`, which is removed with this object or with the process.

    Without a folder it is in that of temporary files.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        file = SpooledTemporaryFile(_IN_MEMORY, dir=str(folder) if folder else None)  # noqa: SIM115  # closed with this object
        super().__init__(file, 0)

    def append(self, lines: Iterable[bytes]) -> None:
        """Write `lines`, which end with line feeds, at the end; raise StoreError where that fails."""
        content = b"".join(lines)
        try:
            with self._lock:
                self._file.seek(self.size)
                self._file.write(content)
                self._file.flush()
        except OSError as error:
            raise StoreError(
                "{file}: cannot be written: {error}; all verdicts are saved",
                file=self._folder or Message("the folder of temporary files"),
                error=explain_error(error),
            ) from error
        self.size += len(content)


def encode_line(record: object) -> bytes:
    """Return a record on a line of JSON, which `decode_line` reads."""
    try:
        return _encode(record) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(msgspec.to_builtins(record)).encode() + b"\n"


def decode_line(decoder: msgspec.json.Decoder[Record], line: bytes) -> Record:
    """Return the record on a line of JSON; raise ValueError when it is invalid."""
    try:
        return decoder.decode(line)
    except msgspec.DecodeError:  # half a surrogate pair, a number that msgspec does not read, or an error
        return msgspec.convert(json.loads(line), decoder.type)
