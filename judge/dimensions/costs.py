"""Costs of an engine: its price, and what a relevant result costs. It makes no call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from judge.analysis.judged_run import JudgedRun, score_lists
from judge.analysis.summary import PRICE, DimensionMean, DimensionResult, summarise_dimension
from judge.dimensions import DimensionOptions
from judge.errors import InputError
from judge.measure.measures import Measure
from judge.messages import Message, NameList, SeparatedNames
from judge.pricing.prices import LISTED_RESULTS, ListPrice, read_list_prices

#: Relevant results are counted in the first results, which a reader or a language model takes.
_CUTOFF = 5
#: From this ratio of difflib on, two names are similar.
_SIMILAR = 0.8


def parse_engine_costs(costs: Sequence[str], engines: Sequence[str]) -> dict[str, float]:
    """Return the prices in texts ENGINE=USD.

    A table may serve several datasets, so it may name other engines. Raise InputError for a name that is much
    like that of one of the `engines` without a price: it is probably misspelt.
    """
    parts = (each.rpartition("=") for each in costs)
    prices = {name: float(price) for name, _, price in parts if name}
    unpriced = {name.casefold(): name for name in engines if name not in prices}
    for name in sorted(prices.keys() - engines):
        if similar := get_close_matches(name.casefold(), unpriced, 1, _SIMILAR):
            raise InputError(
                "costs names {name!r}, which is not an engine of the dataset, and engine {engine!r} has no"
                " price: correct the name, or add the price",
                name=name,
                engine=unpriced[similar[0]],
            )
    return prices


def measure_costs(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the relevant results of each list, and the price of queries and of relevant results by engine.

    The prices are those of `options`, in US dollars per 1,000 queries, else list prices, if there are any.
    Raises InputError as `parse_engine_costs` does.
    """
    own_prices = parse_engine_costs(options.costs, run.data.engines)
    # A longer list can take further calls.
    shipped = read_list_prices() if run.pool.depth <= LISTED_RESULTS else {}
    listed = {
        name: each for name, each in shipped.items() if name in run.data.engines and name not in own_prices
    }
    prices = {**{name: each.usd for name, each in listed.items()}, **own_prices}
    cutoff = min(_CUTOFF, run.pool.depth)
    relevant = f"relevant@{cutoff}"
    values = {
        key: {relevant: None if share is None else share * cutoff}
        for key, share in score_lists(run, Measure("P", cutoff)).items()
    }
    remarks = tuple(_describe_prices(run, prices, listed))
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


def _describe_prices(
    run: JudgedRun, prices: Mapping[str, float], listed: Mapping[str, ListPrice]
) -> Iterator[Message]:
    """Yield which prices are list prices, and which names and engines have no counterpart."""
    for name, each in listed.items():
        yield Message(
            "{engine}: ${price.usd:.2f} per 1,000 queries is the list price of {day} ({price.source});"
            " --costs ENGINE=USD gives yours.",
            engine=name,
            day=each.as_of.isoformat(),
            price=each,
        )
    if strangers := [name for name in prices if name not in run.data.engines]:
        yield Message("no engine of this run is called {names}", names=SeparatedNames(map(repr, strangers)))
    if unpriced := [name for name in run.data.engines if name not in prices]:
        yield Message(
            "no price is known for {names}; --costs ENGINE=USD gives one",
            names=NameList(map(repr, unpriced)),
        )
