"""Failures of pairs in a row, after which a run stops: more calls would fail in the same way."""

from __future__ import annotations

from judge.assess.assessor import AssessorAnswer
from judge.errors import PARSE_ERROR_KINDS, ErrorKind, RunIncomplete
from judge.messages import Message
from judge.models.error_mapping import shorten
from judge.models.providers import Model
from judge.models.redaction import mask

#: Pairs in a row that fail at the server, or whose replies hold no verdict, after which the run stops.
_MAX_FAILED = 30
#: The same for pairs at which the model put out nothing but thinking.
_MAX_ONLY_THINKING = 5
#: Characters of a reply that a message shows.
_MAX_REPLY = 160
_SERVER_ERRORS = frozenset({"transport", "server_error", "rate_limit", "bad_request"})


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
    if not answer.reply:
        return Message("all empty")
    line = shorten(mask(answer.reply[: 4 * _MAX_REPLY]))  # nothing shaped like a key
    excerpt = line if len(line) <= _MAX_REPLY else f"{line[:_MAX_REPLY]}…"
    return Message(
        "the last reply ({error}): {excerpt!r}", error=ErrorKind(str(answer.error)), excerpt=excerpt
    )
