"""The Python functions, which the commands use too.

All but `run` and `agree_label_files` work on finished runs. Only `run`, `compare_lists`, and embeddings of a
server make calls.
"""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from judge.analysis.analyse_run import analyse_run
from judge.analysis.combine_runs import combine_runs
from judge.analysis.label_agreement import LabelAgreement, compare_with_labels, run_from_labels
from judge.analysis.planned_order import PlannedComparison, decide_planned_order
from judge.analysis.summary import Summary
from judge.completeness import check_grades
from judge.dataset import trec
from judge.dataset.label_files import load_label_file, load_labels, read_feedback
from judge.dimensions.align import AlignmentSummary, align_embeddings, select_judged_pool
from judge.dimensions.dimension import DimensionOptions
from judge.errors import InputError
from judge.finished_run import load_current_summary, rescore, write_record
from judge.measure.measures import resolve_measures
from judge.measure.numeric import Floats
from judge.messages import Message, NameList, OptionName, SeparatedNames
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.labelling_plan import read_pair_plan
from judge.runs.load import find_store, load_run, load_run_without_labels, load_runs, load_summary
from judge.runs.record_json import to_json
from judge.runs.results_file import open_results
from judge.runs.run_result import RunResult

if TYPE_CHECKING:
    import pandas as pd

    from judge.analysis.dimension_summary import DimensionSummary
    from judge.client.cancel import CancelToken
    from judge.records import ScaleName

T = TypeVar("T")


def run(
    data: str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame | None,
    model: str | None,
    *,
    config: str | Path | None = None,
    **options: object,
) -> RunResult:
    """Judge `data` with `model`, score every engine and write the run's folder.

    `data` is a file, a DataFrame, or an iterable of rows, one for each result. `options` are those of
    `judge.Config` (`scale="binary"`, `repeats=3`, `out="runs/mine"`, …); they take precedence over those in
    the TOML file `config`. Pass None for `model` or `data` if that file names it. Pass None for `data`, too,
    with `topics`, `docs` and `trec_runs`. Works where an event loop is running (notebooks). Raises
    InputError, StoreError and Interrupted; a `RunResult` with `incomplete` set has unjudged pairs.
    """
    from judge import pipeline
    from judge.config.run import Config
    from judge.run_input import resolve_source

    path, rows = resolve_source(data)
    settings = Config.load(_to_path("config", config) if config else None, data=path, model=model, **options)
    if data is not None:  # takes the place of the dataset of the file, in whatever form
        settings = replace(
            settings,
            data=path,
            topics=settings.topics if options.get("topics") else None,
            docs=settings.docs if options.get("docs") else None,
            trec_runs=settings.trec_runs if options.get("trec_runs") else (),
        )
    return _run_outside_loop(lambda token: pipeline.run(settings, dataset=rows, cancel_token=token))


def score(
    run: str | Path,
    measures: str | Iterable[str] | None = None,
    *,
    dimensions: str | Iterable[str] = (),
    costs: Mapping[str, float] | Iterable[str] | None = None,
    weights: Mapping[str, float] | Iterable[str] | None = None,
    embeddings: str | None = None,
    base_url: str | None = None,
    feedback: str | Path | None = None,
    store: str | Path | None = None,
    save: bool = False,
) -> RunResult:
    """Score the run in folder `run` again from its judgments, with `measures` or the run's own.

    A text can name several measures, with spaces between them. `dimensions` such as "diversity" are measured,
    too, without a call; `judge.run` measures those that ask a model. Four dimensions have an option of their
    own: `costs` {engine: USD per 1,000 queries}, `weights` {part: weight}, a file of `feedback`, and
    `embeddings` such as "lsa". Embeddings of a server need calls, at the address `base_url` if it is not the
    provider's. They are cached beside `store`, None for the verdict store of the run. With `save` the run's
    files change, and the first measure decides from then on. Raises InputError when `run` is not a finished
    run, its files do not fit together, an option or a dimension is unknown, or a dimension asks a model.
    """
    if not isinstance(save, bool | np.bool_):
        raise InputError("save is {value!r:.80}, not True or False", value=save)
    if base_url is not None and embeddings is None:
        raise InputError(
            "{option} is for {needed}; add {needed}, or omit {option}",
            option=OptionName("--base-url"),
            needed=OptionName("--diversity-embeddings"),
        )
    chosen = _list_names("measures", measures) if measures is not None else None
    by_option = {"costs": costs, "weights": weights, "diversity_embeddings": embeddings, "feedback": feedback}
    names = {name for name, value in by_option.items() if value is not None}
    names |= set(_list_names("dimensions", dimensions))
    folder, options = RunFolder(_to_path("run", run)), None
    chosen_store = _to_path("store", store) if store else None
    if names:
        from judge.config.option_types import split_prices, split_weights

        cached_beside = find_store(folder, chosen_store) if embeddings else folder.own_store
        options = DimensionOptions(
            costs=split_prices(costs or ()),
            weights=split_weights(weights or ()),
            diversity_embeddings=embeddings,
            embed=_build_embedder(embeddings, cached_beside, base_url) if embeddings else None,
            feedback=read_feedback(_to_path("feedback", feedback)) if feedback else None,
        )
    return rescore(
        folder.path, chosen, dimensions=names, options=options, store=chosen_store, save=bool(save)
    )


def compare(*runs: str | Path, measures: str | Iterable[str] = (), against: str | None = None) -> Summary:
    """Return the summary of one run, or of several runs combined, with the further `measures`.

    `comparisons` has a record for each pair of engines by each measure. With the engine `against` of one run,
    it has only the pairs with this engine: their intervals are narrower, because they hold together for fewer
    pairs. The summary of several runs has their paths in `runs`, and in `remarks` what was done to make them
    comparable. Raises InputError when a folder is not a finished run, or the runs cannot be compared, and
    RunIncomplete when a run, or the shared queries of several, have no grade.
    """
    if not runs:
        raise InputError("no run was named; name the folder of one or more runs")
    paths = [_to_path("run", run) for run in runs]
    names = _list_names("measures", measures)
    if len(paths) == 1:
        summary = _analyse_again(RunFolder(paths[0]), names, against)
        check_grades(paths[0], summary)
        return summary
    if against is not None:
        raise InputError(
            "--against is {engine!r}, and there are {count} runs; it takes an engine of one run",
            engine=against,
            count=len(paths),
        )
    with translate_run_errors(paths[0]):
        loaded = load_runs(paths)
        for path, name in zip(paths, loaded, strict=True):
            check_grades(name, open_results(path / "results.json")[0])
        first = next(iter(loaded.values()))
        more = resolve_measures(names, first.pool.depth, first.spec.scale) if names else ()
        combined = combine_runs(loaded, more)
        summary = analyse_run(combined.run, combined.engine_pairs).summary
    check_grades(Message("the shared queries of {runs}", runs=NameList(map(str, paths))), summary)
    return replace(summary, runs=tuple(map(str, paths)), remarks=(*combined.remarks, *combined.terms))


def agree(run: str | Path, qrels: str | Path, labels_scale: ScaleName | None = None) -> LabelAgreement:
    """Return how far the run agrees with people's labels in the file `qrels`.

    The result is also written to agreement.json and shown in report.html, unless the folder is read-only.
    `labels_scale` says how people graded; without it, it is the run's own scale, unless a label is above
    it or says yes or no. Raises InputError when the folder or the labels cannot be read, or no label is
    about the run.
    """
    folder = RunFolder(_to_path("run", run))
    path = _to_path("qrels", qrels)
    loaded = load_run_without_labels(folder)
    labels = load_labels(path, loaded.dataset, loaded.pool, loaded.spec.scale, labels_scale)
    with suppress(InputError):  # whole queries have no plan of pairs
        read_pair_plan(path, loaded)
        words = ["judge", "agree", str(run), "--qrels", str(path), "--plan", str(path)]
        hint = Message(
            "the pairs of {file} were drawn to compare engines, and are no random sample; for the order of"
            " the engines by these labels: {command}",
            file=path,
            command=shlex.join(words),
        )
        labels = replace(labels, warnings=(*labels.warnings, hint))
    with translate_run_errors(folder.path):
        # A report that is made later shows the agreement only if it is about the same grades.
        agreement = replace(compare_with_labels(loaded, labels), grades=load_summary(folder).grades)
    write_record(folder, "agreement.json", agreement)
    return agreement


def agree_label_files(
    assessor: Path,
    labels: Path,
    runs: Sequence[Path],
    depth: int,
    names: Iterable[str] | None = None,
    labels_scale: ScaleName | None = None,
    *,
    is_complete: bool = False,
) -> LabelAgreement:
    """Return how far two files of grades agree, and what that means for the engines of the TREC `runs`.

    `labels_scale` is that of `labels`. With `is_complete`, a query that an engine has no row for is an empty
    list. Raises InputError when a file cannot be read, or the two files of grades have no query in common.
    """
    is_ambiguous = assessor.name == labels.name
    assessor_grades = load_label_file(assessor, names_path=is_ambiguous)
    people = load_label_file(labels, labels_scale, names_path=is_ambiguous)
    warnings = [*assessor_grades.warnings, *people.warnings]
    lists = trec.read_trec_rankings(runs, warnings.append) if runs else ()
    measures = resolve_measures(names, depth)
    loaded, assumed = run_from_labels(
        assessor_grades, people, lists, depth, measures, is_complete=is_complete
    )
    warnings += loaded.dataset.warnings
    shared = {key: grade for key, grade in people.grades.items() if key[0] in loaded.dataset.queries}
    unmatched = tuple(key for key in people.grades if key not in shared)
    people = replace(people, grades=shared, unmatched=unmatched, warnings=tuple(warnings))
    return compare_with_labels(loaded, people, assumed)


def align(
    run: str | Path,
    embeddings: str,
    *,
    seed: int = 0,
    base_url: str | None = None,
    store: str | Path | None = None,
) -> AlignmentSummary:
    """Learn a linear map of `embeddings` from the verdicts of a run, and measure it on held-out queries.

    `embeddings` is `lsa`, `openai:NAME`, `dashscope:NAME` or `local:NAME`, cached beside `store`, None for
    the verdict store of the run. The map is written to alignment.npy in the run's folder, the result to
    alignment.json. Raises InputError when the folder cannot be read or too few queries have relevant and
    other snippets, RunIncomplete when the server fails.
    """
    folder = RunFolder(_to_path("run", run))
    chosen_store = _to_path("store", store) if store else None
    seed = _to_seed(seed)  # before embeddings are paid
    with translate_run_errors(folder.path):
        cached_beside = find_store(folder, chosen_store)
        pool = select_judged_pool(load_run(folder))
    folder.check_free()  # before embeddings are paid
    vectors = _build_embedder(embeddings, cached_beside, base_url)(pool.texts)
    alignment = align_embeddings(embeddings, pool, vectors, seed)
    with folder.lock(wait=60):
        matrix = io.BytesIO()
        np.save(matrix, alignment.matrix, allow_pickle=False)
        folder.write("alignment.npy", [matrix.getvalue()])
        folder.write_json("alignment.json", to_json(alignment.summary))
    return alignment.summary


def compare_lists(
    run: str | Path, a: str, b: str, model: str | None = None, **options: object
) -> DimensionSummary:
    """Ask which of the lists of the engines `a` and `b` is better, on each query and in both orders.

    With `model` None, the first model of the run is asked; if the run used an address, `base_url` must name
    it again. `options` are those of `judge.Config`. The result becomes a dimension of the run, in its files.
    Raises InputError for a folder that cannot be read, and RunIncomplete when asking stopped or too few
    questions have an answer.
    """
    from judge import list_comparison
    from judge.config.run import Config

    path = _to_path("run", run)
    config = list_comparison.add_model(Config.load(None, model=model, **options), path)
    return _run_outside_loop(
        lambda token: list_comparison.add_comparison(config, path, a, b, cancel_token=token)
    )


def decide_order(
    run: str | Path,
    qrels: str | Path,
    plans: str | Path | Sequence[str | Path],
    labels_scale: ScaleName | None = None,
) -> PlannedComparison:
    """Return the order of engines by the labels in the file `qrels` of the pairs that `plans` drew.

    `plans` is a file of `judge agree --plan-pairs`, or several where pairs were drawn in rounds. Raises
    InputError when a file cannot be read, a plan is not about this run, or too few pairs have a label. The
    result is also written to labelled_order.json and shown in report.html, unless the folder is read-only.
    """
    folder = RunFolder(_to_path("run", run))
    path = _to_path("qrels", qrels)
    several = plans if isinstance(plans, Iterable) and not isinstance(plans, str) else [plans]
    files = [_to_path("plans", plan) for plan in several]
    if not files:
        raise InputError("no plan was named; name a file that judge agree --plan-pairs wrote")
    loaded = load_run_without_labels(folder)
    pair_plans = [read_pair_plan(file, loaded) for file in files]
    labels = load_labels(path, loaded.dataset, loaded.pool, loaded.spec.scale, labels_scale)
    with translate_run_errors(folder.path):
        order = replace(decide_planned_order(loaded, pair_plans, labels), grades=load_summary(folder).grades)
    write_record(folder, "labelled_order.json", order)
    return order


def _analyse_again(folder: RunFolder, names: Sequence[str], against: str | None) -> Summary:
    """Return the run's summary with the measures `names` after its own, and comparisons as for `compare`."""
    summary = load_current_summary(folder)
    more = resolve_measures(names, summary.depth) if names else ()
    if against is None and all(str(measure) in summary.measures for measure in more):
        return summary
    if against is not None and against not in summary.engines:
        raise InputError(
            "--against is {engine!r}; the run {run} has the engines {names}",
            engine=against,
            run=folder.path,
            names=SeparatedNames(map(repr, summary.engines)),
        )
    with translate_run_errors(folder.path):
        run = load_run(folder)
        measures = tuple(dict.fromkeys((*run.spec.measures, *more)))
        others = [engine for engine in run.dataset.engines if engine != against]
        engine_pairs = {frozenset((against, engine)) for engine in others} if against is not None else None
        return analyse_run(replace(run, spec=replace(run.spec, measures=measures)), engine_pairs).summary


def _list_names(option: str, value: object) -> list[str]:
    """Return a name, or a list of names, as a list; raise InputError for another value."""
    names = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for name in names:
        if not isinstance(name, str):
            raise InputError("{option} has {value!r:.80}, not a name", option=option, value=name)
    return [str(name) for name in names]


def _to_path(option: str, value: object) -> Path:
    if not isinstance(value, str | PathLike):
        raise InputError(
            "{option} is of type {type}, not a path{advice}",
            option=option,
            type=type(value).__name__,
            advice=Message("; pass its folder, result.folder") if isinstance(value, RunResult) else "",
        )
    return Path(value)


def _to_seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError("seed is {value!r:.80}; it must be a whole number, 0 or more", value=value)
    return int(value)


def _build_embedder(spec: str, store: Path, base_url: str | None) -> Callable[[Sequence[str]], Floats]:
    """Return what embeds texts, as `build_embedder`; also inside an event loop."""
    from judge.factory import build_embedder  # imports what asks models, too

    embed = build_embedder(spec, store, base_url)
    return lambda texts: _run_outside_loop(lambda _: embed(texts))


def _run_outside_loop(work: Callable[[CancelToken], T]) -> T:
    """Do `work`, in another thread if this one runs an event loop or handles an error.

    The error would be a cause of each error of `work`. In the other thread, too, Ctrl-C cancels it.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from judge.client.cancel import CancelToken

    cancel_token, runs_loop = CancelToken(), False
    with suppress(RuntimeError):
        runs_loop = bool(asyncio.get_running_loop())
    if not runs_loop and sys.exception() is None:
        return work(cancel_token)
    with ThreadPoolExecutor(1, thread_name_prefix="judge") as executor, cancel_token.forward_signals():
        return executor.submit(work, cancel_token).result()
