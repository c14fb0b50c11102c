"""Compare a run with labels of people: the records of agreement.json, and how they are computed.

Without a run, two files of grades are compared, and TREC runs are the engines.

The names of the fields are the keys of the file. A field is None where the value is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.analysis.summary import SCHEMA_VERSION
from judge.dataset.dataset_warnings import describe_missing_rows
from judge.dataset.labels import LabelSet, select_labellable, select_unknown_texts
from judge.errors import InputError
from judge.flags import SHOWN_AS_EXAMPLE
from judge.measure import agreement
from judge.measure.engine_agreement import (
    EngineLabelBias,
    EngineOrders,
    WidestBiasGap,
    compare_rankings,
    estimate_engine_bias,
    find_widest_gap,
)
from judge.measure.grades_by_pair import (
    GradesByPair,
    compute_median_grades,
    convert_to_judgments,
    convert_to_relevance,
    find_graded_queries,
    pair_grades,
    pair_results,
)
from judge.measure.measures import Measure
from judge.measure.ppi import MeasureCalibration, correct_engines
from judge.measure.score import Scores, score_rankings
from judge.messages import Message
from judge.records import Dataset, Judgment, Pair, Pool, Query, Ranking, Scale, ScaleName, Snippet


@dataclass(frozen=True, slots=True)
class _PeopleGrades:
    """The grades of people in an agreement, by their use.

    Those of `compared` are compared with the assessor's. The others are used in scores only. Those of
    `examples`, which the prompts of the run show, are used in people's scores. Those that are `assumed` to be
    0 are used on both sides: pairs that the engine showed empty, and results that neither of two files
    grades. A pair whose text is unknown has a grade on neither side, so scores impute it, as those of the run
    do.
    """

    compared: GradesByPair
    examples: GradesByPair
    assumed: GradesByPair
    scale: Scale


@dataclass(frozen=True, slots=True)
class MissingCalibration:
    """Why a measure is not corrected."""

    why: str


#: One measure corrected by the labels of people, or the reason why it is not.
CalibrationResult = MeasureCalibration | MissingCalibration


@dataclass(frozen=True, slots=True)
class LabelAgreement(agreement.Agreement):
    """How far the assessor's grades agree with labels of people, and what that means for the engines.

    `orders` and `calibration` are by measure. `grades` names the grades that all is computed from, None where
    there is no run. `warnings` are about the files of labels.
    """

    schema: Literal[2]
    #: The file of the labels.
    labels: str
    assessor: str
    #: Judgments with a grade, labelled or not.
    judged: int
    people_scale: ScaleName
    people_relevant_from: int
    relevant_from: int
    #: The highest grade that people gave, which can be below the top of their scale.
    highest_label: int | None
    labelled_pairs: int
    #: Labels that fit no pair of the run.
    unmatched_labels: int
    unlabelled_pairs: int
    #: Pairs without text, which need no label.
    empty_pairs: int
    #: Queries with a label for one pair or more; those with a label for every pair.
    labelled_queries: int
    wholly_labelled_queries: int
    #: Queries with a pair that can be labelled, labelled or not.
    queries_to_label: int
    queries_without_text: int
    engines: Mapping[str, EngineLabelBias]
    widest_gap: WidestBiasGap | None
    orders: Mapping[str, EngineOrders]
    calibration: Mapping[str, CalibrationResult]
    #: Pairs whose text the dataset lacks.
    unknown_texts: int = 0
    grades: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _LabelledQueries:
    """The ids of queries that have something to label, and of those labelled in part or in full."""

    labellable: frozenset[str]
    partly: frozenset[str]
    fully: frozenset[str]


def compare_with_labels(
    run: JudgedRun, labels: LabelSet, assumed: GradesByPair | None = None
) -> LabelAgreement:
    """Return the agreement of a run with labels of people, apart from those that its prompts show.

    Where there is no run, only two files of grades, `assumed` has the grades of results that neither file
    has. Then engines are compared on all queries that both files have, and nothing is corrected, because
    neither file is a random sample of the other. Raises InputError when the prompts show all labels.
    """
    people = _split_grades(run, labels, assumed or {})
    typical = compute_median_grades(run.judgments)
    scale = run.spec.scale
    labellable = select_labellable(run.pool)
    unknown_texts = len(select_unknown_texts(run.pool))
    pairs = [pair.key for pair in labellable if pair.key not in people.examples]
    fully, partly = find_graded_queries(pairs, people.compared)
    labelled = _LabelledQueries(frozenset(query_id for query_id, _ in pairs), partly, fully)
    result = agreement.measure_agreement(pair_grades(people.compared, typical), people.scale, scale)
    engines, gap = _estimate_bias(run, people, typical)
    orders, calibration = _compare_orders(run, people, labelled, has_run=assumed is None)
    left_out = Message(
        "labelled pairs left out, because the prompts show them as examples: {count:,}",
        count=len(people.examples),
    )
    return LabelAgreement(
        **{name: getattr(result, name) for name in agreement.Agreement.__slots__},
        schema=SCHEMA_VERSION,
        labels=labels.source,
        assessor=run.spec.assessor,
        judged=sum(judgment.grade is not None for judgment in run.judgments),
        people_scale=people.scale.name,
        people_relevant_from=people.scale.relevant_from,
        relevant_from=scale.relevant_from,
        highest_label=max(people.compared.values(), default=None),
        labelled_pairs=len(people.compared),
        unmatched_labels=len(labels.unmatched),
        unlabelled_pairs=len(pairs) - len(people.compared),
        empty_pairs=len(run.pool.pairs) - len(labellable) - unknown_texts,
        unknown_texts=unknown_texts,
        labelled_queries=len(partly),
        wholly_labelled_queries=len(fully),
        queries_to_label=len(labelled.labellable),
        queries_without_text=len(
            {ranking.query_id for ranking in run.dataset.rankings} - labelled.labellable
        ),
        engines=engines,
        widest_gap=gap,
        orders=orders,
        calibration=calibration,
        warnings=(*labels.warnings, left_out) if people.examples else labels.warnings,
    )


def _split_grades(run: JudgedRun, labels: LabelSet, assumed: GradesByPair) -> _PeopleGrades:
    """Return the grades of people by what becomes of them; raise InputError when the prompts show all."""
    example_keys = {judgment.key for judgment in run.judgments if SHOWN_AS_EXAMPLE in judgment.flags}
    examples = {key: grade for key, grade in labels.grades.items() if key in example_keys}
    if examples and len(examples) == len(labels.grades):
        raise InputError(
            "{file}: the prompts of the run show every labelled pair as an example; label other pairs",
            file=labels.source,
        )
    with_text = {pair.key for pair in select_labellable(run.pool)}
    not_empty = with_text.union(pair.key for pair in select_unknown_texts(run.pool))
    empty = {pair.key: 0 for pair in run.pool.pairs if pair.key not in not_empty}
    compared = {
        key: labels.grades[key] for key in labels.grades if key in with_text and key not in example_keys
    }
    return _PeopleGrades(compared, examples, {**assumed, **empty}, labels.scale)


def _estimate_bias(
    run: JudgedRun, people: _PeopleGrades, typical: GradesByPair
) -> tuple[dict[str, EngineLabelBias], WidestBiasGap | None]:
    """Return each engine's bias, in grades where both scales are one, else in shares of relevant."""
    by_people, by_assessor = people.compared, typical
    if people.scale.top != run.spec.scale.top:
        by_people = convert_to_relevance(people.compared, people.scale)
        by_assessor = convert_to_relevance(typical, run.spec.scale)
    engines, rankings = run.dataset.engines, run.dataset.rankings
    engine, results = pair_results(engines, rankings, run.pool.depth, by_people, by_assessor)
    return estimate_engine_bias(engines, engine, results), find_widest_gap(engines, engine, results)


def _compare_orders(
    run: JudgedRun, people: _PeopleGrades, labelled_queries: _LabelledQueries, *, has_run: bool
) -> tuple[dict[str, EngineOrders], dict[str, CalibrationResult]]:
    """Return the orders of the engines on the labelled queries, and the corrected scores."""
    top = people.scale.top
    measures = [
        measure for measure in run.spec.measures if measure.compares_engines and (measure.rel or 0) <= top
    ]
    if not (measures and labelled_queries.partly and run.dataset.engines):
        return {}, {}
    by_people, by_assessor = _score_sides(run, people, measures)
    both, fully = (by_people, by_assessor), labelled_queries.fully
    if has_run and not fully:
        both = _score_sides(*_select_graded_by_both(run, people), measures)
    query_ids = fully if has_run and fully else labelled_queries.partly
    sides = (scores.select(queries=query_ids) for scores in both)
    orders = compare_rankings(*sides, partly_labelled=not query_ids <= fully)
    return orders, _calibrate_scores(by_people, by_assessor, labelled_queries) if has_run else {}


def _select_graded_by_both(run: JudgedRun, people: _PeopleGrades) -> tuple[JudgedRun, _PeopleGrades]:
    """Return the pairs that both sides graded, so that neither order rests on more grades of a query."""
    both = people.compared.keys() & compute_median_grades(run.judgments).keys()
    keys = both | people.assumed.keys() | people.examples.keys()
    judgments = tuple(judgment for judgment in run.judgments if judgment.key in keys)
    compared = {key: grade for key, grade in people.compared.items() if key in both}
    return replace(run, judgments=judgments), replace(people, compared=compared)


def _score_sides(run: JudgedRun, people: _PeopleGrades, measures: Sequence[Measure]) -> tuple[Scores, Scores]:
    assumed = convert_to_judgments(people.assumed)
    graded = convert_to_judgments({**people.compared, **people.examples})
    return (
        _score_judgments(run, (*graded, *assumed), people.scale, measures),
        _score_judgments(run, (*run.judgments, *assumed), run.spec.scale, measures),
    )


def _score_judgments(
    run: JudgedRun, judgments: Sequence[Judgment], scale: Scale, measures: Sequence[Measure]
) -> Scores:
    scores = score_rankings(run.dataset.rankings, judgments, measures, scale, depth=run.pool.depth)
    return scores.select(engines=run.dataset.engines)


def _calibrate_scores(
    people: Scores, assessor: Scores, labelled_queries: _LabelledQueries
) -> dict[str, CalibrationResult]:
    """Return the calibrations by measure, over the queries that can be in a sample of those to label."""
    people, assessor = (scores.select(queries=labelled_queries.labellable) for scores in (people, assessor))
    fully = np.array([query in labelled_queries.fully for query in people.queries], bool)
    by_people, by_assessor = people.average_repeats(), assessor.average_repeats()
    calibrations: dict[str, CalibrationResult] = {}
    for at, measure in enumerate(people.measures):
        try:
            calibrations[str(measure)] = correct_engines(
                people.engines, fully, by_people[..., at], by_assessor[..., at], people.largest[at]
            )
        except InputError as error:
            calibrations[str(measure)] = MissingCalibration(error.message)
    return calibrations


#: The engine of a list of all graded documents, which puts them into the pool; no real name is empty.
_GRADED = ""


def run_from_labels(
    assessor: LabelSet,
    people: LabelSet,
    runs: Iterable[Ranking],
    depth: int,
    measures: Sequence[Measure],
    *,
    is_complete: bool = False,
) -> tuple[JudgedRun, GradesByPair]:
    """Return a run as if `assessor` had judged the lists of `runs` down to `depth`, and ungraded documents.

    With `is_complete`, a query that an engine has no row for is an empty list; a warning counts these
    queries. The pool is what either side graded. A document that an engine returned and neither side graded
    has grade 0 in the second value, as in trec_eval. Raises InputError when the two share no pair.
    """
    query_ids = _find_shared_queries(assessor, people)
    graded = sorted({key for key in (*assessor.grades, *people.grades) if key[0] in query_ids})
    lists = [
        _make_ranking(ranking.engine, ranking.query_id, ranking.snippets[:depth])
        for ranking in runs
        if ranking.query_id in query_ids
    ]
    engines = tuple(sorted({ranking.engine for ranking in lists}))
    listed = {(ranking.engine, ranking.query_id) for ranking in lists}
    missing = [key for key in product(engines, sorted(query_ids)) if key not in listed]
    counts = Counter(engine for engine, _ in missing)
    warnings = describe_missing_rows(counts, len(query_ids), is_complete=is_complete)
    if is_complete:
        lists += [_make_ranking(engine, query_id, ()) for engine, query_id in missing]
    queries = {query_id: Query(query_id, query_id, query_id, "en") for query_id in sorted(query_ids)}
    snippets_by_key = {key: Snippet(key[1], docno=key[1]) for key in graded}
    everything = lists + [
        _make_ranking(_GRADED, query_id, tuple(map(snippets_by_key.__getitem__, keys)))
        for query_id, keys in groupby(graded, key=lambda key: key[0])
    ]
    run = JudgedRun(
        Dataset(queries, tuple(everything), engines, tuple(warnings)),
        Pool(
            max(depth, *(len(ranking.snippets) for ranking in everything)),
            sum(len(ranking.snippets) for ranking in lists),
            tuple(Pair(queries[query_id], snippet) for (query_id, _), snippet in snippets_by_key.items()),
        ),
        convert_to_judgments(assessor.grades),
        RunSpec(assessor.source, assessor.scale, 1, tuple(measures)),
    )
    listed_pairs = ((ranking.query_id, snippet.id) for ranking in lists for snippet in ranking.snippets)
    return run, dict.fromkeys((key for key in listed_pairs if key not in snippets_by_key), 0)


def _find_shared_queries(assessor: LabelSet, people: LabelSet) -> Set[str]:
    """Return the ids of the queries that both have grades of; raise InputError when they share no pair."""
    query_ids = {query_id for query_id, _ in assessor.grades} & {query_id for query_id, _ in people.grades}
    if not query_ids:
        raise InputError(
            "{assessor} and {people} have no query in common; name two files about the same queries",
            assessor=assessor.source,
            people=people.source,
        )
    if assessor.grades.keys().isdisjoint(people.grades):
        first = min(query_ids)
        raise InputError(
            "{assessor} and {people} have no pair of query and document in common: for query {query!r},"
            " {assessor} has {document!r} and {people} has {other!r}; use the same names of documents in"
            " both files, or compare labels of snippets with their run: judge agree RUN --qrels FILE",
            assessor=assessor.source,
            people=people.source,
            query=first,
            document=min(document for query, document in assessor.grades if query == first),
            other=min(document for query, document in people.grades if query == first),
        )
    return query_ids


def _make_ranking(engine: str, query_id: str, snippets: tuple[Snippet, ...]) -> Ranking:
    """Return a ranking in which each snippet is a document of its own name."""
    return Ranking(engine, query_id, snippets, documents=tuple(snippet.id for snippet in snippets))
