"""What a server takes at once is told from what it refused, at any rate of calls."""

from __future__ import annotations

from itertools import product

import pytest

from judge.assess.pace import Pace, Turn
from tests.support.scaling import MOST, growth


def seen(*calls: tuple[int, bool]) -> Pace:
    """A pace behind these calls: how many were out with each, and whether it was turned away."""
    pace = Pace(64)
    pace.rate = float(len(calls))
    for number, (in_flight, refused) in enumerate(calls, start=1):
        pace.sent(Turn(number, number / len(calls), in_flight, refused))
    return pace


@pytest.mark.parametrize(
    ("most", "refused", "limit"),
    [
        (8, lambda out: out > 6, 6.0),
        (8, lambda out: out > 1, 2.0),
        (8, lambda out: out % 2 == 0, 64.0),
        (6, lambda out: out > 6, 64.0),
    ],
)
def test_more_at_once_are_too_many_where_most_of_them_are_refused_and_few_of_fewer(
    most: int, refused: object, limit: float
) -> None:
    assert callable(refused)
    pace = seen(*((out, refused(out)) for _, out in product(range(3), range(1, most + 1))))
    pace.crowded()
    assert pace.limit == limit


def test_a_fast_server_is_weighed_in_linear_time() -> None:
    def crowded(pace: Pace) -> None:
        for _ in range(50):
            pace.crowded()

    def make(requests: int) -> Pace:
        return seen(*((1 + number % 256, number % 10 == 0) for number in range(requests)))

    assert growth(crowded, make, 4000) <= MOST
