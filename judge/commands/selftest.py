"""Owns the command that tests an assessor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from judge.commands import options
from judge.commands.running import given, to_config
from judge.commands.terminal import console, say, watch

Anew = Annotated[int | None, typer.Option("--repeats", help="Ask anew: N rounds, of which the last counts.")]
Beside = Annotated[
    Path | None,
    typer.Option("--out", help="A run's folder: the result is kept beside it, for the runs there (runs/…)."),
]


def selftest(
    context: typer.Context,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    scale: options.Scale = None,
    lang: options.Lang = None,
    repeats: Anew = None,
    prompts: options.Prompts = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
    max_tokens: options.MaxTokens = None,
    thinking: options.Thinking = None,
    min_coverage: options.MinCoverage = None,
    concurrency: options.Concurrency = None,
    timeout: options.Timeout = None,
    attempts: options.Attempts = None,
    budget: options.Budget = None,
    max_calls: options.MaxCalls = None,
    price: options.Price = None,
    prices: options.Prices = None,
    config: options.Config = None,
    out: Beside = None,
    store: options.Store = None,
) -> None:
    """Test an assessor on shipped probes: is it fooled, too strict, obedient? Its runs show the result."""
    from judge.assess.signals import raising
    from judge.selftest import table
    from judge.selftest.flow import calls
    from judge.selftest.flow import selftest as test

    asked = to_config(given(context), config)
    table.before(*calls(asked), console())
    with raising():
        found = test(asked, watch=watch())
    table.tested(found, console())
    if found.incomplete is not None:
        say(found.incomplete)
        sys.exit(3)
