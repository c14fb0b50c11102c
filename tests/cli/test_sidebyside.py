"""`judge sidebyside`: whole lists of two engines in both orders, with numbers worked by hand."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge import api
from judge.client.cancel import CancelToken
from judge.config.run import Config
from judge.errors import Interrupted, RunIncomplete
from judge.list_comparison import add_comparison
from tests.support.command_line import run_judge
from tests.support.factories import extract_fenced, list_rows, read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: The results of x and y: x is better on 5 queries, y on one; one pair of lists is equal, one undecided.
LISTS = (
    {"q8": ("even", "also even")}
    | {f"q{n}": ("good", "bad") for n in range(1, 6)}
    | {
        "q6": ("bad", "good"),
        "q7": ("same", "same"),
    }
)


def reply_with_preference(request: ChatRequest) -> Reply:
    """Prefer the list with the word "good"; else the list that is shown first."""
    assert "result lists, A or B" in request.prompt
    lines = extract_fenced(request.prompt).split("\n")
    good = [line[0] for line in lines if "good" in line]
    better = good[0] if good else "A"
    return Reply(text=json.dumps({"reason": f"{better} is\x1b[2K good", "better": better}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = list_rows({query: {"x": (x,), "y": (y,)} for query, (x, y) in LISTS.items()})
    rows.append({"query_id": "q9", "query": "what q9", "engine": "x", "error": "500"})
    rows.append({"query_id": "q9", "query": "what q9", "engine": "y", "rank": 1, "snippet": "good"})
    out = tmp_path / "runs" / "one"
    assert (
        run_judge("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "lexical", "--out", out).returncode
        == 0
    )
    return out


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(reply_with_preference) as opened:
        yield opened


def test_both_orders_are_asked_once_and_position_is_cancelled(run: Path, server: LoopbackServer) -> None:
    words = ("sidebyside", run, "x", "y", "-m", "openai:fake", "--base-url", server.openai_url)
    first = run_judge(*words)
    assert first.returncode == 0, first.stderr
    assert len(server.requests) == 14
    assert "at most 14 questions, about" in first.stdout
    assert "comparisons of lists: 14 to do" in first.stderr
    before = (run / "summary.json").read_text()
    again = run_judge(*words)
    estimate, result = first.stdout.split("\n", 1)
    assert (
        again.stdout
        == f"{estimate[: estimate.index('at most')]}known answers: 14; no question is left\n{result}"
    )
    assert len(server.requests) == 14
    # The cost of the run contains the questions, and once.
    assert (run / "summary.json").read_text() == before
    assert json.loads(before)["cost"]["calls"] == 14
    assert (
        "sidebyside: not separated; queries that prefer x: 5, that prefer y: 1, ties: 2 (equal lists: 1, the"
        " two orders contradict each other: 1), without an answer: 0." in first.stdout
    )
    dimension = read_summary(run)["dimensions"]["sidebyside: x, y"]
    x, y = (dimension["engines"][engine]["win_rate"] for engine in "xy")
    # Of 7 queries with two answers, one prefers the list that is shown first: (6 * 0.5 + 1) / 7.
    [first_list] = dimension["pairs"]
    assert first_list["measure"] == "win_rate of the first list"
    assert first_list["mean"]["mean"] == pytest.approx(4 / 7)
    assert (x["mean"], x["queries"], y["mean"]) == (6 / 8, 8, 2 / 8)
    # The values 1 (5 times), 0 and 0.5 (twice) have the standard deviation sqrt(1 / 7); t(7) is 2.364624.
    assert x["ci95"] == pytest.approx([0.75 - 2.364624 * (1 / 7 / 8) ** 0.5, 1.0], abs=1e-6)
    notes = {note["query_id"]: (note["engine"], note["text"]) for note in dimension["notes"]}
    assert notes["q1"] == ("x", "A = x / B = y – A is good")
    assert notes["q6"] == ("y", "A = x / B = y – B is good")
    assert notes["q8"][0] is None
    assert list(notes)[-1] == "q8"  # no engine is preferred
    assert "win_rate" in (run / "report.html").read_text()
    summary = api.compare_lists(run, "y", "x", "openai:fake", base_url=server.openai_url)
    assert summary.engines["y"]["win_rate"].mean == 2 / 8
    assert len(server.requests) == 14  # the same questions in the other order
    names = read_summary(run)["dimensions"]
    assert list(names) == ["sidebyside: x, y"]


def test_ties_alone_agree_with_no_measure(run: Path) -> None:
    tie = Reply(text=json.dumps({"reason": "both help", "better": "tie"}))
    with LoopbackServer(lambda _: tie) as server:
        result = run_judge("sidebyside", run, "x", "y", "-m", "openai:fake", "--base-url", server.openai_url)
    assert (
        "sidebyside: nDCG@10 prefers the same engine on 0 of the 0 queries where both prefer one."
        in result.stdout
    )


def test_another_thread_can_end_the_comparison(run: Path, server: LoopbackServer) -> None:
    """What an interrupted notebook cell does."""
    cancel_token = CancelToken()
    cancel_token.cancel_from_thread(Interrupted("enough"))
    config = Config(model="openai:fake", base_url=server.openai_url)
    with pytest.raises(Interrupted, match="enough"):
        add_comparison(config, run, "x", "y", cancel_token=cancel_token)
    assert not server.requests


def test_what_cannot_be_compared_is_refused_before_a_call(run: Path, server: LoopbackServer) -> None:
    model = ("-m", "openai:fake", "--base-url", server.openai_url)
    for words, message in {
        ("x", "z", *model): "'x' and 'z' are not two engines of the run; it has x and y",
        ("x", "x", *model): "'x' and 'x' are not two engines of the run",
        ("x", "y", *model, "-m", "lexical"): (
            "judge sidebyside asks one model, and openai:fake and lexical are a panel; choose one: judge"
            " sidebyside -m openai:fake"
        ),
        ("x", "y"): "sidebyside asks a language model, and lexical gives no texts",
    }.items():
        result = run_judge("sidebyside", run, *words)
        assert result.returncode == 2
        assert message in result.stderr
    assert not server.requests


def test_engines_without_a_shared_query_are_refused_before_a_call(tmp_path: Path) -> None:
    rows = [{"query_id": "q", "query": "what", "engine": engine, "error": "500"} for engine in "xy"]
    data, out = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "run"
    assert run_judge("run", data, "-m", "lexical", "--out", out).returncode == 3
    result = run_judge("sidebyside", out, "x", "y", "-m", "openai:fake", "--base-url", "http://127.0.0.1:9")
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is nothing to compare: on each query, 'x' or 'y' failed" in result.stderr


def test_help_offers_the_models_that_write_texts() -> None:
    forms = "openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME"
    for command, offer in (("sidebyside", f"{forms}."), ("selftest", f"{forms} or lexical.")):
        shown = " ".join(run_judge(command, "--help").stdout.split())
        assert f"--model <text> {offer} " in shown


def test_examples_are_for_grades(run: Path) -> None:
    refused = run_judge("sidebyside", run, "x", "y", "-m", "openai:fake", "--examples", "e.jsonl")
    assert (refused.returncode, "there is no option --examples" in refused.stderr) == (2, True)


def test_a_limit_ends_with_code_3_and_the_same_command_goes_on(run: Path, server: LoopbackServer) -> None:
    words = ("sidebyside", run, "x", "y", "-m", "openai:fake", "--base-url", server.openai_url)
    before = (run / "summary.json").read_bytes()
    stopped = run_judge(*words, "--max-calls", 5)
    assert stopped.returncode == 3
    assert (run / "summary.json").read_bytes() == before
    assert run_judge(*words).returncode == 0
    assert len(server.requests) == 14


def test_too_few_answers_end_with_code_3_and_the_reason(run: Path, server: LoopbackServer) -> None:
    before = (run / "summary.json").read_bytes()
    words = ("sidebyside", run, "x", "y", "-m", "openai:fake", "--base-url")
    with LoopbackServer(lambda _: Reply(status=500)) as failing:
        failed = run_judge(*words, failing.openai_url, "--attempts", 1, "--max-wait", 1)
    assert failed.returncode == 3
    with (
        LoopbackServer(lambda _: Reply(status=401)) as refusing,
        pytest.raises(RunIncomplete, match="; correct this, then run the same command again"),
    ):
        api.compare_lists(run, "x", "y", "openai:fake", base_url=refusing.openai_url)
    assert "not every question has an answer (14 of 14 failed: the server failed" in failed.stderr
    assert (run / "summary.json").read_bytes() == before

    def answer(request: ChatRequest) -> Reply:
        return Reply(text="") if "what q1" in request.prompt else reply_with_preference(request)

    with LoopbackServer(answer) as half:
        result = run_judge(*words, half.openai_url, "--min-coverage", 0.5)
    assert result.returncode == 0, result.stderr
    assert (
        "sidebyside: not every question has an answer (2 of 14 failed: the reply was empty" in result.stdout
    )
    assert run_judge(*words, server.openai_url).returncode == 0


def test_a_run_in_the_same_folder_keeps_the_comparison_of_the_same_grades(
    run: Path, server: LoopbackServer
) -> None:
    result = run_judge("sidebyside", run, "y", "x", "-m", "openai:fake", "--base-url", server.openai_url)
    assert "sidebyside: The questions took 14 calls and " in result.stdout
    before = (run / "results.json").read_text()
    again = ("run", run.parents[1] / "d.jsonl", "-m", "lexical", "--out", run)
    resumed = run_judge(*again, "--sites")
    assert resumed.returncode == 0, resumed.stderr
    assert "The questions took 14 calls" in resumed.stdout
    assert read_summary(run)["cost"]["calls"] == 14
    dimensions = read_summary(run)["dimensions"]
    assert list(dimensions) == ["sidebyside: x, y", "sites"]
    grades = json.loads(before)["summary"]["grades"]
    (run / "results.json").write_text(before.replace(grades, 16 * "0"))
    assert run_judge(*again, "--sites").returncode == 0
    assert list(read_summary(run)["dimensions"]) == ["sites"]


def test_two_pairs_of_engines_with_commas_in_their_names_have_two_comparisons(
    tmp_path: Path, server: LoopbackServer
) -> None:
    rows = list_rows({"q1": {name: (f"{name} text",) for name in ("a", "b, c", "a, b", "c")}})
    data, run = write_rows(tmp_path / "d.jsonl", rows), tmp_path / "runs" / "one"
    assert run_judge("run", data, "-m", "lexical", "--out", run).returncode == 0
    for pair in (("a", "b, c"), ("a, b", "c")):
        result = run_judge("sidebyside", run, *pair, "-m", "openai:fake", "--base-url", server.openai_url)
        assert result.returncode == 0, result.stderr
    names = ['sidebyside: ["a", "b, c"]', 'sidebyside: ["a, b", "c"]']
    assert sorted(read_summary(run)["dimensions"]) == names


def test_a_model_in_the_file_of_options_is_used_before_that_of_the_run(
    run: Path, server: LoopbackServer, tmp_path: Path
) -> None:
    options = tmp_path / "judge.toml"
    options.write_text(f'model = "openai:fake"\nbase_url = "{server.openai_url}"\n')
    result = run_judge("sidebyside", run, "x", "y", "--config", options)
    assert result.returncode == 0, result.stderr
    assert len(server.requests) == 14


def test_a_folder_of_another_person_chooses_no_server_and_no_new_store(
    run: Path, server: LoopbackServer
) -> None:
    config = json.loads((run / "config.json").read_text())
    store = run.parents[1] / "elsewhere" / "new.sqlite"
    for options, message in {
        (("model", "openai:fake"), ("base_url", server.openai_url)): "add --base-url",
        (("model", f"openai:fake@{server.openai_url}"),): "add -m",
        (("model", 7),): "field 'options.model' is 7",
        (("model", None),): "no model was named",
    }.items():
        changed = {**config["options"], **dict(options), "store": str(store)}
        (run / "config.json").write_text(json.dumps({**config, "options": changed}))
        result = run_judge("sidebyside", run, "x", "y")
        assert result.returncode == 2, result
        assert message in result.stderr
    assert not server.requests
    (run / "config.json").write_text(json.dumps({**config, "options": {**changed, "model": "openai:fake"}}))
    result = run_judge("sidebyside", run, "x", "y", "--base-url", server.openai_url)
    assert result.returncode == 0, result.stderr
    assert not store.parent.exists()
    (run / "config.json").write_text(json.dumps({**config, "options": []}))
    result = run_judge("sidebyside", run, "x", "y", "-m", "openai:fake", "--base-url", server.openai_url)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
