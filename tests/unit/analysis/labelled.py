"""Small runs with labels of people: which engine shows which text, and which grades it has."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.analysis.label_agreement import compare_with_labels
from judge.dataset.labels import LabelSet
from judge.dataset.pool import pool_dataset
from judge.measure.measures import parse_measures
from judge.records import GRADED, Judgment, Pair, Scale
from judge.runs.record_json import to_json
from tests.support.datasets import read_dataset

#: The texts each engine shows for each query, best first.
Shown = Mapping[str, Mapping[str, Sequence[str]]]
#: The same, None where the text is unknown.
PartlyShown = Mapping[str, Mapping[str, Sequence[str | None]]]
#: Grades by query and text, None where judging failed.
GradesByText = Mapping[tuple[str, str], int | None]


def make_run(
    shown: PartlyShown,
    *repeats: GradesByText,
    measures: str = "nDCG@3 P@1",
    scale: Scale = GRADED,
    depth: int = 3,
) -> JudgedRun:
    """A run of `shown` that an assessor judged once for each of `repeats`."""
    rows = [
        {"query_id": query_id, "query": f"about {query_id}", "engine": engine, "rank": rank, "snippet": text}
        for engine, queries in shown.items()
        for query_id, texts in queries.items()
        for rank, text in enumerate(texts, start=1)
    ]
    data = read_dataset(rows, lang="en", max_chars=400)
    data, pooled = pool_dataset(data, depth)
    judgments = [
        _make_judgment(pair, number, line[pair.query.id, pair.snippet.text])
        for number, line in enumerate(repeats, start=1)
        for pair in pooled.pairs
    ]
    spec = RunSpec("someone/graded", scale, len(repeats), parse_measures(measures))
    return JudgedRun(data, pooled, tuple(judgments), spec)


def make_people(run: JudgedRun, by_text: GradesByText, scale: Scale = GRADED, unmatched: int = 0) -> LabelSet:
    """People's grades of a run's pairs."""
    ids = {(pair.query.id, pair.snippet.text): (pair.query.id, pair.snippet.id) for pair in run.pool.pairs}
    grades = {ids[key]: grade for key, grade in by_text.items() if grade is not None}
    return LabelSet(grades, scale, "labels.csv", tuple(("none", str(at)) for at in range(unmatched)))


def measure_agreement(
    run: JudgedRun, labels: LabelSet, assumed: Mapping[tuple[str, str], int] | None = None
) -> dict[str, Any]:
    """Return what agreement.json holds of a run and labels."""
    return to_json(compare_with_labels(run, labels, assumed))


def make_favouring_run(
    queries: int, favoured: str = "B", other: str = "A", seed: int = 0
) -> tuple[Shown, dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """Two engines, people's grades and an assessor's, who gives the `favoured` one's results one more.

    By people `other` is the better one, by the assessor the `favoured` one.
    """
    chance = random.Random(seed)
    shown: dict[str, dict[str, list[str]]] = {favoured: {}, other: {}}
    truth, assessor = {}, {}
    for query in range(queries):
        for engine, grades in ((favoured, (0, 1, 2)), (other, (0, 1, 2, 3))):
            texts = [f"text {query} {engine} {rank}" for rank in range(3)]
            shown[engine][f"q{query}"] = texts
            for text in texts:
                key = f"q{query}", text
                truth[key] = chance.choice(grades)
                assessor[key] = truth[key] + (engine == favoured)
    return shown, truth, assessor


def label_first(queries: int, grades: GradesByText) -> dict[tuple[str, str], int | None]:
    """The grades of the first queries of `make_favouring_run`."""
    return {key: grade for key, grade in grades.items() if int(key[0].removeprefix("q")) < queries}


def _make_judgment(pair: Pair, repeat: int, grade: int | None) -> Judgment:
    error, flags = "rate_limit" if grade is None else None, pair.snippet.flags
    return Judgment(
        pair.query.id, pair.snippet.id, repeat, grade, "", error, "someone", "", {}, "", None, flags
    )
