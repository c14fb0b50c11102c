"""What the tests of all adapters share: one prompt, a way to ask it, and the recorded failures."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judge.errors import ParametersRejected
from judge.models.providers import Model, open_model
from judge.models.server import ServerAccess
from judge.records import GRADED, Completion, Prompt, Sampling
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Shaped unlike any provider's keys, so that only knowing it can mask it.
CANARY = "canary-7f3a-not-like-a-key"
KEYS = {"OPENAI_API_KEY": CANARY, "DASHSCOPE_API_KEY": CANARY}
SAMPLING = Sampling(temperature=0.0, max_tokens=400)
SCHEMA = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
PROMPT = Prompt(
    "Grade it as JSON.", "query: tea", SCHEMA, "graded/en", "tea", "Tea is a drink.", "en", GRADED
)
ADAPTERS = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")

Case = dict[str, Any]


def open_at(
    kind: str,
    server: LoopbackServer,
    *,
    sampling: Sampling = SAMPLING,
    timeout: float = 60.0,
    environ: Mapping[str, str] = KEYS,
) -> Model:
    """The adapter `kind` for a model called m at `server`."""
    url = server.dashscope_url if kind.endswith(("dashscope", "tongyi")) else server.openai_url
    return open_model(f"{kind}:m", ServerAccess(url, environ, timeout, concurrency=8), sampling)


def ask(
    model: Model, *prompts: Prompt, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> list[Completion]:
    """The answers to `prompts` (or to PROMPT), asked one after the other; the model is closed."""

    async def ask_all() -> list[Completion]:
        try:
            return [await ask_until_accepted(model, prompt) for prompt in prompts or (PROMPT,)]
        finally:
            await model.aclose()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(ask_all())


async def ask_until_accepted(model: Model, prompt: Prompt) -> Completion:
    """The answer to `prompt`, asked again as often as the adapter gives something up."""
    while True:
        try:
            return await model.complete(prompt)
        except ParametersRejected:
            continue


def load_cases(kind: str) -> list[Case]:
    """The recorded replies of a kind: `http` or `message`."""
    lines = (Path(__file__).parents[2] / "cases" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] == kind]


def make_reply(case: Case) -> Reply:
    """What a server does in `case`."""
    if case["kind"] == "message":
        message = dict(case["message"])
        model = message.pop("_response_model", None)
        return Reply(message=message, finish_reason=case["finish_reason"], model=model)
    if case["shape"] == "timeout":
        return Reply(text="too late", delay=3600.0)
    return Reply(status=case["status"], headers=case["headers"], body=case["body"])


def serve_reply(reply: Reply) -> LoopbackServer:
    """A server that does the same with every request."""

    def answer(_: ChatRequest) -> Reply:
        return reply

    return LoopbackServer(answer)
