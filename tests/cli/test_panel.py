"""`judge run -m A -m B`: a panel whose members' verdicts are stored apart."""

import json
import re
import shutil
from pathlib import Path

import pytest

from judge.assess.prompts import find_default_directory
from tests.cli.test_run import read_files
from tests.support.command_line import run_judge
from tests.support.factories import (
    extract_fenced,
    make_rows,
    read_judgments,
    read_results,
    reply_with_grade,
    write_puppy_dataset,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.rerank_server import rerank


def reply_by_model(request: ChatRequest) -> Reply:
    """Reply with the stated grade; `kind` adds one to it, `deaf` fails on snippets of grade 0."""
    output = json.loads(reply_with_grade(request).text or "")
    model = (request.body or {})["model"]
    if model == "kind":
        output["grade"] = min(3, output["grade"] + 1)
    if model == "deaf" and output["grade"] == 0:
        return Reply(status=400, body='{"error": {"code": "content_filter", "message": "x"}}')
    output["reason"] = f"{model}: {output['reason']}"
    return Reply(text=json.dumps(output))


def test_each_member_s_verdicts_are_kept_and_the_median_counts(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(6, 2, 4)), tmp_path / "runs" / "two"
    with LoopbackServer(reply_by_model) as server:
        words = ("run", data, "-m", "openai:plain", "-m", "openai:kind", "--base-url", server.openai_url,
                 "--out", out)  # fmt: skip
        completed = run_judge(*words)
        assert completed.returncode == 0, completed.stderr
        assert len(server.requests) == 2 * 48
        first = read_files(out)
        again = run_judge(*words)
        assert again.returncode == 0
        assert len(server.requests) == 2 * 48
    for printed, calls in ((completed.stdout, 96), (again.stdout, 0)):
        assert f"; {calls} new calls; in all 96 calls, " in printed
    assert read_files(out) == first
    result = read_results(out)
    summary = result["summary"]
    assert summary["assessor"] == "panel(openai:plain/graded, openai:kind/graded)"
    assert summary["cost"]["calls"] == 96
    for query in result["queries"]:
        for answer in query["engines"].values():
            for snippet in answer["snippets"]:
                (judgment,) = snippet["judgments"]
                stated = re.search(r"grade=(\d)", snippet["snippet"])
                assert stated
                plain = int(stated[1])
                assert [each["grade"] for each in judgment["members"]] == [plain, min(3, plain + 1)]
                assert judgment["grade"] == plain
                assert ("panel_tie" in judgment["flags"]) == (plain < 3)
    panel = summary["panel"]
    assert [member["name"] for member in panel["members"]] == ["openai:plain/graded", "openai:kind/graded"]
    assert (panel["judged"], panel["ties"], panel["split"]) == (48, 36, 36)
    assert panel["pairs"][0]["same"] == pytest.approx(12 / 48)
    assert "give the same grade in 25.0% of 48 judgments" in completed.stdout
    assert (
        "differ on 36 of 48 judgments; 36 of these are ties, where it takes the lower grade"
        in completed.stdout
    )
    # How far members agree is no warning.
    warnings, facts = (out / "report.html").read_text(encoding="utf-8").split("How it was judged")
    assert "all calls behind the verdicts and answers of this run, those of earlier runs included" in facts
    for sentence in ("give the same grade in 25.0% of 48 judgments", "36 of these are ties"):
        assert sentence in facts
        assert sentence not in warnings


def test_a_member_in_this_process_makes_no_calls(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 4)), tmp_path / "runs" / "two"
    with LoopbackServer(reply_by_model) as server:
        words = ("run", data, "-m", "lexical", "-m", "openai:plain", "--base-url", server.openai_url)
        result = run_judge(*words, "--max-calls", 24, "--out", out)
        assert result.returncode == 0, result.stderr
        assert len(server.requests) == 24
    assert "(100.0%); 24 new calls; " in result.stdout
    assert read_results(out)["summary"]["cost"]["calls"] == 24
    assert "1/2 lexical/graded: 24 to do" in result.stderr
    assert "2/2 openai:plain/graded: 24 to do" in result.stderr
    alone = run_judge("run", data, "-m", "lexical", "--out", tmp_path / "runs" / "alone")
    assert "24 of 24 judged by lexical/graded (100.0%); 0 new calls\n" in alone.stdout


def test_scoring_again_keeps_the_members(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 3)), tmp_path / "runs" / "two"
    with LoopbackServer(reply_by_model) as server:
        words = ("run", data, "-m", "openai:plain", "-m", "openai:kind", "--base-url", server.openai_url)
        assert run_judge(*words, "--out", out).returncode == 0
    first = read_files(out)
    assert run_judge("score", out, "--save").returncode == 0
    assert read_files(out) == first
    shown = run_judge("show", out, "--query", "q0").stdout
    assert "openai:kind/graded: " in shown


def test_half_of_the_members_is_a_quorum_and_is_reported(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 4)), tmp_path / "runs" / "two"
    with LoopbackServer(reply_by_model) as server:
        result = run_judge(
            "run", data, "-m", "openai:plain", "-m", "openai:deaf", "--base-url", server.openai_url,
            "--out", out,
        )  # fmt: skip
    assert result.returncode == 3
    assert "openai:deaf/graded made 6 of 8 judgments, less than --min-coverage 99%" in result.stderr
    words = "openai:deaf/graded made only 6 of 8 judgments; for the others the panel consists of the other"
    assert words in result.stdout
    members = read_results(out)["summary"]["panel"]["members"]
    assert [(each["judged"], each["failed"]) for each in members] == [(8, 0), (6, 2)]
    rows = read_judgments(out)
    assert sum("panel_short" in row["flags"] for row in rows) == 2
    assert all(row["grade"] is not None for row in rows)


def test_what_a_member_lacks_is_not_said_of_the_panel(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 4))
    with LoopbackServer(reply_by_model) as server:
        models = ("-m", "openai:plain", "-m", "openai:deaf", "--base-url", server.openai_url)
        result = run_judge("run", data, *models, "--out", tmp_path / "run", "--min-coverage", 0.5)
    assert result.returncode == 0
    assert "8 of 8 judged" in result.stdout
    assert "not every judgment has a grade; the most frequent error: " in result.stdout
    assert "not every pair has a grade" not in result.stdout


def test_the_advice_on_a_member_is_about_its_own_failures(tmp_path: Path) -> None:
    def reply(request: ChatRequest) -> Reply:
        assert request.body is not None
        if request.body["model"] == "refused":
            error = {"error": {"message": "blocked", "code": "content_filter"}}
            return Reply(status=400, body=json.dumps(error))
        return Reply(text="hm") if "0.0" in request.prompt else reply_with_grade(request)

    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 4))
    with LoopbackServer(reply) as server:
        models = ("-m", "openai:plain", "-m", "openai:refused", "--base-url", server.openai_url)
        result = run_judge("run", data, *models, "--out", tmp_path / "run", "--min-coverage", 0.5)
    assert "openai:refused/graded made 0 of 8 judgments" in result.stderr
    assert "the refusal of a content filter is final" in result.stderr


def test_members_can_have_servers_of_their_own(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 2, 3))
    with LoopbackServer(reply_with_grade) as one, LoopbackServer(reply_by_model) as other:
        result = run_judge(
            "run", data, "-m", f"openai:a@{one.openai_url}", "-m", f"openai:kind@{other.openai_url}",
            "--out", tmp_path / "runs" / "two",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert (len(one.requests), len(other.requests)) == (6, 6)


def test_one_model_at_two_servers_is_two_members(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(1, 2, 3)), tmp_path / "runs" / "two"
    with LoopbackServer(reply_with_grade) as one, LoopbackServer(reply_with_grade) as other:
        first, second = f"openai:m@{one.openai_url}", f"openai:m@{other.openai_url}"
        result = run_judge("run", data, "-m", first, "-m", second, "--out", out)
        assert result.returncode == 0, result.stderr
        assert (len(one.requests), len(other.requests)) == (6, 6)
        summary = read_results(out)["summary"]
        assert summary["cost"]["calls"] == 12
        assert [member["name"] for member in summary["panel"]["members"]] == [
            f"openai:m/graded at {server.openai_url}" for server in (one, other)
        ]
        again = run_judge("run", data, "-m", "openai:m", "-m", first, "--base-url", one.openai_url)
        assert again.returncode == 2
        assert "twice" in again.stderr


def test_an_unreachable_member_gives_no_verdict(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(4, 2, 3)), tmp_path / "runs" / "three"
    with LoopbackServer(reply_by_model) as server:
        models = [word for name in ("plain", "kind", "third") for word in ("-m", f"openai:{name}")]
        words = ("run", data, *models, "--base-url", server.openai_url, "--out", out, "--concurrency", 1)
        result = run_judge(*words, "--max-calls", 30)
        assert result.returncode == 3
        assert "Traceback" not in result.stderr
        panel = read_results(out)["summary"]["panel"]
        assert panel["responded"] == ["openai:plain/graded", "openai:kind/graded"]
        assert run_judge(*words).returncode == 0
        assert len(server.requests) == 3 * 24


def test_an_account_error_of_a_member_names_its_model(tmp_path: Path) -> None:
    def refuse_second(request: ChatRequest) -> Reply:
        if (request.body or {})["model"] == "closed":
            return Reply(status=401, body='{"error": {"message": "no access"}}')
        return reply_by_model(request)

    data, out = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 3)), tmp_path / "runs" / "two"
    with LoopbackServer(refuse_second) as server:
        models = [word for name in ("plain", "closed", "last") for word in ("-m", f"openai:{name}")]
        result = run_judge("run", data, *models, "--base-url", server.openai_url, "--out", out)
    assert result.returncode == 3
    assert "unjudged: openai:closed: auth: HTTP 401" in " ".join(result.stderr.split())


def test_the_command_line_s_models_replace_a_file_s_panel(tmp_path: Path) -> None:
    toml = tmp_path / "judge.toml"
    toml.write_text('model = "openai:a"\npanel = ["openai:b"]\n', encoding="utf-8")
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(1, 2, 2)), tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server:
        words = ("run", data, "--config", toml, "--base-url", server.openai_url, "--out", out)
        assert run_judge(*words, "-m", "openai:b").returncode == 0
    assert read_results(out)["summary"]["assessor"] == "openai:b/graded"


def test_a_key_in_a_member_s_address_is_refused(tmp_path: Path) -> None:
    data = write_puppy_dataset(tmp_path / "d.jsonl")
    out = tmp_path / "runs" / "one"
    result = run_judge(
        "run", data, "-m", "openai:a@http://127.0.0.1:9/v1?api_key=sk-canary-5b1d9f", "--out", out
    )
    assert result.returncode == 2
    assert "canary" not in result.stdout + result.stderr
    assert not out.exists()


def test_another_model_in_the_replies_of_a_member_is_reported(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 3)), tmp_path / "runs" / "two"

    def reply_with_two_models(request: ChatRequest) -> Reply:
        return Reply(text=reply_with_grade(request).text, model=f"m-{request.number % 2}")

    with LoopbackServer(reply_with_grade) as one, LoopbackServer(reply_with_two_models) as other:
        result = run_judge(
            "run", data, "-m", f"openai:a@{one.openai_url}", "-m", f"openai:b@{other.openai_url}",
            "--out", out, "--concurrency", 1,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "openai:b/graded was answered by 2 models: m-0 (3) and m-1 (3)" in result.stdout


def test_a_limit_is_for_the_whole_panel(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 5))
    with LoopbackServer(reply_by_model) as server:
        result = run_judge(
            "run", data, "-m", "openai:plain", "-m", "openai:kind", "--base-url", server.openai_url,
            "--out", tmp_path / "runs" / "two", "--max-calls", 13, "--concurrency", 1,
        )  # fmt: skip
        assert result.returncode == 3
        assert len(server.requests) == 13


def test_a_member_of_the_same_vendor_as_an_engine_is_reported(tmp_path: Path) -> None:
    rows = [
        {**row, "engine": "quark" if row["engine"] == "engine0" else "brave"} for row in make_rows(2, 2, 3)
    ]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "runs" / "own"
    with LoopbackServer(reply_by_model) as server:
        result = run_judge(
            "run", data, "-m", "openai:qwen-plus", "--base-url", server.openai_url, "--out", out
        )
    assert "By their names openai:qwen-plus/graded and quark are both from Alibaba" in result.stdout
    assert read_results(out)["summary"]["self_preference"] == [
        {"assessor": "openai:qwen-plus/graded", "other": "quark", "vendor": "Alibaba"}
    ]
    assert "quark" in (out / "report.html").read_text(encoding="utf-8")


def test_a_member_named_twice_is_refused(tmp_path: Path) -> None:
    result = run_judge("run", write_puppy_dataset(tmp_path / "d.jsonl"), "-m", "lexical", "-m", "lexical")
    assert result.returncode == 2
    assert "named twice" in result.stderr


def test_the_prompt_is_the_same_for_all_members(tmp_path: Path) -> None:
    data = write_puppy_dataset(tmp_path / "d.jsonl")
    with LoopbackServer(lambda request: Reply(text='{"reason": "r", "grade": 2}')) as server:
        result = run_judge(
            "run", data, "-m", "openai:a", "-m", "openai:b", "--base-url", server.openai_url,
            "--out", tmp_path / "runs" / "two",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        prompts: dict[str, set[str]] = {}
        for requests in server.requests:
            prompts.setdefault((requests.body or {})["model"], set()).add(extract_fenced(requests.prompt))
        assert prompts["a"] == prompts["b"]


@pytest.mark.parametrize("members", [("lexical", "rerank:server:m"), ("rerank:server:m", "lexical")])
def test_a_run_does_not_resume_with_another_prompt_of_any_member(
    members: tuple[str, str], tmp_path: Path
) -> None:
    data, prompts = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2)), tmp_path / "prompts"
    shutil.copytree(find_default_directory(), prompts)
    with LoopbackServer(rerank) as server:
        words = (
            "run", data, "-m", members[0], "-m", members[1], "--rerank-thresholds", "0.2,0.5,0.8",
            "--base-url", server.url, "--prompts", prompts, "--out", tmp_path / "runs" / "two",
        )  # fmt: skip
        assert [run_judge(*words).returncode for _ in range(2)] == [0, 0]
        template = prompts / "en" / "graded.jinja"
        text = template.read_text(encoding="utf-8").replace("Grade how far", "Grade strictly how far")
        template.write_text(text, encoding="utf-8")
        changed = run_judge(*words)
    assert changed.returncode == 2
    assert "holds another run: the prompts changed" in changed.stderr


def test_members_without_verdicts_give_no_order(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 3)), tmp_path / "runs" / "two"

    def reply_unless_mute(request: ChatRequest) -> Reply:
        return Reply(text="") if (request.body or {})["model"] == "mute" else reply_with_grade(request)

    with LoopbackServer(reply_unless_mute) as server:
        result = run_judge(
            "run", data, "-m", "openai:a", "-m", "openai:mute", "--base-url", server.openai_url, "--out", out
        )
    assert result.returncode == 3
    assert "openai:mute/graded made only 0 of 12 judgments" in result.stdout
    assert "same order" not in result.stdout
    assert "openai:mute/graded made 0 of 12 judgments, less than --min-coverage" in result.stderr


@pytest.mark.parametrize("models", [("a",), ("a", "b")])
def test_the_advice_on_missing_texts_and_other_failures_says_which_is_for_which(
    tmp_path: Path, models: tuple[str, ...]
) -> None:
    rows = make_rows(1, 1, 5)
    rows[0]["snippet"] = rows[1]["snippet"] = None

    def reply(request: ChatRequest) -> Reply:
        return Reply(text="It is good.") if "text 0.0.4" in request.prompt else reply_with_grade(request)

    with LoopbackServer(reply) as server:
        words = (word for model in models for word in ("-m", f"openai:{model}"))
        url = ("--base-url", server.openai_url)
        result = run_judge(
            "run", write_rows(tmp_path / "d.jsonl", rows), *words, *url, "--out", tmp_path / "r"
        )
    assert result.returncode == 3
    assert (
        " (3 of 5 failed: the text is missing (2) and the reply could not be read (1); most often: the"
        " dataset has no text for this result); run the same command again to get the rest, except"
        " for 2 without a text: add the missing texts to the dataset and name another --out\n"
    ) in result.stderr
