"""Runs that several tests of commands read."""

from pathlib import Path

import pytest

from tests.support.command_line import run_judge


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of the shipped example by the lexical model."""
    out = tmp_path_factory.mktemp("demo") / "runs" / "demo"
    result = run_judge("demo", "--out", out)
    assert result.returncode == 0, result.stderr
    return out
