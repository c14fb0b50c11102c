"""The files of stores: merge one into another, back one up, replace one, remove one, list its new calls."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from judge.errors import InputError, StoreError, explain_error
from judge.files.cache import make_cache_path
from judge.messages import Message
from judge.records import Call
from judge.store.leases import expire_leases, lock_folder
from judge.store.schema import CALL_COLUMNS, STORE_ERRORS, connect, open_store, read_call
from judge.store.store import read_verdict

#: Seconds for which another process may keep a store locked.
_WAIT = 60.0
_UNUSABLE = Message("cannot be used")
#: Copy the verdicts and calls of the attached store that the other one does not have; never a damaged row.
_MERGE = (
    "INSERT OR REPLACE INTO main.verdicts SELECT * FROM attached.verdicts AS new WHERE CASE WHEN EXISTS ("
    "SELECT 1 FROM main.verdicts AS old WHERE old.key = new.key AND old.grade = new.grade"
    " AND old.body = new.body AND old.checksum = new.checksum) THEN 0"
    " WHEN (typeof(new.key), typeof(new.grade), typeof(new.body), typeof(new.checksum))"
    " != ('text', 'integer', 'text', 'text') THEN 0"
    # SQLite decodes texts for a function without the text factory of the connection.
    " ELSE is_sound(CAST(new.key AS BLOB), new.grade, CAST(new.body AS BLOB), CAST(new.checksum AS BLOB))"
    " END",
    f"INSERT INTO main.calls (key, {CALL_COLUMNS}, made_at) SELECT key, {CALL_COLUMNS}, made_at"  # noqa: S608  # fixed names
    " FROM attached.calls AS new WHERE NOT EXISTS (SELECT 1 FROM main.calls AS old"
    " WHERE old.key = new.key AND old.outcome = new.outcome AND old.made_at = new.made_at)",
)


def merge_store(source: Path, target: Path) -> None:
    """Add what the store `source` holds, if it is there, to `target`, which is created when absent.

    Raises StoreError when it can't be done; then `target` is as before.
    """
    if not source.exists():
        return
    problem = Message("cannot take the verdicts of {source}", source=source)
    with _begin_transaction(target, attached=source, problem=problem) as connection:
        connection.create_function("is_sound", 4, _is_sound)
        for statement in _MERGE:
            connection.execute(statement)


def _is_sound(key: bytes, grade: object, body: bytes, checksum: bytes) -> bool:
    key_text, body_text, checksum_text = (column.decode(errors="replace") for column in (key, body, checksum))
    return read_verdict(key_text, grade, body_text, checksum_text) is not None


def copy_store(source: Path, target: Path, without: Path | None = None) -> None:
    """Replace the store `target` by a copy of `source`, or by an empty file where there is no `source`.

    The verdicts of the store `without`, if it is there, are left out. After a kill, `target` is whole or
    absent. Raises StoreError when it can't be done.
    """
    part = target.with_name(f".{target.name}.part")
    remove_store(part)
    _back_up(source, part)
    if without is not None and without.exists():
        with _begin_transaction(part, attached=without) as connection:
            connection.execute("DELETE FROM main.verdicts WHERE key IN (SELECT key FROM attached.verdicts)")
    remove_store(target)
    part.replace(target)


def replace_store(source: Path, target: Path, backup: Path) -> None:
    """Replace the store `target` by the store `source`, and remove `source`.

    The old `target` is copied to `backup`, unless that exists. If the process is killed at any moment, there
    is a complete `target`, and `source` remains until it is in its place. Raises StoreError when it can't be
    done.
    """
    if not backup.exists():
        copy_store(target, backup)
    _back_up(source, target)
    remove_store(source)


def _back_up(source: Path, target: Path) -> None:
    """Make `target` hold what `source` does, in one transaction."""
    problem = Message("cannot be copied from {source}", source=source)
    with _translate_errors(target, problem), closing(connect(target, _WAIT)) as connection:
        if source.exists():
            with closing(connect(source, _WAIT)) as original:
                original.backup(connection)


def check_store(path: Path) -> None:
    """Raise InputError when the store at `path`, if it is there, is damaged anywhere; StoreError."""
    if not path.exists():
        return
    with _translate_errors(path, _UNUSABLE), closing(connect(path, _WAIT)) as connection:
        (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise InputError(
            "{file}: is damaged: {problem}; restore a copy of it, or remove it: its verdicts are then paid"
            " again",
            file=path,
            problem=problem,
        )


def remove_store(path: Path) -> None:
    """Remove the store at `path`, if it is there, with the files beside it; raise StoreError."""
    with _translate_errors(path, Message("cannot be removed")):
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        for folder in (lock_folder(path), make_cache_path(path)):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class NewCalls:
    """The calls after an earlier one, each with its key: `last` is the number of the newest call.

    `lost` of them are leases of processes that ended early: a request may have been sent or not. `served` has
    the names of the models that gave the verdicts of these calls.
    """

    calls: tuple[tuple[str, Call], ...]
    last: int
    lost: int
    served: frozenset[str] = frozenset()


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

    For a store that one process at a time uses: each lease is of a process that has ended. Raises StoreError.
    """
    with _begin_transaction(path) as connection:
        holders = connection.execute("SELECT DISTINCT owner FROM claims").fetchall()
        lost = sum(expire_leases(connection, holder) for (holder,) in holders)
        rows = connection.execute(
            f"SELECT id, key, {CALL_COLUMNS} FROM calls WHERE id > ? ORDER BY id",  # noqa: S608  # fixed names
            (number,),
        ).fetchall()
        calls = tuple((key, read_call(*values)) for _, key, *values in rows)
        names = connection.execute(
            "SELECT DISTINCT json_extract(body, '$.served_model') FROM verdicts WHERE json_valid(body)"
            " AND key IN (SELECT key FROM calls WHERE id > ?)",
            (number,),
        )
        served = frozenset(name for (name,) in names if isinstance(name, str) and name)
    return NewCalls(calls, rows[-1][0] if rows else number, lost, served)


def has_calls_only_since(path: Path, time: datetime) -> bool:
    """Return whether the store at `path` has calls, and all were made at the UTC `time` or later."""
    if not path.exists():
        return False
    with _begin_transaction(path) as connection:
        statement = "SELECT coalesce(min(made_at) >= ?, 0) FROM calls"
        (is_since,) = connection.execute(statement, (time.isoformat(timespec="seconds"),)).fetchone()
    return bool(is_since)


@contextmanager
def _begin_transaction(
    path: Path, attached: Path | None = None, problem: Message = _UNUSABLE
) -> Iterator[sqlite3.Connection]:
    with _translate_errors(path, problem):
        for store in filter(None, (path, attached)):
            open_store(store, _WAIT).close()  # a store that was just created has no tables yet
        with closing(connect(path, _WAIT)) as connection:
            if attached is not None:
                connection.execute("ATTACH ? AS attached", (str(attached),))
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


@contextmanager
def _translate_errors(path: Path, problem: Message) -> Iterator[None]:
    try:
        yield
    except (*STORE_ERRORS, ValueError) as error:
        raise StoreError(
            "{file}: {problem}: {error}", file=path, problem=problem, error=explain_error(error)
        ) from error
