"""One person's labelling of one run: the next pair, the progress, the result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.analysis.label_agreement import HumanLabels, compare_with_labels
from judge.analysis.loaded_run import LoadedRun
from judge.annotate.label_log import LabelDecision, LabelLog
from judge.annotate.tasks import Tasks, describe_pair
from judge.errors import InputError
from judge.messages import in_both
from judge.report.stability_sentences import name_strength
from judge.runs.record_json import to_json

#: What of agreement.json the page tells; the rest is for `judge agree`.
_TOLD = (
    *("assessor", "pairs", "queries", "confusion", "same_grade", "kappa_quadratic"),
    *("same_verdict", "kappa_relevant", "bias_relevant"),
)


class LabelConflict(InputError):
    """The pair has another decision than the page showed."""


@dataclass(frozen=True, slots=True)
class AnnotationSession:
    """The labels of one person for the run in folder `run`. `today` is the date in the run's prompts."""

    run: Path
    loaded: LoadedRun
    tasks: Tasks
    labels: LabelLog
    today: str | None = None

    def state(self, at: int | None = None) -> dict[str, Any]:
        """Return all that the page shows, as JSON values: the pair at place `at`, or the next pair to label.

        `pair` is None when every pair is labelled. Raises InputError for a place that does not exist.
        """
        current, scale = self.labels.current, self.loaded.spec.scale
        undecided = (place for key, place in self.tasks.index_of.items() if key not in current)
        following = next(undecided, None)
        at = following if at is None else at
        if at is not None and not 0 <= at < len(self.tasks.pairs):
            raise InputError(
                "there is no pair {index}; the last is {last}", index=at, last=len(self.tasks.pairs) - 1
            )
        decisions = [current[key] for key in self.tasks.index_of if key in current]
        return {
            "who": self.labels.who,
            "run": self.run.resolve().name,
            "scale": scale.name,
            "top": scale.top,
            "relevant_from": scale.relevant_from,
            "total": len(self.tasks.pairs),
            "labelled": len(decisions),
            "unsure": sum(decision.grade is None for decision in decisions),
            "next": following,
            "last": self._last(),
            "finished": self.tasks.index_of.keys() <= self.labels.sealed,
            "at": at,
            **(self._pair(at, current) if at is not None else {"pair": None}),
        }

    def label(self, decision: LabelDecision, replaces: str | None) -> dict[str, Any]:
        """Store a decision and return the state after it.

        `replaces` is the id of the decision that the page showed for the pair, None when it showed none.
        Raises LabelConflict when another decision counts now, InputError for a pair that is no task or a
        grade off the scale, and what `LabelLog.add` raises.
        """
        if decision.key not in self.tasks.index_of:
            raise InputError("this pair is not among those to label")
        if decision.grade is not None and not 0 <= decision.grade <= self.loaded.spec.scale.top:
            raise InputError(
                "grade {grade} is not on the scale 0-{top}",
                grade=decision.grade,
                top=self.loaded.spec.scale.top,
            )
        current = self.labels.current.get(decision.key)
        if not self.labels.has(decision) and (current.id if current else None) != replaces:
            raise LabelConflict("this pair was labelled in another tab since it was shown here")
        self.labels.add(decision)
        return self.state()

    def undo(self, decision_id: str) -> dict[str, Any]:
        """Take a decision back and return the state at its pair; raise what `LabelLog.undo` raises."""
        decision = self.labels.undo(decision_id)
        return self.state(self.tasks.index_of.get(decision.key))

    def export(self) -> dict[str, Any]:
        """Write the labels as CSV; return the path and the command that compares them with the run."""
        current = self.labels.current
        return {
            "labelled": sum(key in current for key in self.tasks.index_of),
            "path": str(self.labels.write_table()),
            "command": self.command,
        }

    def finish(self) -> dict[str, Any]:
        """Export, and make the decisions final; `agreement` is what the page shows of it.

        `strength` describes its kappa in both languages, None without a kappa. Raises InputError while a pair
        is not labelled, because a person who has seen the model's grades does not label blind.
        """
        left = len(self.tasks.index_of.keys() - self.labels.current.keys())
        if left:
            raise InputError("{count:,} pairs are not labelled yet", count=left)
        self.labels.seal()
        agreement = self._agreement()
        kappa = agreement["kappa_relevant"]["value"] if agreement else None
        strength = None if kappa is None else in_both(name_strength, kappa)._asdict()
        return {**self.export(), "agreement": agreement, "strength": strength}

    @property
    def command(self) -> str:
        """Return the command that compares the run with these labels."""
        scale = ("--labels-scale", self.loaded.spec.scale.name)
        return shlex.join(["judge", "agree", str(self.run), "--qrels", str(self.labels.table), *scale])

    def _agreement(self) -> Mapping[str, Any] | None:
        """Return the agreement; None when no pair has a grade."""
        run_pairs = {(pair.query.id, pair.snippet.id) for pair in self.loaded.pool.pairs}
        given = {
            key: decision.grade for key, decision in self.labels.current.items() if decision.grade is not None
        }
        grades = {key: grade for key, grade in given.items() if key in run_pairs}
        if not grades:
            return None
        people = HumanLabels(grades, self.loaded.spec.scale, len(given) - len(grades), self.labels.table.name)
        agreement = to_json(compare_with_labels(self.loaded, people))
        return {name: agreement[name] for name in _TOLD}

    def _last(self) -> dict[str, Any] | None:
        last = self.labels.last
        return None if last is None else {"id": last.id, "at": self.tasks.index_of.get(last.key)}

    def _pair(self, at: int, current: Mapping[tuple[str, str], LabelDecision]) -> dict[str, Any]:
        pair = self.tasks.pairs[at]
        indexes = self.tasks.queries[pair.query.id]
        key = (pair.query.id, pair.snippet.id)
        decision = current.get(key)
        return {
            "pair": describe_pair(pair, self.today),
            "decision": decision
            and {"id": decision.id, "grade": decision.grade, "comment": decision.comment},
            "sealed": key in self.labels.sealed,
            "query_number": list(self.tasks.queries).index(pair.query.id) + 1,
            "queries": len(self.tasks.queries),
            "pair_number": at - indexes.start + 1,
            "pairs_of_query": len(indexes),
        }
