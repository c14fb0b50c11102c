"""Owns what one field of a row may hold, and the one line that says so when it holds something else."""

from __future__ import annotations

import datetime
import math
import numbers
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from judge.errors import InputError

#: One record of a dataset: the row of a table or one JSON object.
Record = Mapping[str, Any]

_RANK = re.compile(r"\s*([0-9]{1,9})(?:\.0*)?\s*")
_LAST_RANK = 10**6
#: An engine's id becomes a part of a file name, and file systems count bytes.
_ID_BYTES = 200
#: Control, format, surrogate, line separator and paragraph separator characters.
_UNNAMEABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SHOWN = 60


def wrong(place: str, field: str, value: object, why: str) -> InputError:
    """The error, on one line, about what `field` holds at `place`; `why` also says what to do."""
    return InputError(f"{place}: field {field!r}: {shown(value)} {why}")


def shown(value: object) -> str:
    """`value` as its file spells it, on one short printable line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    text = repr(value[:_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= 2 * _SHOWN else text[:_SHOWN] + "…"


def optional_text(record: Record, field: str, place: str) -> str | None:
    """The text of `field`, None when it is absent; numbers and dates are spelled out."""
    value = record.get(field)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return str(value)
    raise wrong(place, field, value, "is not text; put it in quotes, or leave the field out")


def snippet(record: Record, field: str, place: str) -> str:
    """A result's text, `""` for null: one bad snippet never ends a run.

    Raises InputError when the field is missing or not text, which is a mistake in the whole file.
    """
    if field not in record:
        columns = ", ".join(repr(name) for name in list(record)[:12])
        raise InputError(
            f"{place}: field {field!r}: missing; every result needs it (null or '' for an empty one); "
            f"this row has {columns}"
        )
    value = record[field]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(place, field, value, "is not text; write the snippet as a string, or null")
    return value


def rank(record: Record, place: str) -> int | None:
    """The 1-based rank, None when absent; `"3"` and 3.0 are 3.

    Raises InputError for anything that is not a whole number from 1 to a million.
    """
    value = record.get("rank")
    if value is None:
        return None
    found = _whole(value)
    if found is None or found < 1:
        raise wrong(
            place, "rank", value, "is not a whole number from 1 up; number each engine's results 1, 2, 3, …"
        )
    if found > _LAST_RANK:
        raise wrong(place, "rank", value, f"is over {_LAST_RANK}; number each engine's results 1, 2, 3, …")
    return found


def _whole(value: object) -> int | None:
    if isinstance(value, str):
        digits = _RANK.fullmatch(value)
        return int(digits[1]) if digits and value.isascii() else None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def identifier(record: Record, field: str, place: str) -> str | None:
    """An id, stripped and in NFC, None when absent.

    Ids name files and columns of TREC files, hence InputError for one that is empty, that could
    leave a folder, or that holds a character which cannot be seen.
    """
    value = record.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | numbers.Integral):
        raise wrong(place, field, value, "is not an id; write it as text or as a whole number")
    name = normal(str(value))
    complaint = _complaint(name)
    if complaint:
        raise wrong(place, field, value, complaint)
    return name


def _complaint(name: str) -> str:
    if not name:
        return "is an empty id; name it, or leave the field out"
    if name in {".", ".."} or "/" in name or "\\" in name:
        return "could leave the run's folder; use an id without '/' and '\\' that is not '.' or '..'"
    if any(unicodedata.category(character) in _UNNAMEABLE for character in name):
        return "holds a control or invisible character; use an id of visible characters"
    if len(name.encode()) > _ID_BYTES:
        return f"takes more than {_ID_BYTES} bytes; use a shorter id"
    return ""


def normal(text: str) -> str:
    """`text` stripped and in NFC: how two ids, queries or references are compared."""
    return unicodedata.normalize("NFC", text).strip()


def scalar(value: object) -> str | None:
    """A further column's value as text, None when it is absent or not a single value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, numbers.Real) and math.isfinite(value) else None
