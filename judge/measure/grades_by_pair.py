"""Grades by pair: the grades of judgments, labels of people, and the pairs that both graded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from statistics import median

import numpy as np

from judge.flags import EMPTY_SNIPPET
from judge.measure.numeric import Ints
from judge.records import Judgment, PairKey, Ranking, Scale

#: Grades by (query id, snippet id).
GradesByPair = Mapping[PairKey, int]


def map_grades(judgments: Iterable[Judgment]) -> dict[tuple[str, str, int], int]:
    """Return the grades by (query id, snippet id, repeat)."""
    return {
        (*judgment.key, judgment.repeat): judgment.grade
        for judgment in judgments
        if judgment.grade is not None
    }


def compute_median_grades(judgments: Iterable[Judgment]) -> dict[PairKey, int]:
    """Return the median grade of each pair over its repeats, halves rounded up; not of empty snippets."""
    by_pair: dict[PairKey, list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None and EMPTY_SNIPPET not in judgment.flags:
            by_pair.setdefault(judgment.key, []).append(judgment.grade)
    return {key: compute_median_grade(grades) for key, grades in by_pair.items()}


def compute_median_grade(grades: Sequence[int]) -> int:
    """Return the median of the grades, halves rounded up."""
    return floor(median(grades) + 0.5)


def convert_to_judgments(people: GradesByPair) -> tuple[Judgment, ...]:
    """Return labels of people as judgments, for scoring."""
    return tuple(
        Judgment(
            query_id,
            snippet_id,
            repeat=1,
            grade=grade,
            reason="",
            error=None,
            assessor="people",
            prompt_version="",
            params={},
            reply="",
            usage=None,
        )
        for (query_id, snippet_id), grade in people.items()
    )


def convert_to_relevance(grades: GradesByPair, scale: Scale) -> dict[PairKey, int]:
    """Return 1 where a grade is relevant, else 0: this makes grades of two scales comparable."""
    return {key: int(grade >= scale.relevant_from) for key, grade in grades.items()}


def find_graded_queries(
    pairs: Iterable[PairKey], grades: GradesByPair
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the queries with a grade for every pair, and of those with any grade."""
    keys = set(pairs)
    partly = frozenset(query_id for query_id, _ in keys & grades.keys())
    return partly - {query_id for query_id, _ in keys - grades.keys()}, partly


@dataclass(frozen=True, slots=True)
class PairedGrades:
    """Pairs with a label of people and a grade of the assessor: three arrays of shape (pairs,).

    `query` numbers the queries, `people` and `assessor` are the two grades.
    """

    query: Ints
    people: Ints
    assessor: Ints


def pair_grades(
    people: GradesByPair, assessor: GradesByPair, keys: Iterable[PairKey] | None = None
) -> PairedGrades:
    """Return the pairs of `keys` that both sides graded; without `keys` all such pairs, sorted by id."""
    both = [key for key in (sorted(people) if keys is None else keys) if key in people and key in assessor]
    number = {query_id: index for index, query_id in enumerate(sorted({query_id for query_id, _ in both}))}
    return PairedGrades(
        np.array([number[query_id] for query_id, _ in both], dtype=np.int64),
        np.array([people[key] for key in both], dtype=np.int64),
        np.array([assessor[key] for key in both], dtype=np.int64),
    )


def pair_results(
    engines: Sequence[str],
    rankings: Iterable[Ranking],
    depth: int,
    people: GradesByPair,
    assessor: GradesByPair,
) -> tuple[Ints, PairedGrades]:
    """Return the results down to `depth` that both sides graded.

    The first array, (results,), holds the indexes of their engines. A pair that two engines returned is in
    the result twice.
    """
    indexes = {engine: index for index, engine in enumerate(engines)}
    results = [
        (indexes[ranking.engine], (ranking.query_id, snippet.id))
        for ranking in sorted(rankings, key=lambda ranking: ranking.key)
        if ranking.engine in indexes
        for snippet in ranking.snippets[:depth]
        if (ranking.query_id, snippet.id) in people and (ranking.query_id, snippet.id) in assessor
    ]
    engine = np.array([engine for engine, _ in results], dtype=np.int64)
    return engine, pair_grades(people, assessor, [key for _, key in results])
