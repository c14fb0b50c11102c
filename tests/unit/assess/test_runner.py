"""Judging a pool beside another process that pays for some of it, and the warnings of a damaged store."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from judge.assess.assessor import Assessor
from judge.assess.progress import NullProgress, ProgressListener
from judge.assess.prompts import default_directory, load_prompts
from judge.assess.question_plan import QuestionPlan, list_request_keys
from judge.assess.runner import JudgingResult, judge_pool, lease_window
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.retry import Limits
from judge.dataset.pool import build_pool
from judge.errors import RetryableError
from judge.models.lexical import Lexical
from judge.records import GRADED, Call, Completion, Judgment, Pool, Prompt
from judge.store.leases import Busy, Lease
from judge.store.store import StoredVerdict, VerdictStore
from tests.support.cases import check_each
from tests.support.datasets import read_dataset
from tests.support.factories import numbered

ROOT = Path(__file__).parents[3]
POOL = build_pool(read_dataset(numbered(10, 1, 3), lang="auto", max_chars=4000), 10)


def assessor(name: str = "lexical") -> Assessor:
    model = Lexical()
    model.name = name
    return Assessor(model, load_prompts(default_directory(), GRADED), GRADED)


KEYS = list_request_keys(POOL, assessor(), 1)
LEASED = 20


class Counting(NullProgress):
    """A listener that learns when all pairs are judged that no other process pays for."""

    def __init__(self) -> None:
        self.rest = asyncio.Event()
        self._count = 0

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        self._count += 1
        if self._count == len(KEYS) - LEASED:
            self.rest.set()


async def judge(
    pairs: Pool,
    asked_assessor: Assessor,
    store: VerdictStore,
    client: ModelClient,
    progress: ProgressListener,
) -> JudgingResult:
    return await judge_pool(pairs, asked_assessor, client, lease_window(store, client), 1, progress)


async def judged(
    store: VerdictStore, watch: Counting, max_wait: float = 600, name: str = "lexical"
) -> JudgingResult:
    asked_assessor = assessor(name)
    client = ModelClient(asked_assessor.model, Limits(4, 3, max_wait, 1), CancelToken())
    return await judge(POOL, asked_assessor, store, client, watch)


async def hold(store: VerdictStore) -> None:
    """Lease the first pairs, of which there are more than pairs that are asked about at once."""
    for key in KEYS[:LEASED]:
        assert await store.acquire([key]) == [Lease(key)]


def test_what_another_process_pays_for_keeps_nobody_from_the_rest(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> JudgingResult:
        await hold(other)
        watch = Counting()
        judging = asyncio.create_task(judged(store, watch))
        await asyncio.wait_for(watch.rest.wait(), 60)
        assert not judging.done()
        for key in KEYS[:LEASED]:
            await other.release(Lease(key))
        return await judging

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        judging = asyncio.run(scene(store, other))
    assert judging.stopped is None
    assert judging.calls_made == len(KEYS) == 30
    assert all(each.grade is not None for each in judging.judgments)


def test_a_process_that_never_comes_to_an_end_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def scene(store: VerdictStore, other: VerdictStore) -> JudgingResult:
        await hold(other)
        return await judged(store, Counting(), max_wait=0.5)

    with VerdictStore(tmp_path / "v.sqlite") as store, VerdictStore(tmp_path / "v.sqlite") as other:
        judging = asyncio.run(asyncio.wait_for(scene(store, other), 120))
    assert "leased by another process, which made no progress for 0.5 s" in str(judging.stopped)
    assert len(judging.judgments) == len(KEYS) - LEASED


class Replying:
    """A model that gives the same completion to every prompt, and counts the calls."""

    name, endpoint = "openai:m", ""
    params: Mapping[str, Any] = MappingProxyType({"max_tokens": 512})

    def __init__(self, text: str, **more: Any) -> None:
        self.calls = 0
        self._completion = Completion(text, "m", more.pop("finish_reason", "stop"), self.params, **more)

    async def complete(self, _: Prompt) -> Completion:
        self.calls += 1
        await asyncio.sleep(0.001)
        return self._completion

    async def aclose(self) -> None:
        pass


MANY = build_pool(read_dataset(numbered(20, 1, 10), lang="auto", max_chars=4000), 10)


@check_each(
    ("model", "most_calls", "words"),
    [
        (
            Replying("helpful, \x1b[1m sk-canary-5b1d9f"),
            80,
            r"'helpful, \x1b[1m ***'; use another",
        ),
        (Replying('{"reason": "it', finish_reason="length"), 80, "raise --max-tokens (now 512)"),
        (Replying("yes"), 80, "instead of a grade: add --scale binary"),
        (Replying("", reasoning=True), 24, "5 requests to openai:m in a row have no answer"),
        (Replying("<think>let me", finish_reason="length"), 24, "add --thinking, which raises --max-tokens"),
    ],
)
def test_replies_without_a_grade_end_the_run_early_with_the_option_that_helps(
    model: Replying, most_calls: int, words: str, tmp_path: Path
) -> None:
    asked_assessor = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    client = ModelClient(model, Limits(64, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        judging = asyncio.run(judge(MANY, asked_assessor, store, client, NullProgress()))
    assert words in str(judging.stopped)
    assert model.calls == judging.calls_made <= most_calls


def test_a_reply_that_was_cut_off_names_the_option_in_its_detail(tmp_path: Path) -> None:
    model = Replying('{"reason": "it', finish_reason="length")
    asked_assessor = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    client = ModelClient(model, Limits(4, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        judging = asyncio.run(judge(POOL, asked_assessor, store, client, NullProgress()))
    assert all("raise --max-tokens (now 512)" in each.detail for each in judging.judgments)


def test_what_is_still_to_be_asked_takes_little_memory_however_much_it_shows() -> None:
    rows = [{**row, "snippet": f"{row['snippet']} {'long ' * 600}"} for row in numbered(100, 1, 10)]
    large, asked_assessor = build_pool(read_dataset(rows, lang="auto", max_chars=4000), 10), assessor()
    tracemalloc.start()
    try:
        plan = QuestionPlan(large, asked_assessor, 2)
        content, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(plan) == 2000
    assert content < 2000 * 100


def test_questions_with_one_key_are_one_request_wherever_they_stand() -> None:
    rows = numbered(3, 1, 2)
    twice = [*rows, *({**row, "query_id": f"other {row['query_id']}"} for row in rows)]
    pool = build_pool(read_dataset(twice, lang="auto", max_chars=4000), 10)
    plan = QuestionPlan(pool, assessor(), 2)
    requests = list(plan.read_requests(plan.select_open()))
    places = [[place for place, _ in request] for request in requests]
    # Six pairs, and the same six under other ids; those of the second repeat have other keys.
    assert places == [[place, place + 6] for place in (*range(6), *range(12, 18))]
    for request in requests:
        assert len({question.key for _, question in request}) == 1
    assert len(list_request_keys(pool, assessor(), 2)) == 12


def test_every_assessor_warns_of_its_own_damaged_verdicts(tmp_path: Path) -> None:
    async def both(store: VerdictStore) -> list[tuple[str, ...]]:
        return [(await judged(store, Counting(), name=name)).warnings for name in ("a", "b")]

    path = tmp_path / "v.sqlite"
    with VerdictStore(path) as store:
        assert asyncio.run(both(store)) == [(), ()]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE verdicts SET grade = grade + 1 WHERE model = 'a'")
    with VerdictStore(path) as store:
        first, second = asyncio.run(both(store))
    assert "30 verdicts no longer match" in first[0]
    assert second == ()


SIX = build_pool(read_dataset(numbered(2, 1, 3), lang="auto", max_chars=4000), 10)


def count_leases(path: Path) -> int:
    """Return the number of leases in the store at `path`, as another process sees it."""
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM claims").fetchone()
    return int(count)


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_leases_are_taken_ahead_and_never_more_than_twice_the_concurrency(
    concurrency: int, tmp_path: Path
) -> None:
    """Also while pairs wait for a retry: the third request and the fourth one fail."""
    leases: list[int] = []

    class Failing(Replying):
        async def complete(self, prompt: Prompt) -> Completion:
            leases.append(count_leases(tmp_path / "v.sqlite"))
            if len(leases) in (3, 4):
                raise RetryableError("server_error", "down")
            return await super().complete(prompt)

    model = Failing('{"reason": "r", "grade": 1}')
    asked_assessor = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    client = ModelClient(model, Limits(concurrency, 3, 600, 1), CancelToken())
    with VerdictStore(tmp_path / "v.sqlite") as store:
        result = asyncio.run(judge(POOL, asked_assessor, store, client, NullProgress()))
    assert [judgment.grade for judgment in result.judgments] == [1] * len(POOL.pairs)
    assert concurrency < max(leases) <= 2 * concurrency
    assert count_leases(tmp_path / "v.sqlite") == 0


def test_no_permit_is_held_while_a_lease_is_awaited(tmp_path: Path) -> None:
    class Blocked(VerdictStore):
        """A store that leases its first batch at once, and the others when told."""

        commits = 0

        async def acquire(self, keys: Sequence[str]) -> list[StoredVerdict | Lease | Busy]:
            self.commits += 1
            if self.commits > 1:
                await released.wait()
            return await super().acquire(keys)

    class Watching(NullProgress):
        judged = 0

        def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
            self.judged += 1
            if self.judged == 4:
                four.set()

    async def scene(store: Blocked) -> JudgingResult:
        asked_assessor = assessor()
        client = ModelClient(asked_assessor.model, Limits(2, 3, 600, 1), CancelToken())
        judging = asyncio.create_task(judge(SIX, asked_assessor, store, client, Watching()))
        await four.wait()
        assert store.commits == 2
        assert client.limiter.in_flight == 0
        released.set()
        return await judging

    released, four = asyncio.Event(), asyncio.Event()
    with Blocked(tmp_path / "v.sqlite") as store:
        result = asyncio.run(scene(store))
    assert len(result.judgments) == 6


def test_a_kill_leaves_at_most_twice_as_many_leases_as_requests_in_flight(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from judge.store.store import VerdictStore
        from tests.unit.assess import test_runner as these
        class Hanging(these.Replying):
            async def complete(self, prompt):
                print("sent", flush=True)
                await asyncio.sleep(3600)
        model = Hanging("")
        prompts = these.load_prompts(these.default_directory(), these.GRADED)
        asked = these.Assessor(model, prompts, these.GRADED)
        client = these.ModelClient(model, these.Limits(4, 3, 600, 1), these.CancelToken())
        with VerdictStore(Path(sys.argv[1])) as store:
            asyncio.run(these.judge(these.MANY, asked, store, client, these.NullProgress()))
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
        asked_assessor = Assessor(Replying(""), load_prompts(default_directory(), GRADED), GRADED)
        keys = list_request_keys(MANY, asked_assessor, 1)
        results = asyncio.run(store.acquire(keys))
        assert all(isinstance(result, Lease) for result in results)
        assert list(store.read_calls(keys)) == [Call("lost", maybe_billed=True)] * leases


class Together(Lexical):
    """A model that answers as soon as so many requests were in flight at the same time."""

    endpoint = "http://127.0.0.1:9/v1"

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
        asked_assessor = Assessor(Together(count), load_prompts(default_directory(), GRADED), GRADED)
        client = ModelClient(asked_assessor.model, Limits(16, 3, 600, 1), CancelToken())
        pool = build_pool(read_dataset(numbered(rows, 1, 1), lang="auto", max_chars=4000), 10)
        with VerdictStore(tmp_path / "v.sqlite") as store:
            return len((await judge(pool, asked_assessor, store, client, NullProgress())).judgments)

    assert asyncio.run(judge_together(1, 1)) == 1
    assert asyncio.run(judge_together(16, 40)) == 40
