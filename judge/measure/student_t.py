"""The quantile of Student's t distribution for 95 % intervals.

The import of scipy.special takes longer than scoring a small run. Most runs need no other function of it.
"""

from __future__ import annotations

from functools import cache
from math import atan, exp, lgamma, log1p, pi, sqrt
from statistics import NormalDist

_LEVEL = 0.95
#: From so many degrees of freedom on, the expansion is exact to 14 digits.
_MANY = 1_000


@cache
def t_quantile(df: int) -> float:
    """Return the 97.5 % quantile with `df` degrees of freedom, 1 or more.

    Abramowitz and Stegun 1964: 26.7.5 expands it around the quantile of the normal distribution. For few
    degrees of freedom, Newton's method solves the sums 26.7.3 (odd) and 26.7.4 (even) of the distribution.
    """
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    if df >= _MANY:
        square = z * z
        terms = (
            (square + 1) / 4,
            ((5 * square + 16) * square + 3) / 96,
            (((3 * square + 19) * square + 17) * square - 15) / 384,
            ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92_160,
        )
        return z + z * sum(term / float(df) ** power for power, term in enumerate(terms, start=1))
    density_at_0 = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    t, following = 0.0, z
    # The quantile is above that of the normal distribution, and each step ends below it until it is reached.
    while following > t:
        t = following
        cosine_squared = df / (df + t * t)
        term, total = sqrt(cosine_squared) if df % 2 else 1.0, 0.0
        for factor in range(2 if df % 2 else 1, df, 2):
            total += term
            term *= cosine_squared * factor / (factor + 1)
        central = t / sqrt(df + t * t) * total
        if df % 2:
            central = (central + atan(t / sqrt(df))) * 2 / pi
        density = density_at_0 * exp(-(df + 1) / 2 * log1p(t * t / df))
        following = t + (_LEVEL - central) / (2 * density)
    return t
