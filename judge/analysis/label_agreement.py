"""The content of agreement.json, and how it is computed from a run and people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from judge.analysis.findings import ends, estimate
from judge.dataset.labels import select_labellable
from judge.errors import InputError
from judge.measure.agreement import (
    PUBLISHED_AGREEMENT,
    Agreement,
    GradesByPair,
    convert_to_judgments,
    convert_to_relevance,
    find_graded_queries,
    measure_agreement,
    median_grades,
    pair_grades,
    pair_results,
)
from judge.measure.bias import BiasGap, EngineBias, estimate_engine_bias, find_widest_gap
from judge.measure.measures import Measure
from judge.measure.ppi import Calibration, Corrected, CorrectedOutcome, correct_engines
from judge.measure.rank_correlation import RankingAgreement, compare_rankings
from judge.measure.score import Scores, score_rankings
from judge.records import Judgment, Scale
from judge.runs.load import LoadedRun


@dataclass(frozen=True, slots=True)
class HumanLabels:
    """What people said: grades by (query_id, snippet_id) on their scale, from the file `source`.

    `unmatched` labels fit no pair. `assumed` grades enter the scores of both sides, but no agreement.
    """

    grades: GradesByPair
    scale: Scale
    unmatched: int
    source: str
    assumed: GradesByPair = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """The query ids that have something to label, and of those the ones labelled in part or wholly."""

    asked: frozenset[str]
    some: frozenset[str]
    whole: frozenset[str]


def agreement_json(held: LoadedRun, people: HumanLabels, *, bare: bool = False) -> dict[str, Any]:
    """Everything that can be said of a run and people's labels, as JSON values.

    `bare` says that there is no run, only two files of grades: then engines stand by all queries that
    both are about, and nothing is corrected, for neither file is a random sample of the other.
    """
    people = _of_text(held, people)
    said = median_grades(held.judgments)
    scale = held.asked.scale
    pairs = [(pair.query.id, pair.snippet.id) for pair in select_labellable(held.pool)]
    whole, some = find_graded_queries(pairs, people.grades)
    labelled = _Labelled(frozenset(query_id for query_id, _ in pairs), some, whole)
    found = measure_agreement(pair_grades(people.grades, said), people.scale, scale)
    return {
        "labels": people.source,
        "assessor": held.asked.assessor,
        "judged": sum(judgment.grade is not None for judgment in held.judgments),
        "people_scale": people.scale.name,
        "people_relevant_from": people.scale.relevant_from,
        "relevant_from": scale.relevant_from,
        "highest_label": max(people.grades.values(), default=None),
        "labelled_pairs": len(people.grades),
        "unmatched_labels": people.unmatched,
        "unlabelled_pairs": len(pairs) - len(people.grades),
        "empty_pairs": len(held.pool.pairs) - len(pairs),
        "labelled_queries": len(some),
        "wholly_labelled_queries": len(whole),
        "queries_to_label": len(labelled.asked),
        "queries_without_text": len({each.query_id for each in held.data.rankings} - labelled.asked),
        **_agreement(found),
        **_bias(held, people, said),
        **_scored(held, people, labelled, bare),
        "references": [asdict(reference) for reference in PUBLISHED_AGREEMENT],
    }


def queries_without_value(held: LoadedRun) -> tuple[int, str]:
    """Return how many queries that have something to label give no value by the assessor's grades.

    It is counted for the two engines and the measure, which is returned too, that have the fewest queries
    with a value: nDCG and AP have none where nothing is relevant, and no measure where an engine failed.
    0 and "" when no measure compares engines.
    """
    measures = [measure for measure in held.asked.measures if measure.compares_engines]
    if not (measures and held.data.engines):
        return 0, ""
    queries = {pair.query.id for pair in select_labellable(held.pool)}
    scores = _scores(held, held.judgments, held.asked.scale, measures).select_queries(queries)
    known = (~np.isnan(scores.average_repeats()[0])).astype(np.int64)
    fewest = [int((known[..., at] @ known[..., at].T).min()) for at in range(len(measures))]
    at = int(np.argmin(fewest))
    return len(queries) - fewest[at], str(scores.measures[at])


def _of_text(held: LoadedRun, people: HumanLabels) -> HumanLabels:
    """People's grades of snippets with text; the others have grade 0 for them as for the assessor."""
    every = [(pair.query.id, pair.snippet.id) for pair in held.pool.pairs]
    known = {(pair.query.id, pair.snippet.id) for pair in select_labellable(held.pool)}
    empty = dict.fromkeys((key for key in every if key not in known), 0)
    grades = {key: grade for key, grade in people.grades.items() if key in known}
    return replace(people, grades=grades, assumed={**people.assumed, **empty})


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "queries": found.queries,
        "confusion": [list(row) for row in found.table],
        "same_grade": estimate(found.same_grade),
        "kappa": estimate(found.kappa),
        "kappa_quadratic": estimate(found.quadratic),
        "alpha": estimate(found.alpha),
        "bias": estimate(found.bias),
        "same_verdict": estimate(found.same_side),
        "kappa_relevant": estimate(found.kappa_relevant),
        "bias_relevant": estimate(found.bias_relevant),
        "precision": estimate(found.precision),
        "recall": estimate(found.recall),
        "kappa_at": {str(grade): estimate(kappa) for grade, kappa in found.kappa_at.items()},
    }


def _bias(held: LoadedRun, people: HumanLabels, said: GradesByPair) -> dict[str, Any]:
    """Each engine's bias, in grades where both scales are one, else in shares of relevant."""
    ours, theirs, scale = said, people.grades, held.asked.scale
    if people.scale.top != scale.top:
        ours, theirs = convert_to_relevance(said, scale), convert_to_relevance(people.grades, people.scale)
    engines = held.data.engines
    whose, results = pair_results(engines, held.data.rankings, held.pool.depth, theirs, ours)
    biases = estimate_engine_bias(engines, whose, results)
    return {
        "engines": {bias.engine: _engine(bias) for bias in biases},
        "widest_gap": _gap(find_widest_gap(engines, whose, results)),
    }


def _engine(found: EngineBias) -> dict[str, Any]:
    return {"results": found.results, "queries": found.queries, "bias": estimate(found.bias)}


def _gap(found: BiasGap | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "favoured": found.favoured,
        "other": found.other,
        "difference": estimate(found.difference),
    }


def _scored(held: LoadedRun, people: HumanLabels, labelled: _Labelled, bare: bool) -> dict[str, Any]:
    """The orders of the engines on the queries with labels, and the scores corrected by whole ones."""
    measures = [
        measure
        for measure in held.asked.measures
        if measure.compares_engines and (measure.rel or 0) <= people.scale.top
    ]
    if not (measures and labelled.some and held.data.engines):
        return {"orders": {}, "calibration": {}}
    by_people, by_assessor = _sides(held, people, measures)
    both = by_people, by_assessor
    if not (labelled.whole or bare):
        both = _sides(*_graded_by_both(held, people), measures)
    used = labelled.some if bare or not labelled.whole else labelled.whole
    met = compare_rankings(*(scores.select_queries(used) for scores in both))
    return {
        "orders": {each.measure: _order(each, partly=not used <= labelled.whole) for each in met},
        "calibration": {} if bare else _calibrations(by_people, by_assessor, labelled),
    }


def _graded_by_both(held: LoadedRun, people: HumanLabels) -> tuple[LoadedRun, HumanLabels]:
    """What both sides graded: nobody's order may come from knowing more of a query."""
    both = people.grades.keys() & median_grades(held.judgments).keys()
    kept = both | people.assumed.keys()
    judged = (each for each in held.judgments if (each.query_id, each.snippet_id) in kept)
    grades = {key: grade for key, grade in people.grades.items() if key in both}
    return replace(held, judgments=tuple(judged)), replace(people, grades=grades)


def _sides(held: LoadedRun, people: HumanLabels, measures: Sequence[Measure]) -> tuple[Scores, Scores]:
    """The scores by people's grades and by the assessor's."""
    assumed = convert_to_judgments(people.assumed)
    return (
        _scores(held, (*convert_to_judgments(people.grades), *assumed), people.scale, measures),
        _scores(held, (*held.judgments, *assumed), held.asked.scale, measures),
    )


def _scores(
    held: LoadedRun, judgments: Sequence[Judgment], scale: Scale, measures: Sequence[Measure]
) -> Scores:
    rankings, documents = held.data.rankings, held.pool.documents
    scores = score_rankings(rankings, documents, judgments, measures, scale, depth=held.pool.depth)
    return scores.select_engines(held.data.engines)


def _order(found: RankingAgreement, *, partly: bool) -> dict[str, Any]:
    return {
        "queries": found.queries,
        "partly_labelled": partly,
        "people": dict(zip(found.engines, found.people, strict=True)),
        "assessor": dict(zip(found.engines, found.assessor, strict=True)),
        "left_out": list(found.left_out),
        "tau": estimate(found.tau),
        "tau_ap": found.tau_ap,
        "rbo": found.rbo,
        "swapped": [list(pair) for pair in found.swapped],
    }


def _calibrations(people: Scores, assessor: Scores, labelled: _Labelled) -> dict[str, Any]:
    """By measure, over the queries that have something to label: others can't be in a sample."""
    people, assessor = people.select_queries(labelled.asked), assessor.select_queries(labelled.asked)
    whole = np.array([query in labelled.whole for query in people.queries], bool)
    theirs, ours = people.average_repeats()[0], assessor.average_repeats()[0]
    return {
        str(measure): _calibrated(people.engines, whole, theirs[..., at], ours[..., at])
        for at, measure in enumerate(people.measures)
    }


def _calibrated(engines: Sequence[str], labelled: Any, people: Any, assessor: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return _calibration(correct_engines(engines, labelled, people, assessor))
    except InputError as error:
        return {"why": str(error)}


_VERDICTS: Mapping[CorrectedOutcome, str] = {
    "confirmed": "judge-only order confirmed",
    "reversed": "judge-only order reversed",
    "decided": "judge-only tie decided",
    "open": "judge-only order open",
}


def _calibration(found: Calibration) -> dict[str, Any]:
    return {
        "engines": {
            each.engine: {
                "assessor": each.assessor,
                "assessor_n": each.assessor_n,
                **_corrected(each.corrected),
            }
            for each in found.engines
        },
        "comparisons": [
            {
                "a": pair.a,
                "b": pair.b,
                "assessor": pair.assessor,
                "assessor_n": pair.assessor_n,
                **_corrected(pair.corrected),
                "p": pair.corrected.p,
                "different": pair.different,
                "p_adjusted": pair.p_adjusted,
                "outcome": pair.outcome,
                "verdict": _VERDICTS[pair.outcome],
            }
            for pair in found.pairs
        ],
        "warnings": list(found.warnings),
    }


def _corrected(found: Corrected) -> dict[str, Any]:
    return {
        "corrected": found.estimate,
        "ci95": ends(found.low, found.high),
        "se": found.se,
        "weight": found.weight,
        "labelled": found.labelled,
        "undefined": found.undefined,
        "rest": found.rest,
        "filled": found.filled,
    }
