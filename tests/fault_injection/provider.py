"""The provider of the fault-injection tests: a separate process that records every request."""

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

from tests.support.factories import reply_with_grade
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Bytes of a line of a provider's log.
_LINE = 46


class Request(NamedTuple):
    """A request in the provider's log: its pair, monotonic seconds, and the status and delay of its reply."""

    pair: str
    at: float
    status: int
    delay: float


@dataclass(frozen=True)
class Provider:
    """A loopback provider in a process of its own that writes every request to `log`."""

    url: str
    log: Path

    def list_requests(self, since: int = 0) -> list[Request]:
        """Return the requests after the first `since`, in order of arrival."""
        with self.log.open() as file:
            file.seek(since * _LINE)
            lines = file.read().splitlines()
        return [
            Request(pair, float(at), int(status), float(delay))
            for pair, at, status, delay in map(str.split, lines)
        ]

    @property
    def count(self) -> int:
        """The number of requests; cheap enough to poll."""
        return self.log.stat().st_size // _LINE


def find_pair(request: ChatRequest) -> str:
    """Return the name `query.engine.rank` of the pair in a prompt."""
    match = re.search(r"text (\d+\.\d+\.\d+)", request.prompt)
    assert match, request.prompt
    return match[1]


def reply_with_pair(request: ChatRequest) -> Reply:
    """Reply as `reply_with_grade`, with the pair's name as the reason, by which tests identify a verdict."""
    grade = json.loads(reply_with_grade(request).text or "")["grade"]
    return Reply(text=json.dumps({"reason": find_pair(request), "grade": grade}))


@contextmanager
def start_provider(answer: Callable[[ChatRequest], Reply], folder: Path) -> Iterator[Provider]:
    """Run a provider that replies by `answer`, until the end of the block."""
    connection, child_connection = multiprocessing.Pipe()
    os.environ["OPENAI_API_KEY"] = "sk-canary-5b1d9f"
    log = folder / "requests.log"
    log.touch()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_serve, args=(answer, log, child_connection), daemon=True)
    process.start()
    try:
        yield Provider(connection.recv(), log)
    finally:
        connection.send("stop")
        process.join()


def _serve(answer: Callable[[ChatRequest], Reply], log: Path, connection: Connection) -> None:
    with log.open("ab", buffering=0) as file:

        def answer_and_log(request: ChatRequest) -> Reply:
            at, reply = time.monotonic(), answer(request)
            file.write(f"{find_pair(request):14} {at:17.6f} {reply.status} {reply.delay:8.4f}\n".encode())
            return reply

        with LoopbackServer(answer_and_log, record=False) as server:
            connection.send(server.openai_url)
            connection.recv()
