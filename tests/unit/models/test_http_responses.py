"""Bodies that are too large, packed or not, on the real wire: little is read, and the reason is named."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache

import pytest
from aiohttp import web

from judge.errors import NoResponse
from judge.models.http_responses import ACCEPTED, MAX_BYTES, BodyRefused, read_limited
from tests.support.cases import check_each
from tests.support.fake_server import Reply
from tests.support.scaling import MOST, measure_growth
from tests.support.server_thread import ThreadedServer
from tests.unit.models.adapter_calls import ask, open_at, serve_reply


@cache
def pack_zeros() -> bytes:
    """Return 100 MB of zeros, packed to half of a MB."""
    return gzip.compress(bytes(100 * 2**20), 1)


class Packed(ThreadedServer):
    """A server that answers every request with `body` in the content `encoding`."""

    def __init__(self, body: bytes, encoding: str) -> None:
        super().__init__()
        self._body, self._encoding = body, encoding

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        headers = {"content-type": "application/json"}
        headers |= {"content-encoding": self._encoding} if self._encoding else {}
        return web.Response(body=self._body, headers=headers)

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def dashscope_url(self) -> str:
        return f"{self.url}/api/v1"


@check_each("adapter", ["openai", "dashscope", "langchain:openai"])
@check_each(
    ("body", "encoding", "words"),
    [
        (pack_zeros, "gzip", "larger than 8 MB"),
        (lambda: b" " * (MAX_BYTES + 1), "", "larger than 8 MB"),
        (lambda: b"x", "br", "compressed with 'br'"),
        (lambda: b"no gzip", "gzip", "is no gzip"),
    ],
)
def test_a_body_beyond_the_limit_ends_the_call(
    adapter: str, body: Callable[[], bytes], encoding: str, words: str
) -> None:
    with serve_reply(Reply(text="")) as ready:
        ask(open_at(adapter, ready))  # imports are slow, and are no part of a body, when memory is counted
    with Packed(body(), encoding) as server:
        model = open_at(adapter, server)  # type: ignore[arg-type]
        tracemalloc.start()
        try:
            with pytest.raises(NoResponse) as caught:
                ask(model)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    if adapter != "langchain:openai":
        assert words in str(caught.value)
    assert peak < 8 * MAX_BYTES


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [(gzip.compress(b"{}", mtime=0), "gzip"), (zlib.compress(b"{}"), "deflate"), (b"{}", None)],
)
def test_a_body_within_the_limit_is_unpacked(packed: bytes, encoding: str | None) -> None:
    assert asyncio.run(_read(packed, encoding)) == b"{}"


def test_each_requested_compression_is_read_in_all_its_forms() -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # what many servers send as deflate
    forms = {
        "gzip": [gzip.compress(b"{}")],
        "deflate": [zlib.compress(b"{}"), raw.compress(b"{}") + raw.flush()],
    }
    for name in ACCEPTED.split(", "):
        assert all(asyncio.run(_read(packed, name)) == b"{}" for packed in forms[name])


def test_a_body_of_exactly_the_limit_is_read() -> None:
    assert len(asyncio.run(_read(gzip.compress(bytes(MAX_BYTES)), "gzip"))) == MAX_BYTES
    with pytest.raises(BodyRefused):
        asyncio.run(_read(gzip.compress(bytes(MAX_BYTES + 1)), "gzip"))


async def _read(packed: bytes, encoding: str | None) -> bytes:
    async def yield_chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(packed), 16_384):
            yield packed[start : start + 16_384]

    return b"".join([part async for part in read_limited(yield_chunks(), encoding)])


def test_a_line_of_a_file_takes_time_in_proportion_to_its_length() -> None:
    def make(blocks: int) -> list[bytes]:
        return [b"x" * 2**14] * blocks

    def split(blocks: Sequence[bytes]) -> None:
        assert asyncio.run(_split(blocks)) == [b"".join(blocks)]

    assert measure_growth(split, make, MAX_BYTES // 2**15) <= MOST


async def _split(blocks: Sequence[bytes]) -> list[bytes]:
    from judge.models.openai_batches import yield_file_lines  # openai takes half a second to import

    async def yield_blocks() -> AsyncIterator[bytes]:
        for block in blocks:
            yield block

    return [line async for line in yield_file_lines(yield_blocks())]


@check_each(
    ("blocks", "lines"),
    [
        ([], [b""]),
        ([b"a\n", b"b"], [b"a", b"b"]),
        ([b"a", b"b\n\nc", b"\n"], [b"ab", b"", b"c", b""]),
        ([b"a\n", b"x" * MAX_BYTES, b"\n"], [b"a", b"x" * MAX_BYTES, b""]),
        ([b"x" * MAX_BYTES, b"x\nb\n"], [b"b", b""]),
        ([b"x" * MAX_BYTES, b"x", b"x" * MAX_BYTES, b"x"], [b""]),
    ],
)
def test_lines_beyond_the_limit_are_left_out(blocks: Sequence[bytes], lines: Sequence[bytes]) -> None:
    assert asyncio.run(_split(blocks)) == lines
