"""The records of a judged run: what analysis starts from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from judge.analysis.summary import LabelUse, RunCost, SelfTestEntry
from judge.measure.measures import Measure
from judge.measure.panel_agreement import PanelMembers
from judge.records import Dataset, Judgment, Pool, Scale


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The assessor, scale, repeats and measures of a run, its cost, and the self-tests of its assessors.

    `cost` is None where it is not known: for several runs combined, and for files of labels.
    `labels` says which labels are grades of the run.
    """

    assessor: str
    scale: Scale
    repeats: int
    measures: tuple[Measure, ...]
    cost: RunCost | None = None
    selftest: Mapping[str, SelfTestEntry] = field(default_factory=dict)
    labels: LabelUse | None = None


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A judged run; `members` are the judgments of each member of a panel, empty without a panel."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]
    spec: RunSpec
    members: PanelMembers = field(default_factory=dict)


def fingerprint_grades(judgments: Iterable[Judgment], scale: Scale) -> str:
    """Return a hash of all grades and of the lowest relevant grade.

    Other files hold it to name the grades that they are computed from.
    """
    grades = sorted(
        (j.query_id, j.snippet_id, j.repeat, -1 if j.grade is None else j.grade) for j in judgments
    )
    return hashlib.sha256(json.dumps([scale.relevant_from, grades]).encode()).hexdigest()[:16]
