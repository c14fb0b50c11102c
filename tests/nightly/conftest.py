"""Owns the worlds in which single nights are tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nightly.nights import RULES, World, world


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    """A world before its first night, with a judge that never flips."""
    with world(tmp_path, RULES, queries=6) as made:
        made.judge.flips = 0.0
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[World]:
    """A world of few queries, where canaries say nothing."""
    with world(tmp_path, {"canary_repeats": 0}, queries=4) as made:
        yield made


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[World]:
    """A world as `here`, with a judge that other processes reach."""
    with world(tmp_path, RULES, queries=6, wire=True) as made:
        made.judge.flips = 0.0
        yield made
