"""Owns the one thread that writes to a store: many small writes become few durable commits."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from judge.errors import StoreError

T = TypeVar("T")
_Job = tuple[Callable[[sqlite3.Connection], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Writer:
    """Runs writes in the order given, each group of waiting ones in one `BEGIN IMMEDIATE` transaction.

    `connection` leads to the file at `path`, and is closed with the writer.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._files = _files(path)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection = connection
        self._thread = threading.Thread(target=self._work, name=f"writer of {path.name}", daemon=True)
        self._thread.start()

    async def submit(self, write: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `write`, once it is committed; raises StoreError when it can't be."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._jobs.put((write, loop, done))
        # Shielded: a caller that is cancelled must not stop what is already on its way to disk.
        return await asyncio.shield(done)

    def close(self) -> None:
        """Commits what is queued, then ends the thread."""
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        closing = False
        while not closing:
            group = [self._jobs.get()]
            while not self._jobs.empty():
                group.append(self._jobs.get())
            closing = None in group
            self._settle([job for job in group if job is not None])

    def _settle(self, group: list[_Job]) -> None:
        """Commits `group` and tells everybody in it what came of it."""
        results: list[Any] = [None] * len(group)
        failure = None
        try:
            if group:
                results = self._commit([write for write, _, _ in group])
        # Whatever goes wrong here, somebody waits for an answer: a thread that dies would hang the run.
        except (sqlite3.Error, OSError, ValueError, TypeError, ArithmeticError) as error:
            failure = StoreError(f"{self._path}: verdicts cannot be stored, so no more are paid for: {error}")
        for (_, loop, done), result in zip(group, results, strict=True):
            with suppress(RuntimeError):  # the loop is closed: whoever waited was cancelled in a hurry
                loop.call_soon_threadsafe(_tell, done, result, failure)

    def _commit(self, writes: list[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = [write(self._connection) for write in writes]
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):  # the disk that failed the write may fail this one, too
                    self._connection.execute("ROLLBACK")
        # SQLite goes on writing to a file that has no name any more, and says that all is well.
        if _files(self._path) != self._files:
            raise FileNotFoundError("the file was deleted, moved or replaced while judge was using it")
        return results


def _files(path: Path) -> list[tuple[int, int]]:
    """Which files the name of a database and that of its log lead to."""
    found = [each.stat() for each in (path, path.with_name(path.name + "-wal")) if each.exists()]
    return [(file.st_dev, file.st_ino) for file in found]


def _tell(done: asyncio.Future[Any], result: object, failure: StoreError | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(result)
    else:
        done.set_exception(failure)
