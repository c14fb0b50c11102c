"""Owns the commands that may cost money: demo, run, estimate."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judge.cli import options
from judge.cli.terminal import console, names, say, text, watch
from judge.errors import InputError

if TYPE_CHECKING:
    from judge.config.run import Config


def demo(out: options.Out = None) -> None:
    """Judge a shipped Chinese and English example with the offline lexical floor: no key, no network."""
    from judge import example

    _judge(
        {"data": [example.path()], "model": "lexical", "out": text(out) or "runs/demo"},
        None,
        hint="\nThis was the lexical floor: term overlap, no understanding. With a model of your own:\n"
        f"  judge run {example.path()} -m openai:NAME   (set OPENAI_API_KEY, or --base-url for your server)",
    )


def run(  # one parameter an option is how typer reads a command
    context: typer.Context,
    data: options.Data = None,
    model: options.Models = None,
    topics: options.Topics = None,
    docs: options.Docs = None,
    trec_runs: options.TrecRuns = None,
    columns: options.Columns = None,
    assessor: options.Assessor = None,
    base_url: options.BaseUrl = None,
    scale: options.Scale = None,
    lang: options.Lang = None,
    repeats: options.Repeats = None,
    depth: options.Depth = None,
    relevant_from: options.RelevantFrom = None,
    dates: options.Dates = None,
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
    max_wait: options.MaxWait = None,
    budget: options.Budget = None,
    max_calls: options.MaxCalls = None,
    price: options.Price = None,
    prices: options.Prices = None,
    config: options.Config = None,
    out: options.Out = None,
    store: options.Store = None,
) -> None:
    """Judge a dataset, score every engine, and leave a run folder. The same command again resumes."""
    _judge(given(context), config)


@options.those_of(run)
def estimate(context: typer.Context, **_: object) -> None:
    """Say what a run would ask and cost, without a call."""
    from judge import pipeline
    from judge.cli.render import estimate_table

    asked = to_config(given(context), context.params["config"])
    estimate_table.print_forecast(pipeline.estimate(asked), console())


def given(context: typer.Context) -> dict[str, Any]:
    """The options of the command as they were typed, less the one that names the file of options."""
    return {name: value for name, value in context.params.items() if name != "config"}


def _judge(typed: dict[str, Any], toml: Path | None, hint: str = "") -> None:
    from judge import pipeline
    from judge.assess.signals import raising
    from judge.cli.render import run_tables

    config = to_config(typed, toml)
    with raising():
        outcome = pipeline.run(config, watch=watch())
    # Tables of a run that stopped before its first grade are empty.
    if outcome.incomplete is None or run_tables.has_grades(outcome):
        run_tables.print_run(outcome, console())
    if hint:
        typer.echo(hint)
    if outcome.incomplete is not None:
        say(outcome.incomplete)
        sys.exit(3)


def to_config(typed: dict[str, Any], toml: Path | None) -> Config:
    """What was asked, from options as they were typed and a TOML file; raises InputError."""
    from judge.config.run import Config

    texts: dict[str, Any] = {
        name: text(value) if isinstance(value, Path) else value for name, value in typed.items()
    }
    texts["model"], texts["panel"] = _assessors(texts.get("model"))
    texts |= _inputs(texts.pop("data", None) or [], texts.get("trec_runs") or [])
    # A comma stands in a column's name, too: one that separates has a field and a '=' behind it.
    texts["columns"] = [
        one for each in texts.get("columns") or [] for one in re.split(r",(?=\w+=)", each)
    ] or None
    texts["measures"] = names(texts.get("measures"))
    if texts.get("price"):
        texts["price"] = _prices(texts["price"])
    return Config.load(toml, **texts)


def _assessors(models: str | list[str] | None) -> tuple[str | None, list[str] | None]:
    """The first model that was named, and the others, who make a panel with it; None when none was."""
    named = [models] if isinstance(models, str) else models or []
    return (named[0], named[1:]) if named else (None, None)


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
