"""`judge collect`: from queries to a dataset that `judge run` reads, with and without kills."""

import json
import os
import signal
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from judge.collect.raw_log import make_raw_log_path, read_raw_log
from tests.support.command_line import run_judge, start_process, wait_for_requests
from tests.support.factories import read_results as results_of
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import CANARY, make_results, return_three, write_queries

QUERIES = [f"question {number}" for number in range(40)]


def test_a_public_engine_is_asked_through_the_proxy(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(return_three) as proxy:
        result = run_judge(
            *("collect", tmp_path / "queries.tsv", "--out", tmp_path / "data.jsonl", "--attempts", "1"),
            *("--engine", "searxng", "--base-url", "searxng=http://search.example", "--rate", "500"),
            http_proxy=proxy.url.replace("http://", "http://ann:word-of-the-proxy@"),
            no_proxy="",
        )
    assert result.returncode == 0, result.stderr
    logins = {request.headers["Proxy-Authorization"] for request in proxy.searched}
    assert (len(proxy.searched), logins) == (2, {"Basic YW5uOndvcmQtb2YtdGhlLXByb3h5"})
    texts = [path.read_text("utf-8") for path in tmp_path.iterdir() if path.is_file()]
    assert not any("word-of-the-proxy" in text for text in (*texts, result.stdout, result.stderr))


def make_collect_words(folder: Path, server: EngineServer, *engines: str, rate: float = 500.0) -> list[str]:
    """Return the words of a collection of the queries in the folder."""
    requests = [
        word for engine in engines for word in ("--engine", engine, "--base-url", f"{engine}={server.url}")
    ]
    out = str(folder / "data.jsonl")
    return [
        "collect",
        str(folder / "queries.tsv"),
        *requests,
        "--out",
        out,
        "--rate",
        str(rate),
        "--attempts",
        "1",
    ]


def test_queries_become_a_dataset_and_a_run_that_shows_what_answers_took(tmp_path: Path) -> None:
    pages = {"brave": 3, "tavily": 2}
    write_queries(tmp_path, "茶 与 健康", "coffee <script>alert(1)</script>")

    def make_page(request: SearchRequest) -> Page:
        return Page(make_results(request.query, pages[request.engine]))

    with EngineServer(make_page) as server:
        result = run_judge(
            *make_collect_words(tmp_path, server, "brave", "tavily"), BRAVE_SEARCH_API_KEY=CANARY
        )
    assert result.returncode == 0, result.stderr
    assert "brave: answered 2 of 2" in result.stdout
    assert "collecting answers: 4 to do" in result.stderr
    assert CANARY not in result.stdout + result.stderr
    out = tmp_path / "runs" / "first"
    run = run_judge("run", tmp_path / "data.jsonl", "-m", "lexical", "--out", out)
    assert run.returncode == 0, run.stderr
    assert "ms median" in run.stdout
    assert "ms p95" in run_judge("compare", out, "--details").stdout
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "ms median" in report
    assert "毫秒（中位数）" in report
    engines = results_of(out)["summary"]["engines"]
    assert engines["brave"]["latency_ms"]["n"] == 2
    assert engines["brave"]["tokens"]["mean"] > engines["tavily"]["tokens"]["mean"] > 0
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix}
    assert b"latency_ms" in files["results.json"]
    assert run_judge("score", out).returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.suffix} == files


def test_failed_requests_are_reported_with_the_next_command(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    refusal = Page(status=401, body=json.dumps({"error": f"Invalid API key {CANARY}"}))
    with EngineServer(
        lambda request: refusal if request.engine == "exa" else return_three(request)
    ) as server:
        result = run_judge(*make_collect_words(tmp_path, server, "exa", "searxng"), EXA_API_KEY=CANARY)
        again = run_judge(*make_collect_words(tmp_path, server, "searxng"))
    assert result.returncode == 3, result.stderr
    assert "exa on 2 of 2 queries" in result.stderr
    assert "run the same command again to request only these" in result.stderr
    assert "searxng: answered 2 of 2" in result.stdout
    assert again.returncode == 0, again.stderr
    assert "0 new calls" in again.stdout
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert CANARY.encode() not in written
    assert CANARY not in result.stdout + result.stderr


def test_a_dataset_that_is_without_an_earlier_engine_says_so(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    data = tmp_path / "data.jsonl"
    with EngineServer(return_three) as server:
        words = make_collect_words(tmp_path, server, "searxng", "brave")
        both = run_judge(*words, BRAVE_SEARCH_API_KEY=CANARY)
        dataset = data.read_bytes()
        one = run_judge(*make_collect_words(tmp_path, server, "searxng"))
        assert run_judge(*words, BRAVE_SEARCH_API_KEY=CANARY).returncode == 0
    remark = (
        f"{data} is without brave, whose answers are in {data}.raw.jsonl; to have them in the dataset, name"
        " these engines, too"
    )
    assert (both.returncode, remark in both.stdout) == (0, False)
    assert (one.returncode, remark in one.stdout.splitlines()) == (0, True)
    assert data.read_bytes() == dataset  # without another call
    assert len(server.searched) == 4


def test_each_engine_has_a_line_with_its_result_and_errors(tmp_path: Path) -> None:
    pages = {
        "found": Page(make_results("tea", 2)),
        "bare": Page([("tea", "https://a.example", ""), *make_results("tea", 1)]),
        "nothing": Page(),
        "odd": Page(status=400, body="odd"),
        "boom": Page(status=500, body="boom"),
    }
    write_queries(tmp_path, "found", "bare", "nothing", "odd", "boom", "boom ")

    def make_page(request: SearchRequest) -> Page:
        if request.engine == "searxng":
            return pages[request.query.strip()]
        return pages["boom" if "boom" in request.query else "found"]

    with EngineServer(make_page) as server:
        result = run_judge(*make_collect_words(tmp_path, server, "searxng", "tavily"))
    assert result.returncode == 3, result.stderr
    assert result.stdout.splitlines()[:2] == [
        "searxng: answered 3 of 6, 1 of them without results, 2 with fewer than 10 results; 1 of 4 results"
        " has no text except its title (looked for in 'content'); failed on 3, 2 of them: server_error: HTTP"
        " 500: boom",
        "tavily: answered 4 of 6, 4 with fewer than 10 results; failed on 2: server_error: HTTP 500: boom",
    ]
    assert "searxng returned at most 2 of the 10 requested results" in result.stdout
    assert "searxng on 3, tavily on 2 of 6 queries" in result.stderr


def test_a_server_that_cannot_be_reached_is_told_in_chinese(tmp_path: Path) -> None:
    queries = write_queries(tmp_path, "one")
    words = ("--engine", "searxng", "--base-url", "searxng=http://127.0.0.1:9", "--attempts", 1)
    result = run_judge("collect", queries, *words, "--out", tmp_path / "data.jsonl", "--ui-lang", "zh")
    first = "searxng：响应 0/1；失败 1 条：连接失败：http://127.0.0.1:9：连接被拒绝"
    assert result.stdout.splitlines()[0] == first


def test_why_an_engine_failed_is_told_in_chinese_and_the_next_command_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "两个 words"
    folder.mkdir()
    pages = {
        "not json": Page(body="<html>"),
        "no results": Page(body="{}"),
        "nothing": Page(body=" "),
        "refused": Page(status=403, body="no"),
    }
    failures = []
    for query, page in pages.items():
        write_queries(folder, query)
        with EngineServer(lambda _, page=page: page) as server:  # type: ignore[misc]  # of this query
            words = make_collect_words(folder, server, "searxng", "tavily")
            result = run_judge(*words, "--ui-lang", "zh", TAVILY_API_KEY=CANARY)
        failures.append([line.partition("失败 1 条：")[2] for line in result.stdout.splitlines()[:2]])
        assert f"（judge run '{folder}/data.jsonl' -m MODEL）" in result.stdout
    assert failures == [
        ["服务器出错：响应不是 JSON：<html>"] * 2,
        ["服务器出错：响应中没有 'results'（results）；其开头为 {}"] * 2,
        ["服务器出错：响应为空"] * 2,
        [
            "访问被拒绝：HTTP 403：no（其 settings.yml 的 search.formats 须包含 json，且限流器须放行该地址）",
            "访问被拒绝：HTTP 403：no（请检查密钥及其权限）",
        ],
    ]


@pytest.mark.parametrize(("patience", "least"), [("0", 1), ("1.5", 2)])
def test_a_retry_after_of_an_engine_is_obeyed_up_to_max_wait(
    patience: str, least: int, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(status=429, body="slow down")) as server:
        result = run_judge(*make_collect_words(tmp_path, server, "searxng"), "--patience", patience)
    assert "failed on 1: rate_limit: HTTP 429: slow down" in result.stdout
    assert least <= len(server.searched) <= 2 * least  # whatever --attempts says, which is 1


def test_why_an_engine_failed_names_the_option_as_its_file_has_it(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    toml, refused = tmp_path / "judge.toml", Page(status=404, body="no page")
    with EngineServer(lambda _: refused) as server:
        words = make_collect_words(tmp_path, server, "searxng")
        toml.write_text(f'[collect]\nbase_urls = {{ searxng = "{server.url}" }}\n', encoding="utf-8")
        at = words.index("--base-url")
        by_file = [*words[:at], *words[at + 2 :], "--config", str(toml)]
        outputs = [
            run_judge(*given, "--ui-lang", language).stdout.splitlines()[0]
            for given in (words, by_file)
            for language in ("en", "zh")
        ]
    assert [output.partition("no page")[2].strip() for output in outputs] == [
        "(check the engine's address, see --base-url)",
        "（请检查引擎的地址，参见 --base-url）",
        "(check the engine's address, see base_urls)",
        "（请检查引擎的地址，参见 base_urls）",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], "queries is missing; add it"),
        (["queries.tsv", "--out", "d.jsonl", "--engine", "brave"], "set BRAVE_SEARCH_API_KEY"),
        (
            ["queries.tsv", "--out", "d.jsonl", "--engine", "exa", "--base-url", "here"],
            "--base-url searxng=URL",
        ),
    ],
)
def test_what_is_wrong_is_said_before_a_call(given: list[str], expected: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    result = run_judge("collect", *(str(tmp_path / word) if "." in word else word for word in given))
    assert result.returncode == 2, result.stderr
    assert expected in result.stderr
    assert not list(tmp_path.glob("d.jsonl*"))


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_a_killed_collection_repeats_no_finished_request(kills: int, tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    journal = make_raw_log_path(tmp_path / "data.jsonl")
    least = first_pending = 0

    def answer(request: SearchRequest) -> Page:
        # A process gets no answer after a few, so that it does not end before it is killed.
        delay = 0.02 if len(server.searched) < first_pending else 3600.0
        return Page(make_results(request.query), delay=delay)

    with EngineServer(answer) as server:
        for _ in range(kills):
            least = len(server.searched) + 12
            first_pending = least + 4
            process = start_process(*make_collect_words(tmp_path, server, "searxng", "tavily", rate=100.0))
            wait_for_requests(lambda: len(server.searched), least)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            assert not (tmp_path / "data.jsonl").exists()
        known = {(each.engine, each.query_id) for each in read_raw_log(journal)}
        server.read_pending()
        before, first_pending = len(server.searched), 1000
        result = run_judge(*make_collect_words(tmp_path, server, "searxng", "tavily"))
    assert result.returncode == 0, result.stderr
    assert len(server.searched) - before == 80 - len(known)
    counts = Counter((each.engine, each.query_id) for each in read_raw_log(journal))
    assert set(counts.values()) == {1}
    assert len(counts) == 80
    assert len((tmp_path / "data.jsonl").read_text(encoding="utf-8").splitlines()) == 40


def test_ctrl_c_keeps_the_answers_and_names_the_next_command(tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    calls = count()
    # The later answers take long, so that the signal comes before the last one on a slow machine, too.
    with EngineServer(
        lambda request: Page(make_results(request.query), delay=0.05 if next(calls) < 10 else 2.0)
    ) as server:
        process = start_process(*make_collect_words(tmp_path, server, "searxng", rate=50.0))
        wait_for_requests(lambda: len(server.searched), 10)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=120)
        entries = len(list(read_raw_log(make_raw_log_path(tmp_path / "data.jsonl"))))
        assert process.returncode == 130, output
        assert "all answers are saved" in output
        assert entries == len(server.searched)
