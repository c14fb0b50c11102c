"""Owns planning: how small a difference a number of queries can show, and how many queries one asks for.

Both are for the two-sided paired t test, whose power is known in closed form; the randomisation test
that comparisons use has practically the same (Smucker et al. 2007).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

#: Nobody judges more queries than this.
_MOST = 10_000_000
#: Means further from 0, in standard errors, are taken as exact: only their standard error is uncertain.
_EXACT = 1e4


def detectable(sd: float, queries: int, *, level: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true mean difference that a test at `level` finds with probability `power`.

    `sd` is the standard deviation of the difference on a query. 0.0 when it is 0; None when it is NaN
    or there are fewer than two queries. `power` lies between `level` and 1.
    """
    if queries < 2 or math.isnan(sd):
        return None
    return sd * _noncentrality(queries, level, power) / math.sqrt(queries)


def queries_needed(sd: float, difference: float, *, level: float = 0.05, power: float = 0.8) -> int | None:
    """The fewest queries on which a test at `level` finds a true mean `difference` with probability `power`.

    `sd` is the standard deviation of the difference on a query. None when either is 0 or NaN, or when
    10 million queries aren't enough. `power` lies between `level` and 1.
    """
    if not (sd > 0 and abs(difference) > 0):
        return None
    effect = abs(difference) / sd

    def enough(queries: int) -> bool:
        return _power(effect * math.sqrt(queries), queries, level) >= power

    if not enough(_MOST):
        return None
    return 2 + bisect_left(range(2, _MOST), True, key=enough)


@lru_cache
def _noncentrality(queries: int, level: float, power: float) -> float:
    """The mean in units of its standard error at which the t test has that power, to 12 digits."""
    low, high = 0.0, 1.0
    while _power(high, queries, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, queries, level) < power else (low, middle)
    return high


def _power(noncentrality: float, queries: int, level: float) -> float:
    """The probability that the paired t test at `level` finds a difference (Cohen 1988, noncentral t)."""
    from scipy.special import chdtr, nctdtr, stdtrit

    freedom = queries - 1
    critical = -stdtrit(freedom, level / 2)
    if noncentrality > _EXACT:
        # The noncentral t is slow and then fails here, where two queries meet a strict level.
        return float(chdtr(freedom, freedom * (noncentrality / critical) ** 2))
    tails = (nctdtr(freedom, noncentrality, end) for end in (-critical, critical))
    # It gives NaN for some tails that are thinner than 1e-14.
    lower, up_to = (0.0 if math.isnan(tail) else float(tail) for tail in tails)
    return 1 - up_to + lower
