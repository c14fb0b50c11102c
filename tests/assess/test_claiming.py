"""A key is claimed before it is paid for, and free again however that ends; every call is in the ledger."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from judge.assess.claiming import Claim, awaited, claimed
from judge.assess.desk import Desk
from judge.assess.schedule import Limits
from judge.assess.stop import Stop, Stopped
from judge.assess.store import Call, Source, Store, Stored
from judge.errors import Interrupted, RequestRejected, RetryableError
from judge.models import Model
from judge.records import Completion, Prompt, Usage
from tests.assess.simulated import prompt
from tests.assess.test_desk import Scripted

SOURCE = Source("m", "p", 1)
VERDICT = Stored(1, "r", (), "yes", {}, None, "m", None)
ANSWERED = Call("answered", Usage(prompt_tokens=10, completion_tokens=5))


class Silent:
    """A model that never answers."""

    name = endpoint = "silent"
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def complete(self, _: Prompt) -> Completion:
        self.asked.set()
        await asyncio.sleep(3600)
        raise AssertionError("nobody waits for so long")

    async def aclose(self) -> None:
        pass


def desk(model: Model) -> Desk:
    return Desk(model, Limits(4, 3, 600, 1), Stop())


async def paid(store: Store, key: str, here: Desk, questions: int = 1) -> Stored | None:
    """What is stored under `key` after asking so many questions for it; None when another is paying."""
    async with claimed(store, key, here) as held:
        if isinstance(held, Claim):
            for number in range(questions):
                await held.seat.complete(prompt(f"tea {number}"))
            await held.save(SOURCE, VERDICT)
            return VERDICT
        return held


async def until(store: Store, key: str, calls: list[Call]) -> None:
    """Returns when `calls` are in the ledger of `key`."""
    async with asyncio.timeout(5):
        while store.calls([key]) != calls:  # noqa: ASYNC110  # what another process would see
            await asyncio.sleep(0.01)


def test_a_verdict_is_paid_for_once(tmp_path: Path) -> None:
    async def scene(store: Store) -> None:
        here = desk(Scripted())
        assert await paid(store, "k", here, questions=2) == VERDICT
        assert await paid(store, "k", here) == VERDICT
        assert here.allowance.calls == 2
        assert here.gate.in_flight == 0
        assert store.calls(["k"]) == [ANSWERED, ANSWERED]

    with Store(tmp_path / "v.sqlite") as store:
        asyncio.run(scene(store))


def test_a_call_that_is_broken_off_may_be_billed_and_its_key_is_free(tmp_path: Path) -> None:
    async def scene(store: Store, other: Store) -> None:
        model = Silent()
        here = desk(model)
        asking = asyncio.create_task(paid(store, "k", here))
        await model.asked.wait()
        assert other.look("k") == "taken"
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        assert here.gate.in_flight == 0
        assert other.calls(["k"]) == [Call("lost", maybe_billed=True)]
        assert await other.claim("k") == "mine"
        assert other.calls(["k"]) == [Call("lost", maybe_billed=True)]

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_who_is_cancelled_while_claiming_keeps_no_key(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"

    async def scene(store: Store, busy: sqlite3.Connection) -> None:
        asking = asyncio.create_task(paid(store, "k", desk(Scripted())))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.sleep(0.05)
        busy.execute("ROLLBACK")
        with suppress(asyncio.CancelledError):
            await asking

    with Store(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        asyncio.run(scene(store, busy))
        assert busy.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        assert store.calls(["k"]) == []


def test_nobody_frees_what_another_process_claimed(tmp_path: Path) -> None:
    async def scene(store: Store, other: Store) -> None:
        here = desk(Scripted())
        assert await other.claim("k") == "mine"
        assert await paid(store, "k", here) is None
        await store.give_up("k", [])
        assert store.look("k") == "taken"
        assert here.allowance.calls == 0

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_a_failed_call_is_in_the_ledger_before_the_next_one_is_made(tmp_path: Path) -> None:
    """So a kill while a pair waits for its next attempt takes nothing from the ledger."""

    async def scene(store: Store, other: Store) -> None:
        away = RetryableError("rate_limit", "come again", retry_after=60.0)
        asking = asyncio.create_task(paid(store, "k", desk(Scripted(away))))
        await until(other, "k", [Call("rate_limit")])
        asking.cancel()
        await asyncio.wait([asking])
        assert other.calls(["k"]) == [Call("rate_limit")]

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_an_answer_of_no_use_is_in_the_ledger_before_the_next_one_comes(tmp_path: Path) -> None:
    class Slower(Scripted):
        async def complete(self, asked: Prompt) -> Completion:
            if asked.user == "tea 1":
                await asyncio.sleep(3600)
            return await super().complete(asked)

    async def scene(store: Store, other: Store) -> None:
        asking = asyncio.create_task(paid(store, "k", desk(Slower()), questions=2))
        await until(other, "k", [ANSWERED])
        asking.cancel()
        await asyncio.wait([asking])
        assert other.calls(["k"]) == [ANSWERED, Call("lost", maybe_billed=True)]

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_what_fails_is_kept_once_and_its_key_is_free(tmp_path: Path) -> None:
    async def scene(store: Store) -> None:
        down, filtered = RetryableError("server_error", "down"), RequestRejected("content_filter", "no")
        with pytest.raises(RequestRejected):
            await paid(store, "k", desk(Scripted(down, filtered)))
        assert store.calls(["k"]) == [Call("server_error"), Call("content_filter")]
        assert store.look("k") == "free"

    with Store(tmp_path / "v.sqlite") as store:
        asyncio.run(scene(store))


def test_who_waits_for_another_process_gets_its_verdict_or_its_turn(tmp_path: Path) -> None:
    async def reply(store: Store, key: str) -> str:
        async with awaited(store, key, desk(Scripted())) as held:
            return "ours" if isinstance(held, Claim) else held.reply

    async def scene(store: Store, other: Store) -> None:
        for key in ("k", "l"):
            assert await other.claim(key) == "mine"
        waiting = [asyncio.create_task(reply(store, key)) for key in ("k", "l")]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        await other.save("k", SOURCE, VERDICT, [])
        await other.give_up("l", [])
        assert [await task for task in waiting] == ["yes", "ours"]

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))


def test_who_waits_for_another_process_hears_a_stop(tmp_path: Path) -> None:
    async def scene(store: Store, other: Store) -> None:
        assert await other.claim("k") == "mine"
        here = desk(Scripted())
        here.stop.request(Interrupted("enough"))
        with pytest.raises(Stopped, match="enough"):
            async with awaited(store, "k", here):
                raise AssertionError("nobody may pay")

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        asyncio.run(scene(store, other))
