"""The progress of judging and collecting: a bar on a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from judge.records import Judgment, RepeatProgress


@dataclass(frozen=True, slots=True)
class ProgressWords:
    """The words of a progress display: the activity, the noun, and the finished state."""

    doing: str
    thing: str
    done: str


JUDGING = ProgressWords("judging", "pair", "judged")
CANARIES = ProgressWords("judging", "canary pair", "canary pairs judged")
COLLECTING = ProgressWords("collecting", "answer", "collected")


class ProgressBar:
    """A progress bar: judged (or collected) of all, rate, failures, cost so far, time left."""

    def __init__(self, console: Console, words: ProgressWords = JUDGING) -> None:
        self._progress = Progress(
            TextColumn(f"{words.doing} {words.thing}s"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            _Rate(),
            TextColumn("{task.fields[cost]}"),
            TextColumn("{task.fields[failed]}", style="red"),
            TextColumn("{task.fields[status]}", style="yellow", markup=False),
            TimeRemainingColumn(),
            console=console,
            refresh_per_second=5,
            transient=True,
        )
        self._failed = 0

    def begin(self, total: int, done: int) -> None:
        """Draw the bar; verdicts that are known already count as done."""
        self._task = self._progress.add_task(
            "", total=total, completed=done, known=done, cost="", failed="", status=""
        )
        self._progress.start()

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        """Advance the bar by one."""
        self._advance(f"${usd:.4f}" if usd else "", judgment.error is not None)

    def set_status(self, status: str) -> None:
        """Show what the run waits for."""
        self._progress.update(self._task, status=status)

    def answered(self, *, failed: bool) -> None:
        """Advance the bar by one."""
        self._advance("", failed)

    def _advance(self, cost: str, failed: bool) -> None:
        self._failed += failed
        failures = f"{self._failed} failed" if self._failed else ""
        self._progress.update(self._task, advance=1, cost=cost, failed=failures)

    def end_repeat(self, repeat: RepeatProgress) -> None:
        """Print a line above the bar."""
        self._progress.console.print(Text(_finished(repeat)))

    def end(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class _Rate(ProgressColumn):
    """Judgments a second since the bar was drawn, without those known before."""

    def render(self, task: Task) -> Text:
        """Return the rate as `12.3/s`."""
        done = task.completed - task.fields["known"]
        return Text(f"{done / task.elapsed:.1f}/s" if task.elapsed and done else "", style="cyan")


class ProgressLines:
    """A line every ten seconds, for logs and pipes."""

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        every: float = 10.0,
        words: ProgressWords = JUDGING,
    ) -> None:
        self._stream = stream
        self._words = words
        self._clock = clock
        self._every = every

    def begin(self, total: int, done: int) -> None:
        """Print how much there is to do."""
        self._asked, self._known, self._done, self._failed = total, done, done, 0
        self._began = self._printed_at = self._clock()
        if done < total:
            rest = f"; the other {done:,} are known already" if done else ""
            plural = "s" * (total - done > 1)
            self._print(f"{self._words.doing} {total - done:,} {self._words.thing}{plural}{rest}")

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        """Print the state when ten seconds have passed since the last line."""
        self._advance(f", ${usd:.4f} so far" if usd else "", judgment.error is not None)

    def set_status(self, status: str) -> None:
        """Print what the run waits for when ten seconds have passed since the last line."""
        now = self._clock()
        if status and now - self._printed_at >= self._every:
            self._printed_at = now
            self._print(status)

    def answered(self, *, failed: bool) -> None:
        """Print the state when ten seconds have passed since the last line."""
        self._advance("", failed)

    def _advance(self, cost: str, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        now = self._clock()
        if now - self._printed_at >= self._every:
            self._printed_at = now
            rate = (self._done - self._known) / max(now - self._began, 1e-9)
            left = (self._asked - self._done) / rate
            succeeded = self._done - self._failed
            self._print(
                f"{succeeded:,} of {self._asked:,} {self._words.done}, {self._failed} failed, "
                f"{rate:.1f}/s{cost}, about {left:.0f} s left"
            )

    def end_repeat(self, repeat: RepeatProgress) -> None:
        """Print the result of the repeat."""
        self._print(_finished(repeat))

    def end(self) -> None:
        """Print nothing; the command prints the result."""

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def _finished(repeat: RepeatProgress) -> str:
    share = f"; {repeat.relevant / repeat.judged:.1%} of the judged are relevant" if repeat.judged else ""
    failed = f", {repeat.failed:,} failed" if repeat.failed else ""
    return f"repeat {repeat.number} of {repeat.repeats}: {repeat.judged:,} pairs judged{failed}{share}"
