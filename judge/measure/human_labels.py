"""Owns setting people's grades beside an assessor's: the same pairs, the same results, the same scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from statistics import median

import numpy as np

from judge.measure.agreement import PairedGrades
from judge.measure.formulas import Bools, Floats, Ints
from judge.measure.rank_correlation import find_swaps, rbo, tau, tau_ap
from judge.measure.resampling import IntervalEstimate
from judge.measure.score import Scores, nan_mean
from judge.records import Judgment, Ranking, Scale

#: Grades by (query_id, snippet_id).
GradesByPair = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """The engines' orders by one measure with people's grades and with the assessor's.

    Both are over the same `queries` queries. `people` and `assessor` hold the means of `engines`, which
    stand best first by people. `left_out` are the engines with values on fewer than half of the
    queries where any has one. `tau` has no interval: over resampled queries orders are coarser, and
    the jackknife's range missed the truth in one world of five. `swapped` pairs are in people's order.
    """

    measure: str
    queries: int
    engines: tuple[str, ...]
    people: tuple[float, ...]
    assessor: tuple[float, ...]
    left_out: tuple[str, ...]
    tau: IntervalEstimate
    tau_ap: float | None
    rbo: float | None
    swapped: tuple[tuple[str, str], ...]


def median_grades(judgments: Iterable[Judgment]) -> dict[tuple[str, str], int]:
    """Each judged pair's grade: the median over its repeats, halves rounded up.

    Snippets without text are left out: nobody judged them, they have grade 0 by rule.
    """
    given: dict[tuple[str, str], list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None and "empty_snippet" not in judgment.flags:
            given.setdefault((judgment.query_id, judgment.snippet_id), []).append(judgment.grade)
    return {key: median_grade(grades) for key, grades in given.items()}


def median_grade(grades: Sequence[int]) -> int:
    """The grade that stands for those of several repeats: their median, halves rounded up."""
    return floor(median(grades) + 0.5)


def convert_to_judgments(people: GradesByPair) -> tuple[Judgment, ...]:
    """People's grades in the form that scoring takes."""
    return tuple(
        Judgment(query_id, snippet_id, 1, grade, "", None, "people", "", {}, "", None)
        for (query_id, snippet_id), grade in people.items()
    )


def pair_grades(people: GradesByPair, assessor: GradesByPair) -> PairedGrades:
    """The pairs that both sides graded, sorted by name."""
    return _make_paired_grades([key for key in sorted(people) if key in assessor], people, assessor)


def pair_results(
    engines: Sequence[str],
    rankings: Iterable[Ranking],
    depth: int,
    people: GradesByPair,
    assessor: GradesByPair,
) -> tuple[Ints, PairedGrades]:
    """Every result down to `depth` that both sides graded: whose it is (its place in `engines`), and both."""
    place = {engine: at for at, engine in enumerate(engines)}
    found = [
        (place[ranking.engine], (ranking.query_id, snippet.id))
        for ranking in sorted(rankings, key=lambda ranking: (ranking.engine, ranking.query_id))
        if ranking.engine in place
        for snippet in ranking.snippets[:depth]
    ]
    both = [(engine, key) for engine, key in found if key in people and key in assessor]
    engine = np.array([engine for engine, _ in both], dtype=np.int64)
    return engine, _make_paired_grades([key for _, key in both], people, assessor)


def convert_to_relevance(grades: GradesByPair, scale: Scale) -> dict[tuple[str, str], int]:
    """1 where the grade counts as relevant, else 0: what grades of two scales have in common."""
    return {key: int(grade >= scale.relevant_from) for key, grade in grades.items()}


def find_graded_queries(
    pairs: Iterable[tuple[str, str]], grades: GradesByPair
) -> tuple[frozenset[str], frozenset[str]]:
    """The query ids of which every pair has a grade, and those of which some have."""
    whole: dict[str, bool] = {}
    some = set()
    for key in pairs:
        whole[key[0]] = whole.get(key[0], True) and key in grades
        some |= {key[0]} if key in grades else set()
    return frozenset(query_id for query_id, is_whole in whole.items() if is_whole), frozenset(some)


def compare_rankings(people: Scores, assessor: Scores) -> tuple[RankingAgreement, ...]:
    """How the engines stand by each measure that compares, over the queries where both sides have values.

    An engine that has them on fewer than half of those queries is left out. The others meet on the
    queries where all of them have values, or on each engine's own where there is no such query. The
    two scores have the same engines, queries and measures.
    """
    theirs, ours = people.average_repeats()[0], assessor.average_repeats()[0]
    return tuple(
        _compare_ranking(str(measure), people.engines, theirs[..., at], ours[..., at])
        for at, measure in enumerate(people.measures)
        if measure.compares_engines
    )


def _compare_ranking(
    measure: str, engines: Sequence[str], people: Floats, assessor: Floats
) -> RankingAgreement:
    both: Bools = ~(np.isnan(people) | np.isnan(assessor))
    often: Bools = both.any(1) & (2 * both.sum(1) >= both.any(0).sum())
    both &= often[:, None]
    everywhere: Bools = np.all(both[often], axis=0)
    if everywhere.any():  # engines meet on the same queries, as long as there are such
        both &= everywhere
    sides = np.stack([np.where(both, side, np.nan) for side in (people, assessor)])
    means = nan_mean(sides, axis=-1)
    ranked = np.flatnonzero(often).tolist()
    ranked.sort(key=lambda at: (-means[0, at], engines[at]))
    names = tuple(engines[at] for at in ranked)
    truth, estimate = means[:, ranked]
    by_assessor = [names[at] for at in sorted(range(len(names)), key=lambda at: (-estimate[at], names[at]))]
    return RankingAgreement(
        measure=measure,
        queries=int(both.any(0).sum()),
        engines=names,
        people=tuple(truth.tolist()),
        assessor=tuple(estimate.tolist()),
        left_out=tuple(engine for engine, ranks in zip(engines, often, strict=True) if not ranks),
        tau=_estimate_tau(truth, estimate),
        tau_ap=tau_ap(truth, estimate),
        rbo=rbo(names, by_assessor) if names else None,
        swapped=find_swaps(names, truth, estimate),
    )


def _estimate_tau(people: Floats, assessor: Floats) -> IntervalEstimate:
    value = tau(people, assessor)
    if value is None:
        return IntervalEstimate(None, why="fewer than 2 engines, or one side holds all engines equal")
    return IntervalEstimate(value)


def _make_paired_grades(
    keys: Sequence[tuple[str, str]], people: GradesByPair, assessor: GradesByPair
) -> PairedGrades:
    number = {query_id: at for at, query_id in enumerate(sorted({query_id for query_id, _ in keys}))}

    def array(values: Iterable[int]) -> Ints:
        return np.array(list(values), dtype=np.int64)

    return PairedGrades(
        array(number[query_id] for query_id, _ in keys),
        array(people[key] for key in keys),
        array(assessor[key] for key in keys),
    )
