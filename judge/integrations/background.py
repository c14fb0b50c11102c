"""Judging on an event loop in a background thread, for callers with a loop of their own or none.

Other tools call from threads, from loops and from neither. A runner has one loop in one thread, with the
model, the client and the store, so that all callers share paid verdicts.
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
#: The name in the store of replies without a verdict.
FREE_REPLY = "free reply"


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The dataset, pool and judgments of some rows."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """The objects that belong to the loop of a runner."""

    config: Config
    assessor: Assessor
    desk: Desk
    store: Store
    #: Leases of the store are by process; these locks keep two callers from paying for one verdict twice.
    locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def judge(self, rows: Iterable[Mapping[str, Any]], depth: int) -> JudgedPairs:
        """Return the judgments of `rows`, the results of one query, down to `depth`.

        Raise RunIncomplete, or the error that stopped judging, unless every pair has a grade.
        """
        data = factory.dataset(self.config, rows)
        pooled = build_pool(data, depth)
        (query,) = data.queries
        async with self.locks[query]:
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
        """Return the reply of the model to a prompt: from the store, or from one call.

        A new reply is stored unless `accept` raises JudgeError for it.
        """
        key = self._key(prompt)
        async with self.locks[key], awaited(self.store, key, self.desk) as held:
            if isinstance(held, Stored):
                return held.reply
            completion = await held.seat.complete(prompt)
            accept(completion)
            held.seat.confirm()
            await held.save(Source(self.desk.model.name, FREE_REPLY, 1), _make_stored(completion))
            return completion.text

    def _key(self, prompt: Prompt) -> str:
        model = self.desk.model
        parts = [FREE_REPLY, model.name, model.endpoint, dict(model.params), dict(prompt.schema)]
        texts = [prompt.system, prompt.user]
        return hashlib.sha256(json.dumps([*parts, *texts], sort_keys=True).encode()).hexdigest()


class BackgroundRunner:
    """A loop in a background thread with its resources, opened at the first use.

    `close` it, or let the program end.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._opening = threading.Lock()
        self._open: tuple[asyncio.AbstractEventLoop, Resources] | None = None
        self._closing: Callable[[], object] = lambda: None

    def submit(self, work: Callable[[Resources], Coroutine[Any, Any, T]]) -> Future[T]:
        """Return the future of `work` on the loop; may be called from any thread."""
        loop, resources = self._opened()
        return asyncio.run_coroutine_threadsafe(work(resources), loop)

    def close(self) -> None:
        """Close connections and the store; a later call opens them again."""
        with self._opening:
            self._closing()
            self._open = None

    def _opened(self) -> tuple[asyncio.AbstractEventLoop, Resources]:
        with self._opening:
            if self._open is None:
                resources = _open_resources(self._config)
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
                thread.start()
                self._open = loop, resources
                self._closing = weakref.finalize(self, _shut_down, loop, resources, thread)
            loop, resources = self._open
            if resources.desk.stop.reason is not None:
                self._open = loop, _reset_cancellation(resources)
            return self._open


def _open_resources(config: Config) -> Resources:
    if config.panel:
        raise InputError("a panel judges runs (judge run -m A -m B); here one model is asked")
    (assessor,) = factory.assessors(config)
    ((_, desk),) = factory.desks(config, [assessor], Stop())
    return Resources(config, assessor, desk, Store(Path(config.store or "runs/verdicts.sqlite")))


def _reset_cancellation(resources: Resources) -> Resources:
    """Return the resources with a new cancel state, and the rest of the budget."""
    desk = resources.desk
    return replace(resources, desk=Desk(desk.model, desk.limits, Stop(), desk.allowance))


def _shut_down(loop: asyncio.AbstractEventLoop, resources: Resources, thread: threading.Thread) -> None:
    if threading.current_thread() is thread:
        # The finalizer can run on the thread of the loop, which cannot join itself.
        threading.Thread(target=_shut_down, args=(loop, resources, thread), name="judge closes").start()
        return
    try:
        asyncio.run_coroutine_threadsafe(_cancel_tasks(resources), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
        resources.store.close()


async def _cancel_tasks(resources: Resources) -> None:
    """Cancel all other tasks and close the model."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await resources.desk.model.aclose()


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
