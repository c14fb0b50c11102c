"""Which pairs of a pool the assessors judge, and what their judgments say of the other pairs.

Pairs with a label of people and near-duplicates are not judged. The mismatched pairs of controls are, though
they are not in the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from judge.records import Dataset, Judgment, Pair, PairKey, Pool, Ranking
from judge.stored_records import chain_records

#: Draws in a row without a new pair, after which fewer pairs than wanted are accepted.
_MAX_MISSES = 5_000


def draw_mismatched_pairs(data: Dataset, pool: Pool, count: int) -> dict[PairKey, Pair]:
    """Return up to `count` pairs of a query and the snippet that another query got at a rank from an engine.

    None is in the pool. The two queries have one language and no term in common, so that the snippet does not
    answer both. There are fewer pairs where few such queries exist. A larger draw contains every smaller one.
    """
    if not count:
        return {}
    lists: dict[str, dict[str, Ranking]] = {}
    for ranking in data.rankings:
        if ranking.snippets and ranking.error is None:
            lists.setdefault(ranking.query_id, {})[ranking.engine] = ranking
    readable = {pair.key for pair in select_labellable(pool)}
    pooled = {pair.key for pair in pool.pairs}
    ids, rng = sorted(lists), np.random.default_rng(0)
    terms = {query_id: extract_terms(data.queries[query_id].text).keys() for query_id in ids}
    pairs: dict[PairKey, Pair] = {}
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
    return pairs


@dataclass(frozen=True, slots=True)
class PairSelection:
    """`assessor_pool` has the pairs that an assessor grades, with the `mismatched` ones at its end.

    `labels` are the grades of the other pairs.
    """

    labels: RunLabels | None
    assessor_pool: Pool
    near_duplicates: NearDuplicates
    mismatched: Mapping[PairKey, Pair]

    @property
    def to_judge(self) -> Pool:
        """Return the pairs to ask about."""
        return self.near_duplicates.select_judged(self.assessor_pool)

    def add_near_duplicates(self, judgments: Sequence[Judgment]) -> Sequence[Judgment]:
        """Return the judgments of all pairs that an assessor grades, given those of the pairs to judge."""
        return self.near_duplicates.add_to(judgments, self.assessor_pool)

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
            # Those with a grade in the first repeat give the rate of false positives.
            of_controls = [each for each in judgments if each.key in self.mismatched and each.repeat == 1]
            grades = [each.grade for each in of_controls if each.grade is not None]
            share = measure_share(sum(grade >= config.grading.relevant_from for grade in grades), len(grades))
            spec = replace(spec, controls=Controls(len(self.mismatched), share, config.max_false_positives))
            judgments = self._leave_out_mismatched(judgments)
            members = {member: self._leave_out_mismatched(own) for member, own in members.items()}
        if self.labels:
            spec = replace(spec, labels=self.labels.summarise(judgments, config.grading))
            judgments = self.labels.add_to(judgments, pooled.pool, config.repeats)
            members = self.labels.remove_from(members)
        return JudgedRun(pooled.dataset, pooled.pool, judgments, spec, members)

    def _leave_out_mismatched(self, judgments: Sequence[Judgment]) -> tuple[Judgment, ...]:
        return tuple(each for each in judgments if each.key not in self.mismatched)


def select_pairs(config: Config, pooled: PooledDataset, labels: RunLabels | None) -> PairSelection:
    """Return which pairs a run judges by its options."""
    pool = pooled.pool
    near_duplicates = NearDuplicates({})
    if config.near_duplicates:
        # A labelled pair of the sample shows the grade of a person, which no other pair takes.
        near_duplicates = find_near_duplicates(labels.select_unlabelled(pool) if labels else pool)
    mismatched = draw_mismatched_pairs(pooled.dataset, pool, config.control_pairs if config.controls else 0)
    assessor_pool = labels.select_judged(pool) if labels else pool
    if mismatched:
        # What is cached under the key belongs to the pool without them.
        pairs = chain_records((assessor_pool.pairs, mismatched.values()))
        assessor_pool = replace(assessor_pool, pairs=pairs, cache_key="")
    return PairSelection(labels, assessor_pool, near_duplicates, mismatched)
