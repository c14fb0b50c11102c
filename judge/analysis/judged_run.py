"""The records of a judged run, and labels of people as its grades: what analysis starts from.

Labelled pairs keep the label, and the assessor judges the rest. A sample of the labelled pairs can be judged
as well, to measure how far the assessor agrees with people on this dataset. The grade of such a pair stays
the label.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from judge.analysis.summary import Controls, DimensionResult, LabelCheck, LabelUse, SelfTestEntry
from judge.dataset.labels import list_unreturned
from judge.measure.agreement import (
    GradesByPair,
    compute_median_grades,
    convert_to_judgments,
    measure_agreement,
    pair_grades,
)
from judge.measure.columns import JudgmentColumns, ResultColumns, tabulate_judgments, tabulate_results
from judge.measure.measures import Measure
from judge.measure.panel_agreement import JudgmentsByMember
from judge.pricing import RunCost
from judge.records import LABEL, Dataset, Judgment, Pair, Pool, Scale, Snippet
from judge.stored_records import select_records


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The assessor, scale, repeats and measures of a run, its cost, and the self-tests of its assessors.

    `cost` is None where it is not known: for several runs combined, and for files of labels.
    `labels` says which labels are grades of the run; `controls` are None without mismatched pairs.
    """

    assessor: str
    scale: Scale
    repeats: int
    measures: tuple[Measure, ...]
    cost: RunCost | None = None
    selftest: Mapping[str, SelfTestEntry] = field(default_factory=dict)
    labels: LabelUse | None = None
    controls: Controls | None = None


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A judged run with the dimensions that were measured, by name.

    `members` are the judgments of each member of a panel, empty without a panel.
    """

    data: Dataset
    pool: Pool
    judgments: Sequence[Judgment]
    spec: RunSpec
    members: JudgmentsByMember = field(default_factory=dict)
    dimensions: Mapping[str, DimensionResult] = field(default_factory=dict)

    @property
    def lists(self) -> dict[tuple[str, str], Sequence[Snippet]]:
        """The results of engines that did not fail, down to the depth, by (engine, query_id)."""
        depth, rankings = self.pool.depth, self.data.rankings
        return {ranking.key: ranking.snippets[:depth] for ranking in rankings if ranking.error is None}

    def tabulate(self, *, with_tokens: bool = False) -> tuple[ResultColumns, JudgmentColumns]:
        """Return the results and the judgments in columns."""
        rankings, documents = self.data.rankings, self.pool.documents
        results = tabulate_results(rankings, documents, self.pool.depth, with_tokens=with_tokens)
        if self.spec.labels and self.spec.labels.unreturned:
            names = list_unreturned(self.data, self.pool)
            counts = np.array([len(names[query_id]) for query_id in results.queries])
            results = replace(results, unreturned=counts)
        return results, tabulate_judgments(self.judgments, results)


#: Judgments whose values are Python objects at once.
_CHUNK = 1 << 13


def fingerprint_grades(results: ResultColumns, judgments: JudgmentColumns, scale: Scale) -> str:
    """Return a hash of all grades and of the lowest relevant grade.

    Other files hold it to name the grades that they are computed from.
    """
    rows = judgments.rows
    grades = np.where(rows["is_graded"], rows["grade"], -1)
    order = np.lexsort((grades, rows["repeat"], rows["pair"]))
    digest = hashlib.sha256(f"[{scale.relevant_from}, [".encode())
    for number, chunk in enumerate(np.array_split(order, len(order) // _CHUNK + 1)):
        pairs = rows["pair"][chunk]  # sorted; -1 stands for a pair that no engine returned
        first, last = (max(0, int(pairs[0])), int(pairs[-1]) + 1) if len(pairs) else (0, 0)
        queries = map(results.queries.__getitem__, results.pair_query[first:last].tolist())
        names = list(zip(queries, results.snippet_ids[first:last], strict=True))
        columns = (pairs, rows["repeat"][chunk], grades[chunk])
        # A pair that no engine returned stands without its name.
        entries = [
            (*(names[pair - first] if pair >= 0 else (None, None)), repeat, grade)
            for pair, repeat, grade in zip(*(column.tolist() for column in columns), strict=True)
        ]
        digest.update(f"{', ' if number else ''}{json.dumps(entries)[1:-1]}".encode())
    digest.update(b"]]")
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labels that a run uses as grades, by (query_id, snippet_id), from the file `source`.

    `sample` are the labelled pairs that the assessor judges, too. `unmatched` labels fit no pair.
    `unreturned` is None for a file; for the expected documents of a dataset, it counts those that no engine
    returned. `warnings` are about the file.
    """

    grades: GradesByPair
    source: str
    unmatched: int = 0
    sample: frozenset[tuple[str, str]] = frozenset()
    unreturned: int | None = None
    warnings: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a hash of the labels, and of the sample where there is one."""
        table = sorted((*key, grade, key in self.sample) for key, grade in self.grades.items())
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16]

    def select_judged(self, pool: Pool) -> Pool:
        """Return the pool with the pairs that the assessor judges: the unlabelled ones and the sample."""
        length = sum(map(self._is_judged, pool.pairs))
        pairs = select_records(pool.pairs, self._is_judged, length)
        # The digest names the whole pool, and keys are cached under it.
        return replace(pool, pairs=pairs, digest="")

    def select_unlabelled(self, pool: Pool) -> Pool:
        """Return the pool with the pairs that have no label."""
        length = sum(pair.key not in self.grades for pair in pool.pairs)
        pairs = select_records(pool.pairs, lambda pair: pair.key not in self.grades, length)
        return replace(pool, pairs=pairs, digest="")

    def _is_judged(self, pair: Pair) -> bool:
        return pair.key not in self.grades or pair.key in self.sample

    def add_to(self, judgments: Iterable[Judgment], pool: Pool, repeats: int) -> tuple[Judgment, ...]:
        """Return the judgments of the whole pool: the labels, else those of the assessor."""
        labels = {
            (label.query_id, label.snippet_id, repeat): replace(label, repeat=repeat, flags=(LABEL,))
            for label in convert_to_judgments(self.grades)
            for repeat in range(1, repeats + 1)
        }
        others = {(*each.key, each.repeat): each for each in judgments}
        keys = ((*pair.key, repeat) for repeat in range(1, repeats + 1) for pair in pool.pairs)
        return tuple(labels.get(key) or others[key] for key in keys if key in labels or key in others)

    def remove_from(self, members: Mapping[str, Iterable[Judgment]]) -> dict[str, tuple[Judgment, ...]]:
        """Return the judgments of each member of a panel without those of labelled pairs."""
        return {
            name: tuple(each for each in own if each.key not in self.grades) for name, own in members.items()
        }

    def summarise(self, judgments: Iterable[Judgment], scale: Scale) -> LabelUse:
        """Return how many pairs have a label, and how the assessor's `judgments` agree on the sample."""
        sample = {key: self.grades[key] for key in self.sample}
        check = None
        if sample:
            paired = pair_grades(sample, compute_median_grades(judgments))
            agreement = measure_agreement(paired, scale, scale)
            check = LabelCheck(
                pairs=len(sample),
                judged=agreement.pairs,
                queries=agreement.queries,
                same_grade=agreement.same_grade,
                same_side=agreement.same_verdict,
                kappa=agreement.kappa,
                bias=agreement.bias,
            )
        return LabelUse(self.source, len(self.grades), self.unmatched, check, self.unreturned)


def draw_sample(keys: Iterable[tuple[str, str]], size: int) -> frozenset[tuple[str, str]]:
    """Return `size` of the keys at random, or all if there are fewer.

    The draw depends on the keys alone, and a larger sample holds every smaller one.
    """
    return frozenset(sorted(keys, key=lambda key: hashlib.sha256("\n".join(key).encode()).digest())[:size])
