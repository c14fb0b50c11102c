"""Adaptive limiter: a few requests first, then as many as the server accepts.

Until a verdict was read, at most 8 requests are in flight, sent one after the other until one is answered.
After a failure before the first answer, one request at a time is sent. So a wrong account, name, server or
model costs few requests. `skip_probes` leaves this out for a server that gave verdicts in an earlier run.
When a server that answered fails again and again, the circuit opens: single probe requests follow each other
at growing intervals until one is answered. `judge.client.rate_estimator` estimates the rate and the
concurrency of a server that throttles, `QueueEstimator` the concurrency of one that lets requests wait.
"""

import asyncio
from collections import deque
from enum import Enum, auto
from math import inf

from judge.client.rate_estimator import Permit, RateEstimator

#: Failures in a row, without an answer between, that open the circuit.
_OUTAGE_FAILURES = 5
#: Seconds between two probes: at first, and at most.
_PROBE_INTERVAL, _MAX_PROBE_INTERVAL = 0.5, 5.0
#: Requests in flight until a verdict was read, and the seconds between two until the first one is answered.
UNCONFIRMED_CONCURRENCY, _FIRST_INTERVAL = 8, 0.125
#: A lower concurrency does not help when at least so many of the requests sent since time out, and as many as
#: this share of the answers. After so many such errors, timeouts do not lower it again.
_MIN_LATE, _MAX_LATE_SHARE, _MAX_ERRORS = 3, 0.1, 2
_Waiter = asyncio.Future[Permit]


class Circuit(Enum):
    """The state of the circuit breaker: which requests the limiter sends."""

    #: Before the first answer: `UNCONFIRMED_CONCURRENCY` at most; after a failure, one at a time.
    STARTING = auto()
    #: As many as the server accepts.
    CLOSED = auto()
    #: After an outage: probes, one at a time.
    OPEN = auto()


class QueueEstimator:
    """Estimates at which concurrency a server that lets requests wait answers them before they time out.

    Such a server answers in the order of the requests, and soon while few are in flight. So no request that
    was sent much later is answered before one that times out. When timeouts go on at a lower concurrency, the
    server has no queue, but takes long for each answer: then the limit is removed.
    """

    def __init__(self) -> None:
        #: The concurrency now and the lowest one, inf while no request timed out in a queue.
        self.limit = self.lowest_limit = inf
        #: The requests that timed out in a queue, and the seconds after which one did.
        self.timeouts, self.timeout = 0, 0.0
        #: The requests that were answered, the shortest time of one, and when the latest of them was sent.
        self.answers, self._shortest, self._latest = 0, inf, -inf
        #: When the limit was last lowered, the answers before, and the requests sent since that timed out.
        self._lowered_at, self._answers_before, self._late = -inf, 0, 0
        self._errors = 0

    def record_response(self, permit: Permit, now: float) -> None:
        """Record an answer; a quick one, with as many in flight as may be, raises the limit by one."""
        seconds = now - permit.sent_at
        self.answers += 1
        self._shortest = min(self._shortest, seconds)
        self._latest = max(self._latest, permit.sent_at)
        if seconds < self.timeout / 4 and permit.in_flight + 1 > self.limit:
            self.limit += 1

    def record_timeout(self, permit: Permit, now: float) -> bool:
        """Record that a request timed out while others were answered; return whether it did in a queue.

        As many requests in flight as were answered since would have been answered just in time (Little's
        law). Half as many wait half as long.
        """
        if self.limit < inf and permit.sent_at > self._lowered_at:
            self._late += 1
            share = _MAX_LATE_SHARE * (self.answers - self._answers_before)
            if self._late >= _MIN_LATE and self._late > share:
                self.limit = self.lowest_limit = inf
                self.timeouts, self._errors = 0, self._errors + 1
            return False
        seconds, answers = now - permit.sent_at, self.answers - permit.answers
        in_order = self._shortest <= seconds / 2 and self._latest <= permit.sent_at + seconds / 4
        if not (in_order and 0 < answers < permit.in_flight and self._errors < _MAX_ERRORS):
            return False
        if self.limit == inf:
            self._lowered_at, self._answers_before, self._late = now, self.answers, 0
        self.timeouts, self.timeout = self.timeouts + 1, seconds
        self.limit = min(self.limit, max(1.0, answers / 2))
        self.lowest_limit = min(self.lowest_limit, self.limit)
        return True


class AdaptiveLimiter:
    """Grants a `Permit` for each request; the caller reports how it ended, and releases the permit.

    If a server asks for a pause, no request is sent for that time, but for at most `max_wait` seconds.
    """

    def __init__(self, concurrency: int, max_wait: float = inf) -> None:
        self._max_wait = max_wait
        self.in_flight = 0
        self.circuit = Circuit.STARTING
        self._estimator = RateEstimator(concurrency)
        self._count = 0
        #: Requests below this number were sent before the last limit change; their outcome is ignored.
        self._epoch_start = 1
        self._probes_in_flight = 0
        self._probed_at = self._opens_at = -inf
        self._probe_interval = _PROBE_INTERVAL
        self._failures = 0
        self._has_verdict = self._releases_waiters = False
        self._first_sent_at: float | None = None
        self.queue = QueueEstimator()
        #: When the last answer came, and when the last probe failed.
        self.answered_at = self._failed_at = -inf
        self._outage_since: float | None = None
        #: Those that wait for a permit: for a first request, and for one more of the same pair.
        self._waiters, self._repeaters = deque[_Waiter](), deque[_Waiter]()
        self._repeater_is_next = True
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, previous: Permit | None = None, *, is_first: bool = True) -> Permit:
        """Wait for a permit: that of the first request of a pair, or of one more.

        If the pair still has its `previous` permit, this is released, and the pair is the next to get a
        permit. Else further requests take turns with first ones: some servers fail the first request of every
        pair.
        """
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        if previous is not None:
            self._repeaters.appendleft(waiter)
            self._repeater_is_next = True
            self.release(previous)
        else:
            (self._waiters if is_first else self._repeaters).append(waiter)
            self._admit()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release(waiter.result(), unused=True)
            raise

    def release(self, permit: Permit, *, unused: bool = False) -> None:
        """Return the permit; an `unused` one is no evidence about the server."""
        self.in_flight -= 1
        if self.circuit is not Circuit.CLOSED and permit.number >= self._epoch_start:
            self._probes_in_flight -= 1
        if unused:
            self._estimator.remove(permit)
            if permit.sent_at == self._probed_at:
                self._probed_at = -inf
        self._admit()

    def record_response(self, permit: Permit) -> None:
        """Record that the server answered: with a success, or with an error of this request alone."""
        self._outage_since = None
        previous, self.answered_at = self.answered_at, _read_clock()
        self.queue.record_response(permit, self.answered_at)
        if self.circuit is Circuit.CLOSED:
            self._failures = 0
            self._estimator.record_response()
        elif permit.number >= self._epoch_start:
            self._start_epoch(self.answered_at)
            self.circuit = Circuit.CLOSED
            self._estimator.start(
                self.answered_at, self._epoch_start, self.answered_at - permit.sent_at, previous
            )
        else:
            self._estimator.record_late_response()
        self._admit()

    def record_failure(
        self,
        permit: Permit,
        retry_after: float | None = None,
        *,
        throttled: bool,
        concerns_pair: bool = False,
    ) -> None:
        """Record that no answer came, or that the server throttled the request.

        The server may ask to wait `retry_after` seconds. With `concerns_pair`, the server answers requests of
        other pairs: the failure opens no circuit.
        """
        if concerns_pair and self.circuit is Circuit.CLOSED and not throttled:
            return
        now = _read_clock()
        wait = min(retry_after or 0.0, self._max_wait)
        if throttled:
            self._estimator.record_throttled(permit, now)
        if self._outage_since is None:
            self._outage_since = now
        is_probe = self.circuit is not Circuit.CLOSED
        if is_probe and permit.number >= self._epoch_start:
            if permit.sent_at >= self._failed_at:  # requests that were in flight together make one step
                self._probe_interval = min(2 * self._probe_interval, _MAX_PROBE_INTERVAL)
            self._failed_at = now
            self._opens_at = max(self._opens_at, now + max(wait, self._probe_interval))
        elif is_probe:
            self._opens_at = max(self._opens_at, now + wait)
        elif throttled:
            self._slow_down(permit, wait)
        elif permit.number >= self._epoch_start:
            self._failures += 1
            if self._failures >= _OUTAGE_FAILURES:
                self._open_circuit(now + max(wait, _PROBE_INTERVAL))

    def record_timeout(self, permit: Permit) -> bool:
        """Return True for a request that timed out in the queue of a server that answers others meanwhile."""
        now = _read_clock()
        is_answering = self.circuit is Circuit.CLOSED and now - self.answered_at < (now - permit.sent_at) / 2
        return is_answering and self.queue.record_timeout(permit, now)

    def record_verdict(self) -> None:
        """Lift the limit on the first requests: a reply contained a verdict."""
        if not self._has_verdict:
            self._has_verdict = True
            self._admit()

    def skip_probes(self) -> None:
        """Begin as after the first verdict: the server is known to answer these requests."""
        if not self._count:
            self.circuit, self._has_verdict = Circuit.CLOSED, True
            self._estimator.start(_read_clock(), 1, 0.0, 0.0)  # unknown: the shortest spread

    @property
    def was_throttled(self) -> bool:
        """Whether throttling lowered the rate or the concurrency."""
        return not self._estimator.slow_start

    @property
    def has_queue(self) -> bool:
        """Whether the server lets requests wait until they time out, unless fewer are in flight."""
        return self.queue.limit < inf

    def measure_outage(self) -> float:
        """Return the seconds since the first failure while the circuit is not closed, else 0."""
        if self.circuit is Circuit.CLOSED or self._outage_since is None:
            return 0.0
        return _read_clock() - self._outage_since

    def measure_time_without_answer(self) -> float:
        """Return the seconds since the last answer while requests are in flight, 0 with none in flight."""
        if not self.in_flight or self._first_sent_at is None:
            return 0.0
        return _read_clock() - max(self._first_sent_at, self.answered_at)

    def measure_time_until_open(self) -> float:
        """Return the seconds until the pause of the server ends, 0 without one."""
        return max(0.0, self._opens_at - _read_clock())

    def release_waiters(self) -> None:
        """Grant every permit at once: the run is cancelled, and each waiter checks that."""
        self._releases_waiters = True
        self._admit()

    def _slow_down(self, permit: Permit, wait: float) -> None:
        now, estimator = _read_clock(), self._estimator
        is_mostly_throttled = estimator.is_mostly_throttled()
        if not estimator.slow_start:
            estimator.limit_concurrency()
        is_current = permit.number >= self._epoch_start
        if is_mostly_throttled or (is_current and estimator.is_throttled()):
            self._start_epoch(estimator.decrease(now, self._count + 1))
        elif is_current:
            estimator.forget_limit_by_chance()
        if is_mostly_throttled:
            self._open_circuit(max(self._opens_at, now + max(wait, _PROBE_INTERVAL)))

    def _open_circuit(self, opens_at: float) -> None:
        self._start_epoch(opens_at)
        self.circuit = Circuit.OPEN

    def _start_epoch(self, opens_at: float) -> None:
        self._epoch_start = self._count + 1
        self._failures = self._probes_in_flight = 0
        self._probe_interval = _PROBE_INTERVAL
        self._opens_at = opens_at

    def _admit(self) -> None:
        while self._waiters or self._repeaters:
            is_repeater = bool(self._repeaters) and (self._repeater_is_next or not self._waiters)
            queue = self._repeaters if is_repeater else self._waiters
            if queue[0].done():
                queue.popleft()
                continue
            opens_at = -inf if self._releases_waiters else self._find_next_time()
            # One reading of the clock for a permit, none where nothing may be sent.
            now = _read_clock() if opens_at < inf else -inf
            if opens_at > now:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                if opens_at < inf:  # a little later, because a timer may fire a tick early
                    self._timer = asyncio.get_running_loop().call_at(opens_at + 0.0005, self._admit)
                return
            self._repeater_is_next = not is_repeater
            queue.popleft().set_result(self._grant(now))

    def _find_next_time(self) -> float:
        """Return when the next request may be sent, as far as is known now."""
        limit = min(self._estimator.limit, self.queue.limit)
        few = min(limit, UNCONFIRMED_CONCURRENCY)
        if self.circuit is Circuit.CLOSED:
            is_below_limit = self.in_flight + 1 <= (limit if self._has_verdict else few)
            return max(self._opens_at, self._estimator.next_at) if is_below_limit else inf
        if self.circuit is Circuit.STARTING and self.in_flight >= few:
            return inf
        if self.circuit is Circuit.STARTING and self._outage_since is None:
            return self._probed_at + _FIRST_INTERVAL
        # A probe when the pause has ended, and one more if that has no answer for long.
        overdue = self._probed_at + _MAX_PROBE_INTERVAL
        return max(self._opens_at, overdue if self._probes_in_flight else -inf)

    def _grant(self, now: float) -> Permit:
        self.in_flight += 1
        self._count += 1
        permit = Permit(self._count, now, self.in_flight, answers=self.queue.answers)
        if self._first_sent_at is None:
            self._first_sent_at = permit.sent_at
        if self.circuit is not Circuit.CLOSED:
            self._probes_in_flight += 1
            self._probed_at = permit.sent_at
        else:
            self._estimator.add(permit)
        return permit


def _read_clock() -> float:
    return asyncio.get_running_loop().time()
