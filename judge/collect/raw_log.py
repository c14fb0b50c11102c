"""Owns the journal of a collection: one line a call with the raw answer, durable before it counts.

The dataset is derived from it and never the other way round, so a better reading of an engine's
answers costs no new call.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Self

from judge.collect.engines import EngineRequest
from judge.errors import InputError, StoreError
from judge.filesystem import open_for_append, open_for_read
from judge.runs.folder import dump_json


@dataclass(frozen=True, slots=True)
class RawLogEntry:
    """One call and what came back.

    `started` is when, in UTC; `status` is None when no response came; `latency_ms` is from connecting,
    where that was needed, to the last byte; `body` is the response as text, or its bytes as Latin-1
    where `error` says that they are no text. `error` None means that `body` claims to be an answer;
    reading it says whether it is one.
    """

    engine: str
    query_id: str
    request: EngineRequest
    started: str
    status: int | None
    latency_ms: float
    body: str
    error: str | None


def path_of(data: Path) -> Path:
    """Where the journal of the dataset `data` is."""
    return data.with_name(f"{data.name}.raw.jsonl")


def entries(path: Path) -> Iterator[RawLogEntry]:
    """Every call in the journal at `path`, in order; none when there is no journal.

    A last line that a kill cut off is no call. Raises InputError when another line is none.
    """
    if not path.exists():
        return
    try:
        file = open_for_read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    with file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield _entry(line)
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    f"{path}:{number}: is no call that judge collect wrote ({error!r:.100}); mend or remove"
                    " the line, or name another --out"
                ) from error


def _entry(line: bytes) -> RawLogEntry:
    found = json.loads(line)
    return RawLogEntry(**{**found, "request": EngineRequest(**found["request"])})


class RawLog:
    """The journal, open for writing: what `add` returned from has reached the disk. Any thread may add."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._adding = Lock()
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(open_for_append(self._path), "ab+", buffering=0)
            self._drop_torn_line(self._file)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, entry: RawLogEntry) -> None:
        """Appends `entry`; raises StoreError when the disk doesn't take it."""
        if self._file is None:
            raise RuntimeError("the journal is not open")
        with self._adding:
            self._append(self._file, memoryview(f"{dump_json(asdict(entry))}\n".encode()))

    def _append(self, file: IO[bytes], line: memoryview) -> None:
        end = file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                file.truncate(end)  # half a line would spoil the one that somebody adds after it
            raise StoreError(
                f"{self._path}: cannot be written: {error.strerror or error}; what is in it is kept"
            ) from error

    @staticmethod
    def _drop_torn_line(file: IO[bytes]) -> None:
        """Cuts off what a kill left of a line, so that the next line begins at its beginning."""
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        file.truncate(end)
