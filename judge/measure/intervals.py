"""Owns the record of a number that is known within an interval, or for a reason isn't known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.formulas import Floats
from judge.measure.resampling import bootstrap_intervals

#: What turns sums (..., cells) into values (...), NaN where undefined; and why it would be.
Statistic = tuple[Callable[[Floats], Floats], str]

_LEVEL = 0.95
_ONE_QUERY = "it comes from one query, which gives no range"
_RARELY_DEFINED = "with other queries it would often be undefined, so no range can be given"


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A statistic and its 95 % interval over queries; `why` says what keeps either from being known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


def estimate_statistic(
    cells: Floats, statistic: Callable[[Floats], Floats], why: str, *, share: bool = False
) -> IntervalEstimate:
    """One statistic, as `estimates` gives it; `share` says that it is a share."""
    return estimate_statistics(cells, {"": (statistic, why)}, shares=("",) if share else ())[""]


def estimate_statistics(
    cells: Floats, statistics: Mapping[str, Statistic], shares: Collection[str] = ()
) -> dict[str, IntervalEstimate]:
    """Each statistic of the summed `cells` (queries, cells), all over the same resamples of queries.

    Those named in `shares` are shares of something that is counted, and keep an interval at 0 and at 1.
    """
    functions = [function for function, _ in statistics.values()]
    intervals = bootstrap_intervals(cells, functions, level=_LEVEL)
    found = {
        name: _make_estimate(float(function(cells.sum(0))), interval, why, len(cells))
        for (name, (function, why)), interval in zip(statistics.items(), intervals, strict=True)
    }
    return found | {name: _widen_share(found[name], cells, statistics[name][0]) for name in shares}


def _widen_share(
    share: IntervalEstimate, cells: Floats, statistic: Callable[[Floats], Floats]
) -> IntervalEstimate:
    """A share of all or nothing with the end that so many queries without an exception leave possible.

    No resample holds what no query has. The queries are the trials (Clopper & Pearson 1934): those on
    which there is something to count.
    """
    if share.low is None or share.value not in (0.0, 1.0):
        return share
    trials = int((~np.isnan(statistic(cells))).sum())
    likely = ((1 - _LEVEL) / 2) ** (1 / trials)
    return replace(share, high=1 - likely) if share.value == 0 else replace(share, low=likely)


def _make_estimate(
    value: float, interval: tuple[float, float] | None, why: str, queries: int
) -> IntervalEstimate:
    if np.isnan(value):
        return IntervalEstimate(None, why=why)
    if interval is None:
        return IntervalEstimate(value, why=_ONE_QUERY if queries < 2 else _RARELY_DEFINED)
    return IntervalEstimate(value, *interval)
