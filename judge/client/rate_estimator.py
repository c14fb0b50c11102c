"""The rate and the concurrency that a server accepts, estimated from the requests that it throttles.

The rate grows with every answer until the server throttles (HTTP 429); then it falls to the rate that the
server accepted. From there it grows faster and faster, until two throttled rates are about equal. This rate
counts as the server's limit. Near the limit the rate grows slowly, and more slowly each time the limit is
confirmed. Throttling far below the limit refutes it.

A server may also throttle some requests at any rate. Requests sent far slower than a rate that it accepted
before show the share of these. Only throttling beyond this share is evidence about the rate.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import inf, sqrt
from operator import attrgetter, itemgetter

#: The latest requests are those of this many seconds, and at least this many requests.
_WINDOW_SECONDS, _WINDOW_REQUESTS = 1.0, 20
#: Too many requests are throttled when they are at least this number and this share of the latest requests,
#: or at least this number of the last `_WINDOW_REQUESTS`. Fewer may be chance.
_MIN_THROTTLED, _THROTTLED_SHARE, _MIN_THROTTLED_AT_ONCE = 2, 0.1, 4
#: At this share of a confirmed limit or above, this smaller share is too many. After `_MAX_CONFIRMATIONS`,
#: one throttled request is enough.
_AT_LIMIT, _SHARE_AT_LIMIT = 0.9, 0.03
#: The three thresholds where only requests beside more others in flight are throttled: then the concurrency
#: is too high, not the rate.
_MIN_CONCURRENT, _CONCURRENT_SHARE, _MIN_CONCURRENT_AT_ONCE = 4, 0.15, 8
#: In slow start, this many throttled ones of this number of the last requests are too many. Where a server
#: throttles 5% at any rate, chance does not explain them.
_SLOW_START_THROTTLED, _SLOW_START_LATEST = 5, 10
#: Most requests are throttled from this share of the latest on.
_MOST = 0.75
#: The number of accepted rates that are stored. A rate is safe up to this share of the highest of them:
#: bursts make an accepted rate look higher than the limit.
_ACCEPTED_RATES, _SAFE_SHARE = 8, 0.6
#: The number of shares of throttled safe requests that are stored, and the fewest safe requests that give a
#: share. Throttling is not chance from this many standard deviations above the smallest share on.
_SAFE_SHARES, _MIN_SAFE, _CHANCE_DEVIATIONS = 2, 5, 4.0
#: A larger share is not throttled by chance.
_MAX_CHANCE = 0.4
#: A smaller share throttled by chance refutes no limit: each rate ends with a throttled request anyway.
_MIN_CHANCE = 0.03
#: The fewest requests beside few others, and throttled ones beside many, that show a limit of concurrency.
_MIN_SAMPLES = 3
#: The share of the accepted rate to which throttling lowers the rate.
_DECREASE_FACTOR = 0.97
#: After more answers than this, the time until the next one is an outage.
_MIN_ACCEPTED = 10
#: Seconds over which slow start spreads the first requests, at least and at most, and the growth of its rate
#: with an answer.
_SHORTEST_SPREAD, _LONGEST_SPREAD, _SLOW_START_GROWTH = 0.1, 0.15, 0.15
#: Below this share of the limit the rate recovers fast: its growth with an answer is at most this.
_FAST_RECOVERY_BELOW, _FAST_RECOVERY_GROWTH = 0.75, 0.15
#: Its growth in a second: at first, how much more with each answer since the last decrease, and at most.
_RECOVERY_A_SECOND, _RECOVERY_INCREASE, _MAX_RECOVERY_A_SECOND = 0.15, 0.02, 0.8
#: Growth with an answer near the limit, times the answers since, of which this many a second count.
_GROWTH_AT_LIMIT, _ANSWERS_A_SECOND = 6e-5, 5.0
#: Each confirmation of the limit halves the growth near it, and is one of this many at most.
_MAX_CONFIRMATIONS = 3
#: Two throttled rates confirm a limit when their ratio is in this range; throttling below this share of the
#: highest rate that confirmed it refutes it.
_SAME_RATE, _LOWEST_SHARE = (0.6, 1.5), 0.5
#: Seconds of the first pause. A later pause has the length of this many requests, and of fewer after each
#: confirmation of the limit.
_FIRST_PAUSE, _PAUSE_CALLS = 1.0, 5.0
#: Seconds for which requests are stored before the first one is throttled, and at most.
_LONGEST_DELAY = 10.0
#: Seconds of unused rate that may be caught up with: timers are late.
_CATCH_UP = 0.02


@dataclass(slots=True)
class Permit:
    """The right to send one request, and what the limiter needs of this request.

    `number` counts requests, `sent_at` is in seconds of the loop's clock, `in_flight` counts the requests in
    flight, with this one, and `answers` those that were answered before.
    """

    number: int
    sent_at: float
    in_flight: int
    throttled: bool = False
    answers: int = 0


class RateEstimator:
    """Estimates the rate (requests a second) and the concurrency (`limit`) that a server accepts."""

    def __init__(self, concurrency: int) -> None:
        self.limit = float(concurrency)
        self.rate = inf
        #: When the next request may be sent, in seconds of the caller's clock.
        self.next_at = -inf
        #: Whether throttling never lowered the rate.
        self.slow_start = True
        self._concurrency = concurrency
        #: The server's rate limit, inf where it is not known, and the last rate that was throttled too often.
        self._rate_limit = inf
        self._last_throttled_rate: float | None = None
        self._confirmations = 0
        self._peak = 0.0
        self._answers = 0.0
        self._answers_since = 0
        self._sent: deque[Permit] = deque()
        #: The seconds after which the server throttled a request last, and when the latest of these was sent.
        #: An earlier request that was not throttled is accepted; of later ones, nothing is known yet.
        self._delay, self._known_until = _LONGEST_DELAY, -inf
        #: The rates that the server accepted last, and the shares of safe requests that it throttled at the
        #: last rates: the least share is throttled by chance.
        self._accepted_rates: deque[float] = deque(maxlen=_ACCEPTED_RATES)
        self._safe_shares = deque([0.0] * _SAFE_SHARES, _SAFE_SHARES)
        #: The share throttled by chance that was known when the limit was estimated.
        self._chance_at_limit = 0.0
        #: The first requests of the current rate, and since the circuit closed.
        self._rate_start = self._circuit_start = 0
        #: Of the requests since `_rate_start`: the last safe one, the safe ones that were throttled, and the
        #: latest throttled one. A safe request is far slower than a rate that the server accepted before.
        self._last_safe = self._throttled_safe = self._last_throttled = 0
        #: Whether every request was throttled at this rate.
        self._all_throttled = False
        #: When the circuit last closed, and the answers since.
        self._closed_at, self._successes = -inf, 0

    def start(self, now: float, first: int, latency: float, previous: float) -> None:
        """Start, or start again, with request number `first`, after an answer that took `latency` seconds.

        Where the server accepted only probes before, the rate is at most that of the answers since the
        circuit closed last, up to the `previous` one.
        """
        self._successes += 1
        if self.slow_start:
            self.rate = self._concurrency / max(_SHORTEST_SPREAD, min(latency / 2, _LONGEST_SPREAD))
        elif self._all_throttled:
            self._rate_limit = inf  # the server may accept another rate after an outage
            # The outage is not counted, but the pauses of a server that accepts one request at a time are.
            until = previous if self._successes > _MIN_ACCEPTED else now
            self.rate = min(self.rate, self._successes / max(until - self._closed_at, _WINDOW_SECONDS))
        self.next_at = now + 1 / self.rate
        self._circuit_start = self._rate_start = first
        self._throttled_safe = 0
        self._closed_at, self._successes = now, 0
        self._all_throttled = False

    def add(self, permit: Permit) -> None:
        """Record that a request is sent."""
        self.next_at = max(self.next_at, permit.sent_at - _CATCH_UP) + 1 / self.rate
        if self.rate <= _SAFE_SHARE * max(self._accepted_rates, default=0.0):
            self._last_safe = permit.number
        self._sent.append(permit)
        oldest = permit.sent_at - self._delay - 1.5 * _WINDOW_SECONDS
        while len(self._sent) > _WINDOW_REQUESTS and self._sent[0].sent_at < oldest:
            self._sent.popleft()

    def remove(self, permit: Permit) -> None:
        """Undo `add` for a request that was not sent."""
        if permit in self._sent:
            self._sent.remove(permit)
            self.next_at -= 1 / self.rate if permit.number >= self._rate_start else 0.0

    def record_throttled(self, permit: Permit, now: float) -> None:
        """Record that the server throttled a request."""
        permit.throttled = True
        self._delay = min(_LONGEST_DELAY, now - permit.sent_at)
        self._known_until = max(self._known_until, permit.sent_at)
        self._last_throttled = max(self._last_throttled, permit.number)
        if self._rate_start <= permit.number <= self._last_safe:
            self._throttled_safe += 1
            self._discard_bursts()

    def record_late_response(self) -> None:
        """Record the answer to a request that was sent before the circuit opened."""
        self._successes += 1

    def record_response(self) -> None:
        """Record an answer: the rate and the concurrency grow."""
        self._successes += 1
        self._answers_since += 1
        weight = min(1.0, _ANSWERS_A_SECOND / self.rate)
        self._answers += weight
        growth_at_limit = _GROWTH_AT_LIMIT * self._answers / 2**self._confirmations
        self.limit = min(self._concurrency, self.limit * (1 + growth_at_limit))
        if self.slow_start:
            growth = _SLOW_START_GROWTH
        elif self.rate < _FAST_RECOVERY_BELOW * self._rate_limit:
            a_second = min(
                _MAX_RECOVERY_A_SECOND, _RECOVERY_A_SECOND + _RECOVERY_INCREASE * self._answers_since
            )
            growth = min(_FAST_RECOVERY_GROWTH, a_second / self.rate)
        else:
            growth = growth_at_limit * weight
        self.rate *= 1 + growth

    def is_throttled(self) -> bool:
        """Return whether the server throttles too many of the latest requests at this rate."""
        requests = [permit for permit in self._list_latest() if permit.number >= self._rate_start]
        throttled = [permit.throttled for permit in requests]
        if len(throttled) > 1 and all(throttled):
            return True
        if self.slow_start:
            return sum(throttled[-_SLOW_START_LATEST:]) >= _SLOW_START_THROTTLED
        count, share, at_once = self._choose_thresholds(requests)
        latest = throttled[-_WINDOW_REQUESTS:]
        if sum(throttled) < max(count, share * len(throttled)) and sum(latest) < at_once:
            return False
        # A server may throttle some requests at any rate: only more than these count.
        chance = self._compute_chance()
        return any(_exceeds_share(sum(part), len(part), chance) for part in (throttled, latest))

    def _choose_thresholds(self, requests: Sequence[Permit]) -> tuple[int, float, int]:
        """Return how many throttled requests are too many, in all, as a share, and of the very latest."""
        max_accepted = max((permit.in_flight for permit in requests if not permit.throttled), default=0)
        if all(permit.in_flight > max_accepted for permit in requests if permit.throttled):
            return _MIN_CONCURRENT, _CONCURRENT_SHARE, _MIN_CONCURRENT_AT_ONCE
        if _AT_LIMIT * self._rate_limit <= self.rate < inf:
            min_throttled = _MIN_THROTTLED - (self._confirmations == _MAX_CONFIRMATIONS)
            return min_throttled, _SHARE_AT_LIMIT, _MIN_THROTTLED_AT_ONCE
        return _MIN_THROTTLED, _THROTTLED_SHARE, _MIN_THROTTLED_AT_ONCE

    def forget_limit_by_chance(self) -> None:
        """Discard a limit that was estimated when a smaller share was known to be throttled by chance."""
        chance = self._compute_chance()
        if chance > max(_MIN_CHANCE, 2 * self._chance_at_limit):
            self._rate_limit, self._last_throttled_rate, self._confirmations = inf, None, 0
            self._chance_at_limit = chance

    def _discard_bursts(self) -> None:
        """Discard the accepted rates when more than chance is throttled far below them: they were bursts."""
        safe = min(self._last_safe, self._last_throttled) + 1 - self._rate_start
        if safe >= _WINDOW_REQUESTS and _exceeds_share(self._throttled_safe, safe, _MAX_CHANCE):
            self._accepted_rates.clear()
            self._safe_shares.extend([0.0] * _SAFE_SHARES)
            self._last_safe = self._throttled_safe = 0

    def _compute_chance(self) -> float:
        """Return the share of requests that the server throttles at any rate."""
        return min(*self._safe_shares, self._compute_throttled_safe_share(1.0))

    def _compute_throttled_safe_share(self, unknown: float) -> float:
        """Return the share of the safe requests at this rate that was throttled, `unknown` if few."""
        safe = min(self._last_safe, self._last_throttled) + 1 - self._rate_start
        return self._throttled_safe / safe if safe >= _MIN_SAFE else unknown

    def is_mostly_throttled(self) -> bool:
        """Return whether the server has throttled most requests for some time, at whatever rate."""
        requests = self._list_latest()
        accepted_at = max((permit.sent_at for permit in requests if not permit.throttled), default=-inf)
        throttled = [permit.throttled for permit in requests if permit.number >= self._circuit_start]
        latest = throttled[-_WINDOW_REQUESTS:]
        many = sum(latest) >= max(_MIN_THROTTLED, _MOST * len(latest))
        return many and self._known_until - accepted_at >= _WINDOW_SECONDS

    def decrease(self, now: float, first: int) -> float:
        """Lower the rate to the one that the server accepted lately, from request number `first` on.

        Return when requests may continue. The first pause is a second, because the first burst says little of
        the rate in the long run. Later pauses are a few requests long, and shorter near a confirmed limit.
        """
        requests = self._list_latest()
        at_this_rate = [permit for permit in requests if permit.number >= self._rate_start]
        self._all_throttled = all(permit.throttled for permit in at_this_rate)
        calls = _PAUSE_CALLS / (1 + self._confirmations)
        few_calls = min(calls / self.rate, max(_WINDOW_SECONDS, 1 / self.rate))
        pause = _FIRST_PAUSE if self.slow_start else 0.0
        if not self._all_throttled:
            seconds = self._known_until - requests[0].sent_at
            self._learn_limit(min(self.rate, len(requests) / max(seconds, 1e-3)))
            # Requests of this rate alone, where they are enough: the pause before them is not the server's.
            longest = max(_WINDOW_SECONDS, 2 / self.rate)
            times = [*(permit.sent_at for permit in at_this_rate), self._known_until]
            seconds_at_this_rate = sum(min(longest, b - a) for a, b in pairwise(times))
            if seconds_at_this_rate >= _WINDOW_SECONDS:
                requests, seconds = at_this_rate, seconds_at_this_rate
            accepted = max(sum(not permit.throttled for permit in requests), 1)
            safe_share = self._compute_throttled_safe_share(0.0)
            self._chance_at_limit = min(*self._safe_shares, safe_share)
            self._safe_shares.append(safe_share)
            accepted_rate = accepted / max(seconds + pause, _WINDOW_SECONDS)
            if not self.slow_start:  # a burst that the server allows says little of a rate
                self._accepted_rates.append(accepted_rate)
            self.rate = _DECREASE_FACTOR * min(self.rate, accepted_rate)
        self.slow_start = False
        self._answers = 0.0
        self._answers_since = 0
        self._rate_start, self._throttled_safe = first, 0
        self.next_at = now + max(pause, few_calls)
        return self.next_at

    def _learn_limit(self, rate: float) -> None:
        """Record a throttled rate: it confirms a limit, refutes one, or is the first hint of one."""
        low, high = _SAME_RATE
        last = self._last_throttled_rate
        is_limit = last is not None and low < rate / last < high and rate >= _LOWEST_SHARE * self._peak
        self._peak = max(self._peak, rate) if is_limit else rate
        self._confirmations = min(_MAX_CONFIRMATIONS, self._confirmations + 1) if is_limit else 0
        self._rate_limit = rate if is_limit else inf
        self._last_throttled_rate = rate

    def _list_latest(self) -> list[Permit]:
        """Return the latest requests that the server accepted or throttled."""
        until = self._known_until
        requests = [permit for permit in self._sent if permit.sent_at <= until]
        first = bisect_left(requests, until - _WINDOW_SECONDS, key=attrgetter("sent_at"))
        return requests[min(first, max(0, len(requests) - _WINDOW_REQUESTS)) :]

    def limit_concurrency(self) -> None:
        """Lower `limit` where the server throttles requests beside many others, and not those beside few."""
        sent = sorted((permit.in_flight, permit.throttled) for permit in self._sent)
        more, throttled_more = len(sent), sum(throttled for _, throttled in sent)
        fewer = throttled_fewer = 0
        for in_flight, group in groupby(sent, key=itemgetter(0)):
            throttled = [is_throttled for _, is_throttled in group]
            too_many = any(throttled) and throttled_more >= max(_MIN_SAMPLES, _MOST * more)
            if too_many and fewer >= _MIN_SAMPLES and throttled_fewer <= (1 - _MOST) * fewer:
                self.limit = min(self.limit, max(2.0, in_flight - 1.0))
                self._answers = 0.0
                return
            more, throttled_more = more - len(throttled), throttled_more - sum(throttled)
            fewer, throttled_fewer = fewer + len(throttled), throttled_fewer + sum(throttled)


def _exceeds_share(count: int, total: int, share: float) -> bool:
    """Return whether `count` of `total` are more than a share that chance explains."""
    return count >= share * total + _CHANCE_DEVIATIONS * sqrt(share * (1 - share) * total)
