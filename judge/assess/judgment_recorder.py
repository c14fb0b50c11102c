"""Recording judgments while a pool is judged: in the log of the run, and for the listener."""

from __future__ import annotations

import time

from judge.assess.assessor import Assessor, AssessorAnswer
from judge.assess.progress import ProgressListener, RepeatCounter
from judge.assess.question_plan import QuestionPlan, VerdictRequest
from judge.client.budget import SpendLimit
from judge.judgment_log import JudgmentLog
from judge.records import RepeatProgress
from judge.store.store import StoredAnswer, VerdictStore


class JudgmentRecorder:
    """Adds the judgments of the questions in `plan` to `log`, and tells the listener."""

    def __init__(
        self,
        plan: QuestionPlan,
        assessor: Assessor,
        spend_limit: SpendLimit,
        log: JudgmentLog,
        progress: ProgressListener,
    ) -> None:
        #: The time of the last judgment.
        self.added_at = time.monotonic()
        self._plan = plan
        self._assessor = assessor
        self._spend_limit = spend_limit
        self._log = log
        self._progress = progress
        self._counter = RepeatCounter(plan.repeats, len(plan) // plan.repeats, assessor.scale)

    def begin(self, store: VerdictStore, member: str = "") -> list[int]:
        """Add the judgments that need no call; return the indices of those that follow from a rule.

        `member` is the one that judges, for the listener.
        """
        by_rule, ended = list[int](), list[RepeatProgress]()
        for block in self._plan.read_blocks():
            judgments = dict(block.by_rule)
            by_rule += judgments
            answers = store.find_answers(question.key for _, question in block.for_model)
            for index, question in block.for_model:
                if answer := answers.get(question.key):
                    judgments[index] = self._assessor.make_judgment(question, answer)
            self._log.add(list(judgments), list(judgments.values()))
            ended += self._counter.count_judgments(judgments.values())
        self.added_at = time.monotonic()
        self._progress.begin(len(self._plan), len(self._log), self._assessor.subject, member)
        for repeat in ended:
            self._progress.end_repeat(repeat)
        return by_rule

    def add(self, request: VerdictRequest, answer: AssessorAnswer | StoredAnswer) -> None:
        """Add a judgment for each question of `request`."""
        self.added_at = time.monotonic()
        questions = request.questions
        judgments = [self._assessor.make_judgment(question, answer) for _, question in questions]
        self._log.add((index for index, _ in questions), judgments)
        for judgment in judgments:
            self._progress.add_judgment(judgment, self._spend_limit.usd)
        for repeat in self._counter.count_judgments(judgments):
            self._progress.end_repeat(repeat)
