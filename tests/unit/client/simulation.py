"""Simulated runs in virtual time: the real client, and a server that is a function."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.retry import Limits
from judge.errors import CallError, RetryableError, RunIncomplete
from judge.models.error_mapping import read_retry_after
from judge.records import GRADED, Call, Completion, Prompt
from tests.fault_injection.servers import LimitedServer, Request
from tests.support import virtual_time
from tests.support.fake_server import ChatRequest, Reply


class CallList:
    """A log that keeps the calls of a pair in a list."""

    def __init__(self, cancel_token: CancelToken) -> None:
        self.calls: list[Call] = []
        self.sleep = cancel_token.sleep

    def begin_call(self) -> None:
        """Keep nothing."""

    def end_call(self, call: Call) -> None:
        """Keep the call."""
        self.calls.append(call)


class Simulated:
    """A model behind `server`, in virtual time."""

    name = endpoint = "simulated"
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, server: Callable[[ChatRequest], Reply], refuses_in: float) -> None:
        self._server = server
        self._refuses_in = refuses_in

    async def complete(self, prompt: Prompt) -> Completion:
        """What the server answers to the user's part of `prompt`."""
        reply = self._server(ChatRequest("", {}, None, prompt.user, 0, 0))
        await asyncio.sleep(self._refuses_in + reply.delay)
        if reply.status != 200 or reply.reset:
            kind = "rate_limit" if reply.status == 429 else "server_error"
            raise RetryableError(kind, "simulated", retry_after=read_retry_after(reply.headers))
        return Completion("", "", "stop", {}, None, None)

    async def aclose(self) -> None:
        """Has nothing to close."""


@dataclass(frozen=True)
class Story:
    """What became of a simulated run: `seconds` of virtual time, the server's `log`, and who was `lost`."""

    pairs: int
    seconds: float
    log: list[Request]
    lost: Counter[str]
    stopped: RunIncomplete | None

    @property
    def rate(self) -> float:
        """Pairs a second."""
        return self.pairs / self.seconds

    @property
    def requests(self) -> float:
        """Requests a pair."""
        return len(self.log) / self.pairs


def prompt(text: str) -> Prompt:
    """A prompt that asks about `text`."""
    return Prompt("", text, {}, "graded/en", "", "", "en", GRADED)


def simulate(server: LimitedServer, pairs: int, limits: Limits, refuses_in: float = 0.002) -> Story:
    """What becomes of `pairs` at `server`, of which as many are asked about at once as in a real run.

    It turns a request away after `refuses_in` seconds.
    """

    async def judged() -> Story:
        loop = asyncio.get_running_loop()
        server.clock = loop.time
        client = ModelClient(Simulated(server, refuses_in), limits, CancelToken())
        lost: Counter[str] = Counter()
        left = iter(range(pairs))

        async def work() -> None:
            for number in left:
                try:
                    async with client.permit(CallList(client.cancel_token)) as permit:
                        await client.complete(prompt(str(number)), permit)
                        client.limiter.confirm()
                except CallError as fault:
                    lost[fault.kind] += 1
                except RunIncomplete as reason:
                    client.cancel_token.cancel(reason)
                if client.cancel_token.reason is not None:
                    return

        async def everybody() -> None:
            await asyncio.gather(*(work() for _ in range(max(16, 4 * limits.concurrency))))

        ends = [loop.create_task(everybody()), loop.create_task(client.cancel_token.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        reason = client.cancel_token.reason
        assert reason is None or isinstance(reason, RunIncomplete)
        return Story(pairs, loop.time(), server.log, lost, reason)

    return virtual_time.run(judged())
