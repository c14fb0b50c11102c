"""The pages of docs/: each example runs against a server that speaks its wire, and each table is complete."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from judge.collect.collection import collect
from judge.collect.engines import SLOTS
from judge.collect.registry import EngineTable
from judge.config.collect import CollectConfig
from judge.config.nightly import NightlyConfig
from judge.config.validation import keys_of
from judge.nightly.notices.webhook import _FORMATS, Webhook
from tests.collect.asking import answers, write_queries
from tests.loopback.aside import ServerAside

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("", ".zh-CN")
KEY = "a key of the documentation"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def documents(text: str) -> list[dict[str, str]]:
    """40 documents about what was asked."""
    return [
        {"title": f"{text} {at}", "url": f"https://d.example/{at}", "text": f"{text} text {at}"}
        for at in range(40)
    ]


class Documented(ServerAside):
    """A server that answers by one of the wires below and keeps what was sent."""

    def __init__(self, wire: Callable[[web.BaseRequest, Any], Mapping[str, Any] | None]) -> None:
        super().__init__()
        self.sent: list[Any] = []
        self._wire = wire

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        sent = json.loads(raw) if raw else dict(request.query)
        self.sent.append(sent)
        answer = self._wire(request, sent)
        return web.json_response(answer or {"error": "refused"}, status=200 if answer else 400)


def elasticsearch(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "POST" and request.path == "/pages/_search"
    if not right or request.headers.get("Authorization") != f"ApiKey {KEY}":
        return None
    found = documents(sent["query"]["multi_match"]["query"])[sent["from"] :][: sent["size"]]
    hits = [
        {"_id": "1", "_source": each, "highlight": {"text": [f"<em>{each['text']}</em>", "more"]}}
        for each in found
    ]
    return {"timed_out": False, "hits": {"total": {"value": 40, "relation": "eq"}, "hits": hits}}


def meilisearch(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "POST" and request.path == "/indexes/pages/search"
    if not right or request.headers.get("Authorization") != f"Bearer {KEY}":
        return None
    found = documents(sent["q"])[sent["offset"] :][: sent["limit"]]
    hits = [{**each, "_formatted": {"text": f"{each['text']} … more"}} for each in found]
    return {"hits": hits, "query": sent["q"], "estimatedTotalHits": 40}


def get(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "GET" and request.path == "/v2/search" and sent["hl"] == "zh-CN"
    if not right or sent["token"] != KEY:
        return None
    found = documents(sent["q"])[int(sent["skip"]) :][: int(sent["n"])]
    items = [
        {"name": each["title"], "href": each["url"], "summary": f"{each['text']} … more"} for each in found
    ]
    return {"status": "ok", "data": {"items": items}}


WIRES = {"elasticsearch": elasticsearch, "meilisearch": meilisearch, "get": get}
#: How many results each example asks for, and in how many calls.
TAKES = {"elasticsearch": (20, 2), "meilisearch": (20, 2), "get": (25, 3)}


@pytest.mark.parametrize("language", PAGES)
@pytest.mark.parametrize("example", WIRES)
def test_each_example_collects_from_a_server_that_speaks_its_wire(
    example: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = re.search(
        rf"<!-- example: {example} -->\n```toml\n(.*?)```", page(f"collecting{language}"), re.DOTALL
    )
    assert block is not None
    write_queries(tmp_path, "茶 & tea")
    toml = tmp_path / "judge.toml"
    toml.write_text(block[1], encoding="utf-8")
    (name,) = tomllib.loads(block[1])["collect"]["engines"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(tomllib.loads(block[1])["collect"]["engines"][name]["key"], KEY)
    with Documented(WIRES[example]) as server:
        found = collect(CollectConfig.load(toml, base_urls={name: server.url}, rate=1000.0))
    depth, calls = TAKES[example]
    assert (found.incomplete, found.calls_made) == (None, calls)
    [answer] = answers(tmp_path, name)
    assert [each["url"] for each in answer["results"]] == [f"https://d.example/{at}" for at in range(depth)]
    assert answer["results"][3]["title"] == "茶 & tea 3"
    assert re.sub("<.*?>", "", answer["results"][3]["snippet"]) == "茶 & tea text 3 … more"
    assert KEY not in found.journal.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", PAGES)
def test_every_key_slot_and_kind_is_documented(language: str) -> None:
    collecting, nightly = page(f"collecting{language}"), page(f"nightly{language}")
    for key in (*keys_of(CollectConfig), *EngineTable.model_fields):
        assert f"`{key}`" in collecting, key
    for slot in SLOTS:
        assert f"`{{{slot}}}`" in collecting, slot
    for rule in fields(NightlyConfig):
        assert f"`{rule.name}`" in nightly, rule.name
    for kind in _FORMATS:
        assert f"`{kind}`" in nightly, kind


@pytest.mark.parametrize("language", PAGES)
def test_the_webhook_of_the_page_is_a_webhook(language: str) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", page(f"nightly{language}"), re.DOTALL)
    table = tomllib.loads(block)["nightly"]["webhook"]
    webhook = Webhook.of(
        table, {"DING_URL": "https://oapi.dingtalk.com/robot/send?access_token=t", "DING_SECRET": "s"}
    )
    assert (webhook.kind, webhook.secret) == ("dingtalk", "s")


def test_the_defaults_in_the_table_of_rules_are_the_programs() -> None:
    rules, text = NightlyConfig(), page("nightly")
    for name in ("alpha", "min_drop", "min_shared", "max_missing", "max_empty_snippets", "canary_repeats"):
        assert re.search(rf"^\| `{name}` \|.*\| {getattr(rules, name)} \|$", text, re.MULTILINE), name
    assert f"| `{rules.judge_on_drift}` |" in text
