"""Judging pairs: known verdicts come from the store, the others from the model.

Each pair takes four steps:

    lease     `LeaseWindow.acquire`, which `PairScheduler` calls for several pairs, ahead of the permits;
              from here on, `PairRunner` judges the pair
    permit    `PairPermit.acquire`, of `AdaptiveLimiter`
    complete  `Assessor.ask` → `ModelClient.complete` → `parse_verdict`
    save      `PairLease.save`

With a Batch API, most replies come from batches (`judge.assess.batch`). Their pairs take the same steps, but
a permit only for a second request.
"""

import asyncio
import math
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

import msgspec
import numpy as np

from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import AssignmentPlan, VerdictRequest
from judge.assess.batch import BatchRunner
from judge.assess.batch_client import BatchClient
from judge.assess.pair_runner import JudgmentRecorder, PairRunner, PairScheduler
from judge.client.client import ModelClient
from judge.client.limiter import Circuit
from judge.client.progress import ProgressListener
from judge.errors import CallError, Interrupted, JudgeError, StoreError
from judge.files.cache import FileCache, make_cache_path, make_key
from judge.files.judgment_log import JudgmentLog
from judge.files.stored_records import StoredRecords, chain_records
from judge.messages import Message
from judge.models.batch_api import BatchApi
from judge.pricing.costs import Cost, add_costs, sum_cost
from judge.records import Judgment, Pair
from judge.store.store import VerdictStore
from judge.store.window import LeaseWindow


@dataclass(frozen=True, slots=True)
class JudgingResult:
    """The judgments of pairs, which stay on the disk: each use reads them again.

    `graded` of them have a grade, `failures` are those without one. `cost` is what they cost since they were
    first asked for. `stopped` is the reason when pairs have no judgment, `in_batches` the number of those in
    batches that the server has, and that have not ended. `warnings` are about the store, batches and
    timeouts.
    """

    judgments: Sequence[Judgment]
    graded: int
    failures: Sequence[Judgment]
    cost: Cost
    stopped: JudgeError | None
    warnings: tuple[str, ...] = ()
    in_batches: int = 0


@dataclass(frozen=True, slots=True)
class PanelMember:
    """An assessor and the client of its model, with the Batch API of the model to judge in batches.

    `title` is what progress calls it, such as `2/3 openai:qwen-plus/graded`, "" for the only member.
    """

    assessor: Assessor
    client: ModelClient
    batch_api: BatchApi | None = None
    title: str = ""


async def judge_with_panel(
    pairs: Sequence[Pair],
    panel: Sequence[PanelMember],
    store: VerdictStore,
    repeats: int,
    progress: ProgressListener,
    pool_key: str = "",
) -> list[JudgingResult]:
    """Judge `pairs` with each member of `panel` in turn, cancelled by signals; close the models.

    `pool_key` is the cache key of the pool of the pairs. The clients share one cancel token. Raises
    Interrupted after a signal, StoreError when verdicts can't be stored.
    """
    token = panel[0].client.cancel_token
    cache = FileCache(make_cache_path(store.path))
    results = []
    async with AsyncExitStack() as models:
        for model in dict.fromkeys(member.client.model for member in panel):
            models.push_async_callback(model.aclose)
        for api in filter(None, (member.batch_api for member in panel)):
            models.push_async_callback(api.aclose)
        async with token.handle_signals():
            for member in panel:
                window = make_lease_window(store, member.client)
                plan = AssignmentPlan(pairs, member.assessor, repeats, cache, pool_key)
                results.append(await judge_pairs(plan, member, window, progress))
    if isinstance(token.reason, Interrupted):
        total = len(panel) * repeats * len(pairs)
        raise _describe_interrupt(token.reason, panel[0].assessor.subject, results, total)
    if isinstance(token.reason, StoreError):
        raise token.reason
    return results


def _describe_interrupt(
    reason: Interrupted, subject: str, results: Sequence[JudgingResult], total: int
) -> Interrupted:
    """Return the interrupt with how many of `total` pairs, or of the questions on `subject`, are answered."""
    graded = sum(result.graded for result in results)
    usd = add_costs([result.cost for result in results]).usd
    spent = f", ${usd:.4f}" if usd else ""
    if subject:
        return Interrupted(
            "{reason}: {subject}: {answers:,} of {total:,} questions answered{spent}",
            reason=reason,
            subject=subject,
            answers=graded,
            total=total,
            spent=spent,
        )
    waiting = sum(result.in_batches for result in results)
    in_batches = Message("; {waiting:,} are in batches, which continue at the server", waiting=waiting)
    return Interrupted(
        "{reason}: {grades:,} of {total:,} judged{spent}{in_batches}",
        reason=reason,
        grades=graded,
        total=total,
        spent=spent,
        in_batches=in_batches if waiting else "",
    )


async def judge_pairs(
    plan: AssignmentPlan, member: PanelMember, window: LeaseWindow, progress: ProgressListener
) -> JudgingResult:
    """Judge the assignments in `plan`, those of `member`; only what the store does not hold costs calls.

    Equal requests are made once, in batches if the member has a Batch API. Judgments are in the order of the
    pairs, repeat by repeat. Errors of the model never raise: see `JudgingResult.stopped`.
    """
    assessor, client, store = member.assessor, member.client, window.store
    server = _ServerRecord(FileCache(make_cache_path(store.path)), client)
    log = JudgmentLog(len(plan), store.path.parent)
    recorder = JudgmentRecorder(plan, client.spend_limit, log, progress)
    api = member.batch_api
    batch_runner = BatchRunner(BatchClient(api, client, store.batches), assessor) if api else None
    known_corrupt, reason_before = len(store.corrupt_keys), client.cancel_token.reason
    try:
        recorder.begin(store, member.title)
        missing = log.find_missing_indices()
        client.availability.has_completion |= recorder.has_verdict
        if missing.size:
            runner = PairRunner(assessor, client, recorder)
            await _judge_requests(plan.read_requests(missing), runner, window, batch_runner, progress)
    finally:
        progress.end()
    server.update()
    stopped = client.cancel_token.reason
    if member.title and isinstance(stopped, CallError) and stopped is not reason_before:
        stopped.message = Message("{name}: {value}", name=client.model.name, value=stopped.message)
    return JudgingResult(
        judgments=log,
        graded=log.graded,
        failures=StoredRecords(log.read_failures, len(log) - log.graded),
        cost=sum_cost(store.read_calls(plan.iter_distinct_keys(np.arange(len(plan)))), client.price),
        stopped=stopped,
        warnings=(
            *_describe_corrupt(store, store.corrupt_keys[known_corrupt:]),
            *(batch_runner.warnings if batch_runner else ()),
            *client.describe_timeouts(),
        ),
        in_batches=store.batches.count_in_created(plan.iter_keys(log.find_missing_indices())),
    )


class _ServerRecord:
    """What the cache holds about the server of a model; the limiter of `client` begins with it.

    An earlier run got verdicts at full rate, was throttled, or had requests that timed out in a queue. Then
    the record has the concurrency at the end of the run, and the seconds of a timeout.
    """

    _UNLIMITED, _LIMITED = "unlimited\n", "limited\n"
    _QUEUE = re.compile(r"queue ([1-9][0-9]{0,5}) ([0-9]{1,6})\n")

    def __init__(self, cache: FileCache, client: ModelClient) -> None:
        self._cache = cache
        self._client = client
        self._key = make_key("server", client.model.name, client.model.endpoint, is_computed=False)
        lines = None if client.model.is_local else cache.read(self._key)
        self._text = b"".join(lines or ()).decode(errors="replace")
        if self._text == self._UNLIMITED:
            client.limiter.skip_probes()
        elif match := self._QUEUE.fullmatch(self._text):
            client.limiter.queue.limit, client.limiter.queue.timeout = map(float, match.groups())

    def update(self) -> None:
        """Write what this run has shown, if that is new."""
        limiter = self._client.limiter
        if limiter.has_queue:
            text = f"queue {int(limiter.queue.limit)} {math.ceil(limiter.queue.timeout)}\n"
        else:
            text = self._LIMITED if limiter.was_throttled else self._UNLIMITED
        is_known = limiter.circuit is not Circuit.STARTING and self._client.cancel_token.reason is None
        if not self._client.model.is_local and is_known and text != self._text:
            self._cache.write(self._key, [text])


def log_known_judgments(plan: AssignmentPlan, store: VerdictStore) -> JudgmentLog:
    """Return a log of the judgments in `plan` that need no call: those in the store, and those by rule."""
    log = JudgmentLog(len(plan), store.path.parent)
    for judgments in plan.find_known_judgments(store):
        log.add(judgments.keys(), judgments.values())
    return log


def _describe_corrupt(store: VerdictStore, keys: Iterable[str]) -> list[Message]:
    corrupt = list(dict.fromkeys(keys))
    if not corrupt:
        return []
    return [
        Message(
            "{file}: {count} verdicts no longer match their checksums and were asked for again, first {key}",
            file=store.path,
            count=len(corrupt),
            key=corrupt[0],
        )
    ]


def make_lease_window(store: VerdictStore, client: ModelClient) -> LeaseWindow:
    """Return the window of leases of a client: twice the concurrency, so that no permit waits for a lease."""
    return LeaseWindow(store, 2 * client.limits.concurrency, client.cancel_token.sleep)


async def _judge_requests(
    requests: Iterable[VerdictRequest],
    runner: PairRunner,
    window: LeaseWindow,
    batch_runner: BatchRunner | None,
    progress: ProgressListener,
) -> None:
    """Judge all pairs of `requests`, or those that end before the run is cancelled."""
    async with asyncio.TaskGroup() as group:
        if batch_runner:
            judging = group.create_task(_judge_in_batches(requests, runner, window, batch_runner))
        else:
            judging = group.create_task(PairScheduler(requests, window, runner).judge_all())
        others = [
            group.create_task(_shut_down(runner.client, judging, progress)),
            group.create_task(_report_status(runner.client, batch_runner, progress)),
        ]
        await asyncio.wait([judging])
        for other in others:
            other.cancel()
    if runner.defect is not None:
        raise runner.defect


async def _judge_in_batches(
    requests: Iterable[VerdictRequest], runner: PairRunner, window: LeaseWindow, batch_runner: BatchRunner
) -> None:
    """Judge the pairs by the replies of batches, as these end, and in realtime what no batch holds."""
    token = runner.client.cancel_token
    waiting = {request.assignment.key: request for request in requests}
    in_batch = window.store.batches.find(waiting)
    with token.cancel_on_error():
        free = next((key for key in waiting if key not in in_batch), None)
        if free is not None:
            # In realtime, which shows at once whether account, model and parameters are right.
            await PairScheduler([waiting.pop(free)], window, runner).judge_all()
        token.raise_if_cancelled()
        assignments = {key: request.assignment for key, request in waiting.items()}
        async with aclosing(batch_runner.collect(assignments)) as replies_of_batches:
            async for replies in replies_of_batches:
                with_replies = (
                    msgspec.structs.replace(waiting.pop(key), batch_reply=reply)
                    for key, reply in replies.items()
                )
                await PairScheduler(with_replies, window, runner).judge_all()
                token.raise_if_cancelled()
        await PairScheduler(waiting.values(), window, runner).judge_all()


async def _report_status(
    client: ModelClient, batch_runner: BatchRunner | None, progress: ProgressListener
) -> None:
    """Report to the listener every second what the run waits for."""
    while True:
        await asyncio.sleep(1)
        progress.set_status((batch_runner and batch_runner.batch_client.status) or client.describe_wait())


async def _shut_down(client: ModelClient, judging: asyncio.Task[None], progress: ProgressListener) -> None:
    """Once the run is cancelled, let calls in flight end and save their verdicts: they are paid for.

    After a signal they get `shutdown_timeout` seconds, and none after a second signal.
    """
    token = client.cancel_token
    await token.wait()
    client.limiter.release_waiters()
    progress.set_status(client.describe_wait())
    is_signal = isinstance(token.reason, Interrupted)
    await token.wait_for_force(client.limits.shutdown_timeout if is_signal else None)
    judging.cancel()


def combine_results(results: Collection[JudgingResult]) -> JudgingResult:
    """Return the results of the members of a panel as one result."""
    return JudgingResult(
        judgments=chain_records([result.judgments for result in results]),
        graded=sum(result.graded for result in results),
        failures=chain_records([result.failures for result in results]),
        cost=add_costs([result.cost for result in results]),
        stopped=next((result.stopped for result in results if result.stopped), None),
        warnings=tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        in_batches=sum(result.in_batches for result in results),
    )
