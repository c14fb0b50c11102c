"""What DeepEval needs in tests: our import first, which turns off its output, and a loop that is closed."""

import asyncio
from collections.abc import Iterator

import pytest

import judge.integrations  # noqa: F401


@pytest.fixture(autouse=True)
def _loop() -> Iterator[None]:
    """DeepEval takes the current loop, or makes one that it never closes."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
