"""Models are opened by name, and a library is imported by the one model that needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from judge.errors import SetupError
from judge.models import PROVIDERS, Provider, open_model
from judge.models.endpoint import Endpoint
from judge.models.lexical import Lexical
from judge.records import Sampling
from tests.support.cases import check_each
from tests.unit.models.adapter_calls import KEYS, SAMPLING


@check_each(
    "spec",
    [
        "gpt-4o",
        "openai:",
        "langchain:openai",
        "lexical:x",
        "",
        "anthropic:claude",
        "rerank:m",
        "rerank:other:m",
    ],
)
def test_an_unknown_form_lists_the_forms(spec: str) -> None:
    with pytest.raises(
        SetupError, match=r"openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME, .*, lexical or expected"
    ):
        open_model(spec, base_url=None, environ=KEYS, sampling=SAMPLING, timeout=1, concurrency=1)


def test_a_program_adds_a_provider_of_its_own() -> None:
    class Echo(Lexical):
        name = "echo:x"

    opened = []

    def open_echo(name: str, access: Endpoint, sampling: Sampling) -> Echo:
        opened.append((name, access.timeout, sampling))
        return Echo()

    PROVIDERS["echo"] = Provider("echo:NAME", open_echo)
    try:
        model = open_model("echo:x", base_url=None, environ={}, sampling=SAMPLING, timeout=1, concurrency=1)
    finally:
        del PROVIDERS["echo"]
    assert isinstance(model, Echo)
    assert opened == [("x", 1, SAMPLING)]


def test_the_seam_imports_no_provider() -> None:
    code = (
        "import sys\n"
        "from judge.models import open_model\n"
        "from judge.records import Sampling\n"
        "how = {'base_url': None, 'environ': {}, 'timeout': 1, 'concurrency': 1}\n"
        "open_model('lexical', sampling=Sampling(0.0, 1), **how)\n"
        "print(sorted({'openai', 'dashscope', 'langchain', 'aiohttp', 'httpx2'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
