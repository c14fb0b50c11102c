"""Weighted total of relevance and other dimensions, for those who give weights. It makes no call.

Each part is a value from 0 to 1 of a list, and the total is their weighted mean. Relevance is the first
measure of the run. A list where a part is unknown has no total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.analysis.judged_run import JudgedRun, score_lists
from judge.analysis.summary import DimensionResult, EnginePair, average_values, summarise_dimension
from judge.dimensions import DimensionOptions
from judge.measure.formulas import find_largest_value
from judge.messages import Message, SeparatedNames
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


def measure_total(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
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
            names=SeparatedNames(f"--{name.replace('_', '-')}" for name in lacking),
        )
        return summarise_dimension({}, run.data.engines, (remark,))
    parts = {name: _read_part(run, name) for name in weights}
    totals: dict[tuple[str, str], float | None] = {}
    first, *others = parts.values()
    for key in (each for each in first if all(each in part for part in others)):
        of_list = [value for part in parts.values() if (value := part[key]) is not None]
        is_known = len(of_list) == len(parts)
        totals[key] = float(np.average(of_list, weights=list(weights.values()))) if is_known else None
    pairs = []
    for a, b in combinations(run.data.engines, 2):
        both = [(totals.get((a, query_id)), totals.get((b, query_id))) for query_id in run.data.queries]
        differences = [one - other for one, other in both if one is not None and other is not None]
        pairs.append(EnginePair(a, b, "total, difference", average_values(differences, -1.0, 1.0)))
    names = {**dict(zip(weights, weights, strict=True)), RELEVANCE: f"{RELEVANCE} ({run.spec.measures[0]})"}
    shares = SeparatedNames(
        f"{names[name]} {weight / sum(weights.values()):.3g}" for name, weight in weights.items()
    )
    values = {key: {TOTAL: total} for key, total in totals.items()}
    remark = Message("shares: {shares}", shares=shares)
    return summarise_dimension(values, run.data.engines, (remark,), pairs=tuple(pairs), largest=1.0)


def _read_part(run: JudgedRun, name: str) -> Values:
    """Return the values of a part, from 0 to 1."""
    if name == RELEVANCE:
        measure = run.spec.measures[0]
        largest = find_largest_value(measure, run.spec.scale, run.pool.depth)
        scores = score_lists(run, measure)
        return {key: None if value is None else value / largest for key, value in scores.items()}
    part, rows = _PARTS[name], run.dimensions[WEIGHTED_DIMENSIONS[name]].values
    values = {key: row.get(f"{part.measure}@{run.pool.depth}") for key, row in rows.items()}
    return {
        key: None if value is None else (value - part.worst) / (part.best - part.worst)
        for key, value in values.items()
    }
