"""Refusals: told apart by what each engine says, in one message with one hint."""

import json
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from aiohttp import web

from tests.support.cases import check_each
from tests.support.fake_engines import EngineServer, Page
from tests.unit.collect.engine_calls import (
    KEYS,
    collect_results,
    count_answered,
    read_answers,
    return_three,
    write_queries,
)

#: Errors as each engine words them: status, body, and the kind they are.
REFUSED = (
    ("searxng", 403, "<html><title>403 Forbidden</title></html>", "auth"),
    (
        "brave",
        422,
        {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "bad"}},
        "auth",
    ),
    (
        "brave",
        429,
        {"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "slow"}},
        "rate_limit",
    ),
    (
        "bing",
        401,
        {"_type": "ErrorResponse", "errors": [{"code": "InvalidAuthorization", "message": "no"}]},
        "auth",
    ),
    ("bing", 403, {"errors": [{"code": "X", "message": "Out of call volume quota."}]}, "quota"),
    ("serper", 403, {"message": "Unauthorized.", "statusCode": 403}, "auth"),
    ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, "quota"),
    ("serpapi-google", 401, {"error": "Invalid API key. Your API key should be here: https://a"}, "auth"),
    ("serpapi-baidu", 429, {"error": "Your account has run out of searches."}, "quota"),
    (
        "serpapi-bing",
        503,
        {"search_metadata": {"status": "Error"}, "error": "try again later"},
        "server_error",
    ),
    ("tavily", 401, {"detail": {"error": "Unauthorized: missing or invalid API key."}}, "auth"),
    ("tavily", 432, {"detail": {"error": "This request exceeds your plan's set usage limit."}}, "quota"),
    ("exa", 402, {"requestId": "r", "error": "no credits", "tag": "NO_MORE_CREDITS"}, "quota"),
    ("exa", 400, {"requestId": "r", "error": "numResults", "tag": "INVALID_REQUEST"}, "bad_request"),
    ("aliyun-iqs", 403, {"requestId": "r", "code": "Retrieval.Arrears", "message": "owes"}, "quota"),
    (
        "aliyun-iqs",
        200,
        {"requestId": "r", "errorCode": "Retrieval.NotActivate", "errorMessage": "x"},
        "auth",
    ),
    ("aliyun-iqs", 429, {"code": "Retrieval.Throttling.User", "message": "slow"}, "rate_limit"),
    ("aliyun-iqs", 429, {"code": "Throttling.AllocationQuota", "message": "slow"}, "rate_limit"),
    ("bocha", 403, {"code": "403", "message": "You do not have enough money", "log_id": "l"}, "quota"),
    ("bocha", 200, {"code": 401, "message": "Invalid API KEY", "log_id": "l"}, "auth"),
)


@pytest.mark.parametrize(("engine", "status", "body", "kind"), REFUSED)
def test_errors_are_told_apart_by_what_each_engine_says(
    engine: str, status: int, body: object, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)
    write_queries(tmp_path, "tea", "coffee")
    text = body if isinstance(body, str) else json.dumps(body)
    with EngineServer(lambda _: Page(status=status, body=text)) as server:
        result = collect_results(tmp_path, server, engine, attempts=1, max_wait=0)
    assert count_answered(result) == {engine: 0}
    assert read_answers(tmp_path, engine)[0]["error"].startswith(f"{kind}: "), read_answers(tmp_path, engine)[
        0
    ]


@check_each(
    ("location", "expected"),
    [
        ("https://login.example/in?token=hush#x", "it redirects to 'https://login.example/in' "),
        ("/elsewhere?q=hush", "it redirects to '/elsewhere' "),
        ("http://me:hush@a.example/", "it redirects to 'http://a.example/' "),
        ("http://[hush", "Found "),
        (None, "Found "),
    ],
)
@check_each("engine", ["searxng", "exa"])
def test_where_an_engine_redirects_is_said_once(
    engine: str, location: str | None, expected: str, tmp_path: Path
) -> None:
    headers = {"Location": location} if location else {}
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(status=302, body="302: Found", headers=headers)) as server:
        collect_results(tmp_path, server, engine)
    [answer] = read_answers(tmp_path, engine)
    assert answer["error"] == f"not_found: HTTP 302: {expected}(check the engine's address, see --base-url)"


@pytest.mark.parametrize(
    ("status", "expected", "common"),
    [
        (403, "auth: HTTP 403: no", " (check the key and its permissions)"),
        (429, "rate_limit: HTTP 429: no", ""),
    ],
)
def test_an_engine_that_turns_everybody_away_has_one_hint(
    status: int, expected: str, common: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(status=status, body=f"{status}: no")) as server:
        collect_results(tmp_path, server, "searxng", "exa", max_wait=0)
    [own], [other] = read_answers(tmp_path, "searxng"), read_answers(tmp_path, "exa")
    assert own["error"].startswith(f"{expected} (its settings.yml must have json")
    assert own["error"].count("(") == 1
    assert other["error"] == expected + common


def test_a_request_that_breaks_on_a_kept_connection_is_counted_each_time(tmp_path: Path) -> None:
    class Breaking(EngineServer):
        """Answers the first request of each connection and breaks the connection at the second."""

        seen: ClassVar[Counter[object]] = Counter()

        async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
            self.seen[request.transport] += 1
            if self.seen[request.transport] > 1 and request.transport is not None:
                request.transport.abort()
                return web.Response()
            return await super()._serve(request)

    write_queries(tmp_path, *(f"query {number}" for number in range(3)))
    with Breaking(return_three) as server:
        result = collect_results(tmp_path, server, "searxng", attempts=9, rate=200.0)
        assert result.calls_made == server.seen.total() > 3
    assert count_answered(result) == {"searxng": 3}
