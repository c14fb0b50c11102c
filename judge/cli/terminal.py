"""Output of the commands: tables, progress, JSON and error messages, on a terminal and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from judge.cli.language import ui_translator
from judge.errors import JudgeError

if TYPE_CHECKING:
    from rich.console import Console

    from judge.cli.progress_display import ProgressBar, ProgressLines, ProgressWords


def make_progress_listener(words: ProgressWords | None = None) -> ProgressBar | ProgressLines:
    """Return a progress bar on a terminal, lines of a log elsewhere; `words` are those of judging if None."""
    from judge.cli.progress_display import JUDGING, ProgressBar, ProgressLines

    screen, words = make_console(stderr=True), words or JUDGING
    return ProgressBar(screen, words) if screen.is_terminal else ProgressLines(sys.stderr, words=words)


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or `stderr`: as wide as the terminal, 1,000 columns in a pipe or a file."""
    from judge.cli.screen import Screen

    screen = Screen(stderr=stderr, highlight=False)
    # A pipe has no width, and a table folded at 80 columns cannot be searched.
    return screen if screen.is_terminal else Screen(stderr=stderr, highlight=False, width=1000)


def print_json(value: Mapping[str, Any]) -> None:
    """Print `value` as indented JSON."""
    from judge.runs.folder import dump_json

    # A CI runner takes "##[" for a command; readers of JSON get the same text.
    typer.echo(dump_json(value, indent=2).replace("##", "#\\u0023"))


def parse_measure_names(measures: str | None) -> list[str] | None:
    """Return the full names of the measures that an option lists; raise InputError for an unknown one."""
    from judge.measure.measures import parse_measures

    return [str(measure) for measure in parse_measures(measures)] if measures is not None else None


def print_error(error: JudgeError) -> None:
    """Print an error on one line of stderr, without secrets: its text may come from a server."""
    from judge.characters import escape_controls
    from judge.config.environment import environment
    from judge.models.redaction import redact, secrets_in

    text = redact(" ".join(ui_translator()(error.message).split()), *secrets_in(environment()))
    print(f"judge: {escape_controls(text)}", file=sys.stderr)  # noqa: T201
