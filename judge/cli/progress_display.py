"""The progress of judging and collecting: a bar on a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich import progress
from rich.console import Console, RenderableType
from rich.table import Column
from rich.text import Text

from judge.characters import count_columns
from judge.cli.terminal import format_duration, t
from judge.client.progress import ProgressListener
from judge.messages import Message

_SECONDS_BETWEEN_LINES = 10.0
#: Columns of a line of a log: the name of a member of a panel is cut to fit.
_WIDTH = 80
#: Columns of that name before a bar.
_NAME_WIDTH = 22


#: What is done, as a progress display says it.
JUDGING = Message("judging pairs")
CANARIES = Message("judging canary pairs")
COLLECTING = Message("collecting answers")


class ProgressBar(ProgressListener):
    """A progress bar: judged (or collected) of all, rate, failures, cost so far, time left.

    What the run waits for is a line below it. On a narrow terminal the bar itself is shorter.
    """

    def __init__(self, console: Console, activity: Message = JUDGING) -> None:
        self._progress = _BarAndStatus(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=30),
            progress.MofNCompleteColumn(table_column=Column(no_wrap=True)),
            progress.TextColumn("{task.fields[rate]}", style="cyan", table_column=Column(no_wrap=True)),
            progress.TextColumn("{task.fields[cost]}"),
            progress.TextColumn("{task.fields[failed]}", style="red"),
            progress.TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=console,
            refresh_per_second=5,
            transient=True,
        )
        self._activity = activity

    def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
        """Draw the bar; verdicts that are known already count as done."""
        self._answers = self._failed = 0
        self._task = self._progress.add_task(
            _truncate_name(title, _NAME_WIDTH) if title else t(subject or self._activity),
            total=total,
            completed=done,
            rate="",
            cost="",
            failed="",
            status="",
        )
        self._progress.start()

    def set_status(self, status: str) -> None:
        """Show what the run waits for."""
        self._progress.update(self._task, status=t(status))

    def add_answer(self, *, failed: bool, usd: float | None = None) -> None:
        """Advance the bar by one; `usd` was spent so far, None without a price."""
        self._answers += 1
        self._failed += failed
        elapsed = self._progress.tasks[self._task].elapsed
        rate = f"{self._answers / elapsed:.1f}/s" if elapsed else ""
        failures = t("{failed} failed", failed=self._failed) if self._failed else ""
        cost = f"${usd:.4f}" if usd else ""
        self._progress.update(self._task, advance=1, rate=rate, cost=cost, failed=failures)

    def end(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class _BarAndStatus(progress.Progress):
    """The bar, and below it what the run waits for."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bar, and the status where there is one."""
        yield from super().get_renderables()
        for task in self.tasks:
            if task.fields["status"]:
                yield Text(task.fields["status"], style="yellow", no_wrap=True, overflow="ellipsis")


class ProgressLines(ProgressListener):
    """A line every ten seconds, for logs and pipes."""

    def __init__(
        self, stream: TextIO, activity: Message = JUDGING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._activity = activity
        self._clock = clock

    def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
        """Print how much there is to do."""
        self._name = title or t(subject or self._activity)
        self._total, self._known, self._done, self._failed = total, done, done, 0
        self._began = self._printed_at = self._clock()
        if done < total:
            rest = t.translate_plural(
                "; the other {count:,} needs no call", "; the other {count:,} need no call", done
            )
            self._print(t("{count:,} to do", count=total - done) + (rest if done else ""))

    def set_status(self, status: str) -> None:
        """Print what the run waits for when ten seconds have passed since the last line."""
        now = self._clock()
        if status and now - self._printed_at >= _SECONDS_BETWEEN_LINES:
            self._printed_at = now
            self._print(t(status))

    def add_answer(self, *, failed: bool, usd: float | None = None) -> None:
        """Print the state when ten seconds have passed since the last line; `usd` was spent so far."""
        self._done += 1
        self._failed += failed
        now = self._clock()
        if now - self._printed_at >= _SECONDS_BETWEEN_LINES:
            self._printed_at = now
            rate = (self._done - self._known) / max(now - self._began, 1e-9)
            line = t(
                "{done:,} of {total:,} done, {failed} failed, {rate:.1f}/s{cost}, about {left} left",
                done=self._done - self._failed,
                total=self._total,
                failed=self._failed,
                rate=rate,
                cost=t(", ${usd:.4f} so far", usd=usd) if usd else "",
                left=format_duration((self._total - self._done) / rate),
            )
            self._print(line)

    def end(self) -> None:
        """Print nothing; the command prints the result."""

    def _print(self, line: str) -> None:
        name = _truncate_name(self._name, _WIDTH - count_columns(line) - 2)
        print(t("{name}: {value}", name=name, value=line), file=self._stream, flush=True)


def _truncate_name(name: str, width: int) -> str:
    """Return the name, or its first word and what fits beside it into `width` columns: `2/3 openai:qwen…`."""
    text = Text(name)
    text.truncate(max(width, len(name.partition(" ")[0]) + 1), overflow="ellipsis")
    return text.plain
