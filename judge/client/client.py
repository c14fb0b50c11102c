"""The client of one model: every request goes through its limiter, retries and budget.

complete (with retries) → _complete_with_negotiation → _complete_with_spend_limit → model.complete
"""

from __future__ import annotations

import re
from typing import Protocol, Self
from urllib.parse import urlsplit

from judge.client.budget import SpendLimit, bound_cost
from judge.client.cancel import CancelToken
from judge.client.limiter import AdaptiveLimiter, Circuit
from judge.client.rate_estimator import Permit
from judge.client.retry import RequestLimits, RetryBudget, make_retry_policy
from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    Interrupted,
    NoResponse,
    ParametersRejected,
    RequestRejected,
    RetryableError,
    RunIncomplete,
    TimedOut,
)
from judge.messages import Message
from judge.models.providers import Model
from judge.pricing.prices import FREE_PRICE, Price
from judge.records import ANSWERED, CONTENT_FILTER, LOST, Call, Completion, Prompt

#: Seconds for which connections are tried to a server that has not answered in this run: it may just be
#: starting.
_MAX_STARTUP = 20.0
#: The same where waiting does not help, as with an unknown host.
_MAX_LASTING = 0.5
#: Timeouts and HTML pages after which a run stops at a server that has not answered, and equal refusals of an
#: unknown kind after which it stops at one that has accepted no request.
_MAX_TIMEOUTS, _MAX_PAGES, _MAX_REFUSALS = 3, 3, 3
#: What differs in a message from request to request, such as a number or an id.
_VARYING_WORD = re.compile(r"\w*\d\w*", re.ASCII)
#: Broken connections after which it stops, when they take this many seconds.
_MAX_BROKEN, _BROKEN_SECONDS = 5, 10.0
#: Waits for Retry-After of more seconds are reported at the end of a run.
_LONG_WAIT = 60.0
#: What may be wrong where connections to an http:// address are closed.
_TLS_HINT = Message(" (a port that speaks TLS needs https://)")
#: Seconds without an answer after which the progress shows what the run waits for.
_SLOW = 5.0
#: The same after which it shows that no request succeeds.
_OUTAGE = 2.0


def make_failed_call(error: CallError, *, in_batch: bool = False) -> Call:
    """Return the record of a request that failed with `error`."""
    detail = error.detail if error.kind == CONTENT_FILTER else ""
    return Call(error.kind, error.usage, error.maybe_billed, in_batch, detail)


class CallHooks(Protocol):
    """What the client calls before and after each request of one pair, and to wait before a retry."""

    def begin_call(self) -> None:
        """Record that a request is sent now."""

    def end_call(self, call: Call) -> None:
        """Record how a request ended."""

    async def sleep(self, seconds: float) -> None:
        """Wait before a retry; raise Cancelled when the run is cancelled meanwhile."""


class PairPermit:
    """The permits of one pair, one for each request; released at the end of `with` and while the pair waits.

    `hooks` are called for its requests. `current` is the permit of the last request or the next one.
    """

    current: Permit

    def __init__(self, limiter: AdaptiveLimiter, hooks: CallHooks) -> None:
        self.hooks = hooks
        self.is_used = False
        self._limiter = limiter
        self._is_held = self._is_repeated = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def acquire(self) -> None:
        """Wait for the permit of the next request, unless it is held.

        A pair that returns that of its last request goes before all others.
        """
        if self._is_held and not self.is_used:
            return
        previous, self._is_held = self.current if self._is_held else None, False
        if self._is_repeated:
            self.current = await self._limiter.acquire_again(previous)
        else:
            self.current = await self._limiter.acquire()
        self._is_held, self._is_repeated, self.is_used = True, True, False

    async def sleep(self, seconds: float) -> None:
        """Wait without a permit."""
        self.release()
        await self.hooks.sleep(seconds)

    def release(self) -> None:
        """Release the permit, if one is held."""
        if self._is_held:
            self._is_held = False
            self._limiter.release(self.current, unused=not self.is_used)


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
        self.limiter = AdaptiveLimiter(limits.concurrency)
        self._retry_budget = RetryBudget(limits.concurrency)
        #: Whether a response of the server's API arrived in this run, a success or an error.
        self._has_response = False
        #: Whether the server accepted a request, in this run or, as the store shows, in an earlier one.
        self.has_completion = False
        self._startup_errors = _StartupErrors(model.endpoint or model.name, limits)
        #: What the last error says that a retry may solve.
        self._last_error = ""
        #: The longest Retry-After that was waited for, in seconds.
        self._longest_wait = 0.0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of the server at the end of the run."""
        if self._longest_wait <= _LONG_WAIT:
            return ()
        wait = format_wait(self._longest_wait)
        return (
            Message(
                "{endpoint} asked to wait for up to {wait} (Retry-After)",
                endpoint=self.model.endpoint,
                wait=wait,
            ),
        )

    def describe_wait(self) -> Message:
        """Return what the run waits for, `""` while answers come or the model is in this process."""
        host, limiter = urlsplit(self.model.endpoint).netloc, self.limiter
        since, pause = limiter.measure_time_without_answer(), limiter.measure_time_until_open()
        if not host:
            return Message("")
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
                detail=Message(self._last_error.removeprefix(f"{self.model.endpoint}: ")),
            )
        if since <= _SLOW:
            return Message("")
        if limiter.circuit is Circuit.STARTING:
            return Message(
                "waiting for the first answer from {host}, {seconds:.0f} s", host=host, seconds=since
            )
        return Message("waiting for an answer from {host}, {seconds:.0f} s", host=host, seconds=since)

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
        """Send again at once as often as the adapter gives up a parameter that the server rejects."""
        while True:
            await permit.acquire()
            self.cancel_token.raise_if_cancelled()
            try:
                return await self._complete_with_spend_limit(prompt, permit)
            except ParametersRejected:
                continue

    async def _complete_with_spend_limit(self, prompt: Prompt, permit: PairPermit) -> Completion:
        """Reserve a call, send it, and settle it however it ends; a model in this process needs no call."""
        is_call = self.price != FREE_PRICE
        has_budget = self.spend_limit.budget is not None
        most = bound_cost(prompt, self.model.params, self.price) if has_budget else 0.0
        while is_call and not self.spend_limit.reserve(most):
            permit.release()
            await self.spend_limit.wait_for_settlement()
            await permit.acquire()
            self.cancel_token.raise_if_cancelled()
        permit.is_used = True
        permit.hooks.begin_call()
        call = Call(LOST, maybe_billed=True)  # for a call that is ended before its answer
        try:
            completion = await self.model.complete(prompt)
            call = Call(ANSWERED, completion.usage)
        except CallError as error:
            call = make_failed_call(error)
            self._record_error(error, permit)
            raise
        finally:
            if is_call:
                self.spend_limit.settle(call, self.price, most)
            permit.hooks.end_call(call)
        self._has_response = self.has_completion = True
        self._retry_budget.deposit()
        self.limiter.record_answer(permit.current)
        return completion

    def _record_error(self, error: CallError, permit: PairPermit) -> None:
        """Report `error` to cancel token and limiter; raise RunIncomplete when the server is unavailable."""
        if not isinstance(error, ConnectionFailed | TimedOut | NoResponse):
            self._has_response = True
        if isinstance(error, AccountError):
            self.cancel_token.cancel(error)  # at once, before another pair gets the permit
        elif isinstance(error, RequestRejected):
            self.limiter.record_answer(permit.current)
        elif isinstance(error, RetryableError):
            self._last_error = error.detail
            throttled = error.kind == "rate_limit" or error.retry_after is not None
            # Without retries, the run does not wait for a server that fails.
            if throttled or self.limits.attempts > 1:
                self.limiter.record_failure(permit.current, error.retry_after, throttled=throttled)
        if (reason := self._find_reason_to_stop(error)) is not None:
            raise RunIncomplete(
                "{reason}, then run the same command again; all judgments are saved", reason=reason
            ) from error

    def _find_reason_to_stop(self, error: CallError) -> str | None:
        """Return why the server is unavailable, None while it may be available.

        It gave no answer for too long, which is soon where it never answered, asks to wait for too long,
        refuses all requests, or answers as another API.
        """
        if isinstance(error, RequestRejected):
            return None if self.has_completion else self._startup_errors.check_refusal(error)
        if not isinstance(error, RetryableError):
            return None
        if isinstance(error, NoResponse) and error.is_other_api and not self.has_completion:
            return Message(error.detail)
        max_wait, outage = self.limits.max_wait, self.limiter.measure_outage()
        wait = error.retry_after or 0.0
        endpoint = self.model.endpoint
        reason = None if self._has_response else self._startup_errors.check(error, outage)
        if reason is not None:
            return reason
        if wait > max_wait:
            return Message(
                "{endpoint} asks to wait {wait} ({error}), longer than --max-wait; wait for that time",
                endpoint=endpoint,
                wait=format_wait(wait),
                error=error,
            )
        if outage > max_wait:
            return self._describe_outage(error, outage)
        self._longest_wait = max(self._longest_wait, wait)
        return None

    def _describe_outage(self, error: RetryableError, seconds: float) -> str:
        """Return that no request was answered for this many seconds, and what to do."""
        endpoint = self.model.endpoint
        if self.limiter.throttles_all:
            return Message(
                "{endpoint} throttled every request for {seconds:.0f} s, the last one with {error}; wait a"
                " while, lower --concurrency or raise --max-wait",
                endpoint=endpoint,
                seconds=seconds,
                error=error,
            )
        is_closed = isinstance(error, NoResponse) and not error.is_page and not self._has_response
        tls = _TLS_HINT if is_closed and endpoint.startswith("http:") else ""
        return Message(
            "no request to {endpoint} succeeded for {seconds:.0f} s, last error: {error}; check the"
            " server{tls}",
            endpoint=endpoint,
            seconds=seconds,
            error=error,
            tls=tls,
        )


class _StartupErrors:
    """Counts the errors of a server that has not answered yet, and says when they are reason to stop."""

    def __init__(self, endpoint: str, limits: RequestLimits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._timeouts = self._pages = self._broken = self._refusals = 0
        self._refusal = ""

    def check_refusal(self, error: RequestRejected) -> str | None:
        """Count an unknown refusal and return why the run should stop, None where it should go on.

        As long as no request was accepted, the same refusal in a row concerns the requests, not their pairs.
        """
        refusal = _VARYING_WORD.sub("", error.detail) if error.kind == "bad_request" else ""
        self._refusals = self._refusals + 1 if refusal == self._refusal else 1
        self._refusal = refusal
        if not refusal or self._refusals < _MAX_REFUSALS:
            return None
        return Message(
            "{endpoint} refused the first {count} requests alike: {detail}; check --base-url, the model and"
            " its options",
            endpoint=self._endpoint,
            count=_MAX_REFUSALS,
            detail=Message(error.detail),
        )

    def check(self, error: RetryableError, outage: float) -> str | None:
        """Count `error` and return why the run should stop, None where it should go on.

        `outage` is the number of seconds since the first error.
        """
        if isinstance(error, ConnectionFailed):
            longest = min(self._limits.max_wait, _MAX_LASTING if error.lasting else _MAX_STARTUP)
            why = Message(
                "no connection to {detail}; check --base-url, the network and that the server runs",
                detail=Message(error.detail),
            )
            return why if outage > longest else None
        if isinstance(error, TimedOut):
            self._timeouts += 1
            why = Message(
                "{endpoint} accepts requests and does not answer ({detail}, {count} times); check the"
                " server, or raise --timeout",
                endpoint=self._endpoint,
                detail=Message(error.detail),
                count=self._timeouts,
            )
            return why if self._timeouts >= _MAX_TIMEOUTS else None
        if not isinstance(error, NoResponse):
            return None
        self._pages += error.is_page
        self._broken += not error.is_page
        is_enough = outage >= min(self._limits.max_wait, _BROKEN_SECONDS) or self._limits.attempts == 1
        if self._pages < _MAX_PAGES and not (self._broken >= _MAX_BROKEN and is_enough):
            return None
        tls = _TLS_HINT if self._endpoint.startswith("http:") else ""
        login = Message(", which may ask to log in first") if self._pages else ""
        return Message(
            "{endpoint} does not answer as a model's server: {detail}; check --base-url{tls} and the"
            " network{login}",
            endpoint=self._endpoint,
            detail=Message(error.detail),
            login=login,
            tls=tls,
        )


def format_wait(seconds: float) -> Message:
    """Return a Retry-After in minutes, or in hours from two hours on, as exact as the server states it."""
    if seconds < 7200:
        return Message("{minutes:.3g} min", minutes=seconds / 60)
    return Message("{hours:.6g} h", hours=seconds / 3600)
