"""Judging in batches: replies to planned requests, at a lower price, within a day.

A batch takes these steps, and the store keeps each of them, so that a process can be killed at any moment:

    plan      `BatchTable.plan`: from here on no other process pays for the keys of the batch
    upload    `BatchApi.upload`
    create    `BatchApi.create`: from here on the provider charges for the batch
    wait      `BatchApi.retrieve`, at growing intervals
    read      `BatchApi.read_lines`; each reply leaves the batch when its call is in the ledger
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile

from judge.assess.assessor import Assessor, Assignment
from judge.assess.batch_client import (
    MIN_FAILED,
    BatchClient,
    QueueFull,
    ReplyReader,
    is_final,
    make_batch_call,
    says_queue_is_full,
)
from judge.client.budget import bound_cost
from judge.errors import AccountError, CallError, LimitReached, RequestRejected, RunIncomplete, StoreError
from judge.messages import Message
from judge.models.batch_api import BatchStatus
from judge.models.negotiation import RequestParams
from judge.models.providers import ModelResult

#: Seconds between two looks at a batch: at first, the factor from one to the next, and at most.
_POLL_INTERVAL, _POLL_GROWTH, _MAX_POLL_INTERVAL = 1.0, 1.5, 60.0
#: The fewest requests for which a smaller batch is tried when the queue is full.
_MIN_REQUESTS = 100
#: Lines that are made without a look at signals.
_LINES_AT_ONCE = 200
#: The smallest share of the requests that are left for which another batch is submitted.
_MIN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class _RequestLine:
    """A line of the file of a batch, and the most that its request can cost, in USD."""

    content: bytes
    usd: float


class BatchRunner:
    """Gets replies to the assignments of one assessor in batches.

    `warnings` name the batches with requests that failed.
    """

    def __init__(self, batch_client: BatchClient, assessor: Assessor) -> None:
        self.batch_client = batch_client
        self.warnings: list[Message] = []
        self._assessor = assessor
        self._api, self._table = batch_client.api, batch_client.table
        self._token, self._price = batch_client.model_client.cancel_token, batch_client.model_client.price
        self._spend_limit = batch_client.model_client.spend_limit
        #: The reserved costs of the batches that this process submitted.
        self._costs: dict[str, Sequence[float]] = {}
        self._ended = 0
        self._max_requests = self._api.terms.requests

    async def collect(
        self, assignments: Mapping[str, Assignment]
    ) -> AsyncGenerator[Mapping[str, ModelResult], None]:
        """Submit `assignments`, by key, and yield the replies of each batch when it has ended.

        A batch that is in the store already is not submitted again. No reply is yielded for assignments that
        fit into no batch, and for those that another process judges. Raises RunIncomplete when the server
        refuses a batch, a batch is cancelled there, or the budget covers no further request. Raises
        Cancelled, and what `judge.client` raises for a server that gives no answer.
        """
        waiting = dict(assignments)
        may_submit, interval = True, _POLL_INTERVAL
        while waiting:
            in_batch = self._table.find(waiting)
            free = [key for key in waiting if key not in in_batch]
            if free and (may_submit or not in_batch):
                is_covered = True
                try:
                    is_covered = await self._submit(waiting, free)
                except QueueFull as error:  # its batch waits for those that are in the queue
                    if not self._table.find(waiting) and not self._shrink_batches(len(free)):
                        raise (self.batch_client.explain_rejection(error) or error) from error
                in_batch = self._table.find(waiting)
                may_submit, interval = False, _POLL_INTERVAL
                if not is_covered and not in_batch:
                    raise LimitReached(
                        "the budget or --max-calls does not cover the {count:,} requests that are left, if"
                        " each reply is as long as --max-tokens allows; raise it, then run the same command"
                        " again",
                        count=len(waiting),
                    )
            ended = await self._list_ended(in_batch)
            for batch_id, status in ended:
                keys = [key for key in waiting if in_batch.get(key) == batch_id]
                replies = await self._read(batch_id, status, {key: waiting[key] for key in keys})
                if replies is None:
                    continue
                self._ended += 1
                self.batch_client.status = ""
                yield replies
                for key in replies:
                    del waiting[key]
                await self._table.remove(batch_id, [key for key in keys if key not in replies])
                may_submit = self._check_end(status, len(replies), len(keys))
            if not ended and in_batch:
                await self._token.sleep(interval)
                interval = min(interval * _POLL_GROWTH, _MAX_POLL_INTERVAL)

    async def _list_ended(self, in_batch: Mapping[str, str]) -> list[tuple[str, BatchStatus]]:
        """Return the batches that have ended, and set `status` to the progress of the first other one.

        Batches that another process has removed, or that are lost, are removed.
        """
        ended: list[tuple[str, BatchStatus]] = []
        progress = ""
        batches = list(dict.fromkeys(in_batch.values()))
        for batch_id in batches:
            batch = self._table.load(batch_id)
            if batch is None:
                await self._table.remove(batch_id)
                continue
            status = await self.batch_client.retrieve_status(batch)
            if status is not None and status.has_ended:
                ended.append((batch_id, status))
            elif status is not None and not progress:
                progress = Message(
                    "batch {number} of {batches}: {done:,} of {total:,} done",
                    number=self._ended + 1,
                    batches=self._ended + len(batches),
                    done=status.done,
                    total=status.total or batch.requests,
                )
        self.batch_client.status = progress
        return ended

    # --- submitting

    async def _submit(self, waiting: dict[str, Assignment], keys: Sequence[str]) -> bool:
        """Submit batches of `keys`, as many as the budget covers; return whether it covers all.

        Keys that fit into no batch, and those that another process judges, are removed from `waiting`.
        """
        params, terms = self._api.params, self._api.terms
        lines: dict[str, _RequestLine] = {}
        size = 0
        for number, key in enumerate(keys):
            if number % _LINES_AT_ONCE == 0:  # a signal must not wait for all lines
                await asyncio.sleep(0)
                self._token.raise_if_cancelled()
            prompt = self._assessor.prompts.render(waiting[key].pair)
            try:
                content = self._api.make_line(key, prompt, params)
            except RequestRejected:
                content = b""
            if not 0 < len(content) <= terms.line_bytes:
                del waiting[key]
                continue
            if len(lines) == self._max_requests or size + len(content) > terms.file_bytes:
                if not await self._submit_batch(waiting, lines, params):
                    return False
                lines, size = {}, 0
            usd = bound_cost(prompt, params.params, self._price, in_batch=True)
            lines[key] = _RequestLine(content, usd)
            size += len(content)
        return not lines or await self._submit_batch(waiting, lines, params)

    async def _submit_batch(
        self, waiting: dict[str, Assignment], lines: Mapping[str, _RequestLine], params: RequestParams
    ) -> bool:
        """Submit `lines`, by key, as one batch, as `_submit` does."""
        batch_id, planned = await self._table.plan(list(lines), params.to_json())
        for key in lines.keys() - set(planned):
            del waiting[key]
        # A server can count more tokens than the estimate.
        min_usd = self._spend_limit.highest_cost * self._price.batch_share if self._price else 0.0
        reserved = [max(lines[key].usd, min_usd) for key in planned]
        count = self._spend_limit.reserve_batch(reserved)
        if self._ended and count < _MIN_SHARE * len(planned):
            self._spend_limit.settle_batch(reserved[:count], (), None)
            count = 0
        await self._table.remove(batch_id, planned[count:])
        if not count:
            return not planned
        self._costs[batch_id] = reserved[:count]
        self.batch_client.status = Message("submitting a batch of {count:,} requests", count=count)
        may_be_charged = False  # not before the file is at the server, nor for a batch that it refuses
        try:
            with TemporaryFile() as file:
                file.writelines(lines[key].content for key in planned[:count])
                file_id = await self.batch_client.upload(batch_id, file)
            may_be_charged = True
            await self._table.record_upload(batch_id, file_id)
            batch_status = await self.batch_client.create(batch_id, file_id)
        except QueueFull:
            may_be_charged = False
            raise
        except (AccountError, RequestRejected) as error:
            may_be_charged = False
            if explanation := self.batch_client.explain_rejection(error):
                raise explanation from error
            raise
        finally:
            if not may_be_charged:
                await self._table.remove(batch_id)
                self._spend_limit.settle_batch(self._costs.pop(batch_id), (), None)
        await self._table.record_creation(batch_id, batch_status.id)
        return count == len(planned)

    # --- reading

    async def _read(
        self, batch_id: str, status: BatchStatus, assignments: Mapping[str, Assignment]
    ) -> dict[str, ModelResult] | None:
        """Return the replies to `assignments` in the files of a batch that ended, None for one that is lost.

        A request that the server did not process has none.
        """
        batch = self._table.load(batch_id)
        if batch is None:
            return None
        try:
            params = RequestParams.from_json(batch.params)
        except ValueError as error:
            raise StoreError("batch {name} of the store: {error}", name=batch_id, error=error) from error
        reader = ReplyReader(self._api, self._assessor, assignments, params)
        try:
            replies = await self.batch_client.retry(lambda: reader.read(status))
        except (AccountError, RequestRejected) as error:
            await self.batch_client.remove_lost(batch, error)
            return None
        calls = {key: make_batch_call(reply) for key, reply in replies.items()}
        if batch_id in self._costs:  # else an earlier command submitted it, and paid for it
            self._spend_limit.settle_batch(self._costs.pop(batch_id), calls.values(), self._price)
        errors = [reply for reply in replies.values() if isinstance(reply, CallError)]
        if len(errors) == len(replies) >= MIN_FAILED and not any(map(is_final, errors)):
            await self._table.end_requests(calls)
            await self._table.remove(batch_id, assignments)
            raise RunIncomplete(
                "all {count:,} requests of the batch {batch} failed, the last one with {error}; correct that,"
                " or omit --batch",
                count=len(errors),
                batch=status.id,
                error=errors[-1],
            )
        if to_repeat := [error for error in errors if not is_final(error)]:
            self.warnings.append(
                Message(
                    "{count:,} of {requests:,} requests of the batch {batch} failed, the last one with"
                    " {error}; their pairs are judged in realtime",
                    count=len(to_repeat),
                    requests=len(replies),
                    batch=status.id,
                    error=to_repeat[-1],
                )
            )
        self._table.ended.add(batch_id)
        return replies

    def _check_end(self, status: BatchStatus, replies: int, requests: int) -> bool:
        """Return whether a batch may be submitted after this one.

        Raises RunIncomplete when the user must decide whether the requests that are left are submitted again.
        """
        # A process that was killed may have stored the replies of this batch already.
        if replies == requests or (status.status == "expired" and (replies or status.completed)):
            return True
        is_full = status.status == "failed" and says_queue_is_full(status.error)
        if is_full and self._shrink_batches(requests):
            return False
        raise RunIncomplete(
            "the batch {batch} ended as {status!r} with {missing:,} of {requests:,} requests not"
            " processed{reason}; run the same command again to submit these again, or without --batch to"
            " judge them in realtime",
            batch=status.id,
            status=status.status,
            missing=requests - replies,
            requests=requests,
            reason=Message(": {error}", error=status.error) if status.error else "",
        )

    def _shrink_batches(self, requests: int) -> bool:
        """Make further batches half as large as one of `requests`; return whether they are large enough."""
        size = min(requests, self._max_requests)
        self._max_requests = size // 2
        return size >= _MIN_REQUESTS
