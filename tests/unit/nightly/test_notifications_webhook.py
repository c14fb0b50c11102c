"""Webhooks on a real server: each format, signatures, faults that pass, and an address that stays secret."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

from judge.config.nightly import NightlyConfig, WebhookKind
from judge.errors import InputError
from judge.messages import CHINESE
from judge.nightly.notifications import Webhook, post_message, publish
from judge.runs.record_json import to_json
from tests.support.cases import check_each
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.server_thread import reserve_unused_address
from tests.unit.nightly.records import make_night, make_regression, make_row, parse_record

RECORD = parse_record(make_night("2026-05-02"))
TEXT = 'judge 2026-05-02: fine\na <at user_id="all"></at> & b > c'


def post_night(server: LoopbackServer, kind: WebhookKind, secret: str = "") -> str:
    webhook = Webhook(kind, f"{server.url}/hook/tokentokentoken?access_token=keykeykey", secret)
    return post_message(webhook, TEXT, RECORD, pause=0.01)


def read_body(server: LoopbackServer) -> Mapping[str, Any]:
    (requests,) = server.requests
    assert requests.body is not None
    return requests.body


@pytest.mark.parametrize(
    ("kind", "answer", "body"),
    [
        ("json", "", {"text": TEXT, "night": to_json(RECORD, with_defaults=True)}),
        # Only Feishu, DingTalk and WeCom refuse with HTTP 200; elsewhere a code can mean success.
        (
            "json",
            '{"code":200,"msg":"success"}',
            {"text": TEXT, "night": to_json(RECORD, with_defaults=True)},
        ),
        (
            "slack",
            "ok",
            {"text": 'judge 2026-05-02: fine\na &lt;at user_id="all"&gt;&lt;/at&gt; &amp; b &gt; c'},
        ),
        (
            "feishu",
            '{"code":0,"msg":"success","data":{},"StatusCode":0,"StatusMessage":"success"}',
            {"msg_type": "text", "content": {"text": TEXT.replace("<", "＜")}},
        ),
        ("dingtalk", '{"errcode":0,"errmsg":"ok"}', {"msgtype": "text", "text": {"content": TEXT}}),
        ("wecom", '{"errcode":0,"errmsg":"ok"}', {"msgtype": "markdown", "markdown": {"content": TEXT}}),
    ],
)
def test_each_kind_speaks_its_format(kind: WebhookKind, answer: str, body: Mapping[str, Any]) -> None:
    with LoopbackServer(lambda request: Reply(body=answer)) as server:
        assert post_night(server, kind) == ""
        assert read_body(server) == body
        assert server.requests[0].headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("feishu", '{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}', "19021"),
        ("dingtalk", '{"errcode":310000,"errmsg":"keywords not in content"}', "310000: keywords"),
        ("wecom", '{"errcode":93000,"errmsg":"invalid webhook url"}', "93000: invalid"),
        # The page of a network that requires a login, or of an address that is no webhook.
        ("feishu", "<html>login</html>", "is not that of such a webhook"),
        ("dingtalk", "", "is not that of such a webhook"),
        ("wecom", "[0]", "is not that of such a webhook"),
    ],
)
def test_what_is_refused_with_a_200_is_said_and_not_tried_again(
    kind: WebhookKind, answer: str, expected: str
) -> None:
    with LoopbackServer(lambda request: Reply(body=answer)) as server:
        assert expected in post_night(server, kind)
        assert len(server.requests) == 1


@check_each(("status", "tries"), [(500, 3), (429, 3), (503, 3), (404, 1), (403, 1), (302, 1)])
def test_passing_faults_are_tried_three_times(status: int, tries: int) -> None:
    headers = {"Location": "/elsewhere"} if status == 302 else {}
    with LoopbackServer(lambda request: Reply(status=status, body="no", headers=headers)) as server:
        assert post_night(server, "slack") == f"HTTP {status}: no"
        assert len(server.requests) == tries


def test_a_page_of_html_is_left_out_of_the_error() -> None:
    with LoopbackServer(lambda request: Reply(status=404, body="\n<html>no such page</html>")) as server:
        assert post_night(server, "slack") == "HTTP 404"


def test_a_fault_that_passes_is_no_fault() -> None:
    def answer(request: ChatRequest) -> Reply:
        return Reply(reset=True) if request.number < 3 else Reply(body="ok")

    with LoopbackServer(answer) as server:
        assert post_night(server, "json") == ""
        assert len(server.requests) == 3


@contextmanager
def serve_slowly() -> Iterator[str]:
    """The address of a server that answers for ever, a blank at a time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    with client, suppress(OSError):
                        client.recv(65536)
                        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
                        while True:
                            client.sendall(b" ")
                            time.sleep(0.02)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/tokentokentoken"
        listening.shutdown(socket.SHUT_RDWR)
        serving.join(timeout=10)


def test_a_server_that_never_ends_its_answer_is_given_up() -> None:
    with serve_slowly() as url:
        wrong = post_message(Webhook("feishu", url), TEXT, RECORD, pause=0.01, timeout=0.2)
    assert wrong == "the request timed out"


@pytest.mark.parametrize("body", ["[" * 9_000, '{"code": ' + "[" * 900 + "]" * 900 + "}", "x" * 1_000_000])
def test_an_answer_that_nobody_can_read_ends_nothing(body: str) -> None:
    with LoopbackServer(lambda request: Reply(body=body)) as server:
        assert post_night(server, "feishu")
        assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_said_without_its_address() -> None:
    with reserve_unused_address() as where:
        wrong = post_message(Webhook("json", f"http://{where}/tokentokentoken"), TEXT, RECORD, pause=0.01)
    assert wrong == "Connection refused"


def test_what_a_server_says_of_the_address_is_masked() -> None:
    echo = json.dumps({"code": 9, "msg": "no tokentokentoken \x1b[31m keykeykey s3cret-s3cret"})
    with LoopbackServer(lambda request: Reply(body=echo)) as server:
        assert post_night(server, "feishu", "s3cret-s3cret") == "rejected with 9: no *** \\x1b[31m *** ***"


def test_no_address_is_in_what_the_object_shows() -> None:
    assert repr(Webhook("slack", "https://x.example/token", "secret")) == "Webhook(kind='slack', link='')"


def test_a_message_for_wecom_has_at_most_4096_bytes_and_mentions_nobody(tmp_path: Path) -> None:
    night = make_regression()
    rows = [make_row(f"<@all><<@all>引擎{number}", "AP@10", 0.6, 0.2) for number in range(100)]
    night["regression_test"]["rows"] = rows
    with LoopbackServer(lambda request: Reply(body='{"errcode":0}')) as server:
        url, link = f"{server.url}/hook?key=keykeykey", "https://ours.example/{date}/"
        webhook = Webhook("wecom", url, link=link)
        assert (
            publish(tmp_path, parse_record(night), {}, webhook, CHINESE)[0][-1]
            == "webhook：已发送 wecom 消息"
        )
        text = read_body(server)["markdown"]["content"]
    # Less than one more line fits.
    assert 3_850 < len(text.encode()) <= 4_096
    assert text.splitlines()[-2:] == ["…", "https://ours.example/2026-05-20/"]
    assert "<@" not in text
    assert "@all" in text


def test_feishu_signs_with_the_time_and_the_secret_as_the_key() -> None:
    with LoopbackServer(lambda request: Reply(body='{"code":0}')) as server:
        post_night(server, "feishu", "sesame")
        body = read_body(server)
    key = f"{body['timestamp']}\nsesame".encode()
    assert base64.b64decode(body["sign"]) == hmac.new(key, b"", hashlib.sha256).digest()


def test_dingtalk_signs_the_time_and_the_secret_in_the_address() -> None:
    with LoopbackServer(lambda request: Reply(body='{"errcode":0}')) as server:
        webhook = Webhook("dingtalk", f"{server.url}/robot/send?access_token=k", "SECsesame")
        url, body = webhook.make_request(TEXT, RECORD)
        assert post_message(webhook, TEXT, RECORD) == ""
        assert read_body(server) == body
    query = dict(pair.split("=", 1) for pair in url.split("?")[1].split("&"))
    signed_text = f"{query['timestamp']}\nSECsesame".encode()
    signed = base64.b64decode(unquote_plus(query["sign"]))
    assert signed == hmac.new(b"SECsesame", signed_text, hashlib.sha256).digest()
    assert len(query["timestamp"]) == 13


def open_webhook(table: dict[str, Any], environ: Mapping[str, str]) -> Webhook:
    options = NightlyConfig.load({"webhook": table}).webhook
    assert options is not None
    return Webhook.from_options(options, environ)


@check_each(
    ("table", "expected"),
    [
        (
            {"kind": "pager", "url_env": "HOOK"},
            "kind is 'pager'; it must be one of 'json', 'feishu', 'dingtalk', 'wecom',",
        ),
        ({"kind": "slack"}, "url_env is missing"),
        ({"url_env": "HOOK", "url": "https://x.example/secret"}, "unknown option 'url'"),
        ({"url_env": 3}, "url_env is 3; it must be the name of the environment variable"),
        ({"url_env": "https://x.example/s"}, "url_env is not a name such as MY_KEY .its value"),
        ({"url_env": "HOOK", "secret_env": "SEC" + 64 * "0"}, "secret_env is not a name"),
        ({"url_env": "NONE"}, "the environment variable 'NONE' is not set"),
        ({"url_env": "FILE"}, r"\$FILE holds no https:// address"),
        ({"url_env": "HOOK", "secret_env": "NONE"}, "'NONE' is not set"),
        ({"url_env": "BRACKET"}, r"\$BRACKET holds no https:// address"),
        ({"url_env": "HOSTLESS"}, r"\$HOSTLESS holds no https:// address"),
        ({"url_env": "PORT"}, r"\$PORT holds no https:// address"),
    ],
)
def test_a_wrong_table_is_refused_without_saying_the_address(table: dict[str, Any], expected: str) -> None:
    environ = {
        "HOOK": "https://x.example/secret",
        "FILE": "file:///secret",
        "BRACKET": "https://[x.example/secret",
        "HOSTLESS": "https:///secret",
        "PORT": "https://x.example:99999/secret",
    }
    with pytest.raises(InputError, match=expected) as refused:
        open_webhook(table, environ)
    assert "x.example" not in str(refused.value)
    assert "///secret" not in str(refused.value)
