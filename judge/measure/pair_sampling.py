"""The mean difference of two engines by people's grades, from labels on pairs that change it most.

With a measure that is a sum over ranks, the difference on a query is sum(c * g) over its pairs. Here, c is
the weight of a pair in one list minus that in the other, and g is the gain of a person's grade. Pairs are
drawn with probability proportional to |c| times the standard deviation of g given the assessor's grade
(systematic sampling, so the number of labels is exact). The mean gain of each grade predicts g, and the
Horvitz-Thompson estimator (1952, JASA 47, 663) of the prediction errors corrects it. So the estimate has no
bias, whatever the assessor's grades are. Measures such as nDCG, AP and RR are not sums: their divisor or
their first relevant rank depends on labels that were not drawn. A bias would remain with any number of
labels.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from judge.errors import InputError
from judge.measure.formulas import apply_formula, compute_gains
from judge.measure.intervals import Interval
from judge.measure.measures import Measure
from judge.measure.numeric import TIE, Bools, Floats, Ints, list_distinct
from judge.measure.resampling import MIN_DIFFERING
from judge.records import Scale, ScaleName

#: How often people gave the grades 0, 1, … to pairs, by the grade of an assessor (rows). The pairs are the
#: 20,646 passages of TREC Deep Learning 2019 and 2020. The assessor is GPT-4 with the prompts of Arabzadeh &
#: Clarke 2025 (arXiv 2504.12558), graded (UMBRELA) and binary. Draws depend on these numbers, estimates do
#: not.
_PEOPLE_BY_GRADE = {
    "graded": ((8652, 650, 154, 194), (3003, 1558, 709, 212), (1053, 1019, 1274, 418), (230, 314, 687, 519)),
    "binary": ((11515, 621), (4930, 3546)),
}  # fmt: skip
#: In a draw for several engines, this share of it is uniform, so that every pair of engines gets labels.
_UNIFORM_SHARE = 0.1


def compute_rank_weights(measure: Measure, depth: int, longest: int) -> Floats:
    """Return the (ranks,) weights: a gain of 1 there adds as much to `measure`; down to the `longest` list.

    Raises InputError for a measure that is not a sum.
    """
    if not measure.kind.is_sum_over_ranks:
        raise InputError(
            "{measure} is not a sum over ranks, so labels on drawn pairs leave a bias that more labels do"
            " not remove; use sDCG@k, P@k or DCG@k, or draw whole queries with --plan N",
            measure=measure,
        )
    ranks = np.arange(min(measure.choose_cutoff(depth), longest))
    # One list at a time: all of them are a matrix, of 800 MB for 10,000 ranks.
    return np.array([apply_formula(measure, (ranks == rank).astype(np.float64)) for rank in ranks])


def compute_unit_gains(measure: Measure, scale: Scale) -> Floats:
    """Return the gain of each grade for the weights of `compute_rank_weights`: for P and sDCG at most 1."""
    gains = compute_gains(measure, scale)
    return gains / gains[-1] if measure.kind.divisor == "cutoff" else gains


def predict_gains(gains: Floats, scale: ScaleName) -> tuple[Floats, Floats]:
    """Return the expected mean and standard deviation of people's gains for each grade of an assessor.

    The last entry is for pairs without a grade. A standard deviation is at least half of that over all pairs.
    """
    counts = np.array(_PEOPLE_BY_GRADE[scale], np.float64)
    shares = np.vstack([counts, counts.sum(0)])
    shares /= shares.sum(1, keepdims=True)
    mean = shares @ gains
    sd = np.sqrt(np.maximum(shares @ gains**2 - mean**2, 0.0))
    return mean, np.maximum(sd, sd[-1] / 2)


def compute_sizes(weights: Floats, sd: Floats) -> Floats:
    """Return the (units,) sizes that the probabilities are proportional to.

    `weights` is (units, comparisons), `sd` (units,). Of several comparisons the root of the sum of squares
    counts, and a tenth of the draw is uniform.
    """
    size: Floats = sd * np.sqrt((weights**2).sum(1))
    if weights.shape[1] > 1 and size.size:
        size = (1 - _UNIFORM_SHARE) * size / size.sum() + _UNIFORM_SHARE / size.size
    return size


def compute_inclusion_probabilities(size: Floats, count: int) -> Floats:
    """Return the (units,) inclusion probabilities of `count` draws: proportional to `size`, at most 1."""
    if count >= size.size:
        return np.ones(size.shape)
    certain = np.zeros(size.shape, bool)
    while True:
        rest = np.where(certain, 0.0, size)
        probability: Floats = np.where(certain, 1.0, (count - certain.sum()) * rest / rest.sum())
        if not (probability > 1).any():
            return probability
        certain |= probability >= 1


def draw_units(probability: Floats, start: float) -> Bools:
    """Return the (units,) systematic sample with these probabilities, from `start` in 0 to 1.

    Its size is their sum, and units with probability 1 are always in it.
    """
    # Rounding keeps sums that are whole numbers in theory from falling below them.
    ends = np.floor(np.round(np.cumsum(probability), 9) + start)
    drawn: Bools = np.logical_or(np.diff(ends, prepend=0.0) > 0, probability == 1)
    return drawn


@dataclass(frozen=True, slots=True)
class ExpectedDifference:
    """What is expected of a difference before labels are known, for an interval of level 1 - `alpha`.

    `query` (units,) numbers the `queries`, also those without a unit. `predicted` and `spread` (units,) are
    the weight times the expected mean and standard deviation of the gain.
    """

    alpha: float
    query: Ints
    queries: int
    predicted: Floats
    spread: Floats

    def expect_half_width(self, probability: Floats) -> float:
        """Return the half-width of the interval, with the (units,) probabilities of a draw."""
        total = np.bincount(self.query, self.predicted, self.queries)
        between = float(np.var(total, ddof=1)) / self.queries if self.queries > 1 else 0.0
        within = (self.spread**2 / probability).sum() / self.queries**2
        return NormalDist().inv_cdf(1 - self.alpha / 2) * sqrt(between + within)

    def count_needed_labels(self, half_width: float, size: Floats) -> int:
        """Return the number of labels that make the half-width at most `half_width`.

        `size` is that of `compute_inclusion_probabilities`. Raise InputError where labels on all pairs are
        too few.
        """

        def fits(count: int) -> bool:
            return self.expect_half_width(compute_inclusion_probabilities(size, count)) <= half_width

        counts = range(1, size.size + 1)
        needed = bisect_left(counts, True, key=fits)
        if needed == len(counts):
            raise InputError(
                "a half-width of {half_width} needs more queries: with all {pairs:,} pairs labelled that can"
                " change the difference, about {least:.3f} is left from the {queries:,} queries alone",
                half_width=half_width,
                pairs=size.size,
                least=self.expect_half_width(np.ones(size.shape)),
                queries=self.queries,
            )
        return counts[needed]


@dataclass(frozen=True, slots=True)
class LabelledDraw:
    """Units with a weight in a comparison: arrays (units,).

    `query` numbers the `queries`, also those without a unit. `group` is the assessor's grade, the number of
    grades where there is none. `inverse` is 1 / probability of drawn units and 0 for others; of several
    draws, the mean weighted by their sizes. `certain` marks units with probability 1. `gain` is NaN without a
    label, and at most `top`.
    """

    queries: int
    query: Ints
    weight: Floats
    group: Ints
    inverse: Floats
    certain: Bools
    gain: Floats
    top: float

    @property
    def labelled(self) -> Bools:
        """Whether each drawn unit has a label."""
        return (self.inverse > 0) & ~np.isnan(self.gain)


@dataclass(frozen=True, slots=True)
class EstimatedDifference:
    """The mean difference by people's grades; NaN where units have a weight and none a label.

    `bounds` are its lowest and highest value over all grades of drawn units without a label, `se` their
    standard errors. `df` are the degrees of freedom, 0 or less for too few labels. On `different` queries
    with a label the difference is not 0; with fewer than `MIN_DIFFERING` there is no test.
    """

    mean: float
    bounds: Interval
    se: Interval
    df: int
    different: int

    @property
    def is_testable(self) -> bool:
        """Whether the values vary and the labels are enough."""
        return self.different >= MIN_DIFFERING and min(self.se) > TIE and self.df >= 1

    def test(self) -> float:
        """Return the two-sided p of the t test that the difference is 0, the largest over the bounds."""
        from scipy.special import stdtr

        lowest, highest = self.bounds
        if not self.is_testable or lowest <= 0 <= highest:
            return 1.0
        t = lowest / self.se[0] if lowest > 0 else -highest / self.se[1]
        return 2 * float(stdtr(self.df, -t))

    def make_interval(self, level: float) -> Interval | None:
        """Return the t interval around the bounds, None where there is no test."""
        from scipy.special import stdtrit

        if not self.is_testable:
            return None
        t = float(stdtrit(self.df, (1 + level) / 2))
        return self.bounds[0] - t * self.se[0], self.bounds[1] + t * self.se[1]


def estimate_difference(draw: LabelledDraw) -> EstimatedDifference:
    """Return the mean difference over all queries, without bias from the assessor.

    The variance has a part between queries and one for the gains of the grades, which are fitted on the
    labels. A drawn unit without a label is never left out: people skip pairs for a reason.
    """
    labelled = draw.labelled
    if not labelled.any():
        mean = np.nan if draw.weight.size else 0.0
        return EstimatedDifference(mean, (mean, mean), (0.0, 0.0), 0, 0)
    predicted, groups = _fit_gains(draw, labelled)
    open_units = (draw.inverse > 0) & ~labelled
    gain = np.where(labelled, np.nan_to_num(draw.gain), predicted)
    worst = np.where(draw.weight > 0, 0.0, draw.top)
    by_query, _ = _estimate(draw, predicted, gain, groups)
    (lowest, lowest_error), (highest, highest_error) = (
        _estimate(draw, predicted, np.where(open_units, end, gain), groups)
        for end in (worst, draw.top - worst)
    )
    by_label = by_query[list_distinct(draw.query[labelled])]
    return EstimatedDifference(
        float(by_query.mean()),
        (float(lowest.mean()), float(highest.mean())),
        (lowest_error, highest_error),
        min(draw.queries - 1, int(labelled.sum()) - groups),
        int((np.abs(by_label) > TIE).sum()),
    )


def _fit_gains(draw: LabelledDraw, labelled: Bools) -> tuple[Floats, int]:
    """Return the (units,) mean gain of each unit's group, and the number of groups with a label.

    Means of rare grades are drawn towards the mean of all: n of n + 2 parts are their own.
    """
    share = np.where(labelled, draw.weight**2 * draw.inverse, 0.0)
    gain = np.nan_to_num(draw.gain)
    size = int(draw.group.max()) + 1
    count = np.bincount(draw.group, labelled, size)
    total = np.bincount(draw.group, share, size)
    overall = (share * gain).sum() / share.sum()
    mean = np.full(size, overall)
    np.divide(np.bincount(draw.group, share * gain, size), total, out=mean, where=total > 0)
    mean = (count * mean + 2 * overall) / (count + 2)
    return mean[draw.group], int((count > 0).sum())


def _estimate(draw: LabelledDraw, predicted: Floats, gain: Floats, groups: int) -> tuple[Floats, float]:
    """Return the (queries,) differences and the standard error of their mean, `gain` for all drawn units."""
    labels = int(draw.labelled.sum())
    correction = draw.weight * draw.inverse * (gain - predicted)
    by_query = np.bincount(draw.query, draw.weight * predicted + correction, draw.queries)
    variance = float(np.var(by_query, ddof=1)) / draw.queries if draw.queries > 1 else 0.0
    if labels > groups:
        # A certain unit counts with its own gain, whatever is predicted.
        fitted = float((correction[~draw.certain] ** 2).sum()) / draw.queries**2
        variance += groups / (labels - groups) * fitted
    return by_query.astype(np.float64), variance**0.5
