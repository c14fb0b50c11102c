"""Embeddings: LSA against scikit-learn, and servers against the wire of `/embeddings`."""

import json
from pathlib import Path

import numpy as np
import pytest

from judge.dimensions.embeddings import compute_lsa, open_embedder
from judge.errors import InputError, RunIncomplete
from judge.models.server import ServerAccess
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.models.adapter_calls import CANARY

TEXTS = ["green tea lowers blood pressure", "green tea is picked in spring", "贫血的狗狗牙龈发白", "狗狗贫血"]


def embed(request: ChatRequest) -> Reply:
    """Answer with the length and the number of vowels of each text, the last text first."""
    assert request.body is not None
    rows = [
        {"index": at, "embedding": [len(text), sum(map(text.count, "aeiou"))]}
        for at, text in enumerate(request.body["input"])
    ]
    return Reply(body=json.dumps({"data": rows[::-1], "model": "m", "usage": {"total_tokens": 1}}))


def make_endpoint(server: LoopbackServer) -> ServerAccess:
    keys = {"OPENAI_API_KEY": CANARY, "DASHSCOPE_API_KEY": CANARY}
    return ServerAccess(server.dashscope_url, keys, timeout=60, concurrency=4)


def test_lsa_equals_the_svd_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=True, min_df=2).fit_transform(
        TEXTS
    )
    dense = counts.toarray().astype(float)
    weights = np.where(dense > 0, 1 + np.log(np.maximum(dense, 1)), 0) * np.log(
        len(TEXTS) / (dense > 0).sum(0)
    )
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    expected = left[:, :2] * values[:2]
    vectors = compute_lsa(TEXTS, dimensions=2)
    assert vectors @ vectors.T == pytest.approx(expected @ expected.T, abs=1e-9)
    assert compute_lsa(TEXTS).shape == (4, 3)


@pytest.mark.parametrize("texts", [["ab", "cd"], ["cats are nice", "dogs are nice"], ["tea", "tea", "tea"]])
def test_texts_that_share_no_letters_or_all_of_them_have_no_lsa(texts: list[str]) -> None:
    """A letter of all texts has the weight log(n / n) = 0."""
    with pytest.raises(InputError, match=f"{len(texts)} texts have too few letters in common"):
        compute_lsa(texts)


@pytest.mark.parametrize(
    ("form", "path", "sizes"),
    [("openai", "/api/v1/embeddings", [23]), ("dashscope", "/compatible-mode/v1/embeddings", [3, 10, 10])],
)
def test_a_server_is_asked_once_in_batches(form: str, path: str, sizes: list[int], tmp_path: Path) -> None:
    texts = ["a" * (at + 1) for at in range(23)]
    with LoopbackServer(embed) as server:
        first = open_embedder(f"{form}:m", make_endpoint(server), tmp_path / "v.sqlite")(texts)
        again = open_embedder(f"{form}:m", make_endpoint(server), tmp_path / "v.sqlite")(texts)
        requests = server.requests
    assert sorted(len((each.body or {})["input"]) for each in requests) == sizes
    assert {(each.path, each.headers["Authorization"]) for each in requests} == {(path, f"Bearer {CANARY}")}
    assert first.tolist() == again.tolist() == [[at + 1.0, at + 1.0] for at in range(23)]


def test_a_request_is_retried_and_then_given_up(tmp_path: Path) -> None:
    def refuse_first(request: ChatRequest) -> Reply:
        return Reply(status=429, headers={"retry-after": "0"}) if request.number == 1 else embed(request)

    with LoopbackServer(refuse_first) as server:
        assert open_embedder("openai:m", make_endpoint(server), tmp_path / "v.sqlite")(["abc"]).tolist() == [
            [3.0, 1.0]
        ]
    with (
        LoopbackServer(lambda _: Reply(status=401, body="{}")) as server,
        pytest.raises(RunIncomplete, match="m at"),
    ):
        open_embedder("openai:m", make_endpoint(server), tmp_path / "v.sqlite")(["abc"])


def test_embeddings_of_different_lengths_are_refused(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        rows = [
            {"index": at, "embedding": [1.0] * request.number}
            for at in range(len((request.body or {})["input"]))
        ]
        return Reply(body=json.dumps({"data": rows}))

    with LoopbackServer(answer) as server, pytest.raises(RunIncomplete, match="have different lengths"):
        open_embedder("dashscope:m", make_endpoint(server), tmp_path / "v.sqlite")(
            [f"text {at}" for at in range(11)]
        )


@pytest.mark.parametrize("spec", ["tfidf", "openai:", "lsa:128", "local", "cohere:m"])
def test_an_unknown_form_lists_the_forms(spec: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write openai:NAME, dashscope:NAME, local:NAME or lsa"):
        open_embedder(spec, ServerAccess(None, {}, 1, 1), tmp_path / "v.sqlite")(TEXTS)
