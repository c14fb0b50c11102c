"""Addresses of servers: invalid ones, proxies of the environment, reasons for a failed connection."""

import socket
import socketserver
import ssl
import threading
from base64 import b64encode

import pytest

from judge.errors import CallError, ConnectionFailed, NoResponse, SetupError
from judge.messages import CHINESE
from judge.models.error_mapping import make_connection_error
from judge.models.providers import open_model
from judge.models.server import ServerAccess, find_proxy
from tests.support.cases import check_each
from tests.support.fake_server import LoopbackServer, Reply
from tests.unit.models.adapter_calls import ADAPTERS, CANARY, KEYS, SAMPLING, ask, open_at, serve_reply

ANSWER = Reply(text='{"grade": 2}')


class TunnelProxy(socketserver.ThreadingTCPServer):
    """A proxy on 127.0.0.1 that refuses each tunnel; `requests` are what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        requests = self.requests = list[str]()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                lines = iter(self.rfile.readline, b"\r\n")
                requests.append(b"".join(lines).decode())
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


def open_at_url(kind: str, url: str) -> None:
    open_model(f"{kind}:m", ServerAccess(url, KEYS, timeout=1, concurrency=1), SAMPLING)


@check_each("kind", [*ADAPTERS, "langchain:ollama"])
@check_each(
    ("url", "why"),
    [
        ("http://h/v1?api-key=canary", "contains a user, a query or a fragment"),
        ("http://h/v1#canary", "contains a user, a query or a fragment"),
        ("http://canary:pw@h/v1", "contains a user, a query or a fragment"),
        ("http://h/v1\nX-Header: y", "is not the address of a server"),
        ("http://h/v1/ ", "is not the address of a server"),
        ("http://h/v1?k=canary\n", "is not the address of a server"),
    ],
)
def test_an_address_is_a_host_and_a_path_and_nothing_else(kind: str, url: str, why: str) -> None:
    with pytest.raises(SetupError, match=why) as refused:
        open_at_url(kind, url)
    assert "canary" not in str(refused.value)


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("adapter", ["openai", "dashscope", "langchain:openai"])
@pytest.mark.parametrize("named", ["http_proxy", "all_proxy"])
def test_a_private_server_is_never_called_through_a_proxy(
    adapter: str, named: str, no_proxy: pytest.MonkeyPatch
) -> None:
    with serve_reply(ANSWER) as between, serve_reply(ANSWER) as server:
        no_proxy.setenv(named, between.url)
        ask(open_at(adapter, server))
        assert (len(between.requests), len(server.requests)) == (0, 1)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_public_server_is_called_through_the_proxy(adapter: str, no_proxy: pytest.MonkeyPatch) -> None:
    with LoopbackServer(lambda _: Reply(status=407, body='{"message": "who are you?"}')) as between:
        no_proxy.setenv("http_proxy", between.url)
        model = open_model(
            f"{adapter}:m",
            ServerAccess("http://judge.example/api/v1", KEYS, timeout=60, concurrency=1),
            SAMPLING,
        )
        with pytest.raises(CallError, match=r"HTTP 407.*the proxy asks for a user and a password"):
            ask(model)
        assert len(between.requests) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of aiohttp, about httpx-aiohttp
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_login_of_a_proxy_is_sent_with_a_request_to_an_http_address(
    adapter: str, no_proxy: pytest.MonkeyPatch
) -> None:
    with serve_reply(ANSWER) as between:
        no_proxy.setenv("http_proxy", between.url.replace("http://", "http://ann:pw%40word@"))
        url = "http://judge.example/api/v1"
        ask(open_model(f"{adapter}:m", ServerAccess(url, KEYS, timeout=60, concurrency=1), SAMPLING))
        headers = {name.lower(): value for name, value in between.requests[0].headers.items()}
    assert headers["proxy-authorization"] == "Basic " + b64encode(b"ann:pw@word").decode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of aiohttp, about httpx-aiohttp
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_proxy_in_front_of_an_https_address_gets_its_login_and_no_key(
    adapter: str, no_proxy: pytest.MonkeyPatch
) -> None:
    with TunnelProxy() as between:
        no_proxy.setenv("https_proxy", between.url.replace("http://", "http://ann:pw%40word@"))
        url = "https://judge.example/api/v1"
        model = open_model(f"{adapter}:m", ServerAccess(url, KEYS, timeout=60, concurrency=1), SAMPLING)
        with pytest.raises(CallError):
            ask(model)
    for request in between.requests:
        assert request.startswith("CONNECT judge.example:443 ")
        assert "Basic " + b64encode(b"ann:pw@word").decode() in request
        assert CANARY not in request
    assert between.requests


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_proxy_that_is_none_of_http_is_refused_before_a_call(
    adapter: str, no_proxy: pytest.MonkeyPatch
) -> None:
    no_proxy.setenv("all_proxy", "socks5://me:pw@127.0.0.1:9")
    with pytest.raises(SetupError, match=r"the proxy 'socks5://127\.0\.0\.1:9' cannot be used"):
        open_at_url(adapter, "https://judge.example/v1")
    open_at_url(adapter, "http://127.0.0.1:9/v1")
    no_proxy.setenv("no_proxy", "judge.example")
    open_at_url(adapter, "https://judge.example/v1")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://judge.example/v1", "http://10.0.0.1:3128"),
        ("http://judge.example/v1", None),
        ("https://spared.example:8443/v1", None),
        ("https://10.1.2.3/v1", None),
        ("https://gpu.internal/v1", None),
    ],
)
def test_the_proxy_is_the_one_for_the_address(
    url: str, expected: str | None, no_proxy: pytest.MonkeyPatch
) -> None:
    no_proxy.setenv("https_proxy", "10.0.0.1:3128")
    no_proxy.setenv("no_proxy", "spared.example")
    assert find_proxy(url) == expected


TLS = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
TLS.reason = "WRONG_VERSION_NUMBER"
OWN_AUTHORITY, OTHER_HOST = (
    ssl.SSLCertVerificationError(1, "verify failed"),
    ssl.SSLCertVerificationError(1, "x"),
)
for number, reason, refusal in ((20, "no issuer", OWN_AUTHORITY), (62, "Hostname mismatch", OTHER_HOST)):
    refusal.reason, refusal.verify_code, refusal.verify_message = "CERTIFICATE_VERIFY_FAILED", number, reason


@pytest.mark.parametrize(
    ("cause", "words", "lasting"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "unknown host (Name or ser", True),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure"), "unknown host (Temporary failure)", False),
        (ConnectionRefusedError(111, "Connect call failed"), "connection refused", False),
        (TLS, "no TLS connection: ", True),
        (
            OWN_AUTHORITY,
            "no TLS connection: no issuer; for a certificate of your own authority, set SSL",
            True,
        ),
        (OTHER_HOST, "no TLS connection: x", True),
    ],
)
def test_why_there_is_no_connection(cause: OSError, words: str, lasting: bool) -> None:
    outer = RuntimeError("some library's words")
    outer.__cause__ = cause
    error = make_connection_error(outer, f"https://judge.example/v1/{CANARY}", CANARY)
    assert isinstance(error, ConnectionFailed)
    assert f"https://judge.example/v1/***: {words}" in error.detail
    assert (error.kind, error.maybe_billed, error.lasting) == ("transport", False, lasting)


@pytest.mark.parametrize(
    "cause", [ConnectionResetError(104, "reset"), ssl.SSLEOFError(8, "EOF"), ValueError()]
)
def test_a_call_that_somebody_may_have_heard_may_be_billed(cause: Exception) -> None:
    error = make_connection_error(cause, "https://judge.example/v1")
    assert isinstance(error, NoResponse)
    assert error.maybe_billed


def test_a_connection_that_breaks_is_told_in_the_words_of_the_system() -> None:
    outer = RuntimeError("some library's words")
    outer.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    error = make_connection_error(outer, "https://judge.example/v1")
    assert error.detail == "https://judge.example/v1: Connection reset by peer"
    assert CHINESE(error.message) == "连接失败：https://judge.example/v1：连接被对方重置"
