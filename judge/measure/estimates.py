"""Owns the record of a number that is known within an interval, or for a reason isn't known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from judge.measure.formulas import Floats
from judge.measure.resampling import clustered_intervals

#: What turns sums (..., cells) into values (...), NaN where undefined; and why it would be.
Statistic = tuple[Callable[[Floats], Floats], str]

_ONE_QUERY = "it comes from one query, which gives no range"
_RARELY = "with other queries it would often be undefined, so no range can be given"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic and its 95 % interval over queries; `why` says what keeps either from being known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


def estimate(cells: Floats, statistic: Callable[[Floats], Floats], why: str) -> Estimate:
    """One statistic, as `estimates` gives it."""
    return estimates(cells, {"": (statistic, why)})[""]


def estimates(cells: Floats, statistics: Mapping[str, Statistic]) -> dict[str, Estimate]:
    """Each statistic of the summed `cells` (queries, cells), all over the same resamples of queries."""
    functions = [function for function, _ in statistics.values()]
    intervals = clustered_intervals(cells, functions)
    return {
        name: _estimate(float(function(cells.sum(0))), interval, why, len(cells))
        for (name, (function, why)), interval in zip(statistics.items(), intervals, strict=True)
    }


def _estimate(value: float, interval: tuple[float, float] | None, why: str, queries: int) -> Estimate:
    if np.isnan(value):
        return Estimate(None, why=why)
    if interval is None:
        return Estimate(value, why=_ONE_QUERY if queries < 2 else _RARELY)
    return Estimate(value, *interval)
