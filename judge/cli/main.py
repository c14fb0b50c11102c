"""Owns the command line and its exit codes.

0 fine, 1 regression, 2 input, 3 incomplete, 70 a fault of judge itself, 130 interrupted. A code says what
became of the work, whoever reads: `judge show … | head` is 0, and a run goes on when its pager is closed.
Only words that a disk doesn't take (`> full/disk`) make it 3, for then something is missing.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from judge.cli import (
    collect_command,
    nightly_commands,
    output_streams,
    run_commands,
    saved_run_commands,
    selftest_command,
    trend_command,
)
from judge.cli.terminal import say
from judge.errors import InputError, Interrupted, JudgeError, StoreError, iterate_causes

#: What a disk or its owner refuses: no fault of judge, and nothing that a dataset or an option could mend.
_REFUSED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
    | {errno.EMFILE, errno.ENFILE}
)
#: What is wrong with the path of a file that an option or an argument names.
_BAD_PATH = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})


class _Commands(TyperGroup):
    """The commands; typer ends with 1, which is a regression here, where it knows no better."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Runs the command; a connection or a file that ends too early is raised as what it is: a crash."""
        try:
            return super().invoke(ctx)
        except (OSError, EOFError) as error:
            if isinstance(error, EOFError) or error.errno == errno.EPIPE:
                raise RuntimeError("a file or a connection ended where more was to come") from error
            raise


app = typer.Typer(
    name="judge",
    cls=_Commands,
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
    *(
        run_commands.demo,
        run_commands.run,
        run_commands.estimate,
        selftest_command.selftest,
        collect_command.collect,
    ),
    *(
        saved_run_commands.score,
        saved_run_commands.compare,
        saved_run_commands.agree,
        saved_run_commands.annotate,
        saved_run_commands.report,
    ),
    *(saved_run_commands.measures, saved_run_commands.show, nightly_commands.nightly, trend_command.trend),
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(nightly_commands.baseline)


def main(command: Callable[[], object] = app) -> None:
    """Runs the command line and ends the process; errors become one line on stderr and an exit code."""
    # A run builds much and throws little away: looking for garbage often costs a tenth of its time.
    gc.set_threshold(100_000)
    output_streams.guard()
    try:
        sys.exit(_code(command))
    except JudgeError as error:
        _end(error)
    except Exception as error:  # noqa: BLE001  # the edge: a crash must not be taken for a regression
        # A signal may be heard anywhere, also inside a library that then trips over it.
        interrupted = next((each for each in iterate_causes(error) if isinstance(each, Interrupted)), None)
        if interrupted is not None:
            _end(interrupted)
        if isinstance(error, OSError) and error.errno in _REFUSED:
            _end(StoreError(f"{error.filename or 'a file'}: {error.strerror}"))
        if isinstance(error, OSError) and error.errno in _BAD_PATH:
            _end(InputError(f"{error.filename or 'a file'}: {error.strerror}"))
        from judge.config.run import environment
        from judge.models.redaction import mask, secrets_in

        print(mask(traceback.format_exc(), *secrets_in(environment())), file=sys.stderr)  # noqa: T201
        sys.exit(70)


def _code(command: Callable[[], object]) -> int | str | None:
    """The exit code that `command` ends with, after all that it said was written."""
    code: int | str | None = 0
    try:
        command()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    return code


def _end(error: JudgeError) -> NoReturn:
    """Says `error` and ends the process with its exit code."""
    say(error)
    if isinstance(error, Interrupted):
        # A library's thread that still waits for a server must not keep a person waiting.
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(130)
    sys.exit(2 if isinstance(error, InputError) else 3)
