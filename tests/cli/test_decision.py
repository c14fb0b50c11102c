"""`judge run -m decision:…`: the grade is the most probable one, and the probabilities are kept."""

from __future__ import annotations

import json
import re
from math import log
from pathlib import Path

import pytest

from judge.models.decision_model import TOKENS, read_probabilities
from tests.support.command_line import command
from tests.support.factories import fenced, numbered, results, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply, decide

#: Other tokens of a reply, by the grade that the snippet states.
SHARES = {"0": 0.1, "1": 0.1, "2": 0.1, "3": 0.1, "The": 0.05}


def graded(asked: ChatRequest) -> Reply:
    """Give the stated grade a share of 0.5, of which its full-width form has a part."""
    stated = re.search(r"grade=(\d)", fenced(asked.prompt))
    assert stated
    return decide(asked, {**SHARES, stated[1]: 0.4, chr(0xFF10 + int(stated[1])): 0.1})


@pytest.mark.parametrize("form", ["openai", "dashscope"])
def test_the_grade_is_the_most_probable_one(form: str, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", numbered(2, 2, 3))
    with LoopbackServer(graded) as server:
        url = server.openai_url if form == "openai" else server.dashscope_url
        words = ("-m", f"decision:{form}:m", "--base-url", url, "--out", tmp_path / "run")
        done = command("run", data, *words, DASHSCOPE_API_KEY="key-of-a-test")
        assert done.returncode == 0, done.stderr
        asked = server.asked[0]
        calls = len(server.asked)
        estimated = command("estimate", data, *words, DASHSCOPE_API_KEY="key-of-a-test")
        assert (estimated.returncode, len(server.asked)) == (0, calls)
    body = asked.body or {}
    sent = body.get("parameters", body)
    assert {name: sent[name] for name in ("max_tokens", "logprobs")} == {"max_tokens": 1, "logprobs": True}
    assert "response_format" not in sent
    assert "Reply with the grade alone: 0, 1, 2 or 3." in asked.prompt
    assert "JSON" not in asked.prompt
    for query in results(tmp_path / "run")["queries"]:
        for engine in query["engines"].values():
            for snippet in engine["snippets"]:
                (judgment,) = snippet["judgments"]
                assert judgment["grade"] == int(snippet["snippet"][-1])
                expected = [5 / 8 if at == judgment["grade"] else 1 / 8 for at in range(4)]
                assert judgment["probabilities"] == pytest.approx(expected)
                assert "a decision model gives no reason" in judgment["reason"]
    assert "never self-tested" not in done.stdout
    assert command("score", tmp_path / "run", "--save").returncode == 0
    again = results(tmp_path / "run")["queries"][0]["engines"]["engine0"]["snippets"][0]["judgments"][0]
    assert len(again["probabilities"]) == 4


def test_a_binary_verdict_is_yes_or_no(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", numbered(1, 1, 2))
    with LoopbackServer(lambda asked: decide(asked, {" Yes": 0.6, "no": 0.2})) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--scale", "binary")
        done = command("run", data, *words, "--out", tmp_path / "run")
        assert done.returncode == 0, done.stderr
        assert "Reply with yes or no alone." in server.asked[0].prompt
    lines = [json.loads(line) for line in (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()]
    assert [line["grade"] for line in lines] == [1, 1]
    assert json.loads(lines[0]["reply"])["probabilities"] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("shares", [{"The": 0.6, "2": 0.4}, {}])
def test_another_token_is_an_error_and_no_grade(shares: dict[str, float], tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", numbered(1, 1, 2))
    with LoopbackServer(lambda asked: decide(asked, shares)) as server:
        words = ("-m", "decision:openai:m", "--base-url", server.openai_url, "--out", tmp_path / "run")
        done = command("run", data, *words)
    assert done.returncode == 3
    lines = [json.loads(line) for line in (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()]
    assert [(line["grade"], line["error"]) for line in lines] == [(None, "bad_request")] * 2
    assert "is no grade with a log-probability" in lines[0]["detail"]


@pytest.mark.parametrize(
    "logprobs",
    [None, {}, {"content": None}, {"content": [{"top_logprobs": [{"token": 2, "logprob": -1}]}]}, [1], "x"],
)
def test_log_probabilities_of_another_form_are_none(logprobs: object) -> None:
    assert read_probabilities(logprobs, TOKENS["graded"]) is None


def test_probabilities_are_shares_of_the_grades() -> None:
    top = [{"token": "2", "logprob": log(0.6)}, {"token": "3", "logprob": log(0.2)}]
    odd = [{"token": "1", "logprob": float("nan")}, {"token": "0", "logprob": 2.0}, {"token": "0"}]
    logprobs = {"content": [{"top_logprobs": [*top, *odd]}]}
    assert read_probabilities(logprobs, TOKENS["graded"]) == pytest.approx([0, 0, 0.75, 0.25])
