"""The progress of judging: judgments are added to the log of the run, and a listener learns of them."""

import time
from typing import Protocol

from judge.assess.assignment_plan import AssignmentPlan, VerdictRequest
from judge.client.budget import SpendLimit
from judge.files.judgment_log import JudgmentLog
from judge.records import Judgment
from judge.store.store import VerdictOrFailure, VerdictStore


class ProgressListener(Protocol):
    """Is called for every judgment once it is on disk; does nothing by default."""

    def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
        """Begin: `total` judgments are wanted, `done` of them are there already.

        With a `subject` they are answers to questions besides grades. `title` is the number and the name of
        the member of a panel that judges, such as `2/3 openai:qwen-plus/graded`.
        """
        return

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        """Count one more judgment; `usd` was spent so far, None without a price."""
        return

    def set_status(self, status: str) -> None:
        """Show what the run waits for, `""` while answers come; called every second."""
        return

    def end(self) -> None:
        """End, for any reason."""
        return


class NullProgress(ProgressListener):
    """A listener that does nothing."""


class JudgmentRecorder:
    """Adds the judgments of the assignments in `plan` to `log`, and tells the listener."""

    def __init__(
        self, plan: AssignmentPlan, spend_limit: SpendLimit, log: JudgmentLog, progress: ProgressListener
    ) -> None:
        #: The time of the last judgment.
        self.added_at = time.monotonic()
        #: Whether one of the judgments that need no call is a grade of the model.
        self.has_verdict = False
        self._plan = plan
        self._spend_limit = spend_limit
        self._log = log
        self._progress = progress

    def begin(self, store: VerdictStore, title: str = "") -> None:
        """Add the judgments that need no call; the listener shows the `title` of the member that judges."""
        for judgments in self._plan.find_known_judgments(store):
            self._log.add(judgments.keys(), judgments.values())
            self.has_verdict = self.has_verdict or any(
                judgment.grade is not None and not judgment.is_by_rule for judgment in judgments.values()
            )
        self.added_at = time.monotonic()
        self._progress.begin(len(self._plan), len(self._log), self._plan.assessor.subject, title)

    def add(self, request: VerdictRequest, answer: VerdictOrFailure) -> None:
        """Add a judgment for each assignment of `request`."""
        self.added_at = time.monotonic()
        make_judgment = self._plan.assessor.make_judgment
        judgments = [make_judgment(assignment, answer) for assignment in request.assignments]
        self._log.add((assignment.index for assignment in request.assignments), judgments)
        for judgment in judgments:
            self._progress.add_judgment(judgment, self._spend_limit.usd)
