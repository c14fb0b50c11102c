"""English phrases for counts."""

from __future__ import annotations

from math import floor, log10


def format_count(count: int, thing: str, things: str = "") -> str:
    """Return the count with its noun: `1 query`, `2 queries`; `things` is an irregular plural."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def round_count(count: int) -> str:
    """Return the count rounded to two significant digits."""
    digits = max(0, floor(log10(count)) - 1) if count else 0
    return f"{round(count, -digits):,}"
