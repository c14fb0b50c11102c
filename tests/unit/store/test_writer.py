"""Each wait for a write ends, whatever fails."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from judge.errors import StoreError
from judge.store import schema
from judge.store.writer import GroupCommitWriter


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[GroupCommitWriter]:
    path = tmp_path / "v.sqlite"
    with (
        closing(schema.open_store(path, 1)),
        closing(GroupCommitWriter(path, schema.connect(path, 1))) as writer_of_test,
    ):
        yield writer_of_test


def raise_error(_: sqlite3.Connection) -> None:
    raise KeyError("an error that the writer does not expect")


def count_leases(connection: sqlite3.Connection) -> int:
    (result,) = connection.execute("SELECT count(*) FROM claims").fetchone()
    return int(result)


def add_lease(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO claims VALUES ('k', 'me')")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_writer_that_fails_ends_every_wait(writer: GroupCommitWriter) -> None:
    async def commit() -> list[object]:
        commits = [writer.commit(write) for write in (add_lease, raise_error, count_leases)]
        first = await asyncio.wait_for(asyncio.gather(*commits, return_exceptions=True), 60)
        later = await asyncio.wait_for(
            asyncio.gather(writer.commit(count_leases), return_exceptions=True), 60
        )
        return [*first, *later]

    outcomes = asyncio.run(commit())
    assert isinstance(outcomes[-1], StoreError)
    assert any("its writer failed" in str(outcome) for outcome in outcomes)


def test_a_file_that_another_process_keeps_locked_is_waited_for_once(tmp_path: Path) -> None:
    path, statements = tmp_path / "v.sqlite", []
    script = (
        "import sqlite3, sys; held = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "held.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    with closing(schema.open_store(path, 1)):
        other = subprocess.Popen(
            [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        connection = schema.connect(path, 0.2)
        connection.set_trace_callback(lambda words: statements.append(words) if "BEGIN" in words else None)

        async def commit(writer: GroupCommitWriter) -> list[object]:
            tasks = [asyncio.create_task(writer.commit(add_lease)) for _ in range(20)]
            writer.enqueue(add_lease)
            first = await asyncio.gather(*tasks, return_exceptions=True)
            later = await asyncio.gather(
                *(writer.commit(count_leases) for _ in range(20)), return_exceptions=True
            )
            return [*first, *later]

        with closing(GroupCommitWriter(path, connection)) as writer:
            outcomes = asyncio.run(commit(writer))
            writer.enqueue(add_lease)
        other.communicate("")
    assert len(outcomes) == 40
    assert all("another program keeps it locked: end that program" in str(each) for each in outcomes)
    assert len(statements) == 1


def test_a_write_without_a_waiter_is_committed_in_its_turn(writer: GroupCommitWriter) -> None:
    async def commit() -> int:
        writer.enqueue(add_lease)
        return await writer.commit(count_leases)

    assert asyncio.run(commit()) == 1


def test_writes_that_wait_are_one_commit_in_their_order(tmp_path: Path) -> None:
    path, statements, queued = tmp_path / "v.sqlite", [], threading.Event()
    with closing(schema.open_store(path, 1)):
        connection = schema.connect(path, 1)
        connection.set_trace_callback(lambda words: statements.append(words) if "COMMIT" in words else None)

        async def write(writer: GroupCommitWriter) -> list[int]:
            writer.enqueue(lambda _: queued.wait(10))
            writer.enqueue(add_lease)
            tasks = [asyncio.ensure_future(writer.commit(count_leases)) for _ in range(3)]
            await asyncio.sleep(0)
            queued.set()
            return await asyncio.gather(*tasks)

        with closing(GroupCommitWriter(path, connection)) as writer:
            assert asyncio.run(write(writer)) == [1, 1, 1]
    assert len(statements) <= 2


def test_the_next_commit_raises_the_error_of_a_write_without_a_waiter(
    writer: GroupCommitWriter,
) -> None:
    async def commit() -> None:
        writer.enqueue(lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)"))
        # The error reaches the commit in the same transaction or in a later one.
        with pytest.raises(StoreError, match="no such table: nowhere"):
            await writer.commit(count_leases)
        with pytest.raises(StoreError, match="no such table: nowhere"):
            await writer.commit(count_leases)

    asyncio.run(commit())


@pytest.mark.parametrize(
    ("answer_seconds", "interval"), [(0, 0.01), (0.005, 0.01), (0.06, 0.015), (0.5, 0.125), (1.5, 0.25)]
)
def test_commits_are_rarer_where_answers_are_slow(
    writer: GroupCommitWriter, answer_seconds: float, interval: float
) -> None:
    writer.adapt_commit_interval(answer_seconds)
    assert writer.interval == pytest.approx(interval)


def test_the_last_writes_do_not_wait_for_the_interval(writer: GroupCommitWriter) -> None:
    async def commit() -> int:
        await writer.commit(add_lease)
        return await asyncio.wait_for(writer.commit(count_leases, at_once=True), 60)

    writer.interval = 3600.0  # to close the writer does not take that long either
    assert asyncio.run(commit()) == 1
