"""Options that a text on the command line states as a list or a table, such as snippet=text,query=q."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from judge.config.option_checks import NonNegativeNumber, NumberValue, OneOrMore, TextList
from judge.errors import InputError
from judge.messages import Message
from judge.records import WEIGHTED_DIMENSIONS


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
        texts: Iterable[object] = (f"{name}={each}" for name, each in value.items())
    else:
        texts = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(part.strip() for text in texts for part in str(text).split(","))


def split_prices(value: object) -> tuple[str, ...]:
    """Return a table of engines' prices, or texts ENGINE=USD,ENGINE=USD, as ENGINE=USD each.

    The text `list` stands for list prices alone. Raise InputError for a price that is not a number from 0.
    """
    prices = _split_table(value)
    for each in prices:
        name, _, price = each.rpartition("=")
        if each != "list" and (not name or not re.fullmatch(r"[0-9]*\.?[0-9]+", price.strip())):
            raise InputError(
                "costs is {value!r}; it is ENGINE=USD per 1,000 queries, such as tavily=8, or list",
                value=each if isinstance(value, Mapping | Sequence) else value,
            )
    return prices


def split_weights(value: object) -> tuple[str, ...]:
    """Return a table of weights, or texts NAME=WEIGHT,NAME=WEIGHT, as NAME=WEIGHT each.

    Raise InputError for an unknown or repeated name, and for a weight that is not a number above 0.
    """
    weights = _split_table(value)
    names = [each.partition("=")[0] for each in weights]
    for place, each in enumerate(weights):
        name, _, weight = each.partition("=")
        is_number = re.fullmatch(r"[0-9]*\.?[0-9]+", weight) and float(weight) > 0
        if name not in WEIGHTED_DIMENSIONS or name in names[:place] or not is_number:
            raise InputError(
                "weights is {value!r}; it is NAME=WEIGHT with weights above 0, each of these names at most"
                " once: {names}",
                value=each if isinstance(value, Mapping | Sequence) else value,
                names=", ".join(WEIGHTED_DIMENSIONS),
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
Columns = Annotated[TextList, BeforeValidator(_split_columns)]
Measures = Annotated[
    TextList,
    OneOrMore,
    Field(description=Message('a list of measures such as ["nDCG@10", "AP@10"]')),
]
Price = Annotated[
    tuple[NonNegativeNumber, ...],
    BeforeValidator(_split_numbers),
    Field(
        strict=False,
        min_length=2,
        max_length=3,
        description=Message("INPUT,OUTPUT or INPUT,OUTPUT,CACHED in USD per million tokens"),
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
