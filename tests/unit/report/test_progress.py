"""How work is told of in a log while it goes on."""

from __future__ import annotations

import io
from itertools import count

from judge.cli.progress_display import COLLECTING, ProgressLines


def test_what_failed_is_not_counted_as_done() -> None:
    log, seconds = io.StringIO(), count(step=5)
    lines = ProgressLines(log, clock=lambda: float(next(seconds)), words=COLLECTING)
    lines.begin(4, 1)
    lines.add_answer(failed=True)
    lines.add_answer(failed=False)
    assert log.getvalue().splitlines()[1].startswith("2 of 4 collected, 1 failed, ")


def test_a_log_says_every_ten_seconds_what_is_waited_for() -> None:
    log, seconds = io.StringIO(), count(step=4)
    lines = ProgressLines(log, clock=lambda: float(next(seconds)))
    lines.begin(4, 0)
    for status in ("", "waiting, 8 s", "waiting, 12 s", "waiting, 16 s", ""):
        lines.set_status(status)
    assert log.getvalue().splitlines()[1:] == ["waiting, 12 s"]
