"""Owns engines that a user describes: `http:NAME` and its table [collect.engines.NAME] in a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from judge.collect.engines import SLOTS, EngineDefinition
from judge.collect.response_shape import ResponseShape
from judge.config.run import toml_repr
from judge.errors import InputError
from judge.runs.folder import dump_json

_SLOT = re.compile(r"\{(\w+)\}")
_RESULT_FIELDS = ("title", "url", "snippet", "date")
#: What a table may hold, with its type; the words are those of `Engine` and `Shape`.
_KEYS: Mapping[str, type] = {
    "url": str,
    "method": str,
    "key": str,
    "headers": dict,
    "secrets": dict,
    "params": dict,
    "body": dict,
    "page": int,
    "results": str,
    "proof": str,
    "fields": dict,
}
_WORDS = {str: "a text", int: "a whole number", dict: "a table"}
_KEPT = frozenset(each.name for each in fields(EngineDefinition)) & frozenset(_KEYS)


def engine(name: str, table: Mapping[str, Any]) -> EngineDefinition:
    """The engine that `table` describes; raises InputError naming what is wrong with it."""
    where = f"[collect.engines.{name}]"
    _check(where, table)
    base, path = _address(where, table.get("url", ""))
    kept = {key: table[key] for key in _KEPT if key in table}
    _check_slots(where, table)
    kept["method"] = str(table.get("method", "POST" if "body" in table else "GET")).upper()
    return EngineDefinition(
        **kept, name=name, docs=where, shape=_shape(where, table), base_url=base, path=path
    )


def _check(where: str, table: Mapping[str, Any]) -> None:
    """Raises InputError for a key that is unknown, missing or of another type."""
    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(f"{where}: unknown key {key!r}; known are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise InputError(f"{where}: {key!r} is {toml_repr(value):.80}; it is {_WORDS[_KEYS[key]]}")
    for key in ("headers", "secrets", "params"):
        for part, value in table.get(key, {}).items():
            if not isinstance(value, str):
                raise InputError(f"{where}: {part!r} is {value!r:.80}; in {key!r} it is text")
    if "results" not in table:
        raise InputError(f"{where}: 'results' is missing; it leads to the list of results, e.g. 'data.items'")
    if table.get("page", 1) < 1:
        raise InputError(f"{where}: 'page' is {table['page']}; it is how many results a call gives at most")


def _check_slots(where: str, table: Mapping[str, Any]) -> None:
    """Raises InputError when a template has a slot that nothing fills, or the query is in none."""
    parts = ("url", "params", "body")
    slots = {slot for part in parts for slot in _SLOT.findall(dump_json(table.get(part, "")))}
    unknown = slots - SLOTS
    if unknown:
        raise InputError(f"{where}: nothing fills {{{min(unknown)}}}; slots are {', '.join(sorted(SLOTS))}")
    if "query" not in slots:
        raise InputError(
            f"{where}: {{query}} is in none of {', '.join(parts)}: all queries would be one call"
        )
    keyed = {
        slot for part in ("headers", "secrets") for slot in _SLOT.findall(dump_json(table.get(part, {})))
    }
    if keyed - {"key"}:
        raise InputError(
            f"{where}: nothing fills {{{min(keyed - {'key'})}}} in headers or secrets; {{key}} is"
        )


def _address(where: str, url: str) -> tuple[str, str]:
    """The server in `url`, which --base-url may replace, and the rest."""
    wrong = InputError(
        f"{where}: 'url' is {url!r:.80}; it is like https://host/search?q={{query}}&n={{count}}"
    )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.netloc or "{" in parts.netloc:
        raise wrong
    asked = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}", parts.path + asked


def _shape(where: str, table: Mapping[str, Any]) -> ResponseShape:
    named = table.get("fields", {})
    unknown = set(named) - set(_RESULT_FIELDS)
    if unknown:
        raise InputError(f"{where}: unknown field {min(unknown)!r}; known are {', '.join(_RESULT_FIELDS)}")
    title, url, snippet, date = (_paths(where, name, named.get(name, name)) for name in _RESULT_FIELDS)
    proof = table.get("proof", table["results"])
    return ResponseShape(
        results=table["results"], proof=proof, title=title, url=url, snippet=snippet, date=date
    )


def _paths(where: str, name: str, value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
        raise InputError(f"{where}: field {name!r} is {value!r:.80}; it is a path such as 'link', or several")
    return tuple(paths)
