"""The ledger: the table of the calls that were made, each with its outcome and its tokens."""

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter

from judge.records import Call, Usage
from judge.store.leases import make_timestamp

#: The columns of the table `calls` that hold the fields of a call.
CALL_COLUMNS = (
    "outcome, maybe_billed, in_batch, detail, prompt_tokens, cached_tokens, completion_tokens"
    ", reasoning_tokens"
)
_TOKENS = tuple(field.name for field in fields(Usage))
_get_tokens = attrgetter(*_TOKENS)


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
