"""The correction of one mean: people's values on some queries, the assessor's on all.

Prediction-powered inference takes the assessor's mean over the rest and adds its mean error on the
labelled queries, so that its bias cancels: a good assessor narrows the interval, a bad one leaves it as
wide as people's values alone make it. This holds when the labelled queries are a random sample.
(Angelopoulos et al., Science 2023; PPI++: Angelopoulos, Duchi & Zrnic, arXiv 2311.01453.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.measure.formulas import Floats, divide

#: Numbers closer than this differ by rounding.
TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean over queries as people's grades would have it, with its interval and standard error.

    `weight` is PPI++'s lambda, from 0 (people's grades alone) to 1. `labelled` queries have a value by
    people's grades; `undefined` ones were labelled, too, but have none; `rest` counts the others. On
    `filled` of all these queries the assessor's grades give no value. `p` is of the two-sided t test
    that the mean is 0, which asks something of differences only. `low`, `high` and `p` are None where
    the labelled queries are all alike: then nothing says how far others differ.
    """

    estimate: float
    low: float | None
    high: float | None
    se: float
    weight: float
    labelled: int
    undefined: int
    rest: int
    filled: int
    p: float | None


@dataclass(frozen=True, slots=True)
class LabelledSample:
    """Values of one engine, or differences of two: by people and assessor (labelled,), and on the rest."""

    engines: tuple[str, ...]
    human: Floats
    assessor: Floats
    rest: Floats

    @property
    def usable(self) -> int:
        """How many labelled queries have a value by people's grades."""
        return int((~np.isnan(self.human)).sum())

    @property
    def seen(self) -> Floats:
        """The assessor's values on all queries that have one."""
        everywhere: Floats = np.concatenate([self.assessor, self.rest])
        return everywhere[~np.isnan(everywhere)]

    @property
    def lead(self) -> int:
        """1 where the first engine is ahead by the assessor, -1 where the second is, 0 for a tie."""
        difference = self.seen.mean() if self.seen.size else 0.0
        return int(np.sign(difference)) if abs(difference) > TOLERANCE else 0


def correct_mean(sample: LabelledSample, level: float) -> Corrected:
    """Return the mean by people's grades: PPI++ with the weight that its power tuning finds, from 0 to 1.

    The interval holds the mean with probability `level`, by the t distribution with one degree of freedom
    fewer than queries with a value by people. The labelled queries' part of its variance is the
    jackknife's, which fits the weight anew without each of them (Sitter 1997, JASA 92, 780, for the
    regression estimator from two samples): a weight that is taken as given makes the interval cover too
    rarely when few queries are labelled. The variance of the assessor's values, by which the weight
    divides, is taken over all queries: over the labelled ones alone it would overrate an assessor whose
    rare gross errors none of them shows. The weight is 0, and the answer that of a t test on people's
    values, when the assessor's are all equal or the rest has fewer than 2.

    People need a value on at least 2 labelled queries, the assessor on at least 1. Either may be NaN
    elsewhere: see `judge.measure.calibrate.calibrate` for why that is sound.
    """
    from scipy.special import stdtrit

    known = ~np.isnan(sample.human)
    n, size, rest = sample.usable, sample.human.size, sample.rest.size
    mean = float(sample.human[known].mean())
    # Both are 0 where there is no value, and divided by how many queries have one (a ratio's influence).
    error = np.where(known, sample.human - mean, 0.0) * size / n
    everywhere = np.concatenate([sample.assessor, sample.rest])
    centred = np.where(np.isnan(everywhere), 0.0, everywhere - sample.seen.mean()) * size / n
    here, there = centred[:size], centred[size:]
    weight, without = _tune_weight(error, here, there)
    # With one degree of freedom for each query that has a value: over these it is the variance of a mean.
    variance = float(np.var(without)) * (size - 1) ** 2 / size * n / (n - 1)
    if weight:
        mean += weight * float(there.mean() - here.mean())
        variance += weight**2 * float(there.var(ddof=1)) / rest
    se = variance**0.5 if variance > TOLERANCE**2 else 0.0
    margin = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return Corrected(
        estimate=mean,
        low=mean - margin if se else None,
        high=mean + margin if se else None,
        se=se,
        weight=weight,
        labelled=n,
        undefined=size - n,
        rest=rest,
        filled=everywhere.size - sample.seen.size,
        p=_two_sided_p(mean, se, n - 1),
    )


def _tune_weight(error: Floats, here: Floats, there: Floats) -> tuple[float, Floats]:
    """The weight with the least variance, and the estimate's shift without each labelled query.

    The weight is cov(y, f) / ((1 + n/N) var f), kept within 0 and 1. The shifts are (labelled,).
    """
    # The first entry leaves nothing out, each other one a labelled query.
    left = error.size - np.concatenate([[0.0], np.ones(error.size)])
    errors, values, products, squares = (
        array.sum() - np.concatenate([[0.0], array]) for array in (error, here, error * here, here**2)
    )
    if there.size < 2 or np.ptp(np.concatenate([here, there])) <= TOLERANCE:
        return 0.0, errors[1:] / left[1:]
    every = left + there.size
    covariance = (products - errors * values / left) / np.maximum(1, left - 1)
    variance = (squares + there @ there - (values + there.sum()) ** 2 / every) / (every - 1)
    weight = np.clip(divide(covariance, (1 + left / there.size) * variance, 0.0), 0.0, 1.0)
    shift = errors / left + weight * (there.mean() - values / left)
    return float(weight[0]), shift[1:]


def _two_sided_p(mean: float, se: float, freedom: int) -> float | None:
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(mean) / se)) if se else None
