"""Confidence intervals: their level and records, the t interval of a mean, Wilson's interval of a share."""

from dataclasses import dataclass
from functools import cache
from math import atan, exp, lgamma, log1p, pi, sqrt
from statistics import NormalDist

import numpy as np

from judge.measure.numeric import Floats

#: The largest probability of a false alarm of a test, and the level of intervals.
ALPHA, LEVEL = 0.05, 0.95
#: The normal quantile of a 95% interval.
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
#: The two ends of a 95% interval, or the lowest and the highest possible value.
Interval = tuple[float, float]


def make_finite_interval(low: float, high: float) -> Interval | None:
    """Return both ends of an interval, None where one is NaN or infinite."""
    return (float(low), float(high)) if np.isfinite([low, high]).all() else None


def hide_whole_range(interval: Interval | None) -> Interval | None:
    """Return the interval, None for the whole range (-1 to 1, wider for DCG), which says nothing."""
    return None if interval is None or interval[1] == -interval[0] >= 1 else interval


@dataclass(frozen=True, slots=True)
class StatisticValue:
    """A statistic with its 95% interval over queries; `why` says why one of the two is unknown."""

    value: float | None
    ci95: Interval | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class CountedShare:
    """`count` of `of` pairs, as a share with its 95% interval."""

    count: int
    of: int
    value: float | None
    ci95: Interval | None


def measure_share(count: int, of: int) -> CountedShare:
    """Return the share `count` of `of`; value and interval are None when `of` is 0.

    The 95% interval (Wilson 1927) is valid for a share of 0 or 1, too.
    """
    if not of:
        return CountedShare(count, of, None, None)
    share = count / of
    middle = share + _Z**2 / (2 * of)
    reach = _Z * sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    low, high = ((middle + sign * reach) / (1 + _Z**2 / of) for sign in (-1, 1))
    # Rounding would leave a limit just above 0 or below 1.
    return CountedShare(count, of, share, (low if count else 0.0, high if count < of else 1.0))


def compute_t_interval(values: Floats, smallest: float, largest: float) -> Interval | None:
    """Return the 95% t interval of the mean of `values`, cut at the possible ones; None for fewer than 2."""
    if values.size < 2:
        return None
    mean = float(values.mean())
    reach = t_quantile(values.size - 1) * float(values.std(ddof=1)) / sqrt(values.size)
    return make_finite_interval(max(mean - reach, smallest), min(mean + reach, largest))


@cache
def t_quantile(df: int) -> float:
    """Return the 97.5% quantile with `df` degrees of freedom, 1 or more.

    Newton's method solves the sums 26.7.3 (odd) and 26.7.4 (even) of Abramowitz and Stegun 1964.
    """
    # The import of scipy.special takes longer than scoring a small run, and most runs need no more of it.
    density_at_0 = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    factor = np.arange(2 if df % 2 else 1, df, 2)
    t, following = 0.0, _Z
    # The quantile is above that of the normal distribution, and each step ends below it until it is reached.
    while following > t:
        t = following
        cosine_squared = df / (df + t * t)
        first = sqrt(cosine_squared) if df % 2 else 1.0
        terms = np.cumprod(np.append(first, cosine_squared * factor / (factor + 1)))[:-1]
        central = t / sqrt(df + t * t) * float(terms.sum())
        if df % 2:
            central = (central + atan(t / sqrt(df))) * 2 / pi
        density = density_at_0 * exp(-(df + 1) / 2 * log1p(t * t / df))
        following = t + (LEVEL - central) / (2 * density)
    return t
