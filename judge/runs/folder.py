"""Owns a run's folder: who may write it, whether it is the same run, and that files appear whole."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge.dataset.textfile import number_lines
from judge.errors import InputError, StoreError
from judge.filesystem import open_text, remove_abandoned, write_file
from judge.lock import locked

# Control characters, separators that some readers take for line ends, and lone surrogates would
# break files for others; they only occur inside JSON strings, where the escape means the same.
_FRAGILE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: What helps when a file of a run is broken: all it takes is in the store.
DAMAGED_FILE_ADVICE = "the judge run that made it writes it anew, without a call"


#: What code raises that works with a value of another type or shape than judge writes.
_MISSHAPEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def reading_run(path: Path) -> Iterator[None]:
    """Raise InputError when work with the files in folder `path` fails on a value that judge never writes.

    A folder may come from somebody else or have been edited. Its summary has no types yet that could be
    checked when it is read.
    """
    try:
        yield
    except _MISSHAPEN as error:
        raise InputError(
            f"{path}: a file in it is damaged or from another version of judge ({type(error).__name__}:"
            f" {error!s:.120}); {DAMAGED_FILE_ADVICE}"
        ) from error


def parse_json(place: str, text: str) -> Any:  # noqa: ANN401  # JSON holds anything
    """Return the JSON value in `text`; raise InputError, which names `place`, where it is none.

    NaN and Infinity are no JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InputError(f"{place}: is not JSON that can be read: it nests too deep; {DAMAGED_FILE_ADVICE}") from None
    except ValueError as error:
        raise InputError(f"{place}: is not JSON: {error}; {DAMAGED_FILE_ADVICE}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def dump_json(value: object, *, indent: int | None = None) -> str:
    """`value` as JSON that is valid UTF-8 on one line (without `indent`) for every line reader."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _FRAGILE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class RunFolder:
    """The folder of one run.

    Every file is written beside its place and renamed into it, so that a reader sees the old or the
    new one, never a half.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self, wait: float = 0) -> Iterator[None]:
        """Holds the folder for this process; raises InputError when another holds it after `wait` seconds."""
        busy = f"{self.path}: another judge is working on this run; wait for it or name another --out"
        with locked(self.path / ".lock", busy, f"{self.path}: cannot be a run's folder", wait):
            remove_abandoned(self.path)
            yield

    def check_free(self) -> None:
        """Raises InputError when another process holds the folder; creates nothing."""
        if (self.path / ".lock").exists():
            with self.locked():
                pass

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Makes the folder this run's; raises InputError when it holds a run that was asked otherwise."""
        held = self.read("config.json").get("identity") if (self.path / "config.json").exists() else None
        if held is None:
            return
        differing = [name for name in {**held, **identity} if held.get(name) != identity.get(name)]
        if differing:
            changes = "; ".join(
                f"{name} was {held.get(name)!r}, now {identity.get(name)!r}" for name in differing
            )
            raise InputError(f"{self.path}: holds another run: {changes}. Name another --out")

    def read(self, name: str) -> dict[str, Any]:
        """The JSON object in file `name`; raises InputError when there is none."""
        return self._object(str(self.path / name), "".join(line for _, line in self._lines(name)))

    @property
    def takes_files(self) -> bool:
        """Whether files can be written into it."""
        return os.access(self.path, os.W_OK)

    def read_if_there(self, name: str) -> dict[str, Any] | None:
        """The JSON object in file `name`, or None when there is no such file."""
        return self.read(name) if (self.path / name).exists() else None

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The JSON objects of file `name`, one a line."""
        for number, line in self._lines(name):
            yield self._object(f"{self.path / name}:{number}", line)

    def _object(self, place: str, text: str) -> dict[str, Any]:
        value = parse_json(place, text)
        if not isinstance(value, dict):
            raise InputError(f"{place}: is {type(value).__name__} {value!r:.40}, not an object; {DAMAGED_FILE_ADVICE}")
        return value

    def _lines(self, name: str) -> Iterator[tuple[int, str]]:
        path = self.path / name
        try:
            with open_text(path, newline="\n") as file:
                yield from number_lines(file, path)
        except OSError as error:
            raise self._no_run(path, error) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not JSON: it is not UTF-8 ({error.reason}); {DAMAGED_FILE_ADVICE}") from error

    def write(self, name: str, chunks: Iterable[str], mode: int = 0o666) -> Path:
        """Writes file `name` from `chunks` of text, whole or not at all, and gives its path.

        `mode` is limited by the umask. Raises StoreError when the disk doesn't take it.
        """
        path = self.path / name
        try:
            write_file(path, chunks, mode)
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be written: {error.strerror or error}; verdicts are kept"
            ) from error
        return path

    def _no_run(self, path: Path, error: OSError) -> InputError:
        said = f"{path}: {error.strerror or error}"
        if error.errno in (errno.ELOOP, errno.EINVAL):  # something stands in the place of the file
            return InputError(f"{said}; {DAMAGED_FILE_ADVICE}")
        return InputError(f"{said}; is {str(self.path)!r} the folder of a finished run?")
