"""The Python calls, in a script and where an event loop is running."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path

import pandas as pd
import pytest

import judge

ROWS = [
    {
        "query_id": "1",
        "query": "capital of France",
        "engine": "a",
        "snippet": "Paris has been the capital of France for centuries.",
    },
    {"query_id": "1", "query": "capital of France", "engine": "a", "snippet": "Recipes with cheese."},
    {"query_id": "1", "query": "capital of France", "engine": "b", "snippet": "Recipes with cheese."},
]


def test_a_run_gives_data_frames(tmp_path: Path) -> None:
    outcome = judge.run(ROWS, model="lexical", out=str(tmp_path / "runs" / "x"), repeats=2)
    assert outcome.engines.loc["a", "nDCG@10"] == 1.0
    assert outcome.engines.loc["b", "nDCG@10"] == 0.0
    assert list(outcome.verdicts["grade"]) == [3, 0, 3, 0] or list(outcome.verdicts["grade"]) == [0, 3, 0, 3]
    assert set(outcome.queries.columns) == {
        "engine", "query_id", "repeat", "measure", "value", "low", "high", "judged"
    }  # fmt: skip
    assert len(outcome.queries) == 2 * 2 * 5
    assert outcome.incomplete is None


def test_it_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook_cell() -> judge.Outcome:
        return judge.run(pd.DataFrame(ROWS), model="lexical", out=str(tmp_path / "runs" / "x"))

    outcome = asyncio.run(notebook_cell())
    assert outcome.engines.loc["a", "RR@10"] == 1.0


def test_scoring_again_takes_other_measures(tmp_path: Path) -> None:
    judge.run(ROWS, model="lexical", out=str(tmp_path / "runs" / "x"))
    outcome = judge.score(tmp_path / "runs" / "x", ["P@1", "AP(own)@5"])
    assert list(outcome.engines.columns[:2]) == ["P@1", "AP(own)@5"]


def test_wrong_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(judge.InputError, match="did you mean 'repeats'"):
        judge.run(ROWS, model="lexical", repeat=2)
    with pytest.raises(judge.InputError, match="row 1: field 'query'"):
        judge.run([{"snippet": "x"}], model="lexical")


def test_the_public_names_are_all_there() -> None:
    for name in judge.__all__:
        assert getattr(judge, name) is getattr(importlib.import_module(judge._HOMES[name]), name)
    with pytest.raises(AttributeError):
        judge.nothing  # noqa: B018
