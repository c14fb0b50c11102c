"""Whether the grades of several runs mean the same, and how far they changed from one run to another."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun
from judge.flags import LABEL
from judge.measure.grades_by_pair import map_grades
from judge.measure.resampling import compute_randomisation_p, holm
from judge.messages import Message, NameList
from judge.records import Judgment, PairKey, Query

#: The judgments that are compared: those of the shared queries, in as many repeats as every run has.
JudgmentsByRun = Mapping[str, Sequence[Judgment]]
_GradeSource = Literal["assessor", "people"]
#: What to say of lower and of higher grades, by whose grades changed.
_SHIFTS: Mapping[frozenset[_GradeSource], tuple[Message, Message]] = {
    frozenset(("assessor",)): (
        Message("judged by an assessor that has become stricter"),
        Message("judged by an assessor that has become more generous"),
    ),
    frozenset(("people",)): (
        Message("graded by people whose labels are lower now"),
        Message("graded by people whose labels are higher now"),
    ),
    frozenset(("assessor", "people")): (
        Message("graded lower by the assessor and by people"),
        Message("graded higher by the assessor and by people"),
    ),
}


@dataclass(frozen=True, slots=True)
class GradeShift:
    """The mean change `by` of the grades in `run`, over the pairs that both runs judged, query by query.

    `p` is the probability of such a change by chance (paired randomisation over queries), adjusted over all
    runs (Holm 1979). `sources` says whose grades changed: the assessor's, people's labels, or both.
    """

    run: str
    by: float
    p: float
    sources: frozenset[_GradeSource]

    @property
    def change(self) -> Message:
        """The direction of the change in words, which complete "the runs were …"."""
        return _SHIFTS[self.sources][self.by > 0]


def explain_inequality(runs: Mapping[str, JudgedRun], queries: Mapping[str, Query]) -> str:
    """Return why the runs' grades do not mean the same; empty when they do."""
    assessors = sorted({run.spec.assessor for run in runs.values()})
    if len(assessors) > 1:
        return Message("judged by different assessors ({names})", names=NameList(assessors))
    # The snippet of a pair has a date only if prompts show it.
    if len({any(pair.snippet.date for pair in run.pool.pairs) for run in runs.values()}) > 1:
        return Message("judged with and without dates in the prompts")
    versions: dict[str, set[str]] = {}
    parameters = set()
    for run in runs.values():
        versions_of_run: dict[str, set[str]] = {}
        for judgment in run.judgments:
            is_label = LABEL in judgment.flags  # which no prompt asked for
            if judgment.query_id in queries and judgment.grade is not None and not is_label:
                versions_of_run.setdefault(judgment.query_id, set()).add(judgment.prompt_version)
        if any(versions.setdefault(query, own) != own for query, own in versions_of_run.items()):
            return Message("judged with different prompts")
        sent = next((judgment.params for judgment in run.judgments if judgment.params), {})
        # The form of a reply is negotiated with the server and says nothing of how it was asked.
        parameters.add(json.dumps({name: value for name, value in sent.items() if name != "response_format"}))
    return Message("judged with different parameters") if len(parameters - {"{}"}) > 1 else ""


def find_shift(judgments: JudgmentsByRun) -> GradeShift | None:
    """Return the most significant change of grades from the first run to another, on their common pairs."""
    (_, first), *others = judgments.items()
    before = map_grades(first)
    shifts = []
    for name, run in others:
        labelled = _find_labelled_pairs(first) | _find_labelled_pairs(run)
        sources: set[_GradeSource] = set()
        moved: dict[str, list[int]] = {}
        for key, grade in map_grades(run).items():
            if key in before:
                moved.setdefault(key[0], []).append(grade - before[key])
                if grade != before[key]:
                    sources.add("people" if key[:2] in labelled else "assessor")
        means = np.array([sum(changes) / len(changes) for _, changes in sorted(moved.items())])
        if means.size:
            p = float(compute_randomisation_p(means[:, None])[0])
            shifts.append(GradeShift(name, float(means.mean()), p, frozenset(sources)))
    adjusted = holm(np.array([shift.p for shift in shifts]))
    shifts = [replace(shift, p=p) for shift, p in zip(shifts, adjusted.tolist(), strict=True)]
    return min(shifts, key=lambda shift: shift.p, default=None)


def _find_labelled_pairs(judgments: Iterable[Judgment]) -> set[PairKey]:
    return {judgment.key for judgment in judgments if LABEL in judgment.flags}


def count_regraded(judgments: JudgmentsByRun) -> tuple[int, int, int]:
    """Return the numbers of pairs that two runs graded, and of grades that assessor and people changed."""
    grades: dict[tuple[str, str, int], int] = {}
    shared = by_assessor = by_people = 0
    labelled: set[PairKey] = set()
    for of_run in judgments.values():
        labelled |= _find_labelled_pairs(of_run)
        for key, grade in map_grades(of_run).items():
            shared += key in grades
            if grades.setdefault(key, grade) != grade:
                by_people += key[:2] in labelled
                by_assessor += key[:2] not in labelled
    return shared, by_assessor, by_people
