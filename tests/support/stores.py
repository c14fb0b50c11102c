"""Stored verdicts, and tests of two stores that share a file."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from judge.store.store import StoredVerdict, VerdictKeyInfo, VerdictStore

Result = TypeVar("Result")
INFO = VerdictKeyInfo("openai:m", "en-graded-1", 1)


def make_verdict(grade: int = 2, reason: str = "r", reply: str = "{}") -> StoredVerdict:
    """Return a verdict of the model `m`, without flags, parameters, usage and request id."""
    return StoredVerdict(grade, reason, (), reply, {}, None, "m", None)


def run_with_two_stores(
    folder: Path, check: Callable[[VerdictStore, VerdictStore], Coroutine[Any, Any, Result]]
) -> Result:
    """Open the store of `folder` twice, as two processes do, run `check` and return its result."""
    path = folder / "v.sqlite"
    with VerdictStore(path) as store, VerdictStore(path) as other:
        return asyncio.run(asyncio.wait_for(check(store, other), 120))
