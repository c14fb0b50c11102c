"""Stability over repeats: how much verdicts, scores and rankings change when the pool is judged again.

Equal repeats do not show that the grades are right (see `judge.measure.agreement`); different repeats show
that they are uncertain. Values in the analysis of variance have no NaN: callers leave such queries out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.flags import EMPTY_SNIPPET
from judge.measure.agreement import count_coincidences, fleiss_kappa, krippendorff_alpha
from judge.measure.engine_agreement import tau
from judge.measure.grades_by_pair import map_grades
from judge.measure.intervals import ALPHA, StatisticValue
from judge.measure.numeric import Bools, Floats, Ints, convert_non_finite, divide_sums
from judge.measure.resampling import Statistic, estimate_statistic
from judge.measure.score import Scores, compute_nan_mean
from judge.messages import Message
from judge.records import Judgment, PairKey, Scale

#: A variance below this share of the squared range of the values is rounding.
_ROUNDING = 1e-12
#: The means of two repeats count as equal within this margin, which was fixed in advance.
EQUIVALENCE_MARGIN = 0.01
_NO_REPEAT = Message("no pair was judged twice")
_ALL_SAME = Message("all grades are the same, so agreement by chance is complete")


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance components of a score: queries, engines, query × engine, and repeats (`noise`).

    Averaging over repeats divides `noise` by their number, and no other component.
    """

    query: float
    engine: float
    query_engine: float
    noise: float


def icc(values: Floats) -> float | None:
    """Return the intraclass correlation ICC(A,1) of (queries, repeats): the share of variance by queries.

    Two-way random effects, absolute agreement, a single repeat (McGraw & Wong 1996; Shrout & Fleiss'
    ICC(2,1)). None for fewer than 2 queries or repeats, and where nothing varies.
    """
    queries, repeats = values.shape
    if min(queries, repeats) < 2 or not np.ptp(values):
        return None
    mean, query_mean, repeat_mean = values.mean(), values.mean(1), values.mean(0)
    ms_queries = repeats * np.square(query_mean - mean).sum() / (queries - 1)
    ms_repeats = queries * np.square(repeat_mean - mean).sum() / (repeats - 1)
    ms_residual = np.square(values - query_mean[:, None] - repeat_mean + mean).sum() / (
        (queries - 1) * (repeats - 1)
    )
    total = ms_queries + (repeats - 1) * ms_residual + repeats * (ms_repeats - ms_residual) / queries
    # The total is 0 when two queries swap their values between two repeats.
    return float((ms_queries - ms_residual) / total) if total > _ROUNDING * np.ptp(values) ** 2 else None


def estimate_components(values: Floats) -> VarianceComponents | None:
    """Return the variance components of (queries, engines, repeats), by the method of moments.

    Mean squares of the random-effects analysis of variance with repeats nested in query x engine, solved
    for the variances; a negative solution is 0. None when there are fewer than 2 of any.
    """
    queries, engines, repeats = values.shape
    if min(values.shape) < 2:
        return None
    mean, cell = values.mean(), values.mean(2)
    query_mean, engine_mean = cell.mean(1), cell.mean(0)
    residual = cell - query_mean[:, None] - engine_mean + mean
    ms_queries = engines * repeats * np.square(query_mean - mean).sum() / (queries - 1)
    ms_engines = queries * repeats * np.square(engine_mean - mean).sum() / (engines - 1)
    ms_interaction = repeats * np.square(residual).sum() / ((queries - 1) * (engines - 1))
    noise = np.square(values - cell[:, :, None]).sum() / (queries * engines * (repeats - 1))
    return VarianceComponents(
        query=max(0.0, float(ms_queries - ms_interaction) / (engines * repeats)),
        engine=max(0.0, float(ms_engines - ms_interaction) / (queries * repeats)),
        query_engine=max(0.0, float(ms_interaction - noise) / repeats),
        noise=float(noise),
    )


def compute_equivalence_p(differences: Floats, margin: float) -> float | None:
    """Return the p-value of the equivalence test (TOST) that the mean difference is within ±`margin`.

    It is the larger p of two one-sided paired t tests (Schuirmann 1987). Where all differences are equal
    it is 0 inside the margin, else 1. None for fewer than 2 differences.
    """
    n = differences.size
    if n < 2:
        return None
    excess = abs(float(differences.mean())) - margin
    if not np.ptp(differences):
        return 0.0 if abs(float(differences[0])) < margin else 1.0
    from scipy.special import stdtr

    return float(stdtr(n - 1, excess / (differences.std(ddof=1) / np.sqrt(n))))


@dataclass(frozen=True, slots=True)
class EngineStability:
    """The means of one engine in every repeat, their mean, standard deviation `sd` and range.

    `icc` is the intraclass correlation ICC(A,1) of the values by query. `tost_p` is the p of the test that
    the means of two repeats differ by less than `EQUIVALENCE_MARGIN` (TOST). It is the largest p of all pairs
    of repeats, and None when a pair of repeats cannot be tested.
    """

    means: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    range: float | None
    icc: float | None
    tost_p: float | None


@dataclass(frozen=True, slots=True)
class MeasureStability:
    """The stability of one measure over the repeats.

    `smallest_tau` is that of the rankings of any two repeats. `tost_p` is the largest of any engine: if it
    is below `ALPHA`, the mean of every engine is equal in all repeats within `EQUIVALENCE_MARGIN`
    (`equivalent`).
    """

    engines: Mapping[str, EngineStability]
    largest_difference: float | None
    smallest_tau: float | None
    variance: VarianceComponents | None
    tost_p: float | None
    equivalent: bool | None


@dataclass(frozen=True, slots=True)
class RepeatStability:
    """How stable the grades are, over `pairs` that were judged at least twice; intervals are over queries.

    `flip_rate` is the chance that two judgments of a pair differ in relevant or not. `grade_change_rate` is
    the chance that they differ in grade. `ever_flipped` is the share of pairs with any flip. `alpha` is
    Krippendorff's (ordinal), `fleiss_kappa` is on a binary scale, over the pairs with a grade in all repeats.
    `margin` is `EQUIVALENCE_MARGIN`.
    """

    repeats: int
    pairs: int
    flip_rate: StatisticValue
    grade_change_rate: StatisticValue
    ever_flipped: StatisticValue
    alpha: StatisticValue
    fleiss_kappa: float | None
    margin: float
    measures: Mapping[str, MeasureStability]


def measure_stability(scores: Scores, judgments: Iterable[Judgment], scale: Scale) -> RepeatStability | None:
    """Return the stability over several repeats; grades of empty snippets, given by a rule, do not count."""
    if len(scores.repeats) < 2:
        return None
    query, counts = _count_grades(judgments, scores.repeats, scale.top + 1)
    relevant = counts[:, scale.relevant_from :].sum(1)
    judged = counts.sum(1)
    possible = _count_combinations(judged)
    changing = possible - _count_combinations(counts).sum(1)
    flipping = relevant * (judged - relevant)
    return RepeatStability(
        repeats=len(scores.repeats),
        pairs=len(counts),
        flip_rate=_estimate_share(query, flipping, possible),
        grade_change_rate=_estimate_share(query, changing, possible),
        ever_flipped=_estimate_share(query, flipping > 0, np.ones(len(counts))),
        alpha=estimate_statistic(
            _sum_by_query(query, count_coincidences(counts)),
            Statistic(krippendorff_alpha, _ALL_SAME if len(counts) else _NO_REPEAT),
        ),
        fleiss_kappa=convert_non_finite(fleiss_kappa(counts[judged == len(scores.repeats)]))
        if scale.name == "binary"
        else None,
        margin=EQUIVALENCE_MARGIN,
        measures=dict(_compare_measures(scores)),
    )


def _count_grades(judgments: Iterable[Judgment], repeats: Sequence[int], levels: int) -> tuple[Ints, Ints]:
    """Return the (pairs,) numbers of the queries, and how many repeats gave each grade: (pairs, levels).

    They are the pairs with two grades or more, sorted by name: queries without such a pair would widen the
    intervals.
    """
    rows: dict[PairKey, list[int]] = {}
    counted = (judgment for judgment in judgments if EMPTY_SNIPPET not in judgment.flags)
    for (query_id, snippet_id, repeat), grade in map_grades(counted).items():
        if repeat in repeats:
            rows.setdefault((query_id, snippet_id), [0] * levels)[grade] += 1
    pairs = sorted(pair for pair, row in rows.items() if sum(row) > 1)
    numbers = {name: index for index, name in enumerate(sorted({query for query, _ in pairs}))}
    counts = np.array([rows[pair] for pair in pairs], dtype=np.int64).reshape(-1, levels)
    return np.array([numbers[query] for query, _ in pairs], dtype=np.int64), counts


def _count_combinations(repeats: Ints) -> Ints:
    """Return the number of combinations of two of so many repeats."""
    return repeats * (repeats - 1) // 2


def _estimate_share(query: Ints, counts: Ints | Bools, totals: Ints | Floats) -> StatisticValue:
    cells = _sum_by_query(query, np.stack([counts, totals], axis=1).astype(np.float64))
    return estimate_statistic(cells, Statistic(divide_sums, _NO_REPEAT, is_share=True))


def _sum_by_query(query: Ints, cells: Floats) -> Floats:
    """Return the (queries, …) sums of (pairs, …) cells."""
    sums = np.zeros((int(query.max(initial=-1)) + 1, *cells.shape[1:]))
    np.add.at(sums, query, cells)
    return sums


def _compare_measures(scores: Scores) -> Iterator[tuple[str, MeasureStability]]:
    for index, measure in enumerate(scores.measures):
        value = scores.value[..., index]
        complete = ~np.isnan(value).any(axis=(0, 2))
        engines = {name: _summarise_engine(value[row]) for row, name in enumerate(scores.engines)}
        measured = [engine for engine in engines.values() if engine.mean is not None]
        p_values = [engine.tost_p for engine in measured if engine.tost_p is not None]
        ranges = [engine.range for engine in measured if engine.range is not None]
        yield (
            str(measure),
            MeasureStability(
                engines=engines,
                largest_difference=max(ranges, default=None),
                smallest_tau=_find_lowest_tau(compute_nan_mean(value, axis=1)),
                variance=estimate_components(value[:, complete].transpose(1, 0, 2)),
                tost_p=max(p_values, default=None),
                equivalent=max(p_values) < ALPHA if 0 < len(p_values) == len(measured) else None,
            ),
        )


def _summarise_engine(value: Floats) -> EngineStability:
    """Return the stability of one engine from its (queries, repeats) values."""
    means = compute_nan_mean(value, axis=0)
    defined = means[~np.isnan(means)]
    p_values = [
        compute_equivalence_p(_compute_query_differences(one, two), EQUIVALENCE_MARGIN)
        for one, two in combinations(value.T, 2)
    ]
    known_p = [p for p in p_values if p is not None]
    return EngineStability(
        means=tuple(map(convert_non_finite, means)),
        mean=float(defined.mean()) if defined.size else None,
        sd=float(defined.std(ddof=1)) if defined.size > 1 else None,
        range=float(np.ptp(defined)) if defined.size > 1 else None,
        icc=icc(value[~np.isnan(value).any(1)]),
        tost_p=max(known_p) if len(known_p) == len(p_values) else None,
    )


def _compute_query_differences(one: Floats, two: Floats) -> Floats:
    """Return values by query with the difference of the means of two repeats as their mean.

    Where both repeats have a value it is their difference. A query with a value in one repeat alone
    contributes its distance from the mean of that repeat (the influence of a ratio, delta method).
    """
    either = ~(np.isnan(one) & np.isnan(two))
    sides = []
    for side in (one[either], two[either]):
        defined = ~np.isnan(side)
        if not defined.any():
            return np.empty(0)
        mean = side[defined].mean()
        sides.append(mean + np.where(defined, side - mean, 0.0) * (len(side) / defined.sum()))
    differences: Floats = sides[0] - sides[1]
    return differences


def _find_lowest_tau(means: Floats) -> float | None:
    """Return the smallest tau of any two repeats from (engines, repeats) means.

    None when an engine with a mean in one repeat has none in another.
    """
    ranked = means[~np.isnan(means).all(1)]
    if np.isnan(ranked).any():
        return None
    taus = [tau(one, two) for one, two in combinations(ranked.T, 2)]
    defined = [value for value in taus if value is not None]
    return min(defined) if len(defined) == len(taus) else None
