"""Recall of information points: what a complete answer needs, and which results state it.

The model lists the points of a query, vital or okay, and says for each relevant snippet which of them it
supports. The measures are those of AutoNuggetizer (Pradeep et al. 2024), over the list of an engine instead
of an answer. A point has the best support of the list: 1 for support, 0.5 for partial support (0 in strict
measures).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from judge.analysis.dimension_summary import (
    DimensionNote,
    DimensionResult,
    QueryValues,
    make_note,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun
from judge.assess.question_assessor import QuestionKind
from judge.characters import estimate_tokens
from judge.dataset.clean import clean_query
from judge.dataset.pool import mark_repeated
from judge.dimensions.dimension import (
    DimensionOptions,
    QuestionCount,
    is_readable,
    make_question_pair,
    show_snippets,
)
from judge.flags import EMPTY_SNIPPET
from judge.measure.formulas import compute_alpha_ndcg
from judge.measure.grades_by_pair import GradesByPair, compute_median_grades
from judge.measure.numeric import Floats
from judge.messages import Message
from judge.records import Dataset, ListKey, Pair, PairKey, Pool

#: The most points of a query, and the most snippets that the model reads to list them.
MAX_POINTS, _MAX_SHOWN = 10, 10
#: The most queries whose uncovered points the summary lists.
_MAX_NOTES = 100
_POINT_TOKENS = 20
_MAX_POINT = 300
Importance = Literal["vital", "okay"]
Support = Literal["support", "partial", "not"]
_LEVELS: Mapping[Support, float] = {"support": 1.0, "partial": 0.5, "not": 0.0}
#: The support of each point by one snippet.
Levels = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """An information point of a query."""

    point: str
    importance: Importance


@dataclass(frozen=True, slots=True)
class PointList:
    """The points of a query, as the model lists them."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class SnippetSupport:
    """What the model says of one snippet: its support of each point, in order."""

    support: tuple[Support, ...]


def _is_list(answer: PointList, _: object) -> bool:
    texts = {clean_query(point.point) for point in answer.points if is_readable(point.point, _MAX_POINT)}
    return 0 < len(texts) == len(answer.points) <= MAX_POINTS


LIST_POINTS = QuestionKind("points", "points", Message("information points"), PointList, _is_list)
FIND_SUPPORT = QuestionKind(
    "support",
    "points",
    Message("support of information points"),
    SnippetSupport,
    lambda answer, lines: len(answer.support) == len(lines) - 1,  # the first line is the snippet
)


def count_point_questions(dataset: Dataset, pool: Pool, _: object) -> Iterable[QuestionCount]:
    """Return the most questions: one a query, and one a pair, of which only relevant ones are asked."""
    texts = [estimate_tokens(pair.snippet.text) for pair in pool.pairs] or [0.0]
    queries = len(dataset.queries)
    tokens_a_query = fmean(texts) * min(_MAX_SHOWN, len(pool.pairs) / max(queries, 1))
    of_points = MAX_POINTS * _POINT_TOKENS
    return [
        QuestionCount(LIST_POINTS, queries, tokens_a_query, of_points),
        QuestionCount(FIND_SUPPORT, len(pool.pairs), fmean(texts) + of_points, 6 * MAX_POINTS),
    ]


def measure_points(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the recall of points of each list, down to the depth of the run.

    A list has no value where the points are unknown, or one of its results has no grade or no answer.
    """
    empty = {pair.key: 0 for pair in run.pool.pairs if EMPTY_SNIPPET in pair.snippet.flags}
    grades = {**empty, **compute_median_grades(run.judgments)}
    relevant = _select_relevant(run, grades)
    to_list = {}
    for query in run.dataset.queries.values():
        lines = show_snippets(pair.snippet for pair in relevant[query.id][:_MAX_SHOWN])
        to_list[query.id] = make_question_pair(query, lines or ["-"])
    points = {query_id: answer.points for query_id, answer in options.ask(LIST_POINTS, to_list).items()}
    to_assign = {}
    for query_id, of_query in points.items():
        lines = [f"{number} | {point.point}" for number, point in enumerate(of_query, start=1)]
        for pair in relevant[query_id]:
            pair_lines = [*show_snippets([pair.snippet], start=0), *lines]
            to_assign[pair.key] = make_question_pair(pair.query, pair_lines)
    assigned = options.ask(FIND_SUPPORT, to_assign)
    # Snippets that are not relevant support nothing.
    levels: dict[PairKey, Levels | None] = {
        key: (0.0,) * len(points[key[0]]) for key in grades if key[0] in points
    }
    levels |= dict.fromkeys(to_assign)
    for key, answer in assigned.items():
        levels[key] = tuple(_LEVELS[support] for support in answer.support)
    pools: dict[str, list[Levels | None]] = {query_id: [] for query_id in points}
    for pair in run.pool.pairs:
        if pair.query.id in points:
            pools[pair.query.id].append(levels.get(pair.key))
    values: dict[ListKey, QueryValues] = {}
    for (engine, query_id), snippets in run.lists.items():
        if query_id in points:
            of_query, ids = points[query_id], [snippet.id for snippet in snippets]
            # A snippet that an engine repeats adds nothing the second time.
            row = [
                (0.0,) * len(of_query) if again else levels.get((query_id, snippet_id))
                for snippet_id, again in zip(ids, mark_repeated(ids), strict=True)
            ]
            values[engine, query_id] = measure_list_points(of_query, row, pools[query_id], run.pool.depth)
    remarks, notes = _describe_uncovered(run, points, pools)
    return summarise_dimension(values, run.dataset.engines, remarks, notes)


def measure_list_points(
    points: Sequence[Point], ranking: Sequence[Levels | None], pool: Sequence[Levels | None], depth: int
) -> QueryValues:
    """Return recall, `vital_RR` and alpha-nDCG of a list by the levels of its results, best first.

    `pool` has the levels of all results of the query. `vital_RR` is 1 / the first rank at which all vital
    points are supported, 0 where they never are. alpha-nDCG is None where a result of the pool is unknown:
    its ideal order could be better.
    """
    rows = _stack_levels(points, ranking)
    vital = np.array([point.importance == "vital" for point in points])
    best = rows.max(axis=0, initial=0.0)
    strict = best == 1.0
    weights = np.where(vital, 1.0, 0.5)
    ranks = np.flatnonzero(np.logical_or.accumulate(rows == 1.0)[:, vital].all(axis=1))
    values = {
        f"strict_vital@{depth}": float(strict[vital].mean()) if vital.any() else None,
        f"vital@{depth}": float(best[vital].mean()) if vital.any() else None,
        f"weighted@{depth}": float((best * weights).sum() / weights.sum()),
        f"strict_all@{depth}": float(strict.mean()),
        f"all@{depth}": float(best.mean()),
        "vital_RR": (1.0 / float(ranks[0] + 1) if len(ranks) else 0.0) if vital.any() else None,
        f"alpha_nDCG@{depth}": None
        if None in pool
        else compute_alpha_ndcg(rows == 1.0, _stack_levels(points, pool) == 1.0, depth),
    }
    return values if None not in ranking else dict.fromkeys(values)


def _stack_levels(points: Sequence[Point], rows: Sequence[Levels | None]) -> Floats:
    return np.array([levels for levels in rows if levels is not None]).reshape(-1, len(points))


def _select_relevant(run: JudgedRun, grades: GradesByPair) -> dict[str, list[Pair]]:
    """Return the relevant pairs of each query, the best grade first."""
    relevant: dict[str, list[Pair]] = {query_id: [] for query_id in run.dataset.queries}
    for pair in sorted(run.pool.pairs, key=lambda pair: -grades.get(pair.key, 0)):
        if grades.get(pair.key, 0) >= run.spec.scale.relevant_from:
            relevant[pair.query.id].append(pair)
    return relevant


def _describe_uncovered(
    run: JudgedRun, points: Mapping[str, Sequence[Point]], pools: Mapping[str, Sequence[Levels | None]]
) -> tuple[list[Message], list[DimensionNote]]:
    """Return the number of vital points that no result supports, and these, most of a query first.

    These are only points of queries whose results are all known.
    """
    complete = {
        query_id: [row for row in pool if row] for query_id, pool in pools.items() if None not in pool
    }
    missing = {
        query_id: [
            point.point
            for index, point in enumerate(points[query_id])
            if point.importance == "vital" and not any(row[index] == 1.0 for row in pool)
        ]
        for query_id, pool in complete.items()
    }
    most_first = sorted(filter(missing.get, missing), key=lambda query_id: -len(missing[query_id]))
    notes = [
        make_note(query, None, ("；" if query.lang == "zh" else "; ").join(missing[query.id]))
        for query in map(run.dataset.queries.__getitem__, most_first)
    ]
    listed = Message(
        "The model listed {points:,} information points for {queries:,} of {of:,} queries, {vital:,} of them"
        " vital; vital points that no result states in full: {uncovered:,}.",
        points=sum(map(len, points.values())),
        queries=len(points),
        of=len(run.dataset.queries),
        vital=sum(point.importance == "vital" for of_query in points.values() for point in of_query),
        uncovered=sum(map(len, missing.values())),
    )
    unknown = Message(
        "Queries with a result that has no grade or no answer: {queries:,}; it is not known whether the"
        " results state their points.",
        queries=len(points) - len(complete),
    )
    remarks = [*[listed] * bool(points), *[unknown] * (len(points) > len(complete))]
    return remarks, notes[:_MAX_NOTES]
