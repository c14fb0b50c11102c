"""Output of the commands, on a terminal and in a pipe: streams, progress, JSON, errors, and their language.

The language is that of --ui-lang, else that of the locale, else English.

After a broken pipe (`| head`, a pager that is closed) output is dropped and the work continues, with its
usual exit code. A full disk raises OSError once for stdout; for stderr it is ignored, since it cannot be
reported.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from judge.characters import count_columns, escape_controls, find_line_breaks
from judge.config.environment import copy_environment
from judge.errors import InputError, JudgeError, name_option_in_errors
from judge.messages import UI_LANGUAGES, Translator

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console

    from judge.client.progress import ProgressListener
    from judge.messages import Message

_LANGUAGE_OPTION = "--ui-lang"
#: Variables of the locale of messages, the one that decides first.
_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_language = ContextVar("language", default=UI_LANGUAGES["en"])
#: The messages in the language of the command that runs; English outside of a command.
t = Translator(_language.get)
#: Marks of commands for CI runners. Colours may come before the second one; a runner removes them.
_HASHES = re.compile(r"##(?=\w{0,20}\[)")
_COLONS = re.compile(r"^((?:\s|\x1b\[[0-9;]*m)*):(?=:)")


def make_progress_listener(activity: Message | None = None) -> ProgressListener:
    """Return a progress bar on a terminal, lines of a log elsewhere; `activity` None is judging."""
    from judge.cli.progress_display import JUDGING, ProgressBar, ProgressLines

    screen, activity = make_console(stderr=True), activity or JUDGING
    return ProgressBar(screen, activity) if screen.is_terminal else ProgressLines(sys.stderr, activity)


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or `stderr`: as wide as the terminal, 1,000 columns in a pipe or a file."""
    from judge.cli.render.screen import Screen

    screen = Screen(stderr=stderr, highlight=False)
    # A pipe has no width, and a table folded at 80 columns cannot be searched.
    return screen if screen.is_terminal else Screen(stderr=stderr, highlight=False, width=1000)


def print_json(record: object) -> None:
    """Print a record as indented JSON."""
    from judge.files.json_text import dump_json
    from judge.runs.record_json import to_json

    # A CI runner takes "##[" for a command; readers of JSON get the same text.
    typer.echo(dump_json(to_json(record), indent=2).replace("##", "#\\u0023"))


def print_message(message: str, /, **values: object) -> None:
    """Print a message with its values in the language of the command, control characters as escapes."""
    print_wrapped(escape_controls(t(message, **values)))


def print_wrapped(text: str) -> None:
    """Print a text on stdout, in lines as wide as the terminal if it is one."""
    typer.echo(wrap_text(text, sys.stdout))


def wrap_text(text: str, stream: TextIO) -> str:
    """Return a text in lines as wide as the terminal `stream`, unchanged where that is a pipe or a file.

    Each line is broken as by `wrap_line`.
    """
    if not stream.isatty():
        return text
    width = make_console(stderr=stream is sys.stderr).width
    return "\n".join(wrap_line(line, width) for line in text.split("\n"))


def wrap_line(line: str, width: int) -> str:
    """Return a line in lines of at most `width` columns, which break between words.

    A longer word, such as a path, stays whole, so that it can be copied. The lines of an item of a list, or
    of an indented text, begin below its first word.
    """
    indent = len(line) - len(line.removeprefix("- ").lstrip(" "))
    start, text = line[:indent], line[indent:]
    breaks = [
        at
        for at in find_line_breaks(text, max(1, width - indent))
        if text[at - 1].isspace() or count_columns(text[at - 1 : at + 1]) > 2
    ]
    lines = [text[begin:end].rstrip() for begin, end in zip([0, *breaks], [*breaks, None], strict=True)]
    return start + f"\n{' ' * indent}".join(lines)


def parse_measure_names(measures: str | None) -> list[str] | None:
    """Return the full names of the measures that an option lists; raise InputError for an unknown one."""
    from judge.measure.measures import parse_measures

    with name_option_in_errors("--measures"):
        return [str(measure) for measure in parse_measures(measures)] if measures is not None else None


def format_duration(seconds: float) -> str:
    """Return a duration in seconds, in minutes from two minutes on, or in hours from two hours on."""
    if seconds < 120:
        return t("{seconds:.0f} s", seconds=seconds)
    if seconds < 7200:
        return t("{minutes:.0f} min", minutes=seconds / 60)
    return t("{hours:.1f} h", hours=seconds / 3600)


def print_error(error: JudgeError) -> None:
    """Print an error on stderr, without secrets: its text may come from a server.

    It is one line, except on a terminal.
    """
    from judge.models.redaction import find_secrets, redact

    text = redact(" ".join(t(error.message).split()), *find_secrets(copy_environment()))
    print(wrap_text(f"judge: {escape_controls(text)}", sys.stderr), file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def use_locale_language(environ: Mapping[str, str]) -> Iterator[None]:
    """Print in the language of the locale in `environ`, or in the one selected since, until the block ends.

    A locale in another language than English and Chinese is English.
    """
    locale = next((environ[name] for name in _LOCALE_VARIABLES if environ.get(name)), "C")
    # As gettext reads them: LANGUAGE is a list that precedes the locale, unless that is C.
    preferred = environ.get("LANGUAGE", "").split(":") if locale not in ("C", "POSIX") else []
    tags = (tag.partition(".")[0].partition("_")[0].lower() for tag in (*preferred, locale))
    tag = next((tag for tag in tags if tag in UI_LANGUAGES), "en")
    token = _language.set(UI_LANGUAGES[tag])
    try:
        yield
    finally:
        _language.reset(token)


def apply_language_option(arguments: Sequence[str]) -> list[str]:
    """Select the language of --ui-lang, and return the other arguments.

    It is read before all else, so that help and errors have its language wherever it is. Print a line
    where the language has no messages. Raise InputError for an unknown language.
    """
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--":
            others += [argument, *rest]
        elif name != _LANGUAGE_OPTION:
            others.append(argument)
        else:
            language = value if equals else next(rest, "")
            if language not in UI_LANGUAGES:
                raise InputError("--ui-lang is {language!r:.80}; it must be en or zh", language=language)
            _language.set(UI_LANGUAGES[language])
    if _language.get().lacks_catalogue:
        line = "messages are in English, because judge/messages/zh.mo is missing; install judge to make it"
        print(f"judge: {line}", file=sys.stderr)  # noqa: T201
    return others


# The streams


class _DroppingStream(io.RawIOBase):
    """A stream that writes to `raw` until that fails, then drops output; `name` None ignores all errors."""

    def __init__(self, raw: io.RawIOBase, name: str | None) -> None:
        self._raw = raw
        self._name = name
        self._works = True

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write `data`, or drop it after an earlier failure; raise OSError the first time a disk fails."""
        if self._works:
            try:
                return self._raw.write(data)
            except OSError as error:
                self._works = False
                if self._name and not isinstance(error, BrokenPipeError):
                    raise OSError(error.errno, error.strerror, self._name) from error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """Return the file descriptor, from which libraries read the width of the terminal."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


class SafeTextStream(io.TextIOWrapper):
    """A text stream that breaks up what a CI runner would take for a command.

    GitHub Actions executes `::` at the beginning of a line and `##[` anywhere in it, Azure Pipelines
    `##vso[`, TeamCity `##teamcity[`. Names in an untrusted run may hold such marks.
    """

    _is_blank = True

    def write(self, text: str, /) -> int:
        """Write `text` with a space inside each such mark; return the length of `text`."""
        safe = _HASHES.sub("# #", text)
        if "::" in safe:
            lines = safe.split("\n")
            begins = [self._is_blank, *[True] * (len(lines) - 1)]
            safe = "\n".join(
                _COLONS.sub(r"\1: ", line) if begin else line
                for line, begin in zip(lines, begins, strict=True)
            )
        last = text.rpartition("\n")
        self._is_blank = not last[2].strip() and (bool(last[1]) or self._is_blank)
        super().write(safe)
        return len(text)

    def write_command(self, line: str) -> None:
        """Write a line that may be a command for the CI runner."""
        super().write(f"{line}\n")
        self._is_blank = True


def print_command(line: str) -> None:
    """Print a line that may be a command for the CI runner; the caller has escaped the names in it."""
    if isinstance(sys.stdout, SafeTextStream):
        sys.stdout.write_command(line)
    else:
        sys.stdout.write(f"{line}\n")


def guard_stream(stream: TextIO | None, name: str | None) -> TextIO:
    """Return a stream that writes to `stream` and continues without it when its reader has gone away.

    A disk that is full is an OSError about `name`, or no error where that is None. `stream` None was closed
    before the process began.
    """
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    # A character that the terminal's encoding lacks must not end the work.
    loose = stream.errors not in ("strict", "surrogateescape")
    buffer: Any = stream.buffer
    raw = getattr(buffer, "raw", buffer)  # python -u has no buffer between
    return SafeTextStream(
        io.BufferedWriter(_DroppingStream(raw, name)),
        encoding=stream.encoding,
        errors=stream.errors if loose else "backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
