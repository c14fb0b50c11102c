"""A run that is killed or gets a signal loses no verdict that it called durable: short forms.

The full forms are `python -m tests.fault_injection.kills`, `….signals` and `….night`.
"""

import pytest

from tests.support.command_line import inject_faults


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("kills", "--kills", 10),
        ("signals", "--signals", 3, "--at-any-moment", 0, "--max-delay", 1),
        ("night", "--pairs", 300, "--kills", 1, "--concurrency", 2),
    ],
    ids=("kills", "signals", "night"),
)
def test_nothing_that_was_paid_for_is_lost(words: tuple[str, ...]) -> None:
    inject_faults(*words)
