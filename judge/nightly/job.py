"""The nightly job: collect, judge, compare with the baseline, decide, notify. It sets baselines, too.

Each step stores what it paid for, so a night that was killed continues where it stopped, and a finished
night is left as it is. One process at a time works on a folder of nights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from os.path import relpath
from pathlib import Path
from typing import Self

from judge import factory, pipeline, run_identity
from judge.analysis.failure_advice import RunKind
from judge.analysis.summary import SCHEMA_VERSION, Summary
from judge.characters import escape_controls
from judge.client.budget import SpendLimit
from judge.client.progress import ProgressListener
from judge.config.environment import copy_environment
from judge.config.option_types import is_day
from judge.config.toml_file import read_section
from judge.errors import FileInUse, InputError, Interrupted, StoreError
from judge.finished_run import rewrite_report
from judge.measure.measures import parse_measure
from judge.messages import ENGLISH, Message, NameList, Translator, join_messages
from judge.nightly import assessor_drift, notifications, spending, stores
from judge.nightly.baseline import (
    SET_BASELINE_COMMAND,
    BaselinePointer,
    freeze_baseline,
    list_served_models,
    load_baseline,
    read_pointer,
)
from judge.nightly.context import (
    NightContext,
    find_assessor_setting_changes,
    load_context,
    load_options,
    lock_nights,
)
from judge.nightly.decision import Evidence, decide
from judge.nightly.evidence import (
    collect_remarks,
    explain_unanswered_canaries,
    explain_unjudged_pairs,
    find_missing_texts,
    gather_evidence,
)
from judge.nightly.night_dataset import DATASET_FILE, collect_dataset
from judge.nightly.night_texts import make_banner
from judge.nightly.record import (
    EXIT_CODES,
    NIGHT_FILE,
    NightCost,
    NightEngineSummary,
    NightMean,
    NightRecord,
    RegressionTest,
    read_night,
)
from judge.nightly.stores import JudgedNight
from judge.nightly.trend_page import write_trend_page
from judge.pipeline import PreparedRun, prepare_run
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import CONFIG_FILE, parse_inputs, read_config
from judge.runs.record_json import to_json
from judge.runs.run_result import RunResult
from judge.store import store_files
from judge.store.store import VerdictStore

_Listener = ProgressListener | None
#: For so long, the canaries of a start that was interrupted show the assessor of the next start.
_CANARIES_AGE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class NightReport:
    """A night's record, and the lines and the commands for a CI runner that the command prints about it."""

    record: NightRecord
    lines: tuple[str, ...]
    commands: Sequence[str] = ()


def run_nightly(
    toml: Path,
    day: str,
    progress: _Listener = None,
    canary_progress: _Listener = None,
    t: Translator = ENGLISH,
) -> NightReport:
    """Run the night of `day` that `toml` asks for, or what is left of it, and notify in the language of `t`.

    `canary_progress` follows the judging of canaries, `progress` that of the engines' results.
    Raises InputError before anything is paid when an option, the dataset or `day` is wrong; FileInUse when
    another process works on these nights; Interrupted after Ctrl-C; StoreError when the disk is full. The
    webhook gets a notice of an InputError and of a StoreError.
    """
    if not is_day(day):
        raise InputError("--date is {day!r}; it must be a day such as 2026-05-01", day=day)
    options, environ = load_options(toml), copy_environment()
    with options.source.add_error_context():
        webhook = notifications.Webhook.from_options(options.webhook, environ) if options.webhook else None
    try:
        context = load_context(toml, day, options)
        with lock_nights(context.nights, f"judge nightly --date {day}"):
            record, notes = _judge_once(context, progress, canary_progress, t)
            lines, commands = notifications.publish(context.folder.path, record, environ, webhook, t)
            notes += _try_to_write("trend", lambda: write_trend_page(context.nights), t)
        return NightReport(record, (*lines, *notes), commands)
    except FileInUse:
        raise
    except (InputError, StoreError) as error:
        folder = RunFolder(Path(options.folder) / day)
        if webhook and (problem := notifications.send_error(folder, webhook, environ, day, error, t)):
            error.message = join_messages([error.message, problem])
        raise


def _judge_once(
    context: NightContext, progress: _Listener, canary_progress: _Listener, t: Translator
) -> tuple[NightRecord, list[str]]:
    """Judge what is left of the night, and write its report; return its record, and notes to print."""
    folder = context.folder
    record, notes = read_night(folder), list[str]()
    if record and (reason := _explain_no_judging(context, record)):
        notes.append(t(reason))
    else:
        try:
            record = _NightJob.prepare(context).judge_night(canary_progress, progress)
        except Interrupted as error:
            raise Interrupted(
                "interrupted; all answers and judgments are saved; to continue this night: {command}",
                command=context.command,
            ) from error
    # A process can end after judging, so a finished night gets its report and is notified again.
    # A night that stopped after the canaries can have the report of an earlier start.
    if (folder.path / "results.json").exists() or record.coverage is not None:
        advice = t(" (to let the night write its files again, remove {file})", file=folder.path / NIGHT_FILE)
        notes += _try_to_write("report", lambda: rewrite_report(folder.path), t, advice)
    return record, notes


def _explain_no_judging(context: NightContext, record: NightRecord) -> Message | None:
    """Return why a night with a `record` is left as it is, None where it is judged or continued."""
    if record.state == "finished":
        return Message(
            "this night is finished: changes of {file}, of its dataset and of the baseline have no effect"
            " on it; to run it again, remove {folder}",
            file=context.toml,
            folder=context.folder.path,
        )
    if record.state == "stopped" and context.options.judge_on_drift != "all":
        files = (context.folder.path / NIGHT_FILE, *assessor_drift.list_canary_runs(context.folder.path))
        return Message(
            "this night stopped after its canaries, and this start made no call; to judge it again, remove"
            " {files}",
            files=NameList(map(str, files)),
        )
    pointer = read_pointer(context.nights)
    if record.state == "undecided" and pointer and pointer.name == context.day:
        return Message("this night is the baseline of later nights, and this start made no call")
    return None


def _try_to_write(name: str, write: Callable[[], Path], t: Translator, advice: str = "") -> list[str]:
    """Write a page; return a line with the error, if any: it changes nothing about the night.

    The `advice` is about damaged files.
    """
    try:
        write()
    except (InputError, StoreError) as error:
        text = escape_controls(t(error.message) + (advice if isinstance(error, InputError) else ""))
        return [t("{page}: not written: {error}", page=name, error=text)]
    return []


def _prepare(context: NightContext) -> NightContext:
    """Return the context with the baseline and, unless judge.toml names a dataset, a collected one."""
    context = replace(context, baseline=load_baseline(context.nights))
    name = context.baseline.pointer.name if context.baseline else ""
    if is_day(name) and context.day < name:  # an improvement since would look like a drop
        raise InputError(
            "--date is {context.day!r}, before the baseline's night {name}; take a later day, or set an"
            " earlier night as the baseline: {command} with one of {context.nights}",
            name=name,
            command=SET_BASELINE_COMMAND,
            context=context,
        )
    factory.build_assessors(context.config)  # raises for a missing key before engines are asked
    with context.config.source.name_keys_in_errors():
        try:
            # A file that cannot be the shared store ends the night before any request.
            VerdictStore(run_identity.choose_store_path(context.config)).close()
        except StoreError as error:
            raise InputError("store: {error}", error=error) from error
    night_stores = stores.NightStores.from_context(context)
    for store in (night_stores.shared, night_stores.own):
        store_files.check_store(store)
    if not read_section(context.toml, "collect"):
        if not (context.config.data or context.config.trec_runs):
            raise InputError(
                "{file}: no dataset was named; set data, or add the table [collect] (see judge init)",
                file=context.toml,
            )
        return context
    collection = collect_dataset(context.toml, context.folder)
    config = replace(context.config, data=str(context.folder.path / DATASET_FILE))
    return replace(context, config=config, collection=collection)


@dataclass(frozen=True, slots=True)
class _NightJob:
    """The judging of a night: what it works with, and its two runs, `pool` and `canaries`.

    The limits of calls and of spending are for both together.
    """

    context: NightContext
    pool: PreparedRun
    canaries: PreparedRun
    spend_limit: SpendLimit

    @classmethod
    def prepare(cls, context: NightContext) -> Self:
        """Return the job of a night, after its engines were asked; raise InputError before it is paid."""
        context = _prepare(context)
        # A night without canaries may have paid for some at an earlier start.
        repeats = context.options.canary_repeats or 1
        canary_config = assessor_drift.make_canary_config(context.config, repeats)
        spend_limit = SpendLimit(context.config.max_calls, context.config.budget)
        return cls(context, prepare_run(context.config), prepare_run(canary_config), spend_limit)

    def judge_night(self, canary_progress: _Listener, progress: _Listener) -> NightRecord:
        """Judge the night, compare it with the baseline, keep its verdicts, and write night.json.

        Raises what `pipeline.run` raises.
        """
        context = self.context
        night_stores = stores.NightStores.from_context(context)
        # Record what an earlier start of this night spent, before a store of it is removed.
        self._count_calls()
        if context.baseline and (name := context.baseline.pointer.quarantined_store):
            night_stores.promote(name)
        judged_night = self._judge(canary_progress, progress)
        night_spending = self._count_calls()
        judged_night = replace(judged_night, served=night_spending.served)
        evidence = gather_evidence(context, judged_night)
        stores.keep_verdicts(night_stores, judged_night, has_drifted=bool(evidence.assessor_changes))
        record = self._make_record(judged_night, evidence, night_spending.cost_total)
        record = replace(record, banner=make_banner(record))
        context.folder.write_json(NIGHT_FILE, to_json(record, with_defaults=True))
        if judged_night.run:
            store_files.remove_store(night_stores.own)
        return record

    def _count_calls(self) -> spending.NightSpending:
        pools = [(run.pooled.pool.pairs, run.config.repeats) for run in (self.pool, self.canaries)]
        return spending.count_night_calls(self.context.folder, self.context.config, pools)

    def _make_record(
        self, judged_night: JudgedNight, evidence: Evidence, cost_total: NightCost
    ) -> NightRecord:
        context, identity = self.context, self.pool.identity
        config, options, scale = context.config, context.options, context.config.grading
        run, canaries, store = judged_night.run, judged_night.canaries, judged_night.quarantined_store
        decision = decide(evidence)
        test = RegressionTest(
            ran=not evidence.suspended,
            alpha=options.alpha,
            min_drop=options.min_drop,
            measures=tuple(map(str, context.measures)),
            rows=tuple(evidence.outcomes),
        )
        summary, of_canaries = run.summary if run else None, canaries.summaries if canaries else ()
        summaries = [*([summary] if summary else []), *of_canaries]
        return NightRecord(
            schema=SCHEMA_VERSION,
            date=date.fromisoformat(context.day),
            status=decision.status,
            exit=EXIT_CODES[decision.status],
            reasons=decision.reasons,
            finished=decision.state in ("finished", "stopped"),
            complete=decision.state in ("finished", "undecided"),
            missing=decision.missing,
            stopped=decision.state == "stopped",
            remarks=tuple(collect_remarks(context, judged_night, evidence)),
            assessor=summaries[0].assessor if summaries else config.mask_models()[0],
            prompts=dict(parse_inputs(identity, NIGHT_FILE).prompts),
            served=tuple(sorted(list_served_models(*summaries))),
            scale=scale.name,
            relevant_from=scale.relevant_from,
            depth=config.depth,
            repeats=config.repeats,
            queries=summary.queries if summary else 0,
            judgments=summary.judgments if summary else None,
            judged=summary.judged if summary else None,
            coverage=summary.coverage if summary else None,
            failures=dict(summary.failures) if summary else {},
            engines=_select_engine_summaries(summary) if summary else {},
            baseline=context.baseline.reference if context.baseline else None,
            regression_test=test if evidence.query_drift else None,
            canaries=canaries.results if canaries else None,
            query_drift=evidence.query_drift,
            engine_settings=context.collection.engine_settings,
            quarantined_store=relpath(store, context.folder.path) if store else None,
            cost=spending.add_night_costs([part.cost for part in summaries if part.cost]),
            cost_total=cost_total,
            options_file=str(context.toml),
        )

    def _judge(self, canary_progress: _Listener, progress: _Listener) -> JudgedNight:
        """Judge canaries, then the pool, unless texts or answers are missing or the assessor has drifted."""
        context, options, baseline = self.context, self.context.options, self.context.baseline
        identity = self.pool.identity
        setting_changes = find_assessor_setting_changes(identity, baseline.identity) if baseline else []
        if missing_texts := find_missing_texts(context, self.pool.pooled):
            return JudgedNight(setting_changes, missing_texts)
        canaries = None
        if options.canary_repeats:
            canaries = assessor_drift.check_canaries(
                self._judge_canaries(canary_progress),
                baseline.canaries if baseline else None,
                options,
                has_same_settings=not setting_changes,
            )
        missing = list(explain_unanswered_canaries(canaries, options))
        judged_night = JudgedNight(setting_changes, missing, canaries)
        # A user who changes the options needs a night that can be the baseline, so such a night is judged.
        is_stopped = judged_night.early_changes and not setting_changes and options.judge_on_drift == "stop"
        if missing or is_stopped:
            return judged_night
        store = stores.choose_store(context, identity, judged_night)
        spending.start_counting(context.folder, store)
        run = self._run(self.pool, context.folder, store, progress, "night")
        missing = list(explain_unjudged_pairs(run, canaries, options))
        return replace(judged_night, run=run, store=store, missing=missing)

    def _judge_canaries(self, progress: _Listener) -> RunResult:
        folder = RunFolder(self._choose_canary_folder())
        folder.check_no_link()
        # A verdict in another store is not one of this night's assessor.
        store = folder.path / assessor_drift.CANARY_STORE_FILE
        spending.start_counting(self.context.folder, store)
        return self._run(self.canaries, folder, store, progress, "canaries")

    def _run(
        self, run: PreparedRun, folder: RunFolder, store: Path, progress: _Listener, kind: RunKind
    ) -> RunResult:
        run_identity.update_identity(folder, run.identity)
        config = replace(run.config, out=str(folder.path), store=str(store))
        # Neither kind writes the report, which begins with the decision of the night.
        return pipeline.run(
            config, dataset=run.pooled, progress=progress, spend_limit=self.spend_limit, kind=kind
        )

    def _choose_canary_folder(self) -> Path:
        """Return the folder of this night's canaries: a new one where another assessor may judge the rest.

        Those of a start that was interrupted within the last hour are used, and continued.
        """
        context, night = self.context, self.context.folder.path
        runs = assessor_drift.list_canary_runs(night)
        if not runs:
            return night / assessor_drift.CANARIES_FOLDER
        last = RunFolder(runs[-1])
        store = last.path / assessor_drift.CANARY_STORE_FILE
        # A night that is not interrupted judges for as long after its canaries, and for longer.
        is_recent = store_files.has_calls_only_since(store, datetime.now(UTC) - _CANARIES_AGE)
        is_interrupted = is_recent and not (night / NIGHT_FILE).exists()
        if is_interrupted and read_config(last).identity == self.canaries.identity:
            return last.path
        finished = (last.path / "results.json").exists()
        is_judging = (night / CONFIG_FILE).exists()
        if not (
            finished and is_judging and assessor_drift.load_canary_grades(last).is_available(context.options)
        ):
            # Another assessor may continue than the one that began. These canaries say nothing about a night
            # in which no pair of the pool was judged after them.
            store_files.remove_store(store)
            return last.path
        # Another assessor can only judge pairs that have no verdict yet.
        pool_store = stores.NightStores.from_context(context).find_latest(read_night(context.folder))
        estimate = pipeline.estimate(replace(context.config, store=str(pool_store)), self.pool.pooled)
        are_pairs_left = any(expected.calls for expected in estimate.assessors.values())
        number = int(last.path.name.partition("-")[2] or 1) + 1
        return night / f"{assessor_drift.CANARIES_FOLDER}-{number}" if are_pairs_left else last.path


def _select_engine_summaries(summary: Summary) -> dict[str, NightEngineSummary]:
    names = [field.name for field in fields(NightEngineSummary) if field.name != "measures"]
    return {
        engine: NightEngineSummary(
            **{name: getattr(result, name) for name in names},
            measures={
                name: NightMean(
                    mean=mean.mean, ci95=mean.ci95, n=mean.n, pool_free=parse_measure(name).pool_free
                )
                for name, mean in result.measures.items()
            },
        )
        for engine, result in summary.engines.items()
    }


def set_baseline(run: Path, nights: Path) -> BaselinePointer:
    """Freeze the run in folder `run` as the baseline of `nights`.

    Quarantined verdicts are removed, unless they are those of `run`. Raises InputError when `run` cannot
    be the baseline (see `freeze_baseline`), or another process works on the nights.
    """
    with lock_nights(nights, f"judge baseline set {run}"):
        with translate_run_errors(run):
            pointer = freeze_baseline(run, nights)
        for store, _ in list(stores.iter_quarantined_stores(nights)):
            if store.name != pointer.quarantined_store:
                store_files.remove_store(store)
        return pointer
