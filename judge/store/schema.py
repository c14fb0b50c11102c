"""The file of a store: its schema, the checks before a file is used as a store, and the rows of calls.

The table of leases is called `claims` in the file, and its column of holders `owner`. Format 2 adds the
tables of batches. Format 3 stores verdicts in the order in which they are saved. Format 4 adds the message of
a content filter to its call. Format 5 adds a digest of the settings to a verdict. A file of an earlier format
is changed when it is opened.
"""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import fields
from functools import cache, lru_cache, partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from filelock import FileLock

from judge.errors import PATH_ERRORS, InputError
from judge.files.filesystem import check_regular, make_folder
from judge.messages import Message
from judge.records import Call, Usage
from judge.store.leases import lock_folder, make_timestamp

#: Distinguishes a verdict store from any other SQLite file.
_APPLICATION_ID = int.from_bytes(b"judg")
#: The statements that make a file of format N from one of format N - 1; an empty file has format 0.
_UPGRADES = (
    """
CREATE TABLE verdicts (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
    grade INTEGER NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL, judged_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, outcome TEXT NOT NULL, maybe_billed INTEGER NOT NULL,
    prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER, reasoning_tokens INTEGER,
    made_at TEXT NOT NULL
);
CREATE INDEX calls_by_key ON calls (key);
""",
    """
ALTER TABLE calls ADD COLUMN in_batch INTEGER NOT NULL DEFAULT 0;
CREATE TABLE batches (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, params TEXT NOT NULL, file_id TEXT NOT NULL,
    server_id TEXT NOT NULL, changed_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE batch_requests (key TEXT PRIMARY KEY, batch TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX batch_requests_by_batch ON batch_requests (batch);
""",
    # In a tree ordered by key, each verdict of 1 kB takes a page of its own, and a commit writes whole pages.
    """
ALTER TABLE verdicts RENAME TO verdicts_by_key;
CREATE TABLE verdicts (
    key TEXT NOT NULL PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
    grade INTEGER NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL, judged_at TEXT NOT NULL
);
INSERT INTO verdicts SELECT * FROM verdicts_by_key;
DROP TABLE verdicts_by_key;
""",
    """
ALTER TABLE calls ADD COLUMN detail TEXT NOT NULL DEFAULT '';
""",
    # The settings of a verdict of an earlier format are unknown.
    """
ALTER TABLE verdicts ADD COLUMN settings_digest TEXT NOT NULL DEFAULT '';
""",
)
_FORMAT = len(_UPGRADES)
#: What working with a file raises that is damaged, locked or on a full disk: a damaged schema may be no text.
STORE_ERRORS = (sqlite3.Error, OSError, UnicodeError)
#: The columns of the table `calls` that hold the fields of a call.
CALL_COLUMNS = (
    "outcome, maybe_billed, in_batch, detail, prompt_tokens, cached_tokens, completion_tokens"
    ", reasoning_tokens"
)
_TOKENS = tuple(field.name for field in fields(Usage))
_get_tokens = attrgetter(*_TOKENS)


def open_store(path: Path, wait: float) -> sqlite3.Connection:
    """Return a connection to the store at `path`, which is created when absent.

    Raises InputError when the file is not a verdict store, and leaves it unchanged.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(closing(connect(path, wait)))
        is_current = _check_format(connection, path) == _FORMAT
        if not is_current or connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            make_folder(lock_folder(path))
            check_regular(lock_folder(path) / "init.lock")
            # When two processes start at once on a new file, SQLite rejects one without waiting.
            with FileLock(lock_folder(path) / "init.lock", timeout=wait):
                connection.execute("PRAGMA journal_mode=WAL")
                _upgrade(connection, _check_format(connection, path))
        stack.pop_all()
    return connection


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """Return a connection; each commit is on disk when it returns. `wait` is in seconds.

    Raises OSError when the file, or one that SQLite keeps beside it, is a link or no regular file.
    """
    # SQLite follows links, and has no option against it that Python offers.
    check_regular(path)  # a folder can have no name
    check_regular(*(path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm", "journal")))
    with suppress(FileExistsError):  # SQLite does not say why a file cannot be made
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    with ExitStack() as stack:
        opened = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
        connection = stack.enter_context(closing(opened))
        # A damaged text must not hide all others: it becomes another text, and misses its checksum.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA synchronous=FULL")
        stack.pop_all()
    return connection


def _check_format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of the file, 0 for a new one; raise InputError when it is not a store of judge."""
    application_id, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if (tables or version) and application_id != _APPLICATION_ID:
        raise InputError(
            "{file}: is a database of another program; name another file with the option --store", file=path
        )
    if version > _FORMAT:
        raise InputError(
            "{file}: was written by a newer judge (format {version}); update judge",
            file=path,
            version=version,
        )
    if application_id != _APPLICATION_ID or not tables:
        return 0
    _check_schema(connection, path, version)
    return int(version)


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Change a file of the format `version` to the newest one, in one transaction."""
    if version < _FORMAT:
        statements = "".join(_UPGRADES[version:])
        connection.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id={_APPLICATION_ID}; PRAGMA user_version={_FORMAT};"
            f"{statements} COMMIT;"
        )
        # The header shows other programs that the file is a store, also while it is open.
        connection.execute("PRAGMA wal_checkpoint")


def _check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise InputError when the file holds anything but the tables and indexes of a store of that format.

    A trigger or a view would run SQL of the author of the file with every verdict.
    """
    schema, expected = _list_objects(connection), _list_expected_objects(version)
    for name in sorted({*schema, *expected}):
        if schema.get(name) != expected.get(name):
            raise InputError(
                "{file}: is not a verdict store of judge: its {kind} {name!r} is unknown, changed or missing;"
                " restore a copy of it, or name another file with the option --store",
                file=path,
                kind=(schema.get(name) or expected[name])[0],
                name=name,
            )


def _list_objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str, str]]:
    """Return kind, table and SQL of each object in the schema, by name, white space in the SQL collapsed."""
    rows = connection.execute("SELECT name, type, tbl_name, sql FROM sqlite_schema").fetchall()
    return {
        str(name): (str(kind), str(table), " ".join(str(sql).split()))
        for name, kind, table, sql in rows
        # The tables of statistics that ANALYZE creates.
        if not (kind == "table" and name in ("sqlite_stat1", "sqlite_stat4"))
    }


@cache
def _list_expected_objects(version: int) -> dict[str, tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript("".join(_UPGRADES[:version]))
        return _list_objects(connection)


def is_locked(error: Exception) -> bool:
    """Return whether `error` says that another connection keeps the file locked."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def is_no_database(error: Exception) -> bool:
    """Return whether `error` says that the file is no database, or that its path cannot be a file."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith("SQLITE_NOTADB") or getattr(error, "errno", None) in {*PATH_ERRORS, errno.ENOENT}


def choose_advice(error: Exception) -> str:
    """Return what to do about `error`, where SQLite's message does not say it."""
    name = getattr(error, "sqlite_errorname", "")
    if is_locked(error):
        return Message(
            "; another program keeps it locked: end that program (a database browser, a copy, a backup) or"
            " name another file with the option --store, then run the same command again"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or isinstance(error, ValueError | TypeError):
        return Message("; restore a copy of it, or name another file with the option --store")
    if isinstance(error, OSError) or name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return Message("; name another file with the option --store")
    return ""


def select_by_key(connection: sqlite3.Connection, statement: str, keys: Iterable[str]) -> Iterator[Any]:
    """Yield the rows of a statement that ends with the placeholder of its `keys`, `key IN ({})`."""
    source = iter(keys)
    # SQLite takes 32,766 variables a statement; shorter statements parse faster.
    while chunk := tuple(islice(source, 5000)):
        yield from connection.execute(statement.format(",".join("?" * len(chunk))), chunk).fetchall()


def insert_calls(connection: sqlite3.Connection, key: str, calls: Sequence[Call]) -> None:
    """Insert the calls that were made for `key`; a call in a batch ends its request there."""
    now = make_timestamp()
    for call in calls:
        if call.in_batch:
            connection.execute("DELETE FROM batch_requests WHERE key = ?", (key,))
        tokens = _get_tokens(call.usage) if call.usage else (None,) * 4
        connection.execute(
            f"INSERT INTO calls (key, {CALL_COLUMNS}, made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  # fixed names
            (key, call.outcome, call.maybe_billed, call.in_batch, call.detail, *tokens, now),
        )


@lru_cache(maxsize=4096, typed=True)  # many calls are equal
def read_call(outcome: str, maybe_billed: int, in_batch: int, detail: str, *tokens: int | None) -> Call:
    """Return the call of a row of `CALL_COLUMNS`; raise ValueError for an invalid token count."""
    for count in tokens:
        if count is not None and (type(count) is not int or count < 0):
            raise ValueError(f"a call took {[*tokens]} tokens")
    usage = None if tokens[0] is None else Usage(*[count or 0 for count in tokens])
    return Call(outcome, usage, bool(maybe_billed), bool(in_batch), detail)
