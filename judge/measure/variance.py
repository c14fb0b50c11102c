"""Owns what scores vary with: queries, engines, repeats.

Values have no NaN: queries that lack one are the caller's to leave out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.measure.formulas import Floats

#: A variance that is smaller than this share of the squared range of the values is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of a score: of queries, of engines, of engines' strengths on single queries, of repeats.

    `noise` is what repeats of one query and engine differ by; averaging over repeats divides it alone.
    """

    query: float
    engine: float
    query_engine: float
    noise: float


def icc(values: Floats) -> float | None:
    """The intraclass correlation ICC(A,1) of (queries, repeats): how much of the variance is the queries'.

    Two-way random effects, absolute agreement, a single repeat (McGraw & Wong 1996; Shrout & Fleiss'
    ICC(2,1)). None for fewer than 2 queries or repeats, and where nothing varies.
    """
    queries, repeats = values.shape
    if min(queries, repeats) < 2 or not np.ptp(values):
        return None
    mean, of_query, of_repeat = values.mean(), values.mean(1), values.mean(0)
    between_queries = repeats * np.square(of_query - mean).sum() / (queries - 1)
    between_repeats = queries * np.square(of_repeat - mean).sum() / (repeats - 1)
    left = np.square(values - of_query[:, None] - of_repeat + mean).sum() / ((queries - 1) * (repeats - 1))
    total = between_queries + (repeats - 1) * left + repeats * (between_repeats - left) / queries
    # Two queries that change places between two repeats leave no variance to take a share of.
    return float((between_queries - left) / total) if total > _ROUNDING * np.ptp(values) ** 2 else None


def estimate_components(values: Floats) -> VarianceComponents | None:
    """The variance components of (queries, engines, repeats), by the method of moments.

    Mean squares of the random-effects analysis of variance with repeats nested in query x engine, solved
    for the variances; a negative solution is 0. None when there are fewer than 2 of any.
    """
    queries, engines, repeats = values.shape
    if min(values.shape) < 2:
        return None
    mean, cell = values.mean(), values.mean(2)
    of_query, of_engine = cell.mean(1), cell.mean(0)
    apart = cell - of_query[:, None] - of_engine + mean
    by_query = engines * repeats * np.square(of_query - mean).sum() / (queries - 1)
    by_engine = queries * repeats * np.square(of_engine - mean).sum() / (engines - 1)
    by_both = repeats * np.square(apart).sum() / ((queries - 1) * (engines - 1))
    noise = np.square(values - cell[:, :, None]).sum() / (queries * engines * (repeats - 1))
    return VarianceComponents(
        query=max(0.0, float(by_query - by_both) / (engines * repeats)),
        engine=max(0.0, float(by_engine - by_both) / (queries * repeats)),
        query_engine=max(0.0, float(by_both - noise) / repeats),
        noise=float(noise),
    )


def compute_equivalence_p(differences: Floats, margin: float) -> float | None:
    """How likely so small a mean difference is if the true one is `margin` or more, either way.

    The larger p of two one-sided paired t tests (Schuirmann 1987). Where all differences are equal it is
    0 inside the margin and 1 from it on. None for fewer than 2 differences. Raises `ValueError` when
    `margin` is not above 0.
    """
    if not margin > 0:
        raise ValueError(f"margin is {margin}; it must be above 0")
    n = differences.size
    if n < 2:
        return None
    excess = abs(float(differences.mean())) - margin
    if not np.ptp(differences):
        return 0.0 if abs(float(differences[0])) < margin else 1.0
    from scipy.special import stdtr

    return float(stdtr(n - 1, excess / (differences.std(ddof=1) / np.sqrt(n))))
