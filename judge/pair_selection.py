"""Which pairs of a pool the assessors judge, and what their judgments say of the other pairs.

Pairs with a label of people and near-duplicates are not judged. The mismatched pairs of controls are, though
they are not in the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from judge.analysis.loaded_run import LoadedRun, RunLabels, RunSpec
from judge.config.run import Config
from judge.dataset.near_duplicates import NearDuplicates, find_near_duplicates
from judge.dataset.pool import PooledDataset
from judge.dimensions.controls import MismatchedPairs, draw_mismatched_pairs
from judge.measure.panel_agreement import as_assessor
from judge.records import Judgment, Pool


@dataclass(frozen=True, slots=True)
class PairSelection:
    """The pairs of `unlabelled` that an assessor grades; `labels` are the grades of the other pairs."""

    labels: RunLabels | None
    unlabelled: Pool
    near_duplicates: NearDuplicates
    mismatched: MismatchedPairs

    @property
    def to_judge(self) -> Pool:
        """Return the pairs to ask about."""
        return self.near_duplicates.select_judged(self.mismatched.add_to(self.unlabelled))

    def add_near_duplicates(self, judgments: Iterable[Judgment]) -> tuple[Judgment, ...]:
        """Return the judgments of all pairs that an assessor grades, given those of the pairs to judge."""
        return self.near_duplicates.add_to(judgments, self.mismatched.add_to(self.unlabelled))

    def make_run(
        self,
        config: Config,
        pooled: PooledDataset,
        by_assessor: Mapping[str, tuple[Judgment, ...]],
        spec: RunSpec,
    ) -> LoadedRun:
        """Return the run with the judgments of its pool, which are those `by_assessor` and the labels."""
        name, judgments, members = as_assessor(by_assessor)
        spec = replace(spec, assessor=name)
        if config.controls:
            controls = self.mismatched.summarise(judgments, config.grading, config.max_false_positives)
            spec = replace(spec, controls=controls)
            judgments = self.mismatched.remove_from(judgments)
            members = {member: self.mismatched.remove_from(own) for member, own in members.items()}
        if self.labels:
            spec = replace(spec, labels=self.labels.summarise(judgments, config.grading))
            judgments = self.labels.add_to(judgments, pooled.pool, config.repeats)
            members = self.labels.remove_from(members)
        return LoadedRun(pooled.dataset, pooled.pool, judgments, spec, members)


def select_pairs(config: Config, pooled: PooledDataset, labels: RunLabels | None) -> PairSelection:
    """Return which pairs a run judges by its options."""
    unlabelled = labels.select_unlabelled(pooled.pool) if labels else pooled.pool
    return PairSelection(
        labels,
        unlabelled,
        find_near_duplicates(unlabelled) if config.near_duplicates else NearDuplicates({}),
        draw_mismatched_pairs(pooled.dataset, pooled.pool, config.control_pairs if config.controls else 0),
    )
