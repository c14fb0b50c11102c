"""A batch in the store: each key is paid for once, however the process ends."""

import asyncio
from pathlib import Path

from judge.records import ANSWERED, Call, Usage
from judge.store.leases import Busy, Lease
from judge.store.store import VerdictStore
from tests.support.stores import INFO, make_verdict

VERDICT = make_verdict()
IN_BATCH = Call(ANSWERED, Usage(10, 0, 5), in_batch=True)


def test_the_steps_of_a_batch_are_stored(tmp_path: Path) -> None:
    async def submit(store: VerdictStore) -> str:
        batch, keys = await store.batches.plan(["a", "b"], "{}")
        assert keys == ["a", "b"]
        planned = store.batches.load(batch)
        assert planned is not None
        assert (planned.params, planned.file_id, planned.server_id, planned.requests) == ("{}", "", "", 2)
        await store.batches.record_upload(batch, "file-1")
        await store.batches.record_creation(batch, "batch-1")
        return batch

    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        batch = asyncio.run(submit(store))
    with VerdictStore(path) as store:
        assert store.batches.find(["a", "b", "c"]) == {"a": batch, "b": batch}
        created = store.batches.load(batch)
    assert created is not None
    assert (created.file_id, created.server_id) == ("file-1", "batch-1")


def test_a_key_is_in_one_batch_and_nobody_else_pays_for_it(tmp_path: Path) -> None:
    async def plan() -> None:
        with VerdictStore(tmp_path / "v.sqlite") as first, VerdictStore(tmp_path / "v.sqlite") as second:
            await first.acquire(["judged", "leased"])
            await first.save(Lease("judged"), INFO, VERDICT, [])
            batch, keys = await second.batches.plan(["judged", "leased", "a"], "{}")
            assert keys == ["a"]
            assert (await first.batches.plan(["a"], "{}"))[1] == []
            assert await first.acquire(["a"]) == [Busy.IN_BATCH]
            assert await second.acquire(["a"]) == [Busy.IN_BATCH]
            assert second.batches.find(["a"]) == {"a": batch}

    asyncio.run(plan())


def test_a_key_whose_process_died_is_planned_and_its_call_is_in_the_ledger(tmp_path: Path) -> None:
    async def plan() -> None:
        first = VerdictStore(tmp_path / "v.sqlite")
        await first.acquire(["a"])
        first.close()
        with VerdictStore(tmp_path / "v.sqlite") as second:
            assert (await second.batches.plan(["a"], "{}"))[1] == ["a"]
            assert list(second.read_calls(["a"])) == [Call("lost", maybe_billed=True)]

    asyncio.run(plan())


def test_the_reply_of_a_batch_is_in_the_ledger_once(tmp_path: Path) -> None:
    async def collect() -> None:
        with VerdictStore(tmp_path / "v.sqlite") as first, VerdictStore(tmp_path / "v.sqlite") as second:
            batch, _ = await first.batches.plan(["a", "b", "c"], "{}")
            first.batches.ended.add(batch)
            second.batches.ended.add(batch)
            assert await first.acquire(["a", "b"]) == [Lease("a", batch), Lease("b", batch)]
            await first.save(Lease("a", batch), INFO, VERDICT, [IN_BATCH])
            await first.release(Lease("b", batch), [IN_BATCH])
            # The pair without a verdict may be asked again, but not with the same reply.
            assert await second.acquire(["a", "b", "c"]) == [VERDICT, Lease("b"), Lease("c", batch)]
            assert list(second.read_calls(["a", "b"])) == [IN_BATCH, IN_BATCH]

    asyncio.run(collect())


def test_a_process_that_dies_while_it_reads_a_batch_loses_no_call(tmp_path: Path) -> None:
    async def collect() -> None:
        first = VerdictStore(tmp_path / "v.sqlite")
        batch, _ = await first.batches.plan(["a"], "{}")
        first.batches.ended.add(batch)
        await first.acquire(["a"])
        first.close()
        with VerdictStore(tmp_path / "v.sqlite") as second:
            second.batches.ended.add(batch)
            assert await second.acquire(["a"]) == [Lease("a", batch)]
            assert list(second.read_calls(["a"])) == []

    asyncio.run(collect())


def test_a_batch_that_is_not_created_belongs_to_its_process_while_it_lives(tmp_path: Path) -> None:
    async def take_over() -> None:
        first = VerdictStore(tmp_path / "v.sqlite")
        with VerdictStore(tmp_path / "v.sqlite") as second:
            batch, _ = await first.batches.plan(["a"], "{}")
            assert not await second.batches.take_over(batch)
            first.close()
            assert await second.batches.take_over(batch)
            await second.batches.remove(batch)
            assert second.batches.find(["a"]) == {}
            assert second.batches.load(batch) is None
            assert await second.acquire(["a"]) == [Lease("a")]

    asyncio.run(take_over())


def test_keys_that_were_not_paid_for_leave_their_batch(tmp_path: Path) -> None:
    async def remove(store: VerdictStore) -> None:
        batch, _ = await store.batches.plan(["a", "b"], "{}")
        await store.batches.remove(batch, ["a"])
        assert store.batches.find(["a", "b"]) == {"b": batch}
        await store.batches.remove(batch, ["b"])
        assert store.batches.load(batch) is None

    with VerdictStore(tmp_path / "v.sqlite") as store:
        asyncio.run(remove(store))
