"""No request but those of our own page is answered: forged ones go to the server that really runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.annotate import guard
from judge.annotate.serve import ServerAddress
from judge.errors import InputError
from tests.support.cases import check_each
from tests.unit.annotate.serving import LabelServer, judge_queries, label, serve_in_thread

TOKEN = "s3cret-token"  # noqa: S105
Header = tuple[str, str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge_queries(tmp_path_factory.mktemp("guard"), 2)


@pytest.fixture(scope="module")
def server(run: Path) -> Iterator[LabelServer]:
    with serve_in_thread(run, "open") as result:
        yield result


@pytest.fixture(scope="module")
def locked_server(run: Path) -> Iterator[LabelServer]:
    with serve_in_thread(run, "locked", TOKEN) as result:
        yield result


def make_request(
    server: LabelServer,
    body: Any,
    *,
    start: str = "POST /label HTTP/1.1",
    change: dict[str, str | None] | None = None,
    more: tuple[Header, ...] = (),
) -> bytes:
    """The bytes of what the page would send, with some headers changed (None: left out) or added."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers: dict[str, str | None] = {
        "Host": f"127.0.0.1:{server.port}",
        **server.make_headers(),
        "Content-Length": str(len(content)),
        **({"X-Judge-Token": server.token} if server.token else {}),
        **(change or {}),
    }
    fields = [*((name, value) for name, value in headers.items() if value is not None), *more]
    lines = [start, *(f"{name}: {value}" for name, value in fields), "Connection: close", "", ""]
    return "\r\n".join(lines).replace("PORT", str(server.port)).encode() + content


def read_status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


Forged = tuple[str, dict[str, Any]]
HEADERS: list[Forged] = [
    ("foreign host", {"change": {"Host": "evil.example"}}),
    ("foreign host with our port", {"change": {"Host": "evil.example:PORT"}}),
    (
        "rebound name, its own origin",
        {"change": {"Host": "evil.example:PORT", "Origin": "http://evil.example:PORT"}},
    ),
    ("host that ends like ours", {"change": {"Host": "evil-127.0.0.1:PORT"}}),
    ("host that begins like ours", {"change": {"Host": "127.0.0.1.evil.example:PORT"}}),
    ("another port", {"change": {"Host": "127.0.0.1:1"}}),
    ("no port", {"change": {"Host": "127.0.0.1"}}),
    ("user in the host", {"change": {"Host": "127.0.0.1:PORT@evil.example"}}),
    ("another numeric address", {"change": {"Host": "192.168.0.7:PORT"}}),
    ("no host", {"change": {"Host": None}}),
    ("empty host", {"change": {"Host": ""}}),
    ("no host, HTTP/1.0", {"start": "POST /label HTTP/1.0", "change": {"Host": None}}),
    ("doubled host", {"more": (("Host", "evil.example"),)}),
    ("the same host twice", {"more": (("host", "127.0.0.1:PORT"),)}),
    ("no origin", {"change": {"Origin": None}}),
    ("null origin", {"change": {"Origin": "null"}}),
    ("foreign origin", {"change": {"Origin": "http://evil.example"}}),
    ("https origin", {"change": {"Origin": "https://127.0.0.1:PORT"}}),
    ("origin of another port", {"change": {"Origin": "http://127.0.0.1:1"}}),
    ("origin of another of our names", {"change": {"Origin": "http://localhost:PORT"}}),
    ("origin with a path", {"change": {"Origin": "http://127.0.0.1:PORT/"}}),
    ("doubled origin", {"more": (("Origin", "http://127.0.0.1:PORT"),)}),
    ("two origins in one", {"change": {"Origin": "http://127.0.0.1:PORT, http://evil.example"}}),
    ("asked for by another site", {"change": {"Sec-Fetch-Site": "cross-site"}}),
    ("asked for by a sister site", {"change": {"Sec-Fetch-Site": "same-site"}}),
    ("doubled site", {"more": (("Sec-Fetch-Site", "same-origin"),)}),
    ("form as text", {"change": {"Content-Type": "text/plain", "X-Judge": None}}),
    ("form", {"change": {"Content-Type": "application/x-www-form-urlencoded", "X-Judge": None}}),
    ("JSON as text", {"change": {"Content-Type": "text/plain"}}),
    ("JSON as a form", {"change": {"Content-Type": "multipart/form-data; boundary=application/json"}}),
    ("no type", {"change": {"Content-Type": None}}),
    ("no header of ours", {"change": {"X-Judge": None}}),
    ("another header of ours", {"change": {"X-Judge": "label"}}),
    ("doubled header of ours", {"more": (("X-Judge", "annotate"),)}),
]
TARGETS: list[Forged] = [
    (start, {"start": f"{start} HTTP/1.1"})
    for start in (
        *("GET /label", "HEAD /label", "PUT /label", "DELETE /label", "PATCH /label", "OPTIONS /label"),
        *("GET /undo", "GET /finish", "GET /export", "HEAD /finish", "TRACE /label", "CONNECT /label"),
        *(
            "POST /label/",
            "POST //label",
            "POST /%6cabel",
            "POST /x/../label",
            "POST /./label",
            "POST /LABEL",
        ),
        *("POST http://evil.example/label", "POST http://127.0.0.1:PORT/label", "POST *", "POST label"),
        *("GET /../../etc/passwd", "GET /%2e%2e/%2e%2e/etc/passwd", "GET /labels/open.jsonl"),
        *("GET /templates/page.js", "GET /judge.sqlite", "GET /?/../label/x/", "POST /", "POST /state"),
    )
    # Asking for the page with a query is not a forgery.
    if "?" not in start
]


def get_refusal(server: LabelServer, run: Path, request: bytes) -> bytes:
    """The answer, a refusal that wrote nothing."""
    answer = server.send_raw(request)
    assert 400 <= read_status(answer) < 500, answer
    assert not (run / "labels" / f"{server.ask('/state')[1]['who']}.jsonl").exists()
    return answer


@pytest.mark.parametrize(("_name", "forged"), HEADERS, ids=[name for name, _ in HEADERS])
def test_a_forged_header_is_refused_and_writes_nothing(
    server: LabelServer, run: Path, _name: str, forged: dict[str, Any]
) -> None:
    body = label(server.ask("/state")[1], 1, 2)
    get_refusal(server, run, make_request(server, body, **forged))


@pytest.mark.parametrize(
    ("forged", "english", "chinese"),
    [
        (
            {"change": {"Host": "evil.example"}},
            "the header Host is missing or wrong: open the address that judge annotate printed, in this tab",
            "请求头 Host 缺失或不正确：请在此标签页中打开 judge annotate 输出的地址",
        ),
        (
            {"change": {"Origin": None}},
            "the header Origin is missing or wrong: open the address that judge annotate printed, in this"
            " tab",
            "请求头 Origin 缺失或不正确：请在此标签页中打开 judge annotate 输出的地址",
        ),
        (
            {"change": {"X-Judge-Token": "none of ours"}},
            "the token is missing or wrong: open the address that judge annotate printed, in this tab",
            "令牌缺失或不正确：请在此标签页中打开 judge annotate 输出的地址",
        ),
        (
            {"start": "PUT /label HTTP/1.1"},
            "the method is 'PUT'; it must be GET or POST",
            "请求方法为 'PUT'，必须为 GET 或 POST",
        ),
        (
            {"change": {"Content-Type": "text/plain"}},
            "the header Content-Type is missing or wrong: open the address that judge annotate printed, in"
            " this tab",
            "请求头 Content-Type 缺失或不正确：请在此标签页中打开 judge annotate 输出的地址",
        ),
        (
            {"start": "POST /%6cabel HTTP/1.1"},
            "this server has no page at this address",
            "此服务器上没有该地址对应的页面",
        ),
        ({"body": "x" * 70_000}, "the request has more than 65,536 bytes", "请求超过 65,536 字节"),
    ],
)
def test_a_refusal_says_in_both_languages_what_is_wrong(
    server: LabelServer, forged: dict[str, Any], english: str, chinese: str
) -> None:
    for language, text in (("en", english), ("zh-CN", chinese)):
        answer = server.send_raw(
            make_request(server, **{"body": {}, "more": (("Accept-Language", language),), **forged})
        )
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert error == text.replace("PORT", str(server.port))


@pytest.mark.parametrize(("_name", "forged"), TARGETS, ids=[name for name, _ in TARGETS])
def test_another_method_or_address_is_refused_and_writes_nothing(
    server: LabelServer, run: Path, _name: str, forged: dict[str, Any]
) -> None:
    body = label(server.ask("/state")[1], 1, 2)
    answer = get_refusal(server, run, make_request(server, body, **forged))
    assert b"root:" not in answer


BODIES: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("no JSON", lambda valid: b"grade=3"),
    ("nothing", lambda valid: b""),
    ("not an object", lambda valid: [valid]),
    ("half an object", lambda valid: json.dumps(valid).encode()[:-1]),
    ("not UTF-8", lambda valid: b'{"who": "\xff"}'),
    ("too deep", lambda valid: b"[" * 30_000),
    ("too large", lambda valid: {**valid, "comment": "x" * 70_000}),
    ("far too large", lambda valid: {**valid, "comment": "x" * 900_000}),
    ("a long comment", lambda valid: {**valid, "comment": "x" * 5_000}),
    ("a field twice", lambda valid: json.dumps(valid).encode()[:-1] + b', "grade": 3}'),
    ("another person", lambda valid: {**valid, "who": "bob"}),
    ("a path for a person", lambda valid: {**valid, "who": "../../bob"}),
    ("one field more", lambda valid: {**valid, "path": "../x"}),
    ("one field less", lambda valid: {name: valid[name] for name in ("who", "id", "grade")}),
    ("another query", lambda valid: {**valid, "query_id": "q999"}),
    ("another query's snippet", lambda valid: {**valid, "query_id": f"q{1 - int(valid['query_id'][1])}"}),
    ("a path for a snippet", lambda valid: {**valid, "snippet_id": "../../etc/passwd"}),
    ("a list for a query", lambda valid: {**valid, "query_id": ["q0"]}),
    ("above the scale", lambda valid: {**valid, "grade": 4}),
    ("below the scale", lambda valid: {**valid, "grade": -1}),
    ("half a grade", lambda valid: {**valid, "grade": 2.0}),
    ("true for a grade", lambda valid: {**valid, "grade": True}),
    ("a text for a grade", lambda valid: {**valid, "grade": "3"}),
    ("no number", lambda valid: json.dumps({**valid, "grade": float("nan")}).encode()),
    ("no id", lambda valid: {**valid, "id": None}),
    ("a path for an id", lambda valid: {**valid, "id": "../" * 8}),
    ("a path for what it replaces", lambda valid: {**valid, "replaces": "../" * 8}),
    ("a short id", lambda valid: {**valid, "id": "1"}),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "spoil"), BODIES, ids=[name for name, _ in BODIES])
def test_a_forged_body_is_refused_and_writes_nothing(
    server: LabelServer, run: Path, _name: str, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    body = spoil(label(server.ask("/state")[1], 1, 2))
    get_refusal(server, run, make_request(server, body))


def test_a_body_that_never_says_its_size_is_cut_off(server: LabelServer, run: Path) -> None:
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    request = make_request(
        server, b"", change={"Content-Length": None}, more=(("Transfer-Encoding", "chunked"),)
    )
    get_refusal(server, run, request + 17 * chunk)
    both = make_request(server, b"0\r\n\r\n", more=(("Transfer-Encoding", "chunked"),))
    assert read_status(server.send_raw(both)) == 400
    assert not (run / "labels" / "open.jsonl").exists()


@pytest.mark.parametrize("path", ["undo", "export", "finish"])
def test_the_other_writes_are_guarded_alike(server: LabelServer, run: Path, path: str) -> None:
    start = f"POST /{path} HTTP/1.1"
    body = {"id": "0" * 32} if path == "undo" else {}
    for change in (
        {"Origin": "null"},
        {"X-Judge": None},
        {"Content-Type": "text/plain"},
        {"Host": "x.example"},
    ):
        get_refusal(server, run, make_request(server, body, start=start, change=change))  # type: ignore[arg-type]
    # In time, but with nothing to undo and not everything labelled.
    if path != "export":
        get_refusal(server, run, make_request(server, body, start=start))


@pytest.mark.parametrize("at", ["-1", "8", "x", "1e3", "9999999999", "1&at=x", "٣", ""])
def test_there_is_no_pair_beyond_the_tasks(server: LabelServer, at: str) -> None:
    request = make_request(server, b"", start=f"GET /state?at={at} HTTP/1.1")
    assert read_status(server.send_raw(request)) == 400


@pytest.mark.parametrize("path", ["/", "/state"])
def test_reading_is_for_our_own_page_too(server: LabelServer, path: str) -> None:
    for change in ({"Host": "evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = server.send_raw(make_request(server, b"", start=f"GET {path} HTTP/1.1", change=change))  # type: ignore[arg-type]
        assert read_status(answer) == 403
        assert b"question" not in answer


def test_the_page_itself_is_answered_and_locked_down(server: LabelServer) -> None:
    for host in ("127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT"):
        bare: dict[str, str | None] = dict.fromkeys(("Origin", "X-Judge", "Content-Type", "Content-Length"))
        request = make_request(
            server, b"", start="GET / HTTP/1.1", change={**bare, "Host": host, "Sec-Fetch-Site": "none"}
        )
        head, _, body = server.send_raw(request).partition(b"\r\n\r\n")
        assert read_status(head) == 200
        assert b"<!doctype html>" in body
    text = head.decode().lower()
    for header in (
        "content-security-policy: default-src 'none';",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ):
        assert header in text
    assert "server:" not in text
    assert "access-control" not in text


def test_a_refusal_is_locked_down_too(server: LabelServer) -> None:
    answer = server.send_raw(make_request(server, {}, change={"Host": "evil.example"})).lower()
    assert b"content-security-policy: default-src 'none';" in answer
    assert b"cache-control: no-store" in answer


@pytest.mark.parametrize(
    "token", [None, "", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), f'"{TOKEN}"', "Bearer " + TOKEN, "é" * 8]
)
def test_without_the_token_nothing_is_told_or_written(
    locked_server: LabelServer, run: Path, token: str | None
) -> None:
    body = label(locked_server.ask("/state")[1], 1, 2)
    for start in ("POST /label HTTP/1.1", "GET /state HTTP/1.1", f"GET /state?token={TOKEN} HTTP/1.1"):
        answer = get_refusal(
            locked_server,
            run,
            make_request(locked_server, body, start=start, change={"X-Judge-Token": token}),
        )
        assert b"question" not in answer
        assert TOKEN.encode() not in answer


def test_the_token_twice_or_elsewhere_is_no_token(locked_server: LabelServer, run: Path) -> None:
    body = label(locked_server.ask("/state")[1], 1, 2)
    get_refusal(locked_server, run, make_request(locked_server, body, more=(("X-Judge-Token", TOKEN),)))
    for name in ("Cookie", "Authorization"):
        more = ((name, f"X-Judge-Token={TOKEN}"),)
        get_refusal(
            locked_server, run, make_request(locked_server, body, change={"X-Judge-Token": None}, more=more)
        )


def test_the_page_of_a_locked_server_holds_nothing(locked_server: LabelServer) -> None:
    request = make_request(
        locked_server, b"", start="GET / HTTP/1.1", change={"X-Judge-Token": None, "Origin": None}
    )
    answer = locked_server.send_raw(request)
    assert read_status(answer) == 200
    for secret in (b"question", b"night", b"locked", TOKEN.encode()):
        assert secret not in answer


def test_the_same_requests_unforged_are_answered(run: Path) -> None:
    """Else the refusals above would show nothing."""
    for token in (None, TOKEN):
        with serve_in_thread(run, f"honest{token}", token) as server:
            body = label(server.ask("/state")[1], 1, 2)
            assert read_status(server.send_raw(make_request(server, body))) == 200
            local = {"Host": "localhost:PORT", "Origin": "http://localhost:PORT"}
            assert read_status(server.send_raw(make_request(server, body, change=local))) == 200  # type: ignore[arg-type]
            assert server.ask("/state")[1]["labelled"] == 1
            assert (
                read_status(server.send_raw(make_request(server, {}, start="POST /export HTTP/1.1"))) == 200
            )
            assert (
                read_status(
                    server.send_raw(make_request(server, {"id": body["id"]}, start="POST /undo HTTP/1.1"))
                )
                == 200
            )
            assert server.ask("/state")[1]["labelled"] == 0


def test_every_start_has_a_token_that_nobody_gave() -> None:
    first, second = (ServerAddress("127.0.0.1", 0) for _ in range(2))
    assert first.token != second.token
    assert len(first.token) >= 32
    assert first.token not in repr(first) + repr(guard.make_policy("localhost", 80, first.token))


def test_another_user_of_this_machine_reads_and_writes_nothing(server: LabelServer, run: Path) -> None:
    body = label(server.ask("/state")[1], 1, 2)
    for start in (
        "POST /label HTTP/1.1",
        "GET /state HTTP/1.1",
        "POST /finish HTTP/1.1",
        "POST /export HTTP/1.1",
    ):
        answer = get_refusal(
            server, run, make_request(server, body, start=start, change={"X-Judge-Token": None})
        )
        assert read_status(answer) == 403
        assert b"question" not in answer


def test_a_link_leads_to_the_page_and_to_nothing_else(server: LabelServer) -> None:
    bare: dict[str, str | None] = dict.fromkeys(("Origin", "X-Judge", "Content-Type", "Content-Length"))
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path, change, expected in (
        ("/", {}, 200),
        ("/state", {}, 403),
        ("/", {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/", {"Sec-Fetch-Mode": "no-cors"}, 403),
        ("/", {"Origin": f"http://127.0.0.1:{server.port}"}, 403),
    ):
        request = make_request(server, b"", start=f"GET {path} HTTP/1.1", change={**bare, **visit, **change})
        assert read_status(server.send_raw(request)) == expected


def test_a_server_for_others_knows_its_address_alone_and_every_number_where_it_has_all() -> None:
    named = guard.make_policy("Judge.example", 8080, TOKEN)
    assert named.knows("judge.example:8080")
    assert not any(named.knows(host) for host in ("judge.example", "localhost:8080", "10.0.0.1:8080", ""))
    everywhere = guard.make_policy("0.0.0.0", 8080, TOKEN)  # noqa: S104
    assert all(everywhere.knows(host) for host in ("10.0.0.1:8080", "[fe80::1]:8080", "localhost:8080"))
    assert not any(
        everywhere.knows(host) for host in ("evil.example:8080", "10.0.0.1:1", "10.0.0.1", "1:8080")
    )
    # Browsers leave out port 80.
    assert guard.make_policy("127.0.0.1", 80, TOKEN).knows("127.0.0.1")


@check_each(
    ("host", "token"),
    [
        ("", TOKEN), ("a b", TOKEN), ("x/y", TOKEN), ("127.0.0.1:80", TOKEN), ("evil\r\n", TOKEN),
        ("127.0.0.1", ""), ("127.0.0.1", "short"), ("127.0.0.1", "with space"), ("127.0.0.1", "né" * 8),
    ],
)  # fmt: skip
def test_what_is_no_host_or_token_is_refused(host: str, token: str) -> None:
    with pytest.raises(InputError):
        guard.make_policy(host, 80, token)
