"""Values of fields in files: identifiers and texts are validated, and escaped where files are written.

Spreadsheets and columns of TREC files change some texts, so these are escaped, and read again.
"""

import re
import unicodedata
from collections.abc import Mapping, Set
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from urllib.parse import quote

from judge.errors import InputError
from judge.files.json_text import hash_parts

_UNSAFE = re.compile(
    r"[/\\\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
#: The id of an engine becomes a part of a file name; file systems limit its bytes.
_MAX_ID_BYTES = 200
# A text may begin with an apostrophe already; another one keeps two texts from becoming the same cell.
# Some spreadsheets ignore a tab or a line break at the beginning.
_FORMULA = re.compile(r"['\s\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n]")
# Digits that are not a plain whole number, or are too long: 007, 1.10, 3-2, 12:30, 6e12, 1234567890123456.
_NUMBER = re.compile(
    r"'*(?!(?:0|[1-9][0-9]{0,10})\Z)[(.]?[0-9][0-9 .,:/%()+-]*(?:[eE][0-9+-][0-9 .,:/%()+-]*)?\Z"
)
_RARE_IN_COLUMN = re.compile(r"[^\w.#:~=+@,;-]")


def make_query_id(text: str) -> str:
    """Return the id of a query without an id in its file."""
    return "q-" + hash_parts([normalise_text(text)], 12)


def normalise_text(text: str) -> str:
    """Return `text` in Unicode form NFC, without blanks around it."""
    return unicodedata.normalize("NFC", text.strip())


def restore_whole_number(value: object) -> object:
    """Return a float or a decimal that is a whole number as an int, any other value as it is.

    A column of whole numbers becomes one of floats in pandas where an id is missing, and databases export
    them as decimals.
    """
    if isinstance(value, float | Decimal) and isfinite(value):
        whole = int(value)
        return whole if whole == value and abs(whole) < 2**53 else value
    return value


def format_identifier(location: str, name: str, value: object) -> str:
    """Return the id in field `name`, a text or a whole number, as a text without blanks at its ends.

    Raise InputError with `location` for any other value.
    """
    value = restore_whole_number(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(
            "{place}: field {name!r} is {value!r:.80}; an id is text or a whole number",
            place=location,
            name=name,
            value=value,
        )
    return str(value).strip()


def parse_identifier(location: str, name: str, value: object) -> str:
    """Return the id in field `name`, which can be part of a file name and a column of a TREC file.

    Raise InputError with `location` for any other value.
    """
    text = _check_name(format_identifier(location, name, value))
    if text is None:
        raise InputError(
            "{place}: field {name!r} is {value!r:.240} (bytes: {length}); an id takes 1 to {most} bytes, has"
            " no slash, backslash, control or invisible character, and is not '.' or '..'",
            place=location,
            name=name,
            value=value,
            length=len(str(value).encode("utf-8", "replace")),
            most=_MAX_ID_BYTES,
        )
    return text


def parse_optional_identifier(location: str, name: str, value: object) -> str | None:
    """Return the id in field `name` as `parse_identifier` does, None where it is missing."""
    return None if value is None else parse_identifier(location, name, value)


@lru_cache(maxsize=4096)
def _check_name(value: str) -> str | None:
    """Return the id in Unicode form NFC, None when it cannot be part of a file name."""
    text = unicodedata.normalize("NFC", value)
    if not text or text in (".", "..") or _UNSAFE.search(text) or len(text.encode()) > _MAX_ID_BYTES:
        return None
    return text


def parse_text(location: str, name: str, value: object) -> str:
    """Return the text in field `name`, empty where it is missing; raise InputError with `location`.

    Numbers, dates and bytes of UTF-8, as some tables hold texts, become texts.
    """
    if value is None or isinstance(value, str):
        return str.__str__(value or "")  # plain, also from a subclass, such as that of Beautiful Soup
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    if isinstance(value, bytes | list | tuple | Set | Mapping | bool):
        raise InputError(
            "{place}: field {name!r} is {value!r:.80}, not text", place=location, name=name, value=value
        )
    return format_time(value) if isinstance(value, date | time) else str(value)


def format_time(value: date | time) -> str:
    """Return a date, a time or both as `2026-05-01 12:30:00`.

    A time stamp at midnight is a date: tables have no type for dates.
    """
    return str(value.date() if isinstance(value, datetime) and value.time() == time() else value)


def parse_optional_text(location: str, name: str, value: object) -> str | None:
    """Return the text in field `name` as `parse_text` does, None where it is missing.

    A boolean is a text, too, because no query and no snippet of a single value ends a run. Raises
    InputError with `location` for lists and objects.
    """
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else parse_text(location, name, value)


def escape_column(text: str) -> str:
    """Return `text` for a column of a TREC file: blanks and rare characters percent-encoded."""
    return _RARE_IN_COLUMN.sub(lambda match: quote(match[0], safe="", errors="surrogatepass"), text)


def escape_cell(text: str) -> str:
    """Return `text` so that spreadsheets do not read it as a formula."""
    return "'" + text if _FORMULA.match(text) else text


def protect_cell(text: str) -> str:
    """Return `text` so that a spreadsheet saves it unchanged: no formula, no number, no date.

    Different texts give different cells. Words that spreadsheets read as a date in some languages
    (`Mar-1`) stay as they are.
    """
    return "'" + text if _FORMULA.match(text) or _NUMBER.match(text) else text


def unescape_candidates(cell: str) -> tuple[str, ...]:
    """Return the texts that `protect_cell` may have turned into `cell`, the most likely one first.

    Some spreadsheets drop the apostrophe at the beginning of a cell, some keep it.
    """
    if not cell.startswith("'"):
        return (cell,)
    text = cell[1:]
    return (text, cell) if protect_cell(text) == cell else (cell, text)
