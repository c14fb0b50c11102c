"""Judging a pool of pairs: known verdicts come from the store, the others from the model.

Each pair takes four steps:

    lease     `LeaseWindow.acquire`, for several pairs at a time and ahead of the permits
    permit    `ModelClient.make_permit`
    complete  `Assessor.ask` → `ModelClient.complete` → `parse_verdict`
    save      `PairLease.save`

With a Batch API, most replies come from batches (`judge.assess.batch`). Their pairs take the same steps, but
a permit only for a second request.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import numpy as np

from judge.assess.assessor import Assessor, AssessorAnswer, Question
from judge.assess.batch import BatchReply, BatchRunner, is_final, make_batch_call, make_lookup_error
from judge.assess.consecutive_failures import ConsecutiveFailures
from judge.assess.progress import ProgressListener, RepeatCounter
from judge.assess.question_plan import IndexedQuestion, QuestionPlan, VerdictRequest
from judge.cache import FileCache, make_cache_path, make_key
from judge.client.cancel import Cancelled
from judge.client.client import ModelClient, PairPermit
from judge.errors import AccountError, Interrupted, JudgeError, RequestRejected, RunIncomplete, StoreError
from judge.judgment_log import JudgmentLog
from judge.messages import Message
from judge.models.batch_api import BatchApi
from judge.pricing import Cost, add_costs, sum_cost
from judge.records import Completion, Judgment, Pool, Prompt, RepeatProgress
from judge.store.leases import InBatch, LeasedElsewhere
from judge.store.store import StoredAnswer, StoredRefusal, StoredVerdict, VerdictStore
from judge.store.window import LEASE_POLL_INTERVAL, LeaseLost, LeaseWindow, PairLease
from judge.stored_records import StoredRecords, chain_records

#: Pairs under way at the same time, at least.
_MIN_PAIRS = 16


@dataclass(frozen=True, slots=True)
class JudgingResult:
    """The judgments of a pool. `stopped` is the reason when pairs have no judgment.

    They stay on the disk: each use reads them again. `graded` of them have a grade, `failures` have none.
    `cost` is what they cost since they were first asked for. `in_batches` pairs are in batches that have not
    ended.
    """

    judgments: Sequence[Judgment]
    graded: int
    failures: Sequence[Judgment]
    cost: Cost
    calls_made: int
    stopped: JudgeError | None
    warnings: tuple[str, ...] = ()
    in_batches: int = 0


@dataclass(frozen=True, slots=True)
class PanelMember:
    """An assessor and the client of its model, with the Batch API of the model to judge in batches."""

    assessor: Assessor
    client: ModelClient
    batch_api: BatchApi | None = None


async def judge_with_panel(
    pool: Pool, panel: Sequence[PanelMember], store: VerdictStore, repeats: int, progress: ProgressListener
) -> list[JudgingResult]:
    """Judge `pool` with each member of `panel` in turn, cancelled by signals; close the models.

    The clients share one cancel token. Raises Interrupted after a signal, StoreError when verdicts can't be
    stored.
    """
    token = panel[0].client.cancel_token
    results = []
    async with AsyncExitStack() as models:
        for model in dict.fromkeys(member.client.model for member in panel):
            models.push_async_callback(model.aclose)
        for api in filter(None, (member.batch_api for member in panel)):
            models.push_async_callback(api.aclose)
        with token.handle_signals():
            for member in panel:
                window = make_lease_window(store, member.client)
                results.append(await judge_pool(pool, member, window, repeats, progress))
            await asyncio.sleep(0.01)  # for a signal that came while the loop did not wait
    if isinstance(token.reason, Interrupted):
        total = len(panel) * repeats * len(pool.pairs)
        raise _describe_interrupt(token.reason, panel[0].assessor.subject, results, total)
    if isinstance(token.reason, StoreError):
        raise token.reason
    return results


def _describe_interrupt(
    reason: Interrupted, subject: str, results: Sequence[JudgingResult], total: int
) -> Interrupted:
    """Return the interrupt with how many of `total` pairs, or of the questions on `subject`, are answered."""
    answers = sum(result.graded for result in results)
    usd = combine_results(results).cost.usd
    spent = f", ${usd:.4f}" if usd else ""
    if subject:
        return Interrupted(
            "{reason}: {subject}: {answers:,} of {total:,} questions answered{spent}",
            reason=reason,
            subject=subject,
            answers=answers,
            total=total,
            spent=spent,
        )
    waiting = sum(result.in_batches for result in results)
    in_batches = Message("; {waiting:,} are in batches, which go on at the server", waiting=waiting)
    return Interrupted(
        "{reason}: {grades:,} of {total:,} judged{spent}{in_batches}",
        reason=reason,
        grades=answers,
        total=total,
        spent=spent,
        in_batches=in_batches if waiting else "",
    )


async def judge_pool(
    pool: Pool, member: PanelMember, window: LeaseWindow, repeats: int, progress: ProgressListener
) -> JudgingResult:
    """Judge every pair of `pool` in every repeat; only what the store does not hold costs calls.

    Equal requests are made once, in batches if the member has a Batch API. Judgments are in pool order,
    repeat by repeat. Errors of the model never raise: see `JudgingResult.stopped`.
    """
    assessor, client, store = member.assessor, member.client, window.store
    cache = FileCache(make_cache_path(store.path))
    server = _ServerRecord(cache, client)
    if server.was_unlimited:
        client.limiter.skip_probes()
    plan = QuestionPlan(pool, assessor, repeats, cache)
    log = JudgmentLog(len(plan), store.path.parent)
    counter = RepeatCounter(repeats, len(pool.pairs), assessor.scale)
    api = member.batch_api
    batches = BatchRunner(api, assessor, client, store.batches) if api else None
    run = _PoolRun(assessor, client, window, progress, counter, log, batches)
    known_corrupt = len(store.corrupt_keys)
    by_rule, ended_repeats = run.add_known_judgments(plan)
    progress.begin(len(plan), len(log), assessor.subject)
    for repeat in ended_repeats:
        progress.end_repeat(repeat)
    run.requests = plan.read_requests(log.find_missing_indices())
    try:
        await run.judge_all()
    finally:
        progress.end()
    server.update()
    to_ask = np.delete(np.arange(len(plan)), by_rule)
    missing_keys = list(plan.list_keys(log.find_missing_indices()))
    in_batch = store.batches.find(missing_keys)
    return JudgingResult(
        judgments=log,
        graded=log.graded,
        failures=StoredRecords(log.read_failures, len(log) - log.graded),
        cost=sum_cost(store.read_calls(plan.list_distinct_keys(to_ask)), client.limits.price),
        calls_made=client.spend_limit.calls,
        stopped=client.cancel_token.reason,
        warnings=(
            *_describe_corrupt(store, store.corrupt_keys[known_corrupt:]),
            *client.warnings,
            *(batches.warnings if batches else ()),
        ),
        in_batches=sum(key in in_batch for key in missing_keys),
    )


class _ServerRecord:
    """What the cache holds about the server of a model: whether an earlier run got verdicts at full rate."""

    _UNLIMITED, _LIMITED = "unlimited\n", "limited\n"

    def __init__(self, cache: FileCache, client: ModelClient) -> None:
        self._cache = cache
        self._client = client
        self._key = make_key("server", client.model.name, client.model.endpoint)
        # A model in this process has no server.
        self._has_server = bool(client.model.endpoint)
        lines = cache.read(self._key) if self._has_server else None
        self.was_unlimited = list(lines or ()) == [self._UNLIMITED.encode()]

    def update(self) -> None:
        """Write what this run has shown, if that is new."""
        limiter = self._client.limiter
        is_known = limiter.has_answer and self._client.cancel_token.reason is None
        is_unlimited = not limiter.was_slowed_down
        if self._has_server and is_known and is_unlimited != self.was_unlimited:
            self._cache.write(self._key, [self._UNLIMITED if is_unlimited else self._LIMITED])


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


@dataclass(slots=True)
class _PoolRun:
    """The state of judging one pool. `requests` yields the pairs that are to be judged."""

    assessor: Assessor
    client: ModelClient
    window: LeaseWindow
    progress: ProgressListener
    counter: RepeatCounter
    log: JudgmentLog
    batches: BatchRunner | None
    requests: Iterator[VerdictRequest] = field(default_factory=lambda: iter(()))
    #: The next ones of `requests`.
    todo: deque[VerdictRequest] = field(default_factory=deque)
    #: Pairs whose lease another process holds.
    leased_elsewhere: deque[VerdictRequest] = field(default_factory=deque)
    #: The replies of a batch that has ended, by key.
    replies: dict[str, BatchReply] = field(default_factory=dict)
    #: The number of pairs in batches that have not ended.
    in_batches: int = 0
    last_progress_at: float = 0.0
    #: Pairs with a lease, for the `tasks` tasks that judge; None ends a task. A task is kept for the next
    #: pair, because to start one takes CPU time.
    leased: asyncio.Queue[tuple[VerdictRequest, PairLease] | None] = field(default_factory=asyncio.Queue)
    tasks: int = 0
    #: Pairs that are in `leased` or that a task judges.
    under_way: int = 0
    pair_ended: asyncio.Event = field(default_factory=asyncio.Event)
    failures: ConsecutiveFailures = field(init=False)
    #: An error that nothing expects of a pair: it is raised when the calls in flight have ended.
    defect: Exception | None = None

    def __post_init__(self) -> None:
        self.failures = ConsecutiveFailures(self.assessor.model)

    def add_known_judgments(self, plan: QuestionPlan) -> tuple[list[int], list[RepeatProgress]]:
        """Add the judgments that need no call.

        Return the indices of those that follow from a rule, and the repeats that are complete with them.
        """
        by_rule, ended = list[int](), list[RepeatProgress]()
        for block in plan.read_blocks():
            judgments: dict[int, Judgment] = {}
            others: list[IndexedQuestion] = []
            for index, question in block:
                if judgment := self.assessor.judge_by_rule(question):
                    judgments[index] = judgment
                else:
                    others.append((index, question))
            by_rule += judgments
            answers = self.window.store.find_answers(question.key for _, question in others)
            for index, question in others:
                if answer := answers.get(question.key):
                    judgments[index] = self.assessor.make_judgment(question, answer)
            self.log.add(list(judgments), list(judgments.values()))
            ended += self.counter.count_judgments(judgments.values())
        return by_rule, ended

    async def judge_all(self) -> None:
        """Judge all pairs of `requests`, or those that end before the run is cancelled."""
        if not self._fill_todo(1):
            return
        self.last_progress_at = time.monotonic()
        async with asyncio.TaskGroup() as group:
            judge = self._judge_in_batches(self.batches) if self.batches else self._judge_todo()
            judging = group.create_task(judge)
            others = [group.create_task(self._shut_down(judging)), group.create_task(self._report_status())]
            await asyncio.wait([judging])
            for other in others:
                other.cancel()
        if self.defect is not None:
            raise self.defect

    async def _judge_in_batches(self, batches: BatchRunner) -> None:
        """Judge the pairs by the replies of batches, as these end, and in realtime what no batch holds."""
        token, store = self.client.cancel_token, self.window.store
        waiting = {each.question.key: each for each in (*self.todo, *self.requests)}
        in_batch = store.batches.find(waiting)
        self.todo.clear()
        try:
            free = next((key for key in waiting if key not in in_batch), None)
            if free is not None:
                # In realtime, which shows at once whether account, model and parameters are right.
                self.todo.append(waiting.pop(free))
                await self._judge_todo()
            token.raise_if_cancelled()
            questions = {key: request.question for key, request in waiting.items()}
            async with aclosing(batches.collect(questions)) as replies_of_batches:
                async for replies in replies_of_batches:
                    self.replies = dict(replies)
                    self.todo += [waiting.pop(key) for key in replies]
                    await self._judge_todo()
                    token.raise_if_cancelled()
            self.todo += waiting.values()
            await self._judge_todo()
        except Cancelled:
            return
        except (AccountError, RunIncomplete, StoreError) as reason:
            token.cancel(reason)
        except RequestRejected as error:
            token.cancel(make_lookup_error(self.client.model.endpoint, error))

    async def _judge_todo(self) -> None:
        """Judge the pairs of `todo` and `requests`, many at once; lease several at a time."""
        token = self.client.cancel_token
        # More pairs than permits: those that wait for a retry must not keep a permit idle. With few permits
        # some more, so that an outage is spread over many pairs' attempts.
        concurrency = self.client.limits.concurrency
        most = max(_MIN_PAIRS, 4 * concurrency)
        # A few at first: the first requests do not wait until all of these are leased.
        size = max(_MIN_PAIRS, concurrency // 4)
        self.window.expect_leases(True)
        async with asyncio.TaskGroup() as group:
            try:
                while token.reason is None:
                    free = min(size, most - self.under_way)
                    if self._fill_todo(free) and free > 0:
                        await self._lease_next(group, self.todo, free)
                        size = most
                    elif self.todo:
                        await self._wait_for_pair()
                    elif self.leased_elsewhere:
                        await self._wait_for_other_processes()
                        await self._lease_next(group, self.leased_elsewhere, len(self.leased_elsewhere))
                    elif self.under_way:
                        self.window.expect_leases(False)
                        await self._wait_for_pair()
                    elif self.in_batches:
                        raise RunIncomplete(
                            "{count:,} pairs are in a batch at {endpoint}; run again with --batch to collect"
                            " it",
                            count=self.in_batches,
                            endpoint=self.assessor.model.endpoint,
                        )
                    else:
                        return
            except Cancelled:
                return
            except (RunIncomplete, StoreError) as reason:
                token.cancel(reason)
            finally:
                for _ in range(self.tasks):
                    self.leased.put_nowait(None)
                self.tasks = 0

    async def _wait_for_pair(self) -> None:
        """Wait until a pair that is under way ends."""
        self.pair_ended.clear()
        await self.pair_ended.wait()

    def _fill_todo(self, count: int) -> bool:
        """Move the next pairs from `requests` to `todo`, up to `count` there; return whether it has one."""
        self.todo.extend(islice(self.requests, max(0, max(1, count) - len(self.todo))))
        return bool(self.todo)

    async def _wait_for_other_processes(self) -> None:
        max_wait = self.client.limits.max_wait
        if time.monotonic() - self.last_progress_at > max_wait:
            raise RunIncomplete(
                "the remaining pairs are leased by another process, which made no progress for {seconds:g}"
                " s; wait for it, or end whatever else uses {store}, then run the same command again; all"
                " judgments are saved",
                seconds=max_wait,
                store=self.window.store.path,
            )
        await self.client.cancel_token.sleep(LEASE_POLL_INTERVAL)

    async def _lease_next(self, group: asyncio.TaskGroup, pairs: deque[VerdictRequest], size: int) -> None:
        """Lease the first of `pairs`, at most `size`, and start to judge them."""
        for result in await self.window.acquire([each.question.key for each in islice(pairs, size)]):
            request = pairs.popleft()
            match result:
                case PairLease():
                    self.under_way += 1
                    self.leased.put_nowait((request, result))
                    if self.under_way > self.tasks:
                        self.tasks += 1
                        group.create_task(self._judge_leased())
                case StoredVerdict() | StoredRefusal():
                    self._add_judgments(request, result)
                case LeasedElsewhere():
                    self.leased_elsewhere.append(request)
                case InBatch():
                    self.in_batches += 1

    async def _judge_leased(self) -> None:
        """Judge pairs of `leased`, one after the other."""
        while pair := await self.leased.get():
            await self._judge(*pair)
            self.under_way -= 1
            self.pair_ended.set()

    async def _judge(self, request: VerdictRequest, lease: PairLease) -> None:
        """Get one verdict and save it, with a judgment for each question that it answers."""
        question = request.question
        try:
            async with lease:
                reply = self.replies.pop(question.key, None)
                if reply is not None and lease.is_in_batch:
                    answer = await self._ask_with_reply(question, lease, reply)
                    self._update_run_state(answer)
                else:
                    async with self.client.make_permit(lease) as permit:
                        answer = await self.assessor.ask(
                            question, partial(self.client.complete, permit=permit)
                        )
                        self._update_run_state(answer)
                if answer.verdict is not None:
                    await lease.save(self.assessor.make_key_info(question), answer.verdict)
            self._add_judgments(request, answer)
        except LeaseLost:
            self.leased_elsewhere.append(request)
        except Cancelled:
            pass
        except (AccountError, RunIncomplete, StoreError) as reason:
            self.client.cancel_token.cancel(reason)
        except Exception as defect:  # noqa: BLE001  # in the task group it would end calls that are paid for
            self.defect = self.defect or defect
            self.client.cancel_token.cancel(RunIncomplete("judge has a defect: {error!r}", error=defect))

    async def _ask_with_reply(
        self, question: Question, lease: PairLease, reply: BatchReply
    ) -> AssessorAnswer:
        """Ask as in realtime, with the `reply` of a batch to the first request."""
        replies = [reply]
        lease.begin_call()
        lease.end_call(make_batch_call(reply))
        async with AsyncExitStack() as permits:
            permit: PairPermit | None = None

            async def complete(prompt: Prompt) -> Completion:
                nonlocal permit
                first = replies.pop() if replies else None
                if isinstance(first, Completion):
                    return first
                if first is not None and is_final(first):
                    raise first
                if permit is None:
                    permit = await permits.enter_async_context(self.client.make_permit(lease))
                return await self.client.complete(prompt, permit)

            return await self.assessor.ask(question, complete)

    def _update_run_state(self, answer: AssessorAnswer) -> None:
        """Lift the limit on the first requests after a verdict, or cancel the run after many failures."""
        if answer.verdict is not None:
            self.client.limiter.record_verdict()
        if reason := self.failures.check(answer):
            self.client.cancel_token.cancel(reason)

    def _add_judgments(self, request: VerdictRequest, answer: AssessorAnswer | StoredAnswer) -> None:
        self.last_progress_at = time.monotonic()
        questions = request.questions
        judgments = [self.assessor.make_judgment(question, answer) for _, question in questions]
        self.log.add((index for index, _ in questions), judgments)
        for judgment in judgments:
            self.progress.add_judgment(judgment, self.client.spend_limit.usd)
        for repeat in self.counter.count_judgments(judgments):
            self.progress.end_repeat(repeat)

    async def _report_status(self) -> None:
        """Tell the listener every second what the run waits for."""
        while True:
            await asyncio.sleep(1)
            self.progress.set_status((self.batches and self.batches.status) or self.client.describe_wait())

    async def _shut_down(self, judging: asyncio.Task[None]) -> None:
        """Once the run is cancelled, let calls in flight end and save their verdicts: they are paid for.

        After a signal they get `shutdown_timeout` seconds, and none after a second signal.
        """
        token = self.client.cancel_token
        await token.wait()
        self.client.limiter.release_waiters()
        is_signal = isinstance(token.reason, Interrupted)
        await token.wait_for_force(self.client.limits.shutdown_timeout if is_signal else None)
        judging.cancel()


def combine_results(results: Collection[JudgingResult]) -> JudgingResult:
    """Return the results of the members of a panel as one result."""
    return JudgingResult(
        judgments=chain_records([result.judgments for result in results]),
        graded=sum(result.graded for result in results),
        failures=chain_records([result.failures for result in results]),
        cost=add_costs([result.cost for result in results]),
        calls_made=max(result.calls_made for result in results),
        stopped=next((result.stopped for result in results if result.stopped), None),
        warnings=tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        in_batches=sum(result.in_batches for result in results),
    )
