"""A judged run: its records, its scores and its `Summary`, and labels of people as its grades.

The analysis is pure: the same run gives the same summary.

Labelled pairs keep the label, and the assessor judges the rest. A sample of the labelled pairs can be judged
as well, to measure how far the assessor agrees with people on this dataset. The grade of such a pair stays
the label.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from judge.analysis.summary import (
    SCHEMA_VERSION,
    Controls,
    DecidingQueries,
    DecidingQuery,
    DimensionResult,
    LabelCheck,
    LabelUse,
    SelfTestEntry,
    Summary,
    average_values,
)
from judge.dataset.injection_patterns import INJECTION_FLAGS
from judge.dataset.labels import list_unreturned
from judge.flags import EMPTY_SNIPPET, LABEL
from judge.measure.agreement import (
    GradesByPair,
    compute_median_grades,
    convert_to_judgments,
    measure_agreement,
    pair_grades,
)
from judge.measure.columns import JudgmentColumns, ResultColumns, tabulate_judgments, tabulate_results
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.engine_agreement import find_shared_vendors
from judge.measure.engine_summary import EngineResult, summarise_engines
from judge.measure.formulas import TIE, convert_non_finite
from judge.measure.measures import Measure
from judge.measure.panel_agreement import (
    SERVED_MODEL_COLUMN,
    JudgmentsByMember,
    count_served_models,
    find_grading_models,
    measure_panel_agreement,
)
from judge.measure.score import Scores, score_columns, score_ideal_order
from judge.measure.sensitivity import (
    check_own_lists,
    compare_segments,
    list_needed_measures,
    measure_flagged_sensitivity,
)
from judge.measure.stability import measure_stability
from judge.pricing.costs import RunCost
from judge.records import Dataset, Judgment, ListKey, Pair, PairKey, Pool, Query, Scale, Snippet
from judge.stored_records import select_records

#: The most queries that `DecidingQueries` has.
_MOST_DECIDING = 10
#: Judgments whose values are Python objects at once.
_CHUNK = 1 << 13


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
    def lists(self) -> dict[ListKey, Sequence[Snippet]]:
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
    sample: frozenset[PairKey] = frozenset()
    unreturned: int | None = None
    warnings: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a hash of the labels, and of the sample where there is one."""
        table = sorted((*key, grade, key in self.sample) for key, grade in self.grades.items())
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16]

    def select_judged(self, pool: Pool) -> Pool:
        """Return the pool with the pairs that the assessor judges: the unlabelled ones and the sample."""
        return _select_pairs(pool, lambda pair: pair.key not in self.grades or pair.key in self.sample)

    def select_unlabelled(self, pool: Pool) -> Pool:
        """Return the pool with the pairs that have no label."""
        return _select_pairs(pool, lambda pair: pair.key not in self.grades)

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
        """Return the number of labelled pairs, and the agreement of the `judgments` on the sample."""
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


def _select_pairs(pool: Pool, is_chosen: Callable[[Pair], bool]) -> Pool:
    pairs = select_records(pool.pairs, is_chosen, sum(map(is_chosen, pool.pairs)))
    # What is cached under the key belongs to the whole pool.
    return replace(pool, pairs=pairs, cache_key="")


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
        names = list(zip(queries, results.snippet_ids.read(first, last), strict=True))
        columns = (pairs, rows["repeat"][chunk], grades[chunk])
        # A pair that no engine returned stands without its name.
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
        if not scores.coverage.without_list[row, column]
    }


def analyse_run(run: JudgedRun, among: Collection[frozenset[str]] | None = None) -> tuple[Scores, Summary]:
    """Return the scores of a run and its summary; `among` names the pairs of engines to compare, None all."""
    data, pool, spec = run.data, run.pool, run.spec
    wanted = tuple(dict.fromkeys((*spec.measures, *list_needed_measures(spec.measures, pool.depth))))
    results, columns = run.tabulate(with_tokens=True)
    every = score_columns(results, columns, wanted, spec.scale)
    scores = every.select(measures=spec.measures)
    comparisons = compare_engines(scores, among)
    models = {SERVED_MODEL_COLUMN: find_grading_models(results, columns)}
    judged = int(columns.rows["is_graded"].sum())
    assessed = (judgment for judgment in run.judgments if LABEL not in judgment.flags)
    wanted_judgments = len(pool.pairs) * spec.repeats
    engines = summarise_engines(scores, results, _average_rerank_scores(columns))
    flagged = results.mark_flags(INJECTION_FLAGS)
    flagged_counts = zip(results.engines, flagged.sum((1, 2)).tolist(), strict=True)

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_run(replace(run, judgments=judgments), spec.measures)

    return scores, Summary(
        schema=SCHEMA_VERSION,
        assessor=spec.assessor,
        scale=spec.scale.name,
        relevant_from=spec.scale.relevant_from,
        dates=data.dates,
        depth=pool.depth,
        repeats=spec.repeats,
        queries=len(data.queries),
        results=pool.results,
        pairs=len(pool.pairs),
        dedup_saving=1 - len(pool.pairs) / pool.results if pool.results else 0.0,
        judgments=wanted_judgments,
        judged=judged,
        grades=fingerprint_grades(results, columns, spec.scale),
        coverage=judged / wanted_judgments if wanted_judgments else 1.0,
        served=count_served_models(results, columns, spec.scale),
        failures=columns.count_errors(),
        empty_snippets=int(results.mark_flags({EMPTY_SNIPPET}).sum()),
        flagged={engine: count for engine, count in flagged_counts if count},
        selftest=dict(spec.selftest),
        remarks=tuple(data.warnings),
        measures=tuple(map(str, spec.measures)),
        notes={str(measure): measure.note for measure in spec.measures if measure.note},
        undefined=_count_undefined(engines.values()),
        engines=engines,
        comparisons=comparisons,
        own_list_reversal=check_own_lists(every, pool.depth, comparisons),
        segments=compare_segments(scores, data.queries, among, models),
        stability=measure_stability(scores, assessed, spec.scale),
        panel=measure_panel_agreement(run.members, spec.scale, rescore) if run.members else None,
        self_preference=find_shared_vendors(run.members or [spec.assessor], data.engines),
        flagged_sensitivity=measure_flagged_sensitivity(
            scores, results, columns, spec.scale, results.mark_pairs(flagged), among
        ),
        deciding_queries=list_deciding_queries(scores, comparisons, data.queries),
        cost=spec.cost,
        labels=spec.labels,
        controls=_add_ideal_means(spec, results, columns, scores.largest),
        near_duplicates=len(set(columns.rows["pair"][columns.rows["is_near_duplicate"]].tolist())),
    )


def _add_ideal_means(
    spec: RunSpec, results: ResultColumns, judgments: JudgmentColumns, largest: Sequence[float]
) -> Controls | None:
    """Return the controls with the means of the pool's best order; None without controls.

    `largest` are the largest possible values of the measures.
    """
    if spec.controls is None:
        return None
    values = score_ideal_order(results, judgments, spec.measures, spec.scale)
    limits = dict(zip(map(str, spec.measures), largest, strict=True))
    means = {
        name: average_values(map(convert_non_finite, of_queries), most=limits[name])
        for name, of_queries in values.items()
    }
    return replace(spec.controls, ideal=means)


def list_deciding_queries(
    scores: Scores, comparisons: Sequence[PairComparison], queries: Mapping[str, Query]
) -> DecidingQueries | None:
    """Return the queries with the largest differences of the first comparison; None where none differs."""
    if not comparisons:
        return None
    comparison = comparisons[0]
    measure, a, b, n = comparison.measure, comparison.a, comparison.b, comparison.n
    column = list(map(str, scores.measures)).index(measure)
    value = scores.average_repeats()[..., column]
    differences = (value[scores.engines.index(a)] - value[scores.engines.index(b)]).tolist()
    named = zip(scores.queries, differences, strict=True)
    differing = sorted((-abs(each), query_id, each) for query_id, each in named if abs(each) > TIE)
    rows = tuple(
        DecidingQuery(query_id, difference, difference / n, queries[query_id].text)
        for _, query_id, difference in differing[:_MOST_DECIDING]
    )
    return DecidingQueries(measure, a, b, n, rows) if rows else None


def _average_rerank_scores(judgments: JudgmentColumns) -> dict[int, float]:
    """Return the relevance score of a reranker for each pair, the mean over the repeats."""
    rows = judgments.rows[~np.isnan(judgments.rows["score"])]
    scores: dict[int, list[float]] = {}
    for pair, score in rows[["pair", "score"]].tolist():
        scores.setdefault(pair, []).append(score)
    return {pair: fmean(values) for pair, values in scores.items()}


def _count_undefined(engines: Collection[EngineResult]) -> dict[str, int]:
    """Return, for each measure, on how many queries it is undefined (the most of any engine), where any."""
    names = dict.fromkeys(name for engine in engines for name in engine.measures)
    most = {name: max(engine.measures[name].undefined for engine in engines) for name in names}
    return {name: count for name, count in most.items() if count}


def draw_sample(keys: Iterable[PairKey], size: int) -> frozenset[PairKey]:
    """Return `size` of the keys at random, or all if there are fewer.

    The draw depends on the keys alone, and a larger sample holds every smaller one.
    """
    return frozenset(sorted(keys, key=lambda key: hashlib.sha256("\n".join(key).encode()).digest())[:size])
