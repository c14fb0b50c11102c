"""What the errors of an assessor do to the engines: their order, and a bias towards one.

Engines are ranked by their scores, highest first; their order in the input has no influence. Scores of rank
correlations (tau, tau-AP) have no NaN: callers leave out engines without a score. The bias towards engines is
measured against labels of people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.measure.grades_by_pair import PairedGrades
from judge.measure.intervals import ALPHA, StatisticValue
from judge.measure.numeric import TIE, Bools, Floats, Ints, divide_sums, rank_engines
from judge.measure.resampling import MIN_DIFFERING, Statistic, estimate_statistics
from judge.measure.score import Scores, compute_nan_mean
from judge.messages import Message

_NO_TAU = Message("fewer than 2 engines, or one side ranks all engines equal")
_TOO_FEW_QUERIES = Message(
    "the biases of the two differ on fewer than {least} queries, so there is no interval", least=MIN_DIFFERING
)
#: Variances below this are rounding.
_ROUNDING = 1e-24
_NO_RESULT = Message("none of its results has both grades")


def tau(first: Floats, second: Floats) -> float | None:
    """Return Kendall's tau-b (1945): concordant minus discordant pairs, corrected for ties.

    None for fewer than 2 engines and where one side ties all engines.
    """
    ahead, behind = _compare_scores(first), _compare_scores(second)
    untied = float(np.square(ahead).sum() * np.square(behind).sum())
    return float((ahead * behind).sum() / np.sqrt(untied)) if untied else None


def tau_ap(truth: Floats, estimate: Floats) -> float | None:
    """Return the AP correlation (Yilmaz, Aslam, Robertson 2008): like tau, but swaps at the top weigh more.

    It averages, over all ranks of `estimate` but the first, the share of the engines above that are truly
    better. Ties in either order count with the mean over all ways to break them (tau_ap,a of Urbano &
    Marrero 2017). None for fewer than 2 engines and where one side ties all engines.
    """
    ahead, above = _compare_scores(truth), _compare_scores(estimate)
    if not (ahead.any() and above.any()):
        return None
    # Over all ways to break ties, a tied pair adds 0. The strictly higher engines remain, and a rank that
    # is uniform among the tied ones.
    better = (above > 0).sum(0)
    tied = (above == 0).sum(0)
    inverse = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, len(truth)))])
    weight = np.where(better, inverse[better + tied - 1] - inverse[np.maximum(better, 1) - 1], 0.0) / tied
    return float((np.where(above > 0, ahead, 0.0).sum(0) * weight).sum() / (len(truth) - 1))


def rbo(first: Sequence[str], second: Sequence[str], p: float = 0.9) -> float:
    """Return the extrapolated rank-biased overlap (RBO_ext, Webber et al. 2010, eq. 32) of two orders.

    It is the overlap of the top d, weighted by p^(d-1); beyond the end of an order the overlap is taken to
    stay the same. It is 1 for equal orders and 0 for disjoint ones. No order is empty or has a name twice.
    """
    short, long = sorted((first, second), key=len)

    def count_shared(depth: int) -> int:
        return len({*short[:depth]} & {*long[:depth]})

    end = count_shared(len(short)) / len(short)
    depths = range(1, len(long) + 1)
    shares = [count_shared(depth) / depth + max(0.0, 1 - len(short) / depth) * end for depth in depths]
    last = shares[-1] * p ** len(long)
    return (1 - p) * sum(share * p**before for before, share in enumerate(shares)) + last


def find_swaps(names: Sequence[str], truth: Floats, estimate: Floats) -> tuple[tuple[str, str], ...]:
    """Return the pairs of engines that the two sides order differently, without ties.

    The truly better engine of a pair comes first; the pairs are in the true order, best first.
    """
    is_reversed = _compare_scores(truth) * _compare_scores(estimate) < 0
    order = list(map(names.index, rank_engines(dict(zip(names, truth.tolist(), strict=True)))))
    swapped = ((one, two) for one, two in combinations(order, 2) if is_reversed[one, two])
    return tuple((names[better], names[worse]) for better, worse in swapped)


def _compare_scores(scores: Floats) -> Floats:
    """Return (engines, engines): 1 where the row has the higher score, -1 the lower, 0 for a tie."""
    difference = np.subtract.outer(scores, scores)
    return np.where(np.abs(difference) > TIE, np.sign(difference), 0.0)


@dataclass(frozen=True, slots=True)
class EngineOrders:
    """The engines' means by one measure, by people's grades and by the assessor's, over `queries` queries.

    `people` and `assessor` hold the means by engine, the best by people first. `left_out` engines have
    values on fewer than half of the queries where any engine has one. `tau` has no interval: resampled
    queries have more ties, and a jackknife interval missed the true value in one of five simulations.
    `swapped` pairs are in people's order.
    """

    queries: int
    partly_labelled: bool
    people: Mapping[str, float]
    assessor: Mapping[str, float]
    left_out: tuple[str, ...]
    tau: StatisticValue
    tau_ap: float | None
    rbo: float | None
    swapped: tuple[tuple[str, str], ...]


def compare_rankings(people: Scores, assessor: Scores, *, partly_labelled: bool) -> dict[str, EngineOrders]:
    """Return the agreement of both rankings by each measure that compares engines.

    Queries count where both sides have a value. An engine with values on fewer than half of those queries
    is left out. The others are compared on the queries where all of them have values, or on each
    engine's own if there is no such query. Both scores have the same engines, queries and measures.
    """
    values = np.stack([people.average_repeats(), assessor.average_repeats()])
    return {
        str(measure): _compare_ranking(people.engines, *values[..., at], partly_labelled=partly_labelled)
        for at, measure in enumerate(people.measures)
        if measure.compares_engines
    }


def _compare_ranking(
    engines: Sequence[str], people: Floats, assessor: Floats, *, partly_labelled: bool
) -> EngineOrders:
    both: Bools = ~(np.isnan(people) | np.isnan(assessor))
    often: Bools = both.any(1) & (2 * both.sum(1) >= both.any(0).sum())
    both &= often[:, None]
    everywhere: Bools = np.all(both[often], axis=0)
    if everywhere.any():
        both &= everywhere
    sides = np.stack([np.where(both, side, np.nan) for side in (people, assessor)])
    means = compute_nan_mean(sides, axis=-1)
    places = {engines[place]: place for place in np.flatnonzero(often).tolist()}
    names = tuple(rank_engines({engine: float(means[0, place]) for engine, place in places.items()}))
    ranked = [places[name] for name in names]
    truth, estimate = means[:, ranked]
    correlation = tau(truth, estimate)
    by_assessor = dict(zip(names, estimate.tolist(), strict=True))
    return EngineOrders(
        queries=int(both.any(0).sum()),
        partly_labelled=partly_labelled,
        people=dict(zip(names, truth.tolist(), strict=True)),
        assessor=by_assessor,
        left_out=tuple(engine for engine, ranks in zip(engines, often, strict=True) if not ranks),
        tau=StatisticValue(correlation, None, _NO_TAU if correlation is None else None),
        tau_ap=tau_ap(truth, estimate),
        rbo=rbo(names, rank_engines(by_assessor)) if names else None,
        swapped=find_swaps(names, truth, estimate),
    )


@dataclass(frozen=True, slots=True)
class EngineLabelBias:
    """The mean of assessor - people over the `results` of one engine with both grades."""

    results: int
    queries: int
    bias: StatisticValue


@dataclass(frozen=True, slots=True)
class WidestBiasGap:
    """The two engines with the largest difference in bias: the error of the assessor in a comparison.

    `difference` is the bias for `favoured` minus that for `other`, at least 0. Its interval is simultaneous
    with probability 95% over all pairs of engines: if it excludes 0, the difference is significant.
    """

    favoured: str
    other: str
    difference: StatisticValue


def estimate_engine_bias(
    engines: Sequence[str], engine: Ints, results: PairedGrades
) -> dict[str, EngineLabelBias]:
    """Return the bias of the assessor for each of `engines`, in their order.

    `results` has a row for every result of an engine with both grades, `engine` (results,) holds the indexes
    of the engines. Both grades are on one scale: 0 and 1 for relevance where the scales differ.
    """
    cells = _sum_by_engine(len(engines), engine, results)

    def select_engine(index: int) -> Statistic:
        return Statistic(lambda sums: divide_sums(sums[..., index, :]), _NO_RESULT)

    biases = estimate_statistics(cells, {name: select_engine(at) for at, name in enumerate(engines)})
    counts = cells[..., 1].astype(np.int64)
    totals = zip(engines, counts.sum(0).tolist(), (counts > 0).sum(0).tolist(), strict=True)
    return {name: EngineLabelBias(count, queries, biases[name]) for name, count, queries in totals}


def find_widest_gap(engines: Sequence[str], engine: Ints, results: PairedGrades) -> WidestBiasGap | None:
    """Return the largest difference in bias between two engines, None unless two of them have results.

    The arguments are those of `estimate_engine_bias`. Significant differences come before larger ones that
    are not significant: an engine with two results can be far from all others by chance.
    """
    cells = _sum_by_engine(len(engines), engine, results)
    biases = divide_sums(cells.sum(0))
    bias_by_engine = dict(zip(engines, biases.tolist(), strict=True))
    measured = {name: bias for name, bias in bias_by_engine.items() if not np.isnan(bias)}
    order = list(map(engines.index, rank_engines(measured)))
    engine_pairs = list(combinations(order, 2))
    if not engine_pairs:
        return None
    one, other = np.array(engine_pairs).T
    differences = biases[one] - biases[other]
    margins = _compute_margins(cells, one, other)
    significant = np.flatnonzero(differences - margins > 0)
    candidates = significant if significant.size else np.arange(len(engine_pairs))
    widest = candidates[differences[candidates].argmax()]
    value, margin = float(differences[widest]), float(margins[widest])
    difference = StatisticValue(value, (value - margin, value + margin))
    if np.isnan(margin):
        difference = StatisticValue(value, None, _TOO_FEW_QUERIES)
    return WidestBiasGap(engines[one[widest]], engines[other[widest]], difference)


def _compute_margins(cells: Floats, one: Ints, other: Ints) -> Floats:
    """Return (engine pairs,) half widths of the intervals of differences, NaN with too few queries.

    The variance is that of the jackknife over queries, because errors on one query are correlated. The t
    distribution has one degree of freedom fewer than the engine with fewer queries has queries. The level
    is corrected for the number of engine pairs (Bonferroni; Dunn 1961).
    """
    from scipy.special import stdtrit

    queries = len(cells)
    without = divide_sums(cells.sum(0) - cells)
    differences = without[:, one] - without[:, other]
    variance = differences.var(0) * (queries - 1)
    present = (cells[..., 1] > 0).sum(0)
    fewest = np.minimum(present[one], present[other])
    quantile = stdtrit(np.maximum(1, fewest - 1), 1 - ALPHA / 2 / len(one))
    # A smaller variance is rounding.
    margins: Floats = quantile * np.sqrt(np.where(variance > _ROUNDING, variance, 0.0))
    by_query = np.nan_to_num(divide_sums(cells))
    different = (by_query[:, one] != by_query[:, other]).sum(0)
    return np.where(np.minimum(fewest, different) < MIN_DIFFERING, np.nan, margins)


def _sum_by_engine(engines: int, engine: Ints, results: PairedGrades) -> Floats:
    """Return (queries, engines, 2): the sum of assessor - people, and the number of results."""
    numbers, row = np.unique(results.query, return_inverse=True)
    cells = np.zeros((len(numbers), engines, 2))
    excess = (results.assessor - results.people).astype(np.float64)
    np.add.at(cells, (row, engine), np.stack([excess, np.ones_like(excess)], axis=1))
    return cells
