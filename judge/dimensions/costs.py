"""Costs of an engine: its price, and what a relevant result costs. It makes no call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from judge.analysis.dimension_result import DimensionMean, DimensionResult, summarise_dimension
from judge.analysis.loaded_run import LoadedRun
from judge.analysis.run_analysis import score_run
from judge.dimensions import DimensionOptions
from judge.measure.formulas import finite_or_none
from judge.measure.measures import Measure
from judge.messages import Message

#: Relevant results are counted in the first results, which a reader or a language model takes.
_CUTOFF = 5
PRICE = "USD/1000 queries"


def measure_costs(run: LoadedRun, options: DimensionOptions) -> DimensionResult:
    """Return the relevant results of each list, and the price of queries and of relevant results by engine.

    The prices are those of `options`, in US dollars per 1,000 queries; other engines have none.
    """
    prices = {name: float(price) for name, _, price in (each.rpartition("=") for each in options.costs)}
    cutoff = min(_CUTOFF, run.pool.depth)
    relevant = f"relevant@{cutoff}"
    scores = score_run(run, [Measure("P", cutoff)])
    value, _, _ = scores.average_repeats()
    values = {
        (engine, query_id): {
            relevant: None if (mean := finite_or_none(value[row, column, 0])) is None else mean * cutoff
        }
        for row, engine in enumerate(scores.engines)
        for column, query_id in enumerate(scores.queries)
        if not scores.coverage.missing[row, column]
    }
    strangers = [name for name in prices if name not in run.data.engines]
    remarks: tuple[str, ...] = ()
    if strangers:
        remarks = (Message("no engine of this run is called {names}", names=", ".join(map(repr, strangers))),)
    result = summarise_dimension(values, run.data.engines, remarks, ranges={relevant: (0.0, float(cutoff))})
    engines = {
        engine: {**means, **_price_engine(means[relevant], prices.get(engine), relevant)}
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
