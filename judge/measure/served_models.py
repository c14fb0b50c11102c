"""The models that graded: the names that the server returned, and the grades of each.

A provider that replaces the model behind a name changes the grades; so a run with answers of two names is
compared by name. A verdict from an earlier run keeps the name it was stored with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge.records import Judgment, Ranking, Scale

#: The column that segments queries by the grading model, and its value for several models.
SERVED_MODEL_COLUMN, MIXED = "served model", "mixed"
#: The value in that column for a server that returns no name.
UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class ServedModelGrades:
    """The grades that one model gave, over all repeats: how many, how many relevant, and their mean.

    `engines` counts the judgments of the results of each engine down to the depth; a pair that two engines
    returned is in both counts.
    """

    judgments: int
    relevant: int
    mean_grade: float
    engines: Mapping[str, int]


def count_served_models(
    rankings: Iterable[Ranking],
    documents: Mapping[tuple[str, str], Sequence[str]],
    judgments: Iterable[Judgment],
    scale: Scale,
) -> dict[str, ServedModelGrades]:
    """Return the grades by served model, most judgments first; grades by rule are left out.

    A model is `""` when the server returns no name.
    """
    grades: dict[str, list[int]] = {}
    of_pair: dict[tuple[str, str], list[str]] = {}
    for judgment in judgments:
        if judgment.grade is not None and judgment.served_model is not None:
            grades.setdefault(judgment.served_model, []).append(judgment.grade)
            pair = judgment.query_id, judgment.snippet_id
            of_pair.setdefault(pair, []).append(judgment.served_model)
    by_engine: dict[str, Counter[str]] = {model: Counter() for model in grades}
    for ranking in rankings:
        depth = len(documents.get((ranking.engine, ranking.query_id), ()))
        for id_ in {snippet.id for snippet in ranking.snippets[:depth]}:
            for model in of_pair.get((ranking.query_id, id_), ()):
                by_engine[model][ranking.engine] += 1
    models = {
        model: ServedModelGrades(
            judgments=len(of_model),
            relevant=sum(grade >= scale.relevant_from for grade in of_model),
            mean_grade=sum(of_model) / len(of_model),
            engines=dict(sorted(by_engine[model].items())),
        )
        for model, of_model in grades.items()
    }
    return dict(sorted(models.items(), key=lambda item: (-item[1].judgments, item[0])))


def find_grading_models(judgments: Iterable[Judgment]) -> dict[str, str]:
    """Return, for each graded query, the name of the model with all its grades, or `MIXED`."""
    names: dict[str, str] = {}
    for judgment in judgments:
        if judgment.grade is not None and judgment.served_model is not None:
            name = judgment.served_model or UNNAMED
            names[judgment.query_id] = name if names.get(judgment.query_id, name) == name else MIXED
    return names
