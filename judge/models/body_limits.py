"""Bodies of responses, which are read within a limit, also packed ones."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
