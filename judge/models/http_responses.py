"""Responses of servers: their body, read within a limit, also a packed one, and how long they ask to wait."""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Mapping

    import aiohttp

#: Maximum size of a body in bytes, before and after it is unpacked.
MAX_BYTES = 8 * 2**20
#: The compression that is requested, as a header. Servers send deflate in two forms, and one is read here.
ACCEPTED = "gzip"
#: Makes `zlib` detect whether a body is gzip or zlib.
_ANY_HEADER = zlib.MAX_WBITS | 32


class BodyRefused(Exception):
    """A body is too large, or compressed in a way that was not requested."""


class BodyTooLarge(BodyRefused):
    """A body is larger than the limit."""


class LimitedReader:
    """Unpacks a body of at most `max_bytes` bytes from its content `encoding`.

    Raises BodyRefused for more bytes, packed or not, and for what can't be unpacked.
    """

    def __init__(self, encoding: str | None, max_bytes: int = MAX_BYTES) -> None:
        self._name = (encoding or "identity").strip().lower()
        if self._name not in ("identity", "gzip", "x-gzip", "deflate"):
            raise BodyRefused(f"the response is compressed with {self._name[:40]!r}, which was not requested")
        self._decompressor = None if self._name == "identity" else zlib.decompressobj(_ANY_HEADER)
        self._max_bytes = self._packed_left = self._left = max_bytes

    def read(self, chunk: bytes) -> bytes:
        """Return the next part of the body, which `chunk` holds packed."""
        self._packed_left -= len(chunk)
        try:
            part = self._decompressor.decompress(chunk, self._left + 1) if self._decompressor else chunk
        except zlib.error as error:
            raise BodyRefused(f"the response is no {self._name}: {error}") from error
        self._left -= len(part)
        if min(self._left, self._packed_left) < 0:
            raise BodyTooLarge(f"the response is larger than {self._max_bytes >> 20} MB")
        return part


async def read_limited(
    chunks: AsyncIterable[bytes], encoding: str | None, max_bytes: int = MAX_BYTES
) -> AsyncIterator[bytes]:
    """Yield `chunks` of a body unpacked by `LimitedReader`."""
    reader = LimitedReader(encoding, max_bytes)
    async for chunk in chunks:
        yield reader.read(chunk)


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of a response of aiohttp, which must not unpack it itself."""
    chunks, encoding = response.content.iter_any(), response.headers.get("Content-Encoding")
    return b"".join([part async for part in read_limited(chunks, encoding)])


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
