"""What all option tables share: types of values, strict validation, and one wording for what is wrong.

Options that are lists or tables are texts on the command line, such as snippet=text,query=q.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from operator import index
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs, ErrorDetails, PydanticCustomError

from judge.config.option_record import FILES, LIMITS, MEASURING, OTHER_DIMENSIONS, Option
from judge.config.toml_file import ConfigSource
from judge.errors import EXPECTED_TYPES, InputError, suggest_name
from judge.messages import Message, OptionName, SeparatedNames
from judge.records import WEIGHTED_DIMENSIONS

#: No conversions (true is not a number), no unknown keys, no NaN and no infinity.
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
#: What a value should be, by pydantic's name of the error without its end.
_EXPECTED = {
    **EXPECTED_TYPES,
    "string_pattern_mismatch": Message("a text without the character NUL"),
    "float": Message("a number such as 0.5"),
    "finite_number": Message("a number such as 0.5"),
    "dict": Message("a table"),
    "tuple": Message("a list of texts"),
}
#: Those that an example of the option makes clear.
_SHOWN_BY_EXAMPLE = frozenset({"string", "int", "tuple"})
#: The names that a shell takes for a variable and GitHub for a secret; a longer one is a secret itself.
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_NOT_A_VARIABLE = "not_a_variable"
#: Errors of a key that is no option; the last one is that of `source`.
_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden", "dataclass_exact_type"})
_Table = TypeVar("_Table", bound=BaseModel)


def _keep_as_given(value: Any, validate: Any) -> Any:  # noqa: ANN401 - any number
    """Validate a number but do not turn 1 into 1.0: hashes of paid verdicts are made from it as given."""
    number = validate(value)
    return value if isinstance(value, int) else number


def _read_whole_number(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return a whole number of another type, such as NumPy's, as an int, and any other value as it is."""
    try:
        return value if isinstance(value, bool) else index(value)
    except TypeError:
        return value


def _check_variable(name: str) -> str:
    if name and not VARIABLE.fullmatch(name):
        raise PydanticCustomError(_NOT_A_VARIABLE, "not a name of a variable")
    return name


#: The name of an environment variable, or no text.
VariableName = Annotated[
    str, AfterValidator(_check_variable), Field(description=Message("the name of an environment variable"))
]
#: Takes a text as a list of one.
OneOrMore = BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
WholeNumber = Annotated[int, BeforeValidator(_read_whole_number)]
NumberValue = Annotated[float, WrapValidator(_keep_as_given), BeforeValidator(_read_whole_number)]
#: A text; a path is taken as its text. No file has a NUL in its name.
TextValue = Annotated[
    str,
    Field(pattern="^[^\0]*$"),
    BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value),
]
#: The path of a file: the command line reads a `Path`.
PathText = Annotated[TextValue, Path]
#: A day as text; a day of TOML is taken as its text.
DayValue = Annotated[
    str,
    BeforeValidator(lambda value: value.isoformat() if type(value) is date else value),
    Field(description=Message('a day such as "2026-05-01"')),
]
TextList = Annotated[tuple[TextValue, ...], Field(strict=False)]
PathList = Annotated[tuple[PathText, ...], Field(strict=False)]
CountValue = Annotated[WholeNumber, Field(ge=1)]
NonNegativeNumber = Annotated[NumberValue, Field(ge=0)]
ShareValue = Annotated[NumberValue, Field(ge=0, le=1, description=Message("a share from 0 to 1"))]


def is_day(text: str) -> bool:
    """Return whether `text` is a day in ISO format, such as 2026-05-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@dataclass(config=STRICT, frozen=True, kw_only=True)
class Options:
    """A table of options. Raises InputError that names the option, its value and what it can be.

    `source` is not an option: it says which file decided which option, for error messages.
    """

    source: ConfigSource = dataclasses.field(default=ConfigSource(), compare=False, repr=False)

    @model_validator(mode="wrap")
    @classmethod
    def _translate_errors(cls, data: Any, validate: Callable[[Any], Self]) -> Self:  # noqa: ANN401
        try:
            return validate(data)
        except ValidationError as error:
            values = (data.kwargs or {}) if isinstance(data, ArgsKwargs) else data
            raise InputError(_describe_invalid(error, list_fields(cls), values)) from None


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
    extras = {name: field.json_schema_extra for name, field in list_fields(model).items()}
    return {name: extra["option"] for name, extra in extras.items() if isinstance(extra, dict)}  # type: ignore[misc]


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


def validate_table(model: type[_Table], table: Mapping[str, Any], place: str) -> _Table:
    """Return `table` as a `model`; raise InputError that begins with `place` when it does not fit."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problem = _describe_invalid(error, list_fields(model), table)
        if place.endswith("]"):  # a key follows its table
            raise InputError("[{name}] {error}", name=place.strip("[]"), error=problem) from None
        raise InputError("{name}: {value}", name=place, value=problem) from None


def _describe_invalid(
    error: ValidationError, fields: Mapping[str, FieldInfo], values: Mapping[str, Any]
) -> Message:
    """Return what is wrong with the first invalid one of `values`: key, value and what it has to be."""
    details = error.errors(include_url=False)
    # A misspelt key is also one that is missing.
    detail = next((problem for problem in details if problem["type"] in _UNKNOWN), details[0])
    name = str(detail["loc"][0])
    if detail["type"] in _UNKNOWN:
        keys = [field.title or key for key, field in fields.items() if field.annotation is not ConfigSource]
        listing = (
            Message("; the known names are {names}", names=SeparatedNames(keys)) if len(keys) < 12 else ""
        )
        suggestion = suggest_name(name, keys) or listing
        return Message("unknown option {name!r}{suggestion}", name=name, suggestion=suggestion)
    key = fields[name].title or name
    option = _name_option(name, fields[name])
    requirement = _describe_requirement(detail, fields[name], key)
    if detail["type"] == "missing":
        return Message("{key} is missing; {requirement}", key=option, requirement=requirement)
    if detail["type"] == _NOT_A_VARIABLE:
        return Message(
            "{key} is not a name such as MY_KEY (its value is not shown, since it may be a secret);"
            " {requirement}",
            key=option,
            requirement=requirement,
        )
    if len(detail["loc"]) > 1 and isinstance(detail["loc"][1], str):
        # Other parts of the table may be secret.
        option, value = f"{key}.{detail['loc'][1]}", detail["input"]
        requirement = Message("it is {expected}", expected=_EXPECTED[detail["type"].removesuffix("_type")])
    else:
        value = values[name]
    return Message(
        "{key} is {value:.80}; {requirement}", key=option, value=_format_toml(value), requirement=requirement
    )


def _name_option(name: str, field: FieldInfo) -> str:
    """Return the name of an option as the command line has it, or its key in TOML if it is in files only.

    On the command line, a flag such as --points has no value that can be wrong.
    """
    extra = field.json_schema_extra
    record: object = extra["option"] if isinstance(extra, dict) else None
    if isinstance(record, Option) and record.place == "option" and field.annotation is not bool:
        return OptionName(record.list_flags(name)[0])
    return field.title or name


def _format_toml(value: object) -> str:
    """Return a value as it looks in a TOML file, so that a search finds it there."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return str(value)
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _describe_requirement(detail: ErrorDetails, field: FieldInfo, key: str) -> Message:
    # A field whose value may be None has its description inside the union of types.
    inside = (part for option in get_args(field.annotation) for part in getattr(option, "__metadata__", ()))
    for part in (field, *(part for part in inside if isinstance(part, FieldInfo))):
        if part.description:
            return Message("it is {expected}", expected=part.description)
    context = detail.get("ctx", {})
    if "ge" in context:
        return Message("it must be at least {least}", least=context["ge"])
    if "le" in context:
        return Message("it must be at most {most:,}", most=context["le"])
    kind = "tuple" if len(detail["loc"]) > 1 else detail["type"].removesuffix("_type")
    if kind in _EXPECTED:
        extra = field.json_schema_extra
        example = extra["option"].example if isinstance(extra, dict) else ""  # type: ignore[union-attr]
        if example and kind in _SHOWN_BY_EXAMPLE:
            return Message(
                "it is {expected}, such as {key} = {example}",
                expected=_EXPECTED[kind],
                key=key,
                example=example,
            )
        return Message("it is {expected}", expected=_EXPECTED[kind])
    return Message(detail["msg"])


def _split_columns(value: object) -> object:
    """Return a table of columns, or texts FIELD=COLUMN,FIELD=COLUMN, as a list of FIELD=COLUMN."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={column}" for name, column in value.items())
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return value
    # A column's name may hold a comma: one that separates is followed by FIELD=.
    return tuple(part for text in texts for part in re.split(r",(?=\w+=)", text))


def _split_table(value: object) -> tuple[str, ...]:
    """Return a table, or texts NAME=VALUE,NAME=VALUE, as NAME=VALUE each."""
    if isinstance(value, Mapping):
        # 1e-07 is 0.0000001, as the command line takes it.
        texts: Iterable[object] = (
            f"{name}={Decimal(str(number)):f}" if isinstance(number, float | Decimal) else f"{name}={number}"
            for name, number in value.items()
        )
    else:
        texts = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(part.strip() for text in texts for part in str(text).split(","))


def split_prices(value: object) -> tuple[str, ...]:
    """Return a table of engines' prices, or texts ENGINE=USD,ENGINE=USD, as ENGINE=USD each.

    The text `list` stands for list prices alone. Raise InputError for a price that is not a number from 0.
    """
    prices = _split_table(value)
    for text in prices:
        name, _, price = text.rpartition("=")
        if text != "list" and (not name or not re.fullmatch(r"[0-9]*\.?[0-9]+", price.strip())):
            raise InputError(
                "--costs is {value!r}; it is {form} per 1,000 queries, or list",
                value=text if isinstance(value, Mapping | Sequence) else value,
                form=OptionName("--costs ENGINE=USD"),
            )
    return prices


def split_weights(value: object) -> tuple[str, ...]:
    """Return a table of weights, or texts NAME=WEIGHT,NAME=WEIGHT, as NAME=WEIGHT each.

    Raise InputError for an unknown or repeated name, and for a weight that is not a number above 0.
    """
    weights = _split_table(value)
    names = [text.partition("=")[0] for text in weights]
    for number, text in enumerate(weights):
        name, _, weight = text.partition("=")
        is_number = re.fullmatch(r"[0-9]*\.?[0-9]+", weight) and float(weight) > 0
        if name not in WEIGHTED_DIMENSIONS or name in names[:number] or not is_number:
            raise InputError(
                "--weights is {value!r}; it is {form} with weights above 0, each of these names at most once:"
                " {names}",
                value=text if isinstance(value, Mapping | Sequence) else value,
                form=OptionName("--weights NAME=WEIGHT"),
                names=SeparatedNames(WEIGHTED_DIMENSIONS),
            )
    return weights


def _split_numbers(value: object) -> object:
    """Return the numbers of a text with commas, as the command line takes a list of numbers."""
    try:
        return tuple(map(float, value.split(","))) if isinstance(value, str) else value
    except ValueError:
        return value


def _read_addresses(value: object) -> object:
    """Return a list of NAME=URL, as the command line takes addresses, as a table."""
    if not isinstance(value, list | tuple):
        return value
    for text in value:
        name, _, url = str(text).partition("=")
        if not (name and url):
            raise InputError(
                "--base-url is {value!r:.80}; it is NAME=URL, e.g. searxng=http://localhost", value=text
            )
    return dict(str(text).split("=", 1) for text in value)


Prices = Annotated[TextList, BeforeValidator(split_prices)]
Weights = Annotated[TextList, BeforeValidator(split_weights)]
ColumnNames = Annotated[
    TextList,
    BeforeValidator(_split_columns),
    Field(description=Message('a table such as {snippet = "text"}')),
]
Measures = Annotated[
    TextList, OneOrMore, Field(description=Message('a list of measures such as ["nDCG@10", "AP@10"]'))
]
PriceNumbers = Annotated[
    tuple[NonNegativeNumber, ...],
    BeforeValidator(_split_numbers),
    Field(
        strict=False,
        min_length=2,
        max_length=3,
        description=Message(
            "the price of input, output and, as a third number, cached tokens in USD per million: {form}",
            form=OptionName("--price INPUT,OUTPUT"),
        ),
    ),
]
Thresholds = Annotated[
    tuple[NumberValue, ...],
    BeforeValidator(_split_numbers),
    Field(strict=False, min_length=1, description=Message("a list of scores such as [0.2, 0.5, 0.8]")),
]
Addresses = Annotated[
    Mapping[str, str], BeforeValidator(_read_addresses), Field(description=Message("a table of texts"))
]
