"""What a reply says besides its grade: flags of a verdict, and advice where there is none."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.assess.assessor import Assessor
from judge.assess.prompts import find_default_directory, load_prompts
from judge.dataset.pool import build_pool
from judge.records import GRADED, Completion, Prompt
from judge.store.store import StoredVerdict
from tests.support import virtual_time
from tests.support.cases import check_each
from tests.support.datasets import read_dataset

PAIR = build_pool(
    read_dataset([{"query": "tea", "snippet": "Tea is a drink."}], lang="en", max_chars=400), 10
).pairs[0]


class EchoModel:
    """A model that replies as `served`, with this many letters of its instructions as the reason."""

    endpoint, is_local = "", False
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, letters: int, served: str, name: str = "openai:m") -> None:
        self.name = name
        self._letters = letters
        self._served = served

    async def complete(self, prompt: Prompt) -> Completion:
        reason = f"I say: {prompt.system[20 : 20 + self._letters]}"
        return Completion(json.dumps({"reason": reason, "grade": 2}), self._served, "stop", {})

    async def aclose(self) -> None:
        """Do nothing."""


class TextModel(EchoModel):
    """A model that always replies with `text`."""

    def __init__(self, text: str) -> None:
        super().__init__(0, "")
        self._text = text

    async def complete(self, prompt: Prompt) -> Completion:
        return Completion(self._text, "", "stop", {})


def ask_for_flags(model: EchoModel) -> tuple[str, ...]:
    """Return the flags of the verdict of `model`."""

    async def ask() -> tuple[str, ...]:
        assessor = Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)
        answer = await assessor.ask(PAIR, assessor.model.complete)
        assert isinstance(answer, StoredVerdict)
        return answer.flags

    return virtual_time.run(ask())


@check_each(
    ("letters", "served", "flags"),
    [
        (38, "m", ()),
        (200, "m", ("prompt_echo",)),
        (0, "m-2026-11-01", ()),
        (0, "another", ("served_by:another",)),
        (0, "", ()),
    ],
)
def test_a_verdict_has_flags_for_an_echo_of_the_prompt_and_for_another_model(
    letters: int, served: str, flags: tuple[str, ...]
) -> None:
    assert ask_for_flags(EchoModel(letters, served)) == flags


@check_each(
    ("name", "served", "is_other"),
    [
        ("openai:qwen3:8b", "qwen3:8b-q4_K_M", False),
        ("openai:qwen3:8b", "8b-of-another-model", True),
        ("openai:qwen3:8b", "qwen3:4b", True),
        ("openai:owner/chat:free", "owner/chat", False),
        ("openai:owner/chat:free", "chat", False),
        ("openai:owner/chat:free", "owner/other:free", True),
        ("decision:openai:qwen3:8b", "qwen3:8b", False),
        ("langchain:ollama:qwen3:8b", "qwen3:8b-q4_K_M", False),
        ("rerank:server:owner/m", "m", False),
        ("lexical", "lexical", False),
    ],
)
def test_a_colon_in_the_name_of_a_model_is_part_of_it(name: str, served: str, is_other: bool) -> None:
    assert ask_for_flags(EchoModel(0, served, name)) == ((f"served_by:{served}",) if is_other else ())
