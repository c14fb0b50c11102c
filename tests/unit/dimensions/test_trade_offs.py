"""Trade-offs: the price of relevant results and the weighted total, with numbers worked by hand."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import judge
from judge.analysis.dimension_summary import PRICE, DimensionMean, DimensionResult, summarise_dimension
from judge.collect.registry import KNOWN
from judge.dimensions.dimension import DimensionOptions
from judge.dimensions.trade_offs import measure_total
from judge.errors import InputError
from judge.messages import CHINESE
from judge.pricing.prices import read_list_prices
from judge.runs.folder import RunFolder
from judge.runs.load import load_run
from tests.support.cases import check_each
from tests.support.command_line import run_judge


def make_priced_rows() -> list[dict[str, object]]:
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
        make_priced_rows(), "expected", out=str(tmp_path / "run"), costs=["a=6", "b=0.5", "c=1", "d=2"]
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


def test_engines_that_all_failed_have_a_price_of_queries_alone(tmp_path: Path) -> None:
    rows = [{"query": query, "engine": "a", "error": "http_500"} for query in ("q1", "q2")]
    costs = judge.run(rows, "lexical", out=str(tmp_path / "run"), costs=["a=6"]).summary.dimensions["costs"]
    assert costs.measures == ["USD/1000 queries", "USD/1000 relevant@5"]
    assert costs.find_mean("a", "USD/1000 queries") == DimensionMean(6.0, None, 0)
    assert costs.find_mean("a", "USD/1000 relevant@5") == DimensionMean(None, None, 0)


def test_prices_of_engines_that_the_run_lacks_are_named(tmp_path: Path) -> None:
    """The same table serves several datasets."""
    out, costs = str(tmp_path / "run"), ["brave=5", "A=1", "a=2"]
    result = judge.run(make_priced_rows(), "expected", out=out, costs=costs)
    assert result.summary.dimensions["costs"].remarks == (
        "no engine of this run is called 'brave', 'A'",
        "no price is known for 'b' and 'c'; --costs ENGINE=USD gives one",
    )


def test_an_engine_without_a_price_has_no_costs(tmp_path: Path) -> None:
    judge.run(make_priced_rows(), "expected", out=str(tmp_path / "run"))
    done = run_judge("score", tmp_path / "run", "--costs", "a=6,b=0.5", "--save")
    assert done.returncode == 0, done.stderr
    engines = json.loads((tmp_path / "run" / "summary.json").read_text())["dimensions"]["costs"]["engines"]
    assert engines["b"]["USD/1000 queries"]["mean"] == 0.5
    assert engines["c"]["USD/1000 queries"]["mean"] is None


def test_an_engine_without_a_price_has_its_list_price_and_the_output_says_so(tmp_path: Path) -> None:
    named = {"a": "tavily", "b": "brave", "c": "c"}
    data = [{**row, "engine": named[str(row["engine"])]} for row in make_priced_rows()]
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
    with pytest.raises(InputError, match=re.escape("costs={'tavily': 8.0")):
        judge.run(make_priced_rows(), "expected", costs=[value])


#: The texts of each engine; only "abcd" is relevant.
LISTS = {"a": ("abcd", "abce"), "b": ("wxyz", "abcd"), "c": ("abcd",), "d": ("wxyz", "abcd")}


def make_ranked_rows() -> list[dict[str, object]]:
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
    judge.run(
        make_ranked_rows(), "expected", out=str(tmp_path / "run"), measures=["RR@2"], depth=2, diversity=True
    )
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
    # RR is 1 and 1/2, quality is 1/4 and 1, and the lists share 1 of 3 3-grams, and none.
    of_a = (2 * 1 + 0.5 * 0.75 + 0.5 * 0.25 + 1 * (1 - 1 / 3)) / 4
    of_b = (2 * 0.5 + 0.5 * 0.25 + 0.5 * 1 + 1 * 1) / 4
    assert total.find_mean("a", "total") == DimensionMean(of_a, None, 1)
    assert total.find_mean("b", "total") == DimensionMean(of_b, None, 1)
    # One result has no similarity, and d has no quality.
    assert total.find_mean("c", "total") == total.find_mean("d", "total") == DimensionMean(None, None, 0)
    differences = {(pair.a, pair.b): pair.mean.mean for pair in total.pairs}
    assert differences["a", "b"] == pytest.approx(of_a - of_b)
    assert differences["a", "c"] is None
    assert total.remarks == (
        "shares of the total: relevance (RR@2) 0.5, recall 0.125, quality 0.125, diversity 0.25",
    )
    by_quality = measure_total(replace(run, dimensions=dimensions), DimensionOptions(weights=("quality=1",)))
    differences = {(pair.a, pair.b): pair.mean.mean for pair in by_quality.summary.pairs}
    assert ("a", "b") not in differences
    assert differences["b", "a"] == 0.75


def test_the_total_of_a_finished_run_takes_the_dimensions_that_it_has(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judge.run(make_ranked_rows(), "expected", out=str(out), measures=["DCG@2"], depth=2)
    weights = "relevance=1,diversity=1"
    lacking = run_judge("score", out, "--weights", weights)
    assert "weights: no total: the run does not have --diversity" in lacking.stdout
    scored = run_judge("score", out, "--weights", weights, "--diversity")
    # DCG is 1/log2(3), and its largest value 1 + 1/log2(3): (0.3869 + 1) / 2.
    [of_b] = [line for line in scored.stdout.split("weights")[1].splitlines() if line[:3] == "b  "]
    assert of_b.split()[1] == "0.693"
    # The first measure is the one of this command, not of the run.
    total = judge.score(out, ["RR@2"], weights={"relevance": 3}).summary.dimensions["weights"]
    assert total.find_mean("b", "total").mean == 0.5
    assert total.remarks == ("shares of the total: relevance (RR@2) 1",)


def test_the_report_of_a_run_that_is_scored_again_is_the_same(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judge.run(make_ranked_rows(), "expected", out=str(out), weights={"relevance": 1}, diversity=True)
    report = (out / "report.html").read_text(encoding="utf-8")
    judge.score(out, save=True)
    assert (out / "report.html").read_text(encoding="utf-8") == report


@check_each(
    ("name", "message", "chinese"),
    [
        ("weights", "the dimension 'weights' needs weights", "维度 'weights' 需要 weights"),
        ("feedback", "needs feedback", "维度 'feedback' 需要 feedback"),
        ("diversity_embeddings", "needs embeddings", "维度 'diversity_embeddings' 需要 embeddings"),
        (
            "variety",
            "unknown dimension 'variety'; write one of diversity, diversity_embeddings, sites, freshness,"
            " expected_gains, feedback, costs, weights$",
            "未知的维度 'variety'；可用的维度：diversity、diversity_embeddings、",
        ),
        *(
            (
                name,
                f"the dimension '{name}' asks a model: measure it with judge run",
                f"维度 '{name}' 需要调用模型，请使用 judge run 计算",
            )
            for name in ("site_grades", "points", "answers", "failures", "explain")
        ),
    ],
)
def test_a_dimension_is_not_measured_without_its_option_or_its_model(
    name: str, message: str, chinese: str, tmp_path: Path
) -> None:
    judge.run(make_ranked_rows(), "expected", out=str(tmp_path / "run"), depth=2)
    with pytest.raises(InputError, match=message) as caught:
        judge.score(tmp_path / "run", dimensions=[name])
    assert CHINESE(caught.value.message).startswith(chinese)


@check_each(
    ("weights", "message"),
    [
        (["relevanse=1"], "relevanse=1"),
        (["relevance=0"], "above 0"),
        (["relevance"], "it must be weights={'relevance': 1.0}"),
        (["relevance=1,relevance=2"], "at most once"),
        (["relevance=nan"], "it must be weights={'relevance': 1.0}"),
        ({"recall": 1}, "needs points=True; add points=True"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        judge.run(make_ranked_rows(), "expected", weights=weights)
