"""Owns what a collection is asked for, and its only defaults: by the command line or a TOML file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from judge.config import section
from judge.errors import InputError

#: TOML keeps the list of engines under `engine`, as the command line does; `engines` are descriptions.
_TOML_NAMES = {"engine": "engines", "engines": "described"}
_LEAST = {"depth": 1, "attempts": 1, "timeout": 0.1, "patience": 0, "rate": 0.001}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a collection is asked for.

    `queries` is a file, `engines` who is asked, `out` the dataset to write. `depth` results are taken
    of each answer; `lang` and `country` are passed on as they are to engines that know them. `rate` is
    in queries a second at each engine. `timeout` is in seconds for one call, `patience` for how long
    an engine that wants to be left alone is waited for. `base_urls` say where engines are instead of
    their own address, `described` holds the tables of engines that this file describes.
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
    patience: float = 120.0
    base_urls: Mapping[str, str] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not least <= value < math.inf:
                raise InputError(f"{name} is {value!r}; it must be at least {least}")
        if not self.engines:
            raise InputError("no engine was named; add --engine NAME (see judge collect --help)")

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """The options in the [collect] table of `toml`, overridden by those of `given` that are not None.

        Raises InputError for missing, unknown or ill-typed options, naming them.
        """
        told = section(toml, "collect") if toml else {}
        options = {_TOML_NAMES.get(name, name): value for name, value in told.items()}
        options |= {name: value for name, value in given.items() if value is not None}
        known = {each.name: str(each.type) for each in fields(cls)}
        for name, value in options.items():
            if name not in known:
                hint = get_close_matches(name, known, n=1)
                meant = f"; did you mean {hint[0]!r}?" if hint else ""
                raise InputError(f"{toml or 'options'}: unknown option {name!r} of collect{meant}")
            options[name] = _typed(name, value, known[name])
        for name, missing in (("queries", "QUERIES"), ("engines", "--engine NAME"), ("out", "--out DATA")):
            if name not in options:
                raise InputError(f"collect lacks {missing}; give it, or write it in [collect] of --config")
        return cls(**options)


def _typed(name: str, value: object, annotation: str) -> Any:  # noqa: ANN401 - as annotated
    """`value` when it has the type that the option declares; raises InputError when it has not."""
    kind = annotation.removesuffix(" | None")
    if isinstance(value, Path):
        value = str(value)
    if kind == "tuple[str, ...]" and isinstance(value, list | tuple):
        fits, value = all(isinstance(part, str) for part in value), tuple(value)
    elif kind.startswith("Mapping"):
        part = str if kind == "Mapping[str, str]" else Mapping
        fits = isinstance(value, Mapping) and all(isinstance(each, part) for each in value.values())
    else:
        types: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
        fits = isinstance(value, types.get(kind, ())) and not isinstance(value, bool)
    if not fits:
        raise InputError(f"option {name!r} of collect is {value!r:.80}, not {annotation}")
    return value
