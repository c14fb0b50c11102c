"""Workers as the actors of a Ray cluster, one for each CPU. Ray starts a lost actor again on another node."""

import asyncio
import logging
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from judge.errors import ConnectionFailed, SetupError, advise_install
from judge.models.providers import Model, ModelResult
from judge.models.redaction import mask
from judge.models.worker_model import PromptWorker, Worker, WorkerLost
from judge.records import Prompt

try:
    import ray
    from ray.exceptions import RayError
except ImportError as error:
    raise SetupError("--on ray needs an extra: {command}", command=advise_install("ray")) from error

#: Bytes of the object store of a cluster on this machine, about the least that Ray accepts.
_OBJECT_STORE = 80_000_000
#: The address of a cluster as a host and a port; others, such as `auto`, are names of Ray.
_HOST_AND_PORT = re.compile(r"(?:ray://)?\[?([^/\[\]]+)\]?:(\d{1,5})")
_CONNECT_SECONDS = 10


class RayCluster:
    """Up to `max_actors` actors of a model, on the cluster at `address`, or on one that is started here."""

    def __init__(self, open_model: Callable[[], Model], max_actors: int, address: str | None) -> None:
        self._open_model = open_model
        self._max_actors = max_actors
        self._address = address
        self._actors: list[Any] = []
        self._is_connected = False

    async def start(self) -> Sequence[Worker]:
        """Return the actors, which may not be ready yet; raise ConnectionFailed when Ray does not start."""
        # A thread, because this takes seconds, and because Ray handles signals in the main thread.
        return await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        """Stop the actors, and the cluster if it was started here."""
        await asyncio.to_thread(self._stop)

    def _start(self) -> Sequence[Worker]:
        try:
            if not ray.is_initialized():
                self._connect()
                self._is_connected = True
            cpus = int(ray.cluster_resources().get("CPU", 1))
            actor = ray.remote(PromptWorker).options(
                num_cpus=1, max_restarts=-1, scheduling_strategy="SPREAD"
            )
            self._actors = [actor.remote(self._open_model) for _ in range(min(cpus, self._max_actors))]
        except Exception as error:  # Ray raises Exception itself
            address, why = self._address or "local", _describe_error(error)
            raise ConnectionFailed(f"the Ray cluster at {address} ({why})", lasting=True) from error
        return [_RayWorker(worker_actor) for worker_actor in self._actors]

    def _connect(self) -> None:
        address = self._address or "local"
        if at := _HOST_AND_PORT.fullmatch(address):
            # Ray tries an address without a cluster for about ten minutes, and no signal ends that.
            socket.create_connection((at[1], int(at[2])), _CONNECT_SECONDS).close()
        options = {} if self._address else {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)

    def _stop(self) -> None:
        for actor in self._actors:
            ray.kill(actor)
        if self._is_connected:
            ray.shutdown()


class _RayWorker:
    def __init__(self, actor: Any) -> None:  # noqa: ANN401 - Ray has no type for it
        self._actor = actor

    async def wait_until_ready(self) -> None:
        await self._call("wait_until_ready")

    async def send(self, prompts: Mapping[int, Prompt]) -> None:
        await self._call("send", prompts)

    async def receive(self) -> Mapping[int, ModelResult]:
        results: Mapping[int, ModelResult] = await self._call("receive")
        return results

    async def _call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - as the method returns
        try:
            return await getattr(self._actor, method).remote(*arguments)
        except RayError as error:
            raise WorkerLost(_describe_error(error)) from error


def _describe_error(error: Exception) -> str:
    return mask(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
