"""Rerankers against a server of their wires: what is sent, what is read, what is not a score."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from judge.errors import CallError, RequestRejected, SetupError
from judge.models.providers import Model, open_model
from judge.models.scoring_models import LocalReranker, check_sentence_transformers
from judge.models.server import ServerAccess
from judge.records import Usage
from tests.support.cases import check_each
from tests.support.fake_server import LoopbackServer, Reply
from tests.support.rerank_server import rerank, rerank_as_tei
from tests.unit.models.adapter_calls import CANARY, PROMPT, SAMPLING, ask, serve_reply

KEYS = {"DASHSCOPE_API_KEY": CANARY, "COHERE_API_KEY": CANARY, "RERANK_API_KEY": CANARY}
TEXT = "Tea is a drink. grade=3"
PAIR = replace(PROMPT, snippet=TEXT)


def open_at(service: str, url: str) -> Model:
    return open_model(f"rerank:{service}:m", ServerAccess(url, KEYS, timeout=60, concurrency=8), SAMPLING)


@pytest.mark.parametrize(
    ("service", "path", "body"),
    [
        ("server", "/v1/rerank", {"model": "m", "query": "tea", "documents": [TEXT]}),
        ("cohere", "/v1/rerank", {"model": "m", "query": "tea", "documents": [TEXT]}),
        (
            "dashscope",
            "/v1/services/rerank/text-rerank/text-rerank",
            {"model": "m", "input": {"query": "tea", "documents": [TEXT]}},
        ),
    ],
)
def test_a_request_holds_the_pair_and_the_reply_is_the_score(
    service: str, path: str, body: dict[str, object]
) -> None:
    with LoopbackServer(rerank) as server:
        model = open_at(service, f"{server.url}/v1")
        [completion] = ask(model, PAIR)
        [requests] = server.requests
    assert (requests.path, requests.body) == (path, body)
    assert requests.headers["Authorization"] == f"Bearer {CANARY}"
    assert (completion.text, completion.model, completion.request_id) == ("0.85", "m", "r1")
    assert completion.usage == Usage(prompt_tokens=9)
    assert model.name == f"rerank:{service}:m"


def test_a_server_of_tei_is_asked_as_it_reads_after_its_first_refusal() -> None:
    with LoopbackServer(rerank_as_tei) as server:
        first, second = ask(open_at("server", server.url), PAIR, PAIR)
        bodies = [request.body for request in server.requests]
    assert (first.text, second.text, second.usage) == ("0.85", "0.85", None)
    tei = {"query": "tea", "texts": [TEXT]}
    assert bodies == [{"model": "m", "query": "tea", "documents": [TEXT]}, tei, tei]


@check_each(
    "body",
    [
        {},
        {"results": []},
        {"results": [{}]},
        {"results": [{"relevance_score": None}]},
        {"results": [{"relevance_score": True}]},
        {"results": [{"relevance_score": "0.5"}]},
        {"results": [{"relevance_score": float("nan")}]},
        {"results": [{"relevance_score": 10**400}]},
        {"results": [{"index": 5, "relevance_score": 0.5}]},
        {"results": [{"index": None, "relevance_score": 0.5}]},
        {"results": "none"},
        [],
    ],
)
def test_a_reply_without_a_score_is_an_error(body: object) -> None:
    with (
        serve_reply(Reply(body=json.dumps(body))) as server,
        pytest.raises(CallError, match="holds neither a reply nor an error"),
    ):
        ask(open_at("server", server.url), PAIR)


def test_the_tokens_of_a_reply_without_a_score_count() -> None:
    body = {"results": [], "usage": {"total_tokens": 9}}
    with serve_reply(Reply(body=json.dumps(body))) as server, pytest.raises(CallError) as caught:
        ask(open_at("server", server.url), PAIR)
    assert (caught.value.usage, caught.value.maybe_billed) == (Usage(prompt_tokens=9), False)


@pytest.mark.parametrize("count", [-1, 2**64, "9", 1.5])
def test_a_token_count_that_no_store_holds_is_unknown(count: object) -> None:
    body = {"results": [{"relevance_score": 0.5}], "usage": {"total_tokens": count}}
    with serve_reply(Reply(body=json.dumps(body))) as server:
        [completion] = ask(open_at("server", server.url), PAIR)
    assert (completion.text, completion.usage) == ("0.5", None)


def test_a_server_needs_an_address_and_a_public_one_a_key() -> None:
    access = ServerAccess(None, {}, timeout=1.0, concurrency=1)
    with pytest.raises(SetupError, match="is not the address of a server"):
        open_model("rerank:server:m", access, SAMPLING)
    with pytest.raises(SetupError, match="set COHERE_API_KEY"):
        open_model("rerank:cohere:m", access, SAMPLING)


def test_a_local_model_is_loaded_once_by_the_first_request() -> None:
    loaded = []

    def load(name: str) -> Callable[[str, str], float]:
        loaded.append(name)
        return lambda query, text: len(query) / len(text)

    first, second = ask(LocalReranker("m", load), replace(PROMPT, snippet="six tea"), PROMPT)
    assert (first.text, second.text) == (str(3 / 7), str(3 / len(PROMPT.snippet)))
    assert loaded == ["m"]


def test_a_local_score_that_is_no_number_is_an_error() -> None:
    model = LocalReranker("m", lambda _: lambda *_: float("nan"))
    with pytest.raises(RequestRejected, match="gives the score nan"):
        asyncio.run(model.complete(PROMPT))


def test_a_missing_library_is_named_with_its_extra() -> None:
    with pytest.raises(SetupError, match=r"pip install 'search-judge\[rerank\]'"):
        check_sentence_transformers("rerank:local", library="a_library_that_is_not_there")
