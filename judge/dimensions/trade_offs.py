"""Trade-offs between relevance and the rest: what a relevant result costs, and a total by weights.

They make no call. A total is the weighted mean of values from 0 to 1 of a list; relevance is the first
measure of the run. A list where one of them is unknown has no total.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from judge.analysis.dimension_summary import (
    PRICE,
    DimensionMean,
    DimensionResult,
    EnginePair,
    average_values,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun, score_lists
from judge.dimensions.dimension import DimensionOptions
from judge.measure.formulas import find_largest_value
from judge.measure.measures import Measure
from judge.measure.numeric import convert_non_finite
from judge.messages import Message, NameList, SeparatedNames
from judge.pricing.prices import LISTED_RESULTS, ListPrice, read_list_prices
from judge.records import RELEVANCE, WEIGHTED_DIMENSIONS, ListKey

#: Relevant results are counted in the first results, which a reader or a language model takes.
_CUTOFF = 5


def measure_costs(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the relevant results of each list, and the price of queries and of relevant results by engine.

    The prices are those of `options`, in US dollars per 1,000 queries, else list prices, if there are any.
    """
    parts = (text.rpartition("=") for text in options.costs)
    own_prices = {name: float(price) for name, _, price in parts if name}
    # A longer list can take further calls.
    shipped = read_list_prices() if run.pool.depth <= LISTED_RESULTS else {}
    listed = {
        name: price
        for name, price in shipped.items()
        if name in run.dataset.engines and name not in own_prices
    }
    prices = {**{name: price.usd for name, price in listed.items()}, **own_prices}
    cutoff = min(_CUTOFF, run.pool.depth)
    relevant = f"relevant@{cutoff}"
    values = {
        key: {relevant: None if share is None else share * cutoff}
        for key, share in score_lists(run, Measure("P", cutoff)).items()
    }
    remarks, ranges = _describe_prices(run, prices, listed), {relevant: (0.0, float(cutoff))}
    result = summarise_dimension(values, run.dataset.engines, remarks, ranges=ranges)
    engines = {
        engine: {
            **means,
            **_price_engine(result.summary.find_mean(engine, relevant), prices.get(engine), relevant),
        }
        for engine, means in result.summary.engines.items()
    }
    return replace(result, summary=replace(result.summary, engines=engines))


def _price_engine(relevant: DimensionMean, price: float | None, name: str) -> Mapping[str, DimensionMean]:
    """Return the price of 1,000 queries and, with an interval, of 1,000 relevant results."""
    unknown = DimensionMean(None, None, 0)
    of_relevant = unknown
    if price is not None and relevant.mean:
        ends = relevant.ci95
        of_relevant = DimensionMean(
            price / relevant.mean,
            (price / ends[1], price / ends[0]) if ends and ends[0] > 0 else None,
            relevant.queries,
        )
    per_query = unknown if price is None else DimensionMean(price, None, relevant.queries)
    return {PRICE: per_query, f"USD/1000 {name}": of_relevant}


def _describe_prices(
    run: JudgedRun, prices: Mapping[str, float], listed: Mapping[str, ListPrice]
) -> Iterator[Message]:
    """Yield which prices are list prices, and which names and engines have no counterpart."""
    for name, price in listed.items():
        yield Message(
            "{engine}: ${price.usd:.2f} per 1,000 queries is the list price of {day} ({price.source});"
            " --costs ENGINE=USD gives yours.",
            engine=name,
            day=price.as_of.isoformat(),
            price=price,
        )
    if strangers := [name for name in prices if name not in run.dataset.engines]:
        yield Message("no engine of this run is called {names}", names=SeparatedNames(map(repr, strangers)))
    if unpriced := [name for name in run.dataset.engines if name not in prices]:
        yield Message(
            "no price is known for {names}; --costs ENGINE=USD gives one", names=NameList(map(repr, unpriced))
        )


#: By name of a weight: the measure that enters the total, and its values that are scaled to 0 and 1.
_PARTS = {
    "recall": ("weighted", 0.0, 1.0),
    "quality": ("quality", 1.0, 5.0),
    "diversity": ("similarity", 1.0, 0.0),
}


def measure_total(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the total of each list, and its mean difference between every two engines.

    There is no total where the run lacks a dimension that has a weight.
    """
    weights = {name: float(weight) for name, _, weight in (text.partition("=") for text in options.weights)}
    lacking = [
        name for name in map(WEIGHTED_DIMENSIONS.__getitem__, weights) if name and name not in run.dimensions
    ]
    if lacking:
        remark = Message(
            "no total: the run does not have {names}",
            names=SeparatedNames(f"--{name.replace('_', '-')}" for name in lacking),
        )
        return summarise_dimension({}, run.dataset.engines, (remark,))
    parts = {name: _read_part(run, name) for name in weights}
    totals: dict[ListKey, float | None] = {}
    first, *others = parts.values()
    for key in first:
        if all(key in part for part in others):
            of_list = np.array([part[key] for part in parts.values()], dtype=np.float64)  # None is NaN
            totals[key] = convert_non_finite(np.average(of_list, weights=list(weights.values())))
    engine_pairs = []
    for a, b in combinations(run.dataset.engines, 2):
        both = [(totals.get((a, query_id)), totals.get((b, query_id))) for query_id in run.dataset.queries]
        differences = [one - other for one, other in both if one is not None and other is not None]
        if sum(differences) < 0:  # as in comparisons, the engine with the higher mean comes first
            a, b, differences = b, a, [-difference for difference in differences]
        engine_pairs.append(EnginePair(a, b, "total, difference", average_values(differences, -1.0, 1.0)))
    measure_of = {RELEVANCE: f" ({run.spec.measures[0]})"}
    shares = SeparatedNames(
        f"{name}{measure_of.get(name, '')} {weight / sum(weights.values()):.3g}"
        for name, weight in weights.items()
    )
    values = {key: {"total": total} for key, total in totals.items()}
    remark = Message("shares of the total: {shares}", shares=shares)
    return summarise_dimension(values, run.dataset.engines, (remark,), engine_pairs=engine_pairs)


def _read_part(run: JudgedRun, name: str) -> dict[ListKey, float | None]:
    """Return the values of a part, from 0 to 1, by (engine, query_id)."""
    if name == RELEVANCE:
        measure = run.spec.measures[0]
        largest = find_largest_value(measure, run.spec.scale, run.pool.depth)
        scores = score_lists(run, measure)
        return {key: None if value is None else value / largest for key, value in scores.items()}
    (measure_name, worst, best), rows = _PARTS[name], run.dimensions[WEIGHTED_DIMENSIONS[name]].values
    values = {key: row.get(f"{measure_name}@{run.pool.depth}") for key, row in rows.items()}
    return {key: None if value is None else (value - worst) / (best - worst) for key, value in values.items()}
