"""Every engine's wire: what is asked, how answers, empty answers and errors are read."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from judge.collect.collection import collect
from judge.collect.raw_log import read_raw_log
from judge.collect.registry import KNOWN
from judge.config.collect import CollectConfig
from judge.errors import SetupError
from tests.support.cases import check_each
from tests.support.fake_engines import DATE, EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import (
    CANARY,
    KEYS,
    collect_results,
    count_answered,
    make_config,
    make_results,
    read_answers,
    return_three,
    write_queries,
)

#: What each engine gets for the query 茶 & tea at depth 10, besides its key.
SENT: dict[str, dict[str, Any]] = {
    "searxng": {"q": "茶 & tea", "format": "json", "pageno": "1", "language": "zh-CN"},
    "brave": {
        "q": "茶 & tea",
        "count": "10",
        "offset": "0",
        "result_filter": "web",
        "search_lang": "zh-hans",
        "country": "CN",
    },
    "bing": {
        "q": "茶 & tea",
        "count": "10",
        "offset": "0",
        "responseFilter": "Webpages",
        "setLang": "zh-hans",
        "cc": "CN",
    },
    "serper": {"q": "茶 & tea", "num": 10, "page": 1, "hl": "zh-cn", "gl": "cn"},
    "serpapi-google": {
        "engine": "google",
        "q": "茶 & tea",
        "no_cache": "true",
        "num": "10",
        "start": "0",
        "hl": "zh-cn",
        "gl": "cn",
    },
    "serpapi-baidu": {"engine": "baidu", "q": "茶 & tea", "no_cache": "true", "rn": "10", "pn": "0"},
    "serpapi-bing": {
        "engine": "bing",
        "q": "茶 & tea",
        "no_cache": "true",
        "count": "10",
        "first": "1",
        "cc": "cn",
    },
    "tavily": {"query": "茶 & tea", "max_results": 10, "search_depth": "basic"},
    "exa": {
        "query": "茶 & tea",
        "numResults": 10,
        "userLocation": "CN",
        "contents": {"highlights": True},
    },
    "aliyun-iqs": {
        "query": "茶 & tea",
        "engineType": "LiteAdvanced",
        "timeRange": "NoLimit",
        "contents": {"mainText": False, "markdownText": False, "summary": False, "rerankScore": True},
        "advancedParams": {"numResults": "10"},
    },
    "aliyun-iqs-generic": {
        "query": "茶 & tea",
        "engineType": "Generic",
        "timeRange": "NoLimit",
        "contents": {"mainText": False, "markdownText": False, "summary": False, "rerankScore": True},
    },
    "aliyun-iqs-generic-advanced": {
        "query": "茶 & tea",
        "engineType": "GenericAdvanced",
        "timeRange": "NoLimit",
        "contents": {"mainText": False, "markdownText": False, "summary": False, "rerankScore": True},
    },
    "bocha": {"query": "茶 & tea", "count": 10, "page": 1, "summary": False},
}
#: The header or parameter that carries each engine's key.
KEY_AT = {
    "brave": "X-Subscription-Token",
    "bing": "Ocp-Apim-Subscription-Key",
    "serper": "X-API-KEY",
    "serpapi-google": "api_key",
    "serpapi-baidu": "api_key",
    "serpapi-bing": "api_key",
    "tavily": "Authorization",
    "exa": "x-api-key",
    "aliyun-iqs": "Authorization",
    "aliyun-iqs-generic": "Authorization",
    "aliyun-iqs-generic-advanced": "Authorization",
    "bocha": "Authorization",
}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("engine", KNOWN)
def test_each_engine_is_asked_in_its_own_words_and_its_results_are_kept_raw(
    engine: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "茶 & tea")
    with EngineServer(return_three) as server:
        result = collect_results(tmp_path, server, engine, lang="zh-CN", country="cn")
    assert result.incomplete is None
    [request] = server.select_requests(engine)
    sent = dict(request.sent)
    if engine in KEY_AT:
        key = sent.pop("api_key") if KEY_AT[engine] == "api_key" else request.headers[KEY_AT[engine]]
        assert key.removeprefix("Bearer ") == CANARY
    assert sent == SENT[engine]
    [answer] = read_answers(tmp_path, engine)
    assert answer["latency_ms"] > 0
    assert answer["results"] == [
        {"title": title, "url": url, "snippet": snippet, "date": DATE}
        for title, url, snippet in make_results("茶 & tea")
    ]


@check_each("engine", KNOWN)
def test_nothing_found_is_an_empty_list_and_no_error(engine: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page()) as server:
        result = collect_results(tmp_path, server, engine)
    assert result.incomplete is None
    assert [answer["results"] for answer in read_answers(tmp_path, engine)] == [[]]


@check_each("body", ["", "<html>busy</html>", "[]", "{}", "null", '{"results": 3}', "[" * 5000])
@check_each("engine", KNOWN)
def test_garbage_is_an_error_and_no_empty_list(engine: str, body: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(body=body)) as server:
        result = collect_results(tmp_path, server, engine, attempts=1)
    assert result.incomplete is not None
    assert read_answers(tmp_path, engine)[0]["error"].startswith("server_error: ")


@check_each("depth", [90, 600, 900])
@check_each("body", ['{"results": [{"title": "x", "content": %s}]}', '{"error": {"message": %s}}'])
def test_an_answer_nested_beyond_reason_ends_nothing(body: str, depth: int, tmp_path: Path) -> None:
    nested = body % ("[" * depth + '"x"' + "]" * depth)
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(
        lambda request: Page(body=nested) if request.query == "tea" else return_three(request)
    ) as server:
        result = collect_results(tmp_path, server, "searxng", attempts=1)
    assert count_answered(result)["searxng"] == (2 if depth < 100 and "results" in body else 1)
    assert read_answers(tmp_path, "searxng")[1]["results"]
    assert nested in [entry.body for entry in read_raw_log(result.raw_log)]


@pytest.mark.parametrize("key", ["test", "e"])
def test_a_key_that_is_a_word_alters_no_answer(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAVE_SEARCH_API_KEY", key)
    write_queries(tmp_path, "test driven development")
    with EngineServer(return_three) as server:
        result = collect_results(tmp_path, server, "brave")
    assert result.incomplete is None
    [answer] = read_answers(tmp_path, "brave")
    assert [each["title"] for each in answer["results"]] == [
        title for title, _, _ in make_results("test driven development")
    ]


def test_a_searxng_whose_engines_all_kept_silent_has_not_searched(tmp_path: Path) -> None:
    body = json.dumps({"query": "tea", "results": [], "unresponsive_engines": [["google", "CAPTCHA"]]})
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(body=body)) as server:
        collect_results(tmp_path, server, "searxng", attempts=1)
    assert "CAPTCHA" in read_answers(tmp_path, "searxng")[0]["error"]


def test_a_later_page_without_results_ends_the_list_of_searxng(tmp_path: Path) -> None:
    """One of its engines is often silent; the first page has its results all the same."""

    def make_page(request: SearchRequest) -> Page:
        if request.sent["pageno"] == "1":
            return Page(make_results("tea", 8))
        silent = [["qwant", "timeout"]]
        return Page(body=json.dumps({"query": "tea", "results": [], "unresponsive_engines": silent}))

    write_queries(tmp_path, "tea")
    with EngineServer(make_page) as server:
        result = collect_results(tmp_path, server, "searxng", depth=20)
    assert len(read_answers(tmp_path, "searxng")[0]["results"]) == 8
    assert list(result.short_lists.values()) == [
        "searxng returned at most 8 of the 20 requested results; lower the depth"
    ]


def test_an_engine_with_a_last_page_is_not_asked_beyond_it(tmp_path: Path) -> None:
    """Brave refuses an offset of 10, and the results before it would be lost."""
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: Page(make_results(request.sent["offset"], 20))) as server:
        result = collect_results(tmp_path, server, "brave", depth=250)
    assert sorted(int(each.sent["offset"]) for each in server.searched) == list(range(10))
    assert len(read_answers(tmp_path, "brave")[0]["results"]) == 200
    assert result.short_lists["brave"].startswith("brave returned at most 200 of the 250 requested results")


def test_pages_are_turned_until_the_depth_is_reached_or_one_is_empty(tmp_path: Path) -> None:
    def make_page(request: SearchRequest) -> Page:
        if request.query == "rare" and request.sent["pageno"] == "2":
            return Page()
        return Page(make_results(f"{request.query} {request.sent['pageno']}", 10))

    write_queries(tmp_path, "common", "rare")
    with EngineServer(make_page) as server:
        result = collect_results(tmp_path, server, "searxng", depth=25)
    assert (result.engines["searxng"].short, result.remarks, result.short_lists) == (1, (), {})
    common, rare = read_answers(tmp_path, "searxng")
    assert [each["title"] for each in common["results"]] == [
        *(f"common 1 {rank}" for rank in range(1, 11)),
        *(f"common 2 {rank}" for rank in range(1, 11)),
        *(f"common 3 {rank}" for rank in range(1, 6)),
    ]
    assert len(rare["results"]) == 10
    assert sorted((each.query, each.sent["pageno"]) for each in server.searched) == [
        *(("common", page) for page in "123"),
        *(("rare", page) for page in "12"),
    ]


def test_an_engine_without_a_second_page_is_asked_once(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: Page(make_results(request.query, 20))) as server:
        result = collect_results(tmp_path, server, "tavily", depth=50)
    assert [each.sent["max_results"] for each in server.searched] == [20]
    assert result.short_lists["tavily"].startswith("tavily returned at most 20 of the 50 requested results")


def test_a_described_engine_is_asked_as_its_table_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", CANARY)
    write_queries(tmp_path, "茶 & tea")
    toml = tmp_path / "judge.toml"
    toml.write_text(
        f'''
        [collect]
        queries = "{tmp_path}/queries.tsv"
        out = "{tmp_path}/data.jsonl"
        engine = ["http:mine"]
        [collect.engines.mine]
        url = "https://mine.example/find?n={{count}}&start={{offset}}&text={{query}}&l={{lang}}&id={{key}}"
        params = {{ range = "{{skipped_pages}}:{{offset}}-{{count}}", by = "me {{key}}", keywords = "all" }}
        key = "MINE"
        headers = {{ X-Token = "token {{key}}" }}
        secrets = {{ sig = "{{key}}" }}
        results = "data.items"
        fields = {{ title = "name", url = ["link", "href"], snippet = "text" }}
        ''',
        encoding="utf-8",
    )
    with EngineServer(return_three) as server:
        collect(CollectConfig.load(toml, base_urls={"mine": server.url}))
    [request] = server.searched
    assert request.sent == {
        "n": "10",
        "start": "0",
        "range": "0:0-10",
        "text": "茶 & tea",
        "sig": CANARY,
        "id": CANARY,
        "by": f"me {CANARY}",
        "keywords": "all",
    }
    assert "keywords" in (tmp_path / "data.jsonl.raw.jsonl").read_text()
    assert request.headers["X-Token"] == f"token {CANARY}"
    assert [each["url"] for each in read_answers(tmp_path, "mine")[0]["results"]] == [
        url for _, url, _ in make_results("x")
    ]


@check_each(
    "given",
    [
        {"headers": {"Authorization": f"Bearer {CANARY}"}},
        {"headers": {"X-Api-Key": CANARY}},
        {"secrets": {"sig": CANARY}},
        {"params": {"api_key": CANARY}},
        {"url": f"http://127.0.0.1:9/find?q={{query}}&access_token={quote(CANARY)}"},
        {"body": {"q": "{query}", "auth": {"token": CANARY, "as": "me"}}},
        {"body": {"q": "{query}", "auth": {"password": [CANARY]}}},
    ],
)
def test_a_key_that_stands_in_the_table_is_in_no_file_and_no_message(
    given: dict[str, Any], tmp_path: Path
) -> None:
    table = {"url": "http://127.0.0.1:9/find?q={query}", "results": "items", **given}
    write_queries(tmp_path, "tea", "coffee")

    def repeat_key(request: SearchRequest) -> Page:
        body = json.dumps({"items": [{"title": f"got {CANARY}"}]})
        return Page(body=body) if request.query == "tea" else Page(status=403, body=f"no {CANARY}")

    with EngineServer(repeat_key) as server:
        result = collect_results(tmp_path, server, "http:mine", engine_tables={"mine": table})
    assert result.incomplete is not None
    assert CANARY not in str(result.incomplete)
    assert all(CANARY in f"{request.headers} {request.sent}" for request in server.searched)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(CANARY.encode() in content for content in files)


def test_the_key_in_a_body_is_sent_and_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", CANARY)
    write_queries(tmp_path, "tea")
    body = {"q": "{query}", "user": {"name": "me", "pass": "{key}"}, "by": ["key {key}"], "max_tokens": 5}
    table = {"url": "http://127.0.0.1:9/find", "key": "MINE", "body": body, "results": "data.items"}
    with EngineServer(return_three) as server:
        collect_results(tmp_path, server, "http:mine", engine_tables={"mine": table})
    [request] = server.searched
    user = {"name": "me", "pass": CANARY}
    assert request.sent == {"q": "tea", "user": user, "by": [f"key {CANARY}"], "max_tokens": 5}
    [entry] = read_raw_log(tmp_path / "data.jsonl.raw.jsonl")
    assert json.loads(entry.request.body) == {"q": "tea", "user": {"name": "me"}, "max_tokens": 5}


@pytest.mark.parametrize("found", [0, 10])
def test_an_engine_that_returned_nothing_or_the_depth_has_no_remark(found: int, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: Page(make_results(request.query, found))) as server:
        result = collect_results(tmp_path, server, "exa")
    assert (result.engines["exa"].short, result.remarks) == (0, ())


def test_an_engine_that_returns_more_than_a_page_has_no_remark(tmp_path: Path) -> None:
    address = "http://127.0.0.1:9/find?q={query}"
    table = {"url": address, "results": "data.items", "fields": {"title": "name"}}
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: Page(make_results(request.query, 25))) as server:
        result = collect_results(tmp_path, server, "http:mine", engine_tables={"mine": table}, depth=25)
    assert (result.engines["mine"].results, result.remarks) == (25, ())


def test_a_described_engine_with_other_literals_is_asked_anew(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    table = {
        "url": "http://127.0.0.1:9/find?q={query}",
        "results": "data.items",
        "fields": {"title": "name"},
    }
    given: tuple[dict[str, Any], ...] = (
        {},
        {"headers": {"X-Market": "us"}},
        {"headers": {"X-Market": "cn"}},
        {"headers": {"X-Market": "cn", "X-Token": "token {key}"}},
        {"body": {"q": "{query}", "market": "us"}},
        {"body": {"q": "{query}", "market": "cn"}},
    )
    with EngineServer(return_three) as server:
        tables = [{"mine": {**table, **more}} for more in given]
        made = [
            collect_results(tmp_path, server, "http:mine", engine_tables=each).calls_made for each in tables
        ]
        again = [
            collect_results(tmp_path, server, "http:mine", engine_tables=each).calls_made for each in tables
        ]
    assert made == [1, 1, 1, 0, 1, 1]
    assert again == [0] * 6


def test_a_public_address_needs_its_key_and_one_of_your_own_its_address(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(return_three) as server:
        for engine, line in (("brave", "BRAVE_SEARCH_API_KEY"), ("searxng", "with --base-url")):
            with pytest.raises(SetupError, match=line):
                collect_results(tmp_path, server, engine, base_urls={})
        assert make_config(tmp_path, server, "brave").base_urls == {"brave": server.url}
    assert not server.searched
