"""Killed or told to end at any moment, a run loses no verdict that it called durable: quick forms.

The full forms are `python -m tests.chaos.kills`, `….signals` and `….night`.
"""

from __future__ import annotations

import pytest

from tests.worlds import chaos


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("kills", "--kills", 10),
        ("signals", "--signals", 3, "--anywhere", 0, "--hearing", 1),
        ("night", "--pairs", 300, "--kills", 1, "--concurrency", 2),
    ],
    ids=("kills", "signals", "night"),
)
def test_nothing_that_was_paid_for_is_lost(words: tuple[str, ...]) -> None:
    chaos(*words)
