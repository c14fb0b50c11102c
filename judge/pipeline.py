"""A run on one page: read, pool, assess, analyse, export. Data goes one way.

dataset ─► rankings ─► pool of pairs ─► judgments ─► scores, comparisons, stability ─► files, report
                                      │ assessing costs money; the rest is free and repeatable
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from judge import factory, run_identity
from judge.analysis.dimension_result import DimensionResult, DimensionSummary
from judge.analysis.loaded_run import LoadedRun, RunSpec
from judge.analysis.summary import PriceUsed, RunCost, Summary
from judge.assess import estimate as estimating
from judge.assess.progress import NullProgress, ProgressListener
from judge.assess.runner import JudgingResult, combine_results, judge_with_panel
from judge.cache import FileCache, cache_folder
from judge.characters import estimate_tokens
from judge.client.cancel import CancelToken
from judge.config.run import Config
from judge.dataset.near_duplicates import NearDuplicates, find_near_duplicates
from judge.dimensions import (
    DIMENSIONS,
    DimensionOptions,
    forecast_questions,
    measure_dimensions,
    side_by_side,
)
from judge.dimensions.controls import draw_mismatched_pairs
from judge.dimensions.side_by_side import ListComparison
from judge.errors import InputError, RunIncomplete
from judge.finished_run import export_run, measure_run
from judge.measure.panel_agreement import as_assessor
from judge.messages import Message
from judge.pricing.cost import Cost, add_costs
from judge.pricing.prices import Price, common_price
from judge.records import Judgment
from judge.runs import export
from judge.runs.folder import RunFolder, reading_run
from judge.runs.load import load_run
from judge.runs.result import RunResult
from judge.selftest import selftest_run, stored_results
from judge.store.store import VerdictStore


@dataclass(frozen=True, slots=True)
class RunForecast:
    """What a run would need now: its results, pairs and repeats, and an estimate for each assessor.

    `dimensions` are the estimates of those that ask the first model.
    """

    results: int
    pairs: int
    repeats: int
    remarks: tuple[str, ...]
    assessors: Mapping[str, estimating.RunEstimate]
    dimensions: Mapping[str, estimating.QuestionEstimate] = field(default_factory=dict)


def run(
    config: Config,
    *,
    rows: factory.DatasetRows | None = None,
    progress: ProgressListener | None = None,
    cancel_token: CancelToken | None = None,
) -> RunResult:
    """Judge a dataset, score its engines and write the run's folder.

    `cancel_token` lets another thread cancel the judging. Raises InputError before anything is paid,
    StoreError when verdicts cannot be saved, Interrupted after Ctrl-C. A `RunResult` has `incomplete` set
    when the account, the budget or the server ended the judging, or too few pairs could be judged.
    """
    measures = factory.choose_measures(config)
    if config.out:
        RunFolder(Path(config.out)).check_free()  # before a large dataset is read in vain
    pooled = factory.load_pooled_dataset(config, rows)
    dataset, pairs = pooled.dataset, pooled.pool
    labels = factory.load_labels(config, dataset, pairs)
    assessors = factory.build_assessors(config)
    clients = factory.build_clients(config, assessors, cancel_token or CancelToken())
    apis = factory.open_batch_apis(config, assessors)
    folder, identity = run_identity.open_run_folder(config, pooled, assessors, labels)
    with folder.locked():
        run_identity.create_or_resume(folder, config, identity)
        unlabelled = labels.select_unlabelled(pairs) if labels else pairs
        near_duplicates = find_near_duplicates(unlabelled) if config.near_duplicates else NearDuplicates({})
        mismatched = draw_mismatched_pairs(dataset, pairs, config.control_pairs if config.controls else 0)
        with_controls = mismatched.add_to(unlabelled)
        to_judge = near_duplicates.select_judged(with_controls)
        store_file = run_identity.store_path(config, folder)
        identities = selftest_run.identify_assessors(assessors, config)
        selftests = stored_results.look_up_results(store_file, identities)
        with VerdictStore(store_file) as store:
            judgings = asyncio.run(
                judge_with_panel(to_judge, clients, store, config.repeats, progress or NullProgress(), apis)
            )
        grades = labels.grades if labels else {}
        by_assessor = {
            assessor.name: near_duplicates.add_to(assessor.regrade(judging.judgments, grades), with_controls)
            for assessor, judging in zip(assessors, judgings, strict=True)
        }
        remarks = (remark for assessor in assessors for remark in assessor.remarks)
        dataset = replace(dataset, warnings=(*dataset.warnings, *remarks))
        judging = combine_results(judgings)
        assessor, judgments, members = as_assessor(by_assessor)
        price = common_price(client.limits.price for _, client in clients)
        cost = _cost(judging.cost, price)
        spec = RunSpec(assessor, config.grading, config.repeats, measures, cost, selftests)
        if config.controls:
            controls = mismatched.summarise(judgments, config.grading, config.max_false_positives)
            spec = replace(spec, controls=controls)
            judgments = mismatched.remove_from(judgments)
            members = {name: mismatched.remove_from(own) for name, own in members.items()}
        if labels:
            spec = replace(spec, labels=labels.summarise(judgments, config.grading))
            judgments = labels.add_to(judgments, pairs, config.repeats)
            members = labels.remove_from(members)
        loaded = LoadedRun(dataset, pairs, judgments, spec, members)
        export.write_judgments(folder, loaded)
        names = [name for name in DIMENSIONS if getattr(config, name)]
        options = DimensionOptions(config.explain_queries, config.costs)
        stopped, questions = judging.stopped, dict[str, list[Judgment]]()
        if stopped or not any(DIMENSIONS[name].asks for name in names):
            dimensions = measure_dimensions(loaded, names, None, options)
        else:
            with VerdictStore(store_file) as store:
                asker = factory.build_text_asker(config, store, progress or NullProgress(), clients[0][1])
                dimensions = measure_dimensions(loaded, names, asker, options)
            cost = _cost(add_costs([judging.cost, *asker.costs]), price)
            loaded = replace(loaded, spec=replace(spec, cost=cost))
            stopped, questions = asker.stopped, asker.judgments
        loaded = replace(loaded, dimensions={**_load_other_dimensions(folder, dimensions), **dimensions})
        cache = FileCache(cache_folder(store_file))
        result = _measure_with_cache(folder, loaded, cache)
        export_run(folder, result, cache)
    incomplete = _incomplete(result.summary, judging, config.min_coverage)
    if incomplete is None and stopped is not None:
        incomplete = RunIncomplete(
            "the pairs are judged, but not every question besides is answered: {reason}", reason=stopped
        )
    warnings = [*dataset.warnings, *judging.warnings]
    if incomplete is None and (failures := _failures(judging.judgments)):
        warnings.append(Message("not every pair has a grade{failures}", failures=failures))
    for name, answers in questions.items():
        if incomplete is None:
            incomplete = _too_few_answers(name, answers, config.min_coverage)
        if incomplete is None and any(answer.grade is None for answer in answers):
            warnings.append(_describe_unanswered(name, answers))
    return replace(
        result, warnings=tuple(warnings), calls_made=clients[0][1].spend_limit.calls, incomplete=incomplete
    )


def _load_other_dimensions(
    folder: RunFolder, measured: Mapping[str, DimensionResult]
) -> Mapping[str, DimensionResult]:
    """Return the dimensions that other commands added to the folder, if its grades are still the same."""
    with suppress(InputError):
        summary = folder.read_if_there("summary.json")
        names = (summary or {}).get("dimensions")
        if isinstance(names, dict) and not names.keys() <= measured.keys():
            # This raises InputError unless results.json was made from the judgments that are there now.
            with reading_run(folder.path):
                return load_run(folder, in_memory=False).dimensions
    return {}


def _measure_with_cache(folder: RunFolder, run: LoadedRun, cache: FileCache) -> RunResult:
    """Return the result of a run whose judgments are written; its summary may be in `cache`."""
    key = export.make_summary_key(folder, run)
    summary = export.read_cached_summary(cache, key)
    result = measure_run(folder.path, run, summary=summary)
    if key and summary is None:
        cache.write(key, export.dump_summary(result.summary))
    return result


def estimate(config: Config) -> RunForecast:
    """Return what `run` would ask of each assessor and cost now, given the verdicts in the store.

    Makes no call.
    """
    pooled = factory.load_pooled_dataset(config)
    dataset, pairs = pooled.dataset, pooled.pool
    labels = factory.load_labels(config, dataset, pairs)
    assessors = factory.build_assessors(config, calls=False)
    folder, _ = run_identity.open_run_folder(config, pooled, assessors, labels)
    if labels:
        pairs = labels.select_unlabelled(pairs)
    remarks = dataset.warnings
    if config.near_duplicates:
        near_duplicates = find_near_duplicates(pairs)
        message = Message(
            "{count:,} of {pairs:,} pairs are near-duplicates: each takes the judgment of another snippet of"
            " its query.",
            count=len(near_duplicates.judged_ids),
            pairs=len(pairs.pairs),
        )
        remarks = (*remarks, message)
        pairs = near_duplicates.select_judged(pairs)
    if config.controls:
        mismatched = draw_mismatched_pairs(dataset, pooled.pool, config.control_pairs)
        message = Message(
            "{count:,} of the pairs are controls: snippets of other queries.", count=len(mismatched.pairs)
        )
        remarks = (*remarks, message)
        pairs = mismatched.add_to(pairs)
    store_file = run_identity.store_path(config, folder)
    with VerdictStore(store_file) if store_file.exists() else nullcontext() as store:
        estimates = {
            assessor.name: estimating.estimate_run(pairs, assessor, store, config.repeats, client.limits)
            for assessor, client in factory.build_clients(config, assessors, CancelToken())
        }
    names = [name for name in DIMENSIONS if getattr(config, name)]
    options = DimensionOptions(config.explain_queries, config.costs)
    questions: dict[str, estimating.QuestionEstimate] = {}
    for name, forecast in forecast_questions(names, dataset, pooled.pool, options):
        assessor = factory.build_text_assessor(config, forecast.kind, calls=False)
        each = estimating.estimate_questions(
            assessor,
            forecast.questions,
            forecast.shown_tokens,
            forecast.reply_tokens,
            factory.build_limits(config, assessor.model).price,
        )
        questions[name] = questions[name] + each if name in questions else each
    return RunForecast(pairs.results, len(pairs.pairs), config.repeats, remarks, estimates, questions)


def plan_comparison(
    config: Config, path: Path, a: str, b: str
) -> tuple[LoadedRun, ListComparison, estimating.QuestionEstimate]:
    """Return the run in the folder `path`, the comparison of two of its engines, and what it would cost."""
    config.check_text_model("sidebyside")
    with reading_run(path):
        loaded = load_run(RunFolder(path))
        plan = side_by_side.plan_comparison(loaded, a, b)
    assessor = factory.build_text_assessor(config, side_by_side.COMPARE_LISTS, calls=False)
    shown = sum(estimate_tokens(pair.snippet.text) for pair in plan.to_ask) / max(len(plan.to_ask), 1)
    price = factory.build_limits(config, assessor.model).price
    estimate = estimating.estimate_questions(
        assessor, len(plan.to_ask), shown, side_by_side.REPLY_TOKENS, price
    )
    return loaded, plan, estimate


def compare_lists(
    config: Config, path: Path, a: str, b: str, progress: ProgressListener | None = None
) -> DimensionSummary:
    """Compare the whole lists of two engines of the run in folder `path`, and add that to its files.

    Raises InputError when `path` is no finished run, and the reason when not every question is asked.
    """
    folder = RunFolder(path)
    folder.read("summary.json")  # before a lock file appears in a folder that is no run's
    with folder.locked():
        loaded, plan, _ = plan_comparison(config, path, a, b)
        with VerdictStore(Path(config.store) if config.store else folder.store_path) as store:
            asker = factory.build_text_asker(config, store, progress or NullProgress())
            asker.dimension = Message("sidebyside")
            result = side_by_side.compare_lists(loaded, plan, asker)
        judgments = asker.judgments.get(asker.dimension, [])
        if stopped := asker.stopped or _too_few_answers(asker.dimension, judgments, config.min_coverage):
            raise stopped
        remarks = (*result.summary.remarks, _describe_spending(add_costs(asker.costs)))
        if any(judgment.grade is None for judgment in judgments):
            remarks = (*remarks, _describe_unanswered(asker.dimension, judgments))
        result = replace(result, summary=replace(result.summary, remarks=remarks))
        name = f"sidebyside {json.dumps([plan.a, plan.b], ensure_ascii=False)}"
        dimensions = {**loaded.dimensions, name: result}
        export_run(folder, measure_run(path, replace(loaded, dimensions=dimensions)))
    return result.summary


def _describe_spending(cost: Cost) -> Message:
    """Return what the questions of a dimension cost that is added to a finished run."""
    return Message(
        "The questions took {calls:,} calls and {tokens:,} tokens{cost}; the cost of the run does not contain"
        " them.",
        calls=cost.calls,
        tokens=cost.prompt_tokens + cost.completion_tokens,
        cost="" if cost.usd is None else f", ${cost.usd:.4f}",
    )


def _cost(cost: Cost, price: Price | None) -> RunCost:
    return RunCost(
        calls=cost.calls,
        prompt_tokens=cost.prompt_tokens,
        cached_tokens=cost.cached_tokens,
        completion_tokens=cost.completion_tokens,
        usd=cost.usd,
        uncounted=cost.uncounted,
        maybe_billed=cost.maybe_billed,
        price=None
        if price is None
        else PriceUsed(price.input, price.output, price.cached, price.as_of, price.source),
    )


def _incomplete(summary: Summary, judging: JudgingResult, least: float) -> RunIncomplete | None:
    """Return why a run is incomplete and what to do, None when enough pairs are judged."""
    members = summary.panel.members if summary.panel else ()
    of_assessor = summary.judgments - summary.labelled
    wanted = of_assessor * (len(members) or 1)
    if judging.stopped is not None:
        judged = sum(member.judged for member in members) if members else summary.judged - summary.labelled
        if judged == wanted:
            return RunIncomplete(
                "stopped before all pairs of --controls were judged: {reason}", reason=judging.stopped
            )
        return RunIncomplete(
            "stopped with {missing:,} of {total:,} unjudged: {reason}",
            missing=wanted - judged,
            total=wanted,
            reason=judging.stopped,
        )
    if not summary.judgments and any(engine.errors for engine in summary.engines.values()):
        return RunIncomplete("there is nothing to judge: the dataset holds engine errors and no result")
    for member in members:
        if member.judged < least * of_assessor:
            return RunIncomplete(
                "{assessor} judged {count:,} of {total:,} pairs, less than --min-coverage"
                " {least:.0%}{failures}; {advice}",
                assessor=member.name,
                count=member.judged,
                total=of_assessor,
                least=least,
                failures=_failures(judging.judgments, member.name),
                advice=_advice(judging.judgments),
            )
    if summary.coverage < least:
        return RunIncomplete(
            "only {coverage:.2%} of the pairs were judged, less than --min-coverage {least:.0%}{failures};"
            " {advice}",
            coverage=summary.coverage,
            least=least,
            failures=_failures(judging.judgments),
            advice=_advice(judging.judgments),
        )
    return None


def _too_few_answers(dimension: str, judgments: Sequence[Judgment], least: float) -> RunIncomplete | None:
    """Return why the questions of a dimension have too few answers, None when they have enough."""
    answered = sum(judgment.grade is not None for judgment in judgments)
    if answered >= least * len(judgments):
        return None
    return RunIncomplete(
        "{unanswered}; --min-coverage is {least:.0%}",
        unanswered=_describe_unanswered(dimension, judgments),
        least=least,
    )


def _describe_unanswered(dimension: str, judgments: Sequence[Judgment]) -> str:
    return Message(
        "{dimension}: {missing:,} of {total:,} questions have no answer{failures}; the same command asks"
        " again",
        dimension=Message(dimension),
        missing=sum(judgment.grade is None for judgment in judgments),
        total=len(judgments),
        failures=_failures(judgments),
    )


def _advice(judgments: Iterable[Judgment]) -> str:
    """Return what the user can do to get grades for the pairs that have none."""
    kinds = {judgment.error for judgment in judgments}
    if kinds == {None, "text_cut"} or kinds == {"text_cut"}:
        return Message("raise max_chars and name another --out: what was judged is not paid again")
    if kinds <= {None, "no_text", "text_cut"}:
        return Message(
            "add the texts that are missing and name another --out: what was judged is not paid again"
        )
    return Message("the same command asks again for the rest")


def _failures(judgments: Iterable[Judgment], assessor: str = "") -> str:
    """Return the most frequent error kind (of `assessor`) and its most frequent message; empty if none."""
    failed = [
        (judgment.error, judgment.detail)
        for judgment in judgments
        if judgment.detail and assessor in ("", judgment.assessor)
    ]
    if not failed:
        return ""
    [(kind, count)] = Counter(kind for kind, _ in failed).most_common(1)
    [(detail, _)] = Counter(detail for error, detail in failed if error == kind).most_common(1)
    return Message(
        " ({count:,} of {total:,} failed with {kind!r}: {detail})",
        count=count,
        total=len(failed),
        kind=kind,
        detail=detail,
    )
