"""When a request is made again, and the limits of requests.

`judge.client` and `judge.assess.batch_client` retry requests to models by this policy; adapters and their
libraries retry nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from judge.errors import CallError, RetryableError

#: Retries that a run can afford before any answer (and four per call in flight), and per answer.
_INITIAL_RETRIES, _RETRIES_PER_ANSWER = 200.0, 0.1


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
