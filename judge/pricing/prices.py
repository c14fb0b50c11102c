"""Prices of tokens: the price of a model at a server, looked up in tables of dated rows.

A table is TOML: `[[prices]]` rows, as in `prices.toml` beside this file. The first row that names the
model and the server gives the price. A model that no row names has no price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judge.errors import InputError
from judge.records import Usage

#: The table that comes with judge.
SHIPPED_PRICES = Path(__file__).with_name("prices.toml")
_FIELDS = {"models", "endpoint", "input", "output", "cached", "as_of", "source"}


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: fresh input, output, and input from the provider's cache.

    `as_of` is the day on which `source` gave the price, None without a day.
    """

    input: float
    output: float
    cached: float
    as_of: str | None = None
    source: str = "--price"

    def usd(self, usage: Usage) -> float:
        """Return the cost of `usage` in US dollars."""
        # Some servers count cached tokens apart from those of the prompt.
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return (
            fresh * self.input + usage.cached_tokens * self.cached + usage.completion_tokens * self.output
        ) / 1e6


#: The price of a model in this process.
FREE_PRICE = Price(0.0, 0.0, 0.0, source="no server is called")


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One row of a table: the price of `models` at the server `endpoint`.

    Both are patterns, in which `*` stands for any characters and `?` for any one.
    """

    models: tuple[str, ...]
    endpoint: str
    price: Price

    def matches(self, model: str, endpoint: str) -> bool:
        """Return whether the row is for `model`, such as `openai:gpt-6-luna`, at the address `endpoint`."""
        words = model.split(":")
        names = [":".join(words[start:]) for start in range(len(words))]
        host = urlsplit(endpoint).hostname or ""
        return fnmatchcase(host, self.endpoint) and any(
            fnmatchcase(name, pattern) for name in names for pattern in self.models
        )


def common_price(prices: Iterable[Price | None]) -> Price | None:
    """Return the price that all of `prices` equal, None when there is none or they differ."""
    different = set(prices)
    return different.pop() if len(different) == 1 else None


def find_price(rows: Iterable[PriceRow], model: str, endpoint: str) -> Price | None:
    """Return the price of `model` at the address `endpoint` by the first matching row, None without one."""
    return next((row.price for row in rows if row.matches(model, endpoint)), None)


def read_prices(table: Iterable[Mapping[str, Any]], source: str) -> tuple[PriceRow, ...]:
    """Return the rows of a table that was read from the file `source`.

    A row without `endpoint` is for any server, one without `cached` charges cached input like fresh input.
    Raises InputError that names row and field.
    """
    return tuple(
        _read_row(row, f"{source}: [[prices]] row {number}") for number, row in enumerate(table, start=1)
    )


def _read_row(row: Mapping[str, Any], place: str) -> PriceRow:
    unknown = sorted(row.keys() - _FIELDS)
    if unknown:
        raise InputError(f"{place}: unknown field {unknown[0]!r}; a row has {', '.join(sorted(_FIELDS))}")
    models = row.get("models")
    if not isinstance(models, list) or not models or not all(isinstance(name, str) for name in models):
        raise InputError(f"{place}: models is {models!r}; it is a list of names such as ['qwen-plus']")
    as_of = row.get("as_of")
    if type(as_of) is not date:
        raise InputError(f"{place}: as_of is {as_of!r}; it is the day of the price, such as 2026-11-01")
    fresh, output = (
        _parse_amount(row.get("input"), "input", place),
        _parse_amount(row.get("output"), "output", place),
    )
    cached = _parse_amount(row["cached"], "cached", place) if "cached" in row else fresh
    source = _parse_text(row.get("source", place.partition(":")[0]), "source", place)
    price = Price(fresh, output, cached, as_of.isoformat(), source)
    return PriceRow(tuple(models), _parse_text(row.get("endpoint", "*"), "endpoint", place), price)


def _parse_amount(value: object, field: str, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or value < 0:  # type: ignore[arg-type,operator]
        raise InputError(f"{place}: {field} is {value!r}; it is in USD per million tokens, such as 0.4")
    return float(value)  # type: ignore[arg-type]


def _parse_text(value: object, field: str, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place}: {field} is {value!r}, not a text")
    return value
