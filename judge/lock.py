"""A lock file, so that one process at a time works on a run, a dataset, labels or the nights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from judge.errors import InputError
from judge.filesystem import check_regular


@contextmanager
def locked(lock: Path, busy: str, unusable: str, wait: float = 0) -> Iterator[None]:
    """Hold the lock file `lock` for this process; its folder is made when absent.

    Raises InputError: `busy` when another process holds it after `wait` seconds, and `unusable` with the
    system's reason when the file cannot be made.
    """
    lock_file = FileLock(lock, thread_local=False)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        check_regular(lock)
        lock_file.acquire(timeout=wait)
    except Timeout:
        raise InputError(busy) from None
    except OSError as error:
        raise InputError("{problem}: {error}", problem=unusable, error=error.strerror or error) from error
    try:
        yield
    finally:
        lock_file.release()
