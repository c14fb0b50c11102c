"""The command `judge selftest`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.language import ui_translator
from judge.cli.run_commands import run, to_config, typed_options
from judge.cli.terminal import make_console, make_progress_listener, print_error

RepeatsOption = Annotated[
    int | None, typer.Option("--repeats", help="Judge the probes N times; the last time counts.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="A run folder; the result is written beside it, for the runs there (runs/…)."),
]


#: Options of the dataset and of measures, which have no meaning for the shipped probes.
_DATASET_OPTIONS = frozenset(
    {"data", "columns", "topics", "docs", "trec_runs", "assessor", "depth", "relevant_from"}
    | {"dates", "as_of", "measures", "batch"}
)


@options.inherit_options(
    run, without=_DATASET_OPTIONS, model=options.ModelOption, repeats=RepeatsOption, out=OutOption
)
def selftest(context: typer.Context, **_: object) -> None:
    """Test an assessor on shipped probes.

    They cover prompt injection, strictness and format. Runs of the assessor show the result.
    """
    from judge.cli.render import selftest_table
    from judge.client.cancel import raise_on_signals
    from judge.selftest.selftest_run import count_calls
    from judge.selftest.selftest_run import run_selftest as test

    config = to_config(typed_options(context), context.params["config"])
    selftest_table.print_plan(*count_calls(config), make_console(), ui_translator())
    with raise_on_signals():
        result = test(config, progress=make_progress_listener())
    selftest_table.print_selftest(result, make_console(), ui_translator())
    if result.incomplete is not None:
        print_error(result.incomplete)
        sys.exit(3)
