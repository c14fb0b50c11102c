"""The client against servers with limits, in virtual time: how much of them it uses, and how politely."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest

from judge.client.retry import Limits
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
from tests.unit.client.simulation import Story, simulate

LIMITS = Limits(concurrency=64, attempts=5, max_wait=600, shutdown_timeout=1)
OUTAGE = (20.0, 80.0)


def half_a_second(_: Random) -> float:
    """Always half a second."""
    return 0.5


def at_once(_: Random) -> float:
    """A twentieth of a second."""
    return 0.05


def unevenly(chance: Random) -> float:
    """Half a second as a rule, sometimes twice or half of it."""
    return 0.5 * chance.lognormvariate(0, 0.35)


def run(server: LimitedServer, pairs: int) -> Story:
    """The story of `pairs` at `server`, after checking what holds for every story."""
    story = simulate(server, pairs, LIMITS)
    assert count_early_requests(story.log) == 0
    assert not story.lost
    assert story.stopped is None
    assert sum(request.outcome == "answered" for request in story.log) == pairs
    return story


@check_each("latency", [at_once, half_a_second, unevenly])
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
    story = run(LimitedServer(replace(capacity), latency), min(50 * int(rate), 3000))
    assert story.rate >= 0.9 * rate
    assert story.requests <= 1.10
    refused = [request.at for request in story.log if request.outcome == "refused"]
    assert len(refused) <= 0.05 * len(story.log)
    if capacity.slots is None:
        assert sum(at > 1 for at in refused) <= (0.02 if rate >= 100 else 0.03) * len(story.log)


def test_refusals_that_come_late_slow_the_first_burst_down() -> None:
    story = simulate(LimitedServer(Capacity(rate=10), at_once), 300, LIMITS, refuses_in=0.05)
    # No more than are in flight before the first refusal is known.
    assert sum(request.outcome == "refused" and request.at < 1 for request in story.log) <= 64


@check_each("seconds", [0.5, 1.0])
@check_each("burst", [None, 10])
def test_a_server_that_refuses_late_is_asked_little_more(burst: int | None, seconds: float) -> None:
    server = LimitedServer(Capacity(rate=10, burst=burst), lambda _: 0.0)
    story = simulate(server, 500, LIMITS, refuses_in=seconds)
    assert story.rate >= 0.9 * 10
    # 64 requests are sent before the first refusal is known.
    assert story.requests <= 1.3


class RefusingLate(LimitedServer):
    """A server that answers in its latency, and refuses only after two seconds."""

    def __call__(self, request: ChatRequest) -> Reply:
        reply = super().__call__(request)
        return replace(reply, delay=2.0) if reply.status == 429 else reply


def test_a_server_that_answers_soon_and_refuses_late_is_asked_little_more() -> None:
    story = simulate(RefusingLate(Capacity(rate=5, burst=5), half_a_second), 250, LIMITS)
    assert story.rate >= 0.9 * 5
    assert story.requests <= 2


@pytest.mark.parametrize("latency", [half_a_second, unevenly])
def test_a_limited_number_at_once_is_found(latency: object) -> None:
    assert callable(latency)
    chance = Random(1)
    mean = sum(latency(chance) for _ in range(2000)) / 2000
    story = run(LimitedServer(Capacity(slots=8), latency), 600)
    assert story.rate >= 0.9 * 8 / mean
    assert story.requests <= 1.05


@pytest.mark.parametrize(
    "say", [format_as_seconds, format_as_milliseconds, format_as_date, format_unreadably]
)
def test_however_a_server_says_when_to_come_again_it_is_kept(say: RetryAfterFormat) -> None:
    story = run(LimitedServer(Capacity(rate=10, burst=10), at_once, retry_after_format=say), 500)
    assert story.rate >= 9
    assert story.requests <= 1.10


def test_a_server_without_limits_is_asked_as_much_as_may_be() -> None:
    story = run(LimitedServer(Capacity(), half_a_second), 1000)
    assert story.rate >= 0.9 * 64 / 0.5
    assert story.requests == 1


@check_each(
    ("down", "most"),
    [
        (Reply(status=503), 1.2),
        (Reply(reset=True), 1.2),
        (Reply(status=429), 1.2),
        (Reply(status=429, headers={"retry-after": "3"}), 1.2),
        (Reply(status=504, delay=30.0), 1.2),
    ],
)
def test_an_outage_costs_little_and_no_pair_and_is_soon_forgotten(down: Reply, most: float) -> None:
    server = LimitedServer(Capacity(rate=10, burst=10), half_a_second, outages=[OUTAGE], outage_reply=down)
    story = run(server, 900)
    assert story.requests <= most
    assert measure_recovery(story.log, OUTAGE[1], 10) <= 30


def test_servers_errors_do_not_shrink_what_a_server_is_asked() -> None:
    story = run(LimitedServer(Capacity(), half_a_second, failure_share=0.025), 3000)
    assert story.rate >= 0.8 * 64 / 0.5
    assert story.requests == pytest.approx(1.05, abs=0.02)


def test_a_server_that_turns_away_at_random_is_not_throttled_to_a_standstill() -> None:
    fault_free = run(LimitedServer(Capacity(), half_a_second), 1500)
    story = run(LimitedServer(Capacity(), half_a_second, refusal_share=0.05), 1500)
    assert story.seconds <= 1.35 * fault_free.seconds


@check_each("seed", range(5))
def test_a_tenth_turned_away_at_random_teaches_no_limit(seed: int) -> None:
    fault_free = run(LimitedServer(Capacity(), half_a_second), 2000)
    story = run(LimitedServer(Capacity(), half_a_second, refusal_share=0.1, rng=Random(seed)), 2000)
    assert story.seconds <= 2.5 * fault_free.seconds


class Seldom(Capacity):
    """Takes one request in so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds, self._again = seconds, 0.0

    def admit(self, now: float, until: float) -> float:
        if now < self._again:
            return self._again - now
        self._again = now + self._seconds
        return 0.0


@pytest.mark.parametrize(("seconds", "pairs", "most"), [(6, 600, 1.1), (20, 500, 1.1), (60, 200, 1.2)])
def test_a_server_that_seldom_takes_a_request_is_seldom_asked(
    seconds: float, pairs: int, most: float
) -> None:
    patient = replace(LIMITS, max_wait=math.inf)
    story = simulate(
        LimitedServer(Seldom(seconds), half_a_second, retry_after_format=format_unreadably), pairs, patient
    )
    assert story.stopped is None
    assert not story.lost
    assert story.requests <= most
    assert story.seconds <= 1.25 * pairs * seconds


def test_a_server_that_stays_dead_ends_the_run_after_its_patience() -> None:
    story = simulate(LimitedServer(Capacity(), half_a_second, outages=[(5.0, math.inf)]), 9000, LIMITS)
    assert story.stopped is not None
    assert "no answer from simulated for 60" in str(story.stopped)
    assert not story.lost
    assert 600 <= story.seconds <= 615
    down = [request for request in story.log if request.outcome == "down"]
    assert len(down) <= 64 + 600 / 5 + 10


def test_retries_are_few_at_a_server_that_fails_half_of_the_time() -> None:
    story = simulate(LimitedServer(Capacity(), half_a_second, failure_share=0.25), 1000, LIMITS)
    failed = sum(request.outcome == "failed" for request in story.log)
    answered = len(story.log) - failed
    assert len(story.log) - 1000 <= 0.1 * answered + 200 + 4 * 64
