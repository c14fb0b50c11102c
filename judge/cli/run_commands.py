"""The commands that ask a model: `judge demo`, `judge run`, `judge estimate` and `judge selftest`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options
from judge.cli.terminal import (
    make_console,
    make_progress_listener,
    parse_measure_names,
    print_error,
    ui_translator,
)
from judge.errors import InputError
from judge.messages import Message

if TYPE_CHECKING:
    from judge.config.run import Config

#: Options that are numbers with commas, and their forms.
_NUMBER_LISTS = {
    "price": Message("INPUT,OUTPUT[,CACHED], e.g. 0.4,1.2,0.08"),
    "rerank_thresholds": Message("scores in ascending order, e.g. 0.2,0.5,0.8"),
}
_ProbeRepeats = Annotated[
    int | None, typer.Option("--repeats", help="Judge the probes N times; the last time counts.")
]
_ResultFolder = Annotated[
    Path | None,
    typer.Option("--out", help="A run folder; the result is written beside it, for the runs there (runs/…)."),
]
#: Options of the dataset and of measures, which have no meaning for the shipped probes.
_DATASET_OPTIONS = frozenset(
    {"data", "columns", "topics", "docs", "trec_runs", "assessor", "depth", "relevant_from", "diversity"}
    | {"dates", "as_of", "measures", "batch", "near_duplicates", "rerank_thresholds", "qrels", "check"}
    | {"points", "explain", "explain_queries"}
)


def demo(out: options.OutOption = None) -> None:
    """Judge a shipped bilingual example, without a key or a network."""
    from judge import example

    t = ui_translator()
    _judge(
        {"data": [example.path()], "model": "lexical", "out": out or "runs/demo"},
        None,
        hint="\n"
        + t("This was the lexical model: term overlap, no understanding. With a model of your own:")
        + f"\n  judge run {example.path()} -m openai:NAME"
        + t("   (set OPENAI_API_KEY, or --base-url for your server)"),
    )


def run(  # one parameter an option is how typer reads a command
    context: typer.Context,
    data: options.DataArgument = None,
    model: options.ModelsOption = None,
    topics: options.TopicsOption = None,
    docs: options.DocsOption = None,
    trec_runs: options.TrecRunsOption = None,
    columns: options.ColumnsOption = None,
    qrels: options.RunQrelsOption = None,
    check: options.CheckOption = None,
    assessor: options.AssessorOption = None,
    base_url: options.BaseUrlOption = None,
    scale: options.ScaleOption = None,
    lang: options.LangOption = None,
    repeats: options.RepeatsOption = None,
    depth: options.DepthOption = None,
    relevant_from: options.RelevantFromOption = None,
    rerank_thresholds: options.RerankThresholdsOption = None,
    dates: options.DatesOption = None,
    as_of: options.AsOfOption = None,
    prompts: options.PromptsOption = None,
    temperature: options.TemperatureOption = None,
    top_p: options.TopPOption = None,
    seed: options.SeedOption = None,
    max_tokens: options.MaxTokensOption = None,
    thinking: options.ThinkingOption = None,
    measures: options.MeasuresOption = None,
    min_coverage: options.MinCoverageOption = None,
    concurrency: options.ConcurrencyOption = None,
    timeout: options.TimeoutOption = None,
    attempts: options.AttemptsOption = None,
    max_wait: options.MaxWaitOption = None,
    budget: options.BudgetOption = None,
    max_calls: options.MaxCallsOption = None,
    batch: options.BatchOption = None,
    on: options.OnOption = None,
    ray_address: options.RayAddressOption = None,
    near_duplicates: options.NearDuplicatesOption = None,
    diversity: options.DiversityOption = None,
    points: options.PointsOption = None,
    explain: options.ExplainOption = None,
    explain_queries: options.ExplainQueriesOption = None,
    price: options.PriceOption = None,
    prices: options.PricesOption = None,
    config: options.ConfigOption = None,
    out: options.OutOption = None,
    store: options.StoreOption = None,
) -> None:
    """Judge a dataset, score every engine and write a run folder. The same command again resumes."""
    _judge(typed_options(context), config)


@options.inherit_options(run)
def estimate(context: typer.Context, **_: object) -> None:
    """Estimate the calls and the cost of a run, without a call."""
    from judge import pipeline
    from judge.cli.render import assessor_tables

    config = to_config(typed_options(context), context.params["config"])
    assessor_tables.print_forecast(pipeline.estimate(config), make_console(), ui_translator())


def typed_options(context: typer.Context) -> dict[str, Any]:
    """Return the options of the command as they were typed, except --config."""
    return {name: value for name, value in context.params.items() if name != "config"}


def _judge(typed: dict[str, Any], toml: Path | None, hint: str = "") -> None:
    from judge import pipeline
    from judge.cli.render import run_tables
    from judge.client.cancel import raise_on_signals

    config = to_config(typed, toml)
    with raise_on_signals():
        result = pipeline.run(config, progress=make_progress_listener())
        # Tables of a run that stopped before its first grade are empty.
        if result.incomplete is None or run_tables.has_grades(result):
            run_tables.print_run(result, make_console(), ui_translator())
    if hint:
        typer.echo(hint)
    if result.incomplete is not None:
        print_error(result.incomplete)
        sys.exit(3)


def to_config(typed: dict[str, Any], toml: Path | None) -> Config:
    """Return the options of a run from those that were typed and a TOML file; raise InputError if invalid."""
    from judge.config.run import Config

    options = dict(typed)
    models = options.get("model") or []
    models = [models] if isinstance(models, str) else models
    options["model"], options["panel"] = (models[0], models[1:]) if models else (None, None)
    options |= _dataset_options(options.pop("data", None) or [], options.get("trec_runs") or [])
    # A column's name may hold a comma: one that separates is followed by FIELD=.
    options["columns"] = [
        one for text in options.get("columns") or [] for one in re.split(r",(?=\w+=)", text)
    ] or None
    options["measures"] = parse_measure_names(options.get("measures"))
    for name, form in _NUMBER_LISTS.items():
        if options.get(name):
            options[name] = _parse_numbers(options[name], name, form)
    return Config.load(toml, **options)


def _dataset_options(data: Sequence[str | Path], trec_runs: Sequence[str | Path]) -> dict[str, Any]:
    """Return the options for files without an option name: the dataset, or further files of --run."""
    if trec_runs:
        return {"trec_runs": [str(path) for path in (*trec_runs, *data)]}
    if len(data) > 1:
        raise InputError(
            "{count} datasets were given ({first}, {second}, …); a run has one",
            count=len(data),
            first=data[0],
            second=data[1],
        )
    return {"data": str(data[0]) if data else None}


def _parse_numbers(text: str, name: str, form: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--{option} is {value!r}; it is {form}", option=name.replace("_", "-"), value=text, form=form
        ) from None


@options.inherit_options(
    run, without=_DATASET_OPTIONS, model=options.ModelOption, repeats=_ProbeRepeats, out=_ResultFolder
)
def selftest(context: typer.Context, **_: object) -> None:
    """Test an assessor on shipped probes.

    They cover prompt injection, strictness and format. Runs of the assessor show the result.
    """
    from judge.cli.render import assessor_tables
    from judge.client.cancel import raise_on_signals
    from judge.selftest.selftest_run import check_testable, count_calls, run_selftest

    check_testable(context.params["model"] or "")
    config = to_config(typed_options(context), context.params["config"])
    assessor_tables.print_plan(*count_calls(config), make_console(), ui_translator())
    with raise_on_signals():
        result = run_selftest(config, progress=make_progress_listener())
    assessor_tables.print_selftest(result, make_console(), ui_translator())
    if result.incomplete is not None:
        print_error(result.incomplete)
        sys.exit(3)
