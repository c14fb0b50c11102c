"""Stores of the nights: what is added, what is kept apart, what a kill leaves."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judge.errors import StoreError
from judge.nightly import stores
from judge.nightly.stores import NightStores
from judge.records import Call, Usage
from judge.store import store_files
from judge.store.leases import Lease
from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictStore
from tests.support.cases import check_each


def put(path: Path, **grades: int) -> Path:
    """The store at `path` with a verdict and a call for each key."""

    async def save(store: VerdictStore) -> None:
        for key, grade in grades.items():
            verdict = StoredVerdict(grade, "why", (), "{}", {}, None, "fake", None)
            await store.save(
                Lease(key), VerdictKeyInfo("fake", "graded@1", 1), verdict, [Call("answered", Usage(9, 0, 1))]
            )

    with VerdictStore(path) as store:
        asyncio.run(save(store))
    return path


def read_content(path: Path, keys: str = "abc") -> tuple[dict[str, int], int]:
    """The grades in a store, by key, and how many calls it knows of."""
    with VerdictStore(path) as store:
        return {key: match.grade for key, match in store.find_verdicts(keys).items()}, len(
            list(store.read_calls(keys))
        )


def make_night(shared_store: Path, day: str) -> NightStores:
    """The stores of a night, in the folder of the shared one."""
    return NightStores(shared_store.parent, day, shared_store)


@pytest.fixture
def shared_store(tmp_path: Path) -> Path:
    """A store that nights share."""
    return put(tmp_path / "verdicts.sqlite", a=3)


def test_a_nights_own_store_is_a_copy_until_it_is_added(shared_store: Path) -> None:
    night = make_night(shared_store, "2026-05-02")
    own = put(night.begin_own(), b=1)
    assert night.begin_own() == own
    assert (read_content(own), read_content(shared_store)) == (({"a": 3, "b": 1}, 2), ({"a": 3}, 1))
    night.end_own()
    assert read_content(shared_store) == ({"a": 3, "b": 1}, 2)
    assert {path.name for path in shared_store.parent.iterdir()} <= {
        f"{shared_store.name}{ending}" for ending in ("", ".locks", "-wal", "-shm")
    }


def test_two_nights_that_overlap_lose_nothing(shared_store: Path) -> None:
    first, second = (make_night(shared_store, day) for day in ("2026-05-02", "2026-05-03"))
    put(first.begin_own(), b=1)
    put(second.begin_own(), c=2)
    second.end_own()
    first.end_own()
    first.end_own()  # a process that died in between does it again
    assert read_content(shared_store) == ({"a": 3, "b": 1, "c": 2}, 3)


def test_the_first_night_makes_the_shared_store(tmp_path: Path) -> None:
    shared_store = tmp_path / "verdicts.sqlite"
    night = make_night(shared_store, "2026-05-01")
    put(night.begin_own(), a=2)
    night.end_own()
    assert read_content(shared_store) == ({"a": 2}, 1)


def test_a_store_that_was_kept_apart_takes_the_place_of_the_shared_one(shared_store: Path) -> None:
    quarantined = put(make_night(shared_store, "2026-05-07").quarantined, b=0)
    assert list(stores.iter_quarantined_stores(shared_store.parent)) == [(quarantined, "2026-05-07")]
    make_night(shared_store, "2026-05-08").promote(quarantined.name)
    assert read_content(shared_store) == ({"b": 0}, 1)
    assert read_content(shared_store.with_name("verdicts.backup-2026-05-07.sqlite")) == ({"a": 3}, 1)
    assert list(stores.iter_quarantined_stores(shared_store.parent)) == []


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    shared_store = tmp_path / "verdicts.sqlite"
    shared_store.write_text("no database, and long enough to be looked at by SQLite as if it were one" * 20)
    with pytest.raises(StoreError, match=r"verdicts\.sqlite"):
        make_night(shared_store, "2026-05-02").begin_own()


def test_a_damaged_row_never_replaces_a_sound_one(shared_store: Path) -> None:
    own = put(make_night(shared_store, "2026-05-02").begin_own(), a=3, b=1)
    for damaged, sound in ((shared_store, own), (own, shared_store)):
        with closing(sqlite3.connect(damaged)) as connection:
            connection.execute("UPDATE verdicts SET body = replace(body, 'why', 'wry') WHERE key = 'a'")
            connection.commit()
        store_files.merge_store(damaged, sound)
        assert read_content(sound)[0]["a"] == 3
        put(damaged, a=3)
    put(own, c=1)
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("UPDATE verdicts SET grade = 2 WHERE key = 'c'")
        connection.commit()
    store_files.merge_store(own, shared_store)
    assert read_content(shared_store)[0] == {"a": 3, "b": 1}


@check_each(
    "column, value",
    [
        *((column, "CAST(x'7bff' AS TEXT)") for column in ("key", "grade", "body", "checksum")),
        ("body", "CAST(body AS BLOB)"),
    ],
)
def test_a_row_that_holds_no_text_is_left_out_of_a_merge(tmp_path: Path, column: str, value: str) -> None:
    night, shared = put(tmp_path / "night.sqlite", a=3, b=1), tmp_path / "shared.sqlite"
    with closing(sqlite3.connect(night)) as connection:
        connection.execute(f"UPDATE verdicts SET {column} = {value} WHERE key = 'b'")  # noqa: S608
        connection.commit()
    store_files.merge_store(night, shared)
    with closing(sqlite3.connect(shared)) as connection:
        assert connection.execute("SELECT key, grade FROM verdicts").fetchall() == [("a", 3)]


def test_only_what_a_night_paid_for_is_quarantined(tmp_path: Path) -> None:
    """A quarantined store of another assessor, of an earlier start of the day, is replaced."""
    shared = put(tmp_path / "verdicts.sqlite", a=1, b=2)
    night = make_night(shared, "2026-05-02")
    put(night.begin_own(), c=3)
    put(night.quarantined, a=0, b=0)
    night.quarantine_own()
    assert read_content(night.quarantined)[0] == {"c": 3}
    assert read_content(night.own)[0] == {"a": 1, "b": 2, "c": 3}
    assert read_content(shared)[0] == {"a": 1, "b": 2}
