"""A run's folder: its lock, and files that are written whole or not at all."""

import errno
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isinf
from pathlib import Path
from traceback import walk_tb
from typing import Any

from judge.dataset.text_files import number_lines
from judge.errors import InputError, StoreError, explain_error
from judge.files.filesystem import explain_unusable, hold_lock, open_text, remove_abandoned, write_file
from judge.files.json_text import dump_json
from judge.messages import Message, join_messages
from judge.records import JsonDict

#: What the user can do about a damaged file of a run: the verdicts are in the store.
_DAMAGED_FILE_ADVICE = Message(
    "run the judge run or judge nightly command of this folder again, which writes"
    " the file anew without a call"
)
#: What the user can do about a damaged file that a command reads before it begins, and does not replace.
_REMOVE_FILE_ADVICE = Message(
    "remove the file, then run again the command that writes it (judge run, judge"
    " nightly or judge baseline set)"
)
_PACKAGE = Path(__file__).resolve().parents[1]
_READ_FIRST = {"config.json", "collected.json", "paid.json", "night.json", "baseline.json"}
#: What code raises on a value of another type or shape than judge writes.
_MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def translate_run_errors(path: Path) -> Iterator[None]:
    """Raise InputError when work with the files in folder `path` fails on a value that judge never writes.

    A folder may come from another person or have been edited. The records of its files have checked types,
    but their values may contradict each other. The same errors come from a defect of judge, so the message
    names the line of code.
    """
    try:
        yield
    except _MISSHAPEN as error:
        frames = ((Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__))
        *_, (file, line) = (place for place in frames if place[0].is_relative_to(_PACKAGE))
        raise make_damage_error(
            "{place}: a file in it is damaged or from another version of judge, or judge has a defect ({type}"
            " in {code}: {error!s:.120})",
            place=path,
            type=type(error).__name__,
            code=f"{file.relative_to(_PACKAGE.parent).as_posix()}:{line}",
            error=error,
        ) from error


def make_damage_error(
    template: str, advice: Message | None = None, /, *, place: str | Path, **values: object
) -> InputError:
    """Return the error of a damaged file of a run at `place`; the message ends with what the user can do."""
    if advice is None:
        advice = _REMOVE_FILE_ADVICE if Path(place).name in _READ_FIRST else _DAMAGED_FILE_ADVICE
    return InputError(join_messages([Message(template, place=place, **values), advice]))


def parse_run_json(place: str, text: str) -> Any:  # noqa: ANN401  # JSON holds anything
    """Return the JSON value in `text`; raise InputError, which names `place`, for invalid JSON.

    NaN and Infinity are not JSON, and a number that is too large for a float is not taken as infinity.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise make_damage_error("{place}: cannot be read as JSON: it nests too deep", place=place) from None
    except ValueError as error:
        raise make_damage_error(
            "{place}: is not JSON: {error}", place=place, error=explain_error(error)
        ) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(Message("{name} is no number of JSON", name=name))


def _parse_float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise ValueError(Message("{name} is too large for a number", name=text[:40]))
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)


class RunFolder:
    """The folder of one run.

    Every file is written under another name and renamed, so that a reader gets the old or the new file, never
    a part.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def lock(self, wait: float = 0) -> Iterator[None]:
        """Lock the folder for this process; raise InputError if another has the lock after `wait` seconds."""
        busy = Message("another judge process is working on this run; wait for it or name another --out")
        with hold_lock(self.path / ".lock", self.path, busy, Message("cannot be a run's folder"), wait):
            remove_abandoned(self.path)
            yield

    def check_free(self) -> None:
        """Raise InputError for a file, and when another process has locked the folder; create nothing."""
        if self.path.is_file():
            raise InputError("{file}: is a file, not a folder; name another one", file=self.path)
        if (self.path / ".lock").exists():
            with self.lock():
                pass

    def check_finished(self) -> None:
        """Raise InputError for a folder that is not a finished run's: `lock` would write a file into it.

        A run is finished when it has results.json, which is written last. Its summary must be readable.
        """
        next(self.read_texts("results.json"), None)
        self.read("summary.json")

    def check_no_link(self) -> None:
        """Raise InputError when the folder is a symbolic link, which can lead out of a folder of nights."""
        if self.path.is_symlink():
            raise InputError("{folder}: is a symbolic link, not a folder; remove it", folder=self.path)

    def read(self, name: str) -> JsonDict:
        """Return the JSON object in file `name`; raise InputError when there is none."""
        return self.parse_object(str(self.path / name), "".join(text for _, text in self.read_texts(name)))

    @property
    def own_store(self) -> Path:
        """The file of the verdict store beside the folder, which all runs there share."""
        return self.path.parent / "verdicts.sqlite"

    def read_if_there(self, name: str) -> JsonDict | None:
        """Return the JSON object in file `name`, None when there is no such file."""
        return self.read(name) if (self.path / name).exists() else None

    def read_texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield `path:line` and the text of each line of file `name`."""
        path = self.path / name
        try:
            with open_text(path, newline="\n") as file:
                for number, line in number_lines(file, path):
                    yield f"{path}:{number}", line
        except OSError as error:
            why = explain_error(error)
            begun, finished = ((self.path / name).exists() for name in ("config.json", "results.json"))
            is_lost = finished and error.errno == errno.ENOENT
            # ELOOP and others: it is a link or no regular file.
            if is_lost or error.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR):
                raise make_damage_error("{place}: {error}", place=path, error=why) from error
            if begun and not finished:
                raise InputError(
                    "{file}: {error}; the run is not finished: run its judge run or judge nightly command"
                    " again",
                    file=path,
                    error=why,
                ) from error
            raise InputError(
                "{file}: {error}; {folder!r} is not the folder of a finished run: name one that judge run"
                " or judge nightly wrote",
                file=path,
                error=why,
                folder=str(self.path),
            ) from error
        except UnicodeDecodeError as error:
            raise make_damage_error(
                "{place}: is not JSON: it is not UTF-8 ({error})", place=path, error=Message(error.reason)
            ) from error

    def parse_object(self, place: str, text: str) -> JsonDict:
        """Return the JSON object in `text`; raise InputError, which names `place`, for another value."""
        value = parse_run_json(place, text)
        if not isinstance(value, dict):
            raise make_damage_error(
                "{place}: is {type} {value!r:.40}, not an object",
                place=place,
                type=type(value).__name__,
                value=value,
            )
        return value

    def write(self, name: str, chunks: Iterable[str | bytes], mode: int = 0o666) -> Path:
        """Write file `name` from `chunks`, whole or not at all, and return its path.

        `mode` is limited by the umask. Raises StoreError when the file cannot be written.
        """
        path = self.path / name
        try:
            write_file(path, chunks, mode)
        except OSError as error:
            raise StoreError(
                "{file}: cannot be written: {error}; all that was paid is saved",
                file=path,
                error=explain_error(error),
            ) from error
        return path

    def remove(self, name: str) -> None:
        """Remove the regular file `name`, if there is one; raise InputError or StoreError if that fails."""
        path = self.path / name
        try:
            if path.is_file() and not path.is_symlink():
                path.unlink()
        except OSError as error:
            raise explain_unusable(path, Message("cannot be removed"), error) from error

    def write_json(self, name: str, value: object) -> Path:
        """Write a JSON value as file `name`, indented, and return its path; see `write`."""
        return self.write(name, [dump_json(value, indent=2), "\n"])
