"""Owns the TOML files that people write: reading one, and saying where in it a wrong value stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.errors import InputError
from judge.filesystem import open_for_read

#: An option as the command line writes it. Files write it as a key, which is the same word but for these.
_FLAG = re.compile(r"(?<!\S)(\(?)--(?!help\b)([a-z]+(?:-[a-z]+)*)")
_NAMES = {"run": "trec_runs", "config": "the file"}


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where options were written: a file, a table in it ("" is its top), and the key of each option.

    `keys` holds the options that the file decides, those included that it could have and hasn't.
    """

    file: Path | None = None
    table: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def about(self, *names: str) -> Iterator[None]:
        """Errors inside begin with the place where the options `names` stand, if the file decides them."""
        try:
            yield
        except InputError as error:
            if self.file is not None and self.keys.keys() >= set(names):
                error.args = (self._placed(str(error), self.keys[names[0]] if len(names) == 1 else ""),)
            raise

    def _placed(self, said: str, key: str) -> str:
        """What was `said`, in the words of a file; what it names already is not named again."""
        place = f"{self.file}: "
        if said.startswith(place):
            return said
        said = _FLAG.sub(lambda flag: flag[1] + self._key(flag[2]), said)
        said = said.replace("-m openai:NAME", 'model = "openai:NAME"')
        if said.startswith("["):
            return place + said
        table = f"[{self.table}] " if self.table else ""
        return place + table + ("" if not key or said.startswith(f"{key} ") else f"{key}: ") + said

    def _key(self, flag: str) -> str:
        """What the file calls the option `--flag`; lists are options in the plural."""
        name = _NAMES.get(flag, flag.replace("-", "_"))
        return next((self.keys[each] for each in (name, f"{name}s") if each in self.keys), name)

    def check(self, name: str, *paths: Path) -> None:
        """Raises InputError when one of `paths`, which option `name` has, isn't there.

        It says where it was looked for: paths are of the current folder, also those in a file elsewhere.
        """
        with self.about(name):
            for path in paths:
                if not path.exists():
                    where = "" if path.is_absolute() else f" in {Path.cwd()}"
                    raise InputError(f"{path}: no such file{where}")


def load(path: Path) -> dict[str, Any]:
    """What a TOML file holds; raises InputError when it can't be read."""
    try:
        with open_for_read(path, follow=True) as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}") from error


def section(toml: Path, name: str) -> dict[str, Any]:
    """The table `name` of a TOML file, empty where it has none; raises InputError when it is no table."""
    found = load(toml).get(name, {})
    if not isinstance(found, dict):
        raise InputError(f"{toml}: {name!r} is {found!r}, not a table [{name}]")
    return found


def tables(toml: Path, name: str) -> list[dict[str, Any]]:
    """The rows `[[name]]` of a TOML file; raises InputError when it has none."""
    found = load(toml).get(name)
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise InputError(f"{toml}: has no rows [[{name}]]")
    return found
