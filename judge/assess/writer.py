"""The one thread that writes to a store: many small writes become few durable commits."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from judge.assess import file
from judge.errors import StoreError

T = TypeVar("T")
_Write = Callable[[sqlite3.Connection], Any]
_Teller = Callable[[Any, StoreError | None], None]
_Job = tuple[_Write, _Teller]


class Writer:
    """Runs writes in the order given, each group of waiting ones in one `BEGIN IMMEDIATE` transaction.

    Another process that keeps the file locked is waited for once, as long as `connection` waits; then no
    further write is tried, because each of them would wait as long again.
    `connection` leads to the file at `path`, and is closed with the writer.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._files = _files(path)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection = connection
        #: What went wrong with a write that nobody waits for, or with this writer.
        self._failure: StoreError | None = None
        #: Why no further write is tried.
        self._locked: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name=f"writer of {path.name}", daemon=True)
        self._thread.start()

    async def submit(self, write: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `write`, once it is committed; raises StoreError when it can't be."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def tell(result: T, failure: StoreError | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: whoever waited was cancelled in a hurry
                loop.call_soon_threadsafe(_tell, done, result, failure)

        self._check()
        self._jobs.put((write, tell))
        self._check()  # again: a thread that has just died does not see the job
        # Shielded: a caller that is cancelled must not stop what is already on its way to disk.
        return await asyncio.shield(done)

    def post(self, write: _Write) -> None:
        """Has `write` committed without anybody waiting; if it can't be, the next `submit` raises that."""
        self._jobs.put((write, self._remember))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _remember(self, _: object, failure: StoreError | None) -> None:
        self._failure = self._failure or failure

    def close(self) -> None:
        """Commits what is queued, then ends the thread."""
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        closing = False
        try:
            while not closing:
                group = [self._jobs.get()]
                while not self._jobs.empty():
                    group.append(self._jobs.get())
                closing = None in group
                self._settle([job for job in group if job is not None])
        finally:
            # A thread that dies must not leave the run waiting: neither those who ask now nor any later.
            self._failure = self._failure or self._fault("its writer has ended")
            while not self._jobs.empty():
                for _, tell in filter(None, [self._jobs.get()]):
                    tell(None, self._failure)

    def _settle(self, group: list[_Job]) -> None:
        """Commits `group` and tells everybody in it what came of it."""
        results: list[Any] = [None] * len(group)
        failure: StoreError | None = self._locked or self._fault("its writer broke down")
        try:
            if group and self._locked is None:
                results = self._commit([write for write, _ in group])
            failure = self._locked
        except (sqlite3.Error, OSError, ValueError, TypeError, ArithmeticError) as error:
            failure = self._fault(f"{error}{file.advice(error)}")
            if file.is_locked(error):
                self._locked = self._failure = failure
                self._connection.execute("PRAGMA busy_timeout=0")  # closing must not wait again
        finally:
            for (_, tell), result in zip(group, results, strict=True):
                tell(result, failure)

    def _fault(self, why: str) -> StoreError:
        return StoreError(f"{self._path}: verdicts cannot be stored, so no more are paid for: {why}")

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
