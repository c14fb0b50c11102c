"""Judging one leased pair: permit, complete, save; and the failures of pairs in a row that stop a run.

`judge.assess.judging` lists the steps.
"""

from __future__ import annotations

from functools import partial

from judge.assess.assessor import Assessor, AssessorAnswer, CompletePrompt
from judge.assess.batch_replies import is_final, make_batch_call
from judge.assess.progress import JudgmentRecorder
from judge.assess.question_plan import VerdictRequest
from judge.client.client import ModelClient, PairPermit
from judge.errors import PARSE_ERROR_KINDS, ErrorKind, RunIncomplete
from judge.messages import Message
from judge.models.batch_api import BatchReply
from judge.models.error_mapping import shorten
from judge.models.providers import Model
from judge.models.redaction import mask
from judge.records import Completion, Prompt
from judge.store.window import LeaseLost, PairLease

#: Pairs in a row that fail at the server, or whose replies hold no verdict, after which the run stops.
_MAX_FAILED = 30
#: The same for pairs at which the model put out nothing but thinking.
_MAX_ONLY_THINKING = 5
#: Characters of a reply that a message shows.
_MAX_REPLY = 160
_SERVER_ERRORS = frozenset({"transport", "server_error", "rate_limit", "bad_request"})


class PairRunner:
    """Judges leased pairs, each by itself. What concerns all pairs cancels the run."""

    def __init__(self, assessor: Assessor, client: ModelClient, recorder: JudgmentRecorder) -> None:
        self.client = client
        self.recorder = recorder
        #: An error that nothing expects of a pair, to raise when the calls in flight have ended.
        self.defect: Exception | None = None
        self._assessor = assessor
        self._failures = ConsecutiveFailures(assessor.model)

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
                        answer = await self._assessor.ask(question, complete)
                        self._update_run_state(answer)
                    if answer.verdict is not None:
                        await lease.save(self._assessor.make_key_info(question), answer.verdict)
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


class ConsecutiveFailures:
    """The numbers of the latest answers in a row that failed, by kind; `model` is named in messages."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._failed = self._unreadable = self._only_thinking = 0

    def check(self, answer: AssessorAnswer) -> RunIncomplete | None:
        """Count `answer`, and return why the run should stop, None where it should go on."""
        self._failed = self._failed + 1 if answer.error in _SERVER_ERRORS else 0
        self._unreadable = self._unreadable + 1 if answer.error in PARSE_ERROR_KINDS else 0
        self._only_thinking = self._only_thinking + 1 if answer.thinking else 0
        if self._failed >= _MAX_FAILED:
            return RunIncomplete(
                "{count} requests in a row failed with {error!r} at {endpoint}, the last one: {detail};"
                " {advice}, then run the same command again; all judgments are saved",
                advice=Message("correct that")
                if answer.error == "bad_request"
                else Message("check the server"),
                count=_MAX_FAILED,
                error=ErrorKind(str(answer.error)),
                endpoint=self._model.endpoint,
                detail=Message(answer.detail),
            )
        if self._only_thinking >= _MAX_ONLY_THINKING:
            return RunIncomplete(
                "{count} requests in a row to {model} have no answer: {advice}",
                count=_MAX_ONLY_THINKING,
                model=self._model.name,
                advice=answer.advice,
            )
        if self._unreadable >= _MAX_FAILED:
            return RunIncomplete(
                "{count} replies in a row from {model} cannot be parsed, {reply}; {advice}",
                model=self._model.name,
                count=_MAX_FAILED,
                reply=_describe_reply(answer),
                advice=answer.advice,
            )
        return None


def _describe_reply(answer: AssessorAnswer) -> Message:
    # A server may send a refusal in a field of its own.
    reply = answer.detail if answer.error == "refusal" and not answer.reply else answer.reply
    if not reply:
        return Message("all empty")
    line = shorten(mask(reply[: 4 * _MAX_REPLY]))  # nothing shaped like a key
    excerpt = line if len(line) <= _MAX_REPLY else f"{line[:_MAX_REPLY]}…"
    return Message(
        "the last reply ({error}): {excerpt!r}", error=ErrorKind(str(answer.error)), excerpt=excerpt
    )
