"""Connections of the server that time out; imported with the web extra only."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which a request must arrive, from the connection or the answer before it to its last byte.
REQUEST_TIMEOUT = 10.0


class TimedConnection(H11Protocol):
    """A connection that is closed when a request does not arrive whole in `request_timeout` seconds.

    uvicorn waits for the rest of a request without a limit; a client that sends a byte now and then, or
    nothing, would keep its connections until no other client gets one.
    """

    request_timeout = REQUEST_TIMEOUT
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on, and stop the clock once a request is there."""
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, which uvicorn's types don't say
        if cycle is not None and not cycle.more_body:
            self._stop()

    def on_response_complete(self) -> None:
        """Start to wait for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        transport: Any = self.transport
        self._timer = self.loop.call_later(self.request_timeout, transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
