"""The options of a collection, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from judge.config.loader import ConfigSource, did_you_mean, read_section, rename_options
from judge.config.option_checks import (
    STRICT,
    CountValue,
    NonNegativeNumber,
    NumberValue,
    TextList,
    TextValue,
    keys_of,
    raise_input_errors,
)
from judge.errors import InputError
from judge.messages import Message

#: Options without a default, and how the command line takes them.
_REQUIRED = {"queries": "QUERIES", "engines": "--engine NAME", "out": "--out DATA"}


@dataclass(config=STRICT, frozen=True, kw_only=True)
class CollectConfig:
    """The options of a collection.

    `queries` is a file, `engines` the names of the engines, `out` the dataset to write. `depth` results are
    taken from each answer. `lang`, a tag such as zh-CN, and `country` are sent to engines that take them, in
    the codes of each engine. `rate` is in queries a second at each engine. `timeout` is in seconds per call,
    `max_wait` how many seconds an engine that limits the rate is waited for. `base_urls` replace the
    addresses of engines by name; `engine_tables` holds the tables [collect.engines.NAME].

    The title of a field is its key in TOML where that differs. `source` is no option: it says which file
    decided which option, for error messages. Raises InputError that names the option and its value.
    """

    _raise_input_errors = raise_input_errors()

    queries: TextValue
    engines: Annotated[TextList, Field(title="engine")]
    out: TextValue
    depth: CountValue = 10
    lang: TextValue | None = None
    country: TextValue | None = None
    rate: Annotated[NumberValue, Field(ge=0.001)] = 1.0
    attempts: CountValue = 3
    timeout: Annotated[NumberValue, Field(ge=0.1)] = 20.0
    max_wait: NonNegativeNumber = 120.0
    base_urls: Annotated[Mapping[str, str], Field(description=Message("a table of texts"))] = field(
        default_factory=dict
    )
    engine_tables: Annotated[
        Mapping[str, dict[str, Any]], Field(title="engines", description=Message("a table of tables"))
    ] = field(default_factory=dict)
    source: ConfigSource = field(default=ConfigSource(), compare=False, repr=False)

    @model_validator(mode="after")
    def _check_engines(self) -> Self:
        if not self.engines:
            raise InputError("no engine was named; add --engine NAME (see judge collect --help)")
        return self

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """Return the options of the table [collect] of `toml`, overridden by those of `given` not None.

        Raises InputError for a missing, unknown or invalid option; it names the file if the option is there.
        """
        given = {name: value for name, value in given.items() if value is not None}
        keys = keys_of(cls)
        source = ConfigSource(toml, "collect", {name: key for key, name in keys.items() if name not in given})
        table = read_section(toml, "collect") if toml else {}
        with source.error_context():
            options: dict[str, Any] = {}
            for key, value in rename_options(table).items():
                if key not in keys:
                    raise InputError(
                        "unknown option {key!r}{suggestion}", key=key, suggestion=did_you_mean(key, keys)
                    )
                if keys[key] not in given:
                    options[keys[key]] = value
            # The file alone, so that the message can name it.
            cls(**{"queries": "-", "engines": ("-",), "out": "-", **options})
            options |= given
            for name, argument in _REQUIRED.items():
                if name not in options:
                    raise InputError(
                        "{key} is missing; give {argument}, or write it in [collect]",
                        key=source.keys[name],
                        argument=argument,
                    )
        return cls(**options, source=source)
