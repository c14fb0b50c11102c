"""`judge run -m decision:…`: the grade is the most probable one, and the probabilities are stored."""

import json
import re
from math import log, log2
from pathlib import Path

import pytest

import judge
from judge.models.scoring_models import TOKENS, read_probabilities
from judge.records import Judgment
from judge.runs.record_json import to_json
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.factories import (
    extract_fenced,
    list_rows,
    make_rows,
    read_judgments,
    read_results,
    read_summary,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply, reply_with_token_shares

#: Other tokens of a reply, by the grade that the snippet states.
SHARES = {"0": 0.1, "1": 0.1, "2": 0.1, "3": 0.1, "The": 0.05}


def reply_with_shares(request: ChatRequest) -> Reply:
    """Give the stated grade a share of 0.5, of which its full-width form has a part."""
    stated = re.search(r"grade=(\d)", extract_fenced(request.prompt))
    assert stated
    return reply_with_token_shares(request, {**SHARES, stated[1]: 0.4, chr(0xFF10 + int(stated[1])): 0.1})


@pytest.mark.parametrize("form", ["openai", "dashscope"])
def test_the_grade_is_the_most_probable_one(form: str, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 3))
    with LoopbackServer(reply_with_shares) as server:
        url = server.openai_url if form == "openai" else server.dashscope_url
        words = ("-m", f"decision:{form}:m", "--base-url", url, "--out", tmp_path / "run")
        result = run_judge("run", data, *words, DASHSCOPE_API_KEY="key-of-a-test")
        assert result.returncode == 0, result.stderr
        request = server.requests[0]
        calls = len(server.requests)
        estimated = run_judge("estimate", data, *words, DASHSCOPE_API_KEY="key-of-a-test")
        assert (estimated.returncode, len(server.requests)) == (0, calls)
    body = request.body or {}
    sent = body.get("parameters", body)
    assert {name: sent[name] for name in ("max_tokens", "logprobs")} == {"max_tokens": 1, "logprobs": True}
    assert "response_format" not in sent
    assert "Reply with the grade alone: 0, 1, 2 or 3." in request.prompt
    assert "JSON" not in request.prompt
    for query in read_results(tmp_path / "run")["queries"]:
        for engine in query["engines"].values():
            for snippet in engine["snippets"]:
                (judgment,) = snippet["judgments"]
                assert judgment["grade"] == int(snippet["snippet"][-1])
                expected = [5 / 8 if at == judgment["grade"] else 1 / 8 for at in range(4)]
                assert judgment["probabilities"] == pytest.approx(expected)
                assert "a decision model gives no reason" in judgment["reason"]
    assert "There is no self-test of" not in result.stdout
    assert run_judge("score", tmp_path / "run", "--save").returncode == 0
    again = read_results(tmp_path / "run")["queries"][0]["engines"]["engine0"]["snippets"][0]["judgments"][0]
    assert len(again["probabilities"]) == 4


def test_a_binary_verdict_is_yes_or_no(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    with LoopbackServer(lambda request: reply_with_token_shares(request, {" Yes": 0.6, "no": 0.2})) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--scale", "binary")
        result = run_judge("run", data, *words, "--out", tmp_path / "run")
        assert result.returncode == 0, result.stderr
        assert "Reply with yes or no alone." in server.requests[0].prompt
    lines = read_judgments(tmp_path / "run")
    assert [line["grade"] for line in lines] == [1, 1]
    assert json.loads(lines[0]["reply"])["probabilities"] == pytest.approx([0.25, 0.75])


def test_expected_gains_are_means_over_the_possible_grades(tmp_path: Path) -> None:
    measures = "nDCG@10 sDCG@10 P@5 AP@10 RBP@10"
    rows = list_rows({"q": {"a": ("a grade=3", "a grade=0"), "b": ("b grade=0", "b grade=3")}})
    data = write_rows(tmp_path / "d.jsonl", rows)
    with LoopbackServer(reply_with_shares) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--out", tmp_path / "run")
        result = run_judge("run", data, *words, "--measures", measures, "--expected-gains")
    assert result.returncode == 0, result.stderr
    summary = read_summary(tmp_path / "run")
    means = {
        engine: {name: row["mean"] for name, row in of_engine.items()}
        for engine, of_engine in summary["dimensions"]["expected_gains"]["engines"].items()
    }
    # A stated grade has 5/8, the other three 1/8 each: 3 has a mean of 18/8, 0 one of 6/8.
    high, low, second = 18 / 8, 6 / 8, 1 / log2(3)
    ideal = high + high * second + low / 2 + low / log2(5)
    top = 3 * sum(1 / log2(1 + rank) for rank in range(1, 11))
    for engine, dcg, rbp in (
        ("a", high + low * second, 6 / 8 + 2 / 8 * 0.8),
        ("b", low + high * second, 2 / 8 + 6 / 8 * 0.8),
    ):
        assert means[engine] == pytest.approx(
            {
                "expected nDCG@10": dcg / ideal,
                "expected sDCG@10": dcg / top,
                # Relevant from grade 2: 6/8 of one snippet, 2/8 of the other.
                "expected P@5": 1 / 5,
                "expected RBP(p=0.8)@10": 0.2 * rbp,
                "probability of the grade@10": 5 / 8,
            }
        )
    again = judge.score(tmp_path / "run", dimensions=["expected_gains"]).summary
    assert to_json(again.dimensions["expected_gains"]) == summary["dimensions"]["expected_gains"]


def test_a_query_without_a_relevant_result_has_no_expected_ndcg(tmp_path: Path) -> None:
    rows = list_rows({"q": {"a": ("a grade=0",)}, "r": {"a": ("b grade=0", "c grade=3")}})
    data = write_rows(tmp_path / "d.jsonl", rows)
    with LoopbackServer(reply_with_shares) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--out", tmp_path / "run")
        result = run_judge("run", data, *words, "--measures", "nDCG@10 P@5", "--expected-gains")
    assert result.returncode == 0, result.stderr
    summary = read_summary(tmp_path / "run")
    means = summary["dimensions"]["expected_gains"]["engines"]["a"]
    # As nDCG of the run; 6/8 and 18/8 are the expected gains of the two results of r.
    assert summary["engines"]["a"]["measures"]["nDCG@10"]["n"] == 1
    assert means["expected nDCG@10"]["queries"] == 1
    ideal = 18 / 8 + 6 / 8 / log2(3)
    assert means["expected nDCG@10"]["mean"] == pytest.approx((6 / 8 + 18 / 8 / log2(3)) / ideal)
    assert means["expected P@5"]["queries"] == 2


@check_each("shares", ["1e308,1e308,1e308,1e308", "-1,0,1,1", "NaN,0,0,1", "0.9,0.9,0.9,0.9", "0,0,1"])
def test_probabilities_of_another_person_are_probabilities_or_none(shares: str) -> None:
    reply = f'{{"grade": 2, "probabilities": [{shares}]}}'
    judgment = Judgment("q", "s", 1, 2, "", None, "decision:openai:m/graded", "", {}, reply, None)
    assert len(judgment.probabilities) in (0, 3)
    assert sum(judgment.probabilities) in (0, 1)


def test_certain_grades_have_the_gains_of_the_run_and_no_probability(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 4))
    result = run_judge("run", data, "-m", "lexical", "--out", tmp_path / "run", "--expected-gains")
    assert result.returncode == 0, result.stderr
    assert "no grade of this run has probabilities" in result.stdout
    qrels = (tmp_path / "run" / "qrels.txt").read_text().splitlines()
    (tmp_path / "labels.txt").write_text("\n".join(qrels[1:]))
    with LoopbackServer(lambda request: reply_with_token_shares(request, {"2": 1.0})) as server:
        words = (
            "-m",
            "decision:openai:m",
            "--base-url",
            server.openai_url,
            "--qrels",
            tmp_path / "labels.txt",
        )
        result = run_judge("run", data, *words, "--out", tmp_path / "labelled", "--expected-gains")
    assert result.returncode == 0, result.stderr
    summary = read_summary(tmp_path / "labelled")
    for engine, of_engine in summary["dimensions"]["expected_gains"]["engines"].items():
        for measure in ("nDCG@10", "P@5"):
            own = summary["engines"][engine]["measures"][measure]["mean"]
            assert of_engine[f"expected {measure}"]["mean"] == pytest.approx(own)


def test_a_model_without_reasons_cannot_think(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    result = run_judge("run", data, "-m", "decision:openai:m", "--thinking")
    assert result.returncode == 2
    assert "omit --thinking" in result.stderr


def test_a_server_without_log_probabilities_is_named_as_the_reason(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    with LoopbackServer(lambda _: Reply(text="2")) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--out", tmp_path / "run")
        assert run_judge("run", data, *words).returncode == 3
    line = json.loads((tmp_path / "run" / "judgments.jsonl").read_text().splitlines()[0])
    assert line["detail"].startswith("the server returned no log-probabilities")


@pytest.mark.parametrize("shares", [{"The": 0.6, "2": 0.4}, {}])
def test_another_token_is_an_error_and_no_grade(shares: dict[str, float], tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    with LoopbackServer(lambda request: reply_with_token_shares(request, shares)) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--out", tmp_path / "run")
        result = run_judge("run", data, *words)
    assert result.returncode == 3
    lines = read_judgments(tmp_path / "run")
    assert [(line["grade"], line["error"]) for line in lines] == [(None, "bad_request")] * 2
    expected = "the first token, 'The', is no grade" if shares else "the server returned no log-probabilities"
    assert lines[0]["detail"].startswith(expected)


@pytest.mark.parametrize(
    "logprobs",
    [None, {}, {"content": None}, {"content": [{"top_logprobs": [{"token": 2, "logprob": -1}]}]}, [1], "x"],
)
def test_log_probabilities_of_another_form_are_none(logprobs: object) -> None:
    assert read_probabilities(logprobs, TOKENS["graded"]) is None


def test_probabilities_are_shares_of_the_grades() -> None:
    top = [{"token": "2", "logprob": log(0.6)}, {"token": "3", "logprob": log(0.2)}]
    never = [{"token": "1", "logprob": float("-inf")}, {"token": "0", "logprob": -9999.0}]
    never += [{"token": "0", "logprob": -(10**400)}]
    logprobs = {"content": [{"top_logprobs": [*top, *never]}]}
    assert read_probabilities(logprobs, TOKENS["graded"]) == pytest.approx([0, 0, 0.75, 0.25])
    rounded = [{"token": "3", "logprob": 1e-6}, {"token": "2", "logprob": -9}]
    probabilities = read_probabilities({"content": [{"top_logprobs": rounded}]}, TOKENS["graded"])
    assert probabilities is not None
    assert probabilities[3] > 0.999


@check_each("odd", [{"logprob": float("nan")}, {"logprob": 2.0}, {"logprob": 10**400}, {"logprob": None}, {}])
def test_a_token_of_unknown_probability_may_be_the_most_probable_one(odd: dict[str, object]) -> None:
    top = [{"token": "3", **odd}, {"token": "1", "logprob": log(0.2)}]
    assert read_probabilities({"content": [{"top_logprobs": top}]}, TOKENS["graded"]) is None
