"""What messages say: in the words of the option that was typed, with what to do, and without empty tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cases import check_each
from tests.support.command_line import command
from tests.support.factories import make_rows, write_rows
from tests.support.fake_server import LoopbackServer, Reply

SHORT_WAIT = ("--max-wait", 3)


def data_of(folder: Path) -> Path:
    return write_rows(folder / "d.jsonl", make_rows(3, 2, 1))


def ran(folder: Path, url: str) -> tuple[int, str]:
    words = ("-m", "openai:fake", "--base-url", url, "--out", folder / "r" / "x")
    done = command("run", data_of(folder), *words, *SHORT_WAIT)
    return done.returncode, done.stderr.splitlines()[-1]


def test_a_server_that_turns_all_away_is_said_to_answer(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply(status=429)) as server:
        code, text = ran(tmp_path, server.openai_url)
        assert code == 3
        assert f"{server.openai_url} throttled every request for " in text
    assert "HTTP 429" in text
    assert "; wait a while, lower --concurrency or raise --max-wait, then run the same command again" in text
    assert "check the server" not in text


def test_a_closed_connection_at_an_http_address_points_to_tls(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply(reset=True)) as server:
        code, text = ran(tmp_path, server.openai_url)
    assert code == 3
    assert text.count("(a port that speaks TLS needs https://)") == 1


@pytest.fixture(scope="module")
def unjudged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unjudged")
    body = json.dumps({"error": {"message": "an odd pair"}})
    with LoopbackServer(lambda _: Reply(status=400, body=body)) as server:
        ran(folder, server.openai_url)
    return folder / "r" / "x"


@pytest.mark.parametrize("name", ["score", "compare"])
def test_a_run_without_a_grade_is_one_line(name: str, unjudged: Path) -> None:
    done = command(name, unjudged)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("nothing is judged (0 of 6), so no engine has a value; ")


@check_each(
    ("words", "expected"),
    [
        (("--as-of", "nonsense"), "--as-of is 'nonsense'; it is a day such as 2026-05-01"),
        (("--columns", "snippet"), "--columns is 'snippet'; it is FIELD=COLUMN, such as snippet=COLUMN"),
        (("--columns", "nonsense"), "--columns is 'nonsense'; it is FIELD=COLUMN, such as snippet=text"),
        (("--columns", "snipet=text"), "a field is one of date, docno, "),
        (
            ("--columns", "snippet=text,query=text"),
            "--columns names the column 'text' for snippet and query; a column holds one field",
        ),
    ],
)
def test_an_option_is_named_as_it_is_typed(words: tuple[str, str], expected: str, tmp_path: Path) -> None:
    done = command("run", data_of(tmp_path), "-m", "lexical", *words, "--out", tmp_path / "x")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert expected in line


def test_dates_may_be_shown_by_either_option(tmp_path: Path) -> None:
    rows = [
        {"query": "q", "engine": name, "rank": 1, "snippet": "the same", "date": f"2026-01-0{day}"}
        for day, name in enumerate("ab", start=1)
    ]
    data = write_rows(tmp_path / "d.jsonl", rows)
    done = command("run", data, "-m", "lexical", "--as-of", "2026-02-01", "--out", tmp_path / "x")
    assert "which prompts show (--dates or --as-of): each is judged" in done.stdout + done.stderr


@pytest.mark.parametrize("model", ["openai:gpt-4o-mini", "dashscope:qwen-plus"])
def test_an_estimate_needs_no_key_and_a_run_does(model: str, tmp_path: Path) -> None:
    words = (data_of(tmp_path), "-m", model, "--out", tmp_path / "x")
    environment = {"OPENAI_API_KEY": "", "DASHSCOPE_API_KEY": ""}
    estimate = command("estimate", *words, **environment)
    assert estimate.returncode == 0, estimate.stderr
    assert "placeholder" not in estimate.stdout + estimate.stderr
    run = command("run", *words, **environment)
    assert run.returncode == 2
    assert "no key for" in run.stderr
