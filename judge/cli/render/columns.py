"""Owns which columns a table of engines has, on the terminal and on the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tells(summary: Mapping[str, Any], field: str) -> bool:
    """Whether `field` is something for one engine at least; 0 or unknown for all, it takes no column."""
    return any(row.get(field) for row in summary["engines"].values())
