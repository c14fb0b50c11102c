"""Prediction-powered inference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import Bools, Floats, divide

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


#: With fewer labelled queries nothing is corrected, nor where people's grades give fewer of them a value;
#: with fewer than enough values a warning is given.
MIN_LABELLED = 20
MIN_VALUES = 15
ENOUGH_LABELLED = 50
#: Two engines that people's grades tell apart on fewer labelled queries get no interval.
MIN_DIFFERENT = 6
#: How often an order may be called confirmed or reversed by chance: over all pairs of engines.
ALPHA = 0.05
#: How sure a reserve is to be enough, and of the share of queries that it is for.
_CONFIDENCE = 0.95

CorrectedOutcome = Literal["confirmed", "reversed", "decided", "open"]


@dataclass(frozen=True, slots=True)
class CorrectedEngine:
    """An engine's mean by the assessor's grades, over `assessor_n` queries, and the corrected one."""

    engine: str
    assessor: float
    assessor_n: int
    corrected: Corrected


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """How engine `a` stands to `b`, which by the assessor's grades is not better.

    Where the assessor has no order, `b` is not better by the corrected difference; ties of both go by
    name. `assessor` is the mean of a - b by the assessor's grades over the `assessor_n` queries where both
    have a value, `corrected` the mean of a - b by people's. Its interval is simultaneous: with probability
    95 % the intervals of all pairs hold their differences (Bonferroni's, Dunn 1961, JASA 56, 52), and
    `p_adjusted` is p times the number of pairs, at most 1. The `outcome` says what became of the assessor's
    order: confirmed or reversed when the interval leaves out 0, which is when `p_adjusted` is below 0.05,
    or decided where it had none, else open. On `different` labelled queries people's grades tell the two
    apart; there is no interval, and the outcome is open, when these are fewer than `LEAST_DIFFERENT`.
    """

    a: str
    b: str
    assessor: float
    assessor_n: int
    corrected: Corrected
    different: int
    p_adjusted: float | None
    outcome: CorrectedOutcome


@dataclass(frozen=True, slots=True)
class Calibration:
    """Engines and pairs of engines, each in the order of names, and what a reader should be warned of."""

    engines: tuple[CorrectedEngine, ...]
    pairs: tuple[CorrectedPair, ...]
    warnings: tuple[str, ...]


def correct_engines(engines: Sequence[str], labelled: Bools, human: Floats, assessor: Floats) -> Calibration:
    """Means and paired differences of `engines` as people's grades would have them.

    `human` and `assessor` (engines, queries) hold one measure by either's grades, NaN where it has no
    value; `labelled` (queries,) marks where people graded the whole pool, elsewhere `human` is ignored.
    The labelled queries must be a random sample of all, so queries that can't be labelled are none.

    What is estimated is the mean over those queries where people's grades give a value. nDCG and AP
    have none where nothing in the pool is relevant, and people and assessor disagree on where that is.
    Leaving out a query where either has no value would shift the mean: on the rest nobody knows what
    people would leave out. So each keeps to its own. A labelled query without a value by people says
    only how common such queries are; one without a value by the assessor takes the assessor's mean,
    which is sound because the assessor's value may be any number that is made in the same way on
    labelled queries and on the rest. (PPI++ for a ratio, linearised by the delta method; where every
    value is known it is PPI++ for a mean. An engine that broke on a query has no value by either.)

    Raises `InputError` when fewer than `LEAST_LABELLED` queries are labelled, fewer than `LEAST_VALUES`
    of them have a value by people for an engine or a pair of engines, or no query has one by the
    assessor; `ValueError` when the arrays don't fit together or hold infinity.
    """
    _check_arrays(engines, labelled, human, assessor)
    order = sorted(range(len(engines)), key=engines.__getitem__)
    samples = [
        LabelledSample((engines[at],), human[at, labelled], assessor[at, labelled], assessor[at, ~labelled])
        for at in order
    ]
    pairs = [_subtract_samples(*two) for two in combinations(samples, 2)]
    warnings = _collect_warnings([*samples, *pairs])
    return Calibration(tuple(map(_correct_engine, samples)), tuple(_correct_pairs(pairs)), warnings)


def draw_queries_to_label(query_ids: Sequence[str], count: int, seed: int = 0) -> tuple[str, ...]:
    """A random sample of `count` queries to label, without replacement, in the order of drawing.

    Queries are drawn in the order of a hash of `seed` and their id. So neither the order of `query_ids`
    matters nor the version of a library; the first 20 of 50 are the plan of 20, and labelling can go on
    where it stopped. Raises `InputError` when `count` is below 1 or above the number of queries.
    """
    queries = set(query_ids)
    if not 1 <= count <= len(queries):
        raise InputError(f"a plan of {count} queries can't be drawn: the run has {len(queries)} to label")

    def lot(query_id: str) -> bytes:
        return hashlib.sha256(json.dumps([seed, query_id]).encode()).digest()

    return tuple(sorted(queries, key=lot)[:count])


def count_reserve_queries(count: int, queries: int, without: int) -> int:
    """Return how many queries to draw beyond `count`, so that `count` of them are likely to have a value.

    By the assessor's grades `without` of `queries` have none. The share is taken at its upper confidence
    limit (95 %, one-sided; Clopper & Pearson 1934, Biometrika 26, 404), for people can find nothing
    relevant more often than the assessor does. Of the queries drawn, at least `count` have a value with
    probability 95 %, by the binomial distribution, or all are drawn. 0 where `without` is 0.
    """
    from scipy.special import bdtr, betaincinv

    share = betaincinv(without + 1, queries - without, _CONFIDENCE) if without < queries else 1.0
    most = queries - count if without else 0
    return next((more for more in range(most) if bdtr(more, count + more, share) >= _CONFIDENCE), most)


def _check_arrays(engines: Sequence[str], labelled: Bools, human: Floats, assessor: Floats) -> None:
    if not engines or len(set(engines)) < len(engines):
        raise ValueError(f"expected engines with different names, got {list(engines)}")
    if not human.shape == assessor.shape == (len(engines), labelled.size):
        raise ValueError(f"expected (engines, queries) arrays, got {human.shape} and {assessor.shape}")
    if np.isinf(human).any() or np.isinf(assessor).any():
        raise ValueError("a value is infinite")


def _subtract_samples(one: LabelledSample, other: LabelledSample) -> LabelledSample:
    """The differences of two engines, the better one by the assessor's grades first."""
    difference = LabelledSample(
        one.engines + other.engines,
        one.human - other.human,
        one.assessor - other.assessor,
        one.rest - other.rest,
    )
    return difference if difference.lead >= 0 else _swap_engines(difference)


def _swap_engines(pair: LabelledSample) -> LabelledSample:
    # 0 - x is never -0, which would be printed.
    return LabelledSample(pair.engines[::-1], 0.0 - pair.human, 0.0 - pair.assessor, 0.0 - pair.rest)


def _correct_pair(pair: LabelledSample, level: float) -> tuple[LabelledSample, Corrected]:
    """The pair and its correction; where the assessor has no order, the better one by people first."""
    corrected = correct_mean(pair, level)
    if pair.lead or corrected.estimate >= -TOLERANCE:
        return pair, corrected
    return _swap_engines(pair), correct_mean(_swap_engines(pair), level)


def _collect_warnings(samples: Sequence[LabelledSample]) -> tuple[str, ...]:
    """What to warn of, going by the sample with the fewest labels; refuses what can't be corrected."""
    for sample in samples:
        if not sample.seen.size:
            raise InputError(f"no query has a value by the assessor's grades for {_name_engines(sample)}")
    least = min(samples, key=lambda sample: sample.usable)
    labelled, rest = least.human.size, least.rest.size
    more = f"`judge agree RUN --plan {min(ENOUGH_LABELLED, labelled + rest)}` draws the queries to label"
    if not rest:
        more = "the run has no more to label"
    if labelled < MIN_LABELLED:
        raise InputError(
            f"correcting the assessor needs {MIN_LABELLED} wholly labelled queries and has {labelled};"
            f" label {MIN_LABELLED - labelled} more: {more}"
        )
    have = f"{least.usable} of {labelled} labelled queries have a value for {_name_engines(least)}"
    if least.usable < MIN_VALUES:
        raise InputError(
            f"{have} (on the others people find nothing relevant, or an engine failed), and correcting the"
            f" assessor needs {MIN_VALUES}; label at least {MIN_VALUES - least.usable} more: {more}"
        )
    if least.usable < ENOUGH_LABELLED:
        return (f"{have}; with fewer than {ENOUGH_LABELLED} intervals can be a little too narrow: {more}",)
    return ()


def _name_engines(sample: LabelledSample) -> str:
    return ("engine " if len(sample.engines) == 1 else "engines ") + " and ".join(map(repr, sample.engines))


def _correct_engine(sample: LabelledSample) -> CorrectedEngine:
    seen = sample.seen
    return CorrectedEngine(sample.engines[0], float(seen.mean()), seen.size, correct_mean(sample, 0.95))


def _correct_pairs(samples: Sequence[LabelledSample]) -> Iterator[CorrectedPair]:
    for each in samples:
        sample, corrected = _correct_pair(each, 1 - ALPHA / len(samples))
        different = int((np.abs(sample.human) > TOLERANCE).sum())
        if different < MIN_DIFFERENT:
            corrected = replace(corrected, low=None, high=None, p=None)
        (a, b), seen = sample.engines, sample.seen
        p = None if corrected.p is None else min(1.0, corrected.p * len(samples))
        outcome = _decide_order(sample.lead, corrected)
        yield CorrectedPair(a, b, float(seen.mean()), seen.size, corrected, different, p, outcome)


def _decide_order(lead: int, corrected: Corrected) -> CorrectedOutcome:
    low, high = corrected.low, corrected.high
    if low is None or high is None or low <= 0 <= high:
        return "open"
    if not lead:
        return "decided"
    return "confirmed" if low > 0 else "reversed"
