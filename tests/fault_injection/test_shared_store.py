"""Runs at once on one store pay once for each pair: a short form of `shared_store.py`."""

import pytest

from tests.support.command_line import inject_faults


@pytest.mark.slow
def test_overlapping_runs_on_one_new_store_pay_once_and_agree() -> None:
    inject_faults("shared_store", "--pairs", 200, "--processes", 3, "--rounds", 10, "--within", 0)
