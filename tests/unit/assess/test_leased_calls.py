"""A key has a lease before its calls and none after them, however they end; every call is in the ledger."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from judge.assess.judging import make_lease_window
from judge.client.cancel import Cancelled, CancelToken
from judge.client.client import ModelClient, PairPermit
from judge.client.retry import RequestLimits
from judge.errors import Interrupted, RequestRejected, RetryableError
from judge.models.providers import Model
from judge.records import Call, Completion, Prompt, Usage
from judge.store.leases import Busy, Lease
from judge.store.store import StoredVerdict, VerdictOrFailure, VerdictStore
from judge.store.window import PairLease
from tests.support.stores import INFO, make_verdict, run_with_two_stores
from tests.unit.client.simulation import ScriptedModel, SilentModel, make_prompt

VERDICT = make_verdict(reply="yes")
ANSWERED = Call("answered", Usage(prompt_tokens=10, completion_tokens=5))
LEASE, BUSY = Lease("k"), Busy.LEASED_ELSEWHERE


def make_client(model: Model) -> ModelClient:
    return ModelClient(model, RequestLimits(4, 3, 600, 1), CancelToken())


async def request_verdict(
    store: VerdictStore, key: str, client: ModelClient, requests: int = 1
) -> VerdictOrFailure | Busy:
    """Return the verdict of `key` after this many requests; Busy if another process has its lease."""
    [result] = await make_lease_window(store, client).acquire([key])
    if not isinstance(result, PairLease):
        return result
    async with result as lease:
        with PairPermit(client.limiter, lease) as permit:
            for number in range(requests):
                await client.complete(make_prompt(f"tea {number}"), permit)
        await lease.save(INFO, VERDICT)
    return VERDICT


async def wait_for_calls(store: VerdictStore, key: str, calls: list[Call]) -> None:
    """Return when `calls` are in the ledger of `key`."""
    async with asyncio.timeout(60):
        while list(store.read_calls([key])) != calls:  # noqa: ASYNC110  # another process sees the file only
            await asyncio.sleep(0.01)


def test_a_verdict_is_paid_for_once(tmp_path: Path) -> None:
    async def check(store: VerdictStore) -> None:
        client = make_client(ScriptedModel())
        assert await request_verdict(store, "k", client, requests=2) == VERDICT
        assert await request_verdict(store, "k", client) == VERDICT
        assert client.spend_limit.calls == 2
        assert client.limiter.in_flight == 0
        assert list(store.read_calls(["k"])) == [ANSWERED, ANSWERED]

    with VerdictStore(tmp_path / "v.sqlite") as store:
        asyncio.run(check(store))


def test_a_cancelled_call_may_be_billed_and_its_key_is_free(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        model = SilentModel()
        client = make_client(model)
        task = asyncio.create_task(request_verdict(store, "k", client))
        await model.was_called.wait()
        assert await other.acquire(["k"]) == [BUSY]
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert client.limiter.in_flight == 0
        assert list(other.read_calls(["k"])) == [Call("lost", maybe_billed=True)]
        assert await other.acquire(["k"]) == [LEASE]
        assert list(other.read_calls(["k"])) == [Call("lost", maybe_billed=True)]

    run_with_two_stores(tmp_path, check)


def test_a_cancel_during_acquire_leaves_no_lease(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"

    async def check(store: VerdictStore, busy: sqlite3.Connection) -> None:
        task = asyncio.create_task(request_verdict(store, "k", make_client(ScriptedModel())))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.05)
        busy.execute("ROLLBACK")
        with suppress(asyncio.CancelledError):
            await task

    with VerdictStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        asyncio.run(check(store, busy))
        assert asyncio.run(store.acquire(["l"])) == [Lease("l")]  # its commit follows the writes in the queue
        assert busy.execute("SELECT key FROM claims").fetchall() == [("l",)]
        assert list(store.read_calls(["k"])) == []


def test_a_lease_of_another_process_is_not_released(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        client = make_client(ScriptedModel())
        assert await other.acquire(["k"]) == [LEASE]
        assert await request_verdict(store, "k", client) == BUSY
        await store.release(LEASE)
        assert await store.acquire(["k"]) == [BUSY]
        assert client.spend_limit.calls == 0

    run_with_two_stores(tmp_path, check)


def test_a_failed_call_is_in_the_ledger_before_the_next_one_is_made(tmp_path: Path) -> None:
    """A kill while a pair waits for its next attempt must not lose the call."""

    async def check(store: VerdictStore, other: VerdictStore) -> None:
        throttled = RetryableError("rate_limit", "come again", retry_after=600.0)
        task = asyncio.create_task(request_verdict(store, "k", make_client(ScriptedModel(throttled))))
        await wait_for_calls(other, "k", [Call("rate_limit")])
        task.cancel()
        await asyncio.wait([task])
        assert list(other.read_calls(["k"])) == [Call("rate_limit")]

    run_with_two_stores(tmp_path, check)


def test_an_unusable_answer_is_in_the_ledger_before_the_next_one(tmp_path: Path) -> None:
    class SlowSecondModel(ScriptedModel):
        async def complete(self, questions: Prompt) -> Completion:
            if questions.user == "tea 1":
                await asyncio.sleep(3600)
            return await super().complete(questions)

    async def check(store: VerdictStore, other: VerdictStore) -> None:
        task = asyncio.create_task(request_verdict(store, "k", make_client(SlowSecondModel()), requests=2))
        await wait_for_calls(other, "k", [ANSWERED])
        task.cancel()
        await asyncio.wait([task])
        assert list(other.read_calls(["k"])) == [ANSWERED, Call("lost", maybe_billed=True)]

    run_with_two_stores(tmp_path, check)


def test_failed_calls_are_in_the_ledger_once_and_their_key_is_free(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        down, rejected = RetryableError("server_error", "down"), RequestRejected("bad_request", "no")
        with pytest.raises(RequestRejected):
            await request_verdict(store, "k", make_client(ScriptedModel(down, rejected)))
        assert list(store.read_calls(["k"])) == [Call("server_error"), Call("bad_request")]
        assert await other.acquire(["k"]) == [LEASE]

    run_with_two_stores(tmp_path, check)


def test_a_wait_for_another_process_ends_with_its_verdict_or_a_lease(tmp_path: Path) -> None:
    async def read_reply(store: VerdictStore, key: str) -> str:
        result = await make_lease_window(store, make_client(ScriptedModel())).acquire_when_free(key)
        if isinstance(result, PairLease):
            async with result:
                return "ours"
        assert isinstance(result, StoredVerdict)
        return result.reply

    async def check(store: VerdictStore, other: VerdictStore) -> None:
        assert await other.acquire(["k", "l"]) == [LEASE, Lease("l")]
        waiting = [asyncio.create_task(read_reply(store, key)) for key in ("k", "l")]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        await other.save(LEASE, INFO, VERDICT, [])
        await other.release(Lease("l"))
        assert [await task for task in waiting] == ["yes", "ours"]

    run_with_two_stores(tmp_path, check)


def test_a_cancel_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> None:
        assert await other.acquire(["k"]) == [LEASE]
        client = make_client(ScriptedModel())
        client.cancel_token.cancel(Interrupted("enough"))
        with pytest.raises(Cancelled, match="enough"):
            await make_lease_window(store, client).acquire_when_free("k")

    run_with_two_stores(tmp_path, check)
