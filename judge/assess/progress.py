"""The progress of judging: judgments are added to the log of the run, and a listener learns of them."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from judge.assess.assignment_plan import AssignmentPlan, VerdictRequest
from judge.client.budget import SpendLimit
from judge.files.judgment_log import JudgmentLog
from judge.records import Judgment, Scale
from judge.store.store import VerdictOrFailure, VerdictStore


@dataclass(frozen=True, slots=True)
class RepeatProgress:
    """A finished repeat: its `number` of `repeats`, from 1, and the outcomes of its pairs."""

    number: int
    repeats: int
    judged: int
    failed: int
    relevant: int


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

    def end_repeat(self, repeat: RepeatProgress) -> None:
        """Show a repeat that ended with all earlier ones; called only with several repeats."""
        return

    def end(self) -> None:
        """End, for any reason."""
        return


class NullProgress(ProgressListener):
    """A listener that does nothing."""


class RepeatCounter:
    """Counts the judgments of every repeat; repeats end in the order of their numbers."""

    def __init__(self, repeats: int, pairs: int, scale: Scale) -> None:
        self._pairs = pairs
        self._relevant_from = scale.relevant_from
        #: The judgments of each repeat, by outcome.
        self._counts = [Counter[str]() for _ in range(repeats)]
        self._ended = 0

    def count_judgments(self, judgments: Iterable[Judgment]) -> list[RepeatProgress]:
        """Count `judgments`; return the repeats that end with them, none if there is only one repeat.

        A repeat whose last judgment comes before that of an earlier one ends with the earlier one.
        """
        repeats = len(self._counts)
        if repeats == 1:
            return []
        for judgment in judgments:
            counts, grade = self._counts[judgment.repeat - 1], judgment.grade
            counts["failed" if grade is None else "judged"] += 1
            counts["relevant"] += grade is not None and grade >= self._relevant_from
        ended = []
        for counts in self._counts[self._ended :]:
            if counts["judged"] + counts["failed"] < self._pairs:
                break
            self._ended += 1
            outcomes = (counts[name] for name in ("judged", "failed", "relevant"))
            ended.append(RepeatProgress(self._ended, repeats, *outcomes))
        return ended


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
        self._counter = RepeatCounter(plan.repeats, len(plan) // plan.repeats, plan.assessor.scale)

    def begin(self, store: VerdictStore, title: str = "") -> None:
        """Add the judgments that need no call; the listener shows the `title` of the member that judges."""
        ended: list[RepeatProgress] = []
        for judgments in self._plan.find_known_judgments(store):
            self._log.add(judgments.keys(), judgments.values())
            ended += self._counter.count_judgments(judgments.values())
            self.has_verdict = self.has_verdict or any(
                judgment.grade is not None and not judgment.is_by_rule for judgment in judgments.values()
            )
        self.added_at = time.monotonic()
        self._progress.begin(len(self._plan), len(self._log), self._plan.assessor.subject, title)
        for repeat in ended:
            self._progress.end_repeat(repeat)

    def add(self, request: VerdictRequest, answer: VerdictOrFailure) -> None:
        """Add a judgment for each assignment of `request`."""
        self.added_at = time.monotonic()
        make_judgment = self._plan.assessor.make_judgment
        judgments = [make_judgment(assignment, answer) for assignment in request.assignments]
        self._log.add((assignment.index for assignment in request.assignments), judgments)
        for judgment in judgments:
            self._progress.add_judgment(judgment, self._spend_limit.usd)
        for repeat in self._counter.count_judgments(judgments):
            self._progress.end_repeat(repeat)
