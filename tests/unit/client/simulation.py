"""Models without a network, and simulated runs in virtual time with the real client."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from judge.client.cancel import CancelToken
from judge.client.client import ModelClient, PairPermit
from judge.client.retry import RequestLimits
from judge.errors import CallError, Overloaded, RetryableError, RunIncomplete, TimedOut
from judge.models.http_responses import read_retry_after
from judge.records import GRADED, Call, Completion, Prompt, Usage
from tests.fault_injection.servers import LimitedServer, Request
from tests.support import virtual_time
from tests.support.fake_server import ChatRequest, Reply

USAGE = Usage(prompt_tokens=10, completion_tokens=5)


class CallList:
    """A log that appends the calls of a pair to a list."""

    def __init__(self, cancel_token: CancelToken) -> None:
        self.calls: list[Call] = []
        self.sleep = cancel_token.sleep

    def begin_call(self) -> None:
        """Do nothing: the list has finished calls only."""

    def end_call(self, call: Call) -> None:
        """Append the call."""
        self.calls.append(call)


class SimulatedModel:
    """A model behind `server`, in virtual time; it works on `slots` requests, and lets others wait.

    A request times out after a minute.
    """

    name = endpoint = "simulated"
    is_local = False
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, server: Callable[[ChatRequest], Reply], refusal_delay: float, slots: int | None = None
    ) -> None:
        self._server = server
        self._refusal_delay = refusal_delay
        self._slots = asyncio.Semaphore(slots) if slots else nullcontext()

    async def complete(self, prompt: Prompt) -> Completion:
        """Send the user message of `prompt` to the server; raise RetryableError for an error."""
        reply = self._server(ChatRequest("", {}, None, prompt.user, 0, 0))
        try:
            async with asyncio.timeout(60), self._slots:
                await asyncio.sleep(self._refusal_delay + reply.delay)
        except TimeoutError:
            raise TimedOut("no answer within 60 s") from None
        if reply.status != 200 or reply.reset:
            kind = "rate_limit" if reply.status == 429 else "server_error"
            error = Overloaded if reply.status == 503 else RetryableError
            raise error(kind, "simulated", retry_after=read_retry_after(reply.headers))
        return Completion("", "", "stop", {}, None, None)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class ScriptedModel:
    """A model whose first calls fail with these errors, in turn; later ones succeed."""

    name = endpoint = "scripted"
    is_local = False
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *faults: CallError) -> None:
        self._faults: Iterator[CallError] = iter(faults)

    async def complete(self, _: Prompt) -> Completion:
        for fault in self._faults:
            raise fault
        return Completion("yes", "m", "stop", {}, USAGE, None)

    async def aclose(self) -> None:
        pass


class SilentModel(ScriptedModel):
    """A model that never answers; `was_called` is set by its first request."""

    def __init__(self) -> None:
        super().__init__()
        self.was_called = asyncio.Event()

    async def complete(self, _: Prompt) -> Completion:
        self.was_called.set()
        await asyncio.sleep(3600)
        raise AssertionError("the call is not cancelled")


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulated run: virtual seconds, the server's log, the errors of pairs by their kind.

    `warnings` are those of the client.
    """

    pairs: int
    seconds: float
    log: list[Request]
    errors: Counter[str]
    stop_reason: RunIncomplete | None
    warnings: Sequence[str]

    @property
    def rate(self) -> float:
        """The pairs per second."""
        return self.pairs / self.seconds

    @property
    def requests_per_pair(self) -> float:
        """The requests per pair."""
        return len(self.log) / self.pairs


def make_prompt(text: str) -> Prompt:
    """Return a prompt whose user message is `text`."""
    return Prompt("", text, {}, "graded/en", "", "", "en", GRADED)


def simulate(
    server: LimitedServer,
    pairs: int,
    limits: RequestLimits,
    refusal_delay: float = 0.002,
    slots: int | None = None,
) -> SimulationResult:
    """Run `pairs` against `server`, with as many workers as a real run, and return the result.

    A refusal takes `refusal_delay` seconds. The server works on at most `slots` requests at the same time.
    """

    async def run_client() -> SimulationResult:
        loop = asyncio.get_running_loop()
        server.clock = loop.time
        client = ModelClient(SimulatedModel(server, refusal_delay, slots), limits, CancelToken())
        errors: Counter[str] = Counter()
        numbers = iter(range(pairs))

        async def run_work() -> None:
            for number in numbers:
                try:
                    with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
                        await client.complete(make_prompt(str(number)), permit)
                        client.limiter.record_verdict()
                except CallError as error:
                    errors[error.kind] += 1
                except RunIncomplete as reason:
                    client.cancel_token.cancel(reason)
                if client.cancel_token.reason is not None:
                    return

        async def run_workers() -> None:
            await asyncio.gather(*(run_work() for _ in range(max(32, 4 * limits.concurrency))))

        tasks = [loop.create_task(run_workers()), loop.create_task(client.cancel_token.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        reason = client.cancel_token.reason
        assert reason is None or isinstance(reason, RunIncomplete)
        warnings = client.describe_timeouts()
        return SimulationResult(pairs, loop.time(), server.log, errors, reason, warnings)

    return virtual_time.run(run_client())
