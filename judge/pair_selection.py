"""Which pairs of a pool the assessors judge, and what their judgments say of the other pairs.

Pairs with a label of people and near-duplicates are not judged. The mismatched pairs of controls are, though
they are not in the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.analysis.judged_run import JudgedRun, RunLabels, RunSpec
from judge.analysis.summary import Controls
from judge.config.run import Config
from judge.dataset.labels import select_labellable
from judge.dataset.near_duplicates import NearDuplicates, find_near_duplicates
from judge.dataset.pool import make_pair
from judge.dataset.stored_dataset import PooledDataset
from judge.measure.measures import Measure
from judge.measure.panel_agreement import combine_members
from judge.measure.resampling import measure_share
from judge.models.lexical import extract_terms
from judge.records import Dataset, Judgment, Pair, Pool, Ranking, Scale
from judge.stored_records import chain_records

#: Draws in a row without a new pair, after which fewer pairs than wanted are accepted.
_MAX_MISSES = 5_000


@dataclass(frozen=True, slots=True)
class MismatchedPairs:
    """Pairs of a query and a snippet of another one, by (query_id, snippet_id); none is in the pool."""

    pairs: Mapping[tuple[str, str], Pair]

    def add_to(self, pool: Pool) -> Pool:
        """Return the pool with these pairs at its end, for judging."""
        if not self.pairs:
            return pool
        # What is cached under the key belongs to the pool without them.
        return replace(pool, pairs=chain_records((pool.pairs, self.pairs.values())), cache_key="")

    def remove_from(self, judgments: Iterable[Judgment]) -> tuple[Judgment, ...]:
        """Return the judgments of other pairs."""
        return tuple(each for each in judgments if each.key not in self.pairs)

    def summarise(self, judgments: Iterable[Judgment], scale: Scale, bound: float) -> Controls:
        """Return the false-positive rate, over the pairs with a grade in the first repeat."""
        grades = [
            each.grade
            for each in judgments
            if each.repeat == 1 and each.grade is not None and each.key in self.pairs
        ]
        relevant = sum(grade >= scale.relevant_from for grade in grades)
        return Controls(len(self.pairs), measure_share(relevant, len(grades)), bound)


def draw_mismatched_pairs(data: Dataset, pool: Pool, count: int) -> MismatchedPairs:
    """Return up to `count` pairs of a query and the snippet that another query got at a rank from an engine.

    The two queries have one language and no term in common, so that the snippet does not answer both. There
    are fewer pairs where few such queries exist. A larger draw contains every smaller one.
    """
    if not count:
        return MismatchedPairs({})
    lists: dict[str, dict[str, Ranking]] = {}
    for ranking in data.rankings:
        if ranking.snippets and ranking.error is None:
            lists.setdefault(ranking.query_id, {})[ranking.engine] = ranking
    readable = {pair.key for pair in select_labellable(pool)}
    pooled = {pair.key for pair in pool.pairs}
    ids, rng = sorted(lists), np.random.default_rng(0)
    terms = {query_id: extract_terms(data.queries[query_id].text).keys() for query_id in ids}
    pairs: dict[tuple[str, str], Pair] = {}
    misses = 0
    while len(pairs) < count and len(ids) > 1 and misses < _MAX_MISSES:
        misses += 1
        query_id, other_id = (ids[at] for at in rng.integers(len(ids), size=2))
        engines = sorted(lists[other_id])
        ranking = lists[other_id][engines[rng.integers(len(engines))]]
        snippet = ranking.snippets[rng.integers(min(pool.depth, len(ranking.snippets)))]
        if (
            data.queries[query_id].lang == data.queries[other_id].lang
            and terms[query_id].isdisjoint(terms[other_id])
            and (other_id, snippet.id) in readable
            and (query_id, snippet.id) not in pooled
        ):
            if (query_id, snippet.id) not in pairs:
                misses = 0
            pairs[query_id, snippet.id] = make_pair(data, query_id, snippet)
    return MismatchedPairs(pairs)


@dataclass(frozen=True, slots=True)
class PairSelection:
    """`assessor_pool` has the pairs that an assessor grades; `labels` are the grades of the other pairs."""

    labels: RunLabels | None
    assessor_pool: Pool
    near_duplicates: NearDuplicates
    mismatched: MismatchedPairs

    @property
    def to_judge(self) -> Pool:
        """Return the pairs to ask about."""
        return self.near_duplicates.select_judged(self.mismatched.add_to(self.assessor_pool))

    def add_near_duplicates(self, judgments: Sequence[Judgment]) -> Sequence[Judgment]:
        """Return the judgments of all pairs that an assessor grades, given those of the pairs to judge."""
        return self.near_duplicates.add_to(judgments, self.mismatched.add_to(self.assessor_pool))

    def make_judged_run(
        self,
        config: Config,
        pooled: PooledDataset,
        by_assessor: Mapping[str, Sequence[Judgment]],
        measures: tuple[Measure, ...],
    ) -> JudgedRun:
        """Return the run with the judgments of its pool, which are those `by_assessor` and the labels."""
        name, judgments, members = combine_members(by_assessor)
        spec = RunSpec(name, config.grading, config.repeats, measures)
        if config.controls:
            controls = self.mismatched.summarise(judgments, config.grading, config.max_false_positives)
            spec = replace(spec, controls=controls)
            judgments = self.mismatched.remove_from(judgments)
            members = {member: self.mismatched.remove_from(own) for member, own in members.items()}
        if self.labels:
            spec = replace(spec, labels=self.labels.summarise(judgments, config.grading))
            judgments = self.labels.add_to(judgments, pooled.pool, config.repeats)
            members = self.labels.remove_from(members)
        return JudgedRun(pooled.dataset, pooled.pool, judgments, spec, members)


def select_pairs(config: Config, pooled: PooledDataset, labels: RunLabels | None) -> PairSelection:
    """Return which pairs a run judges by its options."""
    pool = pooled.pool
    near_duplicates = NearDuplicates({})
    if config.near_duplicates:
        # A labelled pair of the sample shows the grade of a person, which no other pair takes.
        near_duplicates = find_near_duplicates(labels.select_unlabelled(pool) if labels else pool)
    controls = config.control_pairs if config.controls else 0
    return PairSelection(
        labels,
        labels.select_judged(pool) if labels else pool,
        near_duplicates,
        draw_mismatched_pairs(pooled.dataset, pool, controls),
    )
