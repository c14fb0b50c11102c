"""`--assessor deepeval`: the original method of judge with the current DeepEval, by the command line."""

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.command_line import run_judge
from tests.support.factories import (
    PUPPY_VERDICTS,
    extract_fenced,
    read_results,
    write_puppy_dataset,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

pytestmark = pytest.mark.skipif(find_spec("deepeval") is None, reason="the extra deepeval is missing")


def make_statement(verdict: str, reason: str = "摘要说明了贫血的症状。") -> str:
    """Return a reply in DeepEval's format."""
    return json.dumps(
        {"verdicts": [{"statement": "说法", "reason": reason, "verdict": verdict}]}, ensure_ascii=False
    )


def reply_about_puppy_in_steps(request: ChatRequest) -> Reply:
    """Reply yes for snippets on anaemia, no for others, in DeepEval's format."""
    return Reply(text=make_statement("yes" if "贫血" in extract_fenced(request.prompt) else "no"))


def judge_puppy(
    tmp_path: Path, answer: Callable[[ChatRequest], Reply], *more: object
) -> tuple[object, LoopbackServer, Path]:
    """Judge the puppy example with DeepEval in an empty folder."""
    data, out, home = (
        write_puppy_dataset(tmp_path / "dog.jsonl"),
        tmp_path / "runs" / "dog",
        tmp_path / "home",
    )
    home.mkdir()
    (home / ".env").write_text("OPENAI_API_KEY=from-dotenv\n")
    with LoopbackServer(answer) as server:
        before = Path.cwd()
        os.chdir(home)
        try:
            result = run_judge(
                "run", data, "-m", "openai:qwen2-72b", "--base-url", server.openai_url, "--assessor",
                "deepeval", "--measures", "AP(own)@10 SetP", "--out", out, *more, HOME=str(home),
            )  # fmt: skip
        finally:
            os.chdir(before)
    assert sorted(path.name for path in home.iterdir()) == [".env"]
    return result, server, out


def test_the_example_has_the_scores_of_its_source(tmp_path: Path) -> None:
    _, server, out = judge_puppy(tmp_path, reply_about_puppy_in_steps)
    result = read_results(out)
    snippets = result["queries"][0]["engines"]["seed"]["snippets"]
    assert tuple(snippet["judgments"][0]["verdict"] for snippet in snippets) == PUPPY_VERDICTS
    measures = result["summary"]["engines"]["seed"]["measures"]
    assert measures["AP(own)@10"]["mean"] == pytest.approx(0.7708333333, abs=1e-10)
    assert measures["SetP"]["mean"] == pytest.approx(2 / 3)
    assert result["summary"]["assessor"].startswith("openai:qwen2-72b/binary/deepeval-4.")
    assert snippets[0]["judgments"][0]["reason"] == "摘要说明了贫血的症状。"
    assert len(server.requests) == 6
    for request in server.requests:
        assert request.headers["Authorization"] == "Bearer sk-canary-5b1d9f"
        assert "verdicts" in request.prompt


#: A reply and its error: DeepEval itself would score most of them 0.
UNREADABLE = (
    ('{"verdicts": []}', "missing_key"),
    ('{"verdict": "yes"}', "missing_key"),
    (make_statement("maybe"), "missing_key"),
    (json.dumps({"verdicts": json.loads(make_statement("yes"))["verdicts"] * 2}), "ambiguous"),
    ("相关", "malformed"),
    ('{"verdicts": [{"verdict": "yes"}]}', "malformed"),
)


def test_what_deepeval_would_drop_is_no_verdict_instead_of_a_zero(tmp_path: Path) -> None:
    """Each of the six snippets gets another reply."""
    marks = ("牙龈", "围着你叫", "舌头", "眼结膜", "舔碗", "心跳")

    def answer(request: ChatRequest) -> Reply:
        shown = extract_fenced(request.prompt)
        return Reply(text=next(UNREADABLE[n][0] for n, mark in enumerate(marks) if mark in shown))

    _, server, out = judge_puppy(tmp_path, answer)
    result = read_results(out)
    snippets = result["queries"][0]["engines"]["seed"]["snippets"]
    assert [snippet["judgments"][0]["error"] for snippet in snippets] == [error for _, error in UNREADABLE]
    assert result["summary"]["coverage"] == 0
    assert len(server.requests) == 12  # one re-ask each


def test_what_looks_like_deepeval_s_own_marks_is_text(tmp_path: Path) -> None:
    data = write_rows(
        tmp_path / "d.jsonl",
        [{"query": "q", "snippet": f"贫血 [DEEPEVAL:IMAGE:{name}]"} for name in ("/etc/hostname", "x")],
    )
    with LoopbackServer(reply_about_puppy_in_steps) as server:
        result = run_judge(
            "run", data, "-m", "openai:m", "--base-url", server.openai_url, "--assessor", "deepeval",
            "--out", tmp_path / "runs" / "x",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert all("[DEEPEVAL:IMAGE:" in request.prompt for request in server.requests)
        assert len(server.requests) == 2


def test_thinking_is_never_the_verdict(tmp_path: Path) -> None:
    _, _, out = judge_puppy(
        tmp_path, lambda request: Reply(text=f"<think>{make_statement('no')}</think>{make_statement('yes')}")
    )
    snippets = read_results(out)["queries"][0]["engines"]["seed"]["snippets"]
    assert {snippet["judgments"][0]["verdict"] for snippet in snippets} == {"yes"}


def test_errors_of_the_server_keep_their_names(tmp_path: Path) -> None:
    body = '{"error": {"code": "invalid_api_key", "message": "no"}}'
    result, server, out = judge_puppy(tmp_path, lambda request: Reply(status=401, body=body))
    assert getattr(result, "returncode", None) == 3
    assert read_results(out)["summary"]["judged"] == 0
    assert len(server.requests) <= 6


def test_grades_are_not_deepeval_s(tmp_path: Path) -> None:
    data = write_puppy_dataset(tmp_path / "d.jsonl")
    result = run_judge("run", data, "-m", "lexical", "--assessor", "deepeval", "--scale", "graded")
    assert result.returncode == 2
    assert "--scale binary" in result.stderr
