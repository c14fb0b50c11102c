"""The files of stores: merge one into another, back one up, replace one, remove one."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from judge.cache import name_cache_folder
from judge.errors import StoreError, explain_os_error
from judge.store.leases import lock_folder
from judge.store.schema import connect, open_store
from judge.store.store import CALL_COLUMNS

#: Seconds for which another process may keep a store locked.
_WAIT = 60.0
#: Copy the verdicts and calls of the store `source` that the other store does not have.
_MERGE = (
    "INSERT OR REPLACE INTO main.verdicts SELECT * FROM source.verdicts AS new WHERE NOT EXISTS ("
    "SELECT 1 FROM main.verdicts AS old WHERE old.key = new.key AND old.grade = new.grade"
    " AND old.body = new.body AND old.checksum = new.checksum)",
    f"INSERT INTO main.calls (key, {CALL_COLUMNS}, made_at) SELECT key, {CALL_COLUMNS}, made_at"  # noqa: S608  # fixed names
    " FROM source.calls AS new WHERE NOT EXISTS (SELECT 1 FROM main.calls AS old"
    " WHERE old.key = new.key AND old.outcome = new.outcome AND old.made_at = new.made_at)",
)


def merge_store(source: Path, target: Path) -> None:
    """Add what the store `source` holds, if it is there, to `target`, which is created when absent.

    Raises StoreError when it can't be done; then `target` is as before.
    """
    if not source.exists():
        return
    try:
        for path in (target, source):
            open_store(path, _WAIT).close()  # a store that was just created has no tables yet
        with closing(connect(target, _WAIT)) as connection:
            connection.execute("ATTACH ? AS source", (str(source),))
            connection.execute("BEGIN IMMEDIATE")
            for statement in _MERGE:
                connection.execute(statement)
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            "{target}: cannot take the verdicts of {source}: {error}",
            target=target,
            source=source,
            error=error,
        ) from error


def copy_store(source: Path, target: Path) -> None:
    """Replace the store `target` by a copy of `source`, or by an empty file without it.

    A kill leaves `target` as before. Raises StoreError when it can't be done.
    """
    part = target.with_name(f".{target.name}.part")
    remove_store(part)
    _back_up(source, part)
    part.replace(target)


def replace_store(source: Path, target: Path, backup: Path) -> None:
    """Make what the store `source` holds the store `target`, and remove `source`.

    `backup` keeps what `target` held, unless it is there. A kill at any moment leaves a whole `target`, and
    `source` until it is in its place. Raises StoreError when it can't be done.
    """
    if not backup.exists():
        copy_store(target, backup)
    _back_up(source, target)
    remove_store(source)


def _back_up(source: Path, target: Path) -> None:
    """Make `target` hold what `source` does, in one transaction."""
    try:
        with closing(connect(target, _WAIT)) as connection:
            if source.exists():
                with closing(connect(source, _WAIT)) as original:
                    original.backup(connection)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            "{target}: cannot be copied from {source}: {error}", target=target, source=source, error=error
        ) from error


def remove_store(path: Path) -> None:
    """Remove the store at `path`, if it is there, with the files beside it; raise StoreError."""
    try:
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        for folder in (lock_folder(path), name_cache_folder(path)):
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            "{file}: cannot be removed: {error}", file=path, error=explain_os_error(error)
        ) from error
