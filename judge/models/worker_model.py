"""A model whose requests are sent by workers in other processes, several in one message.

`PromptWorker` runs in the other process, with the model that sends the requests. `WorkerModel` is the model
of this process. Limits, retries, the budget, the ledger and the store stay here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Protocol, TypeVar

from judge.errors import CallError, ConnectionFailed, RetryableError
from judge.models.providers import Model, ModelResult
from judge.models.redaction import mask
from judge.records import Completion, Prompt

T = TypeVar("T")
#: Seconds for which a request waits for a worker where none is ready, and between two attempts to reach one.
_MAX_WAIT, _PAUSE = 60.0, 1.0
#: Seconds for which prompts, and results, are collected: a message costs more CPU time than a pair.
_COLLECT = 0.01


class WorkerLost(Exception):
    """A worker ended, or cannot be reached."""


class Worker(Protocol):
    """A `PromptWorker` in another process. Each method raises WorkerLost; the worker may come back later."""

    async def wait_until_ready(self) -> None:
        """Return when the worker takes prompts."""

    async def send(self, prompts: Mapping[int, Prompt]) -> None:
        """Start a request for each of the numbered prompts."""

    async def receive(self) -> Mapping[int, ModelResult]:
        """Wait until a request has ended; return the new results by the numbers of their prompts."""


class WorkerPool(Protocol):
    """What starts and stops workers."""

    async def start(self) -> Sequence[Worker]:
        """Return the workers, which may not be ready yet; raise ConnectionFailed when there can be none."""

    async def stop(self) -> None:
        """Stop the workers."""


class PromptWorker:
    """Completes prompts with a model of its own."""

    def __init__(self, open_model: Callable[[], Model]) -> None:
        self._model = open_model()
        self._tasks: dict[asyncio.Task[ModelResult], int] = {}
        self._ended = asyncio.Queue[asyncio.Task[ModelResult]]()

    async def wait_until_ready(self) -> None:
        """Return at once: a worker that exists is ready."""

    async def send(self, prompts: Mapping[int, Prompt]) -> None:
        """Start a request for each of the numbered prompts."""
        for number, prompt in prompts.items():
            task = asyncio.create_task(self._complete(prompt))
            self._tasks[task] = number
            task.add_done_callback(self._ended.put_nowait)

    async def receive(self) -> Mapping[int, ModelResult]:
        """Wait until a request has ended; return the new results by the numbers of their prompts."""
        return {self._tasks.pop(task): task.result() for task in await _take_items(self._ended)}

    async def _complete(self, prompt: Prompt) -> ModelResult:
        try:
            return await self._model.complete(prompt)
        except CallError as error:
            return error


async def _take_items(queue: asyncio.Queue[T]) -> list[T]:
    """Wait for an item of `queue`; return it, and those that come a moment later."""
    items = [await queue.get()]
    await asyncio.sleep(_COLLECT)
    while not queue.empty():
        items.append(queue.get_nowait())
    return items


class WorkerModel:
    """A model that the workers of `pool` call; `model` is the same one in this process and makes no call.

    The workers start with the first request. When a worker is lost, its requests without a result raise
    RetryableError: the server may have charged for them.
    """

    def __init__(self, model: Model, pool: WorkerPool) -> None:
        self.name, self.endpoint, self.params = model.name, model.endpoint, model.params
        self.is_local = model.is_local
        self._model = model
        self._pool = pool
        self._start: asyncio.Task[list[_Connection]] | None = None
        self._is_ready = asyncio.Event()

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the final answer of the model; raise a subclass of `CallError` when there is none."""
        self._start = self._start or asyncio.create_task(self._connect())
        connections = await asyncio.shield(self._start)
        try:
            async with asyncio.timeout(_MAX_WAIT):
                await self._is_ready.wait()
        except TimeoutError:
            errors = "; ".join(sorted({candidate.error for candidate in connections if candidate.error}))
            raise ConnectionFailed(f"a worker ({errors})", lasting=False) from None
        # The one with the fewest requests.
        connection = min(
            (candidate for candidate in connections if candidate.is_ready),
            key=lambda candidate: len(candidate.waiting),
        )
        result = await connection.complete(prompt)
        if isinstance(result, CallError):
            raise result
        return result

    async def aclose(self) -> None:
        """Stop the workers; the model cannot be used afterwards."""
        if self._start is not None:
            await asyncio.wait([self._start])
            for connection in [] if self._start.exception() else self._start.result():
                connection.task.cancel()
            await self._pool.stop()
        await self._model.aclose()

    async def _connect(self) -> list[_Connection]:
        connections: list[_Connection] = []

        def update() -> None:
            if any(connection.is_ready for connection in connections):
                self._is_ready.set()
            else:
                self._is_ready.clear()

        connections += [_Connection(worker, update) for worker in await self._pool.start()]
        return connections


class _Connection:
    """The requests of one worker: those to send, and the futures of those without a result in `waiting`."""

    def __init__(self, worker: Worker, update: Callable[[], None]) -> None:
        self.is_ready = False
        self.error = ""
        self.waiting: dict[int, asyncio.Future[ModelResult]] = {}
        self._worker = worker
        self._update = update
        self._numbers = count()
        self._to_send = asyncio.Queue[tuple[int, Prompt]]()
        self.task = asyncio.create_task(self._exchange_messages())

    async def complete(self, prompt: Prompt) -> ModelResult:
        """Return the result of the worker, or a RetryableError when the worker is lost before."""
        number = next(self._numbers)
        future: asyncio.Future[ModelResult] = asyncio.get_running_loop().create_future()
        self.waiting[number] = future
        self._to_send.put_nowait((number, prompt))
        try:
            return await future
        finally:
            del self.waiting[number]

    async def _exchange_messages(self) -> None:
        """Send prompts and receive results, again each time that the worker is lost and comes back."""
        while True:
            try:
                await self._worker.wait_until_ready()
                self._set_ready(is_ready=True)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._send())
                    group.create_task(self._receive())
            except* WorkerLost as lost:
                self.error = mask(str(lost.exceptions[0]))
            self._set_ready(is_ready=False)
            self._to_send = asyncio.Queue()
            error = RetryableError("transport", f"a worker was lost ({self.error})", maybe_billed=True)
            self._set_results(dict.fromkeys(self.waiting, error))
            await asyncio.sleep(_PAUSE)

    async def _send(self) -> None:
        # What comes while a message is under way is in the next one, too.
        while True:
            await self._worker.send(dict(await _take_items(self._to_send)))

    async def _receive(self) -> None:
        while True:
            self._set_results(await self._worker.receive())

    def _set_ready(self, *, is_ready: bool) -> None:
        self.is_ready = is_ready
        self._update()

    def _set_results(self, results: Mapping[int, ModelResult]) -> None:
        for number, result in results.items():
            future = self.waiting.get(number)
            if future is not None and not future.done():
                future.set_result(result)
