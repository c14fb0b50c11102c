"""When a request is made again, and when a run stops because the server of a model is unavailable.

`judge.client` and `judge.assess.batch_client` retry requests to models by this policy; adapters and their
libraries retry nothing. The limits of requests apply to both.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from judge.client.limiter import AdaptiveLimiter
from judge.errors import CallError, ConnectionFailed, NoResponse, RequestRejected, RetryableError, TimedOut
from judge.messages import Message

#: Retries that a run can afford before any answer (and four per call in flight), and per answer.
_INITIAL_RETRIES, _RETRIES_PER_ANSWER = 200.0, 0.1
#: Seconds for which connections are tried to a server that has not answered in this run: it may just be
#: starting.
_MAX_STARTUP = 20.0
#: The same where waiting does not help, as with an unknown host.
_MAX_LASTING = 0.5
#: Timeouts and HTML pages after which a run stops at a server that has not answered.
_MAX_TIMEOUTS, _MAX_PAGES = 3, 3
#: Equal rejections of an unknown kind after which it stops at one that has accepted no request.
MAX_REJECTIONS = 3
#: What differs in a message from request to request, such as a number or an id.
_VARYING_WORD = re.compile(r"\w*\d\w*", re.ASCII)
#: Broken connections after which it stops, when they take this many seconds.
_MAX_BROKEN, _BROKEN_SECONDS = 5, 10.0
#: Waits for Retry-After of more seconds are reported at the end of a run.
_LONG_WAIT = 60.0
#: What may be wrong where connections to an http:// address are closed.
_TLS_HINT = Message(" (a port that speaks TLS needs https://)")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of the requests to one server.

    `concurrency` is the number of requests in flight; `attempts` are those of one request. `max_wait` is the
    number of seconds after which a throttled pair or an unavailable server is given up, and the longest
    Retry-After that is waited for. Requests in flight get `shutdown_timeout` seconds after a signal.
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
    """What a run knows of the server at `endpoint`, and why it stops there."""

    def __init__(self, endpoint: str, limits: RequestLimits, limiter: AdaptiveLimiter) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._limiter = limiter
        self._startup_errors = _StartupErrors(endpoint, limits)
        #: Whether a response of the server's API arrived in this run, a success or an error.
        self._has_response = False
        #: Whether the server accepted a request, in this run or, as the store shows, in an earlier one.
        self.has_completion = False
        #: Whether the server rejected the same requests in an earlier run, which may have stopped for it.
        self._was_rejected = False
        #: What the last error says that a retry may solve.
        self.last_error = ""
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
                "{endpoint!r} asked to wait for up to {wait} (Retry-After)",
                endpoint=self._endpoint,
                wait=wait,
            ),
        )

    def record_earlier_runs(self, *, has_completion: bool, was_rejected: bool) -> None:
        """Record what the store shows of earlier runs: an accepted request, a rejection of the next ones."""
        self.has_completion = self.has_completion or has_completion
        self._was_rejected = was_rejected

    def record_completion(self) -> None:
        """Record that the server accepted a request."""
        self._has_response = self.has_completion = True

    def record_error(self, error: CallError) -> str | None:
        """Record `error` and return why the server is unavailable, None while it may be available.

        It gave no answer for too long, which is soon where it never answered, asks to wait for too long,
        refuses all requests, or answers as another API.
        """
        if not isinstance(error, ConnectionFailed | TimedOut | NoResponse):
            self._has_response = True
        if isinstance(error, RequestRejected):
            is_of_pair = self.has_completion or self._was_rejected
            return None if is_of_pair else self._startup_errors.check_rejection(error)
        if not isinstance(error, RetryableError):
            return None
        self.last_error = error.detail
        if isinstance(error, NoResponse) and error.is_other_api and not self.has_completion:
            return Message(error.detail)
        max_wait, outage = self._limits.max_wait, self._limiter.measure_outage()
        wait = error.retry_after or 0.0
        reason = None if self._has_response else self._startup_errors.check(error, outage)
        if reason is not None:
            return reason
        if wait > max_wait:
            return Message(
                "{endpoint!r} asks to wait {wait} ({error}), longer than --max-wait; wait for that time",
                endpoint=self._endpoint,
                wait=format_wait(wait),
                error=error,
            )
        if outage > max_wait:
            return self._describe_outage(error, outage)
        self._longest_wait = max(self._longest_wait, wait)
        return None

    def _describe_outage(self, error: RetryableError, seconds: float) -> str:
        """Return that no request was answered for this many seconds, and what to do."""
        tls = "" if self._has_response else _advise_tls(error, self._endpoint)
        return Message(
            "{endpoint!r} throttled every request for {seconds:.0f} s, the last one with {error}; wait a"
            " while, lower --concurrency or raise --max-wait"
            if self._limiter.throttles_all
            else "no request to {endpoint!r} succeeded for {seconds:.0f} s, last error: {error}; check the"
            " server{tls}",
            endpoint=self._endpoint,
            seconds=seconds,
            error=error,
            tls=tls,
        )


class _StartupErrors:
    """Counts the errors of a server that has not answered yet, and says when they are reason to stop."""

    def __init__(self, endpoint: str, limits: RequestLimits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._timeouts = self._pages = self._broken = self._rejections = 0
        self._rejection = ""

    def check_rejection(self, error: RequestRejected) -> str | None:
        """Count an unknown rejection and return why the run should stop, None where it should go on.

        As long as no request was accepted, equal rejections in a row concern the requests, not their pairs.
        """
        rejection = _VARYING_WORD.sub("", error.detail) if error.kind == "bad_request" else ""
        self._rejections = self._rejections + 1 if rejection == self._rejection else 1
        self._rejection = rejection
        if not rejection or self._rejections < MAX_REJECTIONS:
            return None
        return Message(
            "{endpoint!r} refused the first {count} requests with the same error: {detail}; check --base-url,"
            " the model and its options (if they are right, the next start does not stop here)",
            endpoint=self._endpoint,
            count=MAX_REJECTIONS,
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
                "{endpoint!r} accepts requests and does not answer ({detail}, {count} times); check the"
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
        tls = _advise_tls(error, self._endpoint)
        login = Message(", which may require a login") if self._pages else ""
        return Message(
            "{endpoint!r} does not answer as a model's server: {detail}; check --base-url{tls} and the"
            " network{login}",
            endpoint=self._endpoint,
            detail=Message(error.detail),
            login=login,
            tls=tls,
        )


def _advise_tls(error: RetryableError, endpoint: str) -> str:
    """Return a hint where a server closes connections to an http:// address, or does not speak HTTP there."""
    is_broken = isinstance(error, NoResponse) and error.is_broken
    return _TLS_HINT if is_broken and endpoint.startswith("http:") else ""


def format_wait(seconds: float) -> Message:
    """Return a Retry-After in minutes, or in hours from two hours on, as exact as the server states it."""
    if seconds < 7200:
        return Message("{minutes:.3g} min", minutes=seconds / 60)
    return Message("{hours:.6g} h", hours=seconds / 3600)
