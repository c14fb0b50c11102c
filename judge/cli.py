"""Owns words to people and exit codes: 0 fine, 2 usage or input, 3 incomplete, 130 interrupted."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from judge import options
from judge.errors import InputError, Interrupted, JudgeError

if TYPE_CHECKING:
    from rich.console import Console

    from judge.assess.watch import Watch
    from judge.config import Config
    from judge.records import ScaleName

app = typer.Typer(
    name="judge",
    help="Compare web search engines without ground truth: an LLM judges every (query, snippet) pair,"
    " ordinary IR evaluation does the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from judge.identity import versions

        typer.echo(f"judge {versions()['judge']}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(out: options.Out = None) -> None:
    """Judge a shipped Chinese and English example with the offline lexical floor: no key, no network."""
    from judge import example

    _judge(
        {"data": [example.path()], "model": "lexical", "out": _text(out) or "runs/demo"},
        None,
        hint="\nThis was the lexical floor: term overlap, no understanding. With a model of your own:\n"
        f"  judge run {example.path()} -m openai:NAME   (set OPENAI_API_KEY, or --base-url for your server)",
    )


def _with_the_options_of(other: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the signature of another: all that a run sends decides what an estimate knows."""

    def take_over(command: Callable[..., None]) -> Callable[..., None]:
        command.__signature__ = inspect.signature(other, eval_str=True)  # type: ignore[attr-defined]
        command.__annotations__ = other.__annotations__
        return command

    return take_over


@app.command()
def run(  # one parameter an option is how typer reads a command
    context: typer.Context,
    data: options.Data = None,
    model: options.Model = None,
    topics: options.Topics = None,
    docs: options.Docs = None,
    trec_runs: options.TrecRuns = None,
    base_url: options.BaseUrl = None,
    scale: options.Scale = None,
    lang: options.Lang = None,
    repeats: options.Repeats = None,
    depth: options.Depth = None,
    relevant_from: options.RelevantFrom = None,
    as_of: options.AsOf = None,
    prompts: options.Prompts = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
    max_tokens: options.MaxTokens = None,
    thinking: options.Thinking = None,
    measures: options.Measures = None,
    min_coverage: options.MinCoverage = None,
    concurrency: options.Concurrency = None,
    timeout: options.Timeout = None,
    attempts: options.Attempts = None,
    budget: options.Budget = None,
    max_calls: options.MaxCalls = None,
    price: options.Price = None,
    config: options.Config = None,
    out: options.Out = None,
    store: options.Store = None,
) -> None:
    """Judge a dataset, score every engine, and leave a run folder. The same command again resumes."""
    _judge(_given(context), config)


@app.command()
@_with_the_options_of(run)
def estimate(context: typer.Context, **_: object) -> None:
    """Say what a run would ask and cost, without a call."""
    from judge import pipeline
    from judge.report import table

    asked = _options(_given(context), context.params["config"])
    table.estimate(pipeline.estimate(asked), _console())


@app.command()
def score(run: options.RunFolder, measures: options.Measures = None) -> None:
    """Score a run again from its judgments: free, and with any measures."""
    from judge import pipeline
    from judge.report import table

    names = measures.split() if measures else None
    table.outcome(pipeline.rescore(run, names), _console())


@app.command()
def compare(
    runs: options.RunFolders,
    measures: options.ShownMeasures = None,
    pairs: options.Pairs = 21,
    json: options.Json = False,
) -> None:
    """Say which engines differ and how sure that is, within a run or across runs."""
    from judge import finished
    from judge.report import comparison

    found = finished.compare_runs(runs)
    if json:
        _print_json(found)
    else:
        comparison.comparison(found, _console(), measures.split() if measures else None, pairs)


@app.command()
def agree(
    run: options.RunOrGrades,
    qrels: options.Qrels = None,
    plan: options.Draw = None,
    seed: options.DrawSeed = None,
    out: options.PlanFile = None,
    labels_scale: options.LabelsScale = None,
    measure: options.ShownMeasure = None,
    trec_runs: options.ListsOfEngines = None,
    depth: options.DepthOfLists = None,
    json: options.Json = False,
) -> None:
    """Say whether the assessor judges as people do, and what its errors do to the engines."""
    from judge import finished
    from judge.report import agreement_table

    if (qrels is None) == (plan is None):
        raise InputError("give --qrels FILE with people's labels, or --plan N to draw queries for labelling")
    if not run.is_file() and (trec_runs or depth is not None):
        raise InputError(f"--run and --depth go with two files of grades; {run} is a run's folder")
    if plan is None and (seed is not None or out is not None):
        raise InputError("--seed and --out go with --plan, which draws queries for labelling")
    if plan is not None:
        path = finished.plan_labels(run, plan, seed or 0, out)
        typer.echo(f"{path}: fill in the column 'grade', then: judge agree {run} --qrels {path}")
    elif qrels is not None:
        if run.is_file():
            names = [measure] if measure else None
            scale = _scale_name(labels_scale)
            found = finished.agree_without_run(run, qrels, trec_runs or [], depth or 10, names, scale)
        else:
            found = finished.agree(run, qrels, _scale_name(labels_scale))
        if json:
            _print_json(found)
        else:
            agreement_table.agreement(found, _console(), measure)


@app.command()
def annotate(
    run: options.RunFolder,
    plan: options.Plan = None,
    who: options.Who = "me",
    host: options.Host = "127.0.0.1",
    port: options.Port = 8765,
    token: options.Token = None,
    opens: options.Open = False,
) -> None:
    """Label pairs blind on a local page; what comes of it feeds judge agree. Needs judge[web]."""
    from judge.annotate import serve

    serve.annotate(run, plan, who, serve.Address(host, port, token), opens, typer.echo)


@app.command()
def report(run: options.RunFolder, opens: options.Open = False) -> None:
    """Write report.html of a run anew: one file to look at, mail or keep."""
    from judge import finished

    path = finished.report(run)
    typer.echo(path)
    if opens:
        typer.launch(str(path.resolve()))


@app.command()
def measures() -> None:
    """List every measure: how it is written, what it says, where its formula comes from."""
    from judge.report import table

    table.measures(_console())


@app.command()
def show(run: options.RunFolder, query: options.QueryId, json: options.Json = False) -> None:
    """Print a query's snippets at every engine, with grades and reasons."""
    from judge.report import reading

    entry = reading.find(run, query)
    if json:
        _print_json(entry)
    else:
        reading.show(entry, _console())


def main() -> None:
    """Runs the command line; errors become one line on stderr and an exit code."""
    # A run builds much and throws little away: looking for garbage often costs a tenth of its time.
    gc.set_threshold(100_000)
    try:
        app()
    except JudgeError as error:
        _say(error)
        if isinstance(error, Interrupted):
            # A library's thread that still waits for a server must not keep a person waiting.
            sys.stdout.flush()
            os._exit(130)
        sys.exit(2 if isinstance(error, InputError) else 3)


def _given(context: typer.Context) -> dict[str, Any]:
    """The options of the command as they were typed, less the one that names the file of options."""
    return {name: value for name, value in context.params.items() if name != "config"}


def _judge(given: dict[str, Any], toml: Path | None, hint: str = "") -> None:
    from judge import pipeline
    from judge.report import table

    config = _options(given, toml)
    outcome = pipeline.run(config, watch=_watch())
    table.outcome(outcome, _console())
    if hint:
        typer.echo(hint)
    if outcome.incomplete is not None:
        _say(outcome.incomplete)
        sys.exit(3)


def _options(given: dict[str, Any], toml: Path | None) -> Config:
    from judge.config import Config

    texts: dict[str, Any] = {
        name: _text(value) if isinstance(value, Path) else value for name, value in given.items()
    }
    texts |= _inputs(texts.pop("data", None) or [], texts.get("trec_runs") or [])
    if texts.get("measures"):
        texts["measures"] = texts["measures"].split()
    if texts.get("price"):
        texts["price"] = _prices(texts["price"])
    return Config.load(toml, **texts)


def _inputs(data: Sequence[str | Path], trec_runs: Sequence[str | Path]) -> dict[str, Any]:
    """Files without an option name are the dataset, or go on with the list that --run began."""
    if trec_runs:
        return {"trec_runs": [str(path) for path in (*trec_runs, *data)]}
    if len(data) > 1:
        raise InputError(f"{len(data)} datasets were given ({data[0]}, {data[1]}, …); a run has one")
    return {"data": str(data[0]) if data else None}


def _prices(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--price is {text!r}; it is INPUT,OUTPUT[,CACHED], e.g. 0.4,1.2,0.08") from None


def _watch() -> Watch:
    """A bar where somebody looks, lines where a log is written."""
    from judge.report.progress import Bar, Lines

    console = _console(stderr=True)
    return Bar(console) if console.is_terminal else Lines(sys.stderr)


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    # A pipe has no width; a table that is folded at 80 columns can't be read or searched.
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=1000)


def _scale_name(text: str | None) -> ScaleName | None:
    if text not in (None, "graded", "binary"):
        raise InputError(f"--labels-scale is {text!r}; it is graded or binary")
    return cast("ScaleName | None", text)


def _print_json(value: Mapping[str, Any]) -> None:
    from judge.report.rundir import dump

    typer.echo(dump(value, indent=2))


def _text(value: Path | None) -> str | None:
    return None if value is None else str(value)


def _say(error: JudgeError) -> None:
    print(f"judge: {' '.join(str(error).split())}", file=sys.stderr)  # noqa: T201
