"""Owns who is alive: each process that opens a store holds a lock file that dies with it.

A kill -9 releases the lock, so claims of a dead process are told from claims of a slow one without
process numbers, heartbeats or clocks.
"""

from __future__ import annotations

import re
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from judge.filesystem import make_folder

#: Seconds after which a lock file that nobody holds belongs to a dead process.
_YOUNG = 60.0
#: The names that owners have. A store from somebody else may hold any text in their place.
_ID = re.compile("[0-9a-f]{12}")


class Owner:
    """The name of this process in a store, alive until `release` or death; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.id = uuid.uuid4().hex[:12]
        self._folder = folder
        for path in folder.glob("*.lock"):
            self._sweep(path)
        self._lock = FileLock(self._path(self.id), thread_local=False)
        self._lock.acquire(timeout=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _sweep(self, path: Path) -> None:
        """Removes what a dead process left; a young file may be one that is just being locked."""
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _YOUNG:
                self.is_dead(path.stem)

    def _path(self, owner_id: str) -> Path:
        return self._folder / f"{owner_id}.lock"

    def is_dead(self, owner_id: str) -> bool:
        """True when the process that called itself `owner_id` is gone; its lock file is removed.

        A name that no process has given itself leads to no file.
        """
        if not _ID.fullmatch(owner_id):
            return True
        path = self._path(owner_id)
        if not path.is_symlink():
            lock = FileLock(path, thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                return False
            lock.release()
        path.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        """Gives the name up; whatever it still claims is free for others."""
        self._lock.release()
        self._path(self.id).unlink(missing_ok=True)
