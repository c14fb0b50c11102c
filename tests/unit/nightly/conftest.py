"""Fixtures of projects for tests of single nights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.nightly.projects import RULES, NightlyProject, nightly_project


@pytest.fixture
def here(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights before its first night, with a judge that never flips."""
    with nightly_project(tmp_path, RULES, queries=6) as made:
        made.judge.flips = 0.0
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights of few queries, where canaries say nothing."""
    with nightly_project(tmp_path, {"canary_repeats": 0}, queries=4) as made:
        yield made


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights as `here`, with a judge that other processes reach."""
    with nightly_project(tmp_path, RULES, queries=6, wire=True) as made:
        made.judge.flips = 0.0
        yield made
