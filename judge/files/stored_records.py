"""Lines and records that stay on the disk: each use reads them again, also from a file that was removed."""

import json
import weakref
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, groupby, islice, pairwise
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, Self, TypeVar, overload

import msgspec

from judge.errors import StoreError, explain_error
from judge.messages import Message
from judge.records import Ranking

Record = TypeVar("Record")
_Item = TypeVar("_Item")
#: Bytes that are read at once, at least.
_CHUNK = 1 << 20
#: Temporary lines with fewer bytes have no file.
_IN_MEMORY = 1 << 20
#: The most lines that are written at once, or read at once by their numbers, while they are short.
_BLOCK = 1 << 10
_encode = msgspec.json.Encoder().encode


class StoredLines:
    """The lines in the first `size` bytes of an open file, which is closed with this object.

    Several iterations can run at once, in any thread.
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

    Without a folder it is in that of temporary files. Lines are numbered from 0.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        file = SpooledTemporaryFile(_IN_MEMORY, dir=str(folder) if folder else None)  # noqa: SIM115  # closed with this object
        super().__init__(file, 0)
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, lines: Iterable[bytes]) -> None:
        """Write `lines`, which end with line feeds, at the end; raise StoreError where that fails."""
        for block in _make_blocks(lines, len):
            content = b"".join(block)
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
            self._ends.extend(islice(accumulate(map(len, block), initial=self.size), 1, None))
            self.size += len(content)

    def read_lines(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines with these `numbers`; the file is read once for lines in a row."""
        for block in _make_blocks(numbers, lambda number: self._ends[number + 1] - self._ends[number]):
            for _, in_row in groupby(enumerate(block), lambda place: place[1] - place[0]):
                (_, first), *others = in_row
                ends = self._ends[first : first + len(others) + 2]
                content = self.read(ends[0], ends[-1])
                yield from (content[start - ends[0] : end - ends[0]] for start, end in pairwise(ends))


def _make_blocks(items: Iterable[_Item], count_bytes: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yield the items in lists of at most `_BLOCK`; a list ends with the item that fills `_CHUNK` bytes."""
    block: list[_Item] = []
    size = 0
    for item in items:
        block.append(item)
        size += count_bytes(item)
        if len(block) == _BLOCK or size >= _CHUNK:
            yield block
            block, size = [], 0
    if block:
        yield block


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
        record: Record = msgspec.convert(json.loads(line), decoder.type)
        return record


class StoredRecords(Sequence[Record]):
    """Records that `read` yields again for each use.

    They are pickled as a tuple, since another process has none of the files. A copy shares the files.
    """

    def __init__(self, read: Callable[[], Iterator[Record]], length: int) -> None:
        self._read = read
        self._length = length

    def __iter__(self) -> Iterator[Record]:
        return self._read()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        position = range(len(self))[index]
        return next(islice(self, position, None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    def __reduce__(self) -> tuple[type, tuple[tuple[Record, ...]]]:
        return tuple, (tuple(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self


def chain_records(parts: Sequence[Collection[Record]]) -> StoredRecords[Record]:
    """Return the records of several sequences, one after the other, which each use reads again."""
    return StoredRecords(lambda: chain.from_iterable(parts), sum(map(len, parts)))


class StoredRankings(StoredRecords[Ranking]):
    """The rankings of a dataset, which are stored query by query, in the order of the queries.

    `judge.measure.columns` keeps here the `columns` that it makes of them, None as long as there are none.
    """

    columns: object = None
