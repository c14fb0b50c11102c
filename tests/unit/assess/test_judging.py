"""Judging a pool while another process has leases for some pairs, and the warnings of a damaged store."""

import asyncio
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import AssignmentPlan, list_request_keys
from judge.assess.judging import JudgingResult, PanelMember, judge_pairs, make_lease_window
from judge.assess.pair_runner import ConsecutiveFailures
from judge.assess.prompts import find_default_directory, load_prompts
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.progress import ProgressListener
from judge.client.retry import RequestLimits
from judge.dataset.pool import build_pool
from judge.errors import RequestRejected, RetryableError, StoreError, TimedOut
from judge.models.lexical import LexicalModel
from judge.records import GRADED, Call, Completion, Judgment, Pool, Prompt
from judge.store.leases import Busy, Lease
from judge.store.store import Failure, VerdictOrFailure, VerdictStore
from tests.support import virtual_time
from tests.support.cases import check_each
from tests.support.datasets import read_dataset
from tests.support.factories import make_rows
from tests.support.stores import run_with_two_stores

ROOT = Path(__file__).parents[3]
POOL = build_pool(read_dataset(make_rows(10, 1, 3), lang="auto", max_chars=4000), 10)


def make_assessor(name: str = "lexical") -> Assessor:
    model = LexicalModel()
    model.name = name
    return Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)


KEYS = list_request_keys(POOL.pairs, make_assessor(), 1)
LEASED = 20


class JudgmentCounter(ProgressListener):
    """A progress with an event for the moment when all pairs without a foreign lease are judged."""

    def __init__(self) -> None:
        self.are_others_judged = asyncio.Event()
        self._count = 0

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        self._count += 1
        if self._count == len(KEYS) - LEASED:
            self.are_others_judged.set()


async def judge_pool(
    pool: Pool,
    assessor: Assessor,
    store: VerdictStore,
    client: ModelClient,
    progress: ProgressListener,
) -> JudgingResult:
    plan = AssignmentPlan(pool.pairs, assessor, 1)
    return await judge_pairs(plan, PanelMember(assessor, client), make_lease_window(store, client), progress)


async def judge_test_pool(
    store: VerdictStore, counter: JudgmentCounter, max_wait: float = 600, name: str = "lexical"
) -> JudgingResult:
    assessor = make_assessor(name)
    client = ModelClient(assessor.model, RequestLimits(4, 3, max_wait, 1), CancelToken())
    return await judge_pool(POOL, assessor, store, client, counter)


async def lease_first_keys(store: VerdictStore) -> None:
    """Lease the first pairs, more than the number of calls at once."""
    for key in KEYS[:LEASED]:
        assert await store.acquire([key]) == [Lease(key)]


def test_pairs_of_another_process_do_not_delay_the_others(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> JudgingResult:
        await lease_first_keys(other)
        counter = JudgmentCounter()
        task = asyncio.create_task(judge_test_pool(store, counter))
        await asyncio.wait_for(counter.are_others_judged.wait(), 60)
        assert not task.done()
        for key in KEYS[:LEASED]:
            await other.release(Lease(key))
        return await task

    result = run_with_two_stores(tmp_path, check)
    assert result.stopped is None
    assert result.cost.calls == len(KEYS) == 30
    assert all(each.grade is not None for each in result.judgments)


def test_the_wait_for_another_process_ends_after_max_wait(tmp_path: Path) -> None:
    async def check(store: VerdictStore, other: VerdictStore) -> JudgingResult:
        await lease_first_keys(other)
        return await judge_test_pool(store, JudgmentCounter(), max_wait=0.5)

    result = run_with_two_stores(tmp_path, check)
    assert "leased by another process, which made no progress for 0.5 s" in str(result.stopped)
    assert len(result.judgments) == len(KEYS) - LEASED


class ConstantModel:
    """A model that returns the same completion for every prompt, or refuses, and counts the calls."""

    name, endpoint, is_local = "openai:m", "", False
    params: Mapping[str, Any] = MappingProxyType({"max_tokens": 512})

    def __init__(self, text: str, refusal: str = "", **more: Any) -> None:
        self.calls = 0
        self._refusal = refusal
        self._completion = Completion(text, "m", more.pop("finish_reason", "stop"), self.params, **more)

    async def complete(self, _: Prompt) -> Completion:
        self.calls += 1
        await asyncio.sleep(0.001)
        if self._refusal:
            raise RequestRejected("refusal", self._refusal)
        return self._completion

    async def aclose(self) -> None:
        pass


MANY = build_pool(read_dataset(make_rows(20, 1, 10), lang="auto", max_chars=4000), 10)


@check_each(
    ("model", "max_calls", "words"),
    [
        (
            ConstantModel("helpful, \x1b[1m sk-canary-5b1d9f"),
            80,
            r"'helpful, \x1b[1m ***'; use another",
        ),
        (ConstantModel('{"reason": "it', finish_reason="length"), 80, "raise --max-tokens (now 512)"),
        (
            ConstantModel('{"reason": "it', finish_reason="other"),
            80,
            "'{\"reason\": \"it'; the server ended the answer as 'other', and it holds no complete verdict:"
            " use another model",
        ),
        (ConstantModel("yes"), 80, "'yes'; use another model; this one does not follow the format"),
        (ConstantModel("", refusal="I cannot"), 80, "(refusal): 'I cannot'; use another model"),
        (ConstantModel("", has_thinking=True), 32, "5 requests in a row to openai:m have no answer"),
        (
            ConstantModel("<think>let me", finish_reason="length"),
            32,
            "add --thinking, which raises --max-tokens",
        ),
    ],
)
def test_replies_without_a_grade_end_the_run_early_with_the_option_that_helps(
    model: ConstantModel, max_calls: int, words: str, tmp_path: Path
) -> None:
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
    client = ModelClient(model, RequestLimits(64, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        result = asyncio.run(judge_pool(MANY, assessor, store, client, ProgressListener()))
    assert words in str(result.stopped)
    assert model.calls == result.cost.calls <= max_calls


class PartlyFailingModel(ConstantModel):
    """A model whose server fails for every snippet of the best rank, for ever."""

    async def complete(self, prompt: Prompt) -> Completion:
        completion = await super().complete(prompt)
        if ".1 grade" in prompt.user:
            raise RetryableError("server_error", "oops")
        return completion


def test_pairs_for_which_the_server_fails_alone_do_not_stop_the_others(tmp_path: Path) -> None:
    model = PartlyFailingModel('{"reason": "it answers", "grade": 2}')
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
    client = ModelClient(model, RequestLimits(64, 5, 600, 1), CancelToken())
    pool = build_pool(read_dataset(make_rows(40, 1, 10), lang="auto", max_chars=4000), 10)
    with VerdictStore(tmp_path / "v.sqlite") as store:
        result = virtual_time.run(judge_pool(pool, assessor, store, client, ProgressListener()))
    assert result.stopped is None
    assert [judgment.grade for judgment in result.judgments].count(None) == 40
    assert result.cost.calls == 360 + 5 * 40


def test_refused_pairs_of_a_first_query_are_not_counted_with_errors_of_the_server() -> None:
    client = ModelClient(ConstantModel(""), RequestLimits(64, 3, 600, 1), CancelToken())
    failures = ConsecutiveFailures(client)
    refused, failed = Failure("bad_request", "no"), Failure("server_error", "down")
    one_query = [*[refused] * 40, *[failed] * 29]
    assert [failures.count(failure, "q1", number) for number, failure in enumerate(one_query)] == [None] * 69
    # Where the address of the server is unknown, the name of the model stands for it.
    reason = str(failures.count(failed, "q1", 69))
    assert "30 requests in a row failed with 'server_error' at 'openai:m', the last one: down" in reason
    assert failures.count(refused, "q2", 70) is None
    assert "42 requests in a row failed with 'bad_request'" in str(failures.count(refused, "q3", 71))
    failures.reset()
    alone = [failures.count(failed, "q3", number, fails_alone=True) for number in range(100, 140)]
    assert alone == [None] * 40
    assert failures.count(refused, "q4", 72) is failures.count(failed, "q4", 73) is None


@check_each(
    ("failure", "length"),
    [(Failure("malformed", "no JSON"), 30), (Failure("truncated", "no answer", thinking=True), 5)],
)
def test_pairs_are_in_a_row_in_the_order_in_which_they_start(failure: Failure, length: int) -> None:
    failures = ConsecutiveFailures(
        ModelClient(ConstantModel(""), RequestLimits(64, 3, 600, 1), CancelToken())
    )
    every_second = [failures.count(failure, "q", number) for number in range(0, 200, 2)]
    assert every_second == [None] * 100  # the pairs between them have a verdict
    row = [*range(300 + length - 1, 300, -1), 300]  # none of them ends in its turn
    assert [failures.count(failure, "q", number) is None for number in row] == [True] * (length - 1) + [False]


def test_a_reply_that_was_cut_off_names_the_option_in_its_detail(tmp_path: Path) -> None:
    model = ConstantModel('{"reason": "it', finish_reason="length")
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
    client = ModelClient(model, RequestLimits(4, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        result = asyncio.run(judge_pool(POOL, assessor, store, client, ProgressListener()))
    assert all("raise --max-tokens (now 512)" in each.detail for each in result.judgments)


def test_planned_requests_take_little_memory_whatever_their_length() -> None:
    rows = [{**row, "snippet": f"{row['snippet']} {'long' * 750}"} for row in make_rows(10, 1, 10)]
    large, assessor = build_pool(read_dataset(rows, lang="auto", max_chars=4000), 10), make_assessor()
    tracemalloc.start()
    try:
        plan = AssignmentPlan(large.pairs, assessor, 2)
        bytes_in_use, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(plan) == 200
    assert bytes_in_use < 200 * 100


def test_questions_with_one_key_are_one_request_at_any_place() -> None:
    rows = make_rows(3, 1, 2)
    twice = [*rows, *({**row, "query_id": f"other {row['query_id']}"} for row in rows)]
    pool = build_pool(read_dataset(twice, lang="auto", max_chars=4000), 10)
    plan = AssignmentPlan(pool.pairs, make_assessor(), 2)
    requests = list(plan.read_requests(plan.find_missing()))
    places = [[assignment.index for assignment in request.assignments] for request in requests]
    # Six pairs, and the same six under other ids; those of the second repeat have other keys.
    assert places == [[place, place + 6] for place in (*range(6), *range(12, 18))]
    for request in requests:
        assert len({assignment.key for assignment in request.assignments}) == 1
    assert len(list_request_keys(pool.pairs, make_assessor(), 2)) == 12


def test_every_assessor_warns_of_its_own_damaged_verdicts(tmp_path: Path) -> None:
    async def judge_twice(store: VerdictStore) -> list[tuple[str, ...]]:
        return [(await judge_test_pool(store, JudgmentCounter(), name=name)).warnings for name in ("a", "b")]

    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        assert asyncio.run(judge_twice(store)) == [(), ()]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE verdicts SET grade = grade + 1 WHERE model = 'a'")
    with VerdictStore(path) as store:
        first, second = asyncio.run(judge_twice(store))
    assert "30 verdicts no longer match" in first[0]
    assert second == ()


def test_a_defect_ends_the_run_after_the_calls_in_flight_which_are_paid_for(tmp_path: Path) -> None:
    class DefectiveModel(ConstantModel):
        async def complete(self, prompt: Prompt) -> Completion:
            number = self.calls
            completion = await super().complete(prompt)
            if number == 12:
                raise AttributeError("nothing expects this")
            await asyncio.sleep(0.05)  # so the others are in flight then
            return completion

    model = DefectiveModel('{"reason": "r", "grade": 2}')
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)

    async def judge_at_once(store: VerdictStore) -> JudgingResult:
        client = ModelClient(model, RequestLimits(LEASED, 3, 600, 1), CancelToken())
        client.limiter.skip_probes()
        return await judge_pool(POOL, assessor, store, client, ProgressListener())

    with VerdictStore(tmp_path / "v.sqlite") as store:
        with pytest.raises(AttributeError, match="nothing expects this"):
            asyncio.run(judge_at_once(store))
        calls = list(store.read_calls(list_request_keys(POOL.pairs, assessor, 1)))
        stored = store.find_verdicts(list_request_keys(POOL.pairs, assessor, 1))
    assert len(stored) == model.calls - 1 >= 12
    assert [call.outcome for call in calls].count("answered") == len(stored)


SIX = build_pool(read_dataset(make_rows(2, 1, 3), lang="auto", max_chars=4000), 10)


def count_leases(path: Path) -> int:
    """Return the number of leases in the store at `path`, as another process sees it."""
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM claims").fetchone()
    return int(count)


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_leases_are_taken_ahead_and_never_more_than_twice_the_concurrency(
    concurrency: int, tmp_path: Path
) -> None:
    """The third and the fourth request fail, so that their pairs wait for a retry."""
    leases: list[int] = []

    class FailingModel(ConstantModel):
        async def complete(self, prompt: Prompt) -> Completion:
            leases.append(count_leases(tmp_path / "v.sqlite"))
            if len(leases) in (3, 4):
                raise RetryableError("server_error", "down")
            return await super().complete(prompt)

    model = FailingModel('{"reason": "r", "grade": 1}')
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
    client = ModelClient(model, RequestLimits(concurrency, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        result = asyncio.run(judge_pool(POOL, assessor, store, client, ProgressListener()))
    assert [judgment.grade for judgment in result.judgments] == [1] * len(POOL.pairs)
    assert concurrency < max(leases) <= 2 * concurrency
    assert count_leases(tmp_path / "v.sqlite") == 0


def test_the_listener_is_ended_when_the_store_cannot_be_read(tmp_path: Path) -> None:
    class UnreadableStore(VerdictStore):
        def read_calls(self, keys: Iterable[str]) -> Iterator[Call]:
            raise StoreError("a row is damaged")

    class EventRecorder(ProgressListener):
        def __init__(self) -> None:
            self.events: list[str] = []

        def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
            self.events.append("begin")

        def end(self) -> None:
            self.events.append("end")

    assessor, progress = make_assessor(), EventRecorder()
    client = ModelClient(assessor.model, RequestLimits(2, 3, 600, 1), CancelToken())
    with UnreadableStore(tmp_path / "v.sqlite") as store, pytest.raises(StoreError):
        asyncio.run(judge_pool(SIX, assessor, store, client, progress))
    assert progress.events == ["begin", "end"]


def test_no_permit_is_held_while_a_lease_is_awaited(tmp_path: Path) -> None:
    class BlockingStore(VerdictStore):
        """A store that leases its first batch at once, and the others after an event."""

        commits = 0

        async def acquire(self, keys: Sequence[str]) -> list[VerdictOrFailure | Lease | Busy]:
            self.commits += 1
            if self.commits > 1:
                await released.wait()
            return await super().acquire(keys)

    class ProgressCounter(ProgressListener):
        judged = 0

        def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
            self.judged += 1
            if self.judged == 4:
                are_four_judged.set()

    async def check(store: BlockingStore) -> JudgingResult:
        assessor = make_assessor()
        client = ModelClient(assessor.model, RequestLimits(2, 3, 600, 1), CancelToken())
        task = asyncio.create_task(judge_pool(SIX, assessor, store, client, ProgressCounter()))
        await are_four_judged.wait()
        assert store.commits == 2
        assert client.limiter.in_flight == 0
        released.set()
        return await task

    released, are_four_judged = asyncio.Event(), asyncio.Event()
    with BlockingStore(tmp_path / "v.sqlite") as store:
        result = asyncio.run(check(store))
    assert len(result.judgments) == 6


def test_a_kill_leaves_at_most_twice_as_many_leases_as_requests_in_flight(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from judge.store.store import VerdictStore
        from tests.unit.assess import test_judging
        class Hanging(test_judging.ConstantModel):
            async def complete(self, prompt):
                print("sent", flush=True)
                await asyncio.sleep(3600)
        model = Hanging("")
        prompts = test_judging.load_prompts(test_judging.find_default_directory(), test_judging.GRADED)
        assessor = test_judging.Assessor(model, prompts, test_judging.GRADED)
        limits = test_judging.RequestLimits(4, 3, 600, 1)
        client = test_judging.ModelClient(model, limits, test_judging.CancelToken())
        with VerdictStore(Path(sys.argv[1])) as store:
            progress = test_judging.ProgressListener()
            asyncio.run(test_judging.judge_pool(test_judging.MANY, assessor, store, client, progress))
    """)
    path = tmp_path / "v.sqlite"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for _ in range(4):
            assert process.stdout.readline() == "sent\n"
        process.kill()
    leases = count_leases(path)
    assert 4 <= leases <= 8
    with VerdictStore(path) as store:
        assessor = Assessor(ConstantModel(""), load_prompts(find_default_directory(), GRADED), GRADED)
        keys = list_request_keys(MANY.pairs, assessor, 1)
        results = asyncio.run(store.acquire(keys))
        assert all(isinstance(result, Lease) for result in results)
        assert list(store.read_calls(keys)) == [Call("lost", maybe_billed=True)] * leases


class BarrierModel(LexicalModel):
    """A model that answers after this many requests were in flight at the same time."""

    endpoint, is_local = "http://127.0.0.1:9/v1", False

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._are_enough = asyncio.Event()

    async def complete(self, prompt: Prompt) -> Completion:
        self._count -= 1
        if self._count <= 0:
            self._are_enough.set()
        await asyncio.wait_for(self._are_enough.wait(), 60)
        return await super().complete(prompt)


def test_a_server_that_gave_verdicts_is_not_probed_in_the_next_run(tmp_path: Path) -> None:
    async def judge_together(count: int, rows: int) -> int:
        assessor = Assessor(BarrierModel(count), load_prompts(find_default_directory(), GRADED), GRADED)
        client = ModelClient(assessor.model, RequestLimits(16, 3, 600, 1), CancelToken())
        pool = build_pool(read_dataset(make_rows(rows, 1, 1), lang="auto", max_chars=4000), 10)
        with VerdictStore(tmp_path / "v.sqlite") as store:
            return len((await judge_pool(pool, assessor, store, client, ProgressListener())).judgments)

    assert asyncio.run(judge_together(1, 1)) == 1
    assert asyncio.run(judge_together(16, 40)) == 40


class QueueingModel(LexicalModel):
    """A model that works on one request for 3 seconds, and lets others wait; a request times out after 60."""

    endpoint, is_local = "http://127.0.0.1:9/v1", False

    def __init__(self) -> None:
        super().__init__()
        self.timeouts = 0
        self._slot = asyncio.Semaphore(1)

    async def complete(self, prompt: Prompt) -> Completion:
        try:
            async with asyncio.timeout(60), self._slot:
                await asyncio.sleep(3)
        except TimeoutError:
            self.timeouts += 1
            raise TimedOut("no answer within 60 s") from None
        return await super().complete(prompt)


def test_the_next_run_begins_with_the_concurrency_that_a_server_answers_in_time(tmp_path: Path) -> None:
    async def judge(first: int) -> tuple[int, tuple[str, ...]]:
        model = QueueingModel()
        assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
        client = ModelClient(model, RequestLimits(64, 5, 600, 1), CancelToken())
        rows = make_rows(first + 8, 1, 10)[10 * first :]
        pool = build_pool(read_dataset(rows, lang="auto", max_chars=4000), 10)
        with VerdictStore(tmp_path / "v.sqlite") as store:
            result = await judge_pool(pool, assessor, store, client, ProgressListener())
        assert result.graded == 80
        return model.timeouts, result.warnings

    timeouts, (warning,) = virtual_time.run(judge(0))
    assert timeouts > 40
    assert "run with --concurrency" in warning
    assert virtual_time.run(judge(8)) == (0, ())
