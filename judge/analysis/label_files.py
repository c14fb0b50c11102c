"""Agreement without a run: two files of grades, and TREC runs as the engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.analysis.loaded_run import LoadedRun, RunSpec
from judge.dataset.labels import Label
from judge.errors import InputError
from judge.measure.agreement import GradesByPair, convert_to_judgments
from judge.measure.measures import Measure
from judge.records import Dataset, Pair, Pool, Query, Ranking, Scale, Snippet

#: The engine of a list of all graded documents, which puts them into the pool; no real name is empty.
_GRADED = ""


@dataclass(frozen=True, slots=True)
class GradeSource:
    """One file of grades: its name, the grades and their scale."""

    name: str
    grades: GradesByPair
    scale: Scale


def grades_by_pair(labels: Iterable[Label]) -> dict[tuple[str, str], int]:
    """Return the grade of every (query_id, item)."""
    return {(label.query_id, label.item): label.grade for label in labels}


def run_from_labels(
    assessor: GradeSource,
    people: GradeSource,
    runs: Iterable[Ranking],
    depth: int,
    measures: Sequence[Measure],
) -> tuple[LoadedRun, GradesByPair]:
    """Return a run as if `assessor` had judged the lists of `runs` down to `depth`, and ungraded documents.

    The pool is what either side graded. A document that an engine returned and neither side graded has
    grade 0 in the second value, as in trec_eval. Raises InputError when the two share no query.
    """
    query_ids = {query_id for query_id, _ in assessor.grades} & {query_id for query_id, _ in people.grades}
    if not query_ids:
        raise InputError(
            "{assessor} and {people} have no query in common: nothing to compare",
            assessor=assessor.name,
            people=people.name,
        )
    graded = sorted({key for key in (*assessor.grades, *people.grades) if key[0] in query_ids})
    lists = [
        Ranking(ranking.engine, ranking.query_id, ranking.snippets[:depth])
        for ranking in runs
        if ranking.query_id in query_ids
    ]
    queries = {query_id: Query(query_id, query_id, query_id, "en") for query_id in sorted(query_ids)}
    snippets_by_key = {key: Snippet(key[1], "", "", "", "", "", "", docno=key[1]) for key in graded}
    everything = [*lists, *_all_graded(snippets_by_key)]
    documents = {
        (ranking.engine, ranking.query_id): tuple(snippet.id for snippet in ranking.snippets)
        for ranking in everything
    }
    run = LoadedRun(
        Dataset(queries, tuple(everything), tuple(sorted({ranking.engine for ranking in lists}))),
        Pool(
            max(depth, *map(len, documents.values())),
            sum(len(ranking.snippets) for ranking in lists),
            tuple(Pair(queries[query_id], snippet) for (query_id, _), snippet in snippets_by_key.items()),
            documents,
        ),
        convert_to_judgments(assessor.grades),
        RunSpec(assessor.name, assessor.scale, 1, tuple(measures)),
    )
    listed_pairs = ((ranking.query_id, snippet.id) for ranking in lists for snippet in ranking.snippets)
    return run, dict.fromkeys((key for key in listed_pairs if key not in snippets_by_key), 0)


def _all_graded(snippets_by_key: dict[tuple[str, str], Snippet]) -> list[Ranking]:
    by_query: dict[str, list[Snippet]] = {}
    for (query_id, _), snippet in snippets_by_key.items():
        by_query.setdefault(query_id, []).append(snippet)
    return [Ranking(_GRADED, query_id, tuple(snippets)) for query_id, snippets in by_query.items()]
