"""Owns which models answered: the names that the server gave, and what the grades of each come to.

A provider that swaps a model behind one name changes the grades: a run that two names answered in part
is told apart by them. A verdict that an earlier run paid for keeps the name that it was given then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge.records import Judgment, Ranking, Scale

#: The column that slices queries by who graded them, and its value for queries that several models did.
SERVED_MODEL_COLUMN, MIXED = "served model", "mixed"
#: What a server that gives its model no name is called among the slices.
UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What the model called `model` (`""` when the server gives no name) graded, over all repeats.

    `engines` counts, for each engine, its judgments of what the engine shows, down to the depth: a pair
    that two engines show is in both counts.
    """

    model: str
    judgments: int
    relevant: int
    mean_grade: float
    engines: Mapping[str, int]


def count_served_models(
    rankings: Iterable[Ranking],
    documents: Mapping[tuple[str, str], Sequence[str]],
    judgments: Iterable[Judgment],
    scale: Scale,
) -> tuple[ServedModel, ...]:
    """One for each name, the most used first; grades that no model gave are left out."""
    grades: dict[str, list[int]] = {}
    of_pair: dict[tuple[str, str], Counter[str]] = {}
    for judgment in judgments:
        if judgment.grade is not None and judgment.served_model is not None:
            grades.setdefault(judgment.served_model, []).append(judgment.grade)
            pair = judgment.query_id, judgment.snippet_id
            of_pair.setdefault(pair, Counter())[judgment.served_model] += 1
    shown: dict[str, Counter[str]] = {model: Counter() for model in grades}
    for ranking in rankings:
        depth = len(documents.get((ranking.engine, ranking.query_id), ()))
        for id_ in {snippet.id for snippet in ranking.snippets[:depth]}:
            for model, count in of_pair.get((ranking.query_id, id_), {}).items():
                shown[model][ranking.engine] += count
    found = [_make_served_model(model, given, shown[model], scale) for model, given in grades.items()]
    return tuple(sorted(found, key=lambda each: (-each.judgments, each.model)))


def _make_served_model(
    model: str, grades: Sequence[int], shown: Mapping[str, int], scale: Scale
) -> ServedModel:
    relevant = sum(grade >= scale.relevant_from for grade in grades)
    return ServedModel(model, len(grades), relevant, sum(grades) / len(grades), dict(sorted(shown.items())))


def find_grading_models(judgments: Iterable[Judgment]) -> dict[str, str]:
    """For each query that a model graded, the one name that gave all its grades, or `MIXED`."""
    names: dict[str, str] = {}
    for judgment in judgments:
        if judgment.grade is not None and judgment.served_model is not None:
            name = judgment.served_model or UNNAMED
            names[judgment.query_id] = name if names.get(judgment.query_id, name) == name else MIXED
    return names
