"""Servers with limits: how many requests they accept, how they refuse others, and when they are down.

Each is a function of the time and of what came before, so that tests run it on a real loopback server
or in virtual time. Seconds everywhere.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate

from judge.client.retry import MAX_RETRY_AFTER
from tests.support.fake_server import ChatRequest, Reply


@dataclass
class Capacity:
    """What a server takes: `rate` requests a second and `slots` at once, None for any number.

    The rate is kept by a bucket of `burst` requests, or by counting in windows of a second when
    `burst` is None.
    """

    rate: float | None = None
    slots: int | None = None
    burst: float | None = None
    _busy: list[float] = field(default_factory=list, init=False)
    _level: float = field(default=0.0, init=False)
    _at: float = field(default=0.0, init=False)
    _counted: int = field(default=0, init=False)

    def refuses(self, now: float, until: float) -> float:
        """0 when a request that ends at `until` is taken at `now`, else the seconds to wait."""
        while self._busy and self._busy[0] <= now:
            heapq.heappop(self._busy)
        if self.slots is not None and len(self._busy) >= self.slots:
            return self._busy[0] - now + 1e-6
        wait = self._turn(now) if self.rate is not None else 0.0
        if not wait:
            heapq.heappush(self._busy, until)
        return wait

    def _turn(self, now: float) -> float:
        assert self.rate is not None
        if self.burst is None:
            if int(now) > self._at:
                self._counted, self._at = 0, int(now)
            if self._counted >= self.rate:
                return math.floor(now) + 1 - now
            self._counted += 1
            return 0.0
        self._level = max(0.0, self._level - (now - self._at) * self.rate)
        self._at = now
        if self._level > self.burst - 1 + 1e-9:
            return (self._level - self.burst + 1) / self.rate
        self._level += 1
        return 0.0


def in_seconds(wait: float) -> dict[str, str]:
    """Whole seconds, as most servers say it."""
    return {"retry-after": str(math.ceil(wait))}


def in_milliseconds(wait: float) -> dict[str, str]:
    """Milliseconds, as OpenAI and Azure say it."""
    return {"retry-after-ms": str(math.ceil(wait * 1000))}


def as_a_date(wait: float) -> dict[str, str]:
    """A moment, by the server's own clock."""
    now = time.time()
    return {
        "date": formatdate(now, usegmt=True),
        "retry-after": formatdate(now + math.ceil(wait), usegmt=True),
    }


def as_nonsense(_: float) -> dict[str, str]:
    """Words that say nothing."""
    return {"retry-after": "soon, maybe"}


Say = Callable[[float], dict[str, str]]
THROTTLED = json.dumps({"error": {"code": "rate_limit_exceeded", "message": "slow down"}})
#: How DashScope's native wire says it.
DASHSCOPE = json.dumps({"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded."})


@dataclass(frozen=True)
class Request:
    """A request to a limited server: when it came (after the first), its prompt, and what was done.

    `what` is answered, refused, down or failed; `told` are the seconds that it was told to wait.
    """

    at: float
    prompt: str
    what: str
    told: float


@dataclass
class Limited:
    """A server that takes what `capacity` says and turns the rest away in the words of `say`.

    It answers with `answer` after `latency(random)` seconds. During `outages` (from, to, after its
    first request) it does what `down` says. It fails a `failing` share of requests with a 500, and
    as many by hanging up. It turns away a `refusing` share at random, for a second.
    """

    capacity: Capacity
    latency: Callable[[random.Random], float]
    answer: Callable[[ChatRequest], Reply] = lambda _: Reply()
    say: Say = in_seconds
    refusal: str = THROTTLED
    outages: Sequence[tuple[float, float]] = ()
    down: Reply = field(default_factory=lambda: Reply(status=503, body="down"))
    failing: float = 0.0
    refusing: float = 0.0
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    log: list[Request] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, request: ChatRequest) -> Reply:
        now = self.clock()
        self.began = now if self.began is None else self.began
        what, told, reply = self._decide(now - self.began, request)
        self.log.append(Request(now - self.began, request.prompt, what, told))
        return reply

    def _decide(self, now: float, chat_request: ChatRequest) -> tuple[str, float, Reply]:
        if any(begin <= now < end for begin, end in self.outages):
            return "down", float(self.down.headers.get("retry-after", 0)), self.down
        latency = self.latency(self.chance)
        wait = self.capacity.refuses(now, now + latency)
        if self.refusing and self.chance.random() < self.refusing:
            wait = 1.0
        if wait:
            told = 0.0 if self.say is as_nonsense else wait
            return "refused", told, Reply(status=429, headers=self.say(wait), body=self.refusal)
        if self.chance.random() < 2 * self.failing:
            reset = self.chance.random() < 0.5
            return "failed", 0.0, Reply(status=500, body="oops", reset=reset, delay=latency)
        return "answered", 0.0, Reply(text=self.answer(chat_request).text, delay=latency)


def early(log: Sequence[Request]) -> int:
    """Requests that came before the moment that their prompt was last told to wait for."""
    not_before: dict[str, float] = {}
    result = 0
    for request in log:
        result += request.at < not_before.get(request.prompt, 0.0)
        not_before[request.prompt] = request.at + min(request.told, MAX_RETRY_AFTER)
    return result


def back_after(log: Sequence[Request], recovered: float, rate: float) -> float:
    """Seconds from `recovered` until five seconds begin in which 90 % of `rate` are answered."""
    answered = [request.at for request in log if request.what == "answered"]
    for step in range(240):
        begin = recovered + step / 2
        if sum(begin <= at < begin + 5 for at in answered) >= 0.9 * 5 * rate:
            return step / 2
    return math.inf
