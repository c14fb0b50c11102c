"""The provider of the fault-injection tests: a separate process that records every request."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from tests.support.factories import says_its_grade
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Bytes of a line of a provider's log.
_LINE = 46


class Request(NamedTuple):
    """A request as the provider saw it: which pair, when (monotonic seconds), and what it was told."""

    pair: str
    at: float
    status: int
    delay: float


@dataclass(frozen=True)
class Provider:
    """A loopback provider in a process of its own that writes down every request."""

    url: str
    log: Path

    def requests(self, since: int = 0) -> list[Request]:
        """Every request after the first `since`, in order of arrival."""
        with self.log.open() as file:
            file.seek(since * _LINE)
            lines = file.read().splitlines()
        return [
            Request(pair, float(at), int(status), float(delay))
            for pair, at, status, delay in map(str.split, lines)
        ]

    @property
    def count(self) -> int:
        """How many requests there were; cheap enough to poll."""
        return self.log.stat().st_size // _LINE


def pair_of(request: ChatRequest) -> str:
    """The name `query.engine.rank` of the pair that a prompt is about."""
    match = re.search(r"text (\d+\.\d+\.\d+)", request.prompt)
    assert match, request.prompt
    return match[1]


def names_the_pair(request: ChatRequest) -> Reply:
    """Grades as `says_its_grade` and gives the pair's name as the reason, by which a verdict is known."""
    grade = json.loads(says_its_grade(request).text or "")["grade"]
    return Reply(text=json.dumps({"reason": pair_of(request), "grade": grade}))


@contextmanager
def provider(answer: Callable[[ChatRequest], Reply], folder: Path) -> Iterator[Provider]:
    """A provider that does what `answer` says, until the end of the block."""
    ours, theirs = multiprocessing.Pipe()
    os.environ["OPENAI_API_KEY"] = "sk-canary-5b1d9f"
    log = folder / "requests.log"
    log.touch()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_serve, args=(answer, log, theirs), daemon=True)
    process.start()
    try:
        yield Provider(ours.recv(), log)
    finally:
        ours.send("stop")
        process.join()


def _serve(answer: Callable[[ChatRequest], Reply], log: Path, line: Connection) -> None:
    with log.open("ab", buffering=0) as file:

        def noted(request: ChatRequest) -> Reply:
            at, reply = time.monotonic(), answer(request)
            file.write(f"{pair_of(request):14} {at:17.6f} {reply.status} {reply.delay:8.4f}\n".encode())
            return reply

        with LoopbackServer(noted, record=False) as server:
            line.send(server.openai_url)
            line.recv()
