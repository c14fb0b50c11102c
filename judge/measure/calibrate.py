"""Owns correcting the assessor: what engines would score by people's grades, from grades on some queries.

The unit is the query. On the labelled queries a measure has a value y by people's grades and a value f
by the assessor's; on the rest only f. Prediction-powered inference takes what the assessor says about
the rest and adds what it was wrong by on the labelled queries, so that its bias cancels: a good assessor
narrows the interval, a bad one leaves it as wide as people's grades alone make it. This holds when the
labelled queries are a random sample; `plan` draws one.
(Angelopoulos et al., Science 2023; PPI++: Angelopoulos, Duchi & Zrnic, arXiv 2311.01453.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import Bools, Floats
from judge.measure.resampling import holm

#: With fewer labelled queries nothing is corrected, with fewer than enough a warning is given.
LEAST_LABELLED = 20
ENOUGH_LABELLED = 50
#: How often an order may be called confirmed or reversed by chance: over all pairs of engines.
ALPHA = 0.05
#: Numbers closer than this differ by rounding.
_ROUNDING = 1e-12

Outcome = Literal["confirmed", "reversed", "open"]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean over queries as people's grades would have it, with its interval and standard error.

    `weight` is PPI++'s lambda, from 0 (people's grades alone) to 1. `labelled` queries have a value by
    people's grades; `undefined` ones were labelled, too, but have none; `rest` counts the others. On
    `filled` of all these queries the assessor's grades give no value. `p` is of the two-sided t test
    that the mean is 0, which asks something of differences only.
    """

    estimate: float
    low: float
    high: float
    se: float
    weight: float
    labelled: int
    undefined: int
    rest: int
    filled: int
    p: float


@dataclass(frozen=True, slots=True)
class CorrectedEngine:
    """An engine's mean by the assessor's grades, over `assessor_n` queries, and the corrected one."""

    engine: str
    assessor: float
    assessor_n: int
    corrected: Corrected


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """How engine `a` stands to `b`, which by the assessor's grades is not better; ties go by name.

    `assessor` is the mean of a - b by the assessor's grades over the `assessor_n` queries where both
    have a value, `corrected` the mean of a - b by people's. `p_holm` is its p adjusted over all pairs
    (Holm 1979). The `outcome` says what became of the assessor's order: confirmed or reversed when
    `p_holm` is below 0.05, else open.
    """

    a: str
    b: str
    assessor: float
    assessor_n: int
    corrected: Corrected
    p_holm: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Calibration:
    """Engines and pairs of engines, each in the order of names, and what a reader should be warned of."""

    engines: tuple[CorrectedEngine, ...]
    pairs: tuple[CorrectedPair, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
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


def corrected_mean(human: Floats, assessor: Floats, rest: Floats, *, level: float = 0.95) -> Corrected:
    """The mean by people's grades, from `human` and `assessor` (labelled,) and the assessor's `rest`.

    PPI++ with the weight that its power tuning finds, between 0 and 1, and an interval that holds the
    mean with probability `level` by the t distribution with one degree of freedom fewer than labelled
    queries. The variance of the assessor's values, by which the weight divides, is taken over all
    queries: over the labelled ones alone it would overrate an assessor whose rare gross errors none of
    them shows. The weight is 0, and the answer that of a t test on people's values, when the assessor's
    are all equal or the rest has fewer than 2. Labelled queries that are all alike leave an interval of
    no width, and a p of 0, or of 1 where the mean is 0.

    Raises `ValueError` when arrays don't fit together, hold NaN or infinity or fewer than 2 labelled
    queries, and when `level` is not between 0 and 1.
    """
    if human.ndim != 1 or rest.ndim != 1 or human.shape != assessor.shape or human.size < 2:
        shapes = f"{human.shape}, {assessor.shape} and {rest.shape}"
        raise ValueError(f"expected (labelled,), (labelled,), (rest,), at least 2 labelled; got {shapes}")
    if not all(np.isfinite(array).all() for array in (human, assessor, rest)):
        raise ValueError("every value must be finite")
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, not {level}")
    return _corrected(_Sample((), human, assessor, rest), level)


def calibrate(engines: Sequence[str], labelled: Bools, human: Floats, assessor: Floats) -> Calibration:
    """Means and paired differences of `engines` as people's grades would have them.

    `human` and `assessor` (engines, queries) hold one measure by either's grades, NaN where it has no
    value; `labelled` (queries,) marks where people graded the whole pool, elsewhere `human` is ignored.
    The labelled queries must be a random sample of all.

    What is estimated is the mean over those queries where people's grades give a value. nDCG and AP
    have none where nothing in the pool is relevant, and people and assessor disagree on where that is.
    Leaving out a query where either has no value would shift the mean: on the rest nobody knows what
    people would leave out. So each keeps to its own. A labelled query without a value by people says
    only how common such queries are; one without a value by the assessor takes the assessor's mean,
    which is sound because the assessor's value may be any number that is made in the same way on
    labelled queries and on the rest. (PPI++ for a ratio, linearised by the delta method; where every
    value is known it is `corrected_mean`. An engine that broke on a query has no value by either.)

    Raises `InputError` when fewer than `LEAST_LABELLED` labelled queries have a value by people for an
    engine or a pair of engines, or no query has one by the assessor; `ValueError` when the arrays don't
    fit together or hold infinity.
    """
    _check(engines, labelled, human, assessor)
    order = sorted(range(len(engines)), key=engines.__getitem__)
    samples = [
        _Sample((engines[at],), human[at, labelled], assessor[at, labelled], assessor[at, ~labelled])
        for at in order
    ]
    pairs = [_paired(*two) for two in combinations(samples, 2)]
    warnings = _warnings([*samples, *pairs])
    return Calibration(tuple(map(_engine, samples)), tuple(_pairs(pairs)), warnings)


def plan(query_ids: Sequence[str], count: int, seed: int = 0) -> tuple[str, ...]:
    """A random sample of `count` queries to label, without replacement, in the order of drawing.

    Queries are drawn in the order of a hash of `seed` and their id. So neither the order of `query_ids`
    matters nor the version of a library; the first 20 of 50 are the plan of 20, and labelling can go on
    where it stopped. Raises `InputError` when `count` is below 1 or above the number of queries.
    """
    queries = set(query_ids)
    if not 1 <= count <= len(queries):
        raise InputError(f"a plan of {count} queries can't be drawn: the run has {len(queries)}")

    def lot(query_id: str) -> bytes:
        return hashlib.sha256(json.dumps([seed, query_id]).encode()).digest()

    return tuple(sorted(queries, key=lot)[:count])


def _check(engines: Sequence[str], labelled: Bools, human: Floats, assessor: Floats) -> None:
    if not engines or len(set(engines)) < len(engines):
        raise ValueError(f"expected engines with different names, got {list(engines)}")
    if not human.shape == assessor.shape == (len(engines), labelled.size):
        raise ValueError(f"expected (engines, queries) arrays, got {human.shape} and {assessor.shape}")
    if np.isinf(human).any() or np.isinf(assessor).any():
        raise ValueError("a value is infinite")


def _paired(one: _Sample, other: _Sample) -> _Sample:
    """The differences of two engines, the better one by the assessor's grades first."""
    difference = _Sample(
        one.engines + other.engines,
        one.human - other.human,
        one.assessor - other.assessor,
        one.rest - other.rest,
    )
    if difference.seen.size and difference.seen.mean() < -_ROUNDING:
        return _paired(other, one)
    return difference


def _warnings(samples: Sequence[_Sample]) -> tuple[str, ...]:
    """What to warn of, going by the sample with the fewest labels; refuses what can't be corrected."""
    for sample in samples:
        if not sample.seen.size:
            raise InputError(f"no query has a value by the assessor's grades for {_named(sample)}")
    least = min(samples, key=lambda sample: sample.usable)
    have = f"{least.usable} of {least.human.size} labelled queries have a value for {_named(least)}"
    more = "`judge agree RUN --plan 50` draws the queries to label"
    if least.usable < LEAST_LABELLED:
        raise InputError(f"{have}, and correcting the assessor needs {LEAST_LABELLED}: {more}")
    if least.usable < ENOUGH_LABELLED:
        return (f"{have}; with fewer than {ENOUGH_LABELLED} intervals can be a little too narrow: {more}",)
    return ()


def _named(sample: _Sample) -> str:
    return ("engine " if len(sample.engines) == 1 else "engines ") + " and ".join(map(repr, sample.engines))


def _engine(sample: _Sample) -> CorrectedEngine:
    seen = sample.seen
    return CorrectedEngine(sample.engines[0], float(seen.mean()), seen.size, _corrected(sample, 0.95))


def _pairs(samples: Sequence[_Sample]) -> Iterator[CorrectedPair]:
    corrected = [_corrected(sample, 0.95) for sample in samples]
    adjusted = holm(np.array([difference.p for difference in corrected]))
    for sample, difference, p in zip(samples, corrected, adjusted.tolist(), strict=True):
        (a, b), seen = sample.engines, sample.seen
        outcome = _outcome(difference.estimate, p)
        yield CorrectedPair(a, b, float(seen.mean()), seen.size, difference, p, outcome)


def _outcome(difference: float, p: float) -> Outcome:
    if p >= ALPHA:
        return "open"
    return "confirmed" if difference > 0 else "reversed"


def _corrected(sample: _Sample, level: float) -> Corrected:
    from scipy.special import stdtrit

    known = ~np.isnan(sample.human)
    n, size, rest = sample.usable, sample.human.size, sample.rest.size
    mean = float(sample.human[known].mean())
    # Both are 0 where there is no value, and divided by how many queries have one (a ratio's influence).
    error = np.where(known, sample.human - mean, 0.0) * size / n
    everywhere = np.concatenate([sample.assessor, sample.rest])
    centred = np.where(np.isnan(everywhere), 0.0, everywhere - sample.seen.mean()) * size / n
    here, there = centred[:size], centred[size:]
    weight = _weight(error, here, there)
    # With one degree of freedom for each query that has a value: over these it is the variance of a mean.
    variance = float(np.var(error - weight * here)) / size * n / (n - 1)
    if weight:
        mean += weight * float(there.mean() - here.mean())
        variance += weight**2 * float(there.var(ddof=1)) / rest
    se = variance**0.5
    margin = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return Corrected(
        estimate=mean,
        low=mean - margin,
        high=mean + margin,
        se=se,
        weight=weight,
        labelled=n,
        undefined=size - n,
        rest=rest,
        filled=everywhere.size - sample.seen.size,
        p=_p(mean, se, n - 1),
    )


def _weight(error: Floats, here: Floats, there: Floats) -> float:
    """The weight with the least variance: cov(y, f) / ((1 + n/N) var f), kept within 0 and 1."""
    everywhere = np.concatenate([here, there])
    if there.size < 2 or np.ptp(everywhere) <= _ROUNDING:
        return 0.0
    covariance = float(np.cov(error, here)[0, 1])
    ratio = 1 + here.size / there.size
    return float(np.clip(covariance / (ratio * everywhere.var(ddof=1)), 0.0, 1.0))


def _p(mean: float, se: float, freedom: int) -> float:
    from scipy.special import stdtr

    if abs(mean) <= _ROUNDING:
        return 1.0
    return 2 * float(stdtr(freedom, -abs(mean) / se)) if se else 0.0
