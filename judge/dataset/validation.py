"""Validation."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from functools import lru_cache

from judge.errors import InputError

_UNSAFE = re.compile(
    r"[/\\\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
#: An engine's id becomes a part of a file's name, and file systems count bytes.
_MAX_ID_BYTES = 200


def short_hash(parts: Sequence[str], length: int) -> str:
    """The first `length` hex digits of a hash over `parts`, unambiguous about where each part ends."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:length]


def make_query_id(text: str) -> str:
    """The id of a query that its file gives none."""
    return "q-" + short_hash([normalise_text(text)], 12)


def normalise_text(text: str) -> str:
    """`text` in its one spelling, without blanks around it."""
    return unicodedata.normalize("NFC", text.strip())


def parse_identifier(place: str, name: str, value: object, otherwise: str) -> str:
    """The id `value` of field `name`, fit to name a file and to stand in a column of a TREC file.

    None gives `otherwise`. Raises InputError, naming `place`, for what is no id.
    """
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{place}: field {name!r} is {value!r:.80}; an id is text or a whole number")
    text = _check_name(str(value))
    if text is None:
        raise InputError(
            f"{place}: field {name!r} is {value!r:.240}; an id takes 1 to {_MAX_ID_BYTES} bytes, has no"
            " slash, backslash, control or invisible character, and is not '.' or '..'"
        )
    return text


@lru_cache(maxsize=4096)
def _check_name(value: str) -> str | None:
    """The id that `value` is, in its one spelling; None when no file or column could bear it."""
    text = unicodedata.normalize("NFC", value.strip())
    if not text or text in (".", "..") or _UNSAFE.search(text) or len(text.encode()) > _MAX_ID_BYTES:
        return None
    return text


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
