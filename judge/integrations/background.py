"""Owns judging for callers that bring an event loop of their own, or none: it happens on another one.

Other tools call from threads, from loops and from neither. An office has one loop in one thread, with
the model, the store and the desk that belong to it, so that all of its callers share what was paid.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from judge import factory
from judge.assess.assessor import Assessor
from judge.assess.claiming import awaited
from judge.assess.desk import Desk
from judge.assess.judging import judge_pool
from judge.assess.stop import Stop
from judge.assess.store import Source, Store, Stored, plain
from judge.assess.watch import Unwatched
from judge.config.run import Config
from judge.dataset.pool import build_pool
from judge.errors import InputError, RunIncomplete
from judge.records import Completion, Dataset, Judgment, Pool, Prompt

T = TypeVar("T")
#: How the store calls replies that hold no verdict; no pair has the key of one.
FREE_REPLY = "free reply"


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
    desk: Desk
    store: Store
    #: The store tells processes apart, not callers: two that ask the same at once would pay twice.
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def judge(self, rows: Iterable[Mapping[str, Any]], depth: int) -> JudgedPairs:
        """The judgments of `rows`, one a result of one query, down to `depth`.

        Raises Incomplete, or what stopped it, unless every pair got a grade.
        """
        data = factory.dataset(self.config, rows)
        pooled = build_pool(data, depth)
        (query,) = data.queries
        async with self.turns[query]:
            judging = await judge_pool(
                pooled, self.assessor, self.store, self.desk, self.config.repeats, Unwatched()
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
        async with self.turns[key], awaited(self.store, key, self.desk) as held:
            if isinstance(held, Stored):
                return held.reply
            completion = await held.seat.complete(prompt)
            accept(completion)
            held.seat.confirm()
            await held.save(Source(self.desk.model.name, FREE_REPLY, 1), _make_stored(completion))
            return completion.text

    def _key(self, prompt: Prompt) -> str:
        model = self.desk.model
        asked = [FREE_REPLY, model.name, model.endpoint, dict(model.params), dict(prompt.schema)]
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
                room = _open_resources(self._config)
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
                thread.start()
                self._open = loop, room
                self._closing = weakref.finalize(self, _shut_down, loop, room, thread)
            loop, room = self._open
            if room.desk.stop.reason is not None:
                self._open = loop, _reset_cancellation(room)
            return self._open


def _open_resources(config: Config) -> Resources:
    if config.panel:
        raise InputError("a panel judges runs (judge run -m A -m B); here one model is asked")
    (assessor,) = factory.assessors(config)
    ((_, desk),) = factory.desks(config, [assessor], Stop())
    return Resources(config, assessor, desk, Store(Path(config.store or "runs/verdicts.sqlite")))


def _reset_cancellation(room: Resources) -> Resources:
    """The room after something stopped it: the next call tries again, with what is left of the allowance."""
    desk = room.desk
    return replace(room, desk=Desk(desk.model, desk.limits, Stop(), desk.allowance))


def _shut_down(loop: asyncio.AbstractEventLoop, room: Resources, thread: threading.Thread) -> None:
    if threading.current_thread() is thread:
        # An office that nobody holds any more may be found out anywhere, and no thread can await itself.
        threading.Thread(target=_shut_down, args=(loop, room, thread), name="judge closes").start()
        return
    try:
        asyncio.run_coroutine_threadsafe(_cancel_tasks(room), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
        room.store.close()


async def _cancel_tasks(room: Resources) -> None:
    """Lets nothing go on that nobody waits for any more."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await room.desk.model.aclose()


def _make_stored(completion: Completion) -> Stored:
    return Stored(
        grade=0,
        reason="",
        flags=(),
        reply=completion.text,
        params=plain(completion.params),
        usage=completion.usage,
        served_model=completion.model,
        request_id=completion.request_id,
    )
