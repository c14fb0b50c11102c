"""Owns the command line and its exit codes.

0 fine, 1 regression, 2 input, 3 incomplete, 70 a fault of judge itself, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from typing import Annotated

import typer

from judge.commands import collect, finished, nightly, running, selftest, trend
from judge.commands.terminal import say
from judge.errors import InputError, Interrupted, JudgeError

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


_COMMANDS = (
    *(running.demo, running.run, running.estimate, selftest.selftest, collect.collect),
    *(finished.score, finished.compare, finished.agree, finished.annotate, finished.report),
    *(finished.measures, finished.show, nightly.nightly, trend.trend),
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(nightly.baseline)


def main() -> None:
    """Runs the command line; errors become one line on stderr and an exit code."""
    # A run builds much and throws little away: looking for garbage often costs a tenth of its time.
    gc.set_threshold(100_000)
    try:
        app()
    except JudgeError as error:
        say(error)
        if isinstance(error, Interrupted):
            # A library's thread that still waits for a server must not keep a person waiting.
            sys.stdout.flush()
            os._exit(130)
        sys.exit(2 if isinstance(error, InputError) else 3)
    except Exception:  # noqa: BLE001  # this is the edge: whoever reads exit codes must not take it for a regression
        from judge.models.faults import mask

        print(mask(traceback.format_exc()), file=sys.stderr)  # noqa: T201
        sys.exit(70)
