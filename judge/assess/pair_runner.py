"""Judging one leased pair: permit, complete, save; `judge.assess.judging` lists the steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from judge.assess.assessor import Assessor, AssessorAnswer, CompletePrompt
from judge.assess.batch_replies import is_final, make_batch_call
from judge.assess.consecutive_failures import ConsecutiveFailures
from judge.assess.judgment_recorder import JudgmentRecorder
from judge.assess.question_plan import VerdictRequest
from judge.client.client import ModelClient, PairPermit
from judge.errors import RunIncomplete
from judge.models.batch_api import BatchReply
from judge.records import Completion, Prompt
from judge.store.window import LeaseLost, PairLease


@dataclass(slots=True)
class PairRunner:
    """Judges leased pairs, each by itself. What concerns all pairs cancels the run."""

    assessor: Assessor
    client: ModelClient
    recorder: JudgmentRecorder
    #: An error that nothing expects of a pair, to raise when the calls in flight have ended.
    defect: Exception | None = None
    _failures: ConsecutiveFailures = field(init=False)

    def __post_init__(self) -> None:
        self._failures = ConsecutiveFailures(self.assessor.model)

    async def judge(self, request: VerdictRequest, lease: PairLease) -> bool:
        """Get one verdict and save it, with a judgment for each question that it answers.

        Return False when another process took the lease.
        """
        question = request.question
        try:
            with self.client.cancel_token.cancel_on_error():
                async with lease:
                    with PairPermit(self.client.limiter, lease) as permit:
                        complete: CompletePrompt = partial(self.client.complete, permit=permit)
                        if request.batch_reply is not None and lease.is_in_batch:
                            complete = _begin_with_reply(request.batch_reply, lease, complete)
                        answer = await self.assessor.ask(question, complete)
                        self._update_run_state(answer)
                    if answer.verdict is not None:
                        await lease.save(self.assessor.make_key_info(question), answer.verdict)
                self.recorder.add(request, answer)
        except LeaseLost:
            return False
        except Exception as defect:  # noqa: BLE001  # in the task group it would end calls that are paid for
            self.defect = self.defect or defect
            self.client.cancel_token.cancel(RunIncomplete("judge has a defect: {error!r}", error=defect))
        return True

    def _update_run_state(self, answer: AssessorAnswer) -> None:
        """Lift the limit on the first requests after a verdict, or cancel the run after many failures."""
        if answer.verdict is not None:
            self.client.limiter.record_verdict()
        if reason := self._failures.check(answer):
            self.client.cancel_token.cancel(reason)


def _begin_with_reply(reply: BatchReply, lease: PairLease, complete: CompletePrompt) -> CompletePrompt:
    """Return `complete` with the `reply` of a batch to the first prompt."""
    replies = [reply]
    lease.begin_call()
    lease.end_call(make_batch_call(reply))

    async def complete_with_reply(prompt: Prompt) -> Completion:
        first = replies.pop() if replies else None
        if isinstance(first, Completion):
            return first
        if first is not None and is_final(first):
            raise first
        return await complete(prompt)

    return complete_with_reply
