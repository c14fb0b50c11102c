"""The options of a collection, with their defaults."""

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from judge.config.option_checks import (
    STRICT,
    Options,
    list_fields,
    list_keys,
    make_source,
    name_option,
    option,
)
from judge.config.option_record import CALLS, ENGINES, FILES, INPUT
from judge.config.option_types import (
    Addresses,
    CountValue,
    NonNegativeNumber,
    NumberValue,
    PathText,
    TextList,
    TextValue,
)
from judge.config.run_checks import check_no_run_options
from judge.config.toml_file import TomlTable, read_section, rename_options
from judge.errors import InputError
from judge.messages import Message

_engine, _call = partial(option, group=ENGINES), partial(option, group=CALLS)


@dataclass(config=STRICT, frozen=True, kw_only=True)
class CollectConfig(Options):
    """The options of a collection; the text of each says what it does.

    `engine_tables` holds the tables [collect.engines.NAME].
    """

    queries: PathText = option(
        "Queries: .jsonl or .csv (query, query_id, …), .tsv (id, tab, query), .txt.",
        ...,
        group=INPUT,
        example='"queries.tsv"',
        place="argument",
    )
    engines: TextList = _engine(
        "searxng, brave, bing, serper, serpapi-google, serpapi-baidu, serpapi-bing, tavily, exa, aliyun-iqs"
        " (also -generic, -generic-advanced), bocha, http:NAME (described in a table [collect.engines.NAME])"
        " or langchain:CLASS.",
        ...,
        on_command_line=Message("Repeatable."),
        title="engine",
        example='["searxng", "brave"]',
        flags=("--engine",),
    )
    out: PathText = option(
        "Dataset to write (.jsonl); an existing one is resumed.", ..., group=FILES, example='"data.jsonl"'
    )
    depth: CountValue = _engine("Number of results to keep per query (default 10).", 10)
    lang: TextValue | None = _engine(
        "Language, e.g. zh-CN, sent to engines that take one, in their codes.", example='"zh-CN"'
    )
    country: TextValue | None = _engine("Country, e.g. cn, sent to engines that take one.", example='"cn"')
    rate: Annotated[NumberValue, Field(ge=0.001)] = _call("Queries per second and engine (default 1).", 1.0)
    attempts: CountValue = _call("Attempts of a call when an engine fails (default 3).", 3)
    max_wait: NonNegativeNumber = _call(
        "Seconds to wait for an engine that limits the rate (429); this uses no attempts (default 120).",
        120.0,
        flags=("--max-wait", "--patience"),
    )
    timeout: Annotated[NumberValue, Field(ge=0.1)] = _call("Timeout of a call in seconds (default 20).", 20.0)
    base_urls: Addresses = _engine(
        "Other addresses of engines.",
        {},
        on_command_line=Message("Form: NAME=URL; repeatable."),
        example='{ searxng = "http://localhost" }',
        flags=("--base-url",),
    )
    engine_tables: Annotated[
        Mapping[str, TomlTable], Field(title="engines", description=Message("a table of tables"))
    ] = field(default_factory=dict)

    def check_together(self) -> None:
        """Raise InputError without an engine."""
        if not self.engines:
            raise InputError("no engine was named; name one with --engine (see judge collect --help)")

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """Return the options of the table [collect] of `toml`, overridden by those of `given` not None.

        Raises InputError for a missing, unknown or invalid option; it names the file if the option is there.
        """
        given = {name: value for name, value in given.items() if value is not None}
        keys, source = list_keys(cls), make_source(cls, toml, given, "collect")
        table = read_section(toml, "collect") if toml else {}
        with source.add_error_context():
            check_no_run_options(table.keys() - keys.keys())
            # An unknown key stays, and is refused.
            named = {keys.get(key, key): value for key, value in rename_options(table).items()}
            options = {name: value for name, value in named.items() if name not in given}
            # The file alone, so that the message can name it.
            cls(**{"source": source, "queries": "-", "engines": ("-",), "out": "-", **options})
            options |= given
            for name, option_field in list_fields(cls).items():
                if option_field.is_required() and name not in options:
                    raise InputError(
                        "{option} is missing; add it (see judge collect --help)",
                        option=name_option(name, option_field),
                    )
        return cls(**options, source=source)
