"""A judged run: its records and its scores."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from judge.analysis.dimension_summary import DimensionResult
from judge.analysis.summary import Controls, LabelUse, SelfTestEntry
from judge.dataset.labels import list_unreturned
from judge.measure.columns import JudgmentColumns, ResultColumns, tabulate_judgments, tabulate_results
from judge.measure.grading_models import JudgmentsByMember
from judge.measure.measures import Measure
from judge.measure.numeric import convert_non_finite
from judge.measure.score import Scores, score_columns
from judge.pricing.costs import RunCost
from judge.records import Dataset, Judgment, ListKey, Pool, Scale, Snippet

#: Judgments whose values are Python objects at once.
_CHUNK = 1 << 13


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The assessor, scale, repeats and measures of a run, its cost, and the self-tests of its assessors.

    `cost` is None where it is not known: for several runs combined, and for files of labels.
    `labels` says which labels are grades of the run; `controls` are None without mismatched pairs. `stopped`
    says why the judging stopped early, by language; empty where it did not.
    """

    assessor: str
    scale: Scale
    repeats: int
    measures: tuple[Measure, ...]
    cost: RunCost | None = None
    selftest: Mapping[str, SelfTestEntry] = field(default_factory=dict)
    labels: LabelUse | None = None
    controls: Controls | None = None
    stopped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A judged run with the dimensions that were measured, by name.

    `members` are the judgments of each member of a panel, empty without a panel.
    """

    dataset: Dataset
    pool: Pool
    judgments: Sequence[Judgment]
    spec: RunSpec
    members: JudgmentsByMember = field(default_factory=dict)
    dimensions: Mapping[str, DimensionResult] = field(default_factory=dict)

    @property
    def lists(self) -> dict[ListKey, Sequence[Snippet]]:
        """The results of engines that did not fail, down to the depth, by (engine, query_id)."""
        depth, rankings = self.pool.depth, self.dataset.rankings
        return {ranking.key: ranking.snippets[:depth] for ranking in rankings if ranking.error is None}

    def tabulate(self) -> tuple[ResultColumns, JudgmentColumns]:
        """Return the results and the judgments in columns."""
        results = tabulate_results(self.dataset.rankings, self.pool.depth)
        if self.spec.labels and self.spec.labels.unreturned:
            names = list_unreturned(self.dataset)
            counts = np.array([len(names[query_id]) for query_id in results.queries])
            results = replace(results, unreturned=counts)
        return results, tabulate_judgments(self.judgments, results)


def fingerprint_grades(results: ResultColumns, judgments: JudgmentColumns, scale: Scale) -> str:
    """Return a hash of all grades and of the lowest relevant grade.

    Other files hold it to name the grades that they are computed from.
    """
    rows = judgments.rows
    grades = np.where(rows["is_graded"], rows["grade"], -1)
    order = np.lexsort((grades, rows["repeat"], rows["pair"]))
    digest = hashlib.sha256(f"[{scale.relevant_from}, [".encode())
    for number, chunk in enumerate(np.array_split(order, len(order) // _CHUNK + 1)):
        pairs = rows["pair"][chunk]  # sorted; -1 means a pair that no engine returned
        first, last = (max(0, int(pairs[0])), int(pairs[-1]) + 1) if len(pairs) else (0, 0)
        queries = map(results.queries.__getitem__, results.pair_query[first:last].tolist())
        names = list(zip(queries, results.snippet_ids.read(first, last), strict=True))
        columns = (pairs, rows["repeat"][chunk], grades[chunk])
        # A pair that no engine returned has no name.
        entries = [
            (*(names[pair - first] if pair >= 0 else (None, None)), repeat, grade)
            for pair, repeat, grade in zip(*(column.tolist() for column in columns), strict=True)
        ]
        digest.update(f"{', ' if number else ''}{json.dumps(entries)[1:-1]}".encode())
    digest.update(b"]]")
    return digest.hexdigest()[:16]


def score_run(run: JudgedRun, measures: Sequence[Measure]) -> Scores:
    """Return the scores of a run by `measures`."""
    return score_columns(*run.tabulate(), measures, run.spec.scale)


def score_lists(run: JudgedRun, measure: Measure) -> dict[ListKey, float | None]:
    """Return the mean of `measure` over the repeats by (engine, query_id), None where it is not defined.

    Lists of engines that failed on the query are left out.
    """
    scores = score_run(run, [measure])
    value = scores.average_repeats()
    return {
        (engine, query_id): convert_non_finite(value[row, column, 0])
        for row, engine in enumerate(scores.engines)
        for column, query_id in enumerate(scores.queries)
        if not scores.without_list[row, column]
    }
