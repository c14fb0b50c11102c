"""When a request is made again, and when a run stops because the server of a model is unavailable.

`judge.client` and `judge.assess.batch_client` retry requests to models by this policy; adapters and their
libraries retry nothing. The limits of requests apply to both.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from judge.client.limiter import AdaptiveLimiter
from judge.errors import CallError, ConnectionFailed, NoResponse, RetryableError, TimedOut
from judge.messages import Message

#: Retries that a run can afford before any answer (and four per call in flight), and per answer.
_INITIAL_RETRIES, _RETRIES_PER_ANSWER = 200.0, 0.1
#: Seconds for which connections are tried to a server that has not answered in this run: it may just be
#: starting.
_MAX_STARTUP = 20.0
#: The same where waiting does not help, as with an unknown host.
_MAX_LASTING = 0.5
#: Timeouts, or other responses than those of a model's server, after which a run stops at a server that has
#: not answered.
_MAX_ERRORS = 3
#: Seconds for which a server may close connections: it may just be starting.
_BROKEN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of the requests to one server.

    `concurrency` is the number of requests in flight; `attempts` are those of one request. `max_wait` is the
    number of seconds after which the requests of a throttled pair, or those to an unavailable server, stop.
    It is also the longest Retry-After that is waited for. Requests in flight get `shutdown_timeout` seconds
    after a signal.
    """

    concurrency: int
    attempts: int
    max_wait: float
    shutdown_timeout: float


class RetryBudget:
    """The retries that a run can afford: a number at first, and one more for every ten answers.

    So a server that always fails gets few more requests than one that works.
    """

    def __init__(self, concurrency: int) -> None:
        self._capacity = self._balance = _INITIAL_RETRIES + 4.0 * concurrency

    def deposit(self) -> None:
        """Add what an answer earns."""
        self._balance = min(self._capacity, self._balance + _RETRIES_PER_ANSWER)

    def withdraw(self) -> bool:
        """Take one retry; return False when none is left."""
        has_retry = self._balance >= 1
        self._balance -= has_retry
        return has_retry


def make_retry_policy(
    limits: RequestLimits, sleep: Callable[[float], Awaitable[None]], withdraw: Callable[[], bool]
) -> AsyncRetrying:
    """Return the retry policy of one request: `RetryableError`, as often as `limits` and `withdraw` allow.

    A rate limit (HTTP 429) costs neither attempts nor retries of the budget; it is retried for `max_wait`
    seconds.
    """
    backoff = wait_exponential(multiplier=0.5, max=60) + wait_random(0, 0.5)
    # Pairs with the same Retry-After must not all be retried at the same time.
    jitter = wait_random(0, 0.25)

    def wait(state: RetryCallState) -> float:
        retry_after = _get_error(state).retry_after
        return backoff(state) if retry_after is None else min(retry_after, limits.max_wait) + jitter(state)

    # Not the number of attempts: those that meet a rate limit do not count.
    failures = 0

    def stop(state: RetryCallState) -> bool:
        nonlocal failures
        if _get_error(state).kind == "rate_limit":
            return (state.seconds_since_start or 0.0) > limits.max_wait
        failures += 1
        return failures >= limits.attempts or not withdraw()

    return AsyncRetrying(
        retry=retry_if_exception_type(RetryableError), wait=wait, stop=stop, sleep=sleep, reraise=True
    )


def _get_error(state: RetryCallState) -> CallError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, CallError):
        raise TypeError(f"only errors of calls are retried, not {error!r}")
    return error


class ServerAvailability:
    """The state of the server at `endpoint` for a run, and why it stops there."""

    def __init__(self, endpoint: str, limits: RequestLimits, limiter: AdaptiveLimiter) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._limiter = limiter
        #: Whether a response of the server's API arrived in this run, a success or an error.
        self._has_response = False
        #: Whether the server accepted a request, in this run or, as the store shows, in an earlier one.
        self.has_completion = False
        #: What the last error says that a retry may solve.
        self.last_error = ""
        #: The errors of a server that has not answered yet.
        self._startup_errors = Counter[type[RetryableError]]()

    def record_completion(self) -> None:
        """Record that the server accepted a request."""
        self._has_response = self.has_completion = True

    def record_error(self, error: CallError) -> str | None:
        """Record `error` and return why the server is unavailable, None while it may be available.

        It gave no answer for too long, which is soon where it never answered, or asks to wait for too long.
        """
        if not isinstance(error, ConnectionFailed | TimedOut | NoResponse):
            self._has_response = True
        if not isinstance(error, RetryableError):
            return None
        self.last_error = error.detail
        max_wait, outage = self._limits.max_wait, self._limiter.measure_outage()
        wait = error.retry_after or 0.0
        if not self._has_response and (reason := self._check_startup(error, outage)):
            return reason
        if wait > max_wait:
            return Message(
                "{endpoint!r} asks to wait {wait} ({error}), longer than --max-wait; wait for that time",
                endpoint=self._endpoint,
                wait=_format_wait(wait),
                error=error,
            )
        if outage > max_wait:
            return Message(
                "no request to {endpoint!r} succeeded for {seconds:.0f} s, last error: {error}; check the"
                " server; if it throttles, wait a while, lower --concurrency or raise --max-wait",
                endpoint=self._endpoint,
                seconds=outage,
                error=error,
            )
        return None

    def _check_startup(self, error: RetryableError, outage: float) -> str | None:
        """Count the error of a server that has not answered yet; return why the run should stop, or None.

        `outage` is the number of seconds since the first error.
        """
        self._startup_errors[type(error)] += 1
        count, detail, max_wait = self._startup_errors[type(error)], error.detail, self._limits.max_wait
        if isinstance(error, ConnectionFailed):
            if outage <= min(max_wait, _MAX_LASTING if error.lasting else _MAX_STARTUP):
                return None
            return Message(
                "no connection to {detail}; check --base-url, the network and that the server runs",
                detail=Message(detail),
            )
        if count < _MAX_ERRORS:
            return None
        if isinstance(error, TimedOut):
            return Message(
                "{endpoint!r} accepts requests and does not answer ({detail}, {count} times); check the"
                " server, or raise --timeout",
                endpoint=self._endpoint,
                detail=Message(detail),
                count=count,
            )
        is_starting = outage < min(max_wait, _BROKEN_SECONDS) and self._limits.attempts > 1
        if not isinstance(error, NoResponse) or (is_starting and not error.lasting):
            return None
        return Message(
            "{endpoint!r} does not answer as a model's server: {detail}; check --base-url (http or https),"
            " and whether the network requires a login",
            endpoint=self._endpoint,
            detail=Message(detail),
        )


def _format_wait(seconds: float) -> Message:
    """Return a Retry-After in minutes, or in hours from two hours on, as exact as the server states it."""
    if seconds < 7200:
        return Message("{minutes:.3g} min", minutes=seconds / 60)
    return Message("{hours:.6g} h", hours=seconds / 3600)
