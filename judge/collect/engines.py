"""Definitions of engines and the requests that they make: address, parameters, body and key.

Templates hold {query}, {count}, {count_text} (where JSON needs text), {page} (from 1), {skipped_pages},
{offset} (results to skip), {first} (number of the first result), {lang} and {country}; a parameter without a
value is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from judge.collect.response_shape import ResponseShape
from judge.runs.folder import dump_json

#: The slots of templates.
SLOTS = frozenset(
    {"query", "count", "count_text", "page", "skipped_pages", "offset", "first", "lang", "country"}
)
_SLOT = re.compile(rf"\{{({'|'.join(sorted(SLOTS))})\}}")


def keep_code(text: str) -> str:
    """Return the text unchanged, for engines that take language tags, or codes in any case."""
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDefinition:
    """The API of one engine; `docs` is the address of its documentation.

    `base_url` is "" if there is no public server; `base_env` names a variable that may hold an address.
    `key` names the variable of the key, which replaces "{key}" in `headers` or in the parameters `secrets`. A
    `body` is sent as JSON. One call returns `page` results at most. `hint` says what to check when the engine
    refuses every request. `language` and `country` turn a language tag and a country into the engine's codes.
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
    language: Callable[[str], str] = keep_code
    country: Callable[[str], str] = keep_code


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One call without its key; a request that has an answer is not sent again.

    `setting` is a digest of whatever else changes the answer, "" if nothing does.
    """

    method: str
    url: str
    body: str = ""
    setting: str = ""


def build_requests(
    engine: EngineDefinition, base_url: str, query: str, depth: int, locale: Mapping[str, str | None]
) -> list[EngineRequest]:
    """Return the calls for `depth` results of `query`, in order; `locale` holds lang and country.

    An engine without a second page gets one call.
    """
    count = min(depth, engine.page)
    lang, country = locale.get("lang"), locale.get("country")
    codes = {"lang": lang and engine.language(lang), "country": country and engine.country(country)}
    requests = []
    for skipped in range(-(-depth // count)):
        slots = {
            **codes,
            "query": query,
            "count": count,
            "count_text": str(count),
            "page": skipped + 1,
            "skipped_pages": skipped,
            "offset": skipped * count,
            "first": skipped * count + 1,
        }
        requests.append(_build_request(engine, base_url, slots))
    return list(dict.fromkeys(requests))


def hash_settings(settings: Mapping[str, Any]) -> str:
    """Return a hash of an engine's settings, which may be secret, "" when there are none."""
    if not settings:
        return ""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _build_request(engine: EngineDefinition, base_url: str, slots: Mapping[str, Any]) -> EngineRequest:
    path = _SLOT.sub(lambda slot: quote(str(slots[slot[1]] or ""), safe=""), engine.path)
    params = urlencode(fill_template(engine.params, slots))
    separator = "&" if "?" in path else "?"
    body = "" if engine.body is None else dump_json(fill_template(engine.body, slots))
    url = f"{base_url}{path}{separator + params if params else ''}"
    templates = (*engine.headers.items(), *engine.secrets.items())
    settings = {name: text for name, text in templates if "{key}" not in text}
    return EngineRequest(engine.method, url, body, hash_settings(settings))


def fill_template(template: Mapping[str, Any], slots: Mapping[str, Any]) -> dict[str, Any]:
    """Return `template` with the values of its slots, without parts that have no value.

    A part that is one slot keeps its type, so that a count stays a number in JSON.
    """
    values = {name: _fill_part(part, slots) for name, part in template.items()}
    return {name: value for name, value in values.items() if value is not None}


def _fill_part(part: Any, slots: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(part, Mapping):
        return fill_template(part, slots)
    if isinstance(part, list):
        return [_fill_part(item, slots) for item in part]
    if not isinstance(part, str):
        return part
    whole = _SLOT.fullmatch(part)
    if whole:
        return slots[whole[1]]
    return _SLOT.sub(lambda slot: str(slots[slot[1]] or ""), part)
