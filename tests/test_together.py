"""Runs at once on one store pay once for each pair: the quick form of `python -m tests.chaos.together`."""

from __future__ import annotations

import pytest

from tests.worlds import chaos


@pytest.mark.slow
def test_overlapping_runs_on_one_new_store_pay_once_and_agree() -> None:
    chaos("together", "--pairs", 200, "--processes", 3, "--rounds", 10, "--within", 0)
