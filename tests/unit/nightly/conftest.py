"""Fixtures of projects for tests of single nights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.nightly.projects import RULES, NightlyProject, make_nightly_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights before its first night, with an assessor that never flips."""
    with make_nightly_project(tmp_path, RULES, queries=6) as made:
        made.judge.flips = 0.0
        yield made


@pytest.fixture
def small_project(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights of few queries, where canaries say nothing."""
    with make_nightly_project(tmp_path, {"canary_repeats": 0}, queries=4) as made:
        yield made


@pytest.fixture
def served_project(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights as `project`, with an assessor that other processes reach."""
    with make_nightly_project(tmp_path, RULES, queries=6, wire=True) as made:
        made.judge.flips = 0.0
        yield made
