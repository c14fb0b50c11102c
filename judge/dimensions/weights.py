"""Weighted total of relevance and other dimensions, for those who give weights. It makes no call.

Each part is a value from 0 to 1 of a list, and the total is their weighted mean. Relevance is the first
measure of the run. A list where a part is unknown has no total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from judge.analysis.dimension_result import (
    DimensionResult,
    EnginePair,
    average_values,
    summarise_dimension,
)
from judge.analysis.loaded_run import LoadedRun
from judge.analysis.run_analysis import score_run
from judge.dimensions import DimensionOptions
from judge.measure.formulas import finite_or_none, largest_value
from judge.messages import Message
from judge.records import RELEVANCE, WEIGHTED_DIMENSIONS

TOTAL = "total"
#: The values of one part by (engine, query_id).
Values = Mapping[tuple[str, str], float | None]


@dataclass(frozen=True, slots=True)
class Part:
    """The measure of a dimension that enters the total; `worst` is scaled to 0, `best` to 1."""

    measure: str
    worst: float
    best: float


_PARTS = {
    "recall": Part("weighted", 0.0, 1.0),
    "quality": Part("quality", 1.0, 5.0),
    "diversity": Part("similarity", 1.0, 0.0),
}


def measure_total(run: LoadedRun, options: DimensionOptions) -> DimensionResult:
    """Return the total of each list, and its mean difference between every two engines.

    There is no total where the run lacks a dimension that has a weight.
    """
    weights = {name: float(weight) for name, _, weight in (each.partition("=") for each in options.weights)}
    lacking = [
        name for name in map(WEIGHTED_DIMENSIONS.__getitem__, weights) if name and name not in run.dimensions
    ]
    if lacking:
        remark = Message(
            "no total: the run does not have {names}",
            names=", ".join(f"--{name.replace('_', '-')}" for name in lacking),
        )
        return summarise_dimension({}, run.data.engines, (remark,))
    parts = {name: _read_part(run, name) for name in weights}
    values = {
        key: {TOTAL: _average([(part[key], weights[name]) for name, part in parts.items()])}
        for key in next(iter(parts.values()))
        if all(key in part for part in parts.values())
    }
    pairs = [_compare_totals(run, values, a, b) for a, b in combinations(run.data.engines, 2)]
    shares = ", ".join(f"{name} {weight / sum(weights.values()):.3g}" for name, weight in weights.items())
    remark = Message("shares: {shares}", shares=shares)
    return summarise_dimension(
        values, run.data.engines, (remark,), ranges={TOTAL: (0.0, 1.0)}, pairs=tuple(pairs)
    )


def _read_part(run: LoadedRun, name: str) -> Values:
    """Return the values of a part, from 0 to 1."""
    if name == RELEVANCE:
        return _score_relevance(run)
    part, rows = _PARTS[name], run.dimensions[WEIGHTED_DIMENSIONS[name]].values
    known = {key: row.get(f"{part.measure}@{run.pool.depth}") for key, row in rows.items()}
    return {
        key: None if value is None else (value - part.worst) / (part.best - part.worst)
        for key, value in known.items()
    }


def _score_relevance(run: LoadedRun) -> Values:
    """Return the values of the first measure, divided by the largest one that it can have."""
    measure = run.spec.measures[0]
    scores = score_run(run, [measure])
    value, _, _ = scores.average_repeats()
    largest = largest_value(measure, run.spec.scale, run.pool.depth)
    return {
        (engine, query_id): finite_or_none(value[row, column, 0] / largest)
        for row, engine in enumerate(scores.engines)
        for column, query_id in enumerate(scores.queries)
    }


def _average(parts: list[tuple[float | None, float]]) -> float | None:
    """Return the mean of values by their weights, None where one is unknown."""
    total = 0.0
    for value, weight in parts:
        if value is None:
            return None
        total += value * weight
    return total / sum(weight for _, weight in parts)


def _compare_totals(
    run: LoadedRun, values: Mapping[tuple[str, str], Mapping[str, float | None]], a: str, b: str
) -> EnginePair:
    """Return the mean difference of the totals of two engines, over the queries where both have one."""
    rows = [(values.get((a, query_id)), values.get((b, query_id))) for query_id in run.data.queries]
    totals = [(row_a[TOTAL], row_b[TOTAL]) for row_a, row_b in rows if row_a and row_b]
    differences = [
        total_a - total_b for total_a, total_b in totals if total_a is not None and total_b is not None
    ]
    return EnginePair(a, b, "total, difference", average_values(differences, -1.0, 1.0))
