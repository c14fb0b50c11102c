"""Stability of verdicts, scores and rankings over repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judge.measure.arrays import NO_GRADE
from judge.measure.formulas import Floats, Ints, divide
from judge.measure.kappa import count_coincidences, fleiss_kappa, krippendorff_alpha
from judge.measure.rank_correlation import tau
from judge.measure.resampling import IntervalEstimate, estimate_statistic
from judge.measure.score import Scores, nan_mean
from judge.records import Judgment, Scale

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


#: How far two repeats' means may be apart to count as the same: absolute, and said beforehand.
EQUIVALENCE_MARGIN = 0.01
ALPHA = 0.05
_NO_REPEAT = "no pair was judged twice"


@dataclass(frozen=True, slots=True)
class EngineRepeats:
    """One engine's means in every repeat: their mean, standard deviation `sd` and largest difference.

    `icc` is the intraclass correlation ICC(A,1) of its per-query values. `p` is of the test that two
    repeats' means differ by less than `MARGIN` (TOST, the worst of all pairs of repeats), None when a
    pair of repeats can't be tested.
    """

    engine: str
    means: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    spread: float | None
    icc: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class MeasureRepeats:
    """One measure over the repeats.

    `tau` is the smallest of any two repeats' orders of the engines. `p` is the largest of any engine:
    below `ALPHA` every engine's mean is the same in all repeats within `MARGIN` (`equivalent`).
    """

    measure: str
    engines: tuple[EngineRepeats, ...]
    tau: float | None
    components: VarianceComponents | None
    spread: float | None
    p: float | None
    equivalent: bool | None


@dataclass(frozen=True, slots=True)
class Stability:
    """How alike the repeats are; intervals are 95 %, over queries.

    `pairs` were judged at least twice. `flips` is the chance that two judgings of a pair differ in
    relevant or not, `changes` that they differ in grade, `ever` the share of pairs with any flip.
    `alpha` is Krippendorff's (ordinal), `kappa` Fleiss' for a binary scale, over the pairs that every
    repeat judged.
    """

    repeats: int
    pairs: int
    flips: IntervalEstimate
    changes: IntervalEstimate
    ever: IntervalEstimate
    alpha: IntervalEstimate
    kappa: float | None
    measures: tuple[MeasureRepeats, ...]


def measure_stability(scores: Scores, judgments: Iterable[Judgment], scale: Scale) -> Stability | None:
    """What the repeats have in common; None when there is only one.

    Snippets without text are left out of the verdicts: nobody judged them.
    """
    if len(scores.repeats) < 2:
        return None
    query, grades = _collect_grades(judgments, scores.repeats)
    judged = (grades != NO_GRADE).sum(1)
    query, grades, judged = query[judged > 1], grades[judged > 1], judged[judged > 1]
    # A query without such a pair is none: drawing it would widen the intervals.
    query = np.unique(query, return_inverse=True)[1]
    relevant = np.where(grades == NO_GRADE, NO_GRADE, grades >= scale.relevant_from)
    possible = judged * (judged - 1) / 2
    flipping, changing = _count_differences(relevant), _count_differences(grades)
    return Stability(
        repeats=len(scores.repeats),
        pairs=len(grades),
        flips=_estimate_share(query, flipping, possible),
        changes=_estimate_share(query, changing, possible),
        ever=_estimate_share(query, (flipping > 0).astype(np.float64), np.ones(len(grades))),
        alpha=_estimate_alpha(query, _count_grades(grades, scale.top + 1)),
        kappa=_compute_fleiss_kappa(grades, scale) if scale.name == "binary" else None,
        measures=tuple(_compare_measures(scores)),
    )


def _collect_grades(judgments: Iterable[Judgment], repeats: Sequence[int]) -> tuple[Ints, Ints]:
    """The query (numbered) of every pair, and (pairs, repeats) grades; pairs are sorted by name."""
    column = {repeat: at for at, repeat in enumerate(repeats)}
    given = [
        ((j.query_id, j.snippet_id), column[j.repeat], j.grade)
        for j in judgments
        if j.grade is not None and j.repeat in column and "empty_snippet" not in j.flags
    ]
    rows = {pair: at for at, pair in enumerate(sorted({pair for pair, _, _ in given}))}
    numbers = {name: at for at, name in enumerate(sorted({query for query, _ in rows}))}
    grades = np.full((len(rows), len(repeats)), NO_GRADE)
    for pair, at, grade in given:
        grades[rows[pair], at] = grade
    return np.array([numbers[query] for query, _ in rows], dtype=np.int64), grades


def _count_differences(values: Ints) -> Floats:
    """For each pair, how many pairs of repeats that both judged it differ."""
    total = np.zeros(len(values))
    for one, two in combinations(values.T, 2):
        total += (one != two) & (one != NO_GRADE) & (two != NO_GRADE)
    return total


def _count_grades(grades: Ints, levels: int) -> Ints:
    counts: Ints = np.stack([(grades == level).sum(1) for level in range(levels)], axis=1)
    return counts


def _estimate_share(query: Ints, some: Floats, all_of_them: Floats) -> IntervalEstimate:
    def share(sums: Floats) -> Floats:
        return divide(sums[..., 0], sums[..., 1], np.nan)

    cells = _sum_by_query(query, np.stack([some, all_of_them], axis=1))
    return estimate_statistic(cells, share, _NO_REPEAT, share=True)


def _estimate_alpha(query: Ints, counts: Ints) -> IntervalEstimate:
    levels = counts.shape[1]

    def alpha(sums: Floats) -> Floats:
        return krippendorff_alpha(sums.reshape(*sums.shape[:-1], levels, levels))

    why = "all grades are the same, so agreement by chance is complete" if len(counts) else _NO_REPEAT
    cells = count_coincidences(counts).reshape(len(counts), levels * levels)
    return estimate_statistic(_sum_by_query(query, cells), alpha, why)


def _compute_fleiss_kappa(grades: Ints, scale: Scale) -> float | None:
    whole = grades[(grades != NO_GRADE).all(1)]
    kappa = fleiss_kappa(_count_grades(whole, scale.top + 1)) if len(whole) else np.nan
    return None if np.isnan(kappa) else float(kappa)


def _sum_by_query(query: Ints, cells: Floats) -> Floats:
    """(queries, cells): the sums over each query's pairs."""
    sums = np.zeros((int(query.max(initial=-1)) + 1, cells.shape[1]))
    np.add.at(sums, query, cells)
    return sums


def _compare_measures(scores: Scores) -> Iterator[MeasureRepeats]:
    for at, measure in enumerate(scores.measures):
        value = scores.value[..., at]
        engines = tuple(_summarise_engine(name, value[row]) for row, name in enumerate(scores.engines))
        worst = [engine.p for engine in engines if engine.p is not None]
        untested = any(engine.p is None and engine.mean is not None for engine in engines)
        spreads = [engine.spread for engine in engines if engine.spread is not None]
        yield MeasureRepeats(
            measure=str(measure),
            engines=engines,
            tau=_find_lowest_tau(nan_mean(value, axis=1)),
            components=_split_variance(value),
            spread=max(spreads, default=None),
            p=max(worst, default=None),
            equivalent=max(worst) < ALPHA if worst and not untested else None,
        )


def _summarise_engine(name: str, value: Floats) -> EngineRepeats:
    """One engine from its (queries, repeats) values."""
    means = nan_mean(value, axis=0)
    known = means[~np.isnan(means)]
    chances = [
        compute_equivalence_p(_query_differences(one, two), EQUIVALENCE_MARGIN)
        for one, two in combinations(value.T, 2)
    ]
    tested = [p for p in chances if p is not None]
    return EngineRepeats(
        engine=name,
        means=tuple(None if np.isnan(mean) else float(mean) for mean in means),
        mean=float(known.mean()) if known.size else None,
        sd=float(known.std(ddof=1)) if known.size > 1 else None,
        spread=float(np.ptp(known)) if known.size > 1 else None,
        icc=icc(value[~np.isnan(value).any(1)]),
        p=max(tested) if len(tested) == len(chances) else None,
    )


def _query_differences(one: Floats, two: Floats) -> Floats:
    """What each query adds to the difference between two repeats' means: values whose mean is just that.

    Where both repeats have a value it is their difference. A query that has one in a single repeat moves
    that mean by how far it lies from it (a ratio's influence, as in the delta method).
    """
    some = ~(np.isnan(one) & np.isnan(two))
    sides = []
    for side in (one[some], two[some]):
        known = ~np.isnan(side)
        if not known.any():
            return np.empty(0)
        mean = side[known].mean()
        sides.append(mean + np.where(known, side - mean, 0.0) * (len(side) / known.sum()))
    moves: Floats = sides[0] - sides[1]
    return moves


def _find_lowest_tau(means: Floats) -> float | None:
    """The smallest tau of the orders of any two repeats; `means` is (engines, repeats).

    None when a repeat has no order of all engines that have a mean anywhere.
    """
    ranked = means[~np.isnan(means).all(1)]
    if np.isnan(ranked).any():
        return None
    taus = [tau(one, two) for one, two in combinations(ranked.T, 2)]
    known = [each for each in taus if each is not None]
    return min(known) if known and len(known) == len(taus) else None


def _split_variance(value: Floats) -> VarianceComponents | None:
    """The variance split over the queries where every engine has a value in every repeat."""
    whole = ~np.isnan(value).any(axis=(0, 2))
    return estimate_components(value[:, whole].transpose(1, 0, 2))
