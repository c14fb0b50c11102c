"""The types of options: numbers, texts and days, and lists and tables, which the command line has as texts.

On the command line, a list or a table is a text such as snippet=text,query=q.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from operator import index
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WrapValidator
from pydantic_core import PydanticCustomError

from judge.errors import InputError
from judge.messages import Message, OptionName, SeparatedNames
from judge.records import WEIGHTED_DIMENSIONS

#: The names that a shell takes for a variable and GitHub for a secret; a longer one is a secret itself.
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
NOT_A_VARIABLE = "not_a_variable"


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
        raise PydanticCustomError(NOT_A_VARIABLE, "not a name of a variable")
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
#: USD per million tokens. A higher price is a mistake, and the sum of many is no number.
TokenPrice = Annotated[NonNegativeNumber, Field(le=1e6)]
ShareValue = Annotated[NumberValue, Field(ge=0, le=1, description=Message("a share from 0 to 1"))]


def is_day(text: str) -> bool:
    """Return whether `text` is a day in ISO format, such as 2026-05-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _split_columns(value: object) -> object:
    """Return a table of columns, or texts FIELD=COLUMN,FIELD=COLUMN, as a list of FIELD=COLUMN."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={column}" for name, column in value.items())
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return value
    # A column's name may hold a comma: one that separates is followed by FIELD=, also after blanks.
    return tuple(part for text in texts for part in re.split(r",\s*(?=\w+=)", text))


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

    The text `list` means list prices alone. Raise InputError for a price that is not a number from 0,
    and for a repeated engine.
    """
    prices = _split_table(value)
    names = [text.rpartition("=")[0].strip() for text in prices]
    for number, text in enumerate(prices):
        name, price = names[number], text.rpartition("=")[2].strip()
        is_price = name and name not in names[:number] and re.fullmatch(r"[0-9]*\.?[0-9]+", price)
        if text != "list" and not is_price:
            raise InputError(
                "--costs is {value!r}; it must be {form} per 1,000 queries, each engine at most once,"
                " or list",
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
                "--weights is {value!r}; it must be {form} with weights above 0, each of these names at most"
                " once: {names}",
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
                "--base-url is {value!r:.80}; it must be an engine and its address, such as {form}",
                value=text,
                form=OptionName("--base-url searxng=URL"),
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
    tuple[TokenPrice, ...],
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
    Field(
        strict=False,
        min_length=1,
        description=Message("one or more scores: {form}", form=OptionName("--rerank-thresholds SCORE,SCORE")),
    ),
]
Addresses = Annotated[
    Mapping[str, str],
    BeforeValidator(_read_addresses),
    Field(description=Message('a table such as {searxng = "http://localhost"}')),
]
