"""A whole collection: several engines at a time, within their limits, each query once; and after a fault."""

import json
from pathlib import Path

import pytest

from judge.client.cancel import CancelToken
from judge.collect.collection import collect
from judge.errors import InputError, Interrupted
from tests.support.datasets import read_dataset
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import (
    CANARY,
    KEYS,
    collect_results,
    count_answered,
    make_config,
    make_results,
    read_answers,
    read_rows,
    return_three,
    write_queries,
)

QUERIES = ("tea", "coffee", "wine", "water")


def test_the_same_command_again_makes_no_call_and_gives_the_same_bytes(tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    with EngineServer(return_three) as server:
        first = collect_results(tmp_path, server, "brave", "tavily")
        data, raw_log = first.data.read_bytes(), first.raw_log.read_bytes()
        second = collect_results(tmp_path, server, "tavily", "brave")
    assert (first.calls_made, second.calls_made) == (8, 0)
    assert count_answered(first) == {"brave": 4, "tavily": 4}
    assert (second.data.read_bytes(), second.raw_log.read_bytes()) == (data, raw_log)
    assert [row["query_id"] for row in read_rows(tmp_path)] == ["q1", "q2", "q3", "q4"]


def test_only_what_failed_is_asked_again(tmp_path: Path) -> None:
    broken = {"coffee"}
    write_queries(tmp_path, *QUERIES)
    with EngineServer(
        lambda request: Page(status=500) if request.query in broken else return_three(request)
    ) as server:
        first = collect_results(tmp_path, server, "searxng", attempts=1)
        assert "error" in read_answers(tmp_path, "searxng")[1]
        broken.clear()
        second = collect_results(tmp_path, server, "searxng", attempts=1)
    assert (count_answered(first), count_answered(second)) == ({"searxng": 3}, {"searxng": 4})
    assert "searxng on 1 of 4" in str(first.incomplete)
    assert (second.calls_made, second.incomplete) == (1, None)
    assert all(len(answer["results"]) == 3 for answer in read_answers(tmp_path, "searxng"))


def test_a_question_asked_otherwise_is_another_call(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(return_three) as server:
        collect_results(tmp_path, server, "brave")
        assert collect_results(tmp_path, server, "brave", lang="en").calls_made == 1
        assert collect_results(tmp_path, server, "brave", "exa").calls_made == 1


def test_engines_see_a_query_at_the_same_moment(tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    # No answer comes before the last request: an engine that waits for one never gets it.
    with EngineServer(lambda request: Page(make_results(request.query)), least=3 * len(QUERIES)) as server:
        collect_results(tmp_path, server, "brave", "exa", "searxng", rate=8.0)
    assert [each.query for each in server.searched] == [query for query in QUERIES for _ in range(3)]


def test_a_rate_is_kept(tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    with EngineServer(return_three) as server:
        collect_results(tmp_path, server, "brave", rate=2.5)
    moments = [each.at for each in server.searched]
    # Three intervals of .4 s; on a busy machine the first request may arrive late.
    assert moments[-1] - moments[0] >= 0.6


def test_nobody_is_asked_before_the_time_that_retry_after_names(tmp_path: Path) -> None:
    def make_page(request: SearchRequest) -> Page:
        if request.query == "tea" and request.attempt == 1:
            return Page(status=429, headers={"Retry-After": "1"}, body='{"error": {"code": "RATE_LIMITED"}}')
        return return_three(request)

    write_queries(tmp_path, *QUERIES)
    with EngineServer(make_page) as server:
        result = collect_results(tmp_path, server, "brave", rate=20.0)
    assert result.incomplete is None
    first, *rest = server.searched
    after = [each.at - first.at for each in rest]
    assert all(gap >= 0.99 or gap < 0.2 for gap in after), after
    [again] = [each for each in rest if each.query == "tea"]
    assert again.at - first.at >= 0.99


@pytest.mark.parametrize("retry_after", [None, "0", "0.001", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_an_engine_that_throttles_gets_a_pause_of_a_second_at_least(
    tmp_path: Path, retry_after: str | None
) -> None:
    busy = Page(status=429, headers={"Retry-After": retry_after} if retry_after else {}, body="")
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: busy if request.attempt == 1 else return_three(request)) as server:
        result = collect_results(tmp_path, server, "exa")
    assert result.incomplete is None
    first, second = server.searched
    assert second.at - first.at >= 0.99


def test_a_wait_beyond_max_wait_ends_that_engine_for_now(tmp_path: Path) -> None:
    page = Page(status=429, headers={"Retry-After": "3600"}, body='{"error": {"code": "RATE_LIMITED"}}')
    write_queries(tmp_path, *QUERIES)
    with EngineServer(lambda request: page if request.engine == "brave" else return_three(request)) as server:
        result = collect_results(tmp_path, server, "brave", "exa", rate=5.0)
    assert count_answered(result) == {"brave": 0, "exa": 4}
    assert len(server.select_requests("brave")) < len(QUERIES)
    assert "Retry-After is 3,600 s, above --max-wait" in read_answers(tmp_path, "brave")[0]["error"]


def test_a_refused_account_stops_its_engine_and_no_other(tmp_path: Path) -> None:
    queries = [f"question {number}" for number in range(30)]
    write_queries(tmp_path, *queries)
    refusal = Page(status=401, body=json.dumps({"message": "Unauthorized."}))
    with EngineServer(
        lambda request: refusal if request.engine == "serper" else return_three(request)
    ) as server:
        result = collect_results(tmp_path, server, "serper", "exa", rate=200.0)
    assert count_answered(result) == {"serper": 0, "exa": 30}
    assert (
        len(server.select_requests("serper")) <= 16
    )  # those under way, and those that took their places meanwhile
    errors = [answer["error"] for answer in read_answers(tmp_path, "serper")]
    assert errors[0].startswith("auth: HTTP 401")
    assert errors[-1].startswith("not asked: auth: HTTP 401")
    reasons = result.engines["serper"].errors
    assert {reason.partition(" HTTP")[0] for reason in reasons} == {"auth:", "not asked: auth:"}
    assert {*errors} == {*map(str, reasons)}


@pytest.mark.parametrize("status", [403, 404, 302])
def test_a_single_query_that_is_turned_away_closes_no_engine(status: int, tmp_path: Path) -> None:
    refusal = Page(status=status, body="<html>blocked</html>")
    write_queries(tmp_path, "<script>", *QUERIES)
    with EngineServer(
        lambda request: refusal if request.query == "<script>" else return_three(request)
    ) as server:
        first = collect_results(tmp_path, server, "searxng", rate=4.0)
        again = collect_results(tmp_path, server, "searxng")
    assert (count_answered(first), first.calls_made) == ({"searxng": 4}, 5)
    assert (count_answered(again), again.calls_made) == ({"searxng": 4}, 1)


@pytest.mark.parametrize(("status", "calls"), [(403, 2), (402, 1)])
def test_two_refusals_in_a_row_close_an_engine_and_an_empty_account_at_once(
    status: int, calls: int, tmp_path: Path
) -> None:
    write_queries(tmp_path, *QUERIES)
    refusal = Page(status=status, body="no")
    with EngineServer(lambda request: return_three(request) if request.query == "tea" else refusal) as server:
        result = collect_results(tmp_path, server, "searxng", rate=4.0)
    assert count_answered(result) == {"searxng": 1}
    assert len(server.searched) == 1 + calls


def test_an_engine_that_is_down_does_not_take_the_night(tmp_path: Path) -> None:
    queries = [f"question {number}" for number in range(60)]
    write_queries(tmp_path, *queries)
    down = Page(status=503, body="")
    with EngineServer(lambda request: down if request.engine == "exa" else return_three(request)) as server:
        result = collect_results(tmp_path, server, "exa", "brave", attempts=1, rate=500.0)
    assert count_answered(result) == {"exa": 0, "brave": 60}
    assert 10 <= len(server.select_requests("exa")) <= 18


def test_a_key_is_in_no_file_and_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)

    def make_page(request: SearchRequest) -> Page:
        echo = json.dumps(
            {"error": f"bad key {CANARY}", "sent": dict(request.sent), "headers": dict(request.headers)}
        )
        return Page(status=401 if request.query == "tea" else 200, body=echo)

    write_queries(tmp_path, "coffee", "tea")
    with EngineServer(make_page) as server:
        result = collect_results(tmp_path, server, "serpapi-google", "brave", "tavily", attempts=1)
    assert server.searched[0].sent["api_key"] == CANARY
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written
    assert "canary" not in str(result.incomplete)


def test_an_interrupted_collection_keeps_its_answers_and_goes_on(tmp_path: Path) -> None:
    stop = CancelToken()

    def make_page(request: SearchRequest) -> Page:
        if request.query == QUERIES[0]:
            stop.cancel_from_thread(Interrupted("enough"))
        return return_three(request)

    write_queries(tmp_path, *QUERIES)
    with EngineServer(make_page) as server:
        with pytest.raises(Interrupted, match="all answers are saved"):
            # The second request is due after the minute that a test may take.
            collect(make_config(tmp_path, server, "searxng", rate=1 / 60), cancel_token=stop)
        assert not (tmp_path / "data.jsonl").exists()
        before = len(server.searched)
        result = collect_results(tmp_path, server, "searxng")
    assert before == 1  # the call under way came home
    assert (result.calls_made, result.incomplete) == (3, None)


def test_a_torn_last_line_is_asked_again(tmp_path: Path) -> None:
    write_queries(tmp_path, *QUERIES)
    with EngineServer(return_three) as server:
        first = collect_results(tmp_path, server, "exa")
        full_bytes = first.data.read_bytes()
        first.raw_log.write_bytes(first.raw_log.read_bytes()[:-20])
        again = collect_results(tmp_path, server, "exa")
    assert again.calls_made == 1
    assert len(again.raw_log.read_bytes().splitlines()) == 4
    assert again.data.read_bytes().count(b"\n") == full_bytes.count(b"\n")


def test_the_dataset_is_read_as_it_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("a\ttea\nb\tcoffee\nc\twine\n", encoding="utf-8")
    pages = {"tea": Page(make_results("tea")), "coffee": Page(), "wine": Page(status=400, body="{}")}
    with EngineServer(lambda request: pages[request.query]) as server:
        result = collect_results(tmp_path, server, "brave")
    data = read_dataset(result.data, lang="auto", max_chars=4000)
    tea, coffee, wine = data.rankings
    assert tea.snippets[0].text == "tea at & rank 1"
    assert tea.snippets[0].raw_text == "<b>tea</b> at &amp; rank 1"
    assert tea.latency_ms is not None
    assert (coffee.snippets, coffee.error) == ((), None)
    assert wine.error is not None
    assert wine.latency_ms is None


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("queries.tsv", "NAME.jsonl"),
        ("/", "NAME.jsonl"),
        ("theirs.jsonl", "judge collect did not write it"),
        ("held.jsonl", "another judge"),
        ("/proc/x.jsonl", "/proc/x.jsonl: cannot be written: No such file or directory"),
    ],
)
def test_nothing_else_is_overwritten(out: str, expected: str, tmp_path: Path) -> None:
    from filelock import FileLock

    write_queries(tmp_path, "tea")
    (tmp_path / "theirs.jsonl").write_text("{}\n", encoding="utf-8")
    with (
        EngineServer(return_three) as server,
        FileLock(tmp_path / ".held.jsonl.lock"),
        pytest.raises(InputError, match=expected),
    ):
        collect_results(tmp_path, server, "exa", out=str(tmp_path / out))
    assert not server.searched
