"""The output streams of the commands.

After a broken pipe (`| head`, a pager that is closed) output is dropped and the work goes on, with its usual
exit code. A full disk raises OSError once for stdout; for stderr it is ignored, since it cannot be reported.
"""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_HASHES = re.compile(r"##(?=\w{0,20}\[)")
# Colours may stand before the mark; a runner removes them.
_COLONS = re.compile(r"^((?:\s|\x1b\[[0-9;]*m)*):(?=:)")


class _Outlet(io.RawIOBase):
    """A stream that writes to `raw` until that fails, then drops output; `name` None ignores all errors."""

    def __init__(self, raw: io.RawIOBase, name: str | None) -> None:
        self._raw = raw
        self._name = name
        self._works = True

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write `data`, or drop it after an earlier failure; raise OSError the first time a disk fails."""
        if self._works:
            try:
                return self._raw.write(data)
            except OSError as error:
                self._works = False
                if self._name and not isinstance(error, BrokenPipeError):
                    raise OSError(error.errno, error.strerror, self._name) from error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor, from which libraries read the width of the terminal."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._raw.isatty()


class SafeTextStream(io.TextIOWrapper):
    """A text stream that breaks up what a CI runner would take for a command.

    GitHub Actions executes `::` at the beginning of a line and `##[` anywhere in it, Azure Pipelines
    `##vso[`, TeamCity `##teamcity[`. Names in an untrusted run may hold such marks.
    """

    _is_blank = True

    def write(self, text: str, /) -> int:
        """Write `text` with a space inside each such mark; return the length of `text`."""
        safe = _HASHES.sub("# #", text)
        if "::" in safe:
            lines = safe.split("\n")
            begins = [self._is_blank, *[True] * (len(lines) - 1)]
            safe = "\n".join(
                _COLONS.sub(r"\1: ", line) if begin else line
                for line, begin in zip(lines, begins, strict=True)
            )
        last = text.rpartition("\n")
        self._is_blank = not last[2].strip() and (bool(last[1]) or self._is_blank)
        super().write(safe)
        return len(text)

    def write_command(self, line: str) -> None:
        """Write a line that may be a command for the CI runner."""
        super().write(f"{line}\n")
        self._is_blank = True


def print_command(line: str) -> None:
    """Print a line that may be a command for the CI runner; the caller has escaped the names in it."""
    if isinstance(sys.stdout, SafeTextStream):
        sys.stdout.write_command(line)
    else:
        sys.stdout.write(f"{line}\n")


def guard_stream(stream: TextIO | None, name: str | None) -> TextIO:
    """Return a stream that writes to `stream` and goes on without it when its reader has gone away.

    A disk that is full is an OSError about `name`, or no error where that is None. `stream` None was closed
    before the process began.
    """
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    # A character that the terminal's encoding lacks must not end the work.
    loose = stream.errors not in ("strict", "surrogateescape")
    buffer: Any = stream.buffer
    raw = getattr(buffer, "raw", buffer)  # python -u has no buffer between
    return SafeTextStream(
        io.BufferedWriter(_Outlet(raw, name)),
        encoding=stream.encoding,
        errors=stream.errors if loose else "backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
