"""Owns the paid truth: one SQLite file of verdicts, claims and calls, shared by runs and processes.

A verdict counts once it is committed (WAL, synchronous=FULL). A claim is written before a call is
paid, so that two processes never pay for one key; claims of a process that died are taken over.
Failures are kept as calls (they may have cost money), never as verdicts.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from judge.assess.owners import Owner
from judge.assess.writer import Writer
from judge.errors import StoreError
from judge.records import Usage

_APPLICATION_ID = 0x6A756467  # "judg": tells our file from any other SQLite file
_SCHEMA_VERSION = 1
_SCHEMA = """
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
"""

#: The outcome of a call whose process died before the answer was stored.
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was made: `outcome` is "answered", an error kind or `LOST`.

    `maybe_billed` marks a request that the server may have charged for without an answer reaching us.
    """

    outcome: str
    usage: Usage | None = None
    maybe_billed: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A verdict as the store keeps it, with the reply it was read from."""

    grade: int
    reason: str
    flags: tuple[str, ...]
    reply: str
    params: Mapping[str, Any]
    usage: Usage | None
    served_model: str
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """Which question a key stands for, in words for whoever opens the file with SQL."""

    model: str
    prompt_version: str
    repeat: int


class Store:
    """The verdict store at `path`, created when absent; use it as a context manager.

    Raises StoreError when the file is not ours, is damaged or can't be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._owner = Owner(path.with_name(path.name + ".owners"))
            self._reader = _connect(path)
            _prepare(self._reader, path)
            self._writer = Writer(lambda: _connect(path), name=f"writer of {path.name}")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: cannot be used as a verdict store: {error}") from error
        #: Keys whose rows no longer match their checksum; they count as absent and are judged again.
        self.tampered: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commits what is queued, gives up this process's claims and closes the file."""
        self._writer.close()
        self._owner.release()
        self._reader.close()

    def lookup(self, keys: Iterable[str]) -> dict[str, Stored]:
        """The stored verdicts among `keys`; keys without one are absent from the result."""
        found: dict[str, Stored] = {}
        for batch in _batches(keys):
            rows = self._select("SELECT key, grade, body, checksum FROM verdicts WHERE key IN ({})", batch)
            for key, grade, body, checksum in rows:
                if checksum == _checksum(key, grade, body):
                    found[key] = _unpack(grade, body)
                else:
                    self.tampered.append(key)
        return found

    def calls(self, keys: Iterable[str]) -> list[Call]:
        """Every call that was ever made for `keys`, in the order made."""
        columns = (
            "id, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens"
        )
        rows = [
            row
            for batch in _batches(keys)
            for row in self._select(f"SELECT {columns} FROM calls WHERE key IN ({{}})", batch)  # noqa: S608  # fixed names
        ]
        return [Call(outcome, _usage(tokens), bool(billed)) for _, outcome, billed, *tokens in sorted(rows)]

    def _select(self, statement: str, keys: Sequence[str]) -> list[Any]:
        marks = ",".join("?" * len(keys))
        try:
            return self._reader.execute(statement.format(marks), keys).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error

    async def claim(self, key: str) -> Stored | Literal["mine", "taken"]:
        """Takes `key` before paying for it.

        Gives the verdict when another process has stored one meanwhile, "mine" when this process
        may pay now, "taken" when a living process is paying.
        """
        return await self._writer.submit(lambda connection: self._claim(connection, key))

    def _claim(self, connection: sqlite3.Connection, key: str) -> Stored | Literal["mine", "taken"]:
        row = connection.execute(
            "SELECT grade, body, checksum FROM verdicts WHERE key = ?", (key,)
        ).fetchone()
        if row is not None and row[2] == _checksum(key, row[0], row[1]):
            return _unpack(row[0], row[1])
        holder = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
        if holder is not None and holder[0] != self._owner.id:
            if not self._owner.is_dead(holder[0]):
                return "taken"
            _bury(connection, holder[0])
        connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self._owner.id))
        return "mine"

    async def save(self, key: str, source: Source, verdict: Stored, calls: Sequence[Call]) -> None:
        """Stores a verdict with the calls that led to it; returns when it is on disk."""
        body = _pack(verdict)
        asked = (key, source.model, source.prompt_version, source.repeat)
        row = (*asked, verdict.grade, body, _checksum(key, verdict.grade, body), _now())

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            _log(connection, key, calls)

        await self._writer.submit(write)

    async def give_up(self, key: str, calls: Sequence[Call]) -> None:
        """Frees a claimed `key` that got no verdict, and keeps the calls that were made for it."""
        await self._writer.submit(lambda connection: _log(connection, key, calls))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "trusted_schema=OFF", "busy_timeout=60000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and found != _APPLICATION_ID:
        raise StoreError(f"{path}: is a database of another program; name another file with --store")
    if version > _SCHEMA_VERSION:
        raise StoreError(f"{path}: was written by a newer judge (format {version}); update judge")
    connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
    connection.executescript(_SCHEMA)


def _bury(connection: sqlite3.Connection, owner: str) -> None:
    """A dead process may have paid for each key it still claims."""
    connection.execute(
        "INSERT INTO calls (key, outcome, maybe_billed, made_at)"
        " SELECT key, ?, 1, ? FROM claims WHERE owner = ?",
        (LOST, _now(), owner),
    )
    connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))


def _log(connection: sqlite3.Connection, key: str, calls: Sequence[Call]) -> None:
    connection.execute("DELETE FROM claims WHERE key = ?", (key,))
    for call in calls:
        tokens = tuple(asdict(call.usage).values()) if call.usage else (None,) * 4
        connection.execute(
            "INSERT INTO calls (key, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens,"
            " reasoning_tokens, made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (key, call.outcome, call.maybe_billed, *tokens, _now()),
        )


def _pack(verdict: Stored) -> str:
    fields = {name: getattr(verdict, name) for name in Stored.__slots__ if name not in ("grade", "usage")}
    return json.dumps({**fields, "usage": asdict(verdict.usage) if verdict.usage else None}, sort_keys=True)


def _unpack(grade: int, body: str) -> Stored:
    fields = json.loads(body)
    usage = fields.pop("usage")
    fields["params"] = plain(fields["params"])
    fields["flags"] = tuple(fields["flags"])
    return Stored(grade=grade, usage=Usage(**usage) if usage else None, **fields)


def plain(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """`params` as JSON gives them back, so that a verdict reads the same before and after storing."""
    return _shared(json.dumps(dict(params), sort_keys=True))


@lru_cache(maxsize=64)
def _shared(params: str) -> Mapping[str, Any]:
    """One dict for the many verdicts that were asked for with equal parameters."""
    return json.loads(params)  # type: ignore[no-any-return]


def _usage(tokens: Sequence[int | None]) -> Usage | None:
    return None if tokens[0] is None else Usage(*(count or 0 for count in tokens))


def _checksum(key: str, grade: int, body: str) -> str:
    return hashlib.sha256(f"{key}\n{grade}\n{body}".encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _batches(keys: Iterable[str]) -> Iterable[list[str]]:
    source = iter(keys)
    # SQLite takes 32,766 variables a statement; smaller batches parse faster.
    return iter(lambda: list(islice(source, 5000)), [])
