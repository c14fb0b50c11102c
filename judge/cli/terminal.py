"""Owns the terminal: where words, tables and progress go, on a screen and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judge.errors import JudgeError

if TYPE_CHECKING:
    from rich.console import Console

    from judge.assess.watch import Watch
    from judge.cli.progress import ProgressWords


def watch(words: ProgressWords | None = None) -> Watch:
    """Return a progress bar on a terminal, lines of a log elsewhere; `words` says what is judged."""
    from judge.cli.progress import JUDGING, ProgressBar, ProgressLines

    screen, words = console(stderr=True), words or JUDGING
    return ProgressBar(screen, words) if screen.is_terminal else ProgressLines(sys.stderr, words=words)


def console(*, stderr: bool = False) -> Console:
    """Where words go: a terminal as it is, a pipe without folding."""
    from judge.cli.screen import Screen

    screen = Screen(stderr=stderr, highlight=False)
    # A pipe has no width; a table that is folded at 80 columns can't be read or searched.
    return screen if screen.is_terminal else Screen(stderr=stderr, highlight=False, width=1000)


def print_json(value: Mapping[str, Any]) -> None:
    """Prints `value` as indented JSON."""
    from judge.runs.folder import dump_json

    # The same text to a reader of JSON, and no command to the runner of a build.
    typer.echo(dump_json(value, indent=2).replace("##", "#\\u0023"))


def text(value: Path | None) -> str | None:
    """A path as an option holds it."""
    return None if value is None else str(value)


def names(measures: str | None) -> list[str] | None:
    """The measures that an option lists, each by its full name; raises InputError for an unknown one."""
    from judge.measure.measures import parse_measures

    return [str(measure) for measure in parse_measures(measures)] if measures is not None else None


def say(error: JudgeError) -> None:
    """Says an error in one line on stderr; the words may be a server's."""
    from judge.config.run import environment
    from judge.dataset.clean import escape_controls
    from judge.models.redaction import redact, secrets_in

    text = redact(" ".join(str(error).split()), *secrets_in(environment()))
    print(f"judge: {escape_controls(text)}", file=sys.stderr)  # noqa: T201
