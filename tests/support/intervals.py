"""The ends of an interval that may be unknown, for comparisons in tests."""

from collections.abc import Sequence
from typing import Any


def get_low_end(ends: Sequence[float | None] | None) -> Any:
    """Return the lower end of the interval, None where there is no interval."""
    return ends and ends[0]


def get_high_end(ends: Sequence[float | None] | None) -> Any:
    """Return the upper end of the interval, None where there is no interval."""
    return ends and ends[1]
