"""Costs: the price of relevant results, with numbers worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import judge
from judge.analysis.summary import PRICE, DimensionMean
from judge.collect.registry import KNOWN
from judge.errors import InputError
from judge.pricing.prices import read_list_prices
from tests.support.cases import check_each
from tests.support.command_line import run_judge


def make_rows() -> list[dict[str, object]]:
    """Relevant results in the first 5: 2 and 1 of `a`, 1 and 1 of `b`, none of `c`."""
    relevant = {"a": ((1, 2, 6), (4,)), "b": ((1,), (2,)), "c": ((), ())}
    return [
        {"query": f"q{query}", "engine": engine, "docno": f"{rank in ranks} {engine} {rank}"}
        | {"snippet": f"text {engine} {query} {rank}"}
        | {"expected": [f"True {name} {at}" for name, of in relevant.items() for at in of[query]]}
        for engine, of_queries in relevant.items()
        for query, ranks in enumerate(of_queries)
        for rank in range(1, 7)
    ]


def test_a_relevant_result_costs_the_price_by_their_mean_number(tmp_path: Path) -> None:
    result = judge.run(
        make_rows(), "expected", out=str(tmp_path / "run"), costs=["a=6", "b=0.5", "c=1", "d=2"]
    )
    assert result.summary.assessor == "expected/binary"
    costs = result.summary.dimensions["costs"]
    assert costs.measures == ["relevant@5", "USD/1000 queries", "USD/1000 relevant@5"]
    assert [costs.find_mean(engine, "relevant@5").mean for engine in "abc"] == pytest.approx([1.5, 1.0, 0.0])
    assert costs.find_mean("a", "USD/1000 queries") == DimensionMean(6.0, None, 2)
    assert costs.find_mean("a", "USD/1000 relevant@5").mean == pytest.approx(4.0)
    # The values of b are equal, the interval of a begins at 0, and c has no relevant result.
    assert costs.find_mean("b", "USD/1000 relevant@5") == DimensionMean(0.5, None, 2)
    assert costs.find_mean("a", "USD/1000 relevant@5").ci95 is None
    assert costs.find_mean("c", "USD/1000 relevant@5").mean is None
    assert costs.remarks == ("no engine of this run is called 'd'",)


def test_a_misspelt_engine_is_an_error_before_anything_is_paid(tmp_path: Path) -> None:
    named = [
        {**row, "engine": {"a": "lantern", "b": "compass", "c": "magpie"}[str(row["engine"])]}
        for row in make_rows()
    ]
    with pytest.raises(
        InputError, match="'Lanten', which is not an engine of the dataset, and engine 'lantern' has no price"
    ):
        judge.run(named, "expected", out=str(tmp_path / "run"), costs=["Lanten=5"])
    assert not (tmp_path / "run").exists()
    # The same table serves a dataset with other engines, or with both.
    result = judge.run(
        named, "expected", out=str(tmp_path / "run"), costs=["brave=5", "lanterns=1", "lantern=2"]
    )
    assert (
        result.summary.dimensions["costs"].remarks[0] == "no engine of this run is called 'brave', 'lanterns'"
    )
    with pytest.raises(InputError, match="correct the name, or add the price"):
        judge.score(tmp_path / "run", costs=["compas=1"])


def test_an_engine_without_a_price_has_no_costs(tmp_path: Path) -> None:
    judge.run(make_rows(), "expected", out=str(tmp_path / "run"))
    done = run_judge("score", tmp_path / "run", "--costs", "a=6,b=0.5", "--save")
    assert done.returncode == 0, done.stderr
    engines = json.loads((tmp_path / "run" / "summary.json").read_text())["dimensions"]["costs"]["engines"]
    assert engines["b"]["USD/1000 queries"]["mean"] == 0.5
    assert engines["c"]["USD/1000 queries"]["mean"] is None


def test_an_engine_without_a_price_has_its_list_price_and_the_output_says_so(tmp_path: Path) -> None:
    named = {"a": "tavily", "b": "brave", "c": "c"}
    data = [{**row, "engine": named[str(row["engine"])]} for row in make_rows()]
    result = judge.run(data, "expected", out=str(tmp_path / "run"), costs=["brave=2"])
    costs = result.summary.dimensions["costs"]
    prices = read_list_prices()
    assert costs.find_mean("tavily", PRICE).mean == prices["tavily"].usd
    assert costs.find_mean("tavily", "USD/1000 relevant@5").mean == pytest.approx(prices["tavily"].usd / 1.5)
    assert costs.find_mean("brave", PRICE).mean == 2.0
    assert costs.find_mean("c", PRICE).mean is None
    listed, missing = costs.remarks
    assert f"the list price of {prices['tavily'].as_of} ({prices['tavily'].source})" in listed
    assert missing == "no price is known for 'c'; --costs ENGINE=USD gives one"
    # A list of 11 results can take two calls.
    deep = judge.run(data, "expected", out=str(tmp_path / "deep"), costs=["list"], depth=11)
    assert deep.summary.dimensions["costs"].find_mean("tavily", PRICE).mean is None


def test_each_list_price_is_of_an_engine_that_judge_collects_from() -> None:
    prices = read_list_prices()
    assert prices.keys() < KNOWN.keys()
    assert all(each.usd > 0 and each.source.startswith("https://") for each in prices.values())


@check_each("value", ["a", "a=", "=1", "a=cheap", "a=-1", "a=nan", "a=inf"])
def test_a_price_is_a_number(value: str) -> None:
    with pytest.raises(InputError, match="ENGINE=USD"):
        judge.run(make_rows(), "expected", costs=[value])
