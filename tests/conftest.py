"""Owns what every test lives under: no socket but loopback, no key from the developer's own shell."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(autouse=True, scope="session")
def _only_loopback() -> Iterator[None]:
    """Refuses every connection that would leave the machine."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def check(address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise PermissionError(f"a test tried to reach {address!r}; only loopback is allowed")

    class Guarded(socket.socket):
        def connect(self, address: Any, /) -> None:
            check(address)
            connect(self, address)

        def connect_ex(self, address: Any, /) -> int:
            check(address)
            return connect_ex(self, address)

    genuine = socket.socket
    socket.socket = Guarded  # type: ignore[misc]
    yield
    socket.socket = genuine  # type: ignore[misc]


@pytest.fixture(autouse=True, scope="session")
def _no_keys() -> None:
    """A key that happens to lie in the shell must neither be used nor change what a test sees."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            del os.environ[name]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser in which a module's tests open pages."""
    from tests.browser import chromium

    with chromium() as found:
        yield found
