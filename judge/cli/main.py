"""The command line and its exit codes.

0 success, 1 regression (nightly), 2 invalid usage or input, 3 incomplete or the disk failed, 70 internal
error, 130 interrupted. A closed pipe changes no exit code: `judge show … | head` ends with 0, and a run goes
on when its pager is closed. Output that could not be written to a file (disk full) ends with 3.
"""

import errno
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from typing import Annotated, Any, TextIO

import typer
import typer.main
from typer.core import TyperGroup

from judge.cli import label_commands, nightly_commands, run_commands, saved_run_commands
from judge.cli.options import CommandGroup, GroupedCommand, UsageError, print_usage_error
from judge.cli.terminal import apply_language_option, guard_stream, print_error, use_locale_language
from judge.config.environment import copy_environment, replace_environment
from judge.errors import (
    DISK_ERRORS,
    PATH_ERRORS,
    InputError,
    Interrupted,
    JudgeError,
    StoreError,
    explain_error,
    iterate_causes,
)
from judge.messages import Message

#: Errors of the disk or of its permissions: neither a bug of judge nor a mistake in the input.
_REFUSED = DISK_ERRORS | {errno.EACCES, errno.EPERM, errno.EROFS}


class _Commands(CommandGroup):
    """The commands. Typer ends with 1 after an error of a pipe or a file, which here means a regression."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Run the command; raise a connection or a file that ends too early as an internal error."""
        try:
            return super().invoke(ctx)
        except (OSError, EOFError) as error:
            if isinstance(error, EOFError) or error.errno == errno.EPIPE:
                raise RuntimeError("a file or a connection ended too early") from error
            raise


app = typer.Typer(
    name="judge",
    cls=_Commands,
    help="Compare web search engines without ground truth: an LLM judges every (query, snippet) pair,"
    " and standard IR measures compare the engines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        typer.echo(f"judge {importlib.metadata.version('search-judge')}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


#: The commands in the order in which help lists them.
_COMMANDS = (
    run_commands.demo,
    run_commands.init,
    run_commands.run,
    run_commands.estimate,
    run_commands.selftest,
    run_commands.collect,
    saved_run_commands.score,
    saved_run_commands.compare,
    label_commands.agree,
    run_commands.sidebyside,
    saved_run_commands.align,
    label_commands.annotate,
    saved_run_commands.report,
    saved_run_commands.measures,
    saved_run_commands.show,
    nightly_commands.nightly,
    nightly_commands.trend,
)
for _command in _COMMANDS:
    app.command(cls=GroupedCommand)(_command)
app.add_typer(nightly_commands.baseline)


def main(
    arguments: Sequence[str] | None = None,
    *,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run one command and return its exit code; an error becomes one line on stderr.

    `arguments` are the words after `judge`, None for those of this process. `stdout`, `stderr` and `environ`
    replace those of the process until the command ends, for libraries too, so calls must not overlap.
    """
    with (
        replace_environment(environ),
        use_locale_language(copy_environment()),
        redirect_stdout(guard_stream(stdout or sys.stdout, "standard output")),
        redirect_stderr(guard_stream(stderr or sys.stderr, None)),
    ):
        code = _run(sys.argv[1:] if arguments is None else arguments)
        with suppress(OSError):  # it has its code already
            sys.stdout.flush()
        sys.stderr.flush()
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        return _find_exit_code(arguments)
    except JudgeError as error:
        return _report(error)
    except Exception as error:  # noqa: BLE001  # the edge: a crash must not be taken for a regression
        # A signal may interrupt any code, also a library, which then raises an error of its own.
        interrupted = next((cause for cause in iterate_causes(error) if isinstance(cause, Interrupted)), None)
        if interrupted is not None:
            return _report(interrupted)
        if isinstance(error, OSError) and error.errno in _REFUSED | PATH_ERRORS:
            reported = StoreError if error.errno in _REFUSED else InputError
            file = error.filename or Message("a file")
            return _report(reported("{file}: {error}", file=file, error=explain_error(error)))
        from judge.models.redaction import find_secrets, mask

        print(mask(traceback.format_exc(), *find_secrets(copy_environment())), file=sys.stderr)  # noqa: T201
        return 70


@cache
def build_commands() -> TyperGroup:
    """Return the commands; once in a process, because it takes 50 ms."""
    return typer.main.get_group(app)


def _find_exit_code(arguments: Sequence[str]) -> int:
    """Return the exit code of the command, after all of its output is written."""
    code: int | str | None = 0
    try:
        code = build_commands()(apply_language_option(arguments), prog_name="judge", standalone_mode=False)
    except UsageError as error:
        print_usage_error(error)
        code = error.exit_code
    except SystemExit as error:
        code = error.code
    if code == Interrupted.exit_code:  # typer's, after KeyboardInterrupt before or after requests
        raise Interrupted("interrupted")
    sys.stdout.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


def _report(error: JudgeError) -> int:
    print_error(error)
    return error.exit_code
