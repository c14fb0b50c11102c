"""Prediction-powered inference (PPI): means by labels of people, from labels on some queries.

On the labelled queries a measure has a value by the labels and one by the grades of the assessor, on the rest
only the latter. PPI takes the mean of the assessor over the rest and adds its mean error on the labelled
queries, so that its bias cancels. With a good assessor the interval is narrower; with a bad one it is as wide
as that of the labels alone. This holds when the labelled queries are a random sample of those that can be
labelled; `draw_queries_to_label` draws one. (Angelopoulos et al., Science 2023; PPI++: Angelopoulos, Duchi &
Zrnic, arXiv 2311.01453.)
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import inf
from typing import Literal, TypeVar

import numpy as np

from judge.characters import make_natural_key
from judge.errors import InputError
from judge.measure.intervals import ALPHA, LEVEL, Interval
from judge.measure.numeric import TIE, Bools, Floats, divide
from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Message, NameList

#: Correction needs this many labelled queries, and this many with a value by labels; with fewer than
#: `ENOUGH_LABELLED` values there is a warning.
MIN_LABELLED = 20
MIN_VALUES = 15
ENOUGH_LABELLED = 50
CorrectedOutcome = Literal["confirmed", "reversed", "decided", "open"]
_CONCLUSIONS: Mapping[CorrectedOutcome, str] = {
    "confirmed": "judge-only order confirmed",
    "reversed": "judge-only order reversed",
    "decided": "judge-only tie decided",
    "open": "judge-only order open",
}


@dataclass(frozen=True, slots=True)
class CorrectedEngineMean:
    """An engine's mean by the assessor's grades, over `assessor_n` queries, and as people would have it.

    `se` is the standard error and `weight` the lambda of PPI++, from 0 (labels alone) to 1. `labelled`
    queries have a value by people's grades, `undefined` ones were labelled and have none, `rest` counts the
    others. On `filled` of all these queries the assessor's grades give no value. `ci95` is None where the
    labelled values do not vary.
    """

    assessor: float
    assessor_n: int
    corrected: float
    ci95: Interval | None
    se: float
    weight: float
    labelled: int
    undefined: int
    rest: int
    filled: int


@dataclass(frozen=True, slots=True)
class LabelledSample:
    """Values of one engine, or differences of two: `people` and `assessor` (labelled,), and the `rest`."""

    engines: tuple[str, ...]
    people: Floats
    assessor: Floats
    rest: Floats

    @property
    def labelled_values(self) -> int:
        """The number of labelled queries with a value by labels of people."""
        return int((~np.isnan(self.people)).sum())

    @property
    def assessor_values(self) -> Floats:
        """The values by the assessor on all queries that have one."""
        everywhere: Floats = np.concatenate([self.assessor, self.rest])
        return everywhere[~np.isnan(everywhere)]

    @property
    def lead(self) -> int:
        """1 where the first engine has the higher mean by the assessor, -1 the second, 0 for a tie."""
        difference = self.assessor_values.mean() if self.assessor_values.size else 0.0
        return int(np.sign(difference)) if abs(difference) > TIE else 0


def correct_mean(sample: LabelledSample, level: float) -> CorrectedEngineMean:
    """Return the mean by labels of people: PPI++ with the weight of its power tuning, from 0 to 1.

    The interval contains the mean with probability `level`, by the t distribution with one degree of freedom
    fewer than queries with a value by labels. The part of its variance from the labelled queries is that of
    the jackknife, which fits the weight again without each query. (Sitter 1997, JASA 92, 780, has it for the
    regression estimator from two samples.) A fixed weight makes the coverage too low when few queries are
    labelled. The weight divides by the variance of the values by the assessor, over all queries: the labelled
    ones alone would overrate an assessor with rare large errors. The weight is 0 when the values by the
    assessor are all equal or the rest has fewer than 2. The result is then that of a t test on the labelled
    values.

    At least 2 labelled queries need a value by labels, at least 1 by the assessor. Other values may be NaN:
    see `correct_engines` for the reason.
    """
    from scipy.special import stdtrit

    defined = ~np.isnan(sample.people)
    n, size, rest = sample.labelled_values, sample.people.size, sample.rest.size
    mean = float(sample.people[defined].mean())
    # Both are 0 without a value, and divided by the number of queries with one (the influence of a ratio).
    error = np.where(defined, sample.people - mean, 0.0) * size / n
    all_values = np.concatenate([sample.assessor, sample.rest])
    centred = np.where(np.isnan(all_values), 0.0, all_values - sample.assessor_values.mean()) * size / n
    labelled_part, rest_part = centred[:size], centred[size:]
    weight, without = _tune_weight(error, labelled_part, rest_part)
    # With one degree of freedom for each query with a value this is the variance of their mean.
    variance = float(np.var(without)) * (size - 1) ** 2 / size * n / (n - 1)
    if weight:
        mean += weight * float(rest_part.mean() - labelled_part.mean())
        variance += weight**2 * float(rest_part.var(ddof=1)) / rest
    se = variance**0.5 if variance > TIE**2 else 0.0
    margin = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return CorrectedEngineMean(
        assessor=float(sample.assessor_values.mean()),
        assessor_n=sample.assessor_values.size,
        corrected=mean,
        ci95=(mean - margin, mean + margin) if se else None,
        se=se,
        weight=weight,
        labelled=n,
        undefined=size - n,
        rest=rest,
        filled=all_values.size - sample.assessor_values.size,
    )


def _tune_weight(error: Floats, here: Floats, there: Floats) -> tuple[float, Floats]:
    """Return the weight with the smallest variance, and the shifts of the mean without each query.

    The weight is cov(y, f) / ((1 + n/N) var f), kept within 0 and 1. The shifts are (labelled,).
    """
    # The first entry is for all labelled queries, each other one leaves one out.
    sizes = error.size - np.concatenate([[0.0], np.ones(error.size)])
    errors, values, products, squares = (
        array.sum() - np.concatenate([[0.0], array]) for array in (error, here, error * here, here**2)
    )
    if there.size < 2 or np.ptp(np.concatenate([here, there])) <= TIE:
        return 0.0, errors[1:] / sizes[1:]
    totals = sizes + there.size
    covariance = (products - errors * values / sizes) / np.maximum(1, sizes - 1)
    variance = (squares + there @ there - (values + there.sum()) ** 2 / totals) / (totals - 1)
    weight = np.clip(divide(covariance, (1 + sizes / there.size) * variance, 0.0), 0.0, 1.0)
    shift = errors / sizes + weight * (there.mean() - values / sizes)
    return float(weight[0]), shift[1:]


def compute_two_sided_p(mean: CorrectedEngineMean) -> float | None:
    """Return the p of the t test that the corrected mean is 0, None where the labelled values do not vary."""
    from scipy.special import stdtr

    return 2 * float(stdtr(mean.labelled - 1, -abs(mean.corrected) / mean.se)) if mean.se else None


@dataclass(frozen=True, slots=True)
class CorrectedDifference(CorrectedEngineMean):
    """The mean difference a - b by the assessor's grades, and by people's.

    Engine `b` does not have the higher mean by the assessor. Where the two tie by the assessor, `b` does not
    have the higher corrected mean. Where they tie by both, the name decides. The interval is simultaneous:
    with probability 95% the intervals of all pairs contain their differences (Bonferroni; Dunn 1961, JASA 56,
    52). `p` is that of a two-sided t test, and `p_adjusted` is p times the number of pairs, at most 1. On
    `different` labelled queries people's grades differ between the two; with fewer than `MIN_DIFFERING` of
    them there is no interval.

    The `outcome` for the order by the assessor is confirmed or reversed when the interval excludes 0, which
    is when `p_adjusted` is below 0.05. It is decided instead where the two tie by the assessor, and open
    otherwise. `conclusion` is the outcome in words.
    """

    a: str
    b: str
    p: float | None
    different: int
    p_adjusted: float | None
    outcome: CorrectedOutcome
    conclusion: str


_Mean = TypeVar("_Mean", bound=CorrectedEngineMean)


@dataclass(frozen=True, slots=True)
class MeasureCalibration:
    """The means and differences of one measure, corrected by labels of people, and warnings."""

    engines: Mapping[str, CorrectedEngineMean]
    comparisons: tuple[CorrectedDifference, ...]
    warnings: tuple[str, ...]


def correct_engines(
    engines: Sequence[str], labelled: Bools, people: Floats, assessor: Floats, largest: float = inf
) -> MeasureCalibration:
    """Return the means and paired differences of `engines` by labels of people.

    `people` and `assessor` (engines, queries) are one measure by labels and by the assessor: NaN without a
    value, otherwise from 0 to `largest`. Results are cut at this range, which the estimator does not use.
    `labelled` (queries,) marks queries with labels for the whole pool, elsewhere `people` is ignored. The
    labelled queries must be a random sample of the given ones, so callers leave out queries that cannot be
    labelled.

    The estimate is the mean over the queries with a value by labels. For nDCG and AP, a query has none where
    nothing in the pool is relevant, and labels and assessor differ on where that is. Leaving out a query
    where either has no value would shift the mean, because for the rest it is unknown which queries labels
    would leave out. So each side keeps its own queries. A labelled query without a value by labels counts
    only for the share of such queries. One without a value by the assessor takes the mean of the assessor.
    This is valid: the value by the assessor may be any number that is made in the same way on labelled
    queries and on the rest. (PPI++ for a ratio, linearised by the delta method; with all values known it is
    PPI++ for a mean. An engine that failed on a query has no value by either.)

    Raise `InputError` when fewer than `MIN_LABELLED` queries are labelled, or when no query has a value by
    the assessor. Raise it, too, when fewer than `MIN_VALUES` labelled queries have a value by labels for an
    engine or a pair of engines.
    """
    order = sorted(range(len(engines)), key=lambda index: make_natural_key(engines[index]))
    samples = [
        LabelledSample(
            (engines[index],), people[index, labelled], assessor[index, labelled], assessor[index, ~labelled]
        )
        for index in order
    ]
    differences = [_subtract_samples(*two) for two in combinations(samples, 2)]
    warnings = _check_samples([*samples, *differences])
    return MeasureCalibration(
        {sample.engines[0]: _cut(correct_mean(sample, LEVEL), 0.0, largest) for sample in samples},
        tuple(_cut(difference, -largest, largest) for difference in _correct_differences(differences)),
        warnings,
    )


def _cut(mean: _Mean, smallest: float, largest: float) -> _Mean:
    low, high = mean.ci95 or (0.0, 0.0)
    corrected, low, high = (min(max(value, smallest), largest) for value in (mean.corrected, low, high))
    return replace(mean, corrected=corrected, ci95=mean.ci95 and (low, high))


def draw_queries_to_label(query_ids: Sequence[str], count: int, seed: int = 0) -> tuple[str, ...]:
    """Return a random sample of `count` queries to label, without replacement, in the order of drawing.

    Queries are sorted by a hash of `seed` and their id. So the sample depends neither on the order of
    `query_ids` nor on the version of a library. The first 20 of 50 are the sample of 20, so labelling can be
    resumed. Raise `InputError` when there is no query, or `count` is below 1 or above their number.
    """
    queries = set(query_ids)
    if not queries:
        raise InputError("cannot draw a plan: the run has no query with a text to label")
    if not 1 <= count <= len(queries):
        raise InputError(
            "cannot draw a plan of {count} queries: the run has {queries} to label; draw 1 to {queries}",
            count=count,
            queries=len(queries),
        )
    hashes = {id_: hashlib.sha256(json.dumps([seed, id_]).encode()).digest() for id_ in queries}
    return tuple(sorted(queries, key=hashes.__getitem__)[:count])


def _subtract_samples(one: LabelledSample, other: LabelledSample) -> LabelledSample:
    """Return the differences of two engines, the better one by the assessor first."""
    difference = LabelledSample(
        one.engines + other.engines,
        one.people - other.people,
        one.assessor - other.assessor,
        one.rest - other.rest,
    )
    return difference if difference.lead >= 0 else _swap_engines(difference)


def _swap_engines(difference: LabelledSample) -> LabelledSample:
    # 0 - x is never -0, which would be printed.
    return LabelledSample(
        difference.engines[::-1], 0.0 - difference.people, 0.0 - difference.assessor, 0.0 - difference.rest
    )


def _check_samples(samples: Sequence[LabelledSample]) -> tuple[str, ...]:
    """Raise `InputError` where labels are too few; return warnings about the sample with the fewest."""
    for sample in samples:
        if not sample.assessor_values.size:
            raise InputError(
                "no query has a value by the assessor's grades for {engines}",
                engines=NameList(map(repr, sample.engines)),
            )
    fewest = min(samples, key=lambda sample: sample.labelled_values)
    labelled, values = fewest.people.size, fewest.labelled_values
    engines = NameList(map(repr, fewest.engines))
    more = _advise_on_plan(fewest)
    if labelled < MIN_LABELLED:
        raise InputError(
            "correcting the assessor needs {least} wholly labelled queries and has {labelled}; label"
            " {missing} more: {more}",
            least=MIN_LABELLED,
            labelled=labelled,
            missing=MIN_LABELLED - labelled,
            more=more,
        )
    if values < MIN_VALUES:
        raise InputError(
            "{values} of {labelled} labelled queries have a value for {engines} (on the others people find"
            " nothing relevant, or an engine failed or has no row), and correcting the assessor needs"
            " {least}; label at least {missing} more: {more}",
            values=values,
            labelled=labelled,
            engines=engines,
            least=MIN_VALUES,
            missing=MIN_VALUES - values,
            more=more,
        )
    narrow = Message(
        "only {values} labelled queries have a value for {engines}; with fewer than {least}, intervals can be"
        " slightly too narrow: {more}",
        values=values,
        engines=engines,
        least=ENOUGH_LABELLED,
        more=more,
    )
    return (narrow,) if values < ENOUGH_LABELLED else ()


def _advise_on_plan(sample: LabelledSample) -> Message:
    """Return the command that draws as many queries as the next step needs; its value `run` is a folder."""
    labelled, queries = sample.people.size, sample.people.size + sample.rest.size
    if labelled == queries or queries < MIN_LABELLED:
        return Message("judge more queries; this run has only {queries}", queries=queries)
    count = ENOUGH_LABELLED
    if labelled < MIN_LABELLED:
        count = MIN_LABELLED
    elif sample.labelled_values < MIN_VALUES:
        count = labelled + MIN_VALUES - sample.labelled_values
    return Message(
        "judge agree {run} --plan {count} draws {count} queries; with the same --seed, those drawn before are"
        " among them, and their labels stay valid",
        run="RUN",
        count=min(count, queries),
    )


def _correct_differences(samples: Sequence[LabelledSample]) -> Iterator[CorrectedDifference]:
    for sample in samples:
        level = 1 - ALPHA / len(samples)
        mean = correct_mean(sample, level)
        # Where the assessor ties the two engines, the better one by labels comes first.
        if not sample.lead and mean.corrected < -TIE:
            sample = _swap_engines(sample)
            mean = correct_mean(sample, level)
        different = int((np.abs(sample.people) > TIE).sum())
        ci95, p = (mean.ci95, compute_two_sided_p(mean)) if different >= MIN_DIFFERING else (None, None)
        outcome = decide_corrected_order(sample.lead, ci95)
        a, b = sample.engines
        yield CorrectedDifference(
            **(asdict(mean) | {"ci95": ci95}),
            a=a,
            b=b,
            p=p,
            different=different,
            p_adjusted=None if p is None else min(1.0, p * len(samples)),
            outcome=outcome,
            conclusion=_CONCLUSIONS[outcome],
        )


def decide_corrected_order(lead: int, ci95: Interval | None) -> CorrectedOutcome:
    """Return the outcome for the order by the assessor: `lead` is 1 where the first engine is ahead."""
    if ci95 is None or ci95[0] <= 0 <= ci95[1]:
        return "open"
    if not lead:
        return "decided"
    return "confirmed" if ci95[0] > 0 else "reversed"
