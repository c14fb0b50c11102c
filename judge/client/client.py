"""The client of one model: every request goes through its limiter, retries and budget.

complete (with retries) → _complete_with_negotiation → _complete_with_spend_limit → model.complete
"""

import asyncio
from math import inf
from typing import Protocol, Self
from urllib.parse import urlsplit

from judge.client.budget import SpendLimit, bound_cost
from judge.client.cancel import CancelToken
from judge.client.limiter import AdaptiveLimiter, Circuit
from judge.client.rate_estimator import Permit
from judge.client.retry import RequestLimits, RetryBudget, ServerAvailability, make_retry_policy
from judge.errors import (
    RUN_AGAIN,
    AccountError,
    CallError,
    GatewayTimedOut,
    Interrupted,
    Overloaded,
    ParametersRejected,
    RequestRejected,
    RetryableError,
    RunIncomplete,
    TimedOut,
)
from judge.messages import Message
from judge.models.providers import Model
from judge.pricing.prices import Price
from judge.records import ANSWERED, CONTENT_FILTER, LOST, Call, Completion, Prompt

#: The record of a call that is ended before its answer.
_LOST_CALL = Call(LOST, maybe_billed=True)
#: Seconds without an answer after which the progress shows what the run waits for.
_SLOW = 5.0
#: The same after which it shows that no request succeeds.
_OUTAGE = 2.0


def make_failed_call(error: CallError, *, in_batch: bool = False) -> Call:
    """Return the record of a request that failed with `error`."""
    detail = error.detail if error.kind == CONTENT_FILTER else ""
    return Call(error.kind, error.usage, error.maybe_billed, in_batch, detail)


class CallRecorder(Protocol):
    """Records each request of one pair, and waits before a retry, as `judge.store.window.PairLease` does."""

    def begin_call(self) -> None:
        """Record that a request is sent now."""

    def end_call(self, call: Call) -> None:
        """Record how a request ended."""

    async def sleep(self, seconds: float) -> None:
        """Wait before a retry; raise Cancelled when the run is cancelled meanwhile."""


class PairPermit:
    """The permits of one pair, one for each request; released at the end of `with` and while the pair waits.

    `recorder` records its requests.
    """

    def __init__(self, limiter: AdaptiveLimiter, recorder: CallRecorder) -> None:
        self.recorder = recorder
        self._limiter = limiter
        #: The permit that is not released yet: that of the next request, or of the last one if it is used.
        self._permit: Permit | None = None
        self._is_used = False
        #: Whether the pair had a permit before: the limiter treats a pair's first request differently.
        self._had_permit = False
        #: When a request of the pair failed first, where it was neither throttled nor timed out in a queue.
        self._failed_at = inf

    @property
    def fails_alone(self) -> bool:
        """Whether the server answered requests of other pairs since the first one of this pair failed."""
        return self._limiter.answered_at > self._failed_at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def acquire(self) -> Permit:
        """Return the permit of the next request; wait for it, unless there is an unused one.

        A pair that returns that of its last request goes before all others.
        """
        if self._permit is not None and not self._is_used:
            return self._permit
        previous, self._permit = self._permit, None
        permit = await self._limiter.acquire(previous, is_first=not self._had_permit)
        self._permit, self._is_used, self._had_permit = permit, False, True
        return permit

    def begin_call(self) -> None:
        """Record that a request is sent now, which uses the permit."""
        self._is_used = True
        self.recorder.begin_call()

    def record_failure(self, permit: Permit, error: RetryableError, *, throttled: bool) -> None:
        """Tell the limiter that the request of `permit` failed, and whether the pair fails alone."""
        if isinstance(error, TimedOut | GatewayTimedOut) and self._limiter.record_timeout(permit):
            return
        self._limiter.record_failure(
            permit, error.retry_after, throttled=throttled, concerns_pair=self.fails_alone
        )
        if not throttled:
            self._failed_at = min(self._failed_at, asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        """Wait without a permit."""
        self.release()
        await self.recorder.sleep(seconds)

    def release(self) -> None:
        """Release the permit, if there is one."""
        if self._permit is not None:
            permit, self._permit = self._permit, None
            self._limiter.release(permit, unused=not self._is_used)


class ModelClient:
    """A model with what all its callers share: limiter, retry budget, spend limit and cancellation.

    `price` is None where it is unknown. The clients of a run share `spend_limit`; without one there is none.
    """

    def __init__(
        self,
        model: Model,
        limits: RequestLimits,
        cancel_token: CancelToken,
        spend_limit: SpendLimit | None = None,
        price: Price | None = None,
    ) -> None:
        self.model = model
        self.limits = limits
        self.cancel_token = cancel_token
        self.spend_limit = spend_limit or SpendLimit()
        self.price = price
        self.limiter = AdaptiveLimiter(limits.concurrency, limits.max_wait)
        self._retry_budget = RetryBudget(limits.concurrency)
        self.availability = ServerAvailability(self.server_name, limits, self.limiter)

    @property
    def server_name(self) -> str:
        """The address of the server; the name of the model where it is unknown, or there is no server."""
        return self.model.endpoint or self.model.name

    def describe_wait(self) -> Message:
        """Return what the run waits for, `""` while answers come or the model is in this process."""
        if self.model.is_local:
            return Message("")
        host, limiter = urlsplit(self.model.endpoint).netloc or self.model.name, self.limiter
        since, pause = limiter.measure_time_without_answer(), limiter.measure_time_until_open()
        if isinstance(self.cancel_token.reason, Interrupted) and limiter.in_flight:
            return Message(
                "stopping: calls in flight get up to {seconds:g} s; press Ctrl-C again to stop at once",
                seconds=self.limits.shutdown_timeout,
            )
        if limiter.circuit is not Circuit.CLOSED and not limiter.in_flight and pause > _SLOW:
            return Message(
                "waiting before the next request to {host}, {seconds:.0f} s left", host=host, seconds=pause
            )
        if (outage := limiter.measure_outage()) > _OUTAGE:
            return Message(
                "no request to {host} succeeded for {seconds:.0f} s, trying again: {detail}",
                host=host,
                seconds=outage,
                detail=Message(self.availability.last_error.removeprefix(f"{self.server_name}: ")),
            )
        if since <= _SLOW:
            return Message("")
        return Message("waiting for an answer from {host}, {seconds:.0f} s", host=host, seconds=since)

    def describe_timeouts(self) -> list[Message]:
        """Return a warning when the server answered others while requests timed out."""
        queue = self.limiter.queue
        if not queue.timeouts:
            return []
        return [
            Message(
                "{endpoint!r} gave no answer to {count:,} requests within {seconds:.0f} s, while it answered"
                " others: it seems to work on few requests at the same time. judge lowered the concurrency to"
                " {limit}, and sent these requests again. To avoid timeouts, run with"
                " --concurrency {limit} or a longer --timeout",
                endpoint=self.server_name,
                count=queue.timeouts,
                seconds=queue.timeout,
                limit=int(queue.lowest_limit),
            )
        ]

    async def complete(self, prompt: Prompt, permit: PairPermit) -> Completion:
        """Return the completion of `prompt`.

        Raises CallError when no retry can help, RunIncomplete when the spend limit is reached or the server
        is unavailable, Cancelled when no further call may start.
        """
        # Most requests need no policy, and to build one costs as much CPU time as a request. So the first
        # attempt is made without it, and its error is that of the policy's first attempt.
        try:
            return await self._complete_with_negotiation(prompt, permit)
        except RetryableError as error:
            first = error
        async for attempt in make_retry_policy(self.limits, permit.sleep, self._retry_budget.withdraw):
            with attempt:
                if attempt.retry_state.attempt_number == 1:
                    raise first
                return await self._complete_with_negotiation(prompt, permit)
        raise first  # not reached: the policy returns or raises

    async def _complete_with_negotiation(self, prompt: Prompt, permit: PairPermit) -> Completion:
        """Send again at once each time the adapter leaves out a parameter that the server rejects."""
        while True:
            try:
                return await self._complete_with_spend_limit(prompt, permit)
            except ParametersRejected:
                continue

    async def _complete_with_spend_limit(self, prompt: Prompt, permit: PairPermit) -> Completion:
        """Reserve a call, send it, and settle it however it ends; a model in this process needs no call."""
        is_call = not self.model.is_local
        has_budget = self.spend_limit.budget is not None
        while True:
            current = await permit.acquire()
            self.cancel_token.raise_if_cancelled()
            max_usd = bound_cost(prompt, self.model.params, self.price) if has_budget else 0.0
            if not is_call or self.spend_limit.reserve(max_usd):
                break
            permit.release()
            await self.spend_limit.wait_for_settlement()
        permit.begin_call()
        call = _LOST_CALL
        try:
            completion = await self.model.complete(prompt)
            call = Call(ANSWERED, completion.usage)
        except CallError as error:
            call = make_failed_call(error)
            self._record_error(error, permit, current)
            raise
        finally:
            if is_call:
                self.spend_limit.settle(call, self.price, max_usd)
            permit.recorder.end_call(call)
        self.availability.record_completion()
        self._retry_budget.deposit()
        self.limiter.record_response(current)
        return completion

    def _record_error(self, error: CallError, pair: PairPermit, permit: Permit) -> None:
        """Report `error` to cancel token and limiter; raise RunIncomplete when the server is unavailable."""
        if isinstance(error, AccountError):
            self.cancel_token.cancel(error)  # at once, before another pair gets the permit
        elif isinstance(error, RequestRejected):
            self.limiter.record_response(permit)
        elif isinstance(error, RetryableError):
            throttled = (
                error.kind == "rate_limit" or error.retry_after is not None or isinstance(error, Overloaded)
            )
            # Without retries, the run does not wait for a server that fails.
            if throttled or self.limits.attempts > 1:
                pair.record_failure(permit, error, throttled=throttled)
        if (reason := self.availability.record_error(error)) is not None:
            raise RunIncomplete(
                "{reason}, then {again}; all judgments are saved", reason=reason, again=RUN_AGAIN
            ) from error
