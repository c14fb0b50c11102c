"""The evidence of a night: this night's run, its queries and its canaries beside the baseline."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from judge.analysis.combine_runs import CombinedRuns
from judge.analysis.judged_run import JudgedRun
from judge.analysis.summary import Summary
from judge.completeness import advise_on_failed_pairs, describe_failures
from judge.config.nightly import NightlyConfig
from judge.dataset.stored_dataset import PooledDataset
from judge.errors import ASSESSOR_ERRORS, LimitReached
from judge.measure.columns import tabulate_results
from judge.measure.engine_summary import compute_no_snippet_shares
from judge.messages import Message, NameList
from judge.nightly import regression_test
from judge.nightly.assessor_drift import CanaryCheck
from judge.nightly.baseline import Baseline, list_served_models, make_set_command
from judge.nightly.context import NightContext, find_engine_setting_changes
from judge.nightly.decision import Evidence
from judge.nightly.engine_changes import (
    describe_new_empty_lists,
    describe_unanswered_queries,
    find_dropped,
    find_missing_answers,
    find_query_changes,
    find_unavailable,
    find_without_text,
)
from judge.nightly.possible_drops import find_possible_drops
from judge.nightly.query_drift import describe_coverage, describe_query_drift, measure_query_drift
from judge.nightly.stores import JudgedNight
from judge.run_identity import choose_store_path
from judge.runs.run_result import RunResult


def find_missing_texts(context: NightContext, pooled: PooledDataset) -> list[str]:
    """Return a sentence for each engine with too few texts tonight for the night to be judged."""
    results = tabulate_results(pooled.dataset.rankings, context.config.depth)
    shares = compute_no_snippet_shares(results)
    baseline = context.baseline.engines if context.baseline else {}
    return [
        *find_without_text(
            shares, baseline, context.rules.max_empty_snippets, is_collected=context.is_collected
        )
    ]


def gather_evidence(context: NightContext, judged_night: JudgedNight) -> Evidence:
    """Return all evidence of the night: of what it judged, and of the comparison with the baseline."""
    baseline, command = context.baseline, make_set_command(context.folder.path)
    evidence = Evidence(
        has_baseline=baseline is not None,
        to_accept=command,
        are_settings_changed=bool(judged_night.setting_changes),
        assessor_changes=judged_night.early_changes,
        missing=_add_command(judged_night.missing, context),
        command=context.command,
        engine_setting_changes=find_engine_setting_changes(context, baseline) if baseline else (),
    )
    if judged_night.run is None:  # so nothing is judged that could be the baseline
        again = Message(
            'set judge_on_drift = "all" in [nightly], run {again}, then {command}',
            again=context.command,
            command=command,
        )
        is_stopped = not judged_night.missing
        return replace(evidence, is_stopped=is_stopped, to_accept=again if is_stopped else "")
    evidence = replace(evidence, unavailable=_find_unavailable_engines(context, judged_night.run))
    if baseline:
        return _compare(context, judged_night, judged_night.run, baseline, evidence)
    later_models = _find_later_models(judged_night, None)
    changes = [Message("{reason}; make the next night the baseline", reason=text) for text in later_models]
    return replace(evidence, assessor_changes=[*judged_night.early_changes, *changes])


def _add_command(missing: Sequence[str], context: NightContext) -> Sequence[str]:
    """Return why judgments are missing; the last reason ends with the command that continues the night."""
    if not missing:
        return ()
    *others, last = missing
    message = Message("{reason}; to continue this night: {command}", reason=last, command=context.command)
    return (*others, message)


def _compare(
    context: NightContext, judged_night: JudgedNight, run: RunResult, baseline: Baseline, evidence: Evidence
) -> Evidence:
    """Return the evidence with all that differs between the run of the night and the baseline.

    The names of models and, where they are the same, the pairs that both runs judged show another assessor.
    """
    rules, canaries, command = context.rules, judged_night.canaries, evidence.to_accept
    query_drift = measure_query_drift(run, baseline.run)
    query_changes = tuple(find_query_changes(query_drift, rules, command))
    later_models = _find_later_models(judged_night, baseline)
    new_models = later_models or _find_new_models(run.summary, baseline, canaries, rules)
    changes = [*judged_night.early_changes, *new_models]
    combined, shift = None, None
    if context.config.depth == baseline.run.pool.depth and not (
        query_changes or judged_night.setting_changes
    ):
        combined = regression_test.combine_with_baseline(run, baseline.run, context.measures)
        shift = combined.shift if combined.shift and combined.shift.p < rules.canary_alpha else None
    if shift and not changes:
        changes.append(
            Message(
                "pairs that both runs judged were {change} (by {grades:.2f} grades), p = {p:.2g}",
                change=shift.change,
                grades=abs(shift.by),
                p=shift.p,
            )
        )
    to_accept, suspect_store = command, ""
    if changes and judged_night.quarantined_store is None:  # its verdicts can be of two assessors
        to_accept = _advise_on_two_assessors(canaries)
        if canaries and canaries.compares_with_baseline and not later_models:
            suspect_store = str(choose_store_path(context.config))
    dropped = find_dropped(
        run.summary.engines, baseline.engines, context.command, command, is_collected=context.is_collected
    )
    evidence = replace(
        evidence,
        to_accept=to_accept,
        assessor_changes=changes,
        query_changes=query_changes,
        dropped=tuple(dropped),
        query_drift=query_drift,
        suspect_store=suspect_store,
    )
    if combined is None:
        return replace(evidence, remarks=tuple(describe_coverage(query_drift, is_compared=False)))
    return _test(context, combined, (run, baseline.run), evidence)


def _advise_on_two_assessors(canaries: CanaryCheck | None) -> Message:
    """Return which night can be the baseline instead of one whose verdicts can be of two assessors."""
    if canaries:
        return Message("make the next night the baseline")
    return Message(
        "set canary_repeats = 2 or more in [nightly], and make the second night from then on the baseline"
    )


def _test(
    context: NightContext, combined: CombinedRuns, runs: tuple[JudgedRun, JudgedRun], evidence: Evidence
) -> Evidence:
    """Return the evidence with the regression test of both nights, or with possible drops after drift.

    `runs` are that of tonight and that of the baseline.
    """
    if evidence.missing or evidence.engine_setting_changes:
        return evidence
    unavailable = evidence.unavailable.keys()
    outcomes = regression_test.run_regression_test(combined, unavailable, context.rules)
    if evidence.assessor_changes:
        drops = find_possible_drops(*runs, outcomes, unavailable, context.rules)
        return replace(evidence, possible_drops=tuple(drops))
    remarks = (
        *(describe_query_drift(evidence.query_drift) if evidence.query_drift else ()),
        *regression_test.describe_comparison(combined, outcomes, context.rules),
    )
    return replace(evidence, outcomes=outcomes, remarks=remarks)


def _find_later_models(judged_night: JudgedNight, baseline: Baseline | None) -> list[str]:
    """Return a sentence when models graded tonight whose names are new since the canaries."""
    summaries = judged_night.canaries.summaries if judged_night.canaries else ()
    at_canaries = frozenset[str]().union(*map(list_served_models, summaries))
    later = {*judged_night.served} - at_canaries - {*(baseline.reference.served if baseline else ())}
    if not later or not at_canaries:
        return []
    return [
        Message(
            "the served model changed after the canaries: the server names {now} in later replies, {before}"
            " in those to the canaries",
            now=NameList(sorted(later)),
            before=NameList(sorted(at_canaries)),
        )
    ]


def _find_new_models(
    summary: Summary, baseline: Baseline, canaries: CanaryCheck | None, rules: NightlyConfig
) -> list[str]:
    """Return a sentence when models graded tonight whose names are not in the baseline."""
    served = baseline.reference.served
    new = list_served_models(summary).difference(served)
    if canaries and not canaries.results.drift:
        new = frozenset(name for name in new if not rules.accepts(name))
    if not new or not served:
        return []
    names = NameList(sorted(new))
    return [Message("a model graded tonight that is not in the baseline: {names}", names=names)]


def collect_remarks(
    context: NightContext, judged_night: JudgedNight, evidence: Evidence, unused_verdicts: Iterable[str]
) -> Iterator[str]:
    """Yield what a reader must know besides the reasons of the decision."""
    run, canaries = judged_night.run, judged_night.canaries
    if run:  # the reasons say why engines are unavailable
        engines = {
            name: engine for name, engine in run.summary.engines.items() if name not in evidence.unavailable
        }
        yield from describe_unanswered_queries(engines, _find_frequent_errors(run))
        if context.baseline:
            yield from describe_new_empty_lists(engines, context.baseline.engines)
    yield from unused_verdicts
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
    known = context.baseline.collection.short_lists if context.baseline else {}
    yield from (text for engine, text in context.collection.short_lists.items() if engine not in known)
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
    errors, engines, most = _find_frequent_errors(run), run.summary.engines, context.rules.max_missing
    if context.baseline:
        unavailable = find_unavailable(engines, context.baseline.engines, most, errors)
    else:
        unavailable = find_missing_answers(engines, most, errors)
    if not unavailable:
        return {}
    last = [*unavailable][-1]
    step = Message(
        "{reason}; correct the dataset, then: {command}"
        if not context.is_collected
        else "{reason}; to request the failed queries again: {command}"
        if unavailable.keys() & errors.keys()
        else "{reason}; check the settings of the engine, then: {command}",
        reason=unavailable[last],
        command=context.command,
    )
    return {**unavailable, last: step}


def explain_unanswered_canaries(canaries: CanaryCheck | None, rules: NightlyConfig) -> Iterator[str]:
    """Yield why the run cannot begin: the assessor does not answer the canaries, or a limit is reached."""
    if canaries is None or canaries.tonight.is_available(rules):
        return
    incomplete, grades = canaries.last.incomplete, canaries.tonight
    if isinstance(incomplete, LimitReached):  # the next start judges all canaries again
        yield Message(
            "max_calls or budget in {file} is too small for the canaries ({grades.judged:,} of"
            " {grades.requested:,} judged): raise it, or lower canary_repeats in [nightly]",
            file=rules.source.file,
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
            most=rules.max_missing,
            failures=describe_failures(failures, grades.requested),
            advice=advise_on_failed_pairs(failures, "canaries"),
        )
        why = incomplete.message if incomplete else too_many
        yield Message("the assessor did not answer the canaries: {why}", why=why)


def explain_unjudged_pairs(
    run: RunResult, canaries: CanaryCheck | None, rules: NightlyConfig
) -> Iterator[str]:
    """Yield why the run of a night is incomplete, and which part of a limit each start spends on canaries."""
    if run.incomplete is None:
        return
    canary_calls = canaries.last.calls_made if canaries else 0
    if not canary_calls or not isinstance(run.incomplete, LimitReached):
        yield run.incomplete.message
    elif run.calls_made == canary_calls:
        yield Message(
            "max_calls or budget in {file} covers the canaries alone, which each start judges again: raise"
            " it, or lower canary_repeats in [nightly]",
            file=rules.source.file,
        )
    else:
        yield Message(
            "{reason}; each start judges the canaries again, with {calls:,} calls",
            reason=run.incomplete.message,
            calls=canary_calls,
        )
