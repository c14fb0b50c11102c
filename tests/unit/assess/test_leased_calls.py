"""A key is leased before it is paid for, and free again however that ends; every call is in the ledger."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from judge.assess.runner import lease_window
from judge.client.cancel import Cancelled, CancelToken
from judge.client.client import ModelClient
from judge.client.retry import Limits
from judge.errors import Interrupted, RequestRejected, RetryableError
from judge.models import Model
from judge.records import Call, Completion, Prompt, Usage
from judge.store.leases import Busy, Lease
from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictStore
from judge.store.window import PairLease
from tests.unit.client.simulation import prompt
from tests.unit.client.test_client import Scripted

INFO = VerdictKeyInfo("m", "p", 1)
VERDICT = StoredVerdict(1, "r", (), "yes", {}, None, "m", None)
ANSWERED = Call("answered", Usage(prompt_tokens=10, completion_tokens=5))
LEASE, BUSY = Lease("k"), Busy("k")


class Silent:
    """A model that never answers."""

    name = endpoint = "silent"
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        self.was_called = asyncio.Event()

    async def complete(self, _: Prompt) -> Completion:
        self.was_called.set()
        await asyncio.sleep(3600)
        raise AssertionError("nobody waits for so long")

    async def aclose(self) -> None:
        pass


def client_of(model: Model) -> ModelClient:
    return ModelClient(model, Limits(4, 3, 600, 1), CancelToken())


async def pay(store: VerdictStore, key: str, client: ModelClient, requests: int = 1) -> StoredVerdict | Busy:
    """Return what is stored under `key` after so many requests for it; Busy when another process pays."""
    [result] = await lease_window(store, client).acquire([key])
    if not isinstance(result, PairLease):
        return result
    async with result as lease:
        async with client.permit(lease) as permit:
            for number in range(requests):
                await client.complete(prompt(f"tea {number}"), permit)
        await lease.save(INFO, VERDICT)
    return VERDICT


async def until(store: VerdictStore, key: str, calls: list[Call]) -> None:
    """Return when `calls` are in the ledger of `key`."""
    async with asyncio.timeout(5):
        while list(store.read_calls([key])) != calls:  # noqa: ASYNC110  # what another process would see
            await asyncio.sleep(0.01)


def test_a_verdict_is_paid_for_once(tmp_path: Path) -> None:
    async def scene(store: VerdictStore) -> None:
        client = client_of(Scripted())
        assert await pay(store, "k", client, requests=2) == VERDICT
        assert await pay(store, "k", client) == VERDICT
        assert client.spend_limit.calls == 2
        assert client.limiter.in_flight == 0
        assert list(store.read_calls(["k"])) == [ANSWERED, ANSWERED]

    with VerdictStore(tmp_path / "v.sqlite") as store:
        asyncio.run(scene(store))


def test_a_call_that_is_broken_off_may_be_billed_and_its_key_is_free(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        model = Silent()
        client = client_of(model)
        paying = asyncio.create_task(pay(store, "k", client))
        await model.was_called.wait()
        assert await other.acquire(["k"]) == [BUSY]
        paying.cancel()
        await asyncio.wait([paying])
        assert paying.cancelled()
        assert client.limiter.in_flight == 0
        assert list(other.read_calls(["k"])) == [Call("lost", maybe_billed=True)]
        assert await other.acquire(["k"]) == [LEASE]
        assert list(other.read_calls(["k"])) == [Call("lost", maybe_billed=True)]

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_who_is_cancelled_while_claiming_keeps_no_key(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"

    async def scene(store: VerdictStore, busy: sqlite3.Connection) -> None:
        paying = asyncio.create_task(pay(store, "k", client_of(Scripted())))
        await asyncio.sleep(0.05)
        paying.cancel()
        await asyncio.sleep(0.05)
        busy.execute("ROLLBACK")
        with suppress(asyncio.CancelledError):
            await paying

    with VerdictStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        asyncio.run(scene(store, busy))
        assert asyncio.run(store.acquire(["l"])) == [Lease("l")]  # after all that is queued
        assert busy.execute("SELECT key FROM claims").fetchall() == [("l",)]
        assert list(store.read_calls(["k"])) == []


def test_nobody_frees_what_another_process_claimed(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        client = client_of(Scripted())
        assert await other.acquire(["k"]) == [LEASE]
        assert await pay(store, "k", client) == BUSY
        await store.release(LEASE)
        assert await store.acquire(["k"]) == [BUSY]
        assert client.spend_limit.calls == 0

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_a_failed_call_is_in_the_ledger_before_the_next_one_is_made(tmp_path: Path) -> None:
    """So a kill while a pair waits for its next attempt takes nothing from the ledger."""

    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        away = RetryableError("rate_limit", "come again", retry_after=60.0)
        paying = asyncio.create_task(pay(store, "k", client_of(Scripted(away))))
        await until(other, "k", [Call("rate_limit")])
        paying.cancel()
        await asyncio.wait([paying])
        assert list(other.read_calls(["k"])) == [Call("rate_limit")]

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_an_answer_of_no_use_is_in_the_ledger_before_the_next_one_comes(tmp_path: Path) -> None:
    class Slower(Scripted):
        async def complete(self, questions: Prompt) -> Completion:
            if questions.user == "tea 1":
                await asyncio.sleep(3600)
            return await super().complete(questions)

    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        paying = asyncio.create_task(pay(store, "k", client_of(Slower()), requests=2))
        await until(other, "k", [ANSWERED])
        paying.cancel()
        await asyncio.wait([paying])
        assert list(other.read_calls(["k"])) == [ANSWERED, Call("lost", maybe_billed=True)]

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_what_fails_is_kept_once_and_its_key_is_free(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        down, filtered = RetryableError("server_error", "down"), RequestRejected("content_filter", "no")
        with pytest.raises(RequestRejected):
            await pay(store, "k", client_of(Scripted(down, filtered)))
        assert list(store.read_calls(["k"])) == [Call("server_error"), Call("content_filter")]
        assert await other.acquire(["k"]) == [LEASE]

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_who_waits_for_another_process_gets_its_verdict_or_its_turn(tmp_path: Path) -> None:
    async def reply(store: VerdictStore, key: str) -> str:
        result = await lease_window(store, client_of(Scripted())).acquire_blocking(key)
        if isinstance(result, StoredVerdict):
            return result.reply
        async with result:
            return "ours"

    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        assert await other.acquire(["k", "l"]) == [LEASE, Lease("l")]
        waiting = [asyncio.create_task(reply(store, key)) for key in ("k", "l")]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        await other.save(LEASE, INFO, VERDICT, [])
        await other.release(Lease("l"))
        assert [await task for task in waiting] == ["yes", "ours"]

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_who_waits_for_another_process_hears_a_stop(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> None:
        assert await other.acquire(["k"]) == [LEASE]
        client = client_of(Scripted())
        client.cancel_token.cancel(Interrupted("enough"))
        with pytest.raises(Cancelled, match="enough"):
            await lease_window(store, client).acquire_blocking("k")

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))
