"""Leases: the right of one process to pay for a key, valid while the process runs.

Each process that opens a store locks a file of its own, and the system releases that lock when the process
ends, however it ends. So the leases of an ended process can be distinguished from those of a slow one without
process numbers, heartbeats or clocks.
"""

import re
import sqlite3
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout

from judge.files.filesystem import check_regular, make_folder, open_for_read
from judge.records import LOST

#: Seconds for which a lock file without a lock may be one that a process is about to lock.
_MIN_AGE = 60.0
#: The ids of holders. A store from another person may hold any text in their place.
_ID = re.compile("[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of this process to pay for `key`, until it saves a verdict or releases the lease.

    `batch_id` is the id of the batch that the key was submitted in; its reply is not in the ledger yet.
    """

    key: str
    batch_id: str = ""


class Busy(Enum):
    """Why a key has neither an answer nor a lease for this process."""

    #: Another living process holds the lease of the key.
    LEASED_ELSEWHERE = auto()
    #: The request for the key is in a batch that has not ended.
    IN_BATCH = auto()


def _is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file with several names, which FileLock would empty."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        with open_for_read(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def lock_folder(store: Path) -> Path:
    """Return the folder of the lock files of the store at the path `store`.

    An earlier format has them in `….owners`: two versions of judge must not use one store at the same time.
    """
    return store.with_name(store.name + ".locks")


class ProcessLock:
    """The lock file of this process in `folder`, locked until `close` or the end of the process.

    Leases in the database have its `id`; they are valid as long as the file is locked.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.id = uuid.uuid4().hex[:12]
        self._folder = folder
        for path in folder.glob("*.lock"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _MIN_AGE:
                    self.remove_if_ended(path.stem)
        self._lock = FileLock(self._name_path(self.id), thread_local=False)
        self._lock.acquire(timeout=0)

    def _name_path(self, holder_id: str) -> Path:
        return self._folder / f"{holder_id}.lock"

    def remove_if_ended(self, holder_id: str) -> bool:
        """Return whether the process `holder_id` has ended; if so, remove its lock file.

        A text that is no id counts as the id of a process that has ended.
        """
        if not _ID.fullmatch(holder_id):
            return True
        path = self._name_path(holder_id)
        try:
            check_regular(path)
        except OSError:
            # No process of judge made it, or the folder was copied by hard links while one runs.
            if _is_locked(path):
                return False
            path.unlink(missing_ok=True)
            return True
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        lock.release()
        path.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Unlock and remove the file; other processes may take the leases with its id."""
        self._lock.release()
        self._name_path(self.id).unlink(missing_ok=True)


def expire_leases(connection: sqlite3.Connection, holder: str) -> int:
    """End the leases of a dead process; return the number of keys that it may have paid for.

    The reply to a key in a batch is still at the server.
    """
    inserted = connection.execute(
        "INSERT INTO calls (key, outcome, maybe_billed, made_at)"
        " SELECT key, ?, 1, ? FROM claims WHERE owner = ? AND key NOT IN (SELECT key FROM batch_requests)",
        (LOST, make_timestamp(), holder),
    )
    connection.execute("DELETE FROM claims WHERE owner = ?", (holder,))
    return inserted.rowcount


def make_timestamp() -> str:
    """Return the present second in UTC, as the tables hold it."""
    return _format_second(int(time.time()))


@lru_cache(maxsize=1)  # each row of a commit has one
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()
