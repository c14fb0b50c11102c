"""Owns the command that tests an assessor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.run_commands import given, run, to_config
from judge.cli.terminal import console, say, watch

Anew = Annotated[int | None, typer.Option("--repeats", help="Ask anew: N rounds, of which the last counts.")]
Beside = Annotated[
    Path | None,
    typer.Option("--out", help="A run's folder: the result is kept beside it, for the runs there (runs/…)."),
]


#: What there is to say of a dataset, a panel and measures; probes are always the same.
_OF_RUNS = frozenset(
    {"data", "columns", "topics", "docs", "trec_runs", "assessor", "depth", "relevant_from"}
    | {"dates", "as_of", "measures"}
)


@options.those_of(run, without=_OF_RUNS, model=options.Model, repeats=Anew, out=Beside)
def selftest(context: typer.Context, **_: object) -> None:
    """Test an assessor on shipped probes: is it fooled, too strict, obedient? Its runs show the result."""
    from judge.assess.signals import raising
    from judge.cli.render import selftest_table
    from judge.selftest.selftest_run import count_calls
    from judge.selftest.selftest_run import run_selftest as test

    asked = to_config(given(context), context.params["config"])
    selftest_table.before(*count_calls(asked), console())
    with raising():
        found = test(asked, watch=watch())
    selftest_table.tested(found, console())
    if found.incomplete is not None:
        say(found.incomplete)
        sys.exit(3)
