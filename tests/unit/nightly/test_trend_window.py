"""What a strip shows: every value with its interval, and the same span as its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.nightly.trend import TrendRange, TrendValue, value_ranges

numbers = st.floats(-1, 1)
values = st.builds(
    lambda each: TrendValue(each[1], (each[0], each[2]), 10), st.tuples(numbers, numbers, numbers).map(sorted)
)


@given(st.lists(st.lists(values, max_size=5), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_window_holds_all_of_its_values(strips: list[list[TrendValue]], alike: bool, zero: bool) -> None:
    frames = value_ranges(strips, same_span=alike, include_zero=zero)
    for frame, strip in zip(frames, strips, strict=True):
        ends = [end for each in strip for end in each.ci95 or ()] + ([0.0] if zero else [])
        assert all(frame.low - 1e-9 <= end <= frame.low + frame.span + 1e-9 for end in ends)
        assert all(0 <= frame.position(tick) <= 1 for tick, _ in frame.ticks())
    if alike:
        assert len({frame.span for frame in frames}) == 1


def test_slopes_compare_when_spans_are_alike() -> None:
    flat, steep = value_ranges(
        [
            [TrendValue(0.50, None, 9), TrendValue(0.51, None, 9)],
            [TrendValue(0.1, None, 9), TrendValue(0.3, None, 9)],
        ],
        same_span=True,
        include_zero=False,
    )
    assert flat.position(0.51) - flat.position(0.50) == pytest.approx(0.01 / 0.22)
    assert steep.position(0.3) - steep.position(0.1) == pytest.approx(0.2 / 0.22)


def test_noise_is_no_mountain() -> None:
    values = [TrendValue(0.5, None, 9), TrendValue(0.5001, None, 9)]
    (frame,) = value_ranges([values], same_span=True, include_zero=False)
    assert frame.span == 0.02
    assert list(TrendRange(0.0, 1.0).ticks()) == [(0.0, "0.0"), (0.5, "0.5"), (1.0, "1.0")]
