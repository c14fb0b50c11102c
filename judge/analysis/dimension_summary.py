"""The summary of a dimension: means and notes by engine, and how they follow from values by query.

The names of the fields of `DimensionSummary` are keys of summary.json. A field is None where the value is
unknown. The values of dimensions never enter the measures of relevance.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType

import numpy as np

from judge.dataset.clean import clean_query
from judge.measure.intervals import Interval, compute_t_interval
from judge.messages import MeasureName, Message
from judge.pricing.costs import RunCost
from judge.records import ListKey, Query

#: The most characters of a note.
_MAX_NOTE = 4_000

#: The measure of the dimension `costs` that is the price of an engine.
PRICE = "USD/1000 queries"
#: The values of an engine on a query by measure, None where unknown.
QueryValues = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class DimensionMean:
    """The mean of a measure for one engine over the `queries` with a value, None where there is none.

    `ci95` is a t interval over the queries, None for fewer than 2 and where all values are equal.
    """

    mean: float | None
    ci95: Interval | None
    queries: int


@dataclass(frozen=True, slots=True)
class DimensionNote:
    """What a dimension says in words of an engine on a query, or of a query where the engine is None."""

    query_id: str
    query: str
    engine: str | None
    text: str


def make_note(query: Query, engine: str | None, text: str, heading: str = "") -> DimensionNote:
    """Return a note whose text, often that of a model, has no control character, on one line.

    The `heading` before it is the name of a measure of the dimension.
    """
    text = clean_query(text, max_chars=_MAX_NOTE)
    if heading:
        text = Message("{name}: {value}", name=MeasureName(heading), value=text)
    return DimensionNote(query.id, query.raw_text, engine, text)


@dataclass(frozen=True, slots=True)
class EnginePair:
    """The mean of a measure that compares the lists of two engines."""

    a: str
    b: str
    measure: str
    mean: DimensionMean


@dataclass(frozen=True, slots=True)
class DimensionSummary:
    """A dimension in summary.json: means by engine and measure, and by pair of engines.

    The most important note is first. `cost` is the cost of its questions; the cost of the run contains it.
    """

    engines: Mapping[str, Mapping[str, DimensionMean]]
    remarks: tuple[str, ...] = ()
    notes: tuple[DimensionNote, ...] = ()
    pairs: tuple[EnginePair, ...] = ()
    cost: RunCost | None = None

    @property
    def measures(self) -> list[str]:
        """The names of the measures, in the order of the first engine that has them."""
        return list(dict.fromkeys(name for means in self.engines.values() for name in means))

    def group_engine_pairs(self, order: Sequence[str]) -> dict[str, list[EnginePair]]:
        """Return the pairs of engines by measure, in the `order` of the engines."""
        by_measure: dict[str, list[EnginePair]] = {}
        for engine_pair in sorted(self.pairs, key=lambda pair: sorted(map(order.index, (pair.a, pair.b)))):
            by_measure.setdefault(engine_pair.measure, []).append(engine_pair)
        return by_measure

    def find_mean(self, engine: str, measure: str) -> DimensionMean:
        """Return the mean of an engine by a measure, an unknown one where there is none."""
        return self.engines.get(engine, {}).get(measure, DimensionMean(None, None, 0))


@dataclass(frozen=True, slots=True)
class DimensionResult:
    """A dimension of a run: its summary, and the values by (engine, query_id)."""

    summary: DimensionSummary
    values: Mapping[ListKey, QueryValues] = field(default_factory=dict)


def average_values(
    values: Iterable[float | None], smallest: float = 0.0, largest: float = inf
) -> DimensionMean:
    """Return the mean of the values that are known, with its t interval cut at `smallest` and `largest`."""
    # Sorted, so that the order of the queries changes no digit.
    numbers = np.array(sorted(value for value in values if value is not None), dtype=np.float64)
    if not numbers.size:
        return DimensionMean(None, None, 0)
    # Equal values say nothing of how far others are from them.
    interval = compute_t_interval(numbers, smallest, largest) if numbers[0] < numbers[-1] else None
    return DimensionMean(float(numbers.mean()), interval, numbers.size)


def summarise_dimension(
    values: Mapping[ListKey, QueryValues],
    engines: Iterable[str],
    remarks: Iterable[str] = (),
    notes: Iterable[DimensionNote] = (),
    ranges: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    engine_pairs: Iterable[EnginePair] = (),
) -> DimensionResult:
    """Return the result of a dimension whose means are over the queries with a value.

    `ranges` are the lowest and the highest value of measures, where they are not 0 and 1.
    """
    measures = list(dict.fromkeys(name for row in values.values() for name in row))
    by_engine: dict[str, list[QueryValues]] = {engine: [] for engine in engines}
    for (engine, _), row in values.items():
        by_engine[engine].append(row)
    means = {
        engine: {
            name: average_values((row.get(name) for row in rows), *ranges.get(name, (0.0, 1.0)))
            for name in measures
        }
        for engine, rows in by_engine.items()
    }
    return DimensionResult(DimensionSummary(means, tuple(remarks), tuple(notes), tuple(engine_pairs)), values)
