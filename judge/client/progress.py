"""The listener of a command that waits for answers, such as a progress bar."""

from judge.records import Judgment


class ProgressListener:
    """Is called for every answer once it is on disk; does nothing by default.

    Answers are judgments, answers to questions besides grades, and those of search engines.
    """

    def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
        """Begin: `total` answers are wanted, `done` of them are there already.

        With a `subject` they are answers to questions besides grades. `title` is the number and the name of
        the member of a panel that judges, such as `2/3 openai:qwen-plus/graded`.
        """

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        """Count one more judgment, by default as any answer; `usd` was spent so far, None without a price."""
        self.add_answer(failed=judgment.error is not None, usd=usd)

    def add_answer(self, *, failed: bool, usd: float | None = None) -> None:
        """Count one more answer, or a failure."""

    def set_status(self, status: str) -> None:
        """Show what the run waits for, `""` while answers come; called every second."""

    def end(self) -> None:
        """End, for any reason."""
