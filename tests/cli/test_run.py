"""`judge run` end to end: the real command, the real SDK, a real server on loopback."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from judge.runs.folder import RunFolder
from tests.support.command_line import make_words, run_judge, start_process, wait_for_requests
from tests.support.factories import (
    delay_reply,
    extract_fenced,
    make_rows,
    read_judgments,
    read_results,
    read_summary,
    reply_about_puppy,
    reply_with_grade,
    write_puppy_dataset,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

SURE = ("--attempts", "1", "--concurrency", "8")


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a run's folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_the_scores_of_the_puppy_with_anaemia_are_those_worked_by_hand(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "dog"
    with LoopbackServer(reply_about_puppy) as server:
        result = run_judge(
            *make_words(write_puppy_dataset(tmp_path / "dog.jsonl"), server), "--scale", "binary",
            "--measures", "AP(own)@10 SetP AP@10", "--out", out,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert len(server.requests) == 6
    query = read_results(out)["queries"][0]
    engine = query["engines"]["seed"]
    # The mean of the precisions 1, 2/3, 3/4 and 4/6; four of six are relevant.
    assert engine["scores"]["AP(own)@10"] == pytest.approx(0.7708333333, abs=1e-10)
    assert engine["scores"]["SetP"] == pytest.approx(2 / 3)
    judgments = [snippet["judgments"][0] for snippet in engine["snippets"]]
    assert [judgment["verdict"] for judgment in judgments] == ["yes", "no", "yes", "yes", "no", "yes"]
    assert [judgment["grade"] for judgment in judgments] == [1, 0, 1, 1, 0, 1]
    assert all(re.search("[一-鿿]", judgment["reason"]) for judgment in judgments)
    assert query["lang"] == "zh"
    assert engine["snippets"][0]["snippet"].startswith("<em>狗狗贫血</em>")
    assert "not for comparing engines" in result.stdout


def test_the_same_command_again_pays_nothing_and_writes_the_same_bytes(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(4, 2, 5))
    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(data, server), "--out", out)
        first = run_judge(*words)
        assert first.returncode == 0, first.stderr
        files = read_files(out)
        assert len(server.requests) == 40
        second = run_judge(*words)
        assert second.returncode == 0, second.stderr
        assert len(server.requests) == 40
        assert read_files(out) == files
        elsewhere = run_judge(*words[:-1], tmp_path / "runs" / "two")
        assert elsewhere.returncode == 0
        assert len(server.requests) == 40  # runs side by side share what was paid
    assert set(files) == {
        "config.json", "results.json", "summary.json", "scores.csv", "judgments.jsonl", "qrels.txt",
            "report.html",
        "run.engine0.trec", "run.engine1.trec",
    }  # fmt: skip
    assert "0 new calls" in second.stdout


def test_another_configuration_in_the_same_folder_is_refused_by_name(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(data, server), "--out", out)
        assert run_judge(*words).returncode == 0
        files = read_files(out)
        other = run_judge(*words, "--temperature", "0.5", "--repeats", "2")
        assert other.returncode == 2
        assert "temperature was 0.0, now 0.5" in other.stderr
        assert "repeats was 1, now 2" in other.stderr
        assert len(server.requests) == 2
        assert read_files(out) == files


def test_a_run_without_a_reply_gives_its_folder_to_one_with_the_right_options(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    with LoopbackServer(lambda request: Reply(status=404, body="{}")) as wrong:
        failed = run_judge(*make_words(data, wrong), "--out", tmp_path / "one", *SURE)
        assert failed.returncode == 3
    with LoopbackServer(reply_with_grade) as server:
        assert run_judge(*make_words(data, server), "--out", tmp_path / "one").returncode == 0
        other = run_judge(*make_words(data, server), "--out", tmp_path / "one", "--repeats", "2")
    assert other.returncode == 2
    assert "repeats was 1, now 2" in other.stderr
    assert [each["error"] for each in read_judgments(tmp_path / "one")] == [None, None]


def test_a_run_removes_the_lists_and_members_of_the_run_whose_folder_it_takes(tmp_path: Path) -> None:
    data, out, other = tmp_path / "d.jsonl", tmp_path / "one", tmp_path / "other.trec"
    with LoopbackServer(lambda request: Reply(status=404, body="{}")) as wrong:
        panel = (*make_words(write_rows(data, make_rows(1, 3, 2)), wrong), "-m", "openai:b")
        assert run_judge(*panel, "--out", out, *SURE).returncode == 3
    lists = {f"run.engine{number}.trec" for number in range(3)}
    assert {*lists, "members.jsonl"} <= {path.name for path in out.iterdir()}
    (out / "run.mine.trec").write_text("mine", encoding="utf-8")
    (out / "run.engine2.trec").rename(other)
    (out / "run.engine2.trec").symlink_to(other)
    write_rows(data, make_rows(1, 1, 2))
    assert run_judge("run", data, "-m", "lexical", "--out", out).returncode == 0
    names = {path.name for path in out.iterdir()}
    # Only regular files that the earlier run wrote are removed.
    assert sorted(name for name in names if name.endswith(".trec")) == [
        "run.engine0.trec", "run.engine2.trec", "run.mine.trec",
    ]  # fmt: skip
    assert other.exists()
    assert "members.jsonl" not in names


def test_repeats_are_paid_for_each_and_never_shared(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 3))

    def reply_with_attempt(request: ChatRequest) -> Reply:
        return Reply(text=json.dumps({"reason": "r", "grade": request.attempt}))

    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_attempt) as server:
        result = run_judge(*make_words(data, server), "--repeats", 3, "--out", out)
        assert result.returncode == 0, result.stderr
        assert len(server.requests) == 9
    for snippet in read_results(out)["queries"][0]["engines"]["engine0"]["snippets"]:
        assert [judgment["repeat"] for judgment in snippet["judgments"]] == [1, 2, 3]
        assert sorted(judgment["grade"] for judgment in snippet["judgments"]) == [1, 2, 3]


def test_a_snippet_at_three_engines_is_judged_once(tmp_path: Path) -> None:
    rows = [
        {"query": "q", "engine": engine, "snippet": "the same text grade=2", "url": url}
        for engine, url in (("a", "https://x.example/p"), ("b", "http://www.x.example/p/"), ("c", ""))
    ]
    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "openai:fake", "--base-url",
                       server.openai_url, "--out", out)  # fmt: skip
        assert len(server.requests) == 1
    assert "3 results, 1 pair to judge" in result.stdout
    engines = read_results(out)["queries"][0]["engines"]
    assert len({engine["snippets"][0]["document"] for engine in engines.values()}) == 1
    assert {engine["scores"]["nDCG@10"] for engine in engines.values()} == {1.0}


def test_missing_is_never_no(tmp_path: Path) -> None:
    """Refused, unreadable and cut-off replies give null with an error, and exit code 3."""
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 5))
    kinds = {1: "content_filter", 2: "malformed", 3: "server_error"}

    def reply_with_faults(chat_request: ChatRequest) -> Reply:
        rank = int(re.search(r"text 0\.0\.(\d)", chat_request.prompt)[1])  # type: ignore[index]
        if rank == 1:
            return Reply(status=400, body='{"error": {"code": "content_filter", "message": "filtered"}}')
        if rank == 2:
            return Reply(text="It is rather good, I would say.")
        if rank == 3:
            return Reply(status=503, body="Error 503")
        return reply_with_grade(chat_request)

    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_faults) as server:
        completed = run_judge(*make_words(data, server), "--out", out, *SURE)
        assert completed.returncode == 3
        assert len(server.requests) == 6  # one re-ask, for the unreadable reply alone
        again = [request.prompt for request in server.requests if "text 0.0.2" in request.prompt]
        assert again[1] != again[0]
        result = read_results(out)
        for snippet in result["queries"][0]["engines"]["engine0"]["snippets"]:
            judgment = snippet["judgments"][0]
            assert judgment["error"] == kinds.get(snippet["rank"])
            assert (judgment["grade"] is None) == (snippet["rank"] in kinds)
            assert (judgment["verdict"] is None) == (snippet["rank"] in kinds)
        engine = result["summary"]["engines"]["engine0"]
        assert engine["judged"] == pytest.approx(0.4)
        low, high = engine["measures"]["nDCG@10"]["bounds"]
        assert low < engine["measures"]["nDCG@10"]["mean"] < high
        assert result["summary"]["failures"] == {"content_filter": 1, "malformed": 1, "server_error": 1}
        assert "40.00%" in completed.stderr
        assert (
            "run the same command again to get the rest, except for 1 that a content filter refused"
            in completed.stderr
        )
        # Failed pairs are judged again, others are not; the refusal of a filter is final.
        run_judge(*make_words(data, server), "--out", out, *SURE)
        assert len(server.requests) == 9


def test_the_refusal_of_a_content_filter_is_final_in_later_commands(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 5)), tmp_path / "runs" / "one"

    def refuse_one(request: ChatRequest) -> Reply:
        refused = Reply(status=400, body='{"error": {"code": "content_filter", "message": "not this"}}')
        return refused if "text 0.0.1" in request.prompt else reply_with_grade(request)

    with LoopbackServer(refuse_one) as server:
        words = *make_words(data, server), "--out", out
        first = run_judge(*words)
        files = read_files(out)
        again = run_judge(*words)
        assert len(server.requests) == 10
        assert "0 calls" in run_judge("estimate", *words[1:]).stdout
        assert run_judge(*words[:-1], tmp_path / "runs" / "two").returncode == 3
        assert len(server.requests) == 10
        # Another store asks again.
        run_judge(*words[:-1], tmp_path / "three", "--store", tmp_path / "other.sqlite")
        assert len(server.requests) == 20
    for result in (first, again):
        assert result.returncode == 3
        assert "the refusal of a content filter is final: use another model, or lower" in result.stderr
    assert read_files(out) == files
    assert read_summary(out)["failures"] == {"content_filter": 1}
    refused = [each for each in read_judgments(out) if each["error"]]
    assert [(each["error"], "not this" in each["detail"]) for each in refused] == [("content_filter", True)]


@pytest.mark.parametrize(
    ("status", "body", "advice"),
    [
        (401, '{"error": {"code": "invalid_api_key", "message": "Incorrect API key"}}', "key"),
        (429, '{"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}', "quota"),
        (404, '{"error": {"code": "model_not_found", "message": "no such model"}}', "model"),
    ],
)
def test_a_refused_account_stops_the_run_within_the_calls_in_flight(
    tmp_path: Path, status: int, body: str, advice: str
) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(10, 1, 10))
    with LoopbackServer(lambda request: Reply(status=status, body=body, delay=0.05)) as server:
        result = run_judge(*make_words(data, server), "--out",
                       tmp_path / "r" / "x", "--concurrency", 8)  # fmt: skip
        assert len(server.requests) <= 8
    assert result.returncode == 3
    assert advice in result.stderr


def test_an_unreachable_server_ends_the_run_after_max_wait(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(20, 1, 10))
    with LoopbackServer(lambda request: Reply(status=500, body="{}")) as server:
        result = run_judge(*make_words(data, server), "--out",
                       tmp_path / "r" / "x", *SURE)  # fmt: skip
        assert len(server.requests) < 80
    assert result.returncode == 3
    assert "in a row failed" in result.stderr


def test_a_limit_of_calls_holds_and_the_next_run_continues(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(4, 1, 10))
    with LoopbackServer(reply_with_grade) as server:
        words = (
            *make_words(data, server),
            "--out",
            tmp_path / "r" / "x",
        )
        result = run_judge(*words, "--max-calls", 15)
        assert result.returncode == 3
        assert "--max-calls 15" in result.stderr
        assert len(server.requests) == 15
        result = run_judge(*words)
        assert result.returncode == 0
        assert len(server.requests) == 40


def test_a_budget_stops_the_run_and_the_cost_is_in_the_summary(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(4, 1, 10))
    with LoopbackServer(reply_with_grade) as server:  # 120 tokens in, 30 out a call
        words = (
            *make_words(data, server),
            "--out",
            tmp_path / "r" / "x",
        )
        refused = run_judge(*words, "--budget", 1)
        assert refused.returncode == 2
        assert "--price" in refused.stderr
        priced = (*words, "--price", "1,2", "--concurrency", 4)  # 0.00018 USD a call
        result = run_judge(*priced, "--budget", "0.0018")
        assert result.returncode == 3
        assert 10 <= len(server.requests) <= 14
        result = run_judge(*priced)
        assert result.returncode == 0, result.stderr
        cost = read_results(tmp_path / "r" / "x")["summary"]["cost"]
        assert cost["calls"] == len(server.requests) == 40
        assert cost["prompt_tokens"] == 4800
        assert cost["completion_tokens"] == 1200
        assert cost["usd"] == pytest.approx(0.0072)


def test_an_empty_snippet_costs_no_call_and_is_marked(tmp_path: Path) -> None:
    rows = [
        {"query": "q", "engine": "a", "snippet": snippet}
        for snippet in ("", " ", "<div><br/><!-- x --></div>", "text grade=3")
    ]
    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "openai:fake", "--base-url",
                       server.openai_url, "--out", out)  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert len(server.requests) == 1
    snippets = read_results(out)["queries"][0]["engines"]["a"]["snippets"]
    assert [snippet["judgments"][0]["grade"] for snippet in snippets] == [0, 0, 0, 3]
    assert all("empty_snippet" in snippet["judgments"][0]["flags"] for snippet in snippets[:3])


def test_a_complete_run_asks_again_for_the_pairs_whose_requests_failed(tmp_path: Path) -> None:
    is_busy = True

    def reply(request: ChatRequest) -> Reply:
        if is_busy and "0.0.2 " in extract_fenced(request.prompt):
            return Reply(status=500, text="busy")
        return reply_with_grade(request)

    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 2, 5))
    with LoopbackServer(reply) as server:
        words = (*make_words(data, server), "--out", tmp_path / "run", "--min-coverage", 0.5, "--attempts", 1)
        first = run_judge(*words)
        assert (first.returncode, len(server.requests)) == (0, 10)
        assert "9 of 10 judged" in first.stdout
        is_busy = False
        again = run_judge(*words)
        assert (again.returncode, len(server.requests)) == (0, 11)
        assert "10 of 10 judged" in again.stdout


def test_a_document_without_a_text_is_unjudged_and_never_a_no(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n2\ty\n")
    (tmp_path / "d.tsv").write_text("d1\ttext grade=3\nd3\ttext grade=1\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 10 A\n1 Q0 dX 2 9 A\n2 Q0 d3 1 5 A\n")
    out = tmp_path / "runs" / "one"
    files = ("--topics", tmp_path / "t.tsv", "--docs", tmp_path / "d.tsv", "--run", tmp_path / "a.run")
    with LoopbackServer(reply_with_grade) as server:
        words = ("run", *files, "-m", "openai:fake", "--base-url", server.openai_url, "--out", out)
        result = run_judge(*words)
        enough = run_judge(*words, "--min-coverage", 0.5)
        assert len(server.requests) == 2
    assert (result.returncode, enough.returncode) == (3, 0), result.stderr
    assert "2 queries, 1 engine; 3 results, 3 pairs to judge" in result.stdout
    line = "results without a text in d.tsv: 1, first document 'dX' of query '1'."
    assert line in result.stdout
    assert "1 of 3 judgments has no grade (coverage 66.7%): the text is missing (1)." in result.stdout
    assert "What to do: add the missing texts to the dataset and judge it again" in result.stdout
    assert "no text at all" not in result.stdout
    assert "the same command" not in result.stderr
    (given,) = read_results(out)["queries"][0]["engines"]["A"]["snippets"][1]["judgments"]
    assert (given["grade"], given["error"], given["flags"]) == (None, "no_text", ["no_text"])
    assert (out / "qrels.txt").read_text() == "1 0 d1 3\n2 0 d3 1\n"
    assert line in run_judge("score", out).stdout
    (remark,) = read_results(out)["summary"]["remarks"]
    assert remark.startswith(line)
    assert "results without a text in d.tsv: 1, first" in (out / "report.html").read_text()


def write_rows_with_dates(folder: Path) -> Path:
    """Write rows of two engines with the same ten pages for three queries; one engine returns dates."""
    return write_rows(
        folder / "d.jsonl",
        (
            {"query_id": f"q{q}", "query": f"question {q}", "engine": engine, "rank": r}
            | {"snippet": f"text {q}.{r} grade={r % 4}", "title": "page"}
            | ({"date": f"2026-01-{r:02}"} if engine == "dated" else {})
            for q in range(3)
            for engine in ("dated", "plain")
            for r in range(1, 11)
        ),
    )


def test_a_page_that_one_engine_dates_is_paid_once(tmp_path: Path) -> None:
    data, out = write_rows_with_dates(tmp_path), tmp_path / "runs" / "x"
    with LoopbackServer(reply_with_grade) as server:
        completed = run_judge(*make_words(data, server), "--out", out)
        assert completed.returncode == 0, completed.stderr
        assert len(server.requests) == 30
        assert not any("2026-01" in request.prompt for request in server.requests)
    result = read_results(out)
    assert result["summary"]["dedup_saving"] == 0.5
    engines = result["queries"][0]["engines"]
    assert engines["dated"]["snippets"][0]["date"] == "2026-01-01"
    assert "date" not in engines["plain"]["snippets"][0]
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix}
    assert run_judge("score", out, "--save").returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.suffix} == before


@pytest.mark.parametrize("options", [("--dates",), ("--as-of", "2026-02-01")])
def test_dates_are_shown_by_option_and_their_cost_is_reported(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    data, out = write_rows_with_dates(tmp_path), tmp_path / "runs" / "x"
    text = "(option dates or as_of): 30; each is judged"
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(data, server)
        assert text in run_judge("estimate", *words[1:], *options, "--out", out).stdout
        result = run_judge(*words, *options, "--out", out)
        assert result.returncode == 0, result.stderr
        assert text in result.stdout
        assert len(server.requests) == 60
        assert sum("Date: 2026-01-0" in request.prompt for request in server.requests) == 27
        other = run_judge(*words, "--out", out)
    assert other.returncode == 2
    assert "dates was true, now false" in other.stderr
    assert text in run_judge("score", out).stdout


def test_warnings_about_the_dataset_come_before_the_first_call_and_once(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "query": query,
            "engine": engine,
            "title": f"title {rank} grade=1",
            "snippet": "",
            "body": f"text {rank}",
        }
        for query, engines in (("one", "ab"), ("two", "a"))
        for engine in engines
        for rank in range(2)
    ]
    rows += [{"query": query, "engines": {"c": []}} for query in ("one", "two")]
    data, out = tmp_path / "d.jsonl", tmp_path / "runs" / "x"
    write_rows(data, rows)
    texts = [
        "have no row of these engines (in brackets: how many): 'b' (1)",
        "columns that are not used, because they differ between the results of a query: 'body'",
        "of these engines (in brackets: their share): a (100%), b (100%)",
        "c returned nothing for 2 of 2 queries and counts as 0 there; check the collection before",
    ]
    replies = iter([Reply(status=401, body='{"error": {"code": "invalid_api_key", "message": "no"}}')])
    with LoopbackServer(lambda request: next(replies, None) or reply_with_grade(request)) as server:
        words = (*make_words(data, server), "--concurrency", 1, "--out", out)
        refused = run_judge(*words)
        assert (refused.returncode, len(server.requests)) == (3, 1), refused.stderr
        result = run_judge(*words)
    assert result.returncode == 0, result.stderr
    for text in texts:
        outputs = refused.stdout, result.stdout, run_judge("estimate", *words[1:]).stdout
        assert [output.count(text) for output in outputs] == [1, 1, 1], text
        assert text in run_judge("score", out).stdout
    assert result.stdout.index(texts[0]) < result.stdout.index("2 queries, 3 engines")


def test_a_text_that_is_empty_after_the_limit_is_unjudged(tmp_path: Path) -> None:
    rows = [{"query": "q", "snippet": "\u200b" * 100_000 + "tea"}, {"query": "q", "snippet": ""}]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "runs" / "x"
    result = run_judge("run", data, "-m", "lexical", "--out", out)
    assert result.returncode == 3
    assert "raise max_chars" in result.stderr
    cut, empty = (
        each["judgments"][0] for each in read_results(out)["queries"][0]["engines"]["engine"]["snippets"]
    )
    assert (cut["grade"], cut["error"]) == (None, "text_cut")
    assert (empty["grade"], empty["error"]) == (0, None)


def test_no_measure_is_not_the_default_ones(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": "q"}]), tmp_path / "runs" / "one"
    words = ("run", data, "-m", "lexical", "--out", out)
    refused = run_judge(*words, "--measures", "")
    assert (refused.returncode, out.exists()) == (2, False)
    assert "no measure is named" in refused.stderr
    result = run_judge(*words)
    assert "1 result, 1 pair to judge" in result.stdout, result.stderr
    assert "judging pairs: 1 to do\n" in result.stderr
    assert run_judge("score", out, "--measures", "").returncode == 2


@pytest.mark.parametrize(
    ("scale", "rel", "message"),
    [("graded", 9, "rel=9 is above 3, the top grade"), ("binary", 2, "rel=2 is above 1, the top grade")],
)
def test_a_measure_that_needs_a_grade_above_the_scale_is_refused_before_a_pair_is_judged(
    tmp_path: Path, scale: str, rel: int, message: str
) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": "q"}]), tmp_path / "runs" / "one"
    words = ("run", data, "-m", "lexical", "--scale", scale, "--out", out)
    refused = run_judge(*words, "--measures", f"nDCG@10 AP(rel={rel})@10")
    assert (refused.returncode, out.exists()) == (2, False)
    assert message in refused.stderr


def test_the_message_about_a_broken_file_names_an_option_that_works(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": "q"}]), tmp_path / "runs" / "one"
    words = ("run", data, "-m", "lexical", "--out", out)
    assert run_judge(*words).returncode == 0
    full_text = (out / "results.json").read_text()
    for name, commands in (("results.json", ("report", "score")), ("judgments.jsonl", ("score",))):
        (out / name).write_text((out / name).read_text()[:40])
        for word in commands:
            refused = run_judge(word, out)
            assert refused.returncode == 2
            assert "command of this folder again, which writes the file anew without a call" in refused.stderr
        assert run_judge(*words).returncode == 0
    assert (out / "results.json").read_text() == full_text
    (out / "judgments.jsonl").unlink()
    assert "which writes the file anew without a call" in run_judge("score", out).stderr
    assert run_judge(*words).returncode == 0
    # A run reads this file before it begins, and does not replace it.
    (out / "config.json").write_text('{"identity": {')
    refused = run_judge(*words)
    assert refused.returncode == 2
    assert refused.stderr.endswith(
        "; remove the file, then run again the command that writes it (judge run, judge nightly or judge"
        " baseline set)\n"
    )
    (out / "config.json").unlink()
    assert run_judge(*words).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_in_seconds_and_keeps_what_was_paid(tmp_path: Path, number: int) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(10, 1, 10))
    out = tmp_path / "runs" / "one"
    # Those in flight at the signal take long, so that few come after it on a slow machine, too.
    with LoopbackServer(
        lambda request: replace(reply_with_grade(request), delay=0.02 if request.number <= 16 else 1.0)
    ) as server:
        words = (*make_words(data, server), "--out", out, "--concurrency", 4)
        process = start_process(*words)
        wait_for_requests(lambda: len(server.requests), 20)
        process.send_signal(number)
        _, output = process.communicate(timeout=300)
        assert process.returncode == 130
        assert "all judgments are saved" in output
        paid = len(server.requests)
        assert paid <= 26
        assert not (out / "results.json").exists()
        server.make_reply = reply_with_grade
        result = run_judge(*words)
        assert result.returncode == 0, result.stderr
        assert len(server.requests) == 100  # the calls in flight came home and were kept
        assert read_results(out)["summary"]["cost"]["calls"] == 100
        assert paid < 100


def test_a_second_process_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    out = tmp_path / "runs" / "one"
    with LoopbackServer(reply_with_grade) as server, RunFolder(out).lock():
        second = run_judge(*make_words(data, server), "--out", out)
        assert server.requests == []
    assert second.returncode == 2
    assert "another judge" in second.stderr


def test_no_key_reaches_a_file_or_the_terminal(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    message = "Incorrect key sk-canary-5b1d9f, Authorization: Bearer sk-canary-5b1d9f"
    echo = json.dumps({"error": {"code": "bad", "message": message}})
    for status in (400, 401, 500):
        with LoopbackServer(lambda request, status=status: Reply(status=status, body=echo)) as server:  # type: ignore[misc]
            result = run_judge(*make_words(data, server), "--out",
                           tmp_path / "runs" / str(status), *SURE)  # fmt: skip
        assert "canary" not in result.stdout + result.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes(), path


def test_a_key_in_the_path_of_a_model_s_address_reaches_no_file(tmp_path: Path) -> None:
    data, toml = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2)), tmp_path / "judge.toml"
    key = "sk-9f1d5b-yranac"  # not that of the environment
    with LoopbackServer(reply_with_grade) as server:
        model = f"openai:a@{server.openai_url.replace('/v1', f'/{key}/v1')}"
        words = (
            "run",
            data,
            "-m",
            model,
            "-m",
            model.replace("a@http", "b@HTTP"),
            "--out",
            tmp_path / "r" / "x",
        )
        results = [run_judge(*words), run_judge(*words)]
        assert [result.returncode for result in results] == [0, 0]
        assert len(server.requests) == 4  # the second run is the first one, resumed
        results += [run_judge(*words, *more) for more in (("-m", "lexical"), ("-m", model))]
    toml.write_text(f'model = "lexical"\npanel = ["{model}"]\n', encoding="utf-8")
    results.append(run_judge("selftest", "--config", toml))
    toml.unlink()
    results.append(run_judge("run", data, "-m", f"rerank:server:{model}", "--explain"))
    assert [result.returncode for result in results[2:]] == [2, 2, 2, 2]
    assert "panel was 'openai:b@HTTP://127.0.0.1:" in results[2].stderr
    assert not any(key in result.stdout + result.stderr for result in results)
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_stop_does_not_wait_for_the_end_of_a_pause(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(20, 1, 10))
    with LoopbackServer(
        lambda request: Reply(status=429, headers={"retry-after": "590"}, body="{}")
    ) as server:
        process = start_process(*make_words(data, server), "--out",
                        tmp_path / "r" / "x", "--concurrency", 16)  # fmt: skip
        wait_for_requests(lambda: len(server.requests), 1)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=300)  # half of the pause
        assert process.returncode == 130
        assert len(server.requests) <= 36


def test_a_limit_waits_for_slow_calls_in_flight(tmp_path: Path) -> None:
    """Calls in flight at the limit are paid for, so that the run waits for them and stores them."""
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 10))
    toml = tmp_path / "judge.toml"
    toml.write_text("shutdown_timeout = 0.1\n")
    with LoopbackServer(delay_reply(reply_with_grade, 0.3)) as server:
        words = (*make_words(data, server), "--out",
                 tmp_path / "r" / "x",
                 "--config", toml, "--concurrency", 4)  # fmt: skip
        assert run_judge(*words, "--max-calls", 6).returncode == 3
        server.make_reply = reply_with_grade
        assert run_judge(*words).returncode == 0
        assert len(server.requests) == 20


def test_a_budget_that_cannot_be_kept_stops_the_run(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(3, 1, 10))
    with LoopbackServer(lambda request: Reply(text=reply_with_grade(request).text, usage=None)) as server:
        result = run_judge(*make_words(data, server), "--out",
                       tmp_path / "r" / "x", "--price", "1,2", "--budget", 1, "--concurrency", 2)  # fmt: skip
        assert len(server.requests) <= 4
    assert result.returncode == 3
    assert "the server does not count tokens" in result.stderr
    assert "without a token count" in result.stdout


def test_a_huge_token_count_neither_hangs_nor_loses_the_verdict(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 3))
    body = {
        "choices": [{"message": {"content": '{"reason": "r", "grade": 2}'}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10**20, "completion_tokens": True},
    }
    with LoopbackServer(lambda request: Reply(body=json.dumps(body))) as server:
        result = run_judge(*make_words(data, server), "--out",
                       tmp_path / "r" / "x")  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_a_background_job_ignores_the_signals_that_nohup_ignores(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 10))
    with LoopbackServer(delay_reply(reply_with_grade, 0.3)) as server:
        process = subprocess.Popen(
            ["nohup", sys.executable, "-m", "judge", *make_words(data, server),
             "--out", tmp_path / "r" / "x", "--concurrency", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for_requests(lambda: len(server.requests), 2)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=300)
        assert process.returncode == 0
        assert len(server.requests) == 10


def test_paths_that_cannot_be_written_are_named_before_anything_is_paid(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    (tmp_path / "file").write_text("not a database")
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(data, server)
        for option, name in (
            ("--out", "file/x"),
            ("--store", "file/x"),
            ("--store", "file"),
            ("--store", "/proc/x"),
        ):
            out = () if option == "--out" else ("--out", tmp_path / "runs" / "x")
            result = run_judge(*words, option, tmp_path / name, *out)
            assert result.returncode == 2
            assert ("/proc/x: " if name == "/proc/x" else str(tmp_path / "file")) in result.stderr
            assert "Traceback" not in result.stderr
        assert server.requests == []


def test_a_password_in_an_address_is_refused_and_kept_out_of_files(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    address = "http://user:canary@127.0.0.1:9/v1"
    result = run_judge("run", data, "-m", "openai:fake", "--base-url", address, "--out", tmp_path / "r" / "x")
    assert result.returncode == 2
    assert "canary" not in result.stdout + result.stderr
    assert not any(b"canary" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_without_judgments_the_range_is_wide_and_reported(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(4, 2, 3))

    def reject_one_query(request: ChatRequest) -> Reply:
        refused = Reply(status=400, body='{"error": {"code": "content_filter", "message": "x"}}')
        return refused if "text 3." in request.prompt else reply_with_grade(request)

    with LoopbackServer(reject_one_query) as server:
        result = run_judge(*make_words(data, server), "--out",
                       tmp_path / "r" / "x")  # fmt: skip
    cell = read_results(tmp_path / "r" / "x")["summary"]["engines"]["engine0"]["measures"]["P@5"]
    low, high = cell["bounds"]
    assert (cell["n"], cell["unknown"]) == (3, 1)
    assert high - low == pytest.approx(3 / 5 / 4)
    assert "nDCG@10: queries left out until more is judged (" in result.stdout
    assert "none judged in the pool is relevant): engine1 1, engine0 1\n" in result.stdout


@pytest.mark.parametrize("name", ["results.json", "Results.JSON", "qrels.txt", "run.a.trec"])
def test_a_run_does_not_overwrite_a_file_that_it_reads(tmp_path: Path, name: str) -> None:
    folder, rows = tmp_path / "data", [{"query_id": "q1", "query": "tea", "snippet": "leaf", "docno": "d1"}]
    folder.mkdir()
    content = {
        "results.json": json.dumps(rows),
        "Results.JSON": json.dumps(rows),
        "qrels.txt": "q1 0 d1 3\n",
        "run.a.trec": "q1 Q0 d1 1 9.25 a\n",
    }[name]
    (folder / name).write_text(content, encoding="utf-8")
    data = write_rows(tmp_path / "d.jsonl", rows)
    (tmp_path / "t.tsv").write_text("q1\ttea\n", encoding="utf-8")
    (tmp_path / "docs.tsv").write_text("d1\tleaf\n", encoding="utf-8")
    trec = ("--topics", tmp_path / "t.tsv", "--docs", tmp_path / "docs.tsv", "--run", folder / name)
    words = {"qrels.txt": (data, "--qrels", folder / name), "run.a.trec": trec}.get(name, (folder / name,))
    result = run_judge("run", *words, "-m", "lexical", "--out", folder)
    assert result.returncode == 2
    assert "the run reads this file, and would overwrite it" in result.stderr
    assert (folder / name).read_text(encoding="utf-8") == content
