"""Other dimensions than relevance: from the option to terminal, files, report and Python API."""

import json
import re
from pathlib import Path

import pytest

import judge
from judge.runs.folder import RunFolder
from judge.runs.load import load_run
from tests.support.command_line import make_words, run_judge
from tests.support.factories import extract_fenced, read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

TEXTS = {"a": ("pale gums", "pale gums", "fast pulse"), "b": ("pale gums", "hungry puppies")}


def write_dataset(folder: Path) -> Path:
    rows = [
        {
            "query_id": query,
            "query": "signs of anaemia",
            "engine": engine,
            "rank": rank,
            "snippet": text,
            "url": f"https://{text.split()[0]}.example/{rank}",
        }
        for query in ("q1", "q2")
        for engine, texts in TEXTS.items()
        for rank, text in enumerate(texts, start=1)
    ]
    rows.append({"query_id": "q3", "query": "x", "engine": "a", "error": "500"})
    rows.append({"query_id": "q3", "query": "x", "engine": "b", "rank": 1, "snippet": "text"})
    return write_rows(folder / "data.jsonl", rows)


def test_diversity_is_in_every_place_and_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("run", write_dataset(tmp_path), "-m", "lexical", "--out", out)
    assert run_judge(*words).returncode == 0
    assert "dimensions" not in read_summary(out)
    scored = run_judge("score", out, "--diversity")
    assert "diversity  sites@10" in scored.stdout
    chinese = run_judge("score", out, "--diversity", "--ui-lang", "zh")
    assert re.search("多样性 +站点数@10 .*近似重复@10 +相似度@10 +MMR nDCG@10", chinese.stdout)
    [of_b] = [line for line in scored.stdout.split("diversity  sites@10")[1].splitlines() if line[:2] == "b "]
    assert "0.000 (3)" in of_b  # its sites are known in 2 queries
    assert "dimensions" not in read_summary(out)
    run = run_judge(*words, "--diversity")  # resumes in the same folder
    assert run.returncode == 0, run.stderr
    assert "diversity  sites@10" in run.stdout
    summary = read_summary(out)
    engines = summary["dimensions"]["diversity"]["engines"]
    assert engines["a"]["sites@10"] == {"mean": 2.0, "ci95": None, "queries": 2}
    assert engines["a"]["near-duplicates@10"]["mean"] == 1 / 3
    assert engines["b"]["sites@10"] == {"mean": 2.0, "ci95": None, "queries": 2}
    results = json.loads((out / "results.json").read_text())
    assert results["queries"][0]["engines"]["a"]["dimensions"]["diversity"]["sites@10"] == 2.0
    assert results["queries"][2]["engines"]["b"]["dimensions"]["diversity"]["sites@10"] is None
    assert "dimensions" not in results["queries"][2]["engines"]["a"]
    report = (out / "report.html").read_text()
    assert "Other dimensions" in report
    assert "near-duplicates@10" in report
    assert "<small>n = 3</small>" in report  # behind an interval it is ", n = 3"
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert run_judge("score", out, "--save").returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert load_run(RunFolder(out)).dimensions["diversity"].values["a", "q1"]["sites@10"] == 2.0
    assert (
        judge.score(out, dimensions=["diversity"]).summary.dimensions["diversity"].measures[0] == "sites@10"
    )


VECTORS = {"pale gums": [2.0, 0.0], "pale gums too": [0.8, 0.6], "fast pulse": [0.0, 1.0]}


def reply_with_vectors(request: ChatRequest) -> Reply:
    """Give the vectors of the texts above; grade those without "too" as relevant."""
    if request.body and request.path.endswith("/embeddings"):
        rows = [{"index": at, "embedding": VECTORS[text]} for at, text in enumerate(request.body["input"])]
        return Reply(body=json.dumps({"data": rows, "model": "m", "usage": {"total_tokens": 1}}))
    return Reply(
        text=json.dumps({"reason": "r", "grade": 0 if "too" in extract_fenced(request.prompt) else 3})
    )


def test_similarity_and_mmr_by_embeddings_equal_a_worked_example(tmp_path: Path) -> None:
    rows = [{"query": "signs", "engine": "a", "snippet": text} for text in VECTORS]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "out"
    with LoopbackServer(reply_with_vectors) as server:
        words = (*make_words(data, server), "--diversity-embeddings", "openai:vectors")
        estimate = run_judge("estimate", *words[1:])
        assert "openai:vectors embeds up to 3 texts" in estimate.stdout + estimate.stderr
        for _ in range(2):
            run = run_judge(*words, "--out", out)
            assert run.returncode == 0, run.stderr
        assert sum(request.path.endswith("/embeddings") for request in server.requests) == 1
    means = read_summary(out)["dimensions"]["diversity_embeddings"]["engines"]["a"]
    # The cosines are 0.8, 0 and 0.6.
    assert means["similarity@10"]["mean"] == pytest.approx(1.4 / 3)
    # After the first: 2/3 - 0.8 of the second is less than 1/3 - 0 of the third. The order is 1, 3, 2.
    assert means["MMR nDCG@10"]["mean"] == pytest.approx(1.0)
    assert "the embeddings are openai:vectors" in run.stdout


def test_embeddings_of_another_provider_have_a_server_of_their_own(tmp_path: Path) -> None:
    texts = ("pale gums", "pale gums too", "")
    rows = [{"query": "signs", "engine": "a", "snippet": text} for text in texts]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "out"
    with LoopbackServer(reply_with_vectors) as server, LoopbackServer(reply_with_vectors) as other:
        words = (*make_words(data, server), "--diversity-embeddings", "dashscope:vectors", "--out", out)
        run = run_judge(*words, DASHSCOPE_BASE_URL=other.openai_url)
        assert run.returncode == 0, run.stderr
        assert [requests.path for requests in server.requests if "embeddings" in requests.path] == []
        assert [request.path for request in other.requests] == ["/v1/embeddings"]
    means = read_summary(out)["dimensions"]["diversity_embeddings"]["engines"]
    # A result without text enters no similarity.
    assert means["a"]["similarity@10"]["mean"] == pytest.approx(0.8)


def test_scoring_requests_embeddings_from_the_server_that_it_is_given(tmp_path: Path) -> None:
    rows = [{"query": "signs", "engine": "a", "snippet": text} for text in ("pale gums", "pale gums too")]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "out"
    assert run_judge("run", data, "-m", "lexical", "--out", out).returncode == 0
    with LoopbackServer(reply_with_vectors) as server:
        words = ("--diversity-embeddings", "openai:vectors", "--base-url", server.openai_url)
        result = run_judge("score", out, *words)
        assert result.returncode == 0, result.stderr
        assert [request.path for request in server.requests] == ["/v1/embeddings"]
        again = judge.score(out, embeddings="openai:vectors", base_url=server.openai_url)
        assert len(server.requests) == 1  # they are cached by server
    engines = again.summary.dimensions["diversity_embeddings"].engines
    assert engines["a"]["similarity@10"].mean == pytest.approx(0.8)


def test_embeddings_without_a_key_end_the_run_before_a_call(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", [{"query": "x", "engine": "a", "snippet": "x"}])
    with LoopbackServer(reply_with_vectors) as server:
        words = (
            *make_words(data, server),
            "--diversity-embeddings",
            "dashscope:m",
            "--out",
            tmp_path / "out",
        )
        run = run_judge(*words, DASHSCOPE_API_KEY="")
        assert (run.returncode, "DASHSCOPE_API_KEY" in run.stderr) == (2, True)
        assert server.requests == []


def test_lsa_needs_no_server_and_two_texts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("-m", "lexical", "--diversity-embeddings", "lsa")
    assert run_judge("run", write_dataset(tmp_path), *words, "--out", out).returncode == 0
    engines = judge.score(out, embeddings="lsa").summary.dimensions["diversity_embeddings"].engines
    # The first list repeats a text.
    assert 1 / 3 <= (engines["a"]["similarity@10"].mean or 0) < 1
    lone = [{"query": "x", "engine": "a", "snippet": text} for text in ("ab", "cd")]
    run = run_judge("run", write_rows(tmp_path / "lone.jsonl", lone), *words, "--out", tmp_path / "lone")
    assert run.returncode == 0
    assert "2 texts have too few letters in common for lsa" in run.stdout
    result = run_judge("score", out, "--diversity-embeddings", "word2vec")
    assert (result.returncode, "there are no embeddings 'word2vec'" in result.stderr) == (2, True)


def test_a_run_of_failures_alone_has_no_table(tmp_path: Path) -> None:
    rows = [{"query_id": "q", "query": "x", "engine": "a", "error": "500"}]
    out = tmp_path / "out"
    run = run_judge(
        "run", write_rows(tmp_path / "d.jsonl", rows), "-m", "lexical", "--out", out, "--diversity"
    )
    assert run.returncode == 3
    assert "diversity" not in run.stdout
