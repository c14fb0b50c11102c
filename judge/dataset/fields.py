"""Owns what stands in a field that holds text, and the refusal of what doesn't belong there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time

from judge.errors import InputError


def parse_text(place: str, name: str, value: object) -> str:
    """The text that field `name` holds, empty where it is absent; raises InputError naming `place`.

    Numbers and days are texts. A point in time at midnight is its day: tables know no days.
    """
    if value is None or value != value:  # a NaN is how data frames write "absent"
        return ""
    if isinstance(value, list | tuple | Mapping | bool):
        raise _refuse_value(place, name, value)
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return value if isinstance(value, str) else str(value)


def parse_snippet_text(place: str, name: str, value: object) -> str | None:
    """What field `name` says that a result showed, None for unknown; raises InputError naming `place`."""
    if value is not None and not isinstance(value, str):
        raise _refuse_value(place, name, value)
    return value


def _refuse_value(place: str, name: str, value: object) -> InputError:
    return InputError(f"{place}: field {name!r} is {value!r:.80}, not text")
