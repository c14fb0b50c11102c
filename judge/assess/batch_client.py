"""The requests about batches, and the replies in their files.

Each request has retries, and is made so that no batch is created or paid for twice. When the process ends
between the upload and the answer to the creation, the next process looks for a batch of the uploaded file at
the server. It creates a batch only when there is none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import IO, TypeVar

from tenacity import stop_never

from judge.assess.assessor import Assessor, Assignment
from judge.client.client import ModelClient, make_failed_call
from judge.client.retry import make_retry_policy
from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    RequestRejected,
    RetryableError,
    RunIncomplete,
)
from judge.messages import Message
from judge.models.batch_api import BatchApi, BatchStatus
from judge.models.negotiation import RequestParams
from judge.models.providers import ModelResult
from judge.records import ANSWERED, Call, Completion
from judge.store.batches import BatchTable, StoredBatch

T = TypeVar("T")
#: What a provider says when the requests of an account that wait have too many tokens.
_QUEUE_IS_FULL = "token_limit"
#: Seconds between two looks for a batch.
_POLL_INTERVAL = 1.0
#: For so long after the upload of its file, the request that creates a batch may not have reached the server.
_MAX_CREATION = timedelta(seconds=30)
#: Providers keep the files of a batch for a month; a batch that is not there later is lost.
_MAX_AGE = timedelta(days=30)
#: The fewest failed requests for which the rest of the run is not judged in realtime.
MIN_FAILED = 10
#: Readings of the files of a batch that must agree before its other requests are judged in realtime.
_READINGS, _READINGS_WITHOUT_FILES = 2, 6


class QueueFull(RequestRejected):
    """The server refuses a batch, because too many tokens wait in others."""


def says_queue_is_full(error: str) -> bool:
    """Return whether an error of the server is about the tokens of all batches of the account."""
    return _QUEUE_IS_FULL in error


@dataclass(slots=True)
class BatchClient:
    """The Batch API of a model, with the table of batches in the store.

    `status` says what the run waits for.
    """

    api: BatchApi
    model_client: ModelClient
    table: BatchTable
    status: str = ""

    async def upload(self, batch_id: str, file: IO[bytes]) -> str:
        """Upload the requests of a batch; return the id of the file."""

        async def send() -> str:
            file.seek(0)
            return await self.api.upload(batch_id, file)

        return await self.retry(send)

    async def create(self, batch_id: str, file_id: str) -> BatchStatus:
        """Create the batch of an uploaded file.

        After an answer that does not say whether the batch is there, it is looked for first. Raises QueueFull
        when it must be smaller, or wait until others have ended.
        """

        async def send() -> BatchStatus:
            try:
                return await self.api.create(batch_id, file_id)
            except (RequestRejected, RetryableError) as error:
                is_refused = isinstance(error, RequestRejected) or error.kind == "rate_limit"
                if is_refused and says_queue_is_full(error.detail):
                    raise QueueFull(error.kind, error.detail) from None
                if is_refused or isinstance(error, ConnectionFailed):
                    raise
                try:
                    batch_status = await self._find(file_id, datetime.now(UTC))
                except AccountError as rejection:  # the batch may be there
                    raise self._make_lookup_error(rejection) from rejection
                if batch_status is None:
                    raise
                return batch_status

        return await self.retry(send)

    async def _find(self, file_id: str, since: datetime) -> BatchStatus | None:
        """Return the batch of the uploaded file, None when no creation can be on its way any more."""
        time = asyncio.get_running_loop().time
        end = time() + (since + _MAX_CREATION - datetime.now(UTC)).total_seconds()
        while True:
            is_late = time() > end
            try:
                batch_status = await self.retry(lambda: self.api.find(file_id, since))
            except RequestRejected as error:
                raise self._make_lookup_error(error) from error
            if batch_status is not None or is_late:
                return batch_status
            await self.model_client.cancel_token.sleep(_POLL_INTERVAL)

    def _make_lookup_error(self, error: CallError) -> RunIncomplete:
        """Return why a run ends when the server refuses to say what became of a batch."""
        return RunIncomplete(
            "{endpoint!r} refuses a request about batches: {error}; run the same command again later, or"
            " without --batch",
            endpoint=self.model_client.server_name,
            error=error,
        )

    async def retrieve_status(self, batch: StoredBatch) -> BatchStatus | None:
        """Return the state of a batch at the server, None when it is not there."""
        if not batch.server_id:
            await self._resume_creation(batch)
            return None
        try:
            return await self.retry(lambda: self.api.retrieve(batch.server_id))
        except (AccountError, RequestRejected) as error:
            await self.remove_lost(batch, error)
            return None

    async def remove_lost(self, batch: StoredBatch, error: AccountError | RequestRejected) -> None:
        """Remove a batch that counts as lost; raise RunIncomplete for a younger one."""
        may_be_lost = error.kind == "not_found" or isinstance(error, RequestRejected)
        if not may_be_lost or datetime.now(UTC) - batch.changed_at <= _MAX_AGE:
            raise RunIncomplete(
                "the batch {batch} of {day} cannot be read ({error}); use the key of the account that"
                " submitted it. {days} days after its submission it counts as lost",
                batch=batch.server_id,
                day=batch.changed_at.date(),
                error=error,
                days=_MAX_AGE.days,
            ) from error
        await self.table.remove(batch.id)

    async def _resume_creation(self, batch: StoredBatch) -> None:
        """Find the batch of a process that ended before it had an answer, or free its keys."""
        if not await self.table.take_over(batch.id):
            return  # its process runs
        batch_status = await self._find(batch.file_id, batch.changed_at) if batch.file_id else None
        if batch_status is None:
            await self.table.remove(batch.id)
        else:
            await self.table.record_creation(batch.id, batch_status.id)

    async def retry(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return what `send` does; raise RunIncomplete when the server gives no answer for `max_wait`.

        The status says why an attempt failed.
        """
        limits, token = self.model_client.limits, self.model_client.cancel_token
        time = asyncio.get_running_loop().time
        end = time() + limits.max_wait

        async def send_in_time() -> T:
            token.raise_if_cancelled()
            try:
                return await send()
            except RetryableError as error:
                if time() >= end:
                    raise RunIncomplete(
                        "no request about a batch to {endpoint!r} succeeded for {seconds:.0f} s, last error:"
                        " {error}; run the same command again to continue from here",
                        endpoint=self.model_client.server_name,
                        seconds=limits.max_wait,
                        error=error,
                    ) from error
                self.status = Message("a request about a batch failed ({error}); trying again", error=error)
                raise

        policy = make_retry_policy(limits, token.sleep, lambda: True).copy(stop=stop_never)
        result: T = await policy(send_in_time)
        return result

    def explain_rejection(self, error: CallError) -> RunIncomplete | None:
        """Return the error of a batch that was refused, with what to do; None where `error` says it."""
        # The first pair has shown in realtime that the model exists: it is not judged in batches.
        if isinstance(error, AccountError) and error.kind not in ("not_found", "model_not_found"):
            return None
        return RunIncomplete(
            "{endpoint!r} refuses the batch ({error}); run the same command again when other batches of"
            " the account have ended, or without --batch to judge in realtime"
            if isinstance(error, QueueFull)
            else "{endpoint!r} refuses the batch ({error}); omit --batch, or use a model and a server that"
            " judge in batches",
            endpoint=self.model_client.server_name,
            error=error,
        )


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
            prompt = self.assessor.prompts.render(assignment.pair)
            reply: ModelResult
            try:
                reply = self.api.read_reply(line, prompt, self.params)
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
