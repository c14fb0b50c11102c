"""A real HTTP server on 127.0.0.1 in a thread of its own, and an address without a server."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from aiohttp import web

# aiohttp's default of 128 drops connects when hundreds arrive at once.
BACKLOG = 2048


class ThreadedServer:
    """A server that runs until the end of the block; `_serve` answers, in the server's thread."""

    def __init__(self) -> None:
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loopback", daemon=True)
        self._runner: web.ServerRunner | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(timeout=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(timeout=60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=60)
        self._loop.close()

    def read_pending(self) -> None:
        """Return when the server has begun on every request that arrived before, also of a killed client."""

        async def turn() -> None:
            for _ in range(50):  # a request takes fewer turns of the loop from its connection to its handler
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(turn(), self._loop).result(timeout=60)

    async def _start(self) -> str:
        self._runner = web.ServerRunner(web.Server(self._serve, access_log=None), shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=BACKLOG).start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        # Requests whose client has disconnected still sleep here.
        abandoned = asyncio.all_tasks() - {asyncio.current_task()}
        for task in abandoned:
            task.cancel()
        await asyncio.gather(*abandoned, return_exceptions=True)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=501)


@contextmanager
def reserve_unused_address() -> Iterator[str]:
    """Yield an address that refuses connections; no other process gets its port before the block ends.

    A server of the test can listen there, and another one after it.
    """
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"
