"""Models are opened by name, and a library is imported by the one model that needs it."""

import subprocess
import sys
from functools import partial

import pytest

from judge.errors import SetupError
from judge.models.lexical import LexicalModel
from judge.models.providers import PROVIDERS, Provider, Service, open_model, open_openai
from judge.models.server import ServerAccess
from judge.records import Sampling
from tests.support.cases import check_each
from tests.support.fake_server import Reply
from tests.unit.models.adapter_calls import KEYS, SAMPLING, ask, serve_reply


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
        "rerank:jina:m",
    ],
)
def test_an_unknown_form_lists_the_forms(spec: str) -> None:
    with pytest.raises(
        SetupError, match=r"openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME, .*, lexical or expected"
    ):
        open_model(spec, ServerAccess(None, KEYS, timeout=1, concurrency=1), SAMPLING)


@check_each(
    ("spec", "provider"),
    [
        ("opena:my-llm", "openai"),
        ("OpenAI:gpt-4o", "openai"),
        ("lexcal", "lexical"),
        ("decison:openai:m", "decision"),
    ],
)
def test_a_misspelt_provider_is_suggested(spec: str, provider: str) -> None:
    with pytest.raises(SetupError, match=f"there is no model '{spec}'; did you mean '{provider}'\\?$"):
        open_model(spec, ServerAccess(None, KEYS, timeout=1, concurrency=1), SAMPLING)


def test_a_key_in_place_of_a_model_is_refused_and_not_shown() -> None:
    key = "Canary_9e41-not-like-a-key"
    access = ServerAccess(None, {"OPENAI_API_KEY": key}, timeout=1, concurrency=1)
    with pytest.raises(SetupError, match="contains a key of the environment") as caught:
        open_model(f"openai:{key}", access, SAMPLING)
    assert key not in str(caught.value)


def test_a_program_adds_a_provider_of_its_own() -> None:
    class Echo(LexicalModel):
        name = "echo:x"

    opened = []

    def open_echo(name: str, access: ServerAccess, sampling: Sampling) -> Echo:
        opened.append((name, access.timeout, sampling))
        return Echo()

    PROVIDERS["echo"] = Provider("echo:NAME", open_echo)
    try:
        model = open_model("echo:x", ServerAccess(None, {}, timeout=1, concurrency=1), SAMPLING)
    finally:
        del PROVIDERS["echo"]
    assert isinstance(model, Echo)
    assert opened == [("x", 1, SAMPLING)]


def test_a_provider_with_the_api_of_openai_is_one_row() -> None:
    """It has a name, an address and a key of its own, and no headers of OpenAI."""
    service = Service("", ("MOON_BASE_URL",), "MOON_API_KEY")
    PROVIDERS["moon"] = Provider("moon:NAME", partial(open_openai, provider="moon", service=service), service)
    try:
        with serve_reply(Reply(text='{"grade": 2}')) as server:
            environ = {"MOON_BASE_URL": server.openai_url, "MOON_API_KEY": "moon-key-1", "OPENAI_ORG_ID": "o"}
            model = open_model("moon:m", ServerAccess(None, environ, timeout=60, concurrency=1), SAMPLING)
            [answer] = ask(model)
            [request] = server.requests
    finally:
        del PROVIDERS["moon"]
    assert model.name == "moon:m"
    assert answer.text == '{"grade": 2}'
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers["authorization"] == "Bearer moon-key-1"
    assert "openai-organization" not in headers


def test_the_seam_imports_no_provider() -> None:
    code = (
        "import sys\n"
        "from judge.models.providers import open_model\n"
        "from judge.models.server import ServerAccess\n"
        "from judge.records import Sampling\n"
        "open_model('lexical', ServerAccess(None, {}, timeout=1, concurrency=1), Sampling(0.0, 1))\n"
        "print(sorted({'openai', 'dashscope', 'langchain', 'aiohttp', 'httpx2'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
