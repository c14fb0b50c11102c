"""Options that a text on the command line states as a list or a table, such as snippet=text,query=q."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from judge.config.option_checks import NonNegativeNumber, NumberValue, OneOrMore, TextList
from judge.errors import InputError
from judge.messages import Message


def _split_columns(value: object) -> object:
    """Return a table of columns, or texts FIELD=COLUMN,FIELD=COLUMN, as a list of FIELD=COLUMN."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={column}" for name, column in value.items())
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return value
    # A column's name may hold a comma: one that separates is followed by FIELD=.
    return tuple(part for text in texts for part in re.split(r",(?=\w+=)", text))


def split_prices(value: object) -> tuple[str, ...]:
    """Return a table of engines' prices, or texts ENGINE=USD,ENGINE=USD, as ENGINE=USD each.

    The text `list` stands for list prices alone. Raise InputError for a price that is not a number from 0.
    """
    if isinstance(value, Mapping):
        texts: Iterable[object] = (f"{name}={price}" for name, price in value.items())
    else:
        texts = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    prices = tuple(part.strip() for text in texts for part in str(text).split(","))
    for each in prices:
        name, _, price = each.rpartition("=")
        if each != "list" and (not name or not re.fullmatch(r"[0-9]*\.?[0-9]+", price.strip())):
            raise InputError(
                "costs is {value!r}; it is ENGINE=USD per 1,000 queries, such as tavily=8, or list",
                value=each if isinstance(value, Mapping | Sequence) else value,
            )
    return prices


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
