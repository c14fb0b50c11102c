"""Batches in the store: which keys are in which batch, and how far each batch is.

A batch is planned, its file is uploaded, then it is created at the server; each step is stored when it is
done. Before the file is uploaded nothing is paid for. Between the upload and the answer to the creation, the
server may or may not have the batch. A key stays in its batch until its reply is in the ledger. So a batch
continues after its process has ended, and no other process pays for its keys.
"""

import sqlite3
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from judge.records import Call
from judge.store.leases import ProcessLock, expire_leases, make_timestamp
from judge.store.schema import insert_calls, select_by_key
from judge.store.writer import GroupCommitWriter

_REMOVE_EMPTY = "DELETE FROM batches WHERE NOT EXISTS (SELECT 1 FROM batch_requests WHERE batch = id)"


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch of this store. `file_id` and `server_id` are empty until the server has returned them.

    `id` is judge's own name of it. `params` are the parameters of its requests, as `BatchApi` writes them.
    `changed_at` is when the last step was done. `requests` counts the keys whose reply is not in the ledger.
    """

    id: str
    params: str
    file_id: str
    server_id: str
    changed_at: datetime
    requests: int


class BatchTable:
    """The batches of a store. `ended` are those whose replies this process has read.

    `translate_errors` makes StoreErrors of the errors of reading the store.
    """

    def __init__(
        self,
        reader: sqlite3.Connection,
        writer: GroupCommitWriter,
        process_lock: ProcessLock,
        translate_errors: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.ended: set[str] = set()
        self._reader = reader
        self._writer = writer
        self._process_lock = process_lock
        self._translate_errors = translate_errors

    async def plan(self, keys: Sequence[str], params: str) -> tuple[str, list[str]]:
        """Plan a batch of `keys`; return its id and its keys.

        Keys that have a verdict, are in another batch, or are leased by a running process are left out.
        """
        batch_id = uuid.uuid4().hex

        def write(connection: sqlite3.Connection) -> list[str]:
            planned = [key for key in keys if self._try_to_free(connection, key)]
            connection.execute(_REMOVE_EMPTY)
            if planned:
                row = (batch_id, self._process_lock.id, params, "", "", make_timestamp())
                connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)", row)
                rows = ((key, batch_id) for key in planned)
                connection.executemany("INSERT INTO batch_requests VALUES (?, ?)", rows)
            return planned

        return batch_id, await self._writer.commit(write)

    def _try_to_free(self, connection: sqlite3.Connection, key: str) -> bool:
        """Return whether `key` can be paid for in a batch; end the lease of a process that has ended."""
        paid_or_planned = connection.execute(
            "SELECT 1 FROM verdicts WHERE key = :key UNION ALL SELECT 1 FROM batch_requests WHERE key = :key",
            {"key": key},
        ).fetchone()
        for (holder,) in connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchall():
            if not self._process_lock.remove_if_ended(holder):
                return False
            expire_leases(connection, holder)
        return paid_or_planned is None

    async def record_upload(self, batch_id: str, file_id: str) -> None:
        """Store that the requests of the batch are at the server, and that it is created next."""
        await self._update("file_id = ?", file_id, batch_id)

    async def record_creation(self, batch_id: str, server_id: str) -> None:
        """Store that the server has created the batch under the id `server_id`."""
        await self._update("server_id = ?", server_id, batch_id)

    async def take_over(self, batch_id: str) -> bool:
        """Make this process the owner of a batch that is not created; False when its owner is running."""

        def write(connection: sqlite3.Connection) -> bool:
            owners = connection.execute("SELECT owner FROM batches WHERE id = ?", (batch_id,)).fetchall()
            is_free = all(
                owner == self._process_lock.id or self._process_lock.remove_if_ended(owner)
                for (owner,) in owners
            )
            if is_free:
                connection.execute(
                    "UPDATE batches SET owner = ? WHERE id = ?", (self._process_lock.id, batch_id)
                )
            return is_free

        return await self._writer.commit(write)

    async def remove(self, batch_id: str, keys: Iterable[str] | None = None) -> None:
        """Remove `keys`, None all, from the batch: they were not paid for. Remove batches without keys."""
        rows = None if keys is None else [(key, batch_id) for key in keys]

        def write(connection: sqlite3.Connection) -> None:
            if rows is None:
                connection.execute("DELETE FROM batch_requests WHERE batch = ?", (batch_id,))
            else:
                connection.executemany("DELETE FROM batch_requests WHERE key = ? AND batch = ?", rows)
            connection.execute(_REMOVE_EMPTY)

        await self._writer.commit(write)

    async def end_requests(self, calls: Mapping[str, Call]) -> None:
        """Store the call of each request, by key, which leaves its batch. Remove batches without keys."""

        def write(connection: sqlite3.Connection) -> None:
            for key, call in calls.items():
                insert_calls(connection, key, [call])
            connection.execute(_REMOVE_EMPTY)

        await self._writer.commit(write)

    def find(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the batch of each of `keys` that is in one."""
        with self._translate_errors():
            return self.select(self._reader, keys)

    def count_in_created(self, keys: Iterable[str]) -> int:
        """Return how many of `keys` are in a batch that the server has created."""
        with self._translate_errors():
            rows = self._reader.execute("SELECT id FROM batches WHERE server_id != ''").fetchall()
        created = {batch_id for (batch_id,) in rows}
        return sum(batch_id in created for batch_id in self.find(keys).values())

    @staticmethod
    def select(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, str]:
        """Return what `find` does, by the `connection`."""
        return dict(
            select_by_key(connection, "SELECT key, batch FROM batch_requests WHERE key IN ({})", keys)
        )

    def load(self, batch_id: str) -> StoredBatch | None:
        """Return the batch with the id `batch_id`, None when it is no longer in the store."""
        statement = (
            "SELECT id, params, file_id, server_id, changed_at,"
            " (SELECT count(*) FROM batch_requests WHERE batch = id) FROM batches WHERE id = ?"
        )
        with self._translate_errors():
            rows = self._reader.execute(statement, (batch_id,)).fetchall()
            for name, params, file_id, server_id, changed_at, requests in rows:
                time = datetime.fromisoformat(changed_at)
                if time.tzinfo is None:
                    raise ValueError(f"the time {changed_at!r} has no time zone")
                return StoredBatch(name, params, file_id, server_id, time, requests)
        return None

    async def _update(self, assignment: str, value: str, batch_id: str) -> None:
        statement = f"UPDATE batches SET {assignment}, changed_at = ? WHERE id = ?"  # noqa: S608  # fixed names
        await self._writer.commit(
            lambda connection: connection.execute(statement, (value, make_timestamp(), batch_id))
        )
