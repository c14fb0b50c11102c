"""The ledger of a store: the calls that were made since an earlier one.

For stores that one process at a time uses: every lease in them is of a process that died.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from judge.errors import StoreError
from judge.records import Call
from judge.store.leases import expire_leases
from judge.store.schema import connect, open_store
from judge.store.store import CALL_COLUMNS, read_call

#: Seconds for which another process may keep a store locked.
_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class NewCalls:
    """The calls after an earlier one, each with its key: `last` is the number of the newest call.

    `lost` of them are leases of processes that died: a request may have been sent or not.
    """

    calls: tuple[tuple[str, Call], ...]
    last: int
    lost: int


def clear_leases(path: Path) -> int:
    """Return the number of the newest call in the store at `path`, 0 without calls; delete its leases.

    For a copy of a store: what is leased in the copy is leased in the store. Raises StoreError.
    """
    if not path.exists():
        return 0
    with _begin_transaction(path) as connection:
        connection.execute("DELETE FROM claims")
        (number,) = connection.execute("SELECT coalesce(max(id), 0) FROM calls").fetchone()
    return int(number)


def settle_new_calls(path: Path, number: int) -> NewCalls:
    """Return the calls after `number` in the store at `path`; each lease becomes a lost call first.

    Raises StoreError when the store can't be read.
    """
    with _begin_transaction(path) as connection:
        holders = connection.execute("SELECT DISTINCT owner FROM claims").fetchall()
        lost = sum(expire_leases(connection, holder) for (holder,) in holders)
        rows = connection.execute(
            f"SELECT id, key, {CALL_COLUMNS} FROM calls WHERE id > ? ORDER BY id",  # noqa: S608  # fixed names
            (number,),
        ).fetchall()
        calls = tuple((key, read_call(*values)) for _, key, *values in rows)
    return NewCalls(calls, rows[-1][0] if rows else number, lost)


@contextmanager
def _begin_transaction(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        open_store(path, _WAIT).close()  # a store that was just created has no tables yet
        with closing(connect(path, _WAIT)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError, ValueError) as error:
        raise StoreError("{file}: cannot be counted: {error}", file=path, error=error) from error
