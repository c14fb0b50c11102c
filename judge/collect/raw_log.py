"""The raw log of a collection: one line per call with the raw answer, on disk before it counts.

The dataset is derived from the log, so that a better reading of an engine's answers costs no new call.
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
from judge.errors import InputError, StoreError, explain_os_error
from judge.filesystem import open_for_append, open_for_read
from judge.runs.folder import dump_json


@dataclass(frozen=True, slots=True)
class RawLogEntry:
    """One call and its response.

    `started` is a time in UTC. `status` is None without a response. `latency_ms` lasts from connecting, if
    that was needed, to the last byte. `body` is the response as text, or its bytes as Latin-1 if `error` says
    that they are no text. `error` None means that `body` claims to be an answer; reading it may still fail.
    """

    engine: str
    query_id: str
    request: EngineRequest
    started: str
    status: int | None
    latency_ms: float
    body: str
    error: str | None


def raw_log_path(data: Path) -> Path:
    """Return the path of the raw log of the dataset `data`."""
    return data.with_name(f"{data.name}.raw.jsonl")


def read_entries(path: Path) -> Iterator[RawLogEntry]:
    """Yield every call in the log at `path`, in order; none when there is no log.

    A last line that a kill cut off is ignored. Raises InputError when another line is no call.
    """
    if not path.exists():
        return
    try:
        file = open_for_read(path)
    except OSError as error:
        raise InputError(
            "{file}: cannot be read: {error}", file=path, error=explain_os_error(error)
        ) from error
    with file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                fields = json.loads(line)
                yield RawLogEntry(**{**fields, "request": EngineRequest(**fields["request"])})
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    "{file}:{number}: is no call that judge collect wrote ({error!r:.100}); repair or remove"
                    " the line, or name another --out",
                    file=path,
                    number=number,
                    error=error,
                ) from error


class RawLog:
    """The log, open for writing: after `add` returns, the entry is on disk. Any thread may add."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(open_for_append(self._path), "ab+", buffering=0)
            self._drop_torn_line(self._file)
        except OSError as error:
            raise StoreError(
                "{file}: cannot be written: {error}", file=self._path, error=explain_os_error(error)
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, entry: RawLogEntry) -> None:
        """Append `entry`; raise StoreError when it cannot be written."""
        if self._file is None:
            raise RuntimeError("the raw log is not open")
        with self._lock:
            self._append(self._file, memoryview(f"{dump_json(asdict(entry))}\n".encode()))

    def _append(self, file: IO[bytes], line: memoryview) -> None:
        end = file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                file.truncate(end)  # half a line would damage the next one
            raise StoreError(
                "{file}: cannot be written: {error}; what is in it is kept",
                file=self._path,
                error=explain_os_error(error),
            ) from error

    @staticmethod
    def _drop_torn_line(file: IO[bytes]) -> None:
        """Remove a last line that a kill cut off."""
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
