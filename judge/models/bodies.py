"""Response bodies with a limit on their size, also of what a compressed body unpacks to."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from judge.errors import CallError, iterate_causes
from judge.models.error_mapping import transport

#: The largest body that is read, in bytes, before and after it is unpacked.
MAX_BYTES = 8 * 2**20
#: The compressions that can be unpacked piece by piece with a limit, as a request header.
ACCEPTED = "gzip, deflate"
#: `zlib` finds out itself whether a body is gzip or zlib.
_ANY_HEADER = zlib.MAX_WBITS | 32


class BodyRefused(Exception):
    """A body is too large, or compressed in a way that was not asked for."""


async def read_limited(chunks: AsyncIterable[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """Yield `chunks` of a body unpacked from its content `encoding`.

    Raises BodyRefused when it has more than `MAX_BYTES` or can't be unpacked.
    """
    name = (encoding or "identity").strip().lower()
    if name not in ("identity", "gzip", "x-gzip", "deflate"):
        raise BodyRefused(f"the response is compressed with {name[:40]!r}, which was not asked for")
    unpacking = None if name == "identity" else zlib.decompressobj(_ANY_HEADER)
    size = read = 0
    async for chunk in chunks:
        read += len(chunk)
        try:
            part = chunk if unpacking is None else unpacking.decompress(chunk, MAX_BYTES - size + 1)
        except zlib.error as error:
            raise BodyRefused(f"the response is no {name}: {error}") from error
        size += len(part)
        if max(size, read) > MAX_BYTES:
            raise BodyRefused(f"the response is larger than {MAX_BYTES >> 20} MB")
        yield part


class LimitedBody:
    """The body of an httpx or httpx2 response within the limit, to be mixed with their `AsyncByteStream`.

    `response` must not be read yet. Its content encoding is taken over, so that it is not unpacked twice.
    """

    def __init__(self, response: Any) -> None:  # noqa: ANN401 - the same type under two names
        self._stream = response.stream
        self._encoding = response.headers.pop("content-encoding", None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the unpacked body."""
        return read_limited(self._stream, self._encoding)

    async def aclose(self) -> None:
        """Close the connection's stream."""
        await self._stream.aclose()


def refused_body(error: BaseException, url: str) -> CallError | None:
    """Return the error for a call that `error` ended because of the body's size; None for other errors."""
    refused = next((each for each in iterate_causes(error) if isinstance(each, BodyRefused)), None)
    return None if refused is None else transport(f"{url}: {refused}")
