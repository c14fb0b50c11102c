"""The file of a store: its schema, and the checks before a file is used as a store."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

from filelock import FileLock

from judge.errors import StoreError
from judge.filesystem import check_regular, make_folder

_APPLICATION_ID = 0x6A756467  # "judg": tells our file from any other SQLite file
_SCHEMA_VERSION = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id={_APPLICATION_ID};
PRAGMA user_version={_SCHEMA_VERSION};
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
    grade INTEGER NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL, judged_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, outcome TEXT NOT NULL, maybe_billed INTEGER NOT NULL,
    prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER, reasoning_tokens INTEGER,
    made_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (key);
COMMIT;
"""


def owners(path: Path) -> Path:
    """The folder in which those who use the store at `path` show that they are alive."""
    return path.with_name(path.name + ".owners")


def open_store(path: Path, wait: float) -> sqlite3.Connection:
    """A connection to the store at `path`, which is made when absent.

    Raises StoreError when the file is not ours, and leaves it as it is.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(closing(connect(path, wait)))
        if not _is_ours(connection, path) or not _keeps_a_log(connection):
            make_folder(owners(path))
            # Two that start at once on a new file: SQLite turns one away without waiting.
            with FileLock(owners(path) / "door", timeout=wait):
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(_SCHEMA)
        opened.pop_all()
    return connection


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """A connection whose commits are on disk when they return; `wait` is in seconds.

    Raises OSError when the file, or one that SQLite keeps beside it, is a link or no regular file.
    """
    # SQLite follows links, and has no option against it that Python offers.
    check_regular(path, *(path.with_name(f"{path.name}-{each}") for each in ("wal", "shm", "journal")))
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a store, not a new one; raises StoreError when it is neither."""
    found, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if (tables or version) and found != _APPLICATION_ID:
        raise StoreError(f"{path}: is a database of another program; name another file with --store")
    if version > _SCHEMA_VERSION:
        raise StoreError(f"{path}: was written by a newer judge (format {version}); update judge")
    if found != _APPLICATION_ID or not tables:
        return False
    _check_schema(connection, path)
    return True


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreError when the file holds anything but the tables and the index of a store.

    A trigger or a view would run SQL of the person who made the file with every verdict.
    """
    schema, expected = _objects(connection), _expected()
    for name in sorted({*schema, *expected}):
        if schema.get(name) != expected.get(name):
            kind = (schema.get(name) or expected[name])[0]
            what = "holds" if name not in expected else "lacks" if name not in schema else "has changed"
            raise StoreError(
                f"{path}: is not a verdict store as judge makes it: it {what} the {kind} {name!r}; restore a"
                " copy of it, or name another file with --store"
            )


def _objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str, str]]:
    """Kind, table and SQL of each object in the schema, by name, white space in the SQL collapsed."""
    rows = connection.execute("SELECT name, type, tbl_name, sql FROM sqlite_schema").fetchall()
    return {
        str(name): (str(kind), str(table), " ".join(str(sql).split()))
        for name, kind, table, sql in rows
        # What ANALYZE keeps: plain tables of statistics.
        if not (kind == "table" and name in ("sqlite_stat1", "sqlite_stat4"))
    }


@cache
def _expected() -> dict[str, tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_SCHEMA)
        return _objects(connection)


def _keeps_a_log(connection: sqlite3.Connection) -> bool:
    """Whether commits go to a write-ahead log, as in every store that nobody has worked on."""
    return bool(connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def is_locked(error: Exception) -> bool:
    """Return whether `error` says that another connection keeps the file locked."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def advice(error: Exception) -> str:
    """What to do about `error`, where SQLite's own words don't say."""
    name = getattr(error, "sqlite_errorname", "")
    if is_locked(error):
        return (
            "; another program keeps it locked: end that program (a database browser, a copy, a backup) or"
            " name another file with --store, then run the same command again"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or isinstance(error, ValueError | TypeError):
        return "; restore a copy of it, or name another file with --store"
    return ""
