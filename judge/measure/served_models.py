"""The models that the server returned: what each graded.

A provider that replaces the model behind a name changes the grades; so a run with answers of two names is
compared by name. A verdict from an earlier run keeps the name it was stored with.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.numeric import list_distinct
from judge.records import Scale

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
    results: ResultColumns, judgments: JudgmentColumns, scale: Scale
) -> dict[str, ServedModelGrades]:
    """Return the grades by served model (`""` without a name), most judgments first; not grades by rule."""
    rows = judgments.rows[judgments.rows["is_graded"] & (judgments.rows["model"] >= 0)]
    returned = [list_distinct(of_engine[of_engine >= 0]) for of_engine in results.pair]
    models = {}
    for number in list_distinct(rows["model"]).tolist():
        of_model = rows[rows["model"] == number]
        pairs = of_model["pair"]
        counts = np.bincount(pairs[pairs >= 0], minlength=len(results.snippet_ids))
        by_engine = zip(results.engines, (int(counts[own].sum()) for own in returned), strict=True)
        models[judgments.models[number]] = ServedModelGrades(
            judgments=len(of_model),
            relevant=int((of_model["grade"] >= scale.relevant_from).sum()),
            mean_grade=int(of_model["grade"].sum()) / len(of_model),
            engines={engine: count for engine, count in by_engine if count},
        )
    return dict(sorted(models.items(), key=lambda item: (-item[1].judgments, item[0])))


def find_grading_models(results: ResultColumns, judgments: JudgmentColumns) -> dict[str, str]:
    """Return, for each graded query, the name of the model with all its grades, or `MIXED`."""
    rows = judgments.rows
    rows = rows[rows["is_graded"] & (rows["model"] >= 0) & (rows["query"] >= 0)]
    cells = list_distinct(rows["query"] * len(judgments.models) + rows["model"])
    names: dict[str, str] = {}
    for cell in cells.tolist():
        query = results.queries[cell // len(judgments.models)]
        name = judgments.models[cell % len(judgments.models)] or UNNAMED
        names[query] = name if names.get(query, name) == name else MIXED
    return names
