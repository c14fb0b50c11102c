"""Owns the command line and its exit codes.

0 fine, 1 regression, 2 input, 3 incomplete, 70 a fault of judge itself, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, NoReturn

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


def main(command: Callable[[], object] = app) -> None:
    """Runs the command line; errors become one line on stderr and an exit code."""
    # A run builds much and throws little away: looking for garbage often costs a tenth of its time.
    gc.set_threshold(100_000)
    try:
        command()
    except JudgeError as error:
        _end(error)
    except Exception as error:  # noqa: BLE001  # the edge: a crash must not be taken for a regression
        # A signal may be heard anywhere, also inside a library that then trips over it.
        interrupted = next((each for each in _chain(error) if isinstance(each, Interrupted)), None)
        if interrupted is not None:
            _end(interrupted)
        from judge.models.faults import mask

        print(mask(traceback.format_exc()), file=sys.stderr)  # noqa: T201
        sys.exit(70)


def _end(error: JudgeError) -> NoReturn:
    """Says `error` and ends the process with its exit code."""
    say(error)
    if isinstance(error, Interrupted):
        # A library's thread that still waits for a server must not keep a person waiting.
        sys.stdout.flush()
        os._exit(130)
    sys.exit(2 if isinstance(error, InputError) else 3)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that it was raised in the handling of."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
