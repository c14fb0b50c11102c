"""Owns that one process at a time works on a folder of nights, and says which one it is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import getpid
from pathlib import Path

from judge.dataset.clean import escape_controls
from judge.filesystem import read_text
from judge.lock import locked
from judge.runs.folder import RunFolder


@contextmanager
def alone(nights: Path, work: str) -> Iterator[None]:
    """Holds the folder for this process.

    Raises InputError, at once, that names who holds it already, StoreError when the disk takes no more.
    """
    who = nights / ".at-work"
    busy = f"{nights}: {_read(who)} is at work here; wait until it is done"
    with locked(nights / ".lock", busy, f"{nights}: cannot hold nights"):
        try:
            RunFolder(nights).write(who.name, [f"{work} (process {getpid()} on {socket.gethostname()})"])
            yield
        finally:
            with suppress(OSError):
                who.unlink(missing_ok=True)


def _read(who: Path) -> str:
    try:
        return escape_controls(read_text(who)[:200]) or "another judge"
    except (OSError, UnicodeDecodeError):
        return "another judge"
