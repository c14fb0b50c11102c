"""Owns what a collection is asked for, and its only defaults: by the command line or a TOML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from judge.config.loader import ConfigSource, section
from judge.config.run import check_type, did_you_mean, rename_options, toml_repr
from judge.errors import InputError

#: TOML keeps the list of engines under `engine`, as the command line does; `engines` are descriptions.
_KEYS = {"engines": "engine", "described": "engines"}
#: What can't be done without, and how the command line takes it.
_NEEDED = {"queries": "QUERIES", "engines": "--engine NAME", "out": "--out DATA"}
_LEAST = {"depth": 1, "attempts": 1, "timeout": 0.1, "max_wait": 0, "rate": 0.001}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectConfig:
    """What a collection is asked for.

    `queries` is a file, `engines` who is asked, `out` the dataset to write. `depth` results are taken
    of each answer; `lang`, a tag such as zh-CN, and `country` are passed on to engines that know them, in
    their own codes. `rate` is in queries a second at each engine. `timeout` is in seconds for one call,
    `max_wait` for how long
    an engine that wants to be left alone is waited for. `base_urls` say where engines are instead of
    their own address, `described` holds the tables of engines that this file describes. `written` is no
    option: it says which file decided which of them.
    """

    queries: str
    engines: tuple[str, ...]
    out: str
    depth: int = 10
    lang: str | None = None
    country: str | None = None
    rate: float = 1.0
    attempts: int = 3
    timeout: float = 20.0
    max_wait: float = 120.0
    base_urls: Mapping[str, str] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    written: ConfigSource = field(default=ConfigSource(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:
                raise InputError(f"{name} is {value!r}; it must be at least {least}")
        if not self.engines:
            raise InputError("no engine was named; add --engine NAME (see judge collect --help)")

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """The options in the [collect] table of `toml`, overridden by those of `given` that are not None.

        Raises InputError for missing, unknown or ill-typed options, naming them.
        """
        names = {each.name: each.name for each in fields(cls) if each.name != "written"}
        given = _fitting({name: value for name, value in given.items() if value is not None}, names)
        keys = {name: _KEYS.get(name, name) for name in names if name not in given}
        written = ConfigSource(toml, "collect", keys)
        table = section(toml, "collect") if toml else {}
        with written.about():
            told = _fitting(rename_options(table), {_KEYS.get(name, name): name for name in names}, given)
            cls(**{"queries": "-", "engines": ("-",), "out": "-", **told})  # so that the file can be named
            options = told | given
            for name, flag in _NEEDED.items():
                if name not in options:
                    raise InputError(f"{keys[name]} is missing; give {flag}, or write it in [collect]")
        return cls(**options, written=written)


def _fitting(
    table: Mapping[str, Any], names: Mapping[str, str], others: Collection[str] = ()
) -> dict[str, Any]:
    """The options of a table with the types that they have here, less those that `others` decide.

    `names` are those of options by their keys. Raises InputError for an unknown or ill-typed one.
    """
    types = {each.name: str(each.type) for each in fields(CollectConfig)}
    for key in table:
        if key not in names:
            raise InputError(f"unknown option {key!r}{did_you_mean(key, names)}")
    return {
        names[key]: _typed(key, value, types[names[key]])
        for key, value in table.items()
        if names[key] not in others
    }


def _typed(key: str, value: object, annotation: str) -> Any:  # noqa: ANN401 - as annotated
    """`value` when it has the type that the option declares; raises InputError when it has not."""
    if not annotation.startswith("Mapping"):
        return check_type(key, value, annotation)
    part, expected = (str, "texts") if annotation == "Mapping[str, str]" else (Mapping, "tables")
    if not isinstance(value, Mapping) or not all(isinstance(each, part) for each in value.values()):
        raise InputError(f"{key} is {toml_repr(value):.80}; it is a table of {expected}")
    return value
