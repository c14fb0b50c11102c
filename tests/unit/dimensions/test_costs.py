"""Costs: the price of relevant results, with numbers worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import judge
from judge.analysis.dimension_result import DimensionMean
from judge.errors import InputError
from tests.support.cases import check_each
from tests.support.command_line import command


def rows() -> list[dict[str, object]]:
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
    result = judge.run(rows(), "expected", out=str(tmp_path / "run"), costs=["a=6", "b=0.5", "c=1", "d=2"])
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


def test_an_engine_without_a_price_has_no_costs(tmp_path: Path) -> None:
    judge.run(rows(), "expected", out=str(tmp_path / "run"))
    done = command("score", tmp_path / "run", "--costs", "a=6,b=0.5", "--save")
    assert done.returncode == 0, done.stderr
    engines = json.loads((tmp_path / "run" / "summary.json").read_text())["dimensions"]["costs"]["engines"]
    assert engines["b"]["USD/1000 queries"]["mean"] == 0.5
    assert engines["c"]["USD/1000 queries"]["mean"] is None


@check_each("value", ["a", "a=", "=1", "a=cheap", "a=-1", "a=nan", "a=inf"])
def test_a_price_is_a_number(value: str) -> None:
    with pytest.raises(InputError, match="ENGINE=USD"):
        judge.run(rows(), "expected", costs=[value])
