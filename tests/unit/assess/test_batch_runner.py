"""Batches are split at the limits of the provider, and polled at growing intervals."""

import asyncio
import json
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import IO

import pytest

from judge.assess.assessor import Assessor
from judge.assess.judging import JudgingResult, PanelMember, judge_with_panel
from judge.assess.prompts import find_default_directory, load_prompts
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.progress import ProgressListener
from judge.client.retry import RequestLimits
from judge.dataset.pool import build_pool
from judge.errors import AccountError, Interrupted, RetryableError, iterate_causes
from judge.messages import CHINESE
from judge.models.batch_api import BatchApi, BatchLine, BatchStatus, BatchTerms
from judge.models.error_mapping import ErrorResponse, classify
from judge.models.lexical import LexicalModel
from judge.models.negotiation import RequestParams
from judge.records import GRADED, Completion, Prompt
from judge.store.store import VerdictStore
from tests.support import virtual_time
from tests.support.cases import check_each
from tests.support.datasets import read_dataset
from tests.support.factories import make_rows

POOL = build_pool(read_dataset(make_rows(25, 2, 5), lang="auto", max_chars=4000), 10)
assert len(POOL.pairs) == 250
LIMITS = RequestLimits(concurrency=8, attempts=2, max_wait=600, shutdown_timeout=1)


class MemoryBatchApi:
    """A Batch API in this process: a line of a request is its key and spaces, up to 100 bytes.

    Batch N has the status `end_status[N]`, else completed, after more than `polls` requests for it. The files
    of a batch are pages without lines for `pages` requests, then cut behind as many lines as `cuts` has for
    each; those of the batch `deleted` do not exist. Their ids are there after `late` requests for the batch.
    """

    def __init__(self, terms: BatchTerms, polls: int = 0, end_status: dict[int, str] | None = None) -> None:
        self.terms = terms
        self.params = RequestParams({"max_tokens": 64}, "text")
        self.batches: list[list[str]] = []
        self.poll_times: list[float] = []
        self._polls, self._end_status = polls, end_status or {}
        self._polls_by_batch = Counter[str]()
        self._files: list[list[str]] = []
        self.pages = 0.0
        self.cuts: list[int] = []
        self.late = 0
        self.deleted = ""

    def make_line(self, custom_id: str, prompt: Prompt, params: RequestParams) -> bytes:
        return custom_id.encode().ljust(99) + b"\n"

    def read_reply(self, line: BatchLine, prompt: Prompt, params: RequestParams) -> Completion:
        return Completion('{"reason": "r", "grade": 1}', "m", "stop", {})

    async def upload(self, name: str, lines: IO[bytes]) -> str:
        content = lines.read()
        assert len(content) <= self.terms.file_bytes
        self._files.append(content.decode().split())
        return str(len(self._files) - 1)

    async def create(self, name: str, file_id: str) -> BatchStatus:
        self.batches.append(self._files[int(file_id)])
        return BatchStatus(str(len(self.batches)), "validating")

    async def find(self, file_id: str, since: datetime) -> BatchStatus | None:
        raise AssertionError("every creation was answered")

    async def retrieve(self, batch_id: str) -> BatchStatus:
        self.poll_times.append(asyncio.get_running_loop().time())
        self._polls_by_batch[batch_id] += 1
        if self._polls_by_batch[batch_id] <= self._polls:
            return BatchStatus(batch_id, "in_progress", 3, len(self.batches[int(batch_id) - 1]))
        status = self._end_status.get(int(batch_id), "completed")
        files = ("replies",) if self._polls_by_batch[batch_id] > self._polls + self.late else ()
        error = "token_limit_exceeded" if status == "failed" else ""
        return BatchStatus(batch_id, status, files=files, error=error)

    async def read_lines(self, status: BatchStatus) -> AsyncIterator[BatchLine]:
        if status.id == self.deleted:
            raise AccountError("not_found", "HTTP 404: no such file")
        if self.pages > 0:
            self.pages -= 1
            return
        keys = self.batches[int(status.id) - 1] if status.status == "completed" and status.files else []
        for key in keys[: self.cuts.pop(0) if self.cuts else None]:
            yield BatchLine(key, 200, {})

    async def aclose(self) -> None:
        pass


class StatusRecorder(ProgressListener):
    """A progress that records the statuses of the run."""

    def __init__(self) -> None:
        self.statuses: list[str] = []

    def set_status(self, status: str) -> None:
        if status and self.statuses[-1:] != [status]:
            self.statuses.append(status)


class BatchedModel(LexicalModel):
    """A model of a server that has a Batch API."""

    is_local = False


async def judge(
    api: BatchApi,
    path: Path,
    progress: StatusRecorder | None = None,
    spend_limit: SpendLimit | None = None,
    token: CancelToken | None = None,
    limits: RequestLimits = LIMITS,
) -> JudgingResult:
    assessor = Assessor(BatchedModel(), load_prompts(find_default_directory(), GRADED), GRADED)
    client = ModelClient(assessor.model, limits, token or CancelToken(), spend_limit)
    with VerdictStore(path) as store:
        [result] = await judge_with_panel(
            POOL.pairs, [PanelMember(assessor, client, api)], store, 1, progress or ProgressListener()
        )
    return result


@pytest.mark.parametrize(
    ("terms", "sizes"),
    [
        (BatchTerms(100, 10**6, 10**6), [100, 100, 49]),
        (BatchTerms(1000, 6_050, 10**6), [60, 60, 60, 60, 9]),
        (BatchTerms(1000, 10**6, 99), []),
    ],
)
def test_batches_are_split_at_the_limits(terms: BatchTerms, sizes: list[int], tmp_path: Path) -> None:
    api = MemoryBatchApi(terms)
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert [len(batch) for batch in api.batches] == sizes
    assert len({key for batch in api.batches for key in batch}) == sum(sizes)
    # A pair that fits into no batch is judged in realtime.
    assert len(result.judgments) == 250
    assert result.stopped is None
    assert all(judgment.grade is not None for judgment in result.judgments)


def test_smaller_batches_are_submitted_when_the_queue_is_full(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6), end_status={1: "failed"})
    spend_limit = SpendLimit()
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", spend_limit=spend_limit))
    assert [len(batch) for batch in api.batches] == [249, 124, 124, 1]
    assert result.stopped is None
    # The batch that failed had no calls.
    assert spend_limit.calls == 250


def test_a_queue_that_is_too_full_for_a_small_batch_stops_the_run(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6), end_status=dict.fromkeys(range(9), "failed"))
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert result.stopped is not None
    assert "token_limit_exceeded" in str(result.stopped)
    assert "未处理：token_limit_exceeded" in CHINESE(result.stopped.message)
    assert [len(batch) for batch in api.batches][:2] == [249, 124]
    assert len(result.judgments) == 1


class FullQueue(MemoryBatchApi):
    """A Batch API that refuses a batch with which more than `most` requests would wait."""

    def __init__(self, terms: BatchTerms, most: int, status: int = 429) -> None:
        super().__init__(terms, polls=2)
        self.most = most
        self._status = status
        self.refused: list[int] = []

    async def create(self, name: str, file_id: str) -> BatchStatus:
        waiting = sum(
            len(batch)
            for number, batch in enumerate(self.batches, 1)
            if self._polls_by_batch[str(number)] <= self._polls
        )
        if waiting + (size := len(self._files[int(file_id)])) > self.most:
            self.refused.append(size)
            raise classify(
                ErrorResponse(self._status, "token_limit_exceeded", "Enqueued token limit reached")
            )
        return await super().create(name, file_id)


@check_each(
    ("largest", "status", "refused", "created"),
    [
        # Half as many fit; the next ones are refused until the first batch has ended.
        (1000, 429, [249, 124], [124, 124, 1]),
        (1000, 400, [249, 124], [124, 124, 1]),
        (120, 429, [120], [120, 120, 9]),
    ],
)
def test_a_batch_that_finds_the_queue_full_is_smaller_or_waits(
    largest: int, status: int, refused: list[int], created: list[int], tmp_path: Path
) -> None:
    api, spend_limit = FullQueue(BatchTerms(largest, 10**6, 10**6), 130, status), SpendLimit()
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", spend_limit=spend_limit))
    assert result.stopped is None
    assert (api.refused, [len(batch) for batch in api.batches]) == (refused, created)
    assert spend_limit.calls == 250


def test_a_queue_without_room_stops_the_run_and_no_pair_is_in_a_batch(tmp_path: Path) -> None:
    api = FullQueue(BatchTerms(1000, 10**6, 10**6), 10)
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert result.stopped is not None
    assert "Enqueued token limit reached); run the same command again when other" in str(result.stopped)
    assert (api.refused, api.batches, result.in_batches) == ([249, 124, 62], [], 0)


def test_pairs_whose_batch_is_not_created_are_in_no_batch(tmp_path: Path) -> None:
    class BusyServer(MemoryBatchApi):
        async def create(self, name: str, file_id: str) -> BatchStatus:
            token.cancel(Interrupted("SIGINT"))
            raise RetryableError("rate_limit", "HTTP 429: slow down")

    token = CancelToken()
    api = BusyServer(BatchTerms(1000, 10**6, 10**6))
    with pytest.raises(Interrupted, match=r"1 of 250 judged$"):
        virtual_time.run(judge(api, tmp_path / "v.sqlite", token=token))


@check_each(
    ("grades", "is_conflict"),
    [((2, 2), False), ((2, 3), True), ((2, 3, 2), True), ((2, None), False), ((None, 2), False)],
)
def test_a_pair_with_different_replies_in_a_batch_is_judged_in_realtime(
    grades: tuple[int | None, ...], is_conflict: bool, tmp_path: Path
) -> None:
    class RepeatedLines(MemoryBatchApi):
        async def read_lines(self, status: BatchStatus) -> AsyncIterator[BatchLine]:
            first, *others = self.batches[int(status.id) - 1]
            for grade in grades:
                yield BatchLine(first, 500 if grade is None else 200, {"grade": grade})
            for key in others:
                yield BatchLine(key, 200, {"grade": 1})

        def read_reply(self, line: BatchLine, prompt: Prompt, params: RequestParams) -> Completion:
            if line.status != 200:
                raise RetryableError("server_error", "HTTP 500")
            return Completion(json.dumps({"reason": "r", **line.body}), "m", "stop", {})

    api, spend_limit = RepeatedLines(BatchTerms(1000, 10**6, 10**6)), SpendLimit()
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", spend_limit=spend_limit))
    assert [judgment.grade for judgment in result.judgments].count(1) >= 248
    assert spend_limit.calls == (251 if is_conflict else 250)
    warned = any("hold different replies to a request" in str(warning) for warning in result.warnings)
    assert warned == is_conflict


class BrokenUploads(MemoryBatchApi):
    """A Batch API that fails for the first `failures` uploads."""

    failures = 0

    async def upload(self, name: str, lines: IO[bytes]) -> str:
        self.failures -= 1
        if self.failures >= 0:
            raise RetryableError("server_error", "HTTP 500")
        return await super().upload(name, lines)


def test_a_failed_upload_is_shown_with_its_cause_and_tried_again(tmp_path: Path) -> None:
    api = BrokenUploads(BatchTerms(1000, 10**6, 10**6))
    api.failures = 6
    progress = StatusRecorder()
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", progress))
    assert result.stopped is None
    assert "a request about a batch failed (server_error: HTTP 500); trying again" in progress.statuses
    assert [len(batch) for batch in api.batches] == [249]


def test_an_error_of_the_account_is_not_its_own_cause(tmp_path: Path) -> None:
    class RefusingBatchApi(MemoryBatchApi):
        async def create(self, name: str, file_id: str) -> BatchStatus:
            raise AccountError("auth", "HTTP 401: wrong key")

    result = virtual_time.run(judge(RefusingBatchApi(BatchTerms(1000, 10**6, 10**6)), tmp_path / "v.sqlite"))
    assert isinstance(result.stopped, AccountError)
    assert list(iterate_causes(result.stopped)) == [result.stopped]


def test_uploads_that_fail_for_max_wait_stop_the_run_without_a_batch(tmp_path: Path) -> None:
    api = BrokenUploads(BatchTerms(1000, 10**6, 10**6))
    api.failures = 10**6
    spend_limit = SpendLimit()
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", spend_limit=spend_limit))
    assert "no request about a batch" in str(result.stopped)
    assert spend_limit.calls == 1
    with closing(sqlite3.connect(tmp_path / "v.sqlite")) as store:
        assert store.execute("SELECT count(*) FROM batch_requests").fetchone() == (0,)


def test_a_request_that_is_throttled_around_the_end_of_max_wait_stops_the_run(tmp_path: Path) -> None:
    """The clock of the loop is before the end of max_wait, and that of the retries is after it."""

    class SlowServer(MemoryBatchApi):
        async def upload(self, name: str, lines: IO[bytes]) -> str:
            time.sleep(0.01)  # noqa: ASYNC251 - the clock of the retries is the real one
            raise RetryableError("rate_limit", "HTTP 429: slow down")

    limits = replace(LIMITS, max_wait=0.001)
    api = SlowServer(BatchTerms(1000, 10**6, 10**6))
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite", limits=limits))
    assert "no request about a batch" in str(result.stopped)


def test_a_batch_is_polled_at_growing_intervals_and_its_progress_is_shown(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(200, 10**6, 10**6), polls=40)
    progress = StatusRecorder()
    virtual_time.run(judge(api, tmp_path / "v.sqlite", progress))
    times = sorted(set(api.poll_times))
    intervals = [round(after - before, 3) for before, after in pairwise(times)]
    assert intervals[:4] == [1, 1.5, 2.25, 3.375]
    assert max(intervals) == intervals[-1] == 60
    assert len(api.poll_times) == 2 * 41
    assert "batch 1 of 2: 3 of 200 done" in progress.statuses


def test_a_page_instead_of_the_replies_is_read_again(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6))
    api.pages = 3
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert result.stopped is None
    assert [len(batch) for batch in api.batches] == [249]
    assert result.cost.maybe_billed == 0


def test_a_file_that_arrives_cut_is_read_again(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6))
    api.cuts = [100, 200]
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert (result.stopped, result.cost.calls, result.cost.maybe_billed) == (None, 250, 0)


def test_requests_that_no_reading_finds_are_judged_in_realtime(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6))
    api.cuts = [100, 200, 200]
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert (result.stopped, result.cost.calls, result.cost.maybe_billed) == (None, 250 + 49, 49)


@pytest.mark.parametrize("terms", [BatchTerms(1000, 10**6, 10**6), BatchTerms(5, 10**6, 10**6)])
def test_a_batch_that_ends_before_its_files_have_ids_is_retrieved_again(
    terms: BatchTerms, tmp_path: Path
) -> None:
    api = MemoryBatchApi(terms)
    api.late = 3
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert (result.stopped, result.cost.calls, result.cost.maybe_billed) == (None, 250, 0)


def test_a_small_batch_that_never_names_a_file_is_judged_in_realtime(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(5, 10**6, 10**6))
    api.late = 10**6
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert (result.stopped, result.graded) == (None, 250)


def test_replies_that_cannot_be_read_stay_in_their_batch(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6))
    api.pages = float("inf")
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert "last error: transport: the files of the batch hold no reply" in str(result.stopped)
    api.pages = 0
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert result.stopped is None
    assert [len(batch) for batch in api.batches] == [249]


def test_a_batch_without_files_counts_as_lost_after_thirty_days(tmp_path: Path) -> None:
    api = MemoryBatchApi(BatchTerms(1000, 10**6, 10**6))
    api.deleted = "1"
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert "30 days after its submission it counts as lost" in str(result.stopped)
    with closing(sqlite3.connect(tmp_path / "v.sqlite")) as store, store:
        store.execute("UPDATE batches SET changed_at = '2026-01-01T00:00:00+00:00'")
    result = virtual_time.run(judge(api, tmp_path / "v.sqlite"))
    assert result.stopped is None
    assert [len(batch) for batch in api.batches] == [249, 249]
