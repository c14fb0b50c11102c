"""The weighted total of dimensions, with numbers worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import judge
from judge.analysis.summary import DimensionMean, DimensionResult, summarise_dimension
from judge.dimensions import DimensionOptions
from judge.dimensions.trade_offs import measure_total
from judge.errors import InputError
from judge.runs.folder import RunFolder
from judge.runs.load import load_run
from tests.support.cases import check_each
from tests.support.command_line import run_judge

#: The texts of each engine; only "abcd" is relevant.
LISTS = {"a": ("abcd", "abce"), "b": ("wxyz", "abcd"), "c": ("abcd",), "d": ("wxyz", "abcd")}


def make_rows() -> list[dict[str, object]]:
    return [
        {
            "query_id": "q",
            "query": "q",
            "engine": engine,
            "docno": text,
            "snippet": text,
            "expected": ["abcd"],
        }
        for engine, texts in LISTS.items()
        for text in texts
    ]


def make_dimension(measure: str, values: Mapping[str, float | None]) -> DimensionResult:
    """Return a dimension with one value for each engine."""
    return summarise_dimension({(engine, "q"): {measure: each} for engine, each in values.items()}, values)


def test_the_total_is_the_mean_of_the_parts_by_their_weights(tmp_path: Path) -> None:
    judge.run(make_rows(), "expected", out=str(tmp_path / "run"), measures=["RR@2"], depth=2, diversity=True)
    run = load_run(RunFolder(tmp_path / "run"))
    dimensions = {
        **run.dimensions,
        "points": make_dimension("weighted@2", {"a": 0.75, "b": 0.25, "c": 1.0, "d": 0.5}),
        "site_grades": make_dimension("quality@2", {"a": 2.0, "b": 5.0, "c": 5.0, "d": None}),
    }
    weights = ("relevance=2", "recall=0.5", "quality=0.5", "diversity=1")
    result = measure_total(replace(run, dimensions=dimensions), DimensionOptions(weights=weights))
    # A sum over another order, such as that of a set, differs in its last digit from run to run.
    assert list(result.values) == [(engine, "q") for engine in LISTS]
    total = result.summary
    # RR is 1 and 1/2, quality is 1/4 and 1, and the lists share 2 of 4 3-grams, and none.
    of_a = (2 * 1 + 0.5 * 0.75 + 0.5 * 0.25 + 1 * 0.5) / 4
    of_b = (2 * 0.5 + 0.5 * 0.25 + 0.5 * 1 + 1 * 1) / 4
    assert total.find_mean("a", "total") == DimensionMean(of_a, None, 1)
    assert total.find_mean("b", "total") == DimensionMean(of_b, None, 1)
    # One result has no similarity, and d has no quality.
    assert total.find_mean("c", "total") == total.find_mean("d", "total") == DimensionMean(None, None, 0)
    differences = {(pair.a, pair.b): pair.mean.mean for pair in total.pairs}
    assert differences["a", "b"] == pytest.approx(of_a - of_b)
    assert differences["a", "c"] is None
    assert total.remarks == ("shares: relevance (RR@2) 0.5, recall 0.125, quality 0.125, diversity 0.25",)


def test_the_total_of_a_finished_run_takes_the_dimensions_that_it_has(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judge.run(make_rows(), "expected", out=str(out), measures=["DCG@2"], depth=2)
    weights = "relevance=1,diversity=1"
    lacking = run_judge("score", out, "--weights", weights)
    assert "weights: no total: the run does not have --diversity" in lacking.stdout
    scored = run_judge("score", out, "--weights", weights, "--diversity")
    # DCG is 1/log2(3), and its largest value 1 + 1/log2(3): (0.3869 + 1) / 2.
    [of_b] = [line for line in scored.stdout.split("weights")[1].splitlines() if line[:3] == "b  "]
    assert of_b.split()[1] == "0.6934"
    # The first measure is the one of this command, not of the run.
    total = judge.score(out, ["RR@2"], weights={"relevance": 3}).summary.dimensions["weights"]
    assert total.find_mean("b", "total").mean == 0.5
    assert total.remarks == ("shares: relevance (RR@2) 1",)


@check_each(
    ("name", "message"),
    [
        ("weights", "the dimension 'weights' needs the option of its name"),
        ("feedback", "needs the option of its name"),
        ("diversity_embeddings", "needs the option of its name"),
        ("variety", "unknown dimension 'variety'; write one of diversity, "),
    ],
)
def test_a_dimension_is_not_measured_without_its_option(name: str, message: str, tmp_path: Path) -> None:
    judge.run(make_rows(), "expected", out=str(tmp_path / "run"), depth=2)
    with pytest.raises(InputError, match=message):
        judge.score(tmp_path / "run", dimensions=[name])


@check_each(
    ("weights", "message"),
    [
        (["relevanse=1"], "relevanse=1"),
        (["relevance=0"], "above 0"),
        (["relevance"], "NAME=WEIGHT"),
        (["relevance=1,relevance=2"], "at most once"),
        (["relevance=nan"], "NAME=WEIGHT"),
        ({"recall": 1}, "needs --points"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        judge.run(make_rows(), "expected", weights=weights)
