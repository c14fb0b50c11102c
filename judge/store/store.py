"""The verdict store: one SQLite file of verdicts, leases and calls, shared by runs and processes.

A verdict counts once it is committed (WAL, synchronous=FULL). A lease is written before a call is paid for,
so that two processes never pay for one key. The leases of a process expire when it ends. A key in a batch
(`judge.store.batches`) is paid for, too, until its reply is in the ledger. Failures are stored as calls (they
may have cost money), never as verdicts. The rejection by a content filter is final: a key with such a call is
not paid for again.
"""

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from judge.errors import InputError, StoreError, explain_error
from judge.files.stored_records import decode_line, encode_line
from judge.messages import Message
from judge.records import CONTENT_FILTER, GRADED, Call, Params, Usage
from judge.store import schema
from judge.store.batches import BatchTable
from judge.store.leases import Busy, Lease, ProcessLock, expire_leases, lock_folder, make_timestamp
from judge.store.schema import CALL_COLUMNS, insert_calls, read_call, select_by_key
from judge.store.writer import GroupCommitWriter

_SAVE_VERDICT = (
    "INSERT OR REPLACE INTO verdicts (key, model, prompt_version, repeat, settings_digest, grade, body,"
    " checksum, judged_at) VALUES (?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?)"
)
_FIND_VERDICTS = "SELECT key, grade, body, checksum FROM verdicts WHERE key IN ({})"
_FIND_FILTERED = f"SELECT key, detail FROM calls WHERE outcome = '{CONTENT_FILTER}' AND key IN ({{}})"  # noqa: S608  # a constant


class StoredVerdict(msgspec.Struct, frozen=True):
    """A verdict with the reply that it was parsed from. A row without one of the fields is damaged."""

    grade: int
    reason: str
    flags: tuple[str, ...]
    reply: str
    params: Params
    usage: Usage | None
    served_model: str
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an assignment has no verdict: the kind of error, its detail and the last reply.

    `advice` names what helps against a reply that cannot be parsed; `thinking` is True when the model
    returned thinking and no answer. The store has only those of a provider's content filter.
    """

    kind: str
    detail: str = ""
    reply: str = ""
    advice: str = ""
    thinking: bool = False


#: The result of an assignment.
VerdictOrFailure = StoredVerdict | Failure


class VerdictKeyInfo(msgspec.Struct, frozen=True):
    """What a key means, for readers of the file and for estimates.

    `settings_digest` is a hash of the model, its server, the parameters and the scale; "" is unknown.
    """

    model: str
    prompt_version: str
    repeat: int
    settings_digest: str = ""


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """The calls that led to the `verdicts` of one prompt.

    `counted` of the `verdicts` have calls with a token count; `usage` is the sum of these counts.
    """

    prompt_version: str
    verdicts: int
    calls: int
    counted: int
    usage: Usage


class VerdictStore:
    """The verdict store at `path`, created when absent; use it as a context manager.

    `wait` is how many seconds another process may keep the file locked. Raises InputError when the file
    is not a verdict store, StoreError when it is damaged or can't be written.
    """

    def __init__(self, path: Path, wait: float = 30.0) -> None:
        self.path = path
        #: Keys whose rows do not match their checksum; they count as absent and are judged again. The
        #: checksum detects damage, not intent: a person who changes a grade can compute it again.
        self.corrupt_keys: list[str] = []
        with ExitStack() as stack:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._reader = stack.enter_context(closing(schema.open_store(path, wait)))
                self._process_lock = stack.enter_context(closing(ProcessLock(lock_folder(path))))
                connection = schema.connect(path, wait)
                self._writer = stack.enter_context(closing(GroupCommitWriter(path, connection)))
                self.batches = BatchTable(
                    self._reader, self._writer, self._process_lock, self._translate_errors
                )
            except schema.STORE_ERRORS as error:
                message = Message(
                    "{file}: cannot be used as a verdict store: {error}{advice}",
                    file=path,
                    error=explain_error(error),
                    advice=schema.choose_advice(error),
                )
                raise (InputError if schema.is_no_database(error) else StoreError)(message) from error
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is queued, give up this process's leases and close the file."""
        self._stack.close()

    def find_verdicts(self, keys: Iterable[str]) -> dict[str, StoredVerdict]:
        """Return the stored verdicts among `keys`."""
        verdicts: dict[str, StoredVerdict] = {}
        with self._translate_errors():
            for key, *columns in select_by_key(self._reader, _FIND_VERDICTS, keys):
                if verdict := read_verdict(key, *columns):
                    verdicts[key] = verdict
                else:
                    self.corrupt_keys.append(key)
        return verdicts

    def find_answers(self, keys: Iterable[str]) -> dict[str, VerdictOrFailure]:
        """Return the stored verdicts among `keys`, and the failures of a content filter for the others."""
        keys = list(keys)
        verdicts = self.find_verdicts(keys)
        others = (key for key in keys if key not in verdicts)
        with self._translate_errors():
            return {**verdicts, **_find_filtered(self._reader, others)}

    def read_calls(self, keys: Iterable[str]) -> Iterator[Call]:
        """Yield every call that was made for `keys`, those of each key in order."""
        # The index has the calls of a key in order. With ORDER BY, SQLite reads the table for each chunk.
        statement = f"SELECT {CALL_COLUMNS} FROM calls WHERE key IN ({{}})"  # noqa: S608  # fixed names
        with self._translate_errors():
            for values in select_by_key(self._reader, statement, keys):
                yield read_call(*values)

    def read_usage_by_prompt(self, settings_digest: str) -> list[UsageHistory]:
        """Return what the verdicts with this digest of settings took, by prompt."""
        statement = (
            "SELECT v.prompt_version, count(DISTINCT c.key), count(*),"
            " count(DISTINCT CASE WHEN c.prompt_tokens IS NOT NULL THEN c.key END),"
            " total(c.prompt_tokens), total(c.cached_tokens), total(c.completion_tokens)"
            " FROM verdicts v JOIN calls c ON c.key = v.key WHERE v.settings_digest = ?"
            " GROUP BY v.prompt_version ORDER BY v.prompt_version"
        )
        with self._translate_errors():
            return [
                UsageHistory(version, verdicts, calls, counted, Usage(*map(int, tokens)))
                for version, verdicts, calls, counted, *tokens in self._reader.execute(
                    statement, (settings_digest,)
                )
            ]

    def count_calls_by_second(self, settings_digest: str) -> dict[datetime, int]:
        """Return how many calls that led to verdicts with this digest were written in which second.

        The seconds are in order. Requests in batches, which are written when the batch ended, are left out.
        """
        statement = (
            "SELECT c.made_at, count(*) FROM verdicts v JOIN calls c ON c.key = v.key"
            " WHERE v.settings_digest = ? AND NOT c.in_batch GROUP BY c.made_at ORDER BY c.made_at"
        )
        with self._translate_errors():
            rows = self._reader.execute(statement, (settings_digest,))
            return {datetime.fromisoformat(second): calls for second, calls in rows}

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, sqlite3.Error) and schema.is_locked(error):
                self._reader.execute("PRAGMA busy_timeout=0")  # one wait is enough, not one for each read
            raise StoreError(
                "{file}: cannot be read: {error}{advice}",
                file=self.path,
                error=explain_error(error),
                advice=schema.choose_advice(error),
            ) from error

    async def acquire(self, keys: Sequence[str]) -> list[VerdictOrFailure | Lease | Busy]:
        """Acquire the leases of `keys` in one commit, and return one result for each key.

        That is the answer where another process has stored one meanwhile, `Busy` where a living process is
        paying or a batch has not ended.
        """
        try:
            return await self._writer.commit(partial(self._acquire, keys=keys))
        except asyncio.CancelledError:
            for key in keys:  # the writer may have committed them
                self._writer.enqueue(partial(self._release, key=key))
            raise

    def _acquire(
        self, connection: sqlite3.Connection, keys: Sequence[str]
    ) -> list[VerdictOrFailure | Lease | Busy]:
        results: dict[str, VerdictOrFailure | Lease | Busy] = {**_find_filtered(connection, keys)}
        for key, *columns in select_by_key(connection, _FIND_VERDICTS, keys):
            if verdict := read_verdict(key, *columns):
                results[key] = verdict
        holders = dict(select_by_key(connection, "SELECT key, owner FROM claims WHERE key IN ({})", keys))
        others = {*holders.values()} - {self._process_lock.id}
        living = {holder for holder in others if not self._process_lock.remove_if_ended(holder)}
        for holder in others - living:
            expire_leases(connection, holder)
        batch_ids = self.batches.select(connection, keys)
        for key in keys:
            if key in results:
                continue
            batch_id = batch_ids.get(key, "")
            if holders.get(key) in living:
                results[key] = Busy.LEASED_ELSEWHERE
            elif batch_id and batch_id not in self.batches.ended:
                results[key] = Busy.IN_BATCH
            else:
                results[key] = Lease(key, batch_id)
        leases = [(key, self._process_lock.id) for key in keys if isinstance(results[key], Lease)]
        connection.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", leases)
        return [results[key] for key in keys]

    async def save(
        self,
        lease: Lease,
        info: VerdictKeyInfo,
        verdict: StoredVerdict,
        calls: Sequence[Call],
        *,
        at_once: bool = False,
    ) -> None:
        """Store a verdict with the calls that led to it, and end the lease; return when it is on disk."""
        fields = msgspec.to_builtins(verdict)
        del fields["grade"]  # a column of its own
        body = encode_line(fields).strip()
        key_columns = (lease.key, info.model, info.prompt_version, info.repeat, info.settings_digest)
        checksum = _compute_checksum(lease.key, verdict.grade, body)
        row = (*key_columns, verdict.grade, body, checksum)

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_SAVE_VERDICT, (*row, make_timestamp()))
            self._release(connection, lease.key, calls)

        await self._writer.commit(write, at_once=at_once)

    async def release(self, lease: Lease, calls: Sequence[Call] = ()) -> None:
        """End the lease without a verdict, and store the calls that were made for its key."""
        await self._writer.commit(partial(self._release, key=lease.key, calls=calls))

    def adapt_commit_interval(self, answer_seconds: float) -> None:
        """Adapt the interval of commits to the time of the answers of a run, 0 where that is unknown."""
        self._writer.adapt_commit_interval(answer_seconds)

    def log_calls(self, lease: Lease, calls: Sequence[Call]) -> None:
        """Store calls soon; an error is raised by the next write."""
        self._writer.enqueue(partial(insert_calls, key=lease.key, calls=calls))

    def _release(self, connection: sqlite3.Connection, key: str, calls: Sequence[Call] = ()) -> None:
        connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._process_lock.id))
        insert_calls(connection, key, calls)


def _find_filtered(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Failure]:
    """Return the failures of `keys` that the content filter of a provider refused."""
    rows = select_by_key(connection, _FIND_FILTERED, keys)
    return {key: Failure(CONTENT_FILTER, str(detail)) for key, detail in rows}


_VERDICT_DECODER = msgspec.json.Decoder(StoredVerdict)


def read_verdict(key: str, grade: object, body: object, checksum: object) -> StoredVerdict | None:
    """Return the verdict of a row, None when it is damaged or not what a verdict has."""
    if type(grade) is not int or not 0 <= grade <= GRADED.top or type(body) is not str:
        return None
    if checksum != _compute_checksum(key, grade, body.encode()):
        return None
    try:
        # The body has all fields of a verdict but the grade.
        return decode_line(_VERDICT_DECODER, f'{{"grade": {grade}, {body[1:]}'.encode())
    except (ValueError, RecursionError):
        return None


def normalise_params(params: Params) -> Params:
    """Return `params` as JSON gives them back, so that a verdict reads the same before and after storing."""
    return json.loads(json.dumps(dict(params), sort_keys=True))  # type: ignore[no-any-return]


def _compute_checksum(key: str, grade: int, body: bytes) -> str:
    return hashlib.sha256(b"%b\n%d\n%b" % (key.encode(), grade, body)).hexdigest()[:32]
