"""Servers with limits: how many requests they accept, how they refuse others, and when they are down.

Each is a function of the time and of earlier requests, so that tests run it on a real loopback server
or in virtual time. All times are in seconds.
"""

import heapq
import json
import math
import random
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate

from tests.support.fake_server import ChatRequest, Reply


@dataclass
class Capacity:
    """The limits of a server: `rate` requests a second and `slots` at once, None for no limit.

    A leaky bucket of `burst` requests limits the rate; if `burst` is None, a count in windows of a second.
    """

    rate: float | None = None
    slots: int | None = None
    burst: float | None = None
    _ends: list[float] = field(default_factory=list, init=False)
    _level: float = field(default=0.0, init=False)
    _updated_at: float = field(default=0.0, init=False)
    _window_count: int = field(default=0, init=False)

    def admit(self, now: float, until: float) -> float:
        """Return 0 if a request at `now` that ends at `until` is accepted, else the seconds to wait."""
        while self._ends and self._ends[0] <= now:
            heapq.heappop(self._ends)
        if self.slots is not None and len(self._ends) >= self.slots:
            return self._ends[0] - now + 1e-6
        wait = self._admit_by_rate(now) if self.rate is not None else 0.0
        if not wait:
            heapq.heappush(self._ends, until)
        return wait

    def _admit_by_rate(self, now: float) -> float:
        assert self.rate is not None
        if self.burst is None:
            if int(now) > self._updated_at:
                self._window_count, self._updated_at = 0, int(now)
            if self._window_count >= self.rate:
                return math.floor(now) + 1 - now
            self._window_count += 1
            return 0.0
        self._level = max(0.0, self._level - (now - self._updated_at) * self.rate)
        self._updated_at = now
        if self._level > self.burst - 1 + 1e-9:
            return (self._level - self.burst + 1) / self.rate
        self._level += 1
        return 0.0


def format_as_seconds(wait: float) -> dict[str, str]:
    """Return `Retry-After` in whole seconds, which most servers send."""
    return {"retry-after": str(math.ceil(wait))}


def format_as_milliseconds(wait: float) -> dict[str, str]:
    """Return `retry-after-ms`, which OpenAI and Azure send."""
    return {"retry-after-ms": str(math.ceil(wait * 1000))}


def format_as_date(wait: float) -> dict[str, str]:
    """Return `Retry-After` as a date by the server's own clock."""
    now = time.time()
    return {
        "date": formatdate(now, usegmt=True),
        "retry-after": formatdate(now + math.ceil(wait), usegmt=True),
    }


def format_unreadably(_: float) -> dict[str, str]:
    """Return a `Retry-After` that no client can read."""
    return {"retry-after": "soon, maybe"}


RetryAfterFormat = Callable[[float], dict[str, str]]
RATE_LIMIT_ERROR = json.dumps({"error": {"code": "rate_limit_exceeded", "message": "slow down"}})
#: The same error in DashScope's native format.
DASHSCOPE_RATE_LIMIT_ERROR = json.dumps(
    {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded."}
)


@dataclass(frozen=True)
class Request:
    """A request to a limited server, `at` seconds after the first one.

    `outcome` is answered, refused, down or failed; `retry_after` is the wait in the reply, 0 without one.
    """

    at: float
    prompt: str
    outcome: str
    retry_after: float


@dataclass
class LimitedServer:
    """A server that accepts requests up to `capacity` and refuses the others with a 429.

    It replies by `make_reply` after `latency(rng)` seconds. `retry_after_format` and `refusal_body` give the
    headers and the body of a 429. During `outages` (start and end in seconds after the first request), it
    replies with `outage_reply`. At random, it answers a share of `failure_share` with a 500, closes the
    connection of as many, and refuses a share of `refusal_share` for a second. It answers each of
    `failed_prompts` with a 500.
    """

    capacity: Capacity
    latency: Callable[[random.Random], float]
    make_reply: Callable[[ChatRequest], Reply] = lambda _: Reply()
    retry_after_format: RetryAfterFormat = format_as_seconds
    refusal_body: str = RATE_LIMIT_ERROR
    outages: Sequence[tuple[float, float]] = ()
    outage_reply: Reply = field(default_factory=lambda: Reply(status=503, body="down"))
    failure_share: float = 0.0
    refusal_share: float = 0.0
    failed_prompts: Container[str] = ()
    clock: Callable[[], float] = time.monotonic
    started_at: float | None = None
    log: list[Request] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, request: ChatRequest) -> Reply:
        now = self.clock()
        self.started_at = now if self.started_at is None else self.started_at
        outcome, retry_after, reply = self._decide(now - self.started_at, request)
        self.log.append(Request(now - self.started_at, request.prompt, outcome, retry_after))
        return reply

    def _decide(self, now: float, chat_request: ChatRequest) -> tuple[str, float, Reply]:
        if any(begin <= now < end for begin, end in self.outages):
            return "down", float(self.outage_reply.headers.get("retry-after", 0)), self.outage_reply
        latency = self.latency(self.rng)
        wait = self.capacity.admit(now, now + latency)
        if self.refusal_share and self.rng.random() < self.refusal_share:
            wait = 1.0
        if wait:
            retry_after = 0.0 if self.retry_after_format is format_unreadably else wait
            reply = Reply(status=429, headers=self.retry_after_format(wait), body=self.refusal_body)
            return "refused", retry_after, reply
        if chat_request.prompt in self.failed_prompts:
            return "failed", 0.0, Reply(status=500, body="oops", delay=latency)
        if self.rng.random() < 2 * self.failure_share:
            reset = self.rng.random() < 0.5
            return "failed", 0.0, Reply(status=500, body="oops", reset=reset, delay=latency)
        return "answered", 0.0, Reply(text=self.make_reply(chat_request).text, delay=latency)


def count_early_requests(log: Sequence[Request]) -> int:
    """Return how many requests came before the wait in the last reply to their prompt was over."""
    not_before: dict[str, float] = {}
    result = 0
    for request in log:
        result += request.at < not_before.get(request.prompt, 0.0)
        not_before[request.prompt] = request.at + request.retry_after
    return result


def measure_recovery(log: Sequence[Request], recovered: float, rate: float) -> float:
    """Return the seconds from `recovered` to the first five seconds in which 90% of `rate` are answered."""
    times = [request.at for request in log if request.outcome == "answered"]
    for step in range(240):
        begin = recovered + step / 2
        if sum(begin <= at < begin + 5 for at in times) >= 0.9 * 5 * rate:
            return step / 2
    return math.inf
