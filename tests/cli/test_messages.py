"""Messages name the option as it was typed, say what to do, and have no empty tables."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.factories import make_rows, write_rows
from tests.support.fake_server import LoopbackServer, Reply

SHORT_WAIT = ("--max-wait", 1)


def write_dataset(folder: Path) -> Path:
    return write_rows(folder / "d.jsonl", make_rows(3, 2, 1))


def run_with_last_line(folder: Path, url: str, *words: str) -> tuple[int, str]:
    options = ("-m", "openai:fake", "--base-url", url, "--out", folder / "r" / "x", *SHORT_WAIT)
    result = run_judge("run", write_dataset(folder), *options, *words)
    return result.returncode, result.stderr.splitlines()[-1]


def test_a_server_that_throttles_every_request_is_reported(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply(status=429)) as server:
        code, text = run_with_last_line(tmp_path, server.openai_url)
        assert code == 3
        assert f"no request to {server.openai_url!r} succeeded for " in text
    assert "HTTP 429" in text
    assert "; if it throttles, wait a while, lower --concurrency or raise --max-wait, then run the" in text


@pytest.fixture(scope="module")
def run_without_grades(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unjudged")
    with LoopbackServer(lambda _: Reply(status=401)) as server:
        run_with_last_line(folder, server.openai_url)
    return folder / "r" / "x"


_AGAIN = "; run the judge run or judge nightly command of this folder again"


@pytest.mark.parametrize("words", [("score",), ("compare",), ("compare", "--json")])
def test_a_run_without_a_grade_is_incomplete(words: tuple[str, ...], run_without_grades: Path) -> None:
    result = run_judge(*words, run_without_grades)
    assert result.returncode == 3, result.stderr
    assert result.stderr.startswith(
        f"judge: {run_without_grades}: no judgment has a grade (0 of 6), so no engine has a value: the"
        " judging stopped: auth: HTTP 401"
    )
    assert result.stderr.endswith(f"{_AGAIN}\n")
    assert result.stdout == ""


def test_a_run_without_a_grade_is_not_compared_with_another_run(
    run_without_grades: Path, tmp_path: Path
) -> None:
    graded = tmp_path / "graded"
    run_judge("run", write_dataset(tmp_path), "-m", "lexical", "--out", graded)
    for runs in ((graded, run_without_grades), (run_without_grades, graded)):
        result = run_judge("compare", *runs, "--measures", "P@5")
        assert (result.returncode, result.stdout) == (3, "")
        assert result.stderr.startswith(
            "judge: x: no judgment has a grade (0 of 6), so no engine has a value: the judging stopped: "
        )
        assert result.stderr.endswith(f"{_AGAIN}\n")


@check_each(
    ("reply", "line", "english", "chinese"),
    [
        (
            Reply(status=401, body='{"error": {"message": "no"}}'),
            "; correct this, then run the same command again: all judgments are saved",
            ("the judging stopped: auth: HTTP 401: no (check ", _AGAIN),
            ("评测已停止：访问被拒绝：HTTP 401: no（请检查", "；再次执行"),
        ),
        (
            Reply(text="nothing"),
            "; run the same command again to get the rest; if the model replies so again, use another model,"
            " or lower --min-coverage",
            ("the reply names a grade that does not exist (6)", _AGAIN),
            ("答复的等级不在标度内（6）", "；再次执行"),
        ),
        (
            Reply(text='{"reason": "It', finish_reason="length"),
            "; raise --max-tokens and name another --out",
            ("the reply was cut off (6)", "; raise --max-tokens and judge it again"),
            ("答复被截断（6）", "；请调高 --max-tokens，并重新评测"),
        ),
    ],
)
def test_the_reason_why_a_run_has_no_grade_is_in_both_languages(
    tmp_path: Path, reply: Reply, line: str, english: tuple[str, str], chinese: tuple[str, str]
) -> None:
    with LoopbackServer(lambda _: reply) as server:
        assert run_with_last_line(tmp_path, server.openai_url)[1].endswith(line)
    run = tmp_path / "r" / "x"
    for language, (reason, advice) in (("en", english), ("zh", chinese)):
        outputs = {run_judge(words, run, "--ui-lang", language).stderr for words in ("score", "compare")}
        (text,) = outputs
        assert re.search(rf"[:：] ?{re.escape(reason)}.*{re.escape(advice)}", text), text


def test_runs_whose_shared_queries_have_no_grade_are_both_named(tmp_path: Path) -> None:
    for run in "xy":
        rows: list[dict[str, Any]] = [
            {"query": "shared", "query_id": "q", "engine": run, "snippet": None},
            {"query": "own", "query_id": run, "engine": run, "snippet": "text"},
        ]
        data = write_rows(tmp_path / f"{run}.jsonl", rows)
        run_judge("run", data, "-m", "lexical", "--out", tmp_path / run)
    result = run_judge("compare", tmp_path / "x", tmp_path / "y")
    assert result.returncode == 3
    runs = f"{tmp_path / 'x'} and {tmp_path / 'y'}"
    assert result.stderr.startswith(
        f"judge: the shared queries of {runs}: no judgment has a grade (0 of 2), so no"
    )


def test_a_run_whose_texts_are_all_missing_needs_them(tmp_path: Path) -> None:
    rows = [{"query": "q", "engine": engine, "snippet": None} for engine in "ab"]
    words = "-m", "lexical", "--out", tmp_path / "run"
    assert run_judge("run", write_rows(tmp_path / "d.jsonl", rows), *words).returncode == 3
    line = run_judge("score", tmp_path / "run").stderr
    assert line.endswith(
        "; add the missing texts to the dataset and judge it again (judge run needs another --out): stored"
        " judgments are not paid again\n"
    )


@check_each(
    ("words", "expected"),
    [
        (("--as-of", "nonsense"), "--as-of is 'nonsense'; it must be a day such as 2026-05-01"),
        (
            ("--columns", "snippet"),
            "--columns has 'snippet'; it must name a field and its column, such as --columns snippet=COLUMN",
        ),
        (
            ("--columns", "nonsense"),
            "--columns has 'nonsense'; it must name a field and its column, such as --columns snippet=COLUMN",
        ),
        (("--columns", "snippet"), "reference, snippet, title, url\n"),
        (("--columns", "snippet=no"), "field 'no' is missing; the row has the fields"),
        (("--columns", "snipet=text"), "a field is one of date, docno, "),
        (
            ("--columns", "snippet=text,query=text"),
            "--columns has 'snippet=text' and another column for snippet, or another field in 'text'; a",
        ),
        (
            ("--columns", "snippet=text,snippet=body"),
            "--columns has 'snippet=text' and another column for snippet, or another field in 'text'; a",
        ),
        (
            ("--columns", "title=query"),
            "--columns has 'title=query' and another column for title, or another field in 'query'; a",
        ),
    ],
)
def test_an_option_is_named_as_it_is_typed(words: tuple[str, str], expected: str, tmp_path: Path) -> None:
    result = run_judge("run", write_dataset(tmp_path), "-m", "lexical", *words, "--out", tmp_path / "x")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines(keepends=True)
    assert expected in line


def test_a_dataset_without_expected_documents_is_named(tmp_path: Path) -> None:
    data = write_dataset(tmp_path)
    refused = run_judge("run", data, "-m", "expected", "--out", tmp_path / "x")
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        f"judge: {data}: 3 of 3 queries have no field 'expected', first query 'q0'"
    )


def test_an_address_without_embeddings_is_refused(run_without_grades: Path) -> None:
    done = run_judge("score", run_without_grades, "--base-url", "http://127.0.0.1:9/v1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "judge: --base-url is for --diversity-embeddings; add --diversity-embeddings, or omit --base-url\n"
    )


def test_dates_may_be_shown_by_either_option(tmp_path: Path) -> None:
    rows = [
        {"query": "q", "engine": name, "rank": 1, "snippet": "the same", "date": f"2026-01-0{day}"}
        for day, name in enumerate("ab", start=1)
    ]
    data = write_rows(tmp_path / "d.jsonl", rows)
    result = run_judge("run", data, "-m", "lexical", "--as-of", "2026-02-01", "--out", tmp_path / "x")
    assert "which prompts show (option dates or as_of): 1; each is judged" in result.stdout + result.stderr


@pytest.mark.parametrize("model", ["openai:gpt-4o-mini", "dashscope:qwen-plus"])
def test_an_estimate_needs_no_key_and_a_run_does(model: str, tmp_path: Path) -> None:
    words = (write_dataset(tmp_path), "-m", model, "--out", tmp_path / "x")
    environment = {"OPENAI_API_KEY": "", "DASHSCOPE_API_KEY": ""}
    estimate = run_judge("estimate", *words, **environment)
    assert estimate.returncode == 0, estimate.stderr
    assert "placeholder" not in estimate.stdout + estimate.stderr
    run = run_judge("run", *words, **environment)
    assert run.returncode == 2
    assert "no key for" in run.stderr


def test_a_value_of_an_option_without_one_is_named(tmp_path: Path) -> None:
    refused = run_judge("run", write_dataset(tmp_path), "-m", "lexical", "--near-duplicates", 0.9)
    assert refused.returncode == 2
    assert refused.stderr == (
        "judge: 2 datasets were given, the second one is 0.9; a run has one: omit it, or put all rows into"
        " one file\n"
    )
