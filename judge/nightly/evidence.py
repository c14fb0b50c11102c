"""The evidence of a night: this night's run, its queries and its canaries beside the baseline."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from judge.analysis.summary import Summary
from judge.completeness import advise_on_failed_pairs, describe_failures
from judge.config.nightly import NightlyConfig
from judge.dataset.stored_dataset import PooledDataset
from judge.errors import ASSESSOR_ERRORS, LimitReached
from judge.measure.columns import tabulate_results
from judge.measure.engine_summary import compute_no_snippet_shares
from judge.messages import Message, NameList
from judge.nightly import dataset_changes, regression_test
from judge.nightly.assessor_drift import CanaryCheck
from judge.nightly.baseline import Baseline, list_served_models, make_set_command
from judge.nightly.context import NightContext, find_engine_setting_changes
from judge.nightly.decision import Evidence
from judge.nightly.stores import JudgedNight
from judge.run_identity import choose_store_path
from judge.runs.run_result import RunResult


def find_missing_texts(context: NightContext, pooled: PooledDataset) -> list[str]:
    """Return a sentence for each engine with too few texts tonight for the night to be judged."""
    results = tabulate_results(pooled.dataset.rankings, context.config.depth)
    shares = compute_no_snippet_shares(results)
    baseline = context.baseline.engines if context.baseline else {}
    return [
        *dataset_changes.find_without_text(
            shares,
            baseline,
            context.options.max_empty_snippets,
            context.folder.path if context.is_collected else None,
        )
    ]


def gather_evidence(context: NightContext, judged_night: JudgedNight) -> Evidence:
    """Return all evidence of the night: of what it judged, and of the comparison with the baseline."""
    baseline, run, canaries = context.baseline, judged_night.run, judged_night.canaries
    missing = list(judged_night.missing)
    if missing:
        missing[-1] = Message(
            "{reason}; to continue this night: {command}", reason=missing[-1], command=context.command
        )
    later_models = _find_later_models(judged_night, baseline) if run else []
    evidence = Evidence(
        has_baseline=baseline is not None,
        command=context.command,
        assessor_changes=[*judged_night.early_changes, *later_models],
        missing=missing,
        engine_setting_changes=find_engine_setting_changes(context, baseline) if baseline else [],
        unavailable=_find_unavailable_engines(context, run) if run else {},
        are_settings_changed=bool(judged_night.setting_changes),
        is_stopped=run is None and not judged_night.missing,
    )
    is_mixed = is_suspect = False
    if run and baseline:
        # The reasons of canaries that drifted have the new names that they showed.
        if not later_models and not (canaries and canaries.results.drift):
            new_models = _find_new_models(run.summary, baseline, canaries, context.options)
            evidence = replace(evidence, assessor_changes=[*evidence.assessor_changes, *new_models])
        evidence = _compare(evidence, context, run, baseline)
        is_mixed = bool(evidence.assessor_changes) and judged_night.quarantined_store is None
        # No canary shows that the verdicts are of two assessors.
        is_suspect = is_mixed and not later_models and bool(canaries and canaries.compares_with_baseline)
    return replace(
        evidence,
        to_accept=_advise_on_acceptance(context, judged_night, evidence.unavailable, is_mixed=is_mixed),
        suspect_store=str(choose_store_path(context.config)) if is_suspect else "",
    )


def _compare(evidence: Evidence, context: NightContext, run: RunResult, baseline: Baseline) -> Evidence:
    """Return the evidence with what the runs of the night and of the baseline show beside each other.

    Where the names of models are the same, the pairs that both judged can show another assessor. Then engines
    that dropped by more than this explains are possible drops.
    """
    options, to_accept = context.options, make_set_command(context.folder.path)
    drift = dataset_changes.measure_query_drift(run, baseline.run)
    same_texts = dataset_changes.count_same_texts(run.dataset.queries, baseline.run.dataset.queries)
    query_changes = tuple(
        dataset_changes.find_query_changes(drift, same_texts, options.min_shared, to_accept)
    )
    removed_engines = dataset_changes.find_removed_engines(
        run.summary.engines, baseline.engines, context.command, to_accept, is_collected=context.is_collected
    )
    evidence = replace(
        evidence, query_drift=drift, query_changes=query_changes, removed_engines=tuple(removed_engines)
    )
    has_same_depth = context.config.depth == baseline.run.pool.depth
    if not has_same_depth or query_changes or evidence.are_settings_changed:
        return replace(evidence, remarks=tuple(dataset_changes.describe_coverage(drift, is_compared=False)))
    combined = regression_test.combine_with_baseline(run, baseline.run, context.measures)
    shift = combined.shift
    if shift and shift.p < options.canary_alpha and not evidence.assessor_changes:
        change = Message(
            "pairs that both runs judged were {change} (by {grades:.2f} grades), p = {p:.2g}",
            change=shift.change,
            grades=abs(shift.by),
            p=shift.p,
        )
        evidence = replace(evidence, assessor_changes=[change])
    if evidence.missing or evidence.engine_setting_changes:
        return evidence
    outcomes = regression_test.run_regression_test(combined, evidence.unavailable, options)
    if evidence.assessor_changes:
        drops = regression_test.find_possible_drops(
            run, baseline.run, outcomes, evidence.unavailable, options
        )
        return replace(evidence, possible_drops=tuple(drops))
    remarks = (
        dataset_changes.describe_query_drift(drift),
        regression_test.describe_comparison(combined, outcomes, options),
    )
    return replace(evidence, outcomes=outcomes, remarks=tuple(chain(*remarks)))


def _advise_on_acceptance(
    context: NightContext, judged_night: JudgedNight, unavailable: Collection[str], *, is_mixed: bool
) -> str:
    """Return the command that makes the night the baseline, or what to do where it cannot be it.

    It cannot where its verdicts are mixed: they can be of two assessors.
    """
    command = make_set_command(context.folder.path)
    if judged_night.run is None:  # so nothing is judged that could be the baseline
        again = Message(
            'set judge_on_drift = "all" in [nightly], run {again}, then {command}',
            again=context.command,
            command=command,
        )
        return "" if judged_night.missing else again
    if not is_mixed:
        first = Message(
            "run {again} until no judgment or answer is missing, then {command}",
            again=context.command,
            command=command,
        )
        return first if unavailable or judged_night.missing else command
    if judged_night.canaries:
        return Message("make the next night the baseline")
    return Message(
        "set canary_repeats = 2 or more in [nightly], and make the second night from then on the baseline"
    )


def _find_later_models(judged_night: JudgedNight, baseline: Baseline | None) -> list[str]:
    """Return a sentence when models graded tonight whose names are new since the canaries."""
    at_canaries = list_served_models(*(judged_night.canaries.summaries if judged_night.canaries else ()))
    later = {*judged_night.served} - at_canaries - {*(baseline.reference.served if baseline else ())}
    if not later or not at_canaries:
        return []
    change = Message(
        "the served model changed after the canaries: the server names {now} in later replies, {before} in"
        " those to the canaries",
        now=NameList(sorted(later)),
        before=NameList(sorted(at_canaries)),
    )
    return [change if baseline else Message("{reason}; make the next night the baseline", reason=change)]


def _find_new_models(
    summary: Summary, baseline: Baseline, canaries: CanaryCheck | None, options: NightlyConfig
) -> list[str]:
    """Return a sentence when models graded tonight whose names are not in the baseline."""
    served = baseline.reference.served
    new = list_served_models(summary).difference(served)
    if canaries:
        new = frozenset(name for name in new if not options.accepts(name))
    if not new or not served:
        return []
    names = NameList(sorted(new))
    return [Message("a model graded tonight that is not in the baseline: {names}", names=names)]


def collect_remarks(context: NightContext, judged_night: JudgedNight, evidence: Evidence) -> Iterator[str]:
    """Yield the remarks besides the reasons of the decision."""
    run, canaries = judged_night.run, judged_night.canaries
    if run:  # the reasons say why engines are unavailable
        engines = {
            name: engine for name, engine in run.summary.engines.items() if name not in evidence.unavailable
        }
        baseline = context.baseline.engines if context.baseline else {}
        yield from dataset_changes.describe_missing_answers(engines, baseline, _find_frequent_errors(run))
    yield from evidence.remarks
    if evidence.query_drift and evidence.suspended:
        yield Message("the regression test was not run, so this night reports no regression")
    if canaries is None and any(row.outcome == "regression" for row in evidence.outcomes):
        yield Message(
            "canaries are off (canary_repeats = 0), so an assessor that changed cannot be distinguished from"
            " an engine that became worse"
        )
    if canaries and canaries.tonight.grades and context.baseline and not canaries.compares_with_baseline:
        yield Message(
            "no canary has a grade both tonight and at the baseline, so only the served model name, and pairs"
            " that both runs judged, can show assessor drift"
        )
    if canaries and canaries.accepted:
        yield Message(
            "the server calls its model {names} now, which accept_names allows: no canary shows another"
            " assessor",
            names=NameList(canaries.accepted),
        )
    if judged_night.quarantined_store:
        yield Message(
            "the verdicts of this assessor are quarantined in {store} until a baseline is set",
            store=judged_night.quarantined_store,
        )
    yield from context.collection.remarks
    # The nights of a baseline have the same short lists; they are named once.
    baseline_lists = context.baseline.collection.short_lists if context.baseline else {}
    yield from (
        text for engine, text in context.collection.short_lists.items() if engine not in baseline_lists
    )
    yield from run.warnings if run else ()


def _find_frequent_errors(run: RunResult) -> dict[str, str]:
    """Return the most frequent error of each engine that has one."""
    counts: dict[str, Counter[str]] = {}
    for ranking in run.dataset.rankings:
        if ranking.error:
            counts.setdefault(ranking.engine, Counter())[ranking.error] += 1
    return {engine: max(sorted(errors), key=errors.__getitem__) for engine, errors in counts.items()}


def _find_unavailable_engines(context: NightContext, run: RunResult) -> Mapping[str, str]:
    """Return a sentence for each engine that lacks answers; the last one ends with what to do."""
    errors, engines = _find_frequent_errors(run), run.summary.engines
    baseline = context.baseline.engines if context.baseline else None
    unavailable = dataset_changes.find_unavailable(engines, baseline, context.options.max_missing, errors)
    if not unavailable:
        return {}
    last = [*unavailable][-1]
    step = Message(
        "{reason}; correct the dataset, then: {command}"
        if not context.is_collected
        else "{reason}; to request the failed queries again: {command}"
        if any(not errors[name].startswith("unreadable") for name in unavailable.keys() & errors.keys())
        else "{reason}; correct the settings of the engine, or remove {folder} to request all results again,"
        " then: {command}",
        reason=unavailable[last],
        folder=context.folder.path,
        command=context.command,
    )
    return {**unavailable, last: step}


def explain_unanswered_canaries(canaries: CanaryCheck | None, options: NightlyConfig) -> Iterator[str]:
    """Yield why the run cannot begin: the assessor does not answer the canaries, or a limit is reached."""
    if canaries is None or canaries.tonight.is_available(options):
        return
    incomplete, grades = canaries.last.incomplete, canaries.tonight
    if isinstance(incomplete, LimitReached):  # the next start judges all canaries again
        yield Message(
            "max_calls or budget in {file} is too small for the canaries ({grades.judged:,} of"
            " {grades.requested:,} judged); raise it, or lower canary_repeats in [nightly]",
            file=options.source.file,
            grades=grades,
        )
    else:
        # Replies without a verdict are answers.
        failures = [
            judgment
            for judgment in canaries.last.judgments
            if judgment.grade is None and judgment.error not in ASSESSOR_ERRORS
        ]
        too_many = Message(
            "more than max_missing {most:.0%} of the requests failed{failures}; {advice}",
            most=options.max_missing,
            failures=describe_failures(failures, grades.requested),
            advice=advise_on_failed_pairs(failures, "canaries"),
        )
        why = incomplete.message if incomplete else too_many
        yield Message("the assessor did not answer the canaries: {why}", why=why)


def explain_unjudged_pairs(
    run: RunResult, canaries: CanaryCheck | None, options: NightlyConfig
) -> Iterator[str]:
    """Yield why the run of a night is incomplete, and which part of a limit each start spends on canaries."""
    if run.incomplete is None:
        return
    canary_calls = canaries.last.calls_made if canaries else 0
    if not canary_calls or not isinstance(run.incomplete, LimitReached):
        yield run.incomplete.message
    elif run.calls_made == canary_calls:
        yield Message(
            "max_calls or budget in {file} covers the canaries alone, which each start judges again; raise"
            " it, or lower canary_repeats in [nightly]",
            file=options.source.file,
        )
    else:
        yield Message(
            "{reason}; each start judges the canaries again, with {calls:,} calls",
            reason=run.incomplete.message,
            calls=canary_calls,
        )
