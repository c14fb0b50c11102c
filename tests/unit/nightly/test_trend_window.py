"""What a strip shows: every value with its interval, and the same span as its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.nightly.trend import TrendValue, make_axes
from judge.report.charts.svg import make_axis

numbers = st.floats(-1, 1)
values = st.builds(
    lambda each: TrendValue(each[1], (each[0], each[2]), 10), st.tuples(numbers, numbers, numbers).map(sorted)
)


@given(st.lists(st.lists(values, max_size=5), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_window_holds_all_of_its_values(strips: list[list[TrendValue]], alike: bool, zero: bool) -> None:
    frames = make_axes(strips, same_span=alike, include_zero=zero)
    for frame, strip in zip(frames, strips, strict=True):
        ends = [end for each in strip for end in each.ci95 or ()] + ([0.0] if zero else [])
        assert all(frame.low - 1e-9 <= end <= frame.high + 1e-9 for end in ends)
        assert all(0 <= frame.locate(tick) <= 1 for tick in frame.ticks)
    if alike:
        spans = [frame.high - frame.low for frame in frames]
        assert spans == pytest.approx([spans[0]] * len(spans))


def test_slopes_compare_when_spans_are_alike() -> None:
    flat, steep = make_axes(
        [
            [TrendValue(0.50, None, 9), TrendValue(0.51, None, 9)],
            [TrendValue(0.1, None, 9), TrendValue(0.3, None, 9)],
        ],
        same_span=True,
        include_zero=False,
    )
    assert flat.locate(0.51) - flat.locate(0.50) == pytest.approx(0.01 / 0.22)
    assert steep.locate(0.3) - steep.locate(0.1) == pytest.approx(0.2 / 0.22)


def test_an_axis_of_shares_ends_at_all_and_begins_at_none() -> None:
    (full,) = make_axes([[TrendValue(1.0, None, 9)]], same_span=False, include_zero=False)
    (empty,) = make_axes([[TrendValue(0.0, None, 9)]], same_span=False, include_zero=False)
    assert (full.high, empty.low) == (1.0, 0.0)


def test_noise_is_no_mountain() -> None:
    values = [TrendValue(0.5, None, 9), TrendValue(0.5001, None, 9)]
    (frame,) = make_axes([values], same_span=True, include_zero=False)
    assert frame.high - frame.low == pytest.approx(0.02)
    axis = make_axis([0.0, 1.0], 4)
    assert [(tick, axis.format_tick(tick)) for tick in axis.ticks] == [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (1.0, "1.0"),
    ]
