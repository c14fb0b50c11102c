"""How long a server asks to wait before a request is made again: in its headers, or in its message."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

#: A wait in a message, such as "try again in 7m12s", "retry after 20 seconds" or "retry in 34.07s".
_WAIT = re.compile(
    r"\b(?:try again|retry|wait)\b\D{0,20}(?<!\d)(?:(\d{1,6})\s?h(?:ours?)?)?\s?"
    r"(?:(\d{1,6})\s?m(?:in(?:ute)?s?)?(?![a-z]))?\s?(?:(\d{1,9}(?:\.\d{1,12})?)\s?(m?s)(?:ec(?:ond)?s?)?\b)?",
    re.IGNORECASE,
)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asks to wait, None if it names none or they cannot be read.

    Reads `retry-after-ms`, then `retry-after` as seconds or as an HTTP date (RFC 9110, 10.2.3) relative to
    the server's own clock. The value has no upper limit; the caller sets one.
    """
    values = {name.lower(): value for name, value in headers.items()}
    milliseconds = parse_number(values.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = values.get("retry-after")
    seconds = parse_number(value)
    if seconds is not None or value is None:
        return seconds
    moment = _parse_date(value)
    now = _parse_date(values.get("date", "")) or datetime.now(UTC)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def read_wait(message: str) -> float | None:
    """Return the seconds that a message about a rate limit asks to wait, None if it names none."""
    for hours, minutes, seconds, unit in _WAIT.findall(message):
        if hours or minutes or seconds:
            factor = 0.001 if unit.lower() == "ms" else 1.0
            return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0) * factor
    return None


def parse_number(text: str | None) -> float | None:
    """Return the number in `text`, None if it is none or less than 0."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for an offset of years
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
