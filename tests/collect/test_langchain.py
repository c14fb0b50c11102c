"""LangChain's wrappers as engines: their order kept, their faults no empty answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_community")

from tests.collect.asking import answers, collected, results, three, write_queries
from tests.loopback.engines import EngineServer, Page


def searx(server: EngineServer) -> dict[str, Any]:
    """The options that let LangChain's SearXNG wrapper ask `server`."""
    options = {"searx_host": f"{server.url}/search"}
    return {"base_urls": {}, "described": {"SearxSearchWrapper": {"options": options}}}


def test_a_search_wrapper_is_an_engine(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(three) as server:
        found = collected(tmp_path, server, "langchain:SearxSearchWrapper", **searx(server))
        again = collected(tmp_path, server, "langchain:SearxSearchWrapper", **searx(server))
    assert (found.calls_made, again.calls_made) == (2, 0)
    assert answers(tmp_path, "SearxSearchWrapper")[1]["results"] == [
        {"title": title, "url": url, "snippet": snippet} for title, url, snippet in results("coffee")
    ]


def test_nothing_found_is_empty_and_a_fault_is_an_error(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(
        lambda asked: Page() if asked.query == "tea" else Page(status=500, body="no")
    ) as server:
        found = collected(tmp_path, server, "langchain:SearxSearchWrapper", attempts=1, **searx(server))
    empty, broken = answers(tmp_path, "SearxSearchWrapper")
    assert found.failed == {"SearxSearchWrapper": 1}
    assert empty["results"] == []
    assert broken["error"].startswith("transport: ")


@pytest.mark.parametrize("cls", ["Retriever", "Tool", "Texts"])
def test_retrievers_and_tools_are_asked_by_their_import_path(cls: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(three) as server:
        spec = f"langchain:tests.collect.wrappers:{cls}"
        found = collected(tmp_path, server, spec, base_urls={})
    assert found.incomplete is None
    [answer] = answers(tmp_path, cls)
    assert [each["snippet"] for each in answer["results"]] == ["tea 1", "tea 2"]
    assert not server.searched


def test_a_wrapper_that_hangs_is_given_up(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(three) as server:
        spec = "langchain:tests.collect.wrappers:Slow"
        collected(tmp_path, server, spec, base_urls={}, timeout=0.2, attempts=1)
    assert answers(tmp_path, "Slow")[0]["error"].startswith("transport: TimeoutError")
