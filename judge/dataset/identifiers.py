"""Owns hashes that name things: short, stable, and the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence


def short_hash(parts: Sequence[str], length: int) -> str:
    """The first `length` hex digits of a hash over `parts`, unambiguous about where each part ends."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:length]
