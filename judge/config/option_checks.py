"""What all option tables share: strict validation, and one wording for what is wrong."""

import dataclasses
from collections.abc import Callable, Container, Mapping
from contextlib import nullcontext
from datetime import date, time
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs, ErrorDetails

from judge.config.option_record import FILES, LIMITS, MEASURING, OTHER_DIMENSIONS, Option
from judge.config.option_types import NOT_A_VARIABLE
from judge.config.parameters import name_parameters_in_errors
from judge.config.toml_file import ConfigSource, TomlTable
from judge.errors import EXPECTED_TYPES, InputError, suggest_name
from judge.messages import Message, OptionName, SeparatedNames

#: No conversions (true is not a number), no unknown keys, no NaN and no infinity.
#: The checks of options are built at their first use: most commands only list the options.
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)
#: What a value should be, by pydantic's name of the error without its end.
_EXPECTED = {
    **EXPECTED_TYPES,
    "string_pattern_mismatch": Message("a text without the character NUL"),
    "float": Message("a number such as 0.5"),
    "finite_number": Message("a number such as 0.5"),
    "dict": Message("a table"),
    "tuple": Message("a list of texts"),
    "invalid-json-value": Message("a text, a number, true, false, a list or a table"),
}
#: Errors of a key that is no option; the last one is that of `source`.
_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden", "dataclass_exact_type"})
_Table = TypeVar("_Table", bound=BaseModel)


@dataclass(config=STRICT, frozen=True, kw_only=True)
class Options:
    """A table of options. Raises InputError that names the option, its value and what it can be.

    `source` is not an option: it says which file decided which option, for error messages.
    """

    source: ConfigSource = dataclasses.field(default=ConfigSource(), compare=False, repr=False)

    @model_validator(mode="wrap")
    @classmethod
    def _translate_errors(cls, data: Any, validate: Callable[[Any], Self]) -> Self:  # noqa: ANN401
        values = (data.kwargs or {}) if isinstance(data, ArgsKwargs) else data
        # A call such as `Config(…)` in Python has no source: its errors name parameters.
        with nullcontext() if "source" in values else name_parameters_in_errors():
            try:
                options = validate(data)
            except ValidationError as error:
                raise InputError(_describe_invalid(error, list_fields(cls), values)) from None
            options.check_together()
            return options

    def check_together(self) -> None:
        """Raise InputError for options that contradict each other, or lack one that they need."""


def list_fields(model: Any) -> Mapping[str, FieldInfo]:  # noqa: ANN401 - a pydantic dataclass or model
    """Return the fields of a pydantic model or dataclass by name."""
    return model.__pydantic_fields__  # type: ignore[no-any-return]


def option(
    help_text: str,
    default: Any = None,  # noqa: ANN401 - as pydantic's Field has it
    *,
    group: str,
    title: str | None = None,
    is_changeable: bool | None = None,
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return the field of an option, as in `Option`; `title` is its key in TOML if that is not its name.

    What limits calls, chooses measures or dimensions, or names files is changeable by default.
    """
    if is_changeable is None:
        is_changeable = group in (LIMITS, MEASURING, OTHER_DIMENSIONS, FILES)
    record = Option(help=help_text, group=group, is_changeable=is_changeable, **more)
    return Field(default, title=title, json_schema_extra={"option": record})  # type: ignore[dict-item]


def list_options(model: type[Any]) -> dict[str, Option]:
    """Return the options of a model by the names of their fields."""
    records = {name: _get_option(field) for name, field in list_fields(model).items()}
    return {name: record for name, record in records.items() if record}


def _get_option(field: FieldInfo) -> Option | None:
    extra = field.json_schema_extra
    return extra["option"] if isinstance(extra, dict) else None  # type: ignore[return-value]


def list_keys(model: type[Any]) -> dict[str, str]:
    """Return the name of each option by its key in a TOML file; a field's title is its key."""
    return {field.title or name: name for name, field in list_fields(model).items() if name != "source"}


def list_spellings(model: type[Any], names: Container[str]) -> dict[str, str]:
    """Return what a file has for the options of a model in `names`, by what the command line has for each.

    That is its key, `on = "ray"` for `--on ray`, one of its choices, `points = true` for `--points`, and its
    example for `--price FORM`.
    """
    spellings = {}
    for name, record in list_options(model).items():
        if name not in names:
            continue
        field = list_fields(model)[name]
        key = field.title or name
        for flag in record.list_flags(name):
            spellings[flag] = f"{key} = true" if field.annotation is bool else key
            if record.example:
                spellings[f"{flag} FORM"] = f"{key} = {record.example}"
            if get_origin(field.annotation) is Literal:
                spellings |= {
                    f"{flag} {choice}": f'{key} = "{choice}"' for choice in get_args(field.annotation)
                }
    return spellings


def make_source(model: type[Any], toml: Path | None, given: Container[str], table: str = "") -> ConfigSource:
    """Return the source of the options of a model in a table of a file: all but those `given` elsewhere."""
    keys = {name: key for key, name in list_keys(model).items() if name not in given}
    return ConfigSource(toml, table, keys, list_spellings(model, keys))


def validate_table(model: type[_Table], table: TomlTable, place: str) -> _Table:
    """Return `table` as a `model`; raise InputError that begins with `place` when it does not fit."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problem = _describe_invalid(error, list_fields(model), table)
        if place.endswith("]"):  # a key follows its table
            raise InputError("[{name}] {error}", name=place.strip("[]"), error=problem) from None
        raise InputError("{name}: {value}", name=place, value=problem) from None


def _describe_invalid(error: ValidationError, fields: Mapping[str, FieldInfo], values: TomlTable) -> Message:
    """Return what is wrong with the first invalid one of `values`: key, value and what it has to be."""
    details = error.errors(include_url=False)
    # A misspelt key is also one that is missing.
    detail = next((problem for problem in details if problem["type"] in _UNKNOWN), details[0])
    name = str(detail["loc"][0])
    if detail["type"] in _UNKNOWN:
        keys = [field.title or key for key, field in fields.items() if field.annotation is not ConfigSource]
        suggestion = suggest_name(name, keys)
        return Message("unknown option {name!r}{suggestion}", name=name, suggestion=suggestion)
    key = fields[name].title or name
    option = name_option(name, fields[name])
    requirement = _describe_requirement(detail, fields[name])
    if detail["type"] == "missing":
        return Message("{key} is missing; {requirement}", key=option, requirement=requirement)
    if detail["type"] == NOT_A_VARIABLE:
        return Message(
            "{key} is not a name such as MY_KEY (its value is not shown, since it may be a secret);"
            " {requirement}",
            key=option,
            requirement=requirement,
        )
    if len(detail["loc"]) > 1 and isinstance(detail["loc"][1], str):
        # Other parts of the table may be secret.
        option, value = f"{key}.{detail['loc'][1]}", detail["input"]
        requirement = Message(
            "it must be {expected}", expected=_EXPECTED[detail["type"].removesuffix("_type")]
        )
    else:
        value = values[name]
    return Message(
        "{key} is {value:.80}; {requirement}", key=option, value=_format_toml(value), requirement=requirement
    )


def name_option(name: str, field: FieldInfo) -> str:
    """Return the name of an option as the command line has it, or its key in TOML if it is in files only.

    On the command line, a flag such as --points has no value that can be wrong.
    """
    record = _get_option(field)
    if record and record.place == "option" and field.annotation is not bool:
        return OptionName(record.list_flags(name)[0])
    return field.title or name


def _format_toml(value: object) -> str:
    """Return a value as it looks in a TOML file, so that a search finds it there."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return str(value)
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _describe_requirement(detail: ErrorDetails, field: FieldInfo) -> Message:
    # A field whose value may be None has its description inside the union of types.
    inside = (part for option in get_args(field.annotation) for part in getattr(option, "__metadata__", ()))
    for part in (field, *(part for part in inside if isinstance(part, FieldInfo))):
        if part.description:
            return Message("it must be {expected}", expected=part.description)
    if get_origin(field.annotation) is Literal:
        choices = SeparatedNames(map(repr, get_args(field.annotation)))
        return Message("it must be one of {choices}", choices=choices)
    context = detail.get("ctx", {})
    if "ge" in context:
        return Message("it must be at least {least}", least=context["ge"])
    if "le" in context:
        return Message("it must be at most {most:,}", most=context["le"])
    kind = "tuple" if len(detail["loc"]) > 1 else detail["type"].removesuffix("_type")
    if kind in _EXPECTED:
        return Message("it must be {expected}", expected=_EXPECTED[kind])
    return Message(detail["msg"])
