"""The progress of judging: what a listener learns while it goes on."""

from __future__ import annotations

from typing import Protocol

from judge.records import Judgment, RepeatProgress


class ProgressListener(Protocol):
    """Learns of every judgment once it is durable; does nothing by default."""

    def begin(self, total: int, done: int, subject: str = "", member: str = "") -> None:
        """Judging begins: `total` judgments are wanted, `done` of them are there already.

        With a `subject` they are answers to questions besides grades. `member` is the number and the name of
        the member of a panel that judges, such as `2/3 openai:qwen-plus/graded`.
        """
        return

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        """One more judgment is there; `usd` was spent so far, None without a price."""
        return

    def set_status(self, status: str) -> None:
        """The run waits for `status`, every second; `""` while answers come."""
        return

    def end_repeat(self, repeat: RepeatProgress) -> None:
        """The last pair of a repeat is there; only with several repeats."""
        return

    def end(self) -> None:
        """Judging ended, for whatever reason."""
        return


class NullProgress(ProgressListener):
    """A listener that does nothing."""
