"""The ledger counts the calls after an earlier one, and leases of ended processes as lost calls."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judge.errors import StoreError
from judge.records import Call, Usage
from judge.store import store_files
from judge.store.leases import Lease
from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictStore


def log_calls(path: Path, key: str, *calls: Call) -> None:
    with VerdictStore(path) as store:
        asyncio.run(store.release(Lease(key), calls))


def leave_leases(path: Path, *keys: str) -> None:
    """Leave leases without a process."""
    with VerdictStore(path) as store:
        asyncio.run(store.acquire(keys))


def test_calls_are_counted_once_and_leases_of_ended_processes_are_lost_calls(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    first, second = Call("answered", Usage(9, 1, 2)), Call("rate_limit")
    log_calls(path, "a", first, second)
    leave_leases(path, "b", "c")
    assert store_files.settle_new_calls(path, 0) == store_files.NewCalls(
        (("a", first), ("a", second), ("b", Call("lost", None, True)), ("c", Call("lost", None, True))), 4, 2
    )
    assert store_files.settle_new_calls(path, 4) == store_files.NewCalls((), 4, 0)
    log_calls(path, "d", first)
    assert store_files.settle_new_calls(path, 4) == store_files.NewCalls((("d", first),), 5, 0)


def test_the_models_of_new_verdicts_are_named(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    for key, served in (("a", "one"), ("b", "two"), ("c", "")):
        verdict = StoredVerdict(1, "why", (), "{}", {}, None, served, None)
        with VerdictStore(path) as store:
            asyncio.run(
                store.save(Lease(key), VerdictKeyInfo("fake", "graded@1", 1), verdict, [Call("answered")])
            )
    assert store_files.settle_new_calls(path, 0).served == {"one", "two"}
    assert store_files.settle_new_calls(path, 1).served == {"two"}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE verdicts SET body = 'damaged' WHERE key = 'b'")
    assert store_files.settle_new_calls(path, 1).served == frozenset()


def test_leases_in_a_copy_are_no_calls(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    assert store_files.clear_leases(path) == 0
    assert not path.exists()
    log_calls(path, "a", Call("rate_limit"))
    leave_leases(path, "b")
    assert store_files.clear_leases(path) == 1
    assert store_files.settle_new_calls(path, 1) == store_files.NewCalls((), 1, 0)


def test_a_damaged_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    log_calls(path, "a", Call("answered", Usage(9, 1, 2)))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE calls SET prompt_tokens = 'many'")
    with pytest.raises(StoreError, match=r"v\.sqlite: cannot be used: a call took \['many'"):
        store_files.settle_new_calls(path, 0)
