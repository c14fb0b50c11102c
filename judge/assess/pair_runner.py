"""Judging one leased pair: permit, complete, save; `judge.assess.judging` lists the steps."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from judge.assess.assessor import Assessor, AssessorAnswer, Question
from judge.assess.batch import BatchReply, is_final, make_batch_call
from judge.assess.consecutive_failures import ConsecutiveFailures
from judge.assess.judgment_recorder import JudgmentRecorder
from judge.assess.question_plan import VerdictRequest
from judge.client.cancel import Cancelled
from judge.client.client import ModelClient, PairPermit
from judge.errors import AccountError, RunIncomplete, StoreError
from judge.records import Completion, Prompt
from judge.store.window import LeaseLost, PairLease


@dataclass(slots=True)
class PairRunner:
    """Judges leased pairs, each by itself. What concerns all pairs cancels the run."""

    assessor: Assessor
    client: ModelClient
    recorder: JudgmentRecorder
    #: The replies of a batch that has ended, by key.
    replies: dict[str, BatchReply] = field(default_factory=dict)
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
            async with lease:
                reply = self.replies.pop(question.key, None)
                if reply is not None and lease.is_in_batch:
                    answer = await self._ask_with_reply(question, lease, reply)
                    self._update_run_state(answer)
                else:
                    async with PairPermit(self.client.limiter, lease) as permit:
                        answer = await self.assessor.ask(
                            question, partial(self.client.complete, permit=permit)
                        )
                        self._update_run_state(answer)
                if answer.verdict is not None:
                    await lease.save(self.assessor.make_key_info(question), answer.verdict)
            self.recorder.add(request, answer)
        except LeaseLost:
            return False
        except Cancelled:
            pass
        except (AccountError, RunIncomplete, StoreError) as reason:
            self.client.cancel_token.cancel(reason)
        except Exception as defect:  # noqa: BLE001  # in the task group it would end calls that are paid for
            self.defect = self.defect or defect
            self.client.cancel_token.cancel(RunIncomplete("judge has a defect: {error!r}", error=defect))
        return True

    async def _ask_with_reply(
        self, question: Question, lease: PairLease, reply: BatchReply
    ) -> AssessorAnswer:
        """Ask as in realtime, with the `reply` of a batch to the first request."""
        replies = [reply]
        lease.begin_call()
        lease.end_call(make_batch_call(reply))
        async with AsyncExitStack() as permits:
            permit: PairPermit | None = None

            async def complete(prompt: Prompt) -> Completion:
                nonlocal permit
                first = replies.pop() if replies else None
                if isinstance(first, Completion):
                    return first
                if first is not None and is_final(first):
                    raise first
                if permit is None:
                    permit = await permits.enter_async_context(PairPermit(self.client.limiter, lease))
                return await self.client.complete(prompt, permit)

            return await self.assessor.ask(question, complete)

    def _update_run_state(self, answer: AssessorAnswer) -> None:
        """Lift the limit on the first requests after a verdict, or cancel the run after many failures."""
        if answer.verdict is not None:
            self.client.limiter.record_verdict()
        if reason := self._failures.check(answer):
            self.client.cancel_token.cancel(reason)
