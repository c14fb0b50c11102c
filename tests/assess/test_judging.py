"""Judging a pool beside another process that pays for some of it, and what is said of a damaged store."""

from __future__ import annotations

import asyncio
import sqlite3
import tracemalloc
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from judge.assess.assessor import Assessor
from judge.assess.desk import Desk
from judge.assess.judging import Judging, judge_pool, split
from judge.assess.prompts import default_directory, load_prompts
from judge.assess.schedule import Limits
from judge.assess.stop import Stop
from judge.assess.store import Store
from judge.assess.watch import Unwatched
from judge.dataset.pool import build_pool
from judge.dataset.read import read_dataset
from judge.models.lexical import Lexical
from judge.records import GRADED, Completion, Judgment, Prompt
from tests.worlds import numbered

POOL = build_pool(read_dataset(numbered(10, 1, 3), lang="auto", max_chars=4000), 10)


def assessor(name: str = "lexical") -> Assessor:
    model = Lexical()
    model.name = name
    return Assessor(model, load_prompts(default_directory(), GRADED), GRADED)


KEYS = list(split(POOL, assessor(), 1)[1])
HELD = 20


class Counting(Unwatched):
    """A watch that notices when all pairs are judged that no other process pays for."""

    def __init__(self) -> None:
        self.rest = asyncio.Event()
        self._count = 0

    def judged(self, judgment: Judgment, usd: float | None) -> None:
        self._count += 1
        if self._count == len(KEYS) - HELD:
            self.rest.set()


async def judged(store: Store, watch: Counting, max_wait: float = 600, name: str = "lexical") -> Judging:
    asked = assessor(name)
    return await judge_pool(
        POOL, asked, store, Desk(asked.model, Limits(4, 3, max_wait, 1), Stop()), 1, watch
    )


async def hold(store: Store) -> None:
    """Claims the first pairs, of which there are more than pairs that are asked about at once."""
    for key in KEYS[:HELD]:
        assert await store.claim(key) == "mine"


def test_what_another_process_pays_for_keeps_nobody_from_the_rest(tmp_path: Path) -> None:
    async def scene(store: Store, other: Store) -> Judging:
        await hold(other)
        watch = Counting()
        judging = asyncio.create_task(judged(store, watch))
        await asyncio.wait_for(watch.rest.wait(), 10)
        assert not judging.done()
        for key in KEYS[:HELD]:
            await other.give_up(key, [])
        return await judging

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        judging = asyncio.run(scene(store, other))
    assert judging.stopped is None
    assert judging.calls_made == len(KEYS) == 30
    assert all(each.grade is not None for each in judging.judgments)


def test_a_process_that_never_comes_to_an_end_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def scene(store: Store, other: Store) -> Judging:
        await hold(other)
        return await judged(store, Counting(), max_wait=0.5)

    with Store(tmp_path / "v.sqlite") as store, Store(tmp_path / "v.sqlite") as other:
        judging = asyncio.run(asyncio.wait_for(scene(store, other), 30))
    assert "another process is paying for the pairs that are left, and none came in 0.5 s" in str(
        judging.stopped
    )
    assert len(judging.judgments) == len(KEYS) - HELD


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


@pytest.mark.parametrize(
    ("model", "most_calls", "words"),
    [
        (
            Replying("helpful, \x1b[1m sk-canary-5b1d9f"),
            80,
            r"'helpful, \x1b[1m ***'; use another",
        ),
        (Replying('{"reason": "it', finish_reason="length"), 80, "raise --max-tokens (now 512)"),
        (Replying("yes"), 80, "instead of a grade: add --scale binary"),
        (Replying("", reasoning=True), 24, "5 pairs in a row have no grade by openai:m"),
        (Replying("<think>let me", finish_reason="length"), 24, "add --thinking, which raises --max-tokens"),
    ],
    ids=["prose", "cut", "yes", "reasoning", "thinking"],
)
def test_replies_without_a_grade_end_the_run_early_with_the_option_that_helps(
    model: Replying, most_calls: int, words: str, tmp_path: Path
) -> None:
    asked = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    desk = Desk(model, Limits(64, 3, 600, 1), Stop())
    with Store(tmp_path / "v.sqlite") as store:
        judging = asyncio.run(judge_pool(MANY, asked, store, desk, 1, Unwatched()))
    assert words in str(judging.stopped)
    assert model.calls == judging.calls_made <= most_calls


def test_a_reply_that_was_cut_off_names_the_option_in_its_detail(tmp_path: Path) -> None:
    model = Replying('{"reason": "it', finish_reason="length")
    asked = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    desk = Desk(model, Limits(4, 3, 600, 1), Stop())
    with Store(tmp_path / "v.sqlite") as store:
        judging = asyncio.run(judge_pool(POOL, asked, store, desk, 1, Unwatched()))
    assert all("raise --max-tokens (now 512)" in each.detail for each in judging.judgments)


def test_what_is_still_to_be_asked_takes_little_memory_however_much_it_shows() -> None:
    rows = [{**row, "snippet": f"{row['snippet']} {'long ' * 600}"} for row in numbered(100, 1, 10)]
    large, asked = build_pool(read_dataset(rows, lang="auto", max_chars=4000), 10), assessor()
    tracemalloc.start()
    try:
        questions = split(large, asked, 2)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(questions[1]) == 2000
    assert held < 2000 * 1000


def test_every_assessor_warns_of_its_own_damaged_verdicts(tmp_path: Path) -> None:
    async def both(store: Store) -> list[tuple[str, ...]]:
        return [(await judged(store, Counting(), name=name)).warnings for name in ("a", "b")]

    path = tmp_path / "v.sqlite"
    with Store(path) as store:
        assert asyncio.run(both(store)) == [(), ()]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE verdicts SET grade = grade + 1 WHERE model = 'a'")
    with Store(path) as store:
        first, second = asyncio.run(both(store))
    assert "30 verdicts no longer match" in first[0]
    assert second == ()
