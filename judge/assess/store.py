"""Owns the paid truth: one SQLite file of verdicts, claims and calls, shared by runs and processes.

A verdict counts once it is committed (WAL, synchronous=FULL). A claim is written before a call is
paid, so that two processes never pay for one key; claims of a process that died are taken over.
Failures are kept as calls (they may have cost money), never as verdicts.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

from judge.assess import file
from judge.assess.owners import Owner
from judge.assess.writer import Writer
from judge.errors import StoreError
from judge.records import Usage

#: The outcome of a call that brought an answer, readable or not.
ANSWERED = "answered"
#: The outcome of a call whose end nobody saw: its process died, or was in a hurry to end.
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was made: `outcome` is `ANSWERED`, an error kind or `LOST`.

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


@dataclass(frozen=True, slots=True)
class Past:
    """Calls that led to the `verdicts` of one prompt.

    `counted` of the `verdicts` have calls with a token count; `usage` is the sum of these counts.
    """

    prompt_version: str
    verdicts: int
    calls: int
    counted: int
    usage: Usage


class Store:
    """The verdict store at `path`, created when absent; use it as a context manager.

    `wait` is how many seconds another process may keep the file locked. Raises StoreError when the file
    is not ours, is damaged or can't be written.
    """

    def __init__(self, path: Path, wait: float = 30.0) -> None:
        self.path = path
        #: Keys whose rows no longer match their checksum; they count as absent and are judged again. The
        #: checksum detects damage, not intent: a person who changes a grade can compute it again.
        self.corrupt_keys: list[str] = []
        with ExitStack() as opened:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._reader = opened.enter_context(closing(file.open_store(path, wait)))
                self._owner = opened.enter_context(Owner(file.owners(path)))
                self._writer = opened.enter_context(closing(Writer(path, file.connect(path, wait))))
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"{path}: cannot be used as a verdict store: {error}{file.advice(error)}"
                ) from error
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commits what is queued, gives up this process's claims and closes the file."""
        self._opened.close()

    def lookup(self, keys: Iterable[str]) -> dict[str, Stored]:
        """The stored verdicts among `keys`; keys without one are absent from the result."""
        found: dict[str, Stored] = {}
        for batch in _batches(keys):
            rows = self._select("SELECT key, grade, body, checksum FROM verdicts WHERE key IN ({})", batch)
            for key, grade, body, checksum in rows:
                if checksum == _checksum(key, grade, body):
                    found[key] = _unpack(grade, body)
                else:
                    self.corrupt_keys.append(key)
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
        with self._reading():
            return [Call(how, _usage(tokens), bool(billed)) for _, how, billed, *tokens in sorted(rows)]

    def past(self, model: str) -> list[Past]:
        """What the verdicts of `model` took, by prompt."""
        rows = self._select(
            "SELECT v.prompt_version, count(DISTINCT c.key), count(*),"
            " count(DISTINCT CASE WHEN c.prompt_tokens IS NOT NULL THEN c.key END),"
            " total(c.prompt_tokens), total(c.cached_tokens), total(c.completion_tokens)"
            " FROM verdicts v JOIN calls c ON c.key = v.key WHERE v.model IN ({})"
            " GROUP BY v.prompt_version ORDER BY v.prompt_version",
            [model],
        )
        return [
            Past(version, verdicts, calls, counted, Usage(*map(int, tokens)))
            for version, verdicts, calls, counted, *tokens in rows
        ]

    def seconds(self, model: str) -> dict[datetime, int]:
        """How many calls that led to verdicts of `model` were written down in which second, in order."""
        rows = self._select(
            "SELECT c.made_at, count(*) FROM verdicts v JOIN calls c ON c.key = v.key"
            " WHERE v.model IN ({}) GROUP BY c.made_at ORDER BY c.made_at",
            [model],
        )
        with self._reading():
            return {datetime.fromisoformat(second): calls for second, calls in rows}

    def _select(self, statement: str, keys: Sequence[str]) -> list[Any]:
        with self._reading():
            return self._reader.execute(statement.format(",".join("?" * len(keys))), keys).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, TypeError, ValueError) as error:
            if isinstance(error, sqlite3.Error) and file.is_locked(error):
                self._reader.execute("PRAGMA busy_timeout=0")  # waited for once, not at each further read
            raise StoreError(f"{self.path}: cannot be read: {error}{file.advice(error)}") from error

    async def claim(self, key: str) -> Stored | Literal["mine", "taken"]:
        """Takes `key` before paying for it.

        Gives the verdict when another process has stored one meanwhile, "mine" when this process
        may pay now, "taken" when a living process is paying.
        """
        return await self._writer.submit(lambda connection: self._claim(connection, key))

    def _claim(self, connection: sqlite3.Connection, key: str) -> Stored | Literal["mine", "taken"]:
        held = self._look(connection, key)
        if held != "free":
            return held
        for owner in self._others(connection, key):
            _bury(connection, owner)
        connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self._owner.id))
        return "mine"

    def look(self, key: str) -> Stored | Literal["free", "taken"]:
        """What `claim` would give now, "free" for "mine"; takes nothing and waits for nobody."""
        with self._reading():
            return self._look(self._reader, key)

    def _look(self, connection: sqlite3.Connection, key: str) -> Stored | Literal["free", "taken"]:
        rows = connection.execute("SELECT grade, body, checksum FROM verdicts WHERE key = ?", (key,))
        for grade, body, checksum in rows.fetchall():
            if checksum == _checksum(key, grade, body):
                return _unpack(grade, body)
        alive = [owner for owner in self._others(connection, key) if not self._owner.is_dead(owner)]
        return "taken" if alive else "free"

    def _others(self, connection: sqlite3.Connection, key: str) -> list[str]:
        """Who else claims `key`."""
        rows = connection.execute(
            "SELECT owner FROM claims WHERE key = ? AND owner <> ?", (key, self._owner.id)
        )
        return [owner for (owner,) in rows.fetchall()]

    async def save(self, key: str, source: Source, verdict: Stored, calls: Sequence[Call]) -> None:
        """Stores a verdict with the calls that led to it; returns when it is on disk."""
        body = _pack(verdict)
        asked = (key, source.model, source.prompt_version, source.repeat)
        row = (*asked, verdict.grade, body, _checksum(key, verdict.grade, body), _now())

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._free(connection, key, calls)

        await self._writer.submit(write)

    async def give_up(self, key: str, calls: Sequence[Call]) -> None:
        """Frees `key` if it is claimed by this process, and keeps the calls that were made for it."""
        await self._writer.submit(lambda connection: self._free(connection, key, calls))

    def log(self, key: str, calls: Sequence[Call]) -> None:
        """Keeps calls that were made for `key`, soon; where that fails, whoever writes next is told."""
        self._writer.post(lambda connection: _log(connection, key, calls))

    def _free(self, connection: sqlite3.Connection, key: str, calls: Sequence[Call]) -> None:
        connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner.id))
        _log(connection, key, calls)


def _bury(connection: sqlite3.Connection, owner: str) -> None:
    """A dead process may have paid for each key it still claims."""
    connection.execute(
        "INSERT INTO calls (key, outcome, maybe_billed, made_at)"
        " SELECT key, ?, 1, ? FROM claims WHERE owner = ?",
        (LOST, _now(), owner),
    )
    connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))


def _log(connection: sqlite3.Connection, key: str, calls: Sequence[Call]) -> None:
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
    if not all(count is None or (type(count) is int and count >= 0) for count in tokens):
        raise ValueError(f"a call took {tokens} tokens")
    return None if tokens[0] is None else Usage(*(count or 0 for count in tokens))


def _checksum(key: str, grade: int, body: str) -> str:
    return hashlib.sha256(f"{key}\n{grade}\n{body}".encode()).hexdigest()[:32]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _batches(keys: Iterable[str]) -> Iterable[list[str]]:
    source = iter(keys)
    # SQLite takes 32,766 variables a statement; smaller batches parse faster.
    return iter(lambda: list(islice(source, 5000)), [])
