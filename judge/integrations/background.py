"""Owns judging for callers that bring an event loop of their own, or none: it happens on another one.

Other tools call from threads, from loops and from neither. An office has one loop in one thread, with
the model, the store and the client that belong to it, so that all of its callers share what was paid.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from judge import factory
from judge.assess.assessor import Assessor
from judge.assess.progress import NullProgress
from judge.assess.runner import judge_pool, lease_window
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.config.run import Config
from judge.dataset.pool import pool
from judge.errors import InputError, RunIncomplete
from judge.records import Completion, Dataset, Judgment, Pool, Prompt
from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictStore, as_stored
from judge.store.window import LeaseLost, LeaseWindow

T = TypeVar("T")
#: How the store calls replies that hold no verdict; no pair has the key of one.
REPLY = "free reply"


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """What came of judging some rows."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """What belongs to the office's loop."""

    config: Config
    assessor: Assessor
    client: ModelClient
    store: VerdictStore
    window: LeaseWindow
    #: The store tells processes apart, not callers: two that ask the same at once would pay twice.
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def judge(self, rows: Iterable[Mapping[str, Any]], depth: int) -> JudgedPairs:
        """The judgments of `rows`, one a result of one query, down to `depth`.

        Raises Incomplete, or what stopped it, unless every pair got a grade.
        """
        data = factory.read_dataset(self.config, rows)
        pooled = pool(data, depth)
        (query,) = data.queries
        async with self.turns[query]:
            judging = await judge_pool(
                pooled, self.assessor, self.client, self.window, self.config.repeats, NullProgress()
            )
        if judging.stopped is not None:
            raise judging.stopped
        failed = [judgment.error for judgment in judging.judgments if judgment.error is not None]
        if failed:
            kinds = ", ".join(dict.fromkeys(failed))
            raise RunIncomplete(
                f"{len(failed)} of {len(judging.judgments)} snippets stayed unjudged ({kinds})"
            )
        return JudgedPairs(data, pooled, judging.judgments)

    async def reply(self, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        """The model's reply to any prompt: from the store, or paid for once and kept when accepted.

        `accept` raises JudgeError when the reply is of no use; then it is not kept.
        """
        key = self._key(prompt)
        async with self.turns[key]:
            while True:
                with suppress(LeaseLost):
                    return await self._reply(key, prompt, accept)

    async def _reply(self, key: str, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        lease = await self.window.acquire_blocking(key)
        if isinstance(lease, StoredVerdict):
            return lease.reply
        async with lease:
            async with self.client.permit(lease) as permit:
                completion = await self.client.complete(prompt, permit)
                accept(completion)
                self.client.limiter.confirm()
            await lease.save(VerdictKeyInfo(self.client.model.name, REPLY, 1), _as_verdict(completion))
        return completion.text

    def _key(self, prompt: Prompt) -> str:
        model = self.client.model
        asked = [REPLY, model.name, model.endpoint, dict(model.params), dict(prompt.schema)]
        texts = [prompt.system, prompt.user]
        return hashlib.sha256(json.dumps([*asked, *texts], sort_keys=True).encode()).hexdigest()


class BackgroundRunner:
    """A room on a loop of its own, opened when it is first needed; `close` it, or let the program end."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._opening = threading.Lock()
        self._open: tuple[asyncio.AbstractEventLoop, Resources] | None = None
        self._closing: Callable[[], object] = lambda: None

    def submit(self, work: Callable[[Resources], Coroutine[Any, Any, T]]) -> Future[T]:
        """What becomes of `work` in the room; may be called from any thread."""
        loop, room = self._opened()
        return asyncio.run_coroutine_threadsafe(work(room), loop)

    def close(self) -> None:
        """Closes connections and the store; a later call opens the office again."""
        with self._opening:
            self._closing()
            self._open = None

    def _opened(self) -> tuple[asyncio.AbstractEventLoop, Resources]:
        with self._opening:
            if self._open is None:
                room = _furnish(self._config)
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
                thread.start()
                self._open = loop, room
                self._closing = weakref.finalize(self, _shut, loop, room, thread)
            loop, room = self._open
            if room.client.cancel_token.reason is not None:
                self._open = loop, _reopened(room)
            return self._open


def _furnish(config: Config) -> Resources:
    if config.panel:
        raise InputError("a panel judges runs (judge run -m A -m B); here one model is asked")
    (assessor,) = factory.build_assessors(config)
    ((_, client),) = factory.build_clients(config, [assessor], CancelToken())
    store = VerdictStore(Path(config.store or "runs/verdicts.sqlite"))
    return Resources(config, assessor, client, store, lease_window(store, client))


def _reopened(room: Resources) -> Resources:
    """Return the room after its run was cancelled: the next call may spend what is left."""
    old = room.client
    client = ModelClient(old.model, old.limits, CancelToken(), old.spend_limit)
    return replace(room, client=client, window=lease_window(room.store, client))


def _shut(loop: asyncio.AbstractEventLoop, room: Resources, thread: threading.Thread) -> None:
    if threading.current_thread() is thread:
        # An office that nobody holds any more may be found out anywhere, and no thread can await itself.
        threading.Thread(target=_shut, args=(loop, room, thread), name="judge closes").start()
        return
    try:
        asyncio.run_coroutine_threadsafe(_leave(room), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
        room.store.close()


async def _leave(room: Resources) -> None:
    """Lets nothing go on that nobody waits for any more."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await room.client.model.aclose()


def _as_verdict(completion: Completion) -> StoredVerdict:
    return StoredVerdict(
        grade=0,
        reason="",
        flags=(),
        reply=completion.text,
        params=as_stored(completion.params),
        usage=completion.usage,
        served_model=completion.model,
        request_id=completion.request_id,
    )
