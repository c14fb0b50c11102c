"""Assessors judge one after the other, and errors of the store end the run."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from judge.assess.assessor import Assessor
from judge.assess.judging import JudgingResult, PanelMember, judge_with_panel
from judge.assess.prompts import find_default_directory, load_prompts
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.progress import ProgressListener
from judge.client.retry import RequestLimits
from judge.dataset.pool import build_pool
from judge.errors import Interrupted, JudgeError, RunIncomplete, StoreError
from judge.models.lexical import LexicalModel
from judge.pricing.prices import Price
from judge.records import GRADED, Completion, Prompt, Usage
from judge.store.store import VerdictStore
from tests.support.datasets import read_dataset
from tests.support.factories import make_rows

POOL = build_pool(read_dataset(make_rows(2, 1, 3), lang="auto", max_chars=4000), 10)


class CloseCountingModel(LexicalModel):
    """A model that counts calls of `aclose`."""

    close_count = 0

    async def aclose(self) -> None:
        self.close_count += 1


def run_panel(
    path: Path, model: CloseCountingModel, stop: CancelToken, members: int = 2
) -> list[JudgingResult]:
    """Judge a small pool with this many assessors of one model and return their results."""
    assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
    panel = [
        PanelMember(
            assessor, ModelClient(model, RequestLimits(1, 3, 10, 1), stop, price=Price(1.0, 2.0, 1.0))
        )
        for _ in range(members)
    ]
    with VerdictStore(path / "v.sqlite") as store:
        return asyncio.run(judge_with_panel(POOL.pairs, panel, store, 1, ProgressListener()))


def test_every_assessor_judges_in_its_turn_and_a_shared_model_is_closed_once(tmp_path: Path) -> None:
    model = CloseCountingModel()
    results = run_panel(tmp_path, model, CancelToken())
    assert [result.cost.calls for result in results] == [6, 6]  # the same calls
    assert [len(result.judgments) for result in results] == [6, 6]
    assert model.close_count == 1


@pytest.mark.parametrize("reason", [StoreError("the disk is full"), Interrupted("enough")])
def test_an_error_of_the_store_and_an_interrupt_are_raised(tmp_path: Path, reason: JudgeError) -> None:
    model, stop = CloseCountingModel(), CancelToken()
    stop.cancel(reason)
    with pytest.raises(type(reason), match=str(reason)):
        run_panel(tmp_path, model, stop)
    assert model.close_count == 1


def test_an_interrupt_reports_the_judged_pairs_and_the_cost(tmp_path: Path) -> None:
    class InterruptingModel(CloseCountingModel):
        async def complete(self, prompt: Prompt) -> Completion:
            if len(prompts) == 3:
                stop.cancel(Interrupted("enough"))
            prompts.append(prompt)
            return msgspec.structs.replace(await super().complete(prompt), usage=Usage(1000, 0, 500))

    stop, prompts = CancelToken(), list[Prompt]()
    with pytest.raises(Interrupted, match=r"^enough: 4 of 6 judged, \$0\.0080$"):
        run_panel(tmp_path, InterruptingModel(), stop, members=1)


def test_a_limit_of_calls_is_reported_and_not_raised(tmp_path: Path) -> None:
    stop = CancelToken()
    stop.cancel(RunIncomplete("--max-calls 0 is used up"))
    assert [str(result.stopped) for result in run_panel(tmp_path, CloseCountingModel(), stop)] == [
        "--max-calls 0 is used up"
    ] * 2
