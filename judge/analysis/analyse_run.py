"""The summary of a judged run. The analysis is pure: the same run gives the same summary."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.analysis.dimension_summary import average_values
from judge.analysis.judged_run import JudgedRun, RunSpec, fingerprint_grades, score_run
from judge.analysis.shared_vendors import find_shared_vendors
from judge.analysis.summary import SCHEMA_VERSION, Controls, DecidingQueries, DecidingQuery, Summary
from judge.characters import make_natural_key
from judge.flags import EMPTY_SNIPPET, LABEL
from judge.injection.patterns import INJECTION_FLAGS
from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.compare import PairComparison, compare_engines
from judge.measure.engine_summary import EngineSummary, summarise_engines
from judge.measure.grading_models import (
    SERVED_MODEL_COLUMN,
    count_served_models,
    find_grading_models,
    measure_panel_agreement,
)
from judge.measure.measures import Measure
from judge.measure.numeric import TIE, convert_non_finite
from judge.measure.score import Scores, score_columns, score_ideal_order
from judge.measure.segments import compare_segments
from judge.measure.sensitivity import check_own_lists, list_needed_measures, measure_flagged_sensitivity
from judge.measure.stability import measure_stability
from judge.messages import Message
from judge.records import Judgment, Query

#: The most queries that `DecidingQueries` has.
_MAX_DECIDING = 10


@dataclass(frozen=True, slots=True)
class RunAnalysis:
    """The scores of a run, and its summary."""

    scores: Scores
    summary: Summary


def analyse_run(run: JudgedRun, engine_pairs: Collection[frozenset[str]] | None = None) -> RunAnalysis:
    """Return the analysis of a run; `engine_pairs` are those to compare, None for all."""
    data, pool, spec = run.dataset, run.pool, run.spec
    measures = tuple(dict.fromkeys((*spec.measures, *list_needed_measures(spec.measures, pool.depth))))
    results, columns = run.tabulate()
    with_own_lists = score_columns(results, columns, measures, spec.scale)
    scores = with_own_lists.select(measures=spec.measures)
    comparisons = compare_engines(scores, engine_pairs)
    models = {SERVED_MODEL_COLUMN: find_grading_models(results, columns)}
    judged = int(columns.rows["is_graded"].sum())
    assessed = (judgment for judgment in run.judgments if LABEL not in judgment.flags)
    all_judgments = len(pool.pairs) * spec.repeats
    results_by_engine = summarise_engines(scores, results, columns.average_scores(len(results.snippet_ids)))
    # Engines with equal means are shown in this order.
    engines = {name: results_by_engine[name] for name in sorted(results_by_engine, key=make_natural_key)}
    flagged = results.mark_flags(INJECTION_FLAGS)
    flagged_counts = zip(results.engines, flagged.sum((1, 2)).tolist(), strict=True)

    def rescore(judgments: Sequence[Judgment]) -> Scores:
        return score_run(replace(run, judgments=judgments), spec.measures)

    summary = Summary(
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
        judgments=all_judgments,
        judged=judged,
        grades=fingerprint_grades(results, columns, spec.scale),
        coverage=judged / all_judgments if all_judgments else 1.0,
        served=count_served_models(results, columns, spec.scale),
        failures=columns.count_errors(),
        empty_snippets=int(results.mark_flags({EMPTY_SNIPPET}).sum()),
        flagged={engine: count for engine, count in flagged_counts if count},
        selftest=dict(spec.selftest),
        remarks=tuple(data.warnings),
        measures=tuple(map(str, spec.measures)),
        notes=dict(_describe_measures(spec.measures, int(results.returned.max(initial=0)))),
        undefined=_count_undefined(engines.values()),
        engines=engines,
        comparisons=comparisons,
        own_list_reversal=check_own_lists(with_own_lists, pool.depth, comparisons),
        segments=compare_segments(scores, data.queries, engine_pairs, models),
        stability=measure_stability(scores, assessed, spec.scale),
        panel=measure_panel_agreement(run.members, spec.scale, rescore) if run.members else None,
        self_preference=find_shared_vendors(run.members or [spec.assessor], data.engines),
        flagged_sensitivity=measure_flagged_sensitivity(
            scores, results, columns, spec.scale, flagged, engine_pairs
        ),
        deciding_queries=list_deciding_queries(scores, comparisons, data.queries),
        cost=spec.cost,
        labels=spec.labels,
        stopped=spec.stopped,
        controls=_add_ideal_means(spec, results, columns, scores.largest),
        near_duplicates=len(set(columns.rows["pair"][columns.rows["is_near_duplicate"]].tolist())),
        dimensions={name: dimension.summary for name, dimension in run.dimensions.items()},
    )
    return RunAnalysis(scores, summary)


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
        name: average_values(map(convert_non_finite, of_queries), largest=limits[name])
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
    by_query = zip(scores.queries, differences, strict=True)
    differing = sorted(
        (-abs(difference), query_id, difference) for query_id, difference in by_query if abs(difference) > TIE
    )
    rows = tuple(
        DecidingQuery(query_id, difference, difference / n, queries[query_id].text)
        for _, query_id, difference in differing[:_MAX_DECIDING]
    )
    return DecidingQueries(measure, a, b, n, rows) if rows else None


def _describe_measures(measures: Iterable[Measure], longest: int) -> Iterator[tuple[str, str]]:
    """Yield the notes on measures by name; `longest` is the length of the longest list."""
    for measure in measures:
        if measure.note:
            yield str(measure), measure.note
        elif measure.kind.divisor == "cutoff" and 0 < longest < measure.choose_cutoff(longest):
            note = Message(
                "no list goes below rank {longest:,}; missing results count as not relevant",
                longest=longest,
            )
            yield str(measure), note


def _count_undefined(engines: Collection[EngineSummary]) -> dict[str, int]:
    """Return, for each measure, on how many queries it is undefined (the most of any engine), where any."""
    names = dict.fromkeys(name for engine in engines for name in engine.measures)
    counts = {name: max(engine.measures[name].undefined for engine in engines) for name in names}
    return {name: count for name, count in counts.items() if count}
