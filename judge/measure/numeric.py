"""Array types, tolerances of rounding, and small functions of numbers that the modules share."""

from collections.abc import Mapping
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from judge.characters import make_natural_key

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.signedinteger[Any]]
Bools = npt.NDArray[np.bool_]
#: Values of measures, and means of values, that are closer than this differ by rounding alone.
TIE = 1e-12
#: The rounding error of a sum, relative to the sum of absolute values; `TIE` is that of single values.
SUM_ROUNDING = 1e-9
#: Digits of a mean that decide the order and ties of engines; means that are equal in theory differ by
#: rounding.
_ORDERING_DIGITS = 9


def rank_engines(means: Mapping[str, float | None]) -> list[str]:
    """Return the engines, highest mean first, those without a mean last; equal ones by their names."""
    return sorted(means, key=lambda engine: (make_mean_key(means[engine]), make_natural_key(engine)))


def make_mean_key(mean: float | None) -> float:
    """Return the key that sorts the highest mean first and a missing one last; tied means have one key."""
    return inf if mean is None or isnan(mean) else -round(mean, _ORDERING_DIGITS)


def divide(dividend: Floats, divisor: Floats, otherwise: float | Floats) -> Floats:
    """Return `dividend / divisor`, and `otherwise` where the divisor is not above 0."""
    shape = np.broadcast_shapes(np.shape(dividend), np.shape(divisor))
    out = np.full(shape, otherwise, dtype=np.float64)
    return np.divide(dividend, divisor, out=out, where=divisor > 0)


def divide_sums(sums: Floats) -> Floats:
    """Return the first of (..., 2) sums divided by the second, NaN where that is not above 0."""
    return divide(sums[..., 0], sums[..., 1], np.nan)


def convert_non_finite(value: float | np.float64) -> float | None:
    """Return `value`, None for NaN and infinity."""
    return float(value) if isfinite(value) else None


def list_distinct(values: Ints) -> Ints:
    """Return the distinct values, sorted."""
    # Without counts, `np.unique` imports numpy.ma, which takes a tenth of a second.
    return np.unique(values, return_counts=True)[0]
