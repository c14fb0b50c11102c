"""Answers as bytes: read in the encoding that they declare, kept where they are not text in it."""

import json
from pathlib import Path

import pytest

from judge.collect.raw_log import read_raw_log
from judge.collect.registry import KNOWN
from tests.support.cases import check_each
from tests.support.fake_engines import EngineServer, Page, render_page
from tests.unit.collect.engine_calls import CANARY, collect_results, read_answers, return_three, write_queries


@check_each("engine", KNOWN)
def test_an_answer_is_read_in_the_encoding_that_it_declares(engine: str, tmp_path: Path) -> None:
    result = [("绿茶", "https://a.example", "乌龙茶 镕 🍵")]
    body = json.dumps(render_page(engine, result), ensure_ascii=False).encode("gb18030")
    page = Page(body=body, headers={"content-type": "application/json; charset=GB18030"})
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: page) as server:
        collect_results(tmp_path, server, engine)
    [answer] = read_answers(tmp_path, engine)
    assert [(each["title"], each["url"], each["snippet"]) for each in answer["results"]] == result


@check_each(
    ("title", "sent_as", "declared"),
    [
        ("café", "latin-1", "; charset=iso-8859-1"),
        ("朱镕基", "gbk", "; charset=gb2312"),
        ("朱镕基", "gbk", '; charset="GBK"'),
        ("朱镕基", "gbk", "; charset=x-gbk"),
        ("茶", "utf-8", "; charset=utf-8"),
        ("茶", "utf-8-sig", "; charset=utf-8"),
        ("茶", "utf-8", ""),
        ("茶", "utf-8-sig", ""),
        ("茶", "utf-16", ""),
        ("茶", "utf-32-be", ""),
        ("茶", "utf-8", "; charset=utf8mb4"),
        ("茶", "utf-8", "; charset=base64"),
        ("茶", "utf-8", "; charset="),
    ],
)
def test_no_encoding_means_utf_8_and_many_say_less_than_they_send(
    title: str, sent_as: str, declared: str, tmp_path: Path
) -> None:
    body = json.dumps(render_page("searxng", [(title, "", "x")]), ensure_ascii=False).encode(sent_as)
    page = Page(body=body, headers={"content-type": f"application/json{declared}"})
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: page) as server:
        collect_results(tmp_path, server, "searxng")
    assert [each["title"] for each in read_answers(tmp_path, "searxng")[0]["results"]] == [title]


@pytest.mark.parametrize(
    ("sent_as", "declared", "expected"),
    [
        ("gb18030", "", "the answer is no text in utf-8 (Content-Type: no charset)"),
        ("gb18030", "; charset=utf-8", "the answer is no text in utf-8 (Content-Type: charset=utf-8)"),
        ("gb18030", "; charset=x-mine", "the answer is no text in utf-8 (Content-Type: charset=x-mine)"),
        ("latin-1", "; charset=gbk", "the answer is no text in gbk (Content-Type: charset=gbk)"),
    ],
)
def test_bytes_that_are_no_text_are_an_error_and_are_kept(
    sent_as: str, declared: str, expected: str, tmp_path: Path
) -> None:
    text = "é£ 中" if sent_as == "gb18030" else "café"
    raw = json.dumps(render_page("exa", [(text, "", text)]), ensure_ascii=False).encode(sent_as)
    page = Page(body=raw, headers={"content-type": f"application/json{declared}"})
    write_queries(tmp_path, "tea")
    with EngineServer(lambda request: page if request.attempt <= 2 else return_three(request)) as server:
        first = collect_results(tmp_path, server, "exa", attempts=2)
        assert read_answers(tmp_path, "exa") == [{"error": f"server_error: {expected}"}]
        assert [entry.body.encode("latin-1") for entry in read_raw_log(first.raw_log)] == [raw, raw]
        again = collect_results(tmp_path, server, "exa")
    assert (again.calls_made, again.incomplete) == (1, None)


def test_a_key_in_bytes_that_are_no_text_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXA_API_KEY", CANARY)
    headers = {"content-type": f'text/plain; charset="{CANARY}"'}
    page = Page(body=f"错误 {CANARY}".encode("gb18030"), headers=headers)
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: page) as server:
        collect_results(tmp_path, server, "exa", attempts=1)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"is no text in utf-8" in written
    assert b"canary" not in written


def test_a_refusal_in_an_unknown_encoding_is_still_a_refusal(tmp_path: Path) -> None:
    refusal = json.dumps({"code": "Retrieval.Arrears", "message": "欠费"}, ensure_ascii=False)
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: Page(status=400, body=refusal.encode("gb18030"))) as server:
        collect_results(tmp_path, server, "aliyun-iqs")
    [answer] = read_answers(tmp_path, "aliyun-iqs")
    assert answer["error"].startswith("quota: HTTP 400 Retrieval.Arrears: \ufffd (check")
