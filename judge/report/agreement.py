"""Owns what agreement with people looks like in agreement.json, and how it is worked out from a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from judge.errors import InputError
from judge.measure.agreement import (
    REFERENCES,
    Agreement,
    BiasGap,
    EngineBias,
    agreement,
    engine_bias,
    widest_gap,
)
from judge.measure.calibrate import Calibration, Corrected, calibrate
from judge.measure.measures import Measure
from judge.measure.people import (
    Grades,
    Orders,
    as_judgments,
    orders,
    paired,
    relevant,
    shown,
    typical_grades,
    wholly_graded,
)
from judge.measure.score import Scores, score
from judge.records import Judgment, Scale
from judge.report.findings import ends, estimate
from judge.report.reload import Held


@dataclass(frozen=True, slots=True)
class People:
    """What people said: grades by (query_id, snippet_id) on their scale, from the file `source`.

    `unmatched` labels fit no pair. `assumed` grades enter the scores of both sides, but no agreement.
    """

    grades: Grades
    scale: Scale
    unmatched: int
    source: str
    assumed: Grades = field(default_factory=dict)


def agreement_json(held: Held, people: People) -> dict[str, Any]:
    """Everything that can be said of a run and people's labels, as JSON values."""
    said = typical_grades(held.judgments)
    scale = held.asked.scale
    pairs = [(pair.query.id, pair.snippet.id) for pair in held.pool.pairs]
    whole, some = wholly_graded(pairs, people.grades)
    found = agreement(paired(people.grades, said), people.scale, scale)
    return {
        "labels": people.source,
        "assessor": held.asked.assessor,
        "judged": sum(judgment.grade is not None for judgment in held.judgments),
        "people_scale": people.scale.name,
        "people_relevant_from": people.scale.relevant_from,
        "relevant_from": scale.relevant_from,
        "labelled_pairs": len(people.grades),
        "unmatched_labels": people.unmatched,
        "unlabelled_pairs": len(pairs) - len(people.grades),
        "labelled_queries": len(some),
        "wholly_labelled_queries": len(whole),
        **_agreement(found),
        **_bias(held, people, said),
        **_scored(held, people, some, whole),
        "references": [asdict(reference) for reference in REFERENCES],
    }


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


def _bias(held: Held, people: People, said: Grades) -> dict[str, Any]:
    """Each engine's bias, in grades where both scales are one, else in shares of relevant."""
    ours, theirs, scale = said, people.grades, held.asked.scale
    if people.scale.top != scale.top:
        ours, theirs = relevant(said, scale), relevant(people.grades, people.scale)
    engines = held.data.engines
    whose, results = shown(engines, held.data.rankings, held.pool.depth, theirs, ours)
    biases = engine_bias(engines, whose, results)
    return {
        "engines": {bias.engine: _engine(bias) for bias in biases},
        "widest_gap": _gap(widest_gap(engines, whose, results)),
    }


def _engine(found: EngineBias) -> dict[str, Any]:
    return {"results": found.results, "queries": found.queries, "bias": estimate(found.bias)}


def _gap(found: BiasGap | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"favoured": found.favoured, "other": found.other, "difference": estimate(found.difference)}


def _scored(held: Held, people: People, some: frozenset[str], whole: frozenset[str]) -> dict[str, Any]:
    """The orders of the engines on the queries with labels, and the scores corrected by whole ones."""
    measures = [
        measure
        for measure in held.asked.measures
        if measure.compares and (measure.rel or 0) <= people.scale.top
    ]
    if not (measures and some and held.data.engines):
        return {"orders": {}, "calibration": {}}
    assumed = as_judgments(people.assumed)
    by_people = _scores(held, (*as_judgments(people.grades), *assumed), people.scale, measures)
    by_assessor = _scores(held, (*held.judgments, *assumed), held.asked.scale, measures)
    both = [scores.of_queries(some) for scores in (by_people, by_assessor)]
    labelled = np.array([query in whole for query in by_people.queries], bool)
    theirs, ours = by_people.by_query()[0], by_assessor.by_query()[0]
    return {
        "orders": {found.measure: _order(found) for found in orders(*both)},
        "calibration": {
            str(measure): _calibrated(by_people.engines, labelled, theirs[..., at], ours[..., at])
            for at, measure in enumerate(measures)
        },
    }


def _scores(held: Held, judgments: Sequence[Judgment], scale: Scale, measures: Sequence[Measure]) -> Scores:
    rankings, documents = held.data.rankings, held.pool.documents
    scores = score(rankings, documents, judgments, measures, scale, depth=held.pool.depth)
    return scores.of_engines(held.data.engines)


def _order(found: Orders) -> dict[str, Any]:
    return {
        "queries": found.queries,
        "people": dict(zip(found.engines, found.people, strict=True)),
        "assessor": dict(zip(found.engines, found.assessor, strict=True)),
        "tau": estimate(found.tau),
        "tau_ap": found.tau_ap,
        "rbo": found.rbo,
        "swapped": [list(pair) for pair in found.swapped],
    }


def _calibrated(engines: Sequence[str], labelled: Any, people: Any, assessor: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return _calibration(calibrate(engines, labelled, people, assessor))
    except InputError as error:
        return {"why": str(error)}


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
                "p_holm": pair.p_holm,
                "outcome": pair.outcome,
                "verdict": f"judge-only order {pair.outcome}",
            }
            for pair in found.pairs
        ],
        "warnings": list(found.warnings),
    }


def _corrected(found: Corrected) -> dict[str, Any]:
    return {
        "corrected": found.estimate,
        "ci95": ends(found.low, found.high),
        "weight": found.weight,
        "labelled": found.labelled,
        "undefined": found.undefined,
        "rest": found.rest,
    }
