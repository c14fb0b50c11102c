"""The client at servers with limits, in virtual time: the rate that it reaches, and its refused requests."""

import math
import re
from collections import deque
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from judge.client.retry import RequestLimits
from tests.fault_injection.servers import (
    Capacity,
    LimitedServer,
    RetryAfterFormat,
    count_early_requests,
    format_as_date,
    format_as_milliseconds,
    format_as_seconds,
    format_unreadably,
    measure_recovery,
)
from tests.support.cases import check_each
from tests.support.fake_server import ChatRequest, Reply
from tests.unit.client.simulation import SimulationResult, simulate

LIMITS = RequestLimits(concurrency=64, attempts=5, max_wait=600, shutdown_timeout=1)
OUTAGE = (20.0, 80.0)


def return_half_a_second(_: Random) -> float:
    """Return half a second."""
    return 0.5


def return_50_ms(_: Random) -> float:
    """Return 50 ms."""
    return 0.05


def draw_latency(rng: Random) -> float:
    """Return a log-normal latency with a median of half a second."""
    return 0.5 * rng.lognormvariate(0, 0.35)


def simulate_and_check(server: LimitedServer, pairs: int) -> SimulationResult:
    """Run `pairs` at `server`, check what holds for every run, and return the result."""
    result = simulate(server, pairs, LIMITS)
    assert count_early_requests(result.log) == 0
    assert not result.errors
    assert result.stop_reason is None
    assert sum(request.outcome == "answered" for request in result.log) == pairs
    return result


@pytest.mark.parametrize("seed", range(6))
def test_a_small_rate_is_used_to_96_percent_with_2_percent_of_requests_too_many(seed: int) -> None:
    rng = Random(seed)
    server = LimitedServer(Capacity(rate=10), lambda _: 0.05 + 0.01 * rng.random())
    result = simulate_and_check(server, 1000)
    assert result.rate >= 0.96 * 10
    assert sum(each.outcome == "refused" and each.at > 1 for each in result.log) <= 0.02 * len(result.log)


@check_each("latency", [return_50_ms, return_half_a_second, draw_latency])
@check_each(
    ("capacity", "rate"),
    [
        (Capacity(rate=10), 10),
        (Capacity(rate=10, burst=10), 10),
        (Capacity(rate=10, burst=10, slots=8), 10),
        (Capacity(rate=100), 100),
        (Capacity(rate=100, burst=100), 100),
    ],
)
def test_a_limited_rate_is_used_to_nine_tenths_with_few_requests_too_many(
    capacity: Capacity, rate: float, latency: object
) -> None:
    assert callable(latency)
    result = simulate_and_check(LimitedServer(replace(capacity), latency), min(50 * int(rate), 3000))
    assert result.rate >= 0.9 * rate
    assert result.requests_per_pair <= 1.10
    refused = [request.at for request in result.log if request.outcome == "refused"]
    assert len(refused) <= 0.05 * len(result.log)
    if capacity.slots is None:
        assert sum(at > 1 for at in refused) <= (0.02 if rate >= 100 else 0.03) * len(result.log)


@check_each("rate", [3, 5])
def test_answers_from_before_the_circuit_opened_count_for_the_rate(rate: int) -> None:
    # The first burst uses up a second of the server, and its answers come while probes are refused.
    result = simulate_and_check(LimitedServer(Capacity(rate=rate), return_half_a_second), 50 * rate)
    assert result.rate >= 0.89 * rate


def test_refusals_that_come_late_slow_the_first_burst_down() -> None:
    result = simulate(LimitedServer(Capacity(rate=10), return_50_ms), 300, LIMITS, refusal_delay=0.05)
    # No more than are in flight before the client gets the first refusal.
    assert sum(request.outcome == "refused" and request.at < 1 for request in result.log) <= 64


@check_each("seconds", [0.5, 1.0])
@check_each("burst", [None, 10])
def test_a_server_that_refuses_late_gets_few_extra_requests(burst: int | None, seconds: float) -> None:
    server = LimitedServer(Capacity(rate=10, burst=burst), lambda _: 0.0)
    result = simulate(server, 500, LIMITS, refusal_delay=seconds)
    assert result.rate >= 0.9 * 10
    # 64 requests leave before the client gets the first refusal.
    assert result.requests_per_pair <= 1.3


class LateRefusalServer(LimitedServer):
    """A server that answers in its latency, and refuses only after two seconds."""

    def __call__(self, request: ChatRequest) -> Reply:
        reply = super().__call__(request)
        return replace(reply, delay=2.0) if reply.status == 429 else reply


def test_a_server_that_answers_fast_and_refuses_late_gets_few_extra_requests() -> None:
    result = simulate(LateRefusalServer(Capacity(rate=5, burst=5), return_half_a_second), 250, LIMITS)
    assert result.rate >= 0.9 * 5
    assert result.requests_per_pair <= 2


@pytest.mark.parametrize("latency", [return_half_a_second, draw_latency])
def test_a_limit_of_the_concurrency_is_found(latency: object) -> None:
    assert callable(latency)
    rng = Random(1)
    mean = sum(latency(rng) for _ in range(2000)) / 2000
    result = simulate_and_check(LimitedServer(Capacity(slots=8), latency), 600)
    assert result.rate >= 0.9 * 8 / mean
    assert result.requests_per_pair <= 1.05


@pytest.mark.parametrize(
    "retry_after_format", [format_as_seconds, format_as_milliseconds, format_as_date, format_unreadably]
)
def test_every_form_of_retry_after_is_obeyed(retry_after_format: RetryAfterFormat) -> None:
    result = simulate_and_check(
        LimitedServer(Capacity(rate=10, burst=10), return_50_ms, retry_after_format=retry_after_format), 500
    )
    assert result.rate >= 9
    assert result.requests_per_pair <= 1.10


def test_a_server_without_limits_gets_the_configured_concurrency() -> None:
    result = simulate_fault_free(1000)
    assert result.rate >= 0.9 * 64 / 0.5
    assert result.requests_per_pair == 1


@check_each(
    ("outage_reply", "most"),
    [
        (Reply(status=503), 1.2),
        (Reply(reset=True), 1.2),
        (Reply(status=429), 1.2),
        (Reply(status=429, headers={"retry-after": "3"}), 1.2),
        (Reply(status=504, delay=30.0), 1.2),
    ],
)
def test_an_outage_costs_few_requests_and_no_pair_and_the_rate_recovers(
    outage_reply: Reply, most: float
) -> None:
    server = LimitedServer(
        Capacity(rate=10, burst=10), return_half_a_second, outages=[OUTAGE], outage_reply=outage_reply
    )
    result = simulate_and_check(server, 900)
    assert result.requests_per_pair <= most
    assert measure_recovery(result.log, OUTAGE[1], 10) <= 30


def test_server_errors_do_not_lower_the_rate() -> None:
    result = simulate_and_check(LimitedServer(Capacity(), return_half_a_second, failure_share=0.025), 3000)
    assert result.rate >= 0.8 * 64 / 0.5
    assert result.requests_per_pair == pytest.approx(1.05, abs=0.02)


@cache
def simulate_fault_free(pairs: int) -> SimulationResult:
    """Run `pairs` at a server without limits and faults."""
    return simulate_and_check(LimitedServer(Capacity(), return_half_a_second), pairs)


def test_random_refusals_slow_a_run_by_a_third_at_most() -> None:
    result = simulate_and_check(LimitedServer(Capacity(), return_half_a_second, refusal_share=0.05), 1500)
    assert result.seconds <= 1.35 * simulate_fault_free(1500).seconds


@check_each("seed", range(5))
def test_a_tenth_of_random_refusals_is_not_taken_for_a_limit(seed: int) -> None:
    result = simulate_and_check(
        LimitedServer(Capacity(), return_half_a_second, refusal_share=0.1, rng=Random(seed)), 1000
    )
    assert result.seconds <= 2.5 * simulate_fault_free(1000).seconds


class SlowCapacity(Capacity):
    """A server that accepts one request in this many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds, self._next_at = seconds, 0.0

    def admit(self, now: float, until: float) -> float:
        if now < self._next_at:
            return self._next_at - now
        self._next_at = now + self._seconds
        return 0.0


@pytest.mark.parametrize(("seconds", "pairs", "most"), [(6, 600, 1.1), (20, 500, 1.1), (60, 200, 1.2)])
def test_a_server_of_few_requests_a_minute_gets_few_extra_requests(
    seconds: float, pairs: int, most: float
) -> None:
    limits = replace(LIMITS, max_wait=math.inf)
    result = simulate(
        LimitedServer(SlowCapacity(seconds), return_half_a_second, retry_after_format=format_unreadably),
        pairs,
        limits,
    )
    assert result.stop_reason is None
    assert not result.errors
    assert result.requests_per_pair <= most
    assert result.seconds <= 1.25 * pairs * seconds


@pytest.mark.parametrize(("a_minute", "pairs"), [(20, 120), (60, 400), (85, 600), (500, 3000)])
def test_a_bucket_for_a_minute_is_used_up_and_its_burst_is_not_taken_for_its_rate(
    a_minute: int, pairs: int
) -> None:
    capacity = Capacity(rate=a_minute / 60, burst=a_minute)
    result = simulate_and_check(LimitedServer(capacity, return_half_a_second), pairs)
    assert result.seconds <= 1.05 * (pairs - a_minute) * 60 / a_minute
    assert sum(request.outcome == "refused" for request in result.log) <= 0.25 * len(result.log)


class BusyServer(LimitedServer):
    """A server that refuses with a 503 and no Retry-After, as one of a local model without a free slot."""

    def _decide(self, now: float, chat_request: ChatRequest) -> tuple[str, float, Reply]:
        outcome, _, reply = super()._decide(now, chat_request)
        return outcome, 0.0, Reply(status=503) if outcome == "refused" else reply


@pytest.mark.parametrize(("slots", "pairs"), [(1, 100), (4, 300), (8, 1000)])
def test_a_server_without_a_free_slot_gets_as_many_requests_as_it_has(slots: int, pairs: int) -> None:
    server = BusyServer(Capacity(slots=slots), return_half_a_second)
    result = simulate_and_check(server, pairs)
    assert result.seconds <= 1.2 * pairs * 0.5 / slots
    assert len(server.log) <= 1.2 * pairs


class MinuteCapacity(Capacity):
    """The limits of a server that accepts `a_minute` requests in any minute."""

    def __init__(self, a_minute: int) -> None:
        super().__init__()
        self._times = deque[float](maxlen=a_minute)

    def admit(self, now: float, until: float) -> float:
        if len(self._times) == self._times.maxlen and now < self._times[0] + 60:
            return self._times[0] + 60 - now
        self._times.append(now)
        return 0.0


@pytest.mark.parametrize(("a_minute", "pairs"), [(20, 120), (60, 400), (85, 600), (500, 3000)])
def test_after_the_pause_of_a_minute_the_rate_is_that_of_before(a_minute: int, pairs: int) -> None:
    result = simulate_and_check(LimitedServer(MinuteCapacity(a_minute), return_half_a_second), pairs)
    # The last requests are sent in the last of the minutes.
    assert result.seconds <= 60 * math.ceil(pairs / a_minute)
    assert sum(request.outcome == "refused" for request in result.log) <= 0.4 * len(result.log)


@pytest.mark.parametrize("concurrency", [1, 4, 16])
@pytest.mark.parametrize("status", [500, 503])
def test_after_an_outage_of_five_minutes_the_rate_is_that_of_before(concurrency: int, status: int) -> None:
    outages, reply = [(10.0, 310.0)], Reply(status=status, body="down")
    server = LimitedServer(Capacity(), return_half_a_second, outages=outages, outage_reply=reply)
    pairs = 120 * concurrency
    result = simulate(server, pairs, replace(LIMITS, concurrency=concurrency))
    assert result.stop_reason is None
    assert result.errors.total() <= 1
    assert result.seconds <= 300 + 60 + 15


def test_an_outage_without_end_stops_the_run_after_max_wait() -> None:
    result = simulate(
        LimitedServer(Capacity(), return_half_a_second, outages=[(5.0, math.inf)]), 9000, LIMITS
    )
    assert result.stop_reason is not None
    assert "no request to 'simulated' succeeded for 60" in str(result.stop_reason)
    assert result.errors.total() <= 1  # the last probe may be the last attempt of its pair
    assert 600 <= result.seconds <= 615
    down = [request for request in result.log if request.outcome == "down"]
    assert len(down) <= 64 + 600 / 5 + 10


@pytest.mark.parametrize(("slots", "seconds", "pairs"), [(1, 3, 100), (4, 5, 300), (1, 20, 50), (8, 8, 600)])
def test_a_server_that_queues_requests_gets_as_many_as_it_answers_in_time(
    slots: int, seconds: float, pairs: int
) -> None:
    result = simulate(LimitedServer(Capacity(), lambda _: seconds), pairs, LIMITS, slots=slots)
    assert (result.errors, result.stop_reason) == ({}, None)
    # Those in flight before the first timeout are sent twice; the server is busy all the time otherwise.
    assert len(result.log) <= pairs + 64
    assert result.seconds <= pairs * seconds / slots + 70
    (warning,) = result.warnings
    advice = re.search("run with --concurrency ([0-9]+) or a longer --timeout", warning)
    assert advice
    # As many keep the server busy, and are answered within a minute.
    assert slots <= int(advice[1]) <= 60 / seconds * slots


@pytest.mark.parametrize(("median", "deviation"), [(35, 0.5), (50, 0.3), (50, 0.6), (55, 0.1)])
def test_a_server_that_takes_long_for_each_answer_is_not_taken_for_a_queue(
    median: float, deviation: float
) -> None:
    server = LimitedServer(Capacity(), lambda rng: median * rng.lognormvariate(0, deviation))
    result = simulate(server, 600, LIMITS, slots=10_000)
    assert result.stop_reason is None
    # 64 at once, a minute each, and the time until it is clear that fewer do not help.
    assert result.seconds <= 2.5 * 600 / 64 * 60


def test_timeouts_of_a_few_long_answers_do_not_lower_the_concurrency() -> None:
    server = LimitedServer(Capacity(), lambda rng: 70.0 if rng.random() < 0.01 else 0.5)
    result = simulate(server, 3000, LIMITS)
    assert (result.errors, result.stop_reason, result.warnings) == ({}, None, [])
    assert result.seconds <= 3000 * 0.5 / 64 + 180


@pytest.mark.parametrize("distance", [75, 15])
def test_pairs_for_which_the_server_always_fails_take_no_time_from_the_others(distance: int) -> None:
    failing = [str(number) for number in range(0, 600, distance)]
    server = LimitedServer(Capacity(), return_half_a_second, failed_prompts=failing)
    result = simulate(server, 600, LIMITS)
    assert result.stop_reason is None
    assert result.errors == {"server_error": len(failing)}
    assert len(result.log) == 600 + 4 * len(failing)
    # Four waits of 0.5, 1, 2 and 4 seconds and up to half a second more, after a run of 6 seconds.
    assert result.seconds <= 20


def test_retries_are_few_at_a_server_that_fails_half_of_the_time() -> None:
    result = simulate(LimitedServer(Capacity(), return_half_a_second, failure_share=0.25), 1000, LIMITS)
    failed = sum(request.outcome == "failed" for request in result.log)
    answered = len(result.log) - failed
    assert len(result.log) - 1000 <= 0.1 * answered + 200 + 4 * 64
