"""Owns agreement without a run: two files of grades, and TREC runs as the engines, if there are any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.analysis.summary import RunSpec
from judge.dataset.labels import Label
from judge.errors import InputError
from judge.measure.agreement import GradesByPair, convert_to_judgments
from judge.measure.measures import Measure
from judge.records import Dataset, Pair, Pool, Query, Ranking, Scale, Snippet
from judge.runs.load import LoadedRun

#: Whose list holds every document with a grade, so that the pool has them all; no engine's name.
_GRADED = ""


@dataclass(frozen=True, slots=True)
class GradeSource:
    """One file of grades: who gave them, what they are and on which scale."""

    name: str
    grades: GradesByPair
    scale: Scale


def grades(labels: Iterable[Label]) -> dict[tuple[str, str], int]:
    """The grade of every (query_id, item)."""
    return {(label.query_id, label.item): label.grade for label in labels}


def held_of(
    assessor: GradeSource,
    people: GradeSource,
    runs: Iterable[Ranking],
    depth: int,
    measures: Sequence[Measure],
) -> tuple[LoadedRun, GradesByPair]:
    """A run as if `assessor` had judged the lists of `runs` down to `depth`; and what nobody graded.

    The pool is what either side graded. A document that an engine returned and neither did has grade 0
    in the second value, as trec_eval has it. Raises InputError when the two share no query.
    """
    asked = {query_id for query_id, _ in assessor.grades} & {query_id for query_id, _ in people.grades}
    if not asked:
        raise InputError(f"{assessor.name} and {people.name} have no query in common: nothing to compare")
    graded = sorted({key for key in (*assessor.grades, *people.grades) if key[0] in asked})
    lists = [
        Ranking(ranking.engine, ranking.query_id, ranking.snippets[:depth])
        for ranking in runs
        if ranking.query_id in asked
    ]
    queries = {query_id: Query(query_id, query_id, query_id, "en") for query_id in sorted(asked)}
    known = {key: Snippet(key[1], "", "", "", "", "", "", docno=key[1]) for key in graded}
    everything = [*lists, *_all_graded(known)]
    documents = {
        (ranking.engine, ranking.query_id): tuple(snippet.id for snippet in ranking.snippets)
        for ranking in everything
    }
    held = LoadedRun(
        Dataset(queries, tuple(everything), tuple(sorted({ranking.engine for ranking in lists}))),
        Pool(
            max(depth, *map(len, documents.values())),
            sum(len(ranking.snippets) for ranking in lists),
            tuple(Pair(queries[query_id], snippet) for (query_id, _), snippet in known.items()),
            documents,
        ),
        convert_to_judgments(assessor.grades),
        RunSpec(assessor.name, assessor.scale, 1, tuple(measures), {}),
    )
    shown = ((ranking.query_id, snippet.id) for ranking in lists for snippet in ranking.snippets)
    return held, dict.fromkeys((key for key in shown if key not in known), 0)


def _all_graded(known: dict[tuple[str, str], Snippet]) -> list[Ranking]:
    by_query: dict[str, list[Snippet]] = {}
    for (query_id, _), snippet in known.items():
        by_query.setdefault(query_id, []).append(snippet)
    return [Ranking(_GRADED, query_id, tuple(snippets)) for query_id, snippets in by_query.items()]
