"""Group commit: one thread writes to a store, so that many small writes become few durable commits."""

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from judge.errors import StoreError, explain_error
from judge.messages import Message
from judge.store import schema

T = TypeVar("T")
#: Seconds from the beginning of a commit to that of the next one: a fast disk would give each write its own.
_MIN_INTERVAL, _MAX_INTERVAL = 0.01, 0.25
#: A write, and what its caller waits for.
_Job = tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any] | None]
_Result = tuple[asyncio.Future[Any] | None, Any]


class GroupCommitWriter:
    """Runs writes in the order given, each group of waiting ones in one `BEGIN IMMEDIATE` transaction.

    When another process keeps the file locked, the writer waits once, as long as `connection` waits. Then it
    tries no further write, because each of them would wait as long again. `connection` leads to the file at
    `path`, and is closed with the writer.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._files = str(path), f"{path}-wal"
        self._ids = _read_file_ids(self._files)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection = connection
        #: The error of a write that is not awaited, or of this writer.
        self._failure: StoreError | None = None
        #: Seconds from the beginning of a commit to that of the next one, at least.
        self.interval = _MIN_INTERVAL
        #: Set where the next commit must not wait for the end of the interval.
        self._is_due = threading.Event()
        #: Why no further write is tried.
        self._locked: StoreError | None = None
        self._thread = threading.Thread(target=self._run, name=f"writer of {path.name}", daemon=True)
        self._thread.start()

    async def commit(self, write: Callable[[sqlite3.Connection], T], *, at_once: bool = False) -> T:
        """Return the result of `write` once it is on disk; raise StoreError when it can't be written.

        It is committed `at_once`, or with what the present interval brings.
        """
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._raise_failure()
        self._jobs.put((write, done))
        if at_once:
            self._is_due.set()
        self._raise_failure()  # again: a thread that has just ended does not see the job
        # Cancelling the caller does not cancel a write that is queued.
        return await done

    def enqueue(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Commit `write` soon; when that fails, the next `commit` raises its error."""
        self._jobs.put((write, None))

    def adapt_commit_interval(self, answer_seconds: float) -> None:
        """Set the interval for a run whose answers take this long, 0 where that is unknown.

        Half of the leases of a run are those of requests in flight. Each pair waits for two commits: that of
        its lease and that of its verdict. A longer interval slows nothing as long as two commits take less
        time than the run needs for the other half of its leases.
        """
        self.interval = max(_MIN_INTERVAL, min(answer_seconds / 4, _MAX_INTERVAL))

    def close(self) -> None:
        """Commit what is queued, then end the thread."""
        self._jobs.put(None)
        self._is_due.set()
        self._thread.join()
        self._connection.close()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        closing, next_commit = False, 0.0
        try:
            while not closing:
                # In this order, because a job that wakes this thread takes CPU time from its caller.
                self._is_due.wait(max(0.0, next_commit - time.monotonic()))
                self._is_due.clear()
                group = [self._jobs.get()]
                next_commit = time.monotonic() + self.interval
                while not self._jobs.empty():
                    group.append(self._jobs.get())
                closing = None in group
                self._write_group([job for job in group if job is not None])
        finally:
            # When the thread ends, neither present callers nor later ones may wait for it.
            self._failure = self._failure or self._make_error(Message("its writer has ended"))
            jobs = [self._jobs.get() for _ in range(self._jobs.qsize())]
            self._notify([(done, None) for _, done in filter(None, jobs)], self._failure)

    def _write_group(self, group: list[_Job]) -> None:
        """Commit `group` and notify the caller of each write."""
        results: list[Any] = [None] * len(group)
        failure: StoreError | None = self._locked or self._make_error(Message("its writer failed"))
        try:
            if group and self._locked is None:
                results = self._commit(group)
            failure = self._locked
        except (sqlite3.Error, OSError, ValueError, TypeError, ArithmeticError) as error:
            failure = self._make_error(
                Message("{error}{advice}", error=explain_error(error), advice=schema.choose_advice(error))
            )
            if schema.is_locked(error):
                self._locked = self._failure = failure
                self._connection.execute("PRAGMA busy_timeout=0")  # closing must not wait again
        finally:
            self._notify([(done, result) for (_, done), result in zip(group, results, strict=True)], failure)

    def _notify(self, results: list[_Result], failure: StoreError | None) -> None:
        """Send the results of a group, or `failure`, to its callers: one message for each of their loops."""
        if failure is not None and any(done is None for done, _ in results):
            self._failure = self._failure or failure
        by_loop: dict[asyncio.AbstractEventLoop, list[_Result]] = {}
        for done, result in results:
            if done is not None:
                by_loop.setdefault(done.get_loop(), []).append((done, result))
        for loop, own in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed: the callers were cancelled
                loop.call_soon_threadsafe(_set_results, own, failure)

    def _commit(self, group: list[_Job]) -> list[Any]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = [write(self._connection) for write, _ in group]
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):  # the disk that failed the write may fail this one, too
                    self._connection.execute("ROLLBACK")
        # SQLite continues to write to a file without a name, and reports no error.
        if _read_file_ids(self._files) != self._ids:
            raise FileNotFoundError(
                Message("the file was deleted, moved or replaced while judge was using it")
            )
        return results

    def _make_error(self, why: str) -> StoreError:
        return StoreError(
            "{file}: verdicts cannot be stored, so no more are paid for: {why}", file=self._path, why=why
        )


def _read_file_ids(files: Sequence[str]) -> list[tuple[int, int]]:
    """Return device and inode of the files that are there, of a database and of its log."""
    ids = []
    for file in files:
        with suppress(FileNotFoundError):
            status = os.stat(file)  # noqa: PTH116  # a path takes longer than the call, at each commit
            ids.append((status.st_dev, status.st_ino))
    return ids


def _set_results(results: list[_Result], failure: StoreError | None) -> None:
    for done, result in results:
        if done is None or done.done():  # its caller was cancelled
            continue
        if failure is None:
            done.set_result(result)
        else:
            done.set_exception(failure)
