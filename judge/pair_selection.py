"""Which pairs of a pool the assessors judge, and how their judgments become those of all pairs.

Pairs with a label of people keep the label. A sample of them is judged, too, to measure how far the assessor
agrees with people on this dataset. Near-duplicates take the judgment of another pair. The mismatched pairs of
controls are judged, though they are not in the pool.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.analysis.summary import Controls, LabelCheck, LabelUse
from judge.assess.assessor import Assessor
from judge.config.run import Config
from judge.dataset.labels import LabelSet, select_labellable
from judge.dataset.near_duplicates import find_near_duplicates
from judge.dataset.pool import make_pair
from judge.dataset.stored_dataset import PooledDataset
from judge.files.stored_records import StoredRecords, chain_records
from judge.flags import LABEL
from judge.measure.agreement import measure_agreement
from judge.measure.grades_by_pair import compute_median_grades, convert_to_judgments, pair_grades
from judge.measure.grading_models import combine_members
from judge.measure.intervals import measure_share
from judge.measure.measures import Measure
from judge.models.lexical import extract_terms
from judge.records import Dataset, Judgment, Pair, PairKey, Pool, Ranking, Scale

#: Draws in a row without a new pair, after which fewer pairs than wanted are accepted.
_MAX_MISSES = 5_000


@dataclass(frozen=True, slots=True)
class PairSelection:
    """How each pair of a `pool` gets its judgment.

    Assessors judge the pairs of `to_judge`: those that have no label and are no near-duplicate, the labelled
    ones of the sample, and the `mismatched` ones, which are not in the pool. A pair with one of the `labels`
    keeps it. One of the `near_duplicates` takes the judgment of the snippet with this id.
    """

    dataset: Dataset
    pool: Pool
    to_judge: Pool
    labels: LabelSet | None = None
    near_duplicates: Mapping[PairKey, str] = field(default_factory=dict)
    mismatched: Mapping[PairKey, Pair] = field(default_factory=dict)

    @property
    def labelled(self) -> Mapping[PairKey, int]:
        """The grades of people by pair."""
        return self.labels.grades if self.labels else {}

    def add_near_duplicates(self, judgments: Sequence[Judgment]) -> Sequence[Judgment]:
        """Return the judgments of an assessor with those of the near-duplicates, repeat by repeat."""
        if not self.near_duplicates:
            return judgments
        by_key = {(*judgment.key, judgment.repeat): judgment for judgment in judgments}
        complete = []
        for repeat in sorted({repeat for *_, repeat in by_key}):
            for query_id, snippet_id in chain((pair.key for pair in self.pool.pairs), self.mismatched):
                other_id = self.near_duplicates.get((query_id, snippet_id))
                judgment = by_key.get((query_id, other_id or snippet_id, repeat))
                if judgment and other_id:
                    judgment = replace(judgment, snippet_id=snippet_id, judged_snippet_id=other_id)
                if judgment:
                    complete.append(judgment)
        return tuple(complete)

    def add_labels(self, judgments: Sequence[Judgment], repeats: int) -> Sequence[Judgment]:
        """Return the judgments of the pool in its order: the labels, else those of the assessor."""
        if not self.labels:
            return judgments
        by_key = {(*judgment.key, judgment.repeat): judgment for judgment in judgments}
        for label in convert_to_judgments(self.labels.grades):
            for repeat in range(1, repeats + 1):
                by_key[*label.key, repeat] = replace(label, repeat=repeat, flags=(LABEL,))
        keys = ((*pair.key, repeat) for repeat in range(1, repeats + 1) for pair in self.pool.pairs)
        return tuple(by_key[key] for key in keys if key in by_key)


def select_pairs(config: Config, pooled: PooledDataset, labels: LabelSet | None) -> PairSelection:
    """Return which pairs a run judges by its options."""
    dataset, pool, to_judge = pooled.dataset, pooled.pool, pooled.pool
    labelled: Set[PairKey] = labels.grades.keys() if labels else frozenset()
    left_out = labelled - labels.sample if labels else labelled
    near_duplicates: dict[PairKey, str] = {}
    if config.near_duplicates:
        # A labelled pair of the sample shows the grade of a person, which no other pair takes.
        near_duplicates = find_near_duplicates(pair for pair in pool.pairs if pair.key not in labelled)
        left_out |= near_duplicates.keys()
    mismatched = draw_mismatched_pairs(dataset, pool, config.control_pairs if config.controls else 0)
    if left_out or mismatched:
        count = len(pool.pairs) - len(left_out)
        pairs = StoredRecords(lambda: (pair for pair in pool.pairs if pair.key not in left_out), count)
        # What is cached under the key belongs to the whole pool.
        to_judge = replace(pool, pairs=chain_records((pairs, mismatched.values())), cache_key="")
    return PairSelection(dataset, pool, to_judge, labels, near_duplicates, mismatched)


def make_judged_run(
    config: Config,
    selection: PairSelection,
    assessors: Sequence[Assessor],
    judgments: Sequence[Sequence[Judgment]],
    measures: tuple[Measure, ...],
) -> JudgedRun:
    """Return the run of the `judgments` of each assessor, with the warnings of labels and assessors."""
    labels, mismatched = selection.labels, selection.mismatched
    by_assessor, warnings = {}, dict.fromkeys(labels.warnings if labels else ())
    for assessor, own in zip(assessors, judgments, strict=True):
        fitted = assessor.fit(own, selection.labelled)
        by_assessor[fitted.name] = selection.add_near_duplicates(fitted.regrade(own))
        warnings |= dict.fromkeys(fitted.warnings)
    name, of_assessor, members = combine_members(by_assessor)
    controls = None
    if config.controls:
        # The rate of false positives is that of the first repeat.
        drawn = (judgment for judgment in of_assessor if judgment.key in mismatched and judgment.repeat == 1)
        grades = [judgment.grade for judgment in drawn if judgment.grade is not None]
        share = measure_share(sum(grade >= config.grading.relevant_from for grade in grades), len(grades))
        controls = Controls(len(mismatched), share, config.max_false_positives)
    spec = RunSpec(
        name,
        config.grading,
        config.repeats,
        measures,
        labels=_summarise_labels(labels, of_assessor, config.grading) if labels else None,
        controls=controls,
    )
    of_run = selection.add_labels(_leave_out(of_assessor, mismatched), config.repeats)
    not_of_members = mismatched.keys() | selection.labelled.keys()
    members = {member: _leave_out(own, not_of_members) for member, own in members.items()}
    dataset = replace(selection.dataset, warnings=(*selection.dataset.warnings, *warnings))
    return JudgedRun(dataset, selection.pool, of_run, spec, members)


def _leave_out(judgments: Sequence[Judgment], keys: Collection[PairKey]) -> Sequence[Judgment]:
    return tuple(judgment for judgment in judgments if judgment.key not in keys) if keys else judgments


def _summarise_labels(labels: LabelSet, judgments: Iterable[Judgment], scale: Scale) -> LabelUse:
    """Return the number of labelled pairs, and how far the `judgments` agree with those of the sample."""
    sample = {key: labels.grades[key] for key in labels.sample}
    check = None
    if sample:
        agreement = measure_agreement(pair_grades(sample, compute_median_grades(judgments)), scale, scale)
        check = LabelCheck(
            pairs=len(sample),
            judged=agreement.pairs,
            queries=agreement.queries,
            same_grade=agreement.same_grade,
            same_side=agreement.same_verdict,
            kappa=agreement.kappa,
            bias=agreement.bias,
        )
    return LabelUse(labels.source, len(labels.grades), len(labels.unmatched), check, labels.unreturned)


def draw_mismatched_pairs(dataset: Dataset, pool: Pool, count: int) -> dict[PairKey, Pair]:
    """Return up to `count` pairs of a query and the snippet that another query got at a rank from an engine.

    None is in the pool. The two queries have one language and no term in common, so that the snippet does not
    answer both. There are fewer pairs where few such queries exist. A larger draw contains every smaller one.
    """
    if not count:
        return {}
    lists: dict[str, dict[str, Ranking]] = {}
    for ranking in dataset.rankings:
        if ranking.snippets and ranking.error is None:
            lists.setdefault(ranking.query_id, {})[ranking.engine] = ranking
    readable = {pair.key for pair in select_labellable(pool)}
    pooled = {pair.key for pair in pool.pairs}
    ids, rng = sorted(lists), np.random.default_rng(0)
    terms = {query_id: extract_terms(dataset.queries[query_id].text).keys() for query_id in ids}
    pairs: dict[PairKey, Pair] = {}
    misses = 0
    while len(pairs) < count and len(ids) > 1 and misses < _MAX_MISSES:
        misses += 1
        query_id, other_id = (ids[at] for at in rng.integers(len(ids), size=2))
        engines = sorted(lists[other_id])
        ranking = lists[other_id][engines[rng.integers(len(engines))]]
        snippet = ranking.snippets[rng.integers(min(pool.depth, len(ranking.snippets)))]
        if (
            dataset.queries[query_id].lang == dataset.queries[other_id].lang
            and terms[query_id].isdisjoint(terms[other_id])
            and (other_id, snippet.id) in readable
            and (query_id, snippet.id) not in pooled
        ):
            if (query_id, snippet.id) not in pairs:
                misses = 0
            pairs[query_id, snippet.id] = make_pair(dataset, query_id, snippet)
    return pairs
