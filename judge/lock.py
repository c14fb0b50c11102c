"""A lock file, so that one process at a time works on a run, a dataset, labels or the nights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from judge.errors import InputError, explain_os_error
from judge.filesystem import check_regular
from judge.messages import Message


@contextmanager
def locked(lock: Path, path: Path, busy: Message, unusable: Message, wait: float = 0) -> Iterator[None]:
    """Hold the lock file `lock` for this process; its folder is made when absent.

    Raises InputError about `path`: `busy` when another process holds it after `wait` seconds, and `unusable`
    with the system's reason when the file cannot be made.
    """
    lock_file = FileLock(lock, thread_local=False)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        check_regular(lock)
        lock_file.acquire(timeout=wait)
    except Timeout:
        raise InputError("{file}: {problem}", file=path, problem=busy) from None
    except OSError as error:
        why = explain_os_error(error)
        raise InputError("{file}: {problem}: {error}", file=path, problem=unusable, error=why) from error
    try:
        yield
    finally:
        lock_file.release()
