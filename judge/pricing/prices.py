"""Prices of tokens and of search queries, from tables of dated rows.

A table of models is TOML: `[[prices]]` rows, as in `prices.toml` beside this file. The first row that fits
the model and the server gives the price; without such a row the price is unknown. The list prices of search
engines are in `engine_prices.toml`.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from judge.config.option_checks import STRICT, validate_table
from judge.config.option_types import ShareValue, TokenPrice
from judge.config.toml_file import TomlTable
from judge.messages import Message
from judge.records import Usage

#: The share of the price that a request in a batch costs, at OpenAI and at Alibaba Cloud.
_BATCH_SHARE = 0.5
#: The table that comes with judge.
SHIPPED_PRICES = Path(__file__).with_name("prices.toml")
#: The most results of a query that the list price of an engine is for.
LISTED_RESULTS = 10
_Money = Annotated[TokenPrice, Field(description=Message("a price in USD per million tokens, such as 0.4"))]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: fresh input, output, and input from the provider's cache.

    A request in a batch costs `batch_share` of that. `source` says where the price is from, `as_of` on which
    day it was valid; None when that is unknown.
    """

    input: float
    output: float
    cached: float
    as_of: str | None = None
    source: str = "--price"
    batch_share: float = _BATCH_SHARE

    def compute_usd(self, usage: Usage, *, in_batch: bool = False) -> float:
        """Return the cost of `usage` in US dollars."""
        # Some servers do not count cached tokens as part of the prompt.
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return (
            (fresh * self.input + usage.cached_tokens * self.cached + usage.completion_tokens * self.output)
            * (self.batch_share if in_batch else 1)
            / 1e6
        )


#: The price of a model in this process.
FREE_PRICE = Price(0.0, 0.0, 0.0, source="no server is called")


class PriceRow(BaseModel, frozen=True):
    """A row [[prices]] of a TOML file: the price of `models` at the server `endpoint`.

    Both are patterns, in which `*` means any characters and `?` for any one. Cached input costs as much
    as fresh input where `cached` is None.
    """

    model_config = STRICT

    models: Annotated[
        tuple[str, ...],
        Field(strict=False, min_length=1, description=Message("a list of names such as ['qwen-plus']")),
    ]
    endpoint: str = "*"
    input: _Money
    output: _Money
    cached: _Money | None = None
    batch: Annotated[
        ShareValue, Field(description=Message("the share of the price in a batch, such as 0.5"))
    ] = _BATCH_SHARE
    as_of: Annotated[date, Field(description=Message("the day of the price, such as 2026-11-01"))]
    source: str = ""

    @cached_property
    def price(self) -> Price:
        """The price of this row."""
        cached = self.input if self.cached is None else self.cached
        return Price(self.input, self.output, cached, self.as_of.isoformat(), self.source, self.batch)

    def matches(self, model: str, endpoint: str) -> bool:
        """Return whether this row prices `model`, e.g. `openai:gpt-6-luna`, at the address `endpoint`."""
        parts = model.split(":")
        names = [":".join(parts[start:]) for start in range(len(parts))]
        host = urlsplit(endpoint).hostname or ""
        return fnmatchcase(host, self.endpoint) and any(
            fnmatchcase(name, pattern) for name in names for pattern in self.models
        )


def find_common_price(prices: Iterable[Price | None]) -> Price | None:
    """Return the price if all `prices` are equal, else None."""
    distinct = set(prices)
    return distinct.pop() if len(distinct) == 1 else None


def find_price(rows: Iterable[PriceRow], model: str, endpoint: str) -> Price | None:
    """Return the price of `model` at the address `endpoint` by the first row that fits, None without one."""
    return next((row.price for row in rows if row.matches(model, endpoint)), None)


def read_prices(table: Iterable[TomlTable], source: str) -> tuple[PriceRow, ...]:
    """Return the rows of a table from the file `source`; raise InputError that names row and field."""
    rows = (
        validate_table(
            PriceRow, fields, Message("{file}: [[prices]] row {number} (USD)", file=source, number=number)
        )
        for number, fields in enumerate(table, start=1)
    )
    return tuple(row if row.source else row.model_copy(update={"source": source}) for row in rows)


@dataclass(frozen=True, slots=True)
class ListPrice:
    """The list price of an engine: US dollars per 1,000 queries of up to `LISTED_RESULTS` results.

    The vendor's page `source` had this price on the day `as_of`.
    """

    usd: float
    as_of: date
    source: str


def read_list_prices() -> Mapping[str, ListPrice]:
    """Return the shipped list prices by the name that `judge collect` has for the engine."""
    table = tomllib.loads(Path(__file__).with_name("engine_prices.toml").read_text(encoding="utf-8"))
    return {name: ListPrice(**row) for name, row in table.items()}
