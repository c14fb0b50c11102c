"""Owns the one thread that writes to a store: many small writes become few durable commits."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from judge.errors import StoreError

T = TypeVar("T")
_Job = tuple[Callable[[sqlite3.Connection], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Writer:
    """Runs writes in the order given, each group of waiting ones in one `BEGIN IMMEDIATE` transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection = connect()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
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
            self._commit([job for job in group if job is not None])

    def _commit(self, group: list[_Job]) -> None:
        if not group:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = [write(self._connection) for write, _, _ in group]
            self._connection.execute("COMMIT")
        # Whatever goes wrong here, somebody waits for an answer: a thread that dies would hang the run.
        except (sqlite3.Error, OSError, ValueError, TypeError, ArithmeticError) as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            failure = StoreError(f"verdicts cannot be stored, so no more are paid for: {error}")
            for _, loop, done in group:
                loop.call_soon_threadsafe(_settle, done, None, failure)
            return
        for (_, loop, done), result in zip(group, results, strict=True):
            loop.call_soon_threadsafe(_settle, done, result, None)


def _settle(done: asyncio.Future[Any], result: object, failure: StoreError | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(result)
    else:
        done.set_exception(failure)
