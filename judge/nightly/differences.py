"""Owns how options that were given otherwise are told to people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any


def different(then: Mapping[str, Any], now: Mapping[str, Any], free: Collection[str] = ()) -> Iterator[str]:
    """What was one thing then and is another now, option by option, but for those that are `free`.

    What one side alone has is an option that another version of judge doesn't know.
    """
    for name in sorted((then.keys() & now.keys()) - {*free}):
        yield from _different(name, then[name], now[name])


def _different(name: str, then: object, now: object) -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for part in sorted(then.keys() | now.keys()):
            yield from _different(f"{name}.{part}", then.get(part), now.get(part))
    elif then != now:
        yield f"{name} was {_told(then)}, now {_told(now)}"


def _told(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
