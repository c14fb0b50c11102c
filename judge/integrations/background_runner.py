"""What judges pairs and answers prompts for callers on any thread, on one event loop in the background.

A client and a store belong to one loop. All callers share them, and so what was paid.
"""

import asyncio
import hashlib
import json
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from judge import factory, run_input
from judge.assess.assessor import NO_VERDICT, Assessor
from judge.assess.assignment_plan import AssignmentPlan
from judge.assess.judging import PanelMember, judge_pairs, make_lease_window
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient, PairPermit
from judge.client.progress import ProgressListener
from judge.config.run import Config
from judge.dataset.rows import InputRecord
from judge.dataset.stored_dataset import store_dataset
from judge.errors import ErrorKind, InputError, RequestRejected, RunIncomplete
from judge.messages import SeparatedNames
from judge.records import CONTENT_FILTER, Completion, Dataset, Judgment, Pool, Prompt
from judge.store.store import Failure, StoredVerdict, VerdictKeyInfo, VerdictStore
from judge.store.window import LeaseLost, LeaseWindow

T = TypeVar("T")
#: How the store calls replies that hold no verdict; no pair has the key of one.
FREE_REPLY = "free reply"


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The judgments of some rows, with their dataset and pool."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """The objects that belong to the loop of the runner."""

    config: Config
    assessor: Assessor
    client: ModelClient
    store: VerdictStore
    window: LeaseWindow
    #: The store distinguishes processes, not callers: two that ask the same at once would pay twice. A lock
    #: is there while a caller holds it or waits for it.
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def judge(self, rows: Iterable[InputRecord], depth: int) -> JudgedPairs:
        """Return the judgments of `rows`, one result of one query each, down to `depth`.

        Raises RunIncomplete, or the reason of the stop, unless every pair has a grade.
        """
        pooled = store_dataset(run_input.open_reader(self.config, rows), depth, None)
        (query,) = pooled.dataset.queries
        async with self.locks.setdefault(query, asyncio.Lock()):
            member = PanelMember(self.assessor, self.client)
            plan = AssignmentPlan(pooled.pool.pairs, self.assessor, self.config.repeats)
            judging = await judge_pairs(plan, member, self.window, ProgressListener())
        if judging.stopped is not None:
            raise judging.stopped
        failed = [str(judgment.error) for judgment in judging.failures]
        if failed:
            kinds = SeparatedNames(map(ErrorKind, dict.fromkeys(failed)))
            raise RunIncomplete(
                "{failed} of {total} snippets stayed unjudged ({kinds})",
                failed=len(failed),
                total=len(judging.judgments),
                kinds=kinds,
            )
        return JudgedPairs(pooled.dataset, pooled.pool, tuple(judging.judgments))

    async def get_reply(self, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        """Return the model's reply to any prompt: from the store, or paid once and stored when accepted.

        `accept` raises JudgeError when the reply is of no use; then it is not stored.
        """
        model = self.client.model
        key_parts = [FREE_REPLY, model.name, model.endpoint, dict(model.params), dict(prompt.schema)]
        texts = [prompt.system, prompt.user]
        key = hashlib.sha256(json.dumps([*key_parts, *texts], sort_keys=True).encode()).hexdigest()
        async with self.locks.setdefault(key, asyncio.Lock()):
            while True:
                with suppress(LeaseLost):
                    return await self._request_reply(key, prompt, accept)

    async def _request_reply(self, key: str, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        lease = await self.window.acquire_when_free(key)
        if isinstance(lease, StoredVerdict):
            return lease.reply
        if isinstance(lease, Failure):
            raise RequestRejected(CONTENT_FILTER, lease.detail)
        async with lease:
            with PairPermit(self.client.limiter, lease) as permit:
                completion = await self.client.complete(prompt, permit)
                accept(completion)
                self.client.limiter.record_verdict()
            stored = self.assessor.make_stored_verdict(NO_VERDICT, completion, ())
            await lease.save(VerdictKeyInfo(self.client.model.name, FREE_REPLY, 1), stored)
        return completion.text


class BackgroundRunner:
    """A background loop that starts at the first call; `close` it, or end the program."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._opening = threading.Lock()
        self._open: tuple[asyncio.AbstractEventLoop, Resources] | None = None
        self._closing: Callable[[], object] = lambda: None

    def submit(self, work: Callable[[Resources], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run `work` on the background loop and return its result; may be called from any thread."""
        loop, resources = self._open_once()
        return asyncio.run_coroutine_threadsafe(work(resources), loop)

    def close(self) -> None:
        """Close the connections and the store; a later call opens them again."""
        with self._opening:
            self._closing()
            self._open = None

    def _open_once(self) -> tuple[asyncio.AbstractEventLoop, Resources]:
        with self._opening:
            if self._open is None:
                resources = _open_resources(self._config)
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
                thread.start()
                self._open = loop, resources
                self._closing = weakref.finalize(self, _shut_down, loop, resources, thread)
            loop, resources = self._open
            if (old := resources.client).cancel_token.reason is not None:
                # A call after a cancelled run may spend what is left.
                client = ModelClient(old.model, old.limits, CancelToken(), old.spend_limit, old.price)
                window = make_lease_window(resources.store, client)
                self._open = loop, replace(resources, client=client, window=window)
            return self._open


def _open_resources(config: Config) -> Resources:
    if config.panel:
        raise InputError("a panel judges runs (judge run -m A -m B); here one model is asked")
    (assessor,) = factory.build_assessors(config)
    spend_limit = SpendLimit(config.max_calls, config.budget)
    client = factory.build_client(config, assessor.model, CancelToken(), spend_limit)
    store = VerdictStore(Path(config.store or "runs/verdicts.sqlite"))
    return Resources(config, assessor, client, store, make_lease_window(store, client))


def _shut_down(loop: asyncio.AbstractEventLoop, resources: Resources, thread: threading.Thread) -> None:
    if threading.current_thread() is thread:
        # The finalizer may run on the loop's own thread, which cannot join itself.
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
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await resources.client.model.aclose()
