"""English phrases for counts and lists of names."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10


def format_count(count: int, thing: str, things: str = "") -> str:
    """Return the count with its noun: `1 query`, `2 queries`; `things` is an irregular plural."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def join_names(names: Iterable[str]) -> str:
    """Return the names as a list in a sentence: `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def round_count(count: int) -> str:
    """Return the count rounded to two significant digits."""
    digits = max(0, floor(log10(count)) - 1) if count else 0
    return f"{round(count, -digits):,}"
