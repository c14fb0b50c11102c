"""The store keeps paid verdicts and calls after kills, damage and writes of other processes."""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from pathlib import Path

import pytest

from judge.errors import InputError, StoreError
from judge.records import ANSWERED, Call, Usage
from judge.store.leases import Busy, Lease, ProcessLock
from judge.store.store import Failure, StoredVerdict, VerdictStore
from tests.support.cases import check_each
from tests.support.stores import INFO

LEASE = Lease("k")


def test_a_process_lives_while_its_lock_is_held_also_after_a_copy_by_hard_links(tmp_path: Path) -> None:
    living = ProcessLock(tmp_path / "locks")
    lock = tmp_path / "locks" / f"{living.id}.lock"
    (tmp_path / "copy.lock").hardlink_to(lock)
    other = ProcessLock(tmp_path / "locks")
    assert not other.remove_if_ended(living.id)
    living.close()
    lock.unlink(missing_ok=True)
    lock.hardlink_to(tmp_path / "copy.lock")
    assert other.remove_if_ended(living.id)
    assert not lock.exists()
    other.close()


def make_verdict(grade: int = 2, reason: str = "names the dose") -> StoredVerdict:
    return StoredVerdict(
        grade, reason, ("re_asked",), '{"grade": 2}', {"temperature": 0}, Usage(10, 4, 5), "m", "r1"
    )


def save_verdict(
    store: VerdictStore, key: str, stored: StoredVerdict, calls: list[Call] | None = None
) -> None:
    async def acquire_and_save() -> None:
        assert await store.acquire([key]) == [Lease(key)]
        await store.save(Lease(key), INFO, stored, calls or [])

    asyncio.run(acquire_and_save())


def test_a_verdict_is_read_as_it_was_stored(tmp_path: Path) -> None:
    stored = make_verdict(reason="“说明”\ud83d \x00 \u2028 end")
    with VerdictStore(tmp_path / "v.sqlite") as store:
        save_verdict(store, "k", stored)
    with VerdictStore(tmp_path / "v.sqlite") as store:
        assert store.find_verdicts(["k", "absent"]) == {"k": stored}


def test_calls_are_kept_in_order_failed_ones_included(tmp_path: Path) -> None:
    calls = [Call("rate_limit"), Call("answered", Usage(10, 0, 5))]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        save_verdict(store, "a", make_verdict(), calls)
        asyncio.run(store.release(Lease("b"), [Call("content_filter")]))
        assert list(store.read_calls(["a", "b"])) == [*calls, Call("content_filter")]
        assert store.find_verdicts(["b"]) == {}


def test_a_refusal_is_an_answer_that_another_process_finds_too(tmp_path: Path) -> None:
    refusal, refused = Failure("content_filter", "not this"), Call("content_filter", detail="not this")

    async def acquire() -> None:
        with VerdictStore(tmp_path / "v.sqlite") as first, VerdictStore(tmp_path / "v.sqlite") as second:
            assert await first.acquire(["k", "l"]) == [LEASE, Lease("l")]
            await first.release(LEASE, [Call("rate_limit"), refused])
            await first.release(Lease("l"), [refused])
            assert await second.acquire(["k", "l"]) == [refusal, refusal]
            assert second.find_answers(["k", "absent"]) == {"k": refusal}
            assert list(second.read_calls(["k"])) == [Call("rate_limit"), refused]
            await second.save(Lease("l"), INFO, make_verdict(), [])
            assert await second.acquire(["k", "l"]) == [refusal, make_verdict()]
            assert second.find_answers(["k", "l"]) == {"k": refusal, "l": make_verdict()}

    asyncio.run(acquire())


def test_a_running_process_keeps_its_lease_and_a_closed_one_loses_it(tmp_path: Path) -> None:
    async def acquire() -> None:
        first = VerdictStore(tmp_path / "v.sqlite")
        with VerdictStore(tmp_path / "v.sqlite") as second:
            assert await first.acquire(["k"]) == [LEASE]
            assert await second.acquire(["k"]) == [Busy.LEASED_ELSEWHERE]
            first.close()
            assert await second.acquire(["k"]) == [LEASE]
            assert list(second.read_calls(["k"])) == [Call("lost", maybe_billed=True)]

    asyncio.run(acquire())


def test_acquire_finds_a_verdict_that_another_process_stored_meanwhile(tmp_path: Path) -> None:
    async def acquire() -> None:
        with VerdictStore(tmp_path / "v.sqlite") as first, VerdictStore(tmp_path / "v.sqlite") as second:
            assert await first.acquire(["k"]) == [LEASE]
            await first.save(LEASE, INFO, make_verdict(), [])
            assert await second.acquire(["k"]) == [make_verdict()]

    asyncio.run(acquire())


def test_a_killed_process_loses_no_acknowledged_verdict_and_no_lease_stays(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from judge.store.leases import Busy, Lease
        from judge.store.store import VerdictKeyInfo, VerdictStore, StoredVerdict
        async def work(store):
            number = 0
            while True:
                keys = [str(number + i) for i in range(8)]
                number += 8
                await store.acquire(keys)
                async def one(key):
                    stored = StoredVerdict(1, "r", (), "", {}, None, "m", None)
                    await store.save(Lease(key), VerdictKeyInfo("m", "p", 1), stored, [])
                    print(key, flush=True)
                await asyncio.gather(*map(one, keys))
        asyncio.run(work(VerdictStore(Path(sys.argv[1]))))
    """)
    path = tmp_path / "v.sqlite"
    acknowledged: list[str] = []
    for _ in range(3):
        path.unlink(missing_ok=True)
        for rest in tmp_path.glob("v.sqlite-*"):
            rest.unlink()
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(60)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += process.stdout.read().split()
        process.stdout.close()
        process.wait()
        with VerdictStore(path) as store:
            assert set(store.find_verdicts(acknowledged)) == set(acknowledged)
            for key in ("in", "flight"):
                assert asyncio.run(store.acquire([key])) == [Lease(key)]
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


@pytest.mark.parametrize("assignment", ["grade = 3", "body = x'80ff00'", "body = x''", "checksum = x'00'"])
def test_a_damaged_row_is_refused_and_listed(tmp_path: Path, assignment: str) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        save_verdict(store, "k", make_verdict(grade=0))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE verdicts SET " + assignment)  # noqa: S608  # of the four above
    connection.commit()
    connection.close()
    with VerdictStore(path) as store:
        assert store.find_verdicts(["k"]) == {}
        assert store.corrupt_keys == ["k"]
        save_verdict(store, "k", make_verdict(grade=0))
        assert store.find_verdicts(["k"]) == {"k": make_verdict(grade=0)}


def test_a_damaged_text_hides_no_other_row_and_a_damaged_schema_is_an_error_of_the_store(
    tmp_path: Path,
) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        for key in ("damaged", "whole"):
            save_verdict(store, key, make_verdict(reason=f"the reason of {key}"))
    content = path.read_bytes()
    assert content.count(b"reason of damaged") == 1
    path.write_bytes(content.replace(b"reason of damaged", b"reason of \xffamaged"))
    with VerdictStore(path) as store:
        assert [*store.find_verdicts(["damaged", "whole"])] == ["whole"]
        assert store.corrupt_keys == ["damaged"]
    path.write_bytes(content.replace(b"CREATE TABLE calls", b"CREATE TABLE \xff\xff\xff\xff\xff"))
    with pytest.raises((StoreError, InputError), match=r"v\.sqlite: "):
        VerdictStore(path)


def test_a_row_with_a_right_checksum_that_is_no_verdict_is_refused_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        save_verdict(store, "k", make_verdict(grade=0))
    connection = sqlite3.connect(path)
    [genuine] = connection.execute("SELECT body FROM verdicts").fetchone()
    bodies = [json.dumps({**json.loads(genuine), "usage": {"prompt_tokens": [1]}}), "{}", "[", "1"]
    bodies += [json.dumps({**json.loads(genuine), "flags": 7}), '{"reason": "\\ud800", "flags": 7}']
    nested = json.dumps({**json.loads(genuine), "params": {"a": 0}})
    bodies.append(nested.replace('"a": 0', '"a": ' + "[" * 100_000 + "]" * 100_000))
    for name in json.loads(genuine):
        bodies.append(
            json.dumps({each: value for each, value in json.loads(genuine).items() if each != name})
        )
    for body in (genuine, *bodies):
        row = (body, hashlib.sha256(f"k\n0\n{body}".encode()).hexdigest()[:32])
        connection.execute("UPDATE verdicts SET body = ?, checksum = ?", row)
        connection.commit()
        with VerdictStore(path) as store:
            if body == genuine:
                assert store.find_verdicts(["k"]) == {"k": make_verdict(grade=0)}
                continue
            assert store.find_verdicts(["k"]) == {}, body
            assert store.corrupt_keys == ["k"]
            assert asyncio.run(store.acquire(["k"])) == [Lease("k")], body
    connection.close()


@pytest.mark.parametrize("grade", [-1, 4, 99_999_999_999])
def test_a_grade_above_every_scale_is_refused_whatever_its_checksum(tmp_path: Path, grade: int) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        save_verdict(store, "k", make_verdict(grade=grade))
        assert store.find_verdicts(["k"]) == {}
        assert store.corrupt_keys == ["k"]


@pytest.mark.parametrize("content", [b"not a database at all, just text" * 40, json.dumps({}).encode()])
def test_a_file_that_is_not_a_store_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"v\.sqlite"):
        VerdictStore(path)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="another program"):
        VerdictStore(path)


def test_a_refused_file_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("PRAGMA user_version=7")
        theirs.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program"):
        VerdictStore(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_of_a_newer_judge_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    VerdictStore(path).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version=99")
    with pytest.raises(InputError, match=r"newer judge \(format 99\); update"):
        VerdictStore(path)


def test_a_store_that_somebody_keeps_locked_is_named_and_nothing_hangs(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with (
        VerdictStore(path, wait=0.05) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with VerdictStore(path, wait=0.05) as reader:
            assert reader.find_verdicts(["k"]) == {}
        with pytest.raises(StoreError, match=r"v\.sqlite: .* is locked; another program keeps it"):
            asyncio.run(store.acquire(["k"]))
        other.execute("ROLLBACK")
        with pytest.raises(StoreError, match="is locked"):
            asyncio.run(store.acquire(["k"]))
    with VerdictStore(path) as store:
        assert asyncio.run(store.acquire(["k"])) == [LEASE]


def test_many_keys_are_found_by_the_index(tmp_path: Path) -> None:
    """To read a whole table for each part of the keys would take time in the square of their number."""
    statements: list[str] = []
    with VerdictStore(tmp_path / "v.sqlite") as store:
        store._reader.set_trace_callback(statements.append)
        keys = [str(number) for number in range(10_000)]
        assert (store.find_verdicts(keys), list(store.read_calls(keys))) == ({}, [])
        store._reader.set_trace_callback(None)
        plans = [
            store._reader.execute(f"EXPLAIN QUERY PLAN {statement}", (None,) * statement.count("?"))
            for statement in statements
        ]
        steps = [step for plan in plans for *_, step in plan.fetchall()]
    assert len(plans) == len(steps) > 2
    assert all(step.startswith("SEARCH") for step in steps), steps


def test_more_keys_are_leased_at_once_than_a_statement_of_sqlite_has_variables(tmp_path: Path) -> None:
    keys = [str(number) for number in range(6_000)]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        # Builds of SQLite differ; most have 32,766.
        store._writer._connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5_500)
        assert asyncio.run(store.acquire(keys)) == list(map(Lease, keys))


def test_a_new_file_that_somebody_keeps_locked_is_named(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"keeps it locked: end that program .* or name another"):
            VerdictStore(path, wait=0.05)


def test_a_damaged_store_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        for number in range(40):
            save_verdict(store, str(number), make_verdict(reason="long " * 200))
    content = bytearray(path.read_bytes())
    content[4096 * 5 :] = b"\xff" * (len(content) - 4096 * 5)
    path.write_bytes(content)
    with VerdictStore(path) as store, pytest.raises(StoreError, match="malformed; restore a copy of it"):
        store.find_verdicts(map(str, range(40)))


@pytest.mark.parametrize("name", ["v.sqlite", "v.sqlite-wal"])
def test_a_store_that_lost_its_file_acknowledges_nothing_more(tmp_path: Path, name: str) -> None:
    with VerdictStore(tmp_path / "v.sqlite") as store:
        save_verdict(store, "k", make_verdict())
        (tmp_path / name).unlink()
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            save_verdict(store, "l", make_verdict())


def test_another_file_in_the_place_of_a_store_is_noticed(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v.sqlite") as store:
        save_verdict(store, "k", make_verdict())
        for name in ("v.sqlite", "v.sqlite-wal"):
            shutil.copy(tmp_path / name, tmp_path / "copy")
            (tmp_path / "copy").rename(tmp_path / name)
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            save_verdict(store, "l", make_verdict())


def test_a_release_whose_waiter_is_cancelled_is_still_committed(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"

    async def cancel_release(store: VerdictStore) -> None:
        task = asyncio.create_task(store.release(LEASE, [Call("lost", maybe_billed=True)]))
        await asyncio.sleep(0.05)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with VerdictStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(cancel_release(store))
        other.execute("ROLLBACK")
    with VerdictStore(path) as store:
        assert asyncio.run(store.acquire(["k"])) == [LEASE]
        assert list(store.read_calls(["k"])) == [Call("lost", maybe_billed=True)]


@check_each("value", ["'many'", "-5", "2.5", "x'00'"])
@check_each("column", ["prompt_tokens", "reasoning_tokens"])
def test_an_invalid_count_of_tokens_is_damage(tmp_path: Path, column: str, value: str) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        save_verdict(store, "k", make_verdict(), [Call(ANSWERED, Usage(1, 2, 3, 4))])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"UPDATE calls SET {column} = {value}")  # noqa: S608
    with (
        VerdictStore(path) as store,
        pytest.raises(StoreError, match=r"read: a call took .*; restore a copy"),
    ):
        list(store.read_calls(["k"]))


def test_an_invalid_time_of_a_call_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        save_verdict(store, "k", make_verdict(), [Call(ANSWERED)])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE calls SET made_at = 'yesterday'")
    with VerdictStore(path) as store, pytest.raises(StoreError, match=r"yesterday.*; restore a copy"):
        store.count_calls_by_second("")


def test_a_store_of_an_older_judge_opens_and_its_leases_expire(tmp_path: Path) -> None:
    """An older judge has its lock files in another folder."""
    path, owner = tmp_path / "v.sqlite", "0123456789ab"
    VerdictStore(path).close()
    shutil.rmtree(tmp_path / "v.sqlite.locks")
    (tmp_path / "v.sqlite.owners").mkdir()
    (tmp_path / "v.sqlite.owners" / f"{owner}.lock").touch()
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        older.execute("INSERT INTO claims VALUES ('k', ?)", (owner,))
    with VerdictStore(path) as store:
        assert asyncio.run(store.acquire(["k"])) == [LEASE]
        assert list(store.read_calls(["k"])) == [Call("lost", maybe_billed=True)]


def test_verdicts_are_synced_to_disk_before_they_count(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v.sqlite") as store:
        modes = [
            store._reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
    assert modes == ["wal", 2]
