"""Judging leased pairs: leases ahead of the permits, each pair, and failures in a row that stop a run.

`judge.assess.judging` lists the steps of a pair.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterable, Set
from functools import partial
from itertools import islice

from judge.assess.assessor import Assessor, SendPrompt
from judge.assess.assignment_plan import AssignmentPlan, VerdictRequest
from judge.assess.batch_client import is_final, make_batch_call
from judge.client.budget import SpendLimit
from judge.client.client import ModelClient, PairPermit
from judge.client.progress import ProgressListener
from judge.errors import PARSE_ERROR_KINDS, RUN_AGAIN, ErrorKind, RunIncomplete
from judge.files.judgment_log import JudgmentLog
from judge.messages import Message
from judge.models.error_mapping import shorten
from judge.models.providers import ModelResult
from judge.models.redaction import mask
from judge.records import Completion, Prompt
from judge.store.leases import Busy
from judge.store.store import Failure, StoredVerdict, VerdictOrFailure, VerdictStore
from judge.store.window import LEASE_POLL_INTERVAL, LeaseLost, LeaseWindow, PairLease

#: Pairs in progress at the same time, at least.
_MIN_PAIRS = 32
#: The run stops after this many pairs in a row that fail at the server, or have no verdict in their replies.
_MAX_FAILED = 30
#: The same for pairs for which the model returned only thinking.
_MAX_ONLY_THINKING = 5
#: Kinds of errors that can concern the pairs of some queries alone.
_PAIR_ERRORS = frozenset({"bad_request", "too_long"})
#: Errors of these kinds must be of so many queries for the run to stop.
_MIN_REJECTED_QUERIES = 3
#: Characters of a reply that a message shows.
_MAX_REPLY = 160
#: What to do about errors of the server that every pair has.
_ADVICE = {
    **dict.fromkeys(("transport", "server_error", "rate_limit"), Message("check the server")),
    "bad_request": Message("correct that"),
    "too_long": Message(
        "lower --max-tokens, or the key max_chars in the TOML file of options, or use a model with a longer"
        " context"
    ),
}


class PairScheduler:
    """Judges the pairs of `requests`, many at once.

    Each pair goes from one of these places to the next:

        _requests, _todo     not leased; `_todo` has the next ones
        _judge               in progress: it has a lease, and a task judges it

    A pair that another process has leased is in `_leased_elsewhere`, and is tried again. A pair whose batch
    has not ended is only counted, in `_in_batches`.
    """

    def __init__(self, requests: Iterable[VerdictRequest], window: LeaseWindow, runner: PairRunner) -> None:
        self._window = window
        self._runner = runner
        self._limits = runner.client.limits
        self._token = runner.client.cancel_token
        self._requests = iter(requests)
        self._todo = deque[VerdictRequest]()
        self._leased_elsewhere = deque[VerdictRequest]()
        self._in_progress = self._in_batches = 0
        self._pair_ended = asyncio.Event()

    async def judge_all(self) -> None:
        """Judge all pairs, or those that end before the run is cancelled."""
        # More pairs than permits: those that wait for a retry must not keep a permit idle. With few permits
        # there are some more pairs, so that an outage is spread over the attempts of many.
        max_in_progress = max(_MIN_PAIRS, 4 * self._limits.concurrency)
        # A few at first: the first requests do not wait until all of these are leased.
        max_leased = max(_MIN_PAIRS, self._limits.concurrency // 4)
        async with asyncio.TaskGroup() as group:
            with self._token.cancel_on_error():
                while self._token.reason is None:
                    count = min(max_leased, max_in_progress - self._in_progress)
                    # At least one, which shows whether a pair is left.
                    missing = max(1, count) - len(self._todo)
                    self._todo.extend(islice(self._requests, max(0, missing)))
                    if self._todo and count > 0:
                        await self._lease_next(group, self._todo, count)
                        max_leased = min(4 * max_leased, max_in_progress)
                    elif self._todo:
                        await self._wait_for_pair()
                    elif self._leased_elsewhere:
                        await self._wait_for_other_processes()
                        await self._lease_next(group, self._leased_elsewhere, len(self._leased_elsewhere))
                    elif self._in_progress:
                        await self._wait_for_pair()
                    elif self._in_batches:
                        raise RunIncomplete(
                            "{count:,} pairs are in a batch at {endpoint!r}; run again with --batch to"
                            " collect it",
                            count=self._in_batches,
                            endpoint=self._runner.client.server_name,
                        )
                    else:
                        break

    async def _lease_next(self, group: asyncio.TaskGroup, requests: deque[VerdictRequest], size: int) -> None:
        """Lease the first of `requests`, at most `size`, and start to judge them."""
        keys = [request.assignment.key for request in islice(requests, size)]
        for result in await self._window.acquire(keys):
            request = requests.popleft()
            match result:
                case PairLease():
                    self._in_progress += 1
                    group.create_task(self._judge(request, result))
                case StoredVerdict() | Failure():
                    self._runner.recorder.add(request, result)
                case Busy.LEASED_ELSEWHERE:
                    self._leased_elsewhere.append(request)
                case Busy.IN_BATCH:
                    self._in_batches += 1

    async def _judge(self, request: VerdictRequest, lease: PairLease) -> None:
        if not await self._runner.judge(request, lease):
            self._leased_elsewhere.append(request)
        self._in_progress -= 1
        self._pair_ended.set()

    async def _wait_for_pair(self) -> None:
        self._pair_ended.clear()
        await self._pair_ended.wait()

    async def _wait_for_other_processes(self) -> None:
        if time.monotonic() - self._runner.recorder.added_at > self._limits.max_wait:
            raise RunIncomplete(
                "the remaining pairs are leased by another process, which made no progress for"
                " {seconds:g} s; wait for it, or end the other programs that use {store}, then {again};"
                " all judgments are saved",
                again=RUN_AGAIN,
                seconds=self._limits.max_wait,
                store=self._window.store.path,
            )
        await self._token.sleep(LEASE_POLL_INTERVAL)


class JudgmentRecorder:
    """Adds the judgments of the assignments in `plan` to `log`, and notifies the listener."""

    def __init__(
        self, plan: AssignmentPlan, spend_limit: SpendLimit, log: JudgmentLog, progress: ProgressListener
    ) -> None:
        #: The time of the last judgment.
        self.added_at = time.monotonic()
        #: Whether one of the judgments that need no call is a grade of the model.
        self.has_verdict = False
        self._plan = plan
        self._spend_limit = spend_limit
        self._log = log
        self._progress = progress

    def begin(self, store: VerdictStore, title: str = "") -> None:
        """Add the judgments that need no call; the listener shows the `title` of the member that judges."""
        for judgments in self._plan.find_known_judgments(store):
            self._log.add(judgments.keys(), judgments.values())
            self.has_verdict = self.has_verdict or any(
                judgment.grade is not None and not judgment.is_by_rule for judgment in judgments.values()
            )
        self.added_at = time.monotonic()
        self._progress.begin(len(self._plan), len(self._log), self._plan.assessor.subject, title)

    def add(self, request: VerdictRequest, answer: VerdictOrFailure) -> None:
        """Add a judgment for each assignment of `request`."""
        self.added_at = time.monotonic()
        make_judgment = self._plan.assessor.make_judgment
        judgments = [make_judgment(assignment, answer) for assignment in request.assignments]
        self._log.add((assignment.index for assignment in request.assignments), judgments)
        for judgment in judgments:
            self._progress.add_judgment(judgment, self._spend_limit.usd)


class PairRunner:
    """Judges leased pairs, each by itself. What concerns all pairs cancels the run."""

    def __init__(self, assessor: Assessor, client: ModelClient, recorder: JudgmentRecorder) -> None:
        self.client = client
        self.recorder = recorder
        #: The first unexpected error, which is raised when the calls in flight have ended.
        self.defect: Exception | None = None
        self._assessor = assessor
        self._failures = ConsecutiveFailures(client)
        self._numbers = itertools.count()

    async def judge(self, request: VerdictRequest, lease: PairLease) -> bool:
        """Get one verdict and save it, with a judgment for each assignment that it answers.

        Return False when another process took the lease.
        """
        try:
            with self.client.cancel_token.cancel_on_error():
                async with lease:
                    answer = await self._ask(request, lease)
                    if isinstance(answer, StoredVerdict):
                        await lease.save(self._assessor.make_key_info(request.assignment), answer)
                self.recorder.add(request, answer)
        except LeaseLost:
            return False
        except Exception as defect:  # noqa: BLE001  # in the task group it would end calls that are paid for
            self.defect = self.defect or defect
            self.client.cancel_token.cancel(RunIncomplete("judge has a defect: {error!r}", error=defect))
        return True

    async def _ask(self, request: VerdictRequest, lease: PairLease) -> VerdictOrFailure:
        """Ask the model for a verdict, and count the failures in a row."""
        number = next(self._numbers)
        with PairPermit(self.client.limiter, lease) as permit:
            send: SendPrompt = partial(self.client.complete, permit=permit)
            if (reply := request.batch_reply) is not None and lease.is_in_batch:
                # The request of the batch has ended: its call is recorded before that of any other request.
                lease.begin_call()
                lease.end_call(make_batch_call(reply))
                send = _send_after_reply(reply, send)
            answer = await self._assessor.ask(request.assignment.pair, send)
            if isinstance(answer, StoredVerdict):
                self.client.limiter.record_verdict()
                self._failures.reset()
            elif reason := self._failures.count(
                answer, request.assignment.pair.query.id, number, fails_alone=permit.fails_alone
            ):
                self.client.cancel_token.cancel(reason)
        return answer


def _send_after_reply(reply: ModelResult, send: SendPrompt) -> SendPrompt:
    """Return a function that gives `reply` to its first prompt, and sends the later ones by `send`.

    Where `reply` is an error that the request may not have in realtime, the first prompt is sent, too.
    """
    replies = [reply]

    async def send_after_reply(prompt: Prompt) -> Completion:
        first = replies.pop() if replies else None
        if isinstance(first, Completion):
            return first
        if first is not None and is_final(first):
            raise first
        return await send(prompt)

    return send_after_reply


class ConsecutiveFailures:
    """Counts the failures in a row of each kind of the model of `client`."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        #: The numbers of the pairs with an unreadable reply, and of those with nothing but thinking.
        self._unreadable, self._only_thinking = set[int](), set[int]()
        self.reset()

    def reset(self) -> None:
        """Begin again at 0, because an answer has a verdict."""
        self._failed = 0
        #: The query of each rejected pair.
        self._rejected_queries = list[str]()

    def count(
        self, failure: Failure, query_id: str, number: int, *, fails_alone: bool = False
    ) -> RunIncomplete | None:
        """Count `failure` of a pair of a query, and return why the run should stop, None where it continues.

        `number` counts the pairs as they start. Pairs that are asked again end one after the other: in that
        order, they are not in a row. Where a request was accepted, a rejection concerns its pair. Where none
        was, the server may reject all pairs of the first queries. A pair that `fails_alone`, while the server
        answers others, ends after them because it is asked again: its error does not count.
        """
        is_rejection = failure.kind in _PAIR_ERRORS
        if failure.kind not in _ADVICE or (is_rejection and self._client.availability.has_completion):
            self._failed = 0
            self._rejected_queries.clear()
        elif is_rejection:
            self._rejected_queries.append(query_id)
        elif not fails_alone:
            self._failed += 1
        count = len(self._rejected_queries) if is_rejection else self._failed
        if failure.kind in PARSE_ERROR_KINDS:
            self._unreadable.add(number)
        if failure.thinking:
            self._only_thinking.add(number)
        is_of_all = not is_rejection or len({*self._rejected_queries}) >= _MIN_REJECTED_QUERIES
        if count >= _MAX_FAILED and is_of_all:
            return RunIncomplete(
                "{count:,} requests in a row failed with {error!r} at {endpoint!r}, the last one: {detail};"
                " {advice}, then {again}; all judgments are saved",
                again=RUN_AGAIN,
                advice=_ADVICE[failure.kind],
                count=count,
                error=ErrorKind(failure.kind),
                endpoint=self._client.server_name,
                detail=Message(failure.detail),
            )
        if _is_in_row(number, self._only_thinking, _MAX_ONLY_THINKING):
            return RunIncomplete(
                "{count:,} requests in a row to {model} have no answer: {advice}",
                count=_MAX_ONLY_THINKING,
                model=self._client.model.name,
                advice=failure.advice,
            )
        if _is_in_row(number, self._unreadable, _MAX_FAILED):
            return RunIncomplete(
                "{count:,} replies in a row from {model} cannot be parsed, {reply}; {advice}",
                model=self._client.model.name,
                count=_MAX_FAILED,
                reply=_describe_reply(failure),
                advice=failure.advice,
            )
        return None


def _is_in_row(number: int, numbers: Set[int], length: int) -> bool:
    """Return whether `number` is one of at least `length` in a row, all of them in `numbers`."""
    first = next(i for i in itertools.count(number, -1) if i - 1 not in numbers)
    return number in numbers and all(i in numbers for i in range(first, first + length))


def _describe_reply(failure: Failure) -> Message:
    # A server may send a refusal in a field of its own.
    reply = failure.detail if failure.kind == "refusal" and not failure.reply else failure.reply
    if not reply:
        return Message("all empty")
    line = shorten(mask(reply[: 4 * _MAX_REPLY]))  # nothing shaped like a key
    excerpt = line if len(line) <= _MAX_REPLY else f"{line[:_MAX_REPLY]}…"
    return Message("the last reply ({error}): {excerpt!r}", error=ErrorKind(failure.kind), excerpt=excerpt)
