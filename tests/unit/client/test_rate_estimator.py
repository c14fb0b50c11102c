"""The estimate of a server's concurrency from the requests that it throttles."""

import time
from itertools import product

import pytest

from judge.client.rate_estimator import Permit, RateEstimator


def make_estimator(*calls: tuple[int, bool]) -> RateEstimator:
    """Return an estimator after requests with this number in flight, throttled or not."""
    estimator = RateEstimator(64)
    estimator.rate = float(len(calls))
    for number, (in_flight, throttled) in enumerate(calls, start=1):
        estimator.add(Permit(number, number / len(calls), in_flight, throttled))
    return estimator


@pytest.mark.parametrize(
    ("most", "throttled", "limit"),
    [
        (8, lambda out: out > 6, 6.0),
        (8, lambda out: out > 1, 2.0),
        (8, lambda out: out % 2 == 0, 64.0),
        (6, lambda out: out > 6, 64.0),
    ],
)
def test_a_concurrency_is_too_high_where_most_requests_are_throttled_and_few_below_it(
    most: int, throttled: object, limit: float
) -> None:
    assert callable(throttled)
    estimator = make_estimator(*((out, throttled(out)) for _, out in product(range(3), range(1, most + 1))))
    estimator.limit_concurrency()
    assert estimator.limit == limit


def test_the_concurrency_of_a_fast_server_is_estimated_in_linear_time() -> None:
    estimator = make_estimator(*((1 + number % 256, number % 10 == 0) for number in range(4000)))
    started = time.process_time()
    for _ in range(50):
        estimator.limit_concurrency()
    assert time.process_time() - started < 2
