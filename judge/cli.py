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

_Data = Annotated[
    list[Path] | None,
    typer.Argument(help="Dataset: .jsonl, .json, .csv or .parquet (after --run: more run files)."),
]
_Topics = Annotated[Path | None, typer.Option(help="TREC input: topics (id, tab, text).")]
_Docs = Annotated[Path | None, typer.Option(help="TREC input: documents (.jsonl or .tsv, .gz too).")]
_TrecRuns = Annotated[list[Path] | None, typer.Option("--run", help="TREC input: a run file; repeat it.")]
_Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME or lexical."),
]
_BaseUrl = Annotated[str | None, typer.Option(help="Server to call instead of the provider's own.")]
_Scale = Annotated[str | None, typer.Option(help="graded (0-3, default) or binary (yes/no).")]
_Lang = Annotated[str | None, typer.Option(help="Language of the prompt: auto (by query, default), zh, en.")]
_Repeats = Annotated[int | None, typer.Option(help="Judge everything N times, to see how stable it is.")]
_Depth = Annotated[int | None, typer.Option(help="How many ranks are judged (default 10).")]
_RelevantFrom = Annotated[int | None, typer.Option(help="Lowest grade that counts as relevant.")]
_AsOf = Annotated[str | None, typer.Option(help="A date that the prompt calls today, e.g. 2026-05-01.")]
_Prompts = Annotated[Path | None, typer.Option(help="Folder with your own zh/ and en/ prompts.")]
_Temperature = Annotated[float | None, typer.Option(help="Sampling temperature (default 0).")]
_TopP = Annotated[float | None, typer.Option(help="Nucleus sampling; not sent unless given.")]
_Seed = Annotated[int | None, typer.Option(help="Sampling seed; not sent unless given.")]
_MaxTokens = Annotated[int | None, typer.Option(help="Longest reply, in tokens (default 512).")]
_Thinking = Annotated[bool | None, typer.Option("--thinking", help="Let a reasoning model think.")]
_Measures = Annotated[str | None, typer.Option(help='Measures, e.g. "nDCG@10 AP@10 P@5".')]
_MinCoverage = Annotated[float | None, typer.Option(help="Share of pairs that must be judged (0.99).")]
_Concurrency = Annotated[int | None, typer.Option(help="Most calls in flight (default 64).")]
_Timeout = Annotated[float | None, typer.Option(help="Seconds before a call is given up (default 60).")]
_Attempts = Annotated[int | None, typer.Option(help="Requests per call when the server fails (default 5).")]
_Budget = Annotated[float | None, typer.Option(help="Stop when this many USD are spent; needs --price.")]
_MaxCalls = Annotated[int | None, typer.Option(help="Stop after this many calls.")]
_Price = Annotated[
    str | None, typer.Option(help="INPUT,OUTPUT[,CACHED] in USD per million tokens, from your provider.")
]
_Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file with these options; the command line wins.")
]
_Out = Annotated[Path | None, typer.Option(help="Folder of the run; an existing one is gone on with.")]
_Store = Annotated[Path | None, typer.Option(help="Verdict store (default: verdicts.sqlite beside --out).")]
_RunFolder = Annotated[Path, typer.Argument(help="Folder of a run.", show_default=False)]


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
def demo(out: _Out = None) -> None:
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
    data: _Data = None,
    model: _Model = None,
    topics: _Topics = None,
    docs: _Docs = None,
    trec_runs: _TrecRuns = None,
    base_url: _BaseUrl = None,
    scale: _Scale = None,
    lang: _Lang = None,
    repeats: _Repeats = None,
    depth: _Depth = None,
    relevant_from: _RelevantFrom = None,
    as_of: _AsOf = None,
    prompts: _Prompts = None,
    temperature: _Temperature = None,
    top_p: _TopP = None,
    seed: _Seed = None,
    max_tokens: _MaxTokens = None,
    thinking: _Thinking = None,
    measures: _Measures = None,
    min_coverage: _MinCoverage = None,
    concurrency: _Concurrency = None,
    timeout: _Timeout = None,
    attempts: _Attempts = None,
    budget: _Budget = None,
    max_calls: _MaxCalls = None,
    price: _Price = None,
    config: _Config = None,
    out: _Out = None,
    store: _Store = None,
) -> None:
    """Judge a dataset, score every engine, and leave a run folder. The same command again resumes."""
    _judge(_given(context), config)


@app.command()
@_with_the_options_of(run)
def estimate(context: typer.Context, **_: object) -> None:
    """Say what a run would ask and cost, without a call."""
    from judge import pipeline
    from judge.report import table

    options = _options(_given(context), context.params["config"])
    table.estimate(pipeline.estimate(options), _console())


@app.command()
def score(run: _RunFolder, measures: _Measures = None) -> None:
    """Score a run again from its judgments: free, and with any measures."""
    from judge import pipeline
    from judge.report import table

    names = measures.split() if measures else None
    table.outcome(pipeline.rescore(run, names), _console())


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", show_default=False)],
    measures: Annotated[
        str | None, typer.Option(help='Measures whose pairs are shown (default: the first), e.g. "AP@10".')
    ] = None,
    pairs: Annotated[int, typer.Option(min=0, help="Most pairs of engines to show for a measure.")] = 21,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON instead.")] = False,
) -> None:
    """Say which engines differ and how sure that is, within a run or across runs."""
    from judge import pipeline
    from judge.report import comparison

    found = pipeline.compare_runs(runs)
    if json:
        _print_json(found)
    else:
        comparison.comparison(found, _console(), measures.split() if measures else None, pairs)


@app.command()
def agree(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run, or an assessor's grades (qrels).", show_default=False)
    ],
    qrels: Annotated[
        Path | None, typer.Option(help="People's labels: TREC qrels, or CSV (query_id, snippet_id, grade).")
    ] = None,
    plan: Annotated[
        int | None, typer.Option(help="Draw N queries at random and write a file for people to label.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other queries.")] = 0,
    out: Annotated[Path | None, typer.Option(help="File of the plan (default: RUN/labels.csv).")] = None,
    labels_scale: Annotated[
        str | None, typer.Option(help="How people graded: graded or binary (default: as it looks).")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure that is shown (default: the first).")] = None,
    trec_runs: Annotated[
        list[Path] | None, typer.Option("--run", help="Without a folder: a TREC run, one an engine.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Without a folder: ranks of a run that count.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON instead.")] = False,
) -> None:
    """Say whether the assessor judges as people do, and what its errors do to the engines."""
    from judge import pipeline
    from judge.report import agreement_table

    if (qrels is None) == (plan is None):
        raise InputError("give --qrels FILE with people's labels, or --plan N to draw queries for labelling")
    if trec_runs and not run.is_file():
        raise InputError(
            f"--run goes with two files of grades; {run} is a run's folder, which has its engines"
        )
    if plan is not None:
        path = pipeline.plan_labels(run, plan, seed, out)
        typer.echo(f"{path}: fill in the column 'grade', then: judge agree {run} --qrels {path}")
    elif qrels is not None:
        if run.is_file():
            names = [measure] if measure else None
            scale = _scale_name(labels_scale)
            found = pipeline.agree_without_run(run, qrels, trec_runs or [], depth, names, scale)
        else:
            found = pipeline.agree(run, qrels, _scale_name(labels_scale))
        if json:
            _print_json(found)
        else:
            agreement_table.agreement(found, _console(), measure)


@app.command()
def annotate(
    run: _RunFolder,
    plan: Annotated[
        Path | None, typer.Option(help="What to label: the file of judge agree --plan (default: 50 queries).")
    ] = None,
    who: Annotated[str, typer.Option(help="Who labels; each person has a file of their own.")] = "me",
    host: Annotated[str, typer.Option(help="Address to listen on; another than this needs --token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.")] = 8765,
    token: Annotated[str | None, typer.Option(help="Secret that the page's address must have.")] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Label pairs blind on a local page; what comes of it feeds judge agree. Needs judge[web]."""
    from judge.annotate import serve

    serve.annotate(run, plan, who, serve.Address(host, port, token), opens, typer.echo)


@app.command()
def report(
    run: _RunFolder,
    opens: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Write report.html of a run anew: one file to look at, mail or keep."""
    from judge import pipeline

    path = pipeline.report(run)
    typer.echo(path)
    if opens:
        typer.launch(str(path.resolve()))


@app.command()
def measures() -> None:
    """List every measure: how it is written, what it says, where its formula comes from."""
    from judge.report import table

    table.measures(_console())


@app.command()
def show(
    run: _RunFolder,
    query: Annotated[str, typer.Option("--query", help="The query's id.")],
) -> None:
    """Print a query's snippets at every engine, with grades and reasons."""
    from judge.report import reading

    reading.show(run, query, _console())


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
