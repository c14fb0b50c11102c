"""The replies to the requests of a batch: what each of them is in the ledger, and reading them in files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from judge.assess.assessor import Assessor, Assignment
from judge.client.client import make_failed_call
from judge.errors import CallError, RequestRejected, RetryableError
from judge.models.batch_api import BatchApi, BatchStatus
from judge.models.negotiation import RequestParams
from judge.models.providers import ModelResult
from judge.records import ANSWERED, Call, Completion

#: The fewest failed requests for which the rest of the run is not judged in realtime.
MIN_FAILED = 10
#: Readings of the files of a batch that must agree before its other requests are judged in realtime.
_READINGS, _READINGS_WITHOUT_FILES = 2, 6


def make_batch_call(reply: ModelResult) -> Call:
    """Return the record of the request that led to `reply`."""
    if isinstance(reply, Completion):
        return Call(ANSWERED, reply.usage, in_batch=True)
    return make_failed_call(reply, in_batch=True)


def is_final(error: CallError) -> bool:
    """Return whether a request that failed with `error` in a batch would fail in realtime, too."""
    return isinstance(error, RequestRejected) and error.kind != "bad_request"


@dataclass(slots=True)
class ReplyReader:
    """Reads the replies to `assignments`, by key, in the files of a batch whose requests have `params`."""

    api: BatchApi
    assessor: Assessor
    assignments: Mapping[str, Assignment]
    params: RequestParams
    #: The numbers of requests without a reply in the readings of a complete batch.
    _absent_counts: list[int] = field(default_factory=list)

    async def read(self, status: BatchStatus) -> dict[str, ModelResult]:
        """Return the replies in the files, and an error for each other request of a complete batch.

        Raises RetryableError until enough readings agree on the number of these requests.
        """
        if self._absent_counts and not status.files:  # a batch can end before its files have ids
            status = await self.api.retrieve(status.id)
        replies: dict[str, ModelResult] = {}
        unprocessed, conflicting = set[str](), set[str]()
        has_lines = False
        async for line in self.api.read_lines(status):
            has_lines = True
            key = line.custom_id
            assignment, earlier = self.assignments.get(key), replies.get(key)
            if assignment is None:
                continue
            if line.status is None:
                unprocessed.add(key)
                continue
            reply: ModelResult
            try:
                reply = self.api.read_reply(line, self.assessor.prompts.render(assignment.pair), self.params)
            except CallError as error:
                reply = error
            if not isinstance(earlier, Completion):
                replies[key] = reply
            elif isinstance(reply, Completion) and reply.text != earlier.text:
                conflicting.add(key)
        conflict = RetryableError(
            "transport", "the files of the batch hold different replies to a request", maybe_billed=True
        )
        replies |= dict.fromkeys(conflicting, conflict)
        if status.status == "completed":
            # The batch is complete, so a request without a line may have been processed.
            missing = RetryableError("transport", "the files of the batch hold no reply", maybe_billed=True)
            absent = self.assignments.keys() - replies.keys() - unprocessed
            # A page instead of a file, for example.
            is_unread = not has_lines and len(self.assignments) >= MIN_FAILED
            # A file that arrived cut is longer the next time, and a batch can end before its files have ids.
            self._absent_counts.append(len(absent))
            needed = _READINGS if status.files else _READINGS_WITHOUT_FILES
            last = self._absent_counts[-needed:]
            if absent and (is_unread or len(last) < needed or len(set(last)) > 1):
                raise missing
            replies |= dict.fromkeys(absent, missing)
        return replies
