"""Owns that one process at a time works on a folder of nights, and says which one it is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import getpid
from pathlib import Path

from filelock import FileLock, Timeout

from judge.errors import InputError
from judge.report.rundir import RunFolder


@contextmanager
def alone(nights: Path, work: str) -> Iterator[None]:
    """Holds the folder for this process.

    Raises InputError, at once, that names who holds it already, StoreError when the disk takes no more.
    """
    who = nights / ".at-work"
    lock = FileLock(nights / ".lock", thread_local=False)
    try:
        nights.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"{nights}: {_read(who)} is at work here; wait until it is done") from None
    except OSError as error:
        raise InputError(f"{nights}: cannot hold nights: {error.strerror or error}") from error
    try:
        RunFolder(nights).write(who.name, [f"{work} (process {getpid()} on {socket.gethostname()})"])
        yield
    finally:
        with suppress(OSError):
            who.unlink(missing_ok=True)
        lock.release()


def _read(who: Path) -> str:
    try:
        return who.read_text(encoding="utf-8") or "another judge"
    except OSError:
        return "another judge"
