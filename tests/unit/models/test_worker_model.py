"""Models behind workers: messages, errors, and workers that are lost, with workers in this process."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from judge import example
from judge.errors import ConnectionFailed, RequestRejected, RetryableError
from judge.models.providers import ModelResult
from judge.models.worker_model import PromptWorker, Worker, WorkerLost, WorkerModel
from judge.records import Completion, Prompt
from tests.support import virtual_time
from tests.support.command_line import run_judge
from tests.unit.models.adapter_calls import PROMPT


class EchoModel:
    """Answers with the user's message, after as many seconds as the query says; refuses `bad`."""

    name, endpoint, params = "openai:echo", "http://server", {"temperature": 0.0}
    is_local = False

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.is_closed = False

    async def complete(self, prompt: Prompt) -> Completion:
        self.requests.append(prompt.user)
        await asyncio.sleep(float(prompt.query))
        if prompt.user == "bad":
            raise RequestRejected("content_filter", "no", maybe_billed=True)
        return Completion(prompt.user, "echo", "stop", {})

    async def aclose(self) -> None:
        self.is_closed = True


class LocalWorker:
    """A `PromptWorker` in this process; a message takes 0.1 s, and `lose` ends it until `come_back`."""

    def __init__(self) -> None:
        self.model = EchoModel()
        self.messages: list[int] = []
        self._lost = asyncio.Event()
        self._back = asyncio.Event()
        self.come_back()

    def come_back(self) -> None:
        self._worker = PromptWorker(lambda: self.model)
        self._lost.clear()
        self._back.set()

    def lose(self) -> None:
        self._back.clear()
        self._lost.set()

    async def wait_until_ready(self) -> None:
        await self._back.wait()

    async def send(self, prompts: Mapping[int, Prompt]) -> None:
        self.messages.append(len(prompts))
        await asyncio.sleep(0.1)
        await self._worker.send(prompts)

    async def receive(self) -> Mapping[int, ModelResult]:
        receiving = asyncio.create_task(self._worker.receive())
        lost = asyncio.create_task(self._lost.wait())
        await asyncio.wait([receiving, lost], return_when=asyncio.FIRST_COMPLETED)
        if self._lost.is_set():
            receiving.cancel()
            raise WorkerLost("the node ended")
        lost.cancel()
        return await receiving


class LocalPool:
    """Some workers; none can be started where `error` is set."""

    def __init__(self, size: int, error: ConnectionFailed | None = None) -> None:
        self.workers = [LocalWorker() for _ in range(size)]
        self.error = error
        self.is_stopped = False

    async def start(self) -> Sequence[Worker]:
        if self.error:
            raise self.error
        return self.workers

    async def stop(self) -> None:
        self.is_stopped = True


def make_prompt(user: str, seconds: float = 1.0) -> Prompt:
    return replace(PROMPT, user=user, query=str(seconds))


def test_requests_are_spread_and_sent_together_and_results_reach_their_prompts() -> None:
    async def main() -> None:
        pool, local = LocalPool(2), EchoModel()
        model = WorkerModel(local, pool)
        assert (model.name, model.endpoint, model.params) == (local.name, local.endpoint, local.params)
        users = [f"{number}" for number in range(20)]
        # The later ones are the faster ones.
        completions = await asyncio.gather(
            *(model.complete(make_prompt(user, 20 - int(user))) for user in users)
        )
        assert [each.text for each in completions] == users
        for worker in pool.workers:
            assert len(worker.model.requests) == 10
            assert sum(worker.messages) == 10
            assert len(worker.messages) == 1
        await model.aclose()
        assert pool.is_stopped
        assert local.is_closed
        assert not local.requests

    virtual_time.run(main())


def test_an_error_of_the_model_is_raised_as_it_is() -> None:
    async def main() -> None:
        model = WorkerModel(EchoModel(), LocalPool(1))
        with pytest.raises(RequestRejected) as caught:
            await model.complete(make_prompt("bad"))
        assert (caught.value.kind, caught.value.detail, caught.value.maybe_billed) == (
            "content_filter",
            "no",
            True,
        )
        await model.aclose()

    virtual_time.run(main())


def test_a_lost_worker_fails_what_it_has_not_answered_and_is_used_again_when_it_is_back() -> None:
    async def main() -> None:
        pool = LocalPool(2)
        model = WorkerModel(EchoModel(), pool)
        requests = [
            asyncio.create_task(model.complete(make_prompt(f"{number}", 1 + 9 * (number // 2))))
            for number in range(4)
        ]
        await asyncio.sleep(5)
        first, second = pool.workers
        first.lose()
        results = await asyncio.gather(*requests, return_exceptions=True)
        errors = [each for each in results if isinstance(each, BaseException)]
        assert [isinstance(each, RetryableError) and each.maybe_billed for each in errors] == [True]
        assert "the node ended" in str(errors[0])
        assert sorted(first.model.requests + second.model.requests) == ["0", "1", "2", "3"]
        await asyncio.gather(*(model.complete(make_prompt("more")) for _ in range(2)))
        assert second.model.requests.count("more") == 2
        first.come_back()
        await asyncio.sleep(5)
        await asyncio.gather(*(model.complete(make_prompt("again")) for _ in range(2)))
        assert [worker.model.requests.count("again") for worker in pool.workers] == [1, 1]
        await model.aclose()

    virtual_time.run(main())


def test_without_a_worker_no_request_is_billed() -> None:
    async def main() -> None:
        pool = LocalPool(1)
        pool.workers[0].lose()
        model = WorkerModel(EchoModel(), pool)
        with pytest.raises(ConnectionFailed) as caught:
            await model.complete(make_prompt("1"))
        assert not caught.value.maybe_billed
        await model.aclose()
        error = ConnectionFailed("a new cluster", lasting=True)
        model = WorkerModel(EchoModel(), LocalPool(1, error))
        for _ in range(2):
            with pytest.raises(ConnectionFailed, match="a new cluster"):
                await model.complete(make_prompt("1"))
        await model.aclose()

    virtual_time.run(main())


def test_a_model_without_a_server_is_refused(tmp_path: Path) -> None:
    done = run_judge("run", example.find_dataset(), "-m", "lexical", "--on", "ray", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "lexical" in done.stderr
    assert "omit --on ray" in done.stderr
