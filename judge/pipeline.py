"""The steps of a run, in order: read, open, select, assess, dimensions, measure, export, check.

dataset ─► rankings ─► pool of pairs ─► judgments ─► scores, comparisons, stability ─► files, report
                                      │ assessing and the questions of dimensions cost money
"""

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from judge import factory, run_identity, run_input
from judge.analysis.dimension_summary import DimensionResult
from judge.analysis.failure_advice import RunKind
from judge.analysis.judged_run import JudgedRun
from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import AssignmentPlan
from judge.assess.estimate import QuestionEstimate, RunEstimate, estimate_run
from judge.assess.judging import PanelMember, combine_results, judge_with_panel, log_known_judgments
from judge.characters import estimate_tokens
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.progress import ProgressListener
from judge.completeness import NO_RESULT, check_run, explain_stop
from judge.config.run import Config
from judge.dataset.dataset_warnings import describe_empty_lists, describe_results_without_text
from judge.dataset.label_files import read_feedback
from judge.dataset.labels import LabelSet
from judge.dataset.stored_dataset import PooledDataset
from judge.dimensions.dimension import DimensionOptions
from judge.dimensions.dimension_table import DIMENSIONS, iter_question_counts, measure_dimensions
from judge.errors import InputError
from judge.files.cache import FileCache, make_cache_path
from judge.files.judgment_log import store_judgments
from judge.finished_run import finish_run
from judge.measure.measures import Measure
from judge.messages import Message, make_text
from judge.pair_selection import PairSelection, make_judged_run, select_pairs
from judge.pricing.costs import Cost, RunCost, add_costs, combine_costs, make_run_cost
from judge.pricing.prices import find_common_price
from judge.runs import export
from judge.runs.folder import RunFolder
from judge.runs.load import RunIdentity, load_run, load_summary
from judge.runs.run_result import RunResult
from judge.selftest.stored_selftests import identify_assessors, look_up_selftests
from judge.store.store import VerdictStore


def run(
    config: Config,
    *,
    dataset: run_input.DatasetRows | PooledDataset | None = None,
    progress: ProgressListener | None = None,
    cancel_token: CancelToken | None = None,
    spend_limit: SpendLimit | None = None,
    kind: RunKind = "run",
    warn: Callable[[str], None] | None = None,
) -> RunResult:
    """Judge a dataset, score its engines and write the run's folder.

    `dataset`, rows or one that is read already, takes the place of the files that `config` names.
    `cancel_token` lets another thread cancel the judging. Several runs of one execution can share a
    `spend_limit`. Only a run of the `kind` "run" writes report.html; `rewrite_report` writes that of a night.
    `warn` gets the warnings about the input before the first call. The result has these, too, except those
    about empty lists and results without text, which follow from the engines of its summary.
    Raises InputError before anything is paid, StoreError when verdicts cannot be saved, Interrupted after
    Ctrl-C. A `RunResult` has `incomplete` set when the account, the budget or the server ended the judging,
    or too few pairs could be judged: a LimitReached when `max_calls` or `budget` ended it.
    """
    if config.out:
        with config.source.add_error_context("out"):
            RunFolder(Path(config.out)).check_free()  # before a large dataset is read
    prepared = prepare_run(config, dataset)
    cancel_token = cancel_token or CancelToken()
    spend_limit = spend_limit or SpendLimit(config.max_calls, config.budget)
    panel = factory.build_panel(config, prepared.assessors, cancel_token, spend_limit)
    folder, store_file = prepared.folder, prepared.store_file
    options = _build_dimension_options(config, store_file)
    selftests = look_up_selftests(store_file, identify_assessors(prepared.assessors, config))
    progress = progress or ProgressListener()
    with folder.lock():
        with config.source.add_error_context("out"):
            run_identity.write_config(folder, config, prepared.identity)
        selection = select_pairs(config, prepared.pooled, prepared.labels)
        if warn:
            for warning in prepared.list_warnings():
                warn(warning)
        with VerdictStore(store_file) as store:
            pairs, pool_key = selection.to_judge.pairs, selection.to_judge.cache_key
            results = asyncio.run(judge_with_panel(pairs, panel, store, config.repeats, progress, pool_key))
            judging = combine_results(results)
            judgments = [of_member.judgments for of_member in results]
            judged_run = make_judged_run(config, selection, prepared.assessors, judgments, prepared.measures)
            judged_run = _store_judgments(judged_run, store_file.parent)
            export.write_judgments(folder, judged_run)
            # No question is asked when pairs have no judgment.
            asker = factory.build_question_asker(
                config, store, progress, cancel_token, spend_limit, stopped=judging.stopped
            )
            dimensions = measure_dimensions(judged_run, _list_dimensions(config), asker, options)
        dimensions = {**_load_other_dimensions(folder, dimensions), **dimensions}
        # A dimension has its own cost, unless asking stopped before it was measured.
        unmeasured = [questions.cost for name, questions in asker.questions.items() if name not in dimensions]
        cost = _compute_cost([judging.cost, *unmeasured], dimensions, panel)
        spec = replace(judged_run.spec, selftest=selftests, cost=cost)
        if asker.stopped is not None:
            reason = config.source.name_keys_in(explain_stop(asker.stopped, kind))
            spec = replace(spec, stopped=make_text(reason)._asdict())
        cache = FileCache(make_cache_path(store_file))
        judged_run = replace(judged_run, spec=spec, dimensions=dimensions)
        result = finish_run(folder, judged_run, cache, with_report=kind == "run")
    incomplete, warnings = check_run(
        result.summary, judging, asker, config.min_coverage, kind, controls=selection.mismatched
    )
    if incomplete:  # its message names options: in a file, these are keys
        incomplete.message = config.source.name_keys_in(incomplete.message)
    return replace(
        result,
        warnings=(*judged_run.dataset.warnings, *judging.warnings, *warnings),
        calls_made=spend_limit.calls,
        incomplete=incomplete,
    )


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """What a run reads and opens before it judges, and `estimate` too."""

    config: Config
    measures: tuple[Measure, ...]
    pooled: PooledDataset
    labels: LabelSet | None
    assessors: Sequence[Assessor]
    folder: RunFolder
    identity: RunIdentity
    store_file: Path

    def list_warnings(self) -> Iterable[str]:
        """Return the warnings about the input, which a user can act on before anything is paid."""
        of_labels = self.labels.warnings if self.labels else ()
        with_examples = (assessor for assessor in self.assessors if assessor.prompts.examples)
        of_examples = (text for assessor in with_examples for text in assessor.warnings)
        of_lists = describe_empty_lists(self.pooled.answers)
        of_texts = describe_results_without_text(self.pooled.no_snippet_shares)
        of_dataset = self.pooled.dataset.warnings
        return dict.fromkeys((*of_lists, *of_texts, *of_dataset, *of_labels, *of_examples))


def prepare_run(
    config: Config,
    dataset: run_input.DatasetRows | PooledDataset | None = None,
    *,
    needs_key: bool = True,
) -> PreparedRun:
    """Return what a run works with; without `needs_key` its models open without one. Raises as `run` does."""
    measures = run_input.choose_measures(config)
    pooled = dataset
    if not isinstance(pooled, PooledDataset):
        pooled = run_input.load_pooled_dataset(config, pooled)
    with config.source.name_keys_in_errors():
        labels = run_input.load_run_labels(config, pooled)
    assessors = factory.build_assessors(config, needs_key=needs_key)
    folder, identity = run_identity.choose_run_folder(config, pooled, assessors, labels)
    store_file = run_identity.choose_store_path(config)
    return PreparedRun(config, measures, pooled, labels, assessors, folder, identity, store_file)


def _store_judgments(run: JudgedRun, folder: Path) -> JudgedRun:
    """Return the run with its judgments on the disk, in temporary files in `folder`."""
    members = {name: store_judgments(judgments, folder) for name, judgments in run.members.items()}
    return replace(run, judgments=store_judgments(run.judgments, folder), members=members)


def _list_dimensions(config: Config) -> list[str]:
    return [name for name in DIMENSIONS if getattr(config, name)]


def _build_dimension_options(config: Config, store_file: Path) -> DimensionOptions:
    """Return the options of dimensions; embeddings are cached beside the verdict store.

    Raises InputError for a file of feedback that cannot be read, SetupError for embeddings that cannot be
    opened.
    """
    feedback = None
    if config.feedback:
        (path,) = run_input.list_existing_files(config, "feedback")
        with config.source.add_error_context("feedback"):
            feedback = read_feedback(path)
    embeddings = config.diversity_embeddings
    provider = (embeddings or "").partition(":")[0]
    # The server of one provider must not get the key of another one.
    base_url = config.base_url if config.model.startswith(f"{provider}:") else None
    return DimensionOptions(
        explain_queries=config.explain_queries,
        costs=config.costs,
        weights=config.weights,
        diversity_embeddings=embeddings,
        embed=factory.build_embedder(embeddings, store_file, base_url) if embeddings else None,
        feedback=feedback,
    )


def _load_other_dimensions(folder: RunFolder, own: Container[str]) -> Mapping[str, DimensionResult]:
    """Return the dimensions in `folder`, if they are about its judgments and some are not among `own`."""
    # Files that are missing, damaged or about other judgments are written anew; answers are in the store.
    with suppress(InputError):
        if any(name not in own for name in load_summary(folder).dimensions):
            return load_run(folder, in_memory=False).dimensions
    return {}


def _compute_cost(
    costs: Sequence[Cost], dimensions: Mapping[str, DimensionResult], panel: Iterable[PanelMember]
) -> RunCost:
    own = make_run_cost(add_costs(costs), find_common_price(member.client.price for member in panel))
    return combine_costs(own, filter(None, (dimension.summary.cost for dimension in dimensions.values())))


def estimate(config: Config, dataset: PooledDataset | None = None) -> RunEstimate:
    """Return what `run` would ask of each assessor and cost now, given the verdicts in the store.

    Makes no call.
    """
    prepared = prepare_run(config, dataset, needs_key=False)
    pooled, assessors = prepared.pooled, prepared.assessors
    if config.batch:
        for assessor in assessors:
            factory.require_batch_model(assessor.model)
    selection = select_pairs(config, pooled, prepared.labels)
    to_judge, store_file = selection.to_judge, prepared.store_file
    with VerdictStore(store_file) if store_file.exists() else nullcontext() as store:
        cache = FileCache(make_cache_path(store_file)) if store else None
        plans = [
            AssignmentPlan(to_judge.pairs, assessor, config.repeats, cache, to_judge.cache_key)
            for assessor in assessors
        ]
        estimates = {
            plan.assessor.name: estimate_run(
                plan,
                store,
                factory.choose_price(config, plan.assessor.model),
                config.concurrency,
                thinking=config.thinking,
            )
            for plan in plans
        }
        judged_run = None
        # Which questions are asked depends on the grades: they are known when every pair is stored.
        if store and not any(
            expected.calls or expected.judgments_in_batches for expected in estimates.values()
        ):
            judgments = [log_known_judgments(plan, store) for plan in plans]
            judged_run = make_judged_run(config, selection, assessors, judgments, prepared.measures)
        questions = _estimate_questions(config, pooled, store, judged_run)
    remarks = (*prepared.list_warnings(), *_iter_remarks(config, selection))
    return RunEstimate(to_judge.results, len(to_judge.pairs), config.repeats, remarks, estimates, questions)


def _estimate_questions(
    config: Config, pooled: PooledDataset, store: VerdictStore | None, judged_run: JudgedRun | None
) -> dict[str, QuestionEstimate]:
    """Return what the questions of each dimension would cost; `judged_run` is None without all grades."""
    estimator = factory.build_question_estimator(config, store)
    options = DimensionOptions(explain_queries=config.explain_queries, asker=estimator)
    names = [name for name in _list_dimensions(config) if DIMENSIONS[name].count_questions]
    if judged_run:
        for name in names:
            # The result is not needed: the estimator counts the questions that measuring would ask.
            DIMENSIONS[name].measure(judged_run, options)
    questions: dict[str, QuestionEstimate] = {}
    for name, count in iter_question_counts(names, pooled.dataset, pooled.pool, options):
        more = estimator.estimate(count.kind, count.questions, count.shown_tokens, count.reply_tokens)
        questions[name] = questions[name] + more if name in questions else more
    return questions


def _iter_remarks(config: Config, selection: PairSelection) -> Iterator[str]:
    """Yield how many pairs options leave out or add, and costs that are not estimated."""
    if not selection.pool.pairs and any(ranking.error for ranking in selection.dataset.rankings):
        yield NO_RESULT
    if selection.labels:
        yield Message(
            "Pairs whose grade comes from {source!r}: {count:,} of {pairs:,}.",
            source=selection.labels.source,
            count=len(selection.labelled),
            pairs=len(selection.pool.pairs),
        )
    if config.near_duplicates:
        yield Message(
            "Near-duplicates, which take the judgment of another snippet of their query: {count:,} of"
            " {pairs:,}.",
            count=len(selection.near_duplicates),
            pairs=len(selection.to_judge.pairs) - len(selection.mismatched) + len(selection.near_duplicates),
        )
    if config.controls:
        yield Message(
            "{count:,} of the pairs are controls: snippets of other queries.", count=len(selection.mismatched)
        )
    if (config.diversity_embeddings or "lsa").partition(":")[0] not in ("lsa", "local"):
        texts = (f"{pair.snippet.title}\n{pair.snippet.text}" for pair in selection.pool.pairs)
        yield Message(
            "{name} embeds up to {count:,} texts (about {tokens:,.0f} tokens); this estimate does not include"
            " their cost.",
            name=config.diversity_embeddings,
            count=len(selection.pool.pairs),
            tokens=sum(map(estimate_tokens, texts)),
        )
