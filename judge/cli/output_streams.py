"""Owns the standard streams of a command: what becomes of its words when they can't be delivered.

A reader that goes away (`| head`, a pager that is closed) ends no work: words go nowhere from then on,
and the exit code is the one that the work earns. A disk that takes no more is an OSError of stdout, once;
of stderr it is none, for there is nowhere left to say it.
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
# Colours may stand before it, which a runner takes out.
_COLONS = re.compile(r"^((?:\s|\x1b\[[0-9;]*m)*):(?=:)")


class _Outlet(io.RawIOBase):
    """A stream that is written to `raw` as long as that takes it; `name` None keeps all faults quiet."""

    def __init__(self, raw: io.RawIOBase, name: str | None) -> None:
        self._raw = raw
        self._name = name
        self._taken = True

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Writes on, or nowhere; raises OSError the first time that a disk doesn't take it."""
        if self._taken:
            try:
                return self._raw.write(data)
            except OSError as error:
                self._taken = False
                if self._name and not isinstance(error, BrokenPipeError):
                    raise OSError(error.errno, error.strerror, self._name) from error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """It is written to."""
        return True

    def fileno(self) -> int:
        """The number of the file, for those who ask whether it is a terminal and how wide."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Whether somebody looks."""
        return self._raw.isatty()


class _Printed(io.TextIOWrapper):
    """A stream in which a runner of a build takes no printed text for a command.

    GitHub Actions obeys `::` at the beginning of a line and `##[` anywhere in it, Azure Pipelines `##vso[`,
    TeamCity `##teamcity[`: a run from another person may hold such names.
    """

    _is_blank = True

    def write(self, text: str, /) -> int:
        """Write `text` with a space inside each such mark; return the length of `text`."""
        quiet = _HASHES.sub("# #", text)
        if "::" in quiet:
            lines = quiet.split("\n")
            begins = [self._is_blank, *[True] * (len(lines) - 1)]
            quiet = "\n".join(
                _COLONS.sub(r"\1: ", line) if begin else line
                for line, begin in zip(lines, begins, strict=True)
            )
        last = text.rpartition("\n")
        self._is_blank = not last[2].strip() and (bool(last[1]) or self._is_blank)
        super().write(quiet)
        return len(text)

    def write_command(self, line: str) -> None:
        """Write a line that may be a command of ours."""
        super().write(f"{line}\n")
        self._is_blank = True


def print_command(line: str) -> None:
    """Print a line that a runner may take for a command; the line's writer has made names in it harmless."""
    if isinstance(sys.stdout, _Printed):
        sys.stdout.write_command(line)
    else:
        sys.stdout.write(f"{line}\n")


def guarded(stream: TextIO | None, name: str | None) -> TextIO:
    """Return a stream that writes to `stream` and goes on without it when its reader has gone away.

    A disk that is full is an OSError about `name`, or no error where that is None. `stream` None was closed
    before the process began.
    """
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    # A name may be written in letters that the terminal or the log's encoding hasn't: that ends no work.
    loose = stream.errors not in ("strict", "surrogateescape")
    buffer: Any = stream.buffer
    raw = getattr(buffer, "raw", buffer)  # python -u has no buffer between
    return _Printed(
        io.BufferedWriter(_Outlet(raw, name)),
        encoding=stream.encoding,
        errors=stream.errors if loose else "backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
