"""How work is told of in a log while it goes on."""

from __future__ import annotations

import io
from itertools import count

from rich.console import Console

from judge.cli.progress_display import COLLECTING, ProgressBar, ProgressLines


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


def test_each_bar_counts_its_own_failures() -> None:
    stream = io.StringIO()
    bar = ProgressBar(Console(file=stream, force_terminal=True, width=100))
    bar.begin(2, 0)
    bar.add_answer(failed=True)
    bar.end()
    bar.begin(5, 0, "points")
    bar.add_answer(failed=False)
    bar.end()
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if "pairs" in line and "1 failed" in line]
    assert not [line for line in lines if "points" in line and "failed" in line]
