"""Owns what an engine's API looks like on the way out: address, parameters, key; and filling them in.

An engine is data. Its templates hold {query}, {count}, {count_text} (where JSON wants text), {page}
(from 1), {skipped_pages}, {offset} (results to skip), {first} (the first result's number), {lang} and
{country}; a parameter whose value is not given is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from judge.collect import language_codes
from judge.collect.response_shape import ResponseShape
from judge.runs.folder import dump_json

#: What templates may ask for.
SLOTS = frozenset(
    {"query", "count", "count_text", "page", "skipped_pages", "offset", "first", "lang", "country"}
)
_SLOT = re.compile(rf"\{{({'|'.join(sorted(SLOTS))})\}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDefinition:
    """How one engine is asked; `docs` is the address at which its maker says so.

    `base_url` is "" where there is no common server; `base_env` names a variable that may hold one.
    `key` names the variable that holds the key, which goes into the header or the parameter (`secret`)
    that is "{key}" in `headers` or `secrets`. A `body` is sent as JSON. One call gives `page` results
    at most. `hint` is what to look at when the engine turns everybody away. `language` and `country` turn
    a language tag and a country into the engine's codes.
    """

    name: str
    docs: str
    shape: ResponseShape
    base_url: str = ""
    base_env: str = ""
    path: str = ""
    method: str = "GET"
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    page: int = 10
    hint: str = ""
    language: Callable[[str], str] = language_codes.unchanged
    country: Callable[[str], str] = language_codes.unchanged


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One call as it is made, less its key: the same request is never made again once it is answered.

    `setting` is the digest of what else goes with it and changes answers, "" where nothing does.
    """

    method: str
    url: str
    body: str = ""
    setting: str = ""


def requests(
    engine: EngineDefinition, base_url: str, query: str, depth: int, place: Mapping[str, str | None]
) -> list[EngineRequest]:
    """The calls that bring `depth` results for `query`, in order; `place` holds lang and country.

    An engine without a second page is called once, and gives what it gives.
    """
    count = min(depth, engine.page)
    lang, country = place.get("lang"), place.get("country")
    place = {"lang": lang and engine.language(lang), "country": country and engine.country(country)}
    made = []
    for skipped in range(-(-depth // count)):
        slots = {
            **place,
            "query": query,
            "count": count,
            "count_text": str(count),
            "page": skipped + 1,
            "skipped_pages": skipped,
            "offset": skipped * count,
            "first": skipped * count + 1,
        }
        made.append(_request(engine, base_url, slots))
    return list(dict.fromkeys(made))


def setting(told: Mapping[str, Any]) -> str:
    """What tells one setting of an engine from another, "" when nothing is set; no value shows."""
    if not told:
        return ""
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _request(engine: EngineDefinition, base_url: str, slots: Mapping[str, Any]) -> EngineRequest:
    path = _SLOT.sub(lambda slot: quote(str(slots[slot[1]] or ""), safe=""), engine.path)
    params = urlencode(filled(engine.params, slots))
    joint = "&" if "?" in path else "?"
    body = "" if engine.body is None else dump_json(filled(engine.body, slots))
    url = f"{base_url}{path}{joint + params if params else ''}"
    templates = (*engine.headers.items(), *engine.secrets.items())
    literal = {name: text for name, text in templates if "{key}" not in text}
    return EngineRequest(engine.method, url, body, setting(literal))


def filled(template: Mapping[str, Any], slots: Mapping[str, Any]) -> dict[str, Any]:
    """`template` with its slots filled in, without what has no value.

    A value that is one slot keeps its type, so that a count stays a number in JSON.
    """
    values = {name: _value(part, slots) for name, part in template.items()}
    return {name: value for name, value in values.items() if value is not None}


def _value(part: Any, slots: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(part, Mapping):
        return filled(part, slots)
    if isinstance(part, list):
        return [_value(each, slots) for each in part]
    if not isinstance(part, str):
        return part
    whole = _SLOT.fullmatch(part)
    if whole:
        return slots[whole[1]]
    return _SLOT.sub(lambda slot: str(slots[slot[1]] or ""), part)
