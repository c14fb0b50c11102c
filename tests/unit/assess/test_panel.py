"""Assessors judge one after the other, and what ends them is raised."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from judge.assess.assessor import Assessor
from judge.assess.progress import NullProgress
from judge.assess.prompts import default_directory, load_prompts
from judge.assess.runner import JudgingResult, judge_with_panel
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.retry import Limits
from judge.dataset.pool import build_pool
from judge.errors import Interrupted, JudgeError, RunIncomplete, StoreError
from judge.models.lexical import Lexical
from judge.pricing.prices import Price
from judge.records import GRADED, Completion, Prompt, Usage
from judge.store.store import VerdictStore
from tests.support.datasets import read_dataset
from tests.support.factories import numbered

POOL = build_pool(read_dataset(numbered(2, 1, 3), lang="auto", max_chars=4000), 10)


class Closing(Lexical):
    """A model that counts how often it was closed."""

    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


def sit(path: Path, model: Closing, stop: CancelToken, members: int = 2) -> list[JudgingResult]:
    """What two assessors of one model, or so many, make of a small pool."""
    assessor = Assessor(model, load_prompts(default_directory(), GRADED), GRADED)
    clients = [
        (assessor, ModelClient(model, Limits(1, 3, 10, 1, price=Price(1.0, 2.0, 1.0)), stop))
        for _ in range(members)
    ]
    with VerdictStore(path / "v.sqlite") as store:
        return asyncio.run(judge_with_panel(POOL, clients, store, 1, NullProgress()))


def test_every_assessor_judges_in_its_turn_and_a_shared_model_is_closed_once(tmp_path: Path) -> None:
    model = Closing()
    judgings = sit(tmp_path, model, CancelToken())
    assert [judging.calls_made for judging in judgings] == [6, 0]
    assert [len(judging.judgments) for judging in judgings] == [6, 6]
    assert model.closed == 1


@pytest.mark.parametrize("reason", [StoreError("the disk is full"), Interrupted("enough")])
def test_what_ends_more_than_the_judging_is_raised(tmp_path: Path, reason: JudgeError) -> None:
    model, stop = Closing(), CancelToken()
    stop.cancel(reason)
    with pytest.raises(type(reason), match=str(reason)):
        sit(tmp_path, model, stop)
    assert model.closed == 1


def test_who_interrupts_is_told_how_far_it_got_and_what_it_cost(tmp_path: Path) -> None:
    class Tiring(Closing):
        async def complete(self, prompt: Prompt) -> Completion:
            if len(prompts) == 3:
                stop.cancel(Interrupted("enough"))
            prompts.append(prompt)
            return replace(await super().complete(prompt), usage=Usage(1000, 0, 500))

    stop, prompts = CancelToken(), list[Prompt]()
    with pytest.raises(Interrupted, match=r"^enough: 4 of 6 judged, \$0\.0080$"):
        sit(tmp_path, Tiring(), stop, members=1)


def test_a_ceiling_is_told_of_and_not_raised(tmp_path: Path) -> None:
    stop = CancelToken()
    stop.cancel(RunIncomplete("--max-calls 0 is used up"))
    assert [str(judging.stopped) for judging in sit(tmp_path, Closing(), stop)] == [
        "--max-calls 0 is used up"
    ] * 2
