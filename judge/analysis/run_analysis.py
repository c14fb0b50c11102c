"""Analyse a judged run: score it, compare its engines, and build its `Summary`. Pure and repeatable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from judge.analysis.loaded_run import LoadedRun, fingerprint_grades
from judge.analysis.summary import (
    SCHEMA_VERSION,
    DecidingQueries,
    DecidingQuery,
    EngineResult,
    EngineStability,
    FlaggedEffect,
    FlaggedMeans,
    FlaggedWinners,
    Interval,
    MeasureMean,
    MeasureStability,
    OwnListReversal,
    PairComparison,
    PanelResult,
    RepeatStability,
    SegmentContrast,
    SegmentMean,
    SegmentResult,
    ServedModelGrades,
    StatisticValue,
    Summary,
)
from judge.dataset.injection import INJECTION_FLAGS, flagged_pairs
from judge.measure import engine_summary
from judge.measure.bias import find_shared_vendors
from judge.measure.compare import Comparison, compare_engines, find_largest_contributions
from judge.measure.engine_summary import EngineSummary, Mean, summarise_engines
from judge.measure.measures import Measure
from judge.measure.panel_agreement import PanelAgreement, measure_panel_agreement
from judge.measure.resampling import IntervalEstimate
from judge.measure.score import Scores, score_rankings
from judge.measure.segments import Segment, compare_segments
from judge.measure.sensitivity import (
    TREATMENTS,
    FlaggedSensitivity,
    OwnListCheck,
    ScoringInput,
    check_own_lists,
    list_needed_measures,
    measure_flagged_sensitivity,
)
from judge.measure.served_models import SERVED_MODEL_COLUMN, count_served_models, find_grading_models
from judge.measure.simultaneous import MIN_DIFFERING
from judge.measure.stability import EQUIVALENCE_MARGIN, MeasureRepeats, Stability, measure_stability
from judge.messages import ENGLISH, Translator, round_count
from judge.records import LABEL, Dataset, Judgment, Query, Ranking


def score_run(run: LoadedRun, measures: Sequence[Measure]) -> Scores:
    """Return the scores of a run by `measures`."""
    return score_rankings(
        run.data.rankings, run.pool.documents, run.judgments, measures, run.spec.scale, depth=run.pool.depth
    )


def analyse(run: LoadedRun, among: Collection[frozenset[str]] | None = None) -> tuple[Scores, Summary]:
    """Return the scores of a run and its summary; `among` names the pairs of engines to compare, None all."""
    data, pool, spec = run.data, run.pool, run.spec

    def score_judgments(judgments: Sequence[Judgment]) -> Scores:
        return score_run(replace(run, judgments=tuple(judgments)), spec.measures)

    wanted = tuple(dict.fromkeys((*spec.measures, *list_needed_measures(spec.measures, pool.depth))))
    every = score_run(run, wanted)
    scores = every.select_measures(spec.measures)
    scored = ScoringInput(data.rankings, pool.documents, run.judgments, spec.scale, pool.depth)
    comparisons = compare_engines(scores, among)
    segments = compare_segments(
        scores, data.queries, among, {SERVED_MODEL_COLUMN: find_grading_models(run.judgments)}
    )
    panel = measure_panel_agreement(run.members, spec.scale, score_judgments) if run.members else None
    flagged = measure_flagged_sensitivity(scores, scored, flagged_pairs(data.rankings, pool.depth), among)
    judged = sum(judgment.grade is not None for judgment in run.judgments)
    assessed = [judgment for judgment in run.judgments if LABEL not in judgment.flags]
    wanted_judgments = len(pool.pairs) * spec.repeats
    engines = summarise_engines(scores)
    rerank_scores = average_scores(run.judgments)
    pooled_snippets = [snippet for ranking in data.rankings for snippet in ranking.snippets[: pool.depth]]
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
        grades=fingerprint_grades(run.judgments, spec.scale),
        coverage=judged / wanted_judgments if wanted_judgments else 1.0,
        served={
            model.model: ServedModelGrades(model.judgments, model.relevant, model.mean_grade, model.engines)
            for model in count_served_models(data.rankings, pool.documents, run.judgments, spec.scale)
        },
        failures=_count(judgment.error for judgment in run.judgments if judgment.error is not None),
        empty_snippets=sum("empty_snippet" in snippet.flags for snippet in pooled_snippets),
        flagged=_count_flagged(data.rankings, pool.depth),
        selftest=dict(spec.selftest),
        remarks=tuple(data.warnings),
        measures=tuple(map(str, spec.measures)),
        notes={str(measure): measure.note for measure in spec.measures if measure.note},
        undefined=_count_undefined(engines),
        engines={engine.engine: _engine(engine, data, pool.depth, rerank_scores) for engine in engines},
        comparisons=describe_comparisons(comparisons),
        own_list_reversal=describe_reversal(check_own_lists(every, pool.depth), comparisons),
        segments=describe_segments(segments),
        stability=describe_stability(measure_stability(scores, assessed, spec.scale)),
        panel=_panel(panel),
        self_preference=find_shared_vendors(run.members or [spec.assessor], data.engines),
        flagged_sensitivity=describe_flagged(flagged),
        deciding_queries=list_deciding_queries(scores, comparisons, data.queries),
        cost=spec.cost,
        labels=spec.labels,
        near_duplicates=len(
            {(each.query_id, each.snippet_id) for each in run.judgments if each.judged_snippet_id}
        ),
    )


def interval(low: float | None, high: float | None) -> Interval | None:
    """Return both ends of an interval, None where one is unknown."""
    return None if low is None or high is None else (low, high)


def statistic(estimate: IntervalEstimate) -> StatisticValue:
    """Return a statistic with its interval, and the reason where one is unknown."""
    return StatisticValue(estimate.value, interval(estimate.low, estimate.high), estimate.why or None)


def describe_comparisons(comparisons: Sequence[Comparison]) -> tuple[PairComparison, ...]:
    """Return the comparisons of a run; those by the measure of the first one decide."""
    return tuple(
        _comparison(comparison, comparison.measure == comparisons[0].measure) for comparison in comparisons
    )


def _comparison(comparison: Comparison, decides: bool) -> PairComparison:
    return PairComparison(
        measure=comparison.measure,
        decides=decides,
        a=comparison.a,
        b=comparison.b,
        verdict=describe_outcome(ENGLISH, comparison),
        winner=comparison.a if comparison.outcome == "better" else None,
        outcome=comparison.outcome,
        n=comparison.n,
        difference=comparison.difference,
        ci95=interval(comparison.low, comparison.high),
        bounds=interval(comparison.least, comparison.most),
        sd=comparison.sd,
        d_z=comparison.effect,
        wins=comparison.wins,
        ties=comparison.ties,
        losses=comparison.losses,
        robust=comparison.robust,
        p_adjusted=comparison.p_adjusted,
        detectable=comparison.detectable,
        detectable_doubled=comparison.detectable_doubled,
        at_least_queries=comparison.at_least_queries,
    )


def describe_outcome(t: Translator, comparison: Comparison | PairComparison) -> str:
    """Return the outcome of a comparison in words: `A > B`, or why no engine is named."""
    if comparison.outcome == "better":
        return f"{comparison.a} > {comparison.b}"
    if comparison.outcome == "undetermined":
        if not comparison.n:
            return t("undetermined: there is no query where both have a value")
        return t("undetermined: unjudged snippets could turn it")
    differing = comparison.wins + comparison.losses
    if differing < MIN_DIFFERING:
        return t(
            "not separated (they differ on {queries}; it takes {least} or more)",
            queries=t.plural("{count:,} query", "{count:,} queries", differing),
            least=MIN_DIFFERING,
        )
    if not comparison.sd:
        return t(
            "not separated (they differ by the same on every query, which gives no variance to test with)"
        )
    if comparison.at_least_queries is None:
        return t("not separated")
    return t(
        "not separated (that takes at least {count} queries with values for both)",
        count=round_count(comparison.at_least_queries),
    )


def describe_reversal(
    check: OwnListCheck | None, comparisons: Iterable[Comparison]
) -> OwnListReversal | None:
    """Return the reversal by own lists; it is significant when a comparison names the better engine."""
    if check is None:
        return None
    significant = any(
        (pair.measure, pair.outcome) == (check.measure, "better")
        and (pair.a, pair.b) == (check.better, check.worse)
        for pair in comparisons
    )
    return OwnListReversal(
        check.measure, check.own, check.better, check.worse, check.pooled, check.alone, check.relevant,
        check.n, significant,
    )  # fmt: skip


def describe_segments(segments: Iterable[Segment]) -> dict[str, dict[str, SegmentResult]]:
    """Return the segments by column and value."""
    columns: dict[str, dict[str, SegmentResult]] = {}
    for segment in segments:
        columns.setdefault(segment.column, {})[segment.value] = SegmentResult(
            queries=segment.queries,
            engines={
                engine.engine: {
                    name: SegmentMean(mean.mean, mean.interval, mean.n)
                    for name, mean in engine.measures.items()
                }
                for engine in segment.engines
            },
            comparisons=tuple(_comparison(comparison, decides=True) for comparison in segment.comparisons),
            contrasts=tuple(
                SegmentContrast(
                    contrast.a, contrast.b, contrast.inside, contrast.outside, contrast.difference,
                    interval(contrast.low, contrast.high), contrast.p_adjusted, contrast.differs,
                )
                for contrast in segment.contrasts
            ),
        )  # fmt: skip
    return columns


def describe_stability(repeats: Stability | None) -> RepeatStability | None:
    """Return how alike the repeats are; None with one repeat."""
    if repeats is None:
        return None
    return RepeatStability(
        repeats=repeats.repeats,
        pairs=repeats.pairs,
        flip_rate=statistic(repeats.flips),
        grade_change_rate=statistic(repeats.changes),
        ever_flipped=statistic(repeats.ever),
        alpha=statistic(repeats.alpha),
        fleiss_kappa=repeats.kappa,
        margin=EQUIVALENCE_MARGIN,
        measures={measure.measure: _measure_stability(measure) for measure in repeats.measures},
    )


def _measure_stability(measure: MeasureRepeats) -> MeasureStability:
    return MeasureStability(
        engines={
            engine.engine: EngineStability(
                engine.means, engine.mean, engine.sd, engine.spread, engine.icc, engine.p
            )
            for engine in measure.engines
        },
        largest_difference=measure.spread,
        smallest_tau=measure.tau,
        variance=measure.components,
        tost_p=measure.p,
        equivalent=measure.equivalent,
    )


def describe_flagged(sensitivity: FlaggedSensitivity | None) -> FlaggedEffect | None:
    """Return what flagged pairs do to the order of the engines; None where none is flagged."""
    if sensitivity is None:
        return None
    means, winners = sensitivity.means, sensitivity.winners
    return FlaggedEffect(
        measure=sensitivity.measure,
        pairs=sensitivity.pairs,
        engines={
            engine: FlaggedMeans(*(means[way][engine] for way in TREATMENTS))
            for engine in means[TREATMENTS[0]]
        },
        winners=FlaggedWinners(*(winners[way] for way in TREATMENTS)),
        swapped=sensitivity.swapped,
        order_changes=sensitivity.changes,
    )


def _panel(panel: PanelAgreement | None) -> PanelResult | None:
    if panel is None:
        return None
    return PanelResult(
        members=panel.members,
        pairs=panel.pairs,
        agreement=describe_stability(panel.agreement),
        responded=panel.responded,
        judged=panel.judged,
        split=panel.split,
        ties=panel.ties,
        deciding_ties=panel.deciding,
        ties_high=panel.ties_high,
    )


def list_deciding_queries(
    scores: Scores, comparisons: Sequence[Comparison], queries: Mapping[str, Query]
) -> DecidingQueries | None:
    """Return the queries with the largest differences of the first comparison; None where none differs."""
    contributions = find_largest_contributions(scores, comparisons[0]) if comparisons else ()
    if not contributions:
        return None
    pair = comparisons[0]
    rows = tuple(
        DecidingQuery(row.query_id, row.difference, row.contribution, queries[row.query_id].text)
        for row in contributions
    )
    return DecidingQueries(pair.measure, pair.a, pair.b, pair.n, rows)


def average_scores(judgments: Iterable[Judgment]) -> Mapping[tuple[str, str], float]:
    """Return the relevance score of a reranker for each pair, the mean over the repeats."""
    scores: dict[tuple[str, str], list[float]] = {}
    for judgment in judgments:
        if judgment.score is not None:
            scores.setdefault((judgment.query_id, judgment.snippet_id), []).append(judgment.score)
    return {key: fmean(values) for key, values in scores.items()}


def _engine(
    engine: EngineSummary, data: Dataset, depth: int, rerank_scores: Mapping[tuple[str, str], float]
) -> EngineResult:
    rankings = [ranking for ranking in data.rankings if ranking.engine == engine.engine]
    return EngineResult(
        queries=engine.queries,
        answered=engine.answered,
        empty=engine.empty,
        errors=engine.errors,
        absent=engine.absent,
        judged=engine.judged,
        duplicates=engine.duplicates,
        unique=engine.unique,
        measures={name: _mean(mean) for name, mean in engine.measures.items()},
        latency_ms=engine_summary.measure_latency(rankings),
        tokens=engine_summary.measure_tokens(rankings, depth),
        no_snippet_share=engine_summary.compute_no_snippet_share(rankings, depth),
        rerank_relevancy=engine_summary.measure_rerank_relevancy(rankings, rerank_scores, depth),
    )


def _mean(mean: Mean) -> MeasureMean:
    return MeasureMean(
        mean=mean.mean,
        n=mean.n,
        ci95=mean.interval,
        bounds=(mean.low, mean.high),
        undefined=mean.undefined,
        unknown=mean.unknown,
        paired=mean.paired,
        paired_n=mean.paired_n,
    )


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _count_undefined(engines: Iterable[EngineSummary]) -> dict[str, int]:
    """Return, for each measure, on how many queries it is undefined (the most of any engine), where any."""
    most: Counter[str] = Counter()
    for engine in engines:
        for name, mean in engine.measures.items():
            most[name] = max(most[name], mean.undefined)
    return {name: count for name, count in most.items() if count}


def _count_flagged(rankings: Iterable[Ranking], depth: int) -> Mapping[str, int]:
    """Return how many snippets of each engine, down to `depth`, may contain prompt injection."""
    return _count(
        ranking.engine
        for ranking in rankings
        for snippet in ranking.snippets[:depth]
        if not INJECTION_FLAGS.isdisjoint(snippet.flags)
    )
